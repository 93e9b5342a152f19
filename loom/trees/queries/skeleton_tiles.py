"""The skeleton of a big tree in tiles: so many nodes each, in order of creation. What a tile holds
never changes once it is full, so that browsers and the cache keep it; flags are sent apart."""

import json
from typing import Any

from django.db import connection

from loom.access import Actor
from loom.engine import optional_cache
from loom.engine.models import Stream
from loom.language.ids import ORDINAL_BITS
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import fetch, flag_bits
from loom.trees.queries.trees import participants_named

TILE = 1 << 16  # ordinals
TILED = 2_000  # ordinals from which on a tree is told by tiles: its columns cost 20 times as much
KEPT_S = 24 * 3600

# The columns are joined by the database: a million rows of Python took 3 s.
_COLUMNS = """SELECT COUNT(*), MIN(id), MAX(id), {ids}, {parents}, {authors}, {lengths} FROM (
        SELECT id, local_id, id - COALESCE(parent_slot_id, id) AS up, author_id, length
        FROM trees_node WHERE id BETWEEN %s AND %s ORDER BY id
    ) AS one"""
_OTHER = """SELECT id, slot_id, kind, place, edited_from_id FROM trees_node
    WHERE id BETWEEN %s AND %s AND (slot_id <> id OR kind <> 'text' OR place IS NOT NULL
        OR edited_from_id IS NOT NULL) ORDER BY id"""
# As the index node_flagged says it.
_FLAGGED = """SELECT v.id, {flags} FROM trees_node v {by} WHERE v.tree_id = %s
    AND (v.pruned OR v.excluded OR v.sandbox OR v.version_pruned OR v.resolved_at IS NOT NULL)
    ORDER BY v.id"""


def _joined(column: str, sign: str) -> str:
    """SQL that joins a column of rows that are in order."""
    if connection.vendor == "postgresql":
        return f"string_agg({column}::text, '{sign}' ORDER BY id)"
    return f"group_concat({column}, '{sign}')"


def last_ordinal(tree: Tree) -> int:
    """The last ordinal of a node of the tree."""
    items = Stream.objects.filter(name=f"tree:{tree.uid}").values_list("items", flat=True)
    return int(items.first() or 0)


def head_of_tiles(actor: Actor, tree: Tree, seq: int) -> dict[str, Any]:
    """What changes: `{seq, tiles, flags: [[ordinal, bits]]}`; the `flags` of nodes that have some,
    as in the skeleton, those of a slot on its first version only."""
    by = "INDEXED BY node_flagged" if connection.vendor == "sqlite" else ""
    rows = fetch(_FLAGGED.format(flags=flag_bits("v"), by=by), [tree.pk])
    base = tree.pk << ORDINAL_BITS
    return {
        "seq": seq,
        "tiles": last_ordinal(tree) // TILE + 1,
        "flags": [(key - base, bits) for key, bits in rows],
    }


def head_with_tile(actor: Actor, tree: Tree, seq: int) -> dict[str, Any]:
    """What changes, and the only tile of a tree that has one, as `tile`: a request less until the
    tree is drawn. A tree of more has them asked for one by one, since full ones are kept."""
    head = head_of_tiles(actor, tree, seq)
    return head if head["tiles"] > 1 else head | {"tile": _tile(tree, 0)}


def tile_of(actor: Actor, tree: Tree, number: int) -> str:
    """The tile `number`, from 0, as JSON: `{ids, ups, authors,
    lengths}` are texts with a value for each node, joined by a comma; an author is a place in
    `participants`, `ups` say how many ordinals before a node the slot above it is (0: the root).
    `slots`, `kinds`, `places` and `wholes` (what a text was made from) are [ordinal, value] of the
    nodes where they say something. `ordinals` only where some are missing."""
    is_full = last_ordinal(tree) >= (number + 1) * TILE
    name = f"skeleton:{tree.uid}:{number}"
    text = optional_cache.get(name) if is_full else None
    if text is None:
        text = json.dumps(_tile(tree, number), separators=(",", ":"))
        if is_full:
            optional_cache.keep(name, text, KEPT_S)
    return str(text)


def _tile(tree: Tree, number: int) -> dict[str, Any]:
    base = tree.pk << ORDINAL_BITS
    span = [base + number * TILE, base + (number + 1) * TILE - 1]
    sql = _COLUMNS.format(
        ids=_joined("local_id", ","),
        parents=_joined("up", ","),
        authors=_joined("author_id", ","),
        lengths=_joined("length", ","),
    )
    count, first, last, ids, ups, authors, lengths = fetch(sql, span)[0]
    by = authors.split(",")
    named, participants = participants_named(int(author_id) for author_id in dict.fromkeys(by))
    places = {str(key): str(place) for key, place in named.items()}
    tile: dict[str, Any] = {
        "first": first - base,
        "ids": ids,
        "ups": ups,
        "authors": ",".join([places[author_id] for author_id in by]),
        "lengths": lengths,
        "participants": participants,
        "slots": [],
        "kinds": [],
        "places": [],
        "wholes": [],
    }
    if last - first + 1 != count:
        keys = Node.objects.filter(pk__range=span).order_by("pk").values_list("pk", flat=True)
        tile["ordinals"] = [key - base for key in keys]
    for key, slot, kind, place, whole in fetch(_OTHER, span):
        for column, is_said, value in (
            ("slots", slot != key, slot - base),
            ("kinds", kind != "text", kind),
            ("places", place is not None, place),
            ("wholes", whole is not None, (whole or base) - base),
        ):
            if is_said:
                tile[column].append((key - base, value))
    return tile
