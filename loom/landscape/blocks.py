"""Rows of a map by meaning, made from the nodes of a tree and stored in blocks."""

from collections.abc import Iterator, Sequence

import numpy as np

from loom.landscape import map_rows
from loom.landscape.models import Landscape, LandscapeBlock
from loom.language.ids import ORDINAL_BITS, ids_in
from loom.meaning.node_tokens import mean_surprise
from loom.trees.queries.lookup import fetch

_ORDINAL = (1 << ORDINAL_BITS) - 1

_NODES = """SELECT id, slot_id, parent_slot_id, author_id, {time}, local_id FROM trees_node
    WHERE id BETWEEN %s AND %s ORDER BY id"""
_SECONDS = {
    "sqlite": "CAST(strftime('%%s', created_at) AS INTEGER)",
    "postgresql": "CAST(EXTRACT(EPOCH FROM created_at) AS BIGINT)",
}
MOST_READ = 20_000  # nodes of a query


def rows_of(tree: int, after: int, last: int, place_of: dict[int, Sequence[int]]) -> map_rows.Rows:
    """The nodes of a tree after the id `after` up to `last`, with their map_rows."""
    from django.db import connection

    first, end = ids_in(tree)
    sql = _NODES.format(time=_SECONDS[connection.vendor])
    parts = []
    at = max(first, after + 1)
    while at <= min(last, end):
        nodes = fetch(sql, [at, min(last, at + MOST_READ - 1)])
        at += MOST_READ
        rows = np.zeros(len(nodes), map_rows.ROW)
        none = (0, 0)
        for number, (key, slot, up, author, time, name) in enumerate(nodes):
            x, y = place_of.get(key, none)
            rows[number] = (
                key & _ORDINAL,
                slot & _ORDINAL,
                (up or 0) & _ORDINAL,
                author,
                max(0, time),
                name.encode(),
                x,
                y,
            )
        parts.append(rows)
    return np.concatenate(parts) if parts else np.zeros(0, map_rows.ROW)


def surprise_of(tree: int, rows: map_rows.Rows, after: int, last: int) -> bytes:
    """A byte of surprise for each of these rows, which are the nodes after the id `after`."""
    surprise = mean_surprise(tree, after, last)
    return map_rows.surprise_bytes(rows, {key & _ORDINAL: bits for key, bits in surprise.items()})


def blocks_of(
    row: Landscape, tree: int, rows: map_rows.Rows, surprise: bytes, number: int
) -> Iterator[LandscapeBlock]:
    """The blocks of these rows, of which the first has this number."""
    for first in range(0, len(rows), map_rows.IN_BLOCK):
        some = rows[first : first + map_rows.IN_BLOCK]
        yield LandscapeBlock(
            landscape=row,
            tree_id=tree,
            number=number + first // map_rows.IN_BLOCK,
            count=len(some),
            last=(tree << ORDINAL_BITS) + int(some["ordinal"][-1]),
            rows=some.tobytes(),
            surprise=surprise[first : first + map_rows.IN_BLOCK],
        )


def append_rows(
    row: Landscape,
    tree: int,
    rows: map_rows.Rows,
    surprise: bytes,
    newest: LandscapeBlock | None,
) -> None:
    """Adds rows to the newest block of a tree, and to new ones."""
    at = 0 if newest is None else min(map_rows.IN_BLOCK - newest.count, len(rows))
    if newest is not None and at > 0:
        LandscapeBlock.objects.filter(pk=newest.pk).update(
            rows=bytes(newest.rows) + rows[:at].tobytes(),
            surprise=bytes(newest.surprise).ljust(newest.count, b"\0") + surprise[:at],
            count=newest.count + at,
            last=(tree << ORDINAL_BITS) + int(rows["ordinal"][at - 1]),
        )
    number = 0 if newest is None else newest.number + 1
    LandscapeBlock.objects.bulk_create(blocks_of(row, tree, rows[at:], surprise[at:], number))
