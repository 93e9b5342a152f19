"""Search in a tree of a million nodes (bench.million), the big branch standing and pruned.

Run: python -m bench.search [nodes] [rounds] [FOLDER]

With FOLDER the tree is kept there, and made only if it is missing.

Prints the median and the 95th percentile of each case in milliseconds, and the processor time of
this process, which tells more where others use the machine. The aim is 100 ms at the 95th.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from bench import million

WORDS = {
    "common": million.COMMON,
    "some": million.SOME,
    "rare": million.RARE,
    "absent": million.ABSENT,
    "phrase": million.PHRASE,
    "two letters": "zy",
}


def cases(actor: Any, tree: Any) -> dict[str, Callable[[], object]]:
    """What is measured."""
    from loom.language.ids import ORDINAL_BITS
    from loom.search.filters import EVERYTHING, Filters
    from loom.search.queries import find_in_grove, find_in_tree
    from loom.trees.models import Node

    big = Node.objects.get(pk=(tree.pk << ORDINAL_BITS) + million.BIG)
    since = tree.created_at - timedelta(days=90)
    filters = {
        "": EVERYTHING,
        ", tag": Filters(tag="motive"),
        ", bookmarked": Filters(is_bookmarked=True),
        ", leaf": Filters(is_leaf=True),
        ", notes": Filters(form="note"),
        ", by": Filters(author=actor.participant.uid),
        ", since": Filters(since=since),
    }
    searches: dict[str, Callable[[], object]] = {}

    def in_tree(query: str, **more: Any) -> Callable[[], object]:
        return lambda: find_in_tree(actor, tree, None, query, **more)

    def everywhere(query: str) -> Callable[[], object]:
        return lambda: find_in_grove(actor, query)

    for name, query in WORDS.items():
        searches[name] = in_tree(query)
        searches[f"{name}, below the big branch"] = in_tree(query, below=big)
        searches[f"{name}, in the grove"] = everywhere(query)
    for name, only in filters.items():
        for word in ("common", "rare"):
            searches[f"{word}{name}"] = in_tree(WORDS[word], only=only)
    return searches


def measured(searches: dict[str, Callable[[], object]], rounds: int) -> None:
    """Runs each case so often, and prints its figures."""
    for name, case in searches.items():
        case()
        taken, cpu = [], []
        for _ in range(rounds):
            began, used = time.perf_counter(), time.process_time()
            case()
            taken.append((time.perf_counter() - began) * 1000)
            cpu.append((time.process_time() - used) * 1000)
        high = sorted(taken)[max(0, round(rounds * 0.95) - 1)]
        median, own = statistics.median(taken), statistics.median(cpu)
        print(f"  {name:36} {median:8.1f} {high:8.1f} ms   processor {own:7.1f} ms", flush=True)


def main(nodes: int, rounds: int, folder: str) -> None:
    """Measures, then prunes the big branch, measures again and restores it."""
    million.make(folder, nodes)
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.language.ids import ORDINAL_BITS
    from loom.trees.models import Node

    actor, tree = million.kept()
    print("all standing")
    measured(cases(actor, tree), rounds)
    named = Node.objects.get(pk=(tree.pk << ORDINAL_BITS) + million.BIG).local_id
    for verb in ("prune", "restore"):
        began = time.perf_counter()
        execute_line(actor, tree, Request(line=f"{verb} {named}"))
        print(f"  {verb} {(time.perf_counter() - began) * 1000:8.1f} ms")
        if verb == "prune":
            print("the big branch pruned")
            measured(cases(actor, tree), rounds)


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:3]]
    nodes, rounds = given + [1_000_000, 20][len(given) :]
    if len(sys.argv) > 3:
        main(nodes, rounds, sys.argv[3])
    else:
        with tempfile.TemporaryDirectory(prefix="heddle-bench-") as directory:
            main(nodes, rounds, directory)
