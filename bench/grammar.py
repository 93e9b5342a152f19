"""How many lines a second of processor time are read: canonical ones, other wordings, and
those of whole replies.

Run: python -m bench.grammar [rounds]
"""

import statistics
import sys
import time
from collections.abc import Callable

from bench.installation import open_installation

ROUNDS = 15
CANONICAL = (
    "→ view a7x2 full",
    "→ list b3k9 continuations",
    "→ continue from a7x2 n:3 temperature:0.9",
    '→ respond a7x2 "a short text"',
    '→ annotate a7x2 "why?" as:question because:"it is not said"',
    "→ link a7x2 to b3k9 as:supports confidence:0.8",
    '→ find "river" in:a7x2 max:10',
    "→ switch to b3k9",
    "→ tag a7x2 #plot #turn",
    "→ prune a7x2",
)


def rates(cases: dict[str, tuple[Callable[[], object], int]], rounds: int) -> dict[str, float]:
    """The median rate of each case, in runs per second; the rounds are interleaved."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (case, _) in cases.items():
            began = time.process_time()
            case()
            taken[name].append(time.process_time() - began)
    return {name: cases[name][1] / statistics.median(times) for name, times in taken.items()}


def main(rounds: int) -> None:
    """Prints the medians."""
    from loom.engine import registry
    from loom.language.batches import segments_of
    from loom.language.lines import read
    from loom.language.refs import ParseError
    from tests.grammar.phrasings import KNOWN

    verbs = registry.language()
    canonical = CANONICAL * 200
    wordings = [text for text, _ in KNOWN]
    reply = "\n\n".join(f"Some prose of a reply.\n{line}" for line in CANONICAL) + "\n"

    def read_all(lines: list[str] | tuple[str, ...]) -> None:
        for line in lines:
            try:
                read(line, verbs)
            except ParseError:
                continue

    cases: dict[str, tuple[Callable[[], object], int]] = {
        "canonical lines": (lambda: read_all(canonical), len(canonical)),
        "other wordings": (lambda: read_all(wordings), len(wordings)),
        "lines in replies": (
            lambda: [segments_of(reply, verbs, finished=True) for _ in range(50)],
            50 * len(CANONICAL),
        ),
    }
    for name, rate in rates(cases, rounds).items():
        print(f"{name:18} {rate:10,.0f} a second")
    print("floor: 20,000 canonical lines a second")


if __name__ == "__main__":
    open_installation()
    main(int(sys.argv[1]) if sys.argv[1:] else ROUNDS)
