"""Lines in trees of which much was pruned, in a deep one, and the pruning of a large branch.

Run: python -m bench.pruning [pruned,pruned,…] [depth] [branch]   (0,2000  2000  2000 by default;
the figures of docs/decisions/2026-11-23-chains.md: 0,20000,100000,200000 20000 100000)
"""

import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import count
from typing import Any

from bench.installation import Case, medians_ms, open_installation, report, settle

NUMBERS = count()
ROUNDS = 5


def local_id(place: int) -> str:
    """An id of six characters for each place."""
    from loom.language.ids import DIGITS, LETTERS

    name = ""
    for _ in range(3):
        place, pair = divmod(place, len(LETTERS) * len(DIGITS))
        letter, digit = divmod(pair, len(DIGITS))
        name = f"{LETTERS[letter]}{DIGITS[digit]}{name}"
    return name


def plant(actor: Any, above: Sequence[int], pruned: range = range(0)) -> tuple[Any, list[Any]]:
    """A tree of short texts, each below the one of that place (-1: the root)."""
    from django.utils import timezone

    from loom.engine.models import Stream
    from loom.language.ids import ORDINAL_BITS
    from loom.text import hashes
    from loom.trees.commands import trees
    from loom.trees.models import Node
    from loom.trees.queries.lookup import root_of
    from loom.trees.queries.outline import measured

    tree = trees.new_tree(actor, title=f"{len(above):,} texts")
    base, at, root = tree.pk << ORDINAL_BITS, timezone.now(), root_of(tree)
    nodes: list[Any] = []
    for place, parent_place in enumerate(above):
        key, parent = base + place + 2, nodes[parent_place] if parent_place >= 0 else root
        node = Node(
            id=key,
            tree=tree,
            local_id=local_id(place),
            text=f"text {place}",
            length=len(f"text {place}"),
            author=actor.participant,
            slot_id=key,
            parent_slot_id=parent.pk,
            depth=parent.depth + 1,
            hash=hashes.sha256({"place": key}),
            created_at=at + timedelta(microseconds=place),
            pruned=place in pruned,
        )
        nodes.append(node)
    _lay(base, nodes)
    Node.objects.bulk_create(nodes, batch_size=1000)
    leaves, deepest = measured(tree.pk)
    sizes = {"items": len(nodes) + 1, "leaves": leaves, "deepest": deepest}
    Stream.objects.filter(name=f"tree:{tree.uid}").update(**sizes)
    return tree, nodes


def _lay(base: int, nodes: list[Any]) -> None:
    """Lays the nodes in chains, if this version of Heddle has them."""
    try:
        from loom.trees.chains import Chains
        from loom.trees.models import Chain
    except ImportError:
        return
    laid = Chains()
    for node in nodes:
        chain = laid.add(node.pk - base, node.parent_slot_id - base, depth=node.depth)
        node.parent_chain = base + chain
    for node in nodes:
        own = laid.own(node.pk - base)
        node.pruned_chain = base + own if own and node.pruned else None
    rows = [Chain(id=base + first, tail=tail) for first, tail in laid.tails.items()]
    Chain.objects.bulk_create(rows, batch_size=1000)


def lines_at(actor: Any, tree: Any, named: str) -> Iterator[tuple[str, Case]]:
    """What is measured at one place: respond, view and the path that a model would be sent."""
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.trees.queries.lookup import hidden_by
    from loom.trees.queries.places import path_ids

    node = tree.nodes.select_related("slot").get(local_id=named)

    def run(line: str) -> object:
        return execute_line(actor, tree, Request(line=line))

    yield "respond", lambda: run(f'respond {named} "number {next(NUMBERS)}"')
    yield "view", lambda: run(f"view {named}")
    yield "last of the path", lambda: path_ids(actor, tree, None, node, most=30)
    yield "what hides it", lambda: hidden_by(node)


def main(pruned: Sequence[int], depth: int, branch: int) -> None:
    """Builds the trees and prints medians and ratios."""
    from bench.trees import make_owner
    from loom.engine.context import Request
    from loom.engine.execute import execute_line

    actor = make_owner("bench")
    cases: dict[str, Case] = {}
    for many in pruned:
        above = [-1, 0, *[(0, 1)[place % 2] for place in range(many)]]
        tree, nodes = plant(actor, above, range(2, 2 + many))
        for what, case in lines_at(actor, tree, nodes[1].local_id):
            cases[f"{what}, {many:,} pruned"] = case
    tree, nodes = plant(actor, [*range(-1, depth - 1), -1], range(depth, depth + 1))
    for what, case in lines_at(actor, tree, nodes[depth - 1].local_id):
        cases[f"{what}, depth {depth:,}, 1 pruned"] = case
    shape = [-1, *[max(0, place - 1 - place % 7) for place in range(branch)]]
    tree, nodes = plant(actor, shape)
    named = nodes[0].local_id

    def flagged(verb: str) -> Case:
        return lambda: execute_line(actor, tree, Request(line=f"{verb} {named}"))

    cases[f"prune, {branch:,} below"] = flagged("prune")
    cases[f"restore, {branch:,} below"] = flagged("restore")
    settle()
    medians = medians_ms(cases, rounds=ROUNDS)
    ratios = {
        f"{what}, most / least pruned": (
            f"{what}, {max(pruned):,} pruned",
            f"{what}, {min(pruned):,} pruned",
            1.5,
        )
        for what in ("respond", "view", "last of the path", "what hides it")
    }
    report("pruning", medians, ratios)


if __name__ == "__main__":
    given = sys.argv[1:] + ["0,2000", "2000", "2000"][len(sys.argv) - 1 :]
    open_installation()
    main([int(number) for number in given[0].split(",")], int(given[1]), int(given[2]))
