"""How much hangs at each node of a batch: continuations, annotations, links, versions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from loom.access import Actor, trees_for
from loom.models import ORDINAL_BITS
from loom.queries import descent
from loom.queries.facts import Facts, quoted
from loom.queries.rows import NodeRow, fetch, listed
from loom.rules import addresses

Tally = dict[str, int]


class Hanging(NamedTuple):
    """What hangs at the nodes of a batch: `below` counts slots by slot above and kind,
    `links` by node id. What is pruned or may not be seen is not counted."""

    below: dict[tuple[int, str], int]
    links: Counter[int]


def hanging_at(actor: Actor, rows: Sequence[NodeRow]) -> Hanging:
    """What hangs at the nodes; two queries, three where there are links."""
    return Hanging(counted_below({row.slot_id for row in rows}), _links(actor, rows))


def tallies_of(
    actor: Actor, rows: Sequence[NodeRow], facts: Facts, *, descendants: bool = False
) -> dict[int, Tally]:
    """The `counts` of each node, by node id; `descendants` costs a walk for each."""
    below, links = hanging_at(actor, rows)
    tallies = {}
    for row in rows:
        tally = {
            "children": below.get((row.slot_id, "text"), 0),
            "annotations": below.get((row.slot_id, "annotation"), 0),
            "links": links[row.id],
            "versions": len(facts.versions.get(row.slot_id, (None,))),
        }
        if descendants:
            tally["descendants"] = descent.count_below(row.slot_id)
        tallies[row.id] = tally
    return tallies


def counted_below(slots: Iterable[int]) -> dict[tuple[int, str], int]:
    """Slots directly below that are not pruned, by slot above and kind; one query."""
    sql = f"""SELECT parent_slot_id, kind, COUNT(*) FROM loom_node
        WHERE parent_slot_id IN ({listed(slots)}) AND slot_id = id AND NOT pruned
        GROUP BY parent_slot_id, kind"""
    return {(slot, kind): count for slot, kind, count in fetch(sql)}


def _links(actor: Actor, rows: Sequence[NodeRow]) -> Counter[int]:
    """Links to or from each node whose other end the actor may see."""
    own = quoted(rows)
    sql = f"""SELECT tree_id, source, target FROM loom_link
        WHERE (source IN ({own}) OR target IN ({own})) AND removed_at IS NULL"""
    found = fetch(sql)
    counts: Counter[int] = Counter()
    if not found:
        return counts
    seen = set(trees_for(actor).values_list("id", flat=True))
    asked = {row.id for row in rows}
    for home, source, target in found:
        for end, other in ((source, target), (target, source)):
            key = addresses.node_id(end)
            if key in asked and home in seen and _tree_of(other) in seen:
                counts[key] += 1
    return counts


def _tree_of(address: str) -> int | None:
    """The tree an address lies in: a node's id carries it in its upper bits."""
    node = addresses.node_id(address)
    return addresses.tree_id(address) if node is None else node >> ORDINAL_BITS
