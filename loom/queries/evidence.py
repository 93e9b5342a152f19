"""What a verification has to look at: nodes with the versions they were built upon."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.db import DatabaseError

from loom.models import ORDINAL_BITS, Tree
from loom.queries.rows import NodeRow, as_row, columns, fetch, in_chunks, listed

# The version built upon: the one in the slot above whose hash was frozen. Depth falls with
# every step, so that the walk ends on a corrupt tree too.
_UPON = """(SELECT p.id FROM loom_node p WHERE p.slot_id = v.parent_slot_id
    AND p.hash = v.parent_hash AND p.depth < v.depth LIMIT 1)"""
_CHAIN = """
    WITH RECURSIVE chain(id, above, parent_hash, depth, length) AS (
        SELECT id, parent_slot_id, parent_hash, depth, length FROM loom_node WHERE id IN ({ids})
        UNION
        SELECT p.id, p.parent_slot_id, p.parent_hash, p.depth, p.length FROM chain
        JOIN loom_node p ON p.slot_id = chain.above AND p.hash = chain.parent_hash
            AND p.depth < chain.depth
    ) SELECT id, length FROM chain ORDER BY depth, id
"""

Order = list[tuple[int, int]]  # (row id, length of its text), what is built upon first


class Evidence(NamedTuple):
    """One node and what its hash depends on. `row` is None where it cannot be read."""

    id: int
    row: NodeRow | None
    edited_hash: str
    upon: int | None


def whole_tree(tree: Tree) -> Order:
    """All nodes of the tree, upper ones first."""
    sql = """SELECT id, length FROM loom_node WHERE id BETWEEN %s AND %s ORDER BY depth, id"""
    first = tree.pk << ORDINAL_BITS
    return [(key, length) for key, length in fetch(sql, [first, first + (1 << ORDINAL_BITS) - 1])]


def chain_of(ids: Iterable[int]) -> Order:
    """These nodes and every version they rest on, up to the root, upper ones first."""
    return [(key, length) for key, length in fetch(_CHAIN.format(ids=listed(ids)))]


def evidence(order: Order) -> Iterator[list[Evidence]]:
    """The nodes in this order, in chunks of bounded size."""
    for ids in in_chunks(order):
        yield _read(ids)


def _read(ids: list[int]) -> list[Evidence]:
    sql = f"""SELECT {columns()}, COALESCE(e.hash, ''), {_UPON} FROM loom_node v
        JOIN loom_node s ON s.id = v.slot_id JOIN loom_participant a ON a.id = v.author_id
        LEFT JOIN loom_node e ON e.id = v.edited_from_id WHERE v.id IN ({listed(ids)})"""
    try:
        rows = fetch(sql)
    except DatabaseError:
        # A text that is no UTF-8 any more: found by halves, the rest is read.
        if len(ids) == 1:
            return [Evidence(ids[0], None, "", None)]
        middle = len(ids) // 2
        return _read(ids[:middle]) + _read(ids[middle:])
    found = {row[0]: Evidence(row[0], as_row(row[:-2]), row[-2], row[-1]) for row in rows}
    return [found.get(one, Evidence(one, None, "", None)) for one in ids]
