"""One `respond` in a tree of 100,000 nodes, against one in a tree of 1,000.

Run: python -m bench.respond [nodes] [nodes]
"""

import sys
from itertools import count

from bench.installation import Case, medians_ms, open_installation, report, settle


def main(small: int, large: int) -> None:
    """Builds both trees and prints medians and the ratio."""
    from bench.trees import grow, make_owner
    from loom.engine.context import Request
    from loom.engine.execute import execute_line

    actor = make_owner("bench")
    numbers = count()
    cases: dict[str, Case] = {}
    for size in (small, large):
        tree, end = grow(actor, count=size, chain=min(size // 2, 100))

        def respond(tree=tree, at=end.local_id) -> None:  # type: ignore[no-untyped-def]
            line = f'respond {at} "another line of the story, number {next(numbers)}"'
            execute_line(actor, tree, Request(line=line))

        cases[f"respond at {size:,} nodes"] = respond
    settle()
    names = list(cases)
    medians = medians_ms(cases, rounds=200)
    report("respond", medians, {"large / small": (names[1], names[0], 1.2)})


if __name__ == "__main__":
    open_installation()
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [1_000, 100_000][len(given) :]))
