"""Three editors and an agent at one document, in many interleavings.

Run: python -m bench.interleavings. Runs the scripts of `tests/live/interleaved.py` for 10,000 seeds
(`--seeds`) and prints how many ended with all copies equal and every revision restorable.
"""

import argparse
import sys
import time

from tests.live.interleaved import run


def main() -> int:
    """0 if all seeds went well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=60)
    asked = parser.parse_args()
    began, failed = time.perf_counter(), []
    for seed in range(asked.first, asked.first + asked.seeds):
        try:
            run(seed, steps=asked.steps)
        except AssertionError as error:
            failed.append(seed)
            print(f"seed {seed}: {error}", flush=True)
    took_s = time.perf_counter() - began
    print(f"{asked.seeds - len(failed)} of {asked.seeds} seeds ended equal, in {took_s:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
