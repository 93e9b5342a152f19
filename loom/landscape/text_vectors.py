"""The stored vectors of the texts that are on a map by meaning: of the newest when it is drawn, of
new ones, and of those that have a place."""

from collections.abc import Iterator, Sequence

import numpy as np

from loom.embedding.vectors import Floats, unit
from loom.landscape import layout, map_rows
from loom.landscape.models import Landscape, LandscapeBlock
from loom.language.ids import ORDINAL_BITS
from loom.meaning.models import VectorBlock, VectorState
from loom.meaning.rules import row_type
from loom.trees.queries.lookup import fetch

MOST = 200_000  # texts of a map, the newest
_ORDINAL = (1 << ORDINAL_BITS) - 1


def last_indexed(trees: Sequence[int], embedder: str) -> dict[int, int]:
    """The last node of each tree whose vector is known or that has none, by tree."""
    rows = VectorState.objects.filter(tree__in=trees, embedder=embedder).order_by("tree_id")
    return dict(rows.values_list("tree_id", "last"))


def newest_vectors(trees: Sequence[int], embedder: str) -> tuple[layout.Whole, Floats]:
    """The newest MOST texts of these trees with their vectors of length 1. Texts without words
    have none."""
    rows = VectorBlock.objects.filter(tree__in=trees, embedder=embedder).order_by("-id")
    parts, held = [], 0
    for joined, count in rows.values_list("rows", "count").iterator(chunk_size=50):
        parts.append(bytes(joined))
        held += count
        if held >= MOST:
            break
    if not parts:
        return np.zeros(0, np.int64), np.zeros((0, 1), np.float32)
    nodes, vectors = _read(parts, held)
    texts = np.isin(nodes, _texts_of(nodes))
    nodes, vectors = nodes[texts], vectors[texts]
    order = np.argsort(nodes, kind="stable")[-MOST:]
    return nodes[order], vectors[order]


def _read(parts: list[bytes], count: int) -> tuple[layout.Whole, Floats]:
    """The nodes and the vectors of blocks, without those of zeros."""
    joined = b"".join(parts)
    kind = row_type(len(joined) // count - 12)
    rows = np.frombuffer(joined, kind)
    has = rows["vector"].any(axis=1)
    return rows["node"][has].astype(np.int64), unit(rows["vector"][has].astype(np.float32))


# The kind is in the SQL, as in the condition of the index that finds them, and so is the form, by
# which SQLite takes this index.
_NOTES = "SELECT id FROM trees_node WHERE tree_id = %s AND kind = 'annotation' AND form >= ''"


def _texts_of(nodes: layout.Whole) -> layout.Whole:
    """Those of the nodes that are no annotations."""
    notes: list[int] = []
    for tree in np.unique(nodes >> ORDINAL_BITS).tolist():
        notes += [key for (key,) in fetch(_NOTES, [tree])]
    return np.setdiff1d(nodes, np.array(notes, np.int64))


def new_vectors(tree: int, embedder: str, after: int, end: int) -> tuple[layout.Whole, Floats]:
    """The texts of a tree after the id `after` up to `end` with their vectors: read from the last
    block on, since new ones are there."""
    rows = VectorBlock.objects.filter(tree=tree, embedder=embedder).order_by("-number")
    parts, count = [], 0
    for joined, held in rows.values_list("rows", "count").iterator(chunk_size=4):
        parts.append(bytes(joined))
        count += held
        if held and int.from_bytes(parts[-1][:8], "little") <= after:
            break
    if not parts:
        return np.zeros(0, np.int64), np.zeros((0, 1), np.float32)
    nodes, vectors = _read(parts, count)
    wanted = (nodes > after) & (nodes <= end)
    nodes, vectors = nodes[wanted], vectors[wanted]
    texts = np.isin(nodes, _texts_of(nodes))
    nodes, vectors = nodes[texts], vectors[texts]
    order = np.argsort(nodes, kind="stable")
    return nodes[order], vectors[order]


def placed_vectors(row: Landscape) -> Iterator[tuple[Floats, layout.Coordinates]]:
    """The texts that have a place, in parts: their vectors and map_rows."""
    trees = LandscapeBlock.objects.filter(landscape=row).order_by("tree_id")
    for tree in list(trees.values_list("tree_id", flat=True).distinct()):
        parts = LandscapeBlock.objects.filter(landscape=row, tree=tree).order_by("number")
        rows = map_rows.unpacked([bytes(block) for block in parts.values_list("rows", flat=True)])
        rows = rows[rows["x"] > 0]
        keys = rows["ordinal"].astype(np.int64) + (tree << ORDINAL_BITS)
        blocks = VectorBlock.objects.filter(tree=tree, embedder=row.embedder).order_by("number")
        for joined, count in blocks.values_list("rows", "count").iterator(chunk_size=20):
            nodes, vectors = _read([bytes(joined)], count)
            at = np.minimum(np.searchsorted(keys, nodes), max(0, len(keys) - 1))
            known = keys[at] == nodes if len(keys) else np.zeros(len(nodes), np.bool_)
            if known.any():
                yield vectors[known], np.stack([rows["x"], rows["y"]], axis=1)[at[known]]
