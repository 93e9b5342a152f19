"""Trees as a whole: the position in them, and the skeleton without texts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loom.access import Actor
from loom.engine.models import Stream
from loom.language.ids import ids_in, place_of
from loom.people.models import Participant
from loom.trees.models import Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import (
    EXCLUDED,
    PRUNED,
    VERSION_PRUNED,
    fetch,
    flag_bits,
)
from loom.trees.queries.places import hidden_among


def head_of(tree: Tree) -> int:
    """The last seq of the tree's stream; 0 if there are no events yet."""
    heads = Stream.objects.filter(name=f"tree:{tree.uid}").values_list("head", flat=True)
    return heads.first() or 0


def position_of(tree: Tree, workspace: Workspace) -> str:
    """The position of the workspace: a local id, with its tree if that is another one. It is the
    nearest node that is not hidden."""
    return positions_of([tree], {tree.pk: workspace})[tree.pk]


def positions_of(trees: Sequence[Tree], own: Mapping[int, Workspace]) -> dict[int, str]:
    """The positions of workspaces, by the row id of their tree."""
    nodes = lookup.rows().in_bulk([workspace.position_id for workspace in own.values()])
    hidden = hidden_among(position.slot_id for position in nodes.values())
    refs = {}
    for tree in trees:
        if tree.pk in own:
            node = nodes[own[tree.pk].position_id]
            if node.slot_id in hidden:
                node = lookup.visible_at_or_above(node, own[tree.pk])
            refs[tree.pk] = lookup.node_ref(node, tree.pk)
    return refs


# A whole tree without its texts: as columns for pages, as pages of rows for API clients.


MAX_ROWS = 1000


def skeleton(actor: Actor, tree: Tree) -> dict[str, Any]:
    """The columns of docs/model.md §14.3.9, in order of creation; `parents` and `slots` are indexes
    (a parent is the first version of the slot above; the root has null).

    `flags` are bits: 1 pruned, 2 excluded, 4 sandbox (of the slot), 8 this version pruned,
    16 resolved. `orders` are [parent, [children]] where siblings are in another order than that of
    creation; `rests` are [second half of a split, the text that was split]. `seq` is read first:
    events after it bring the columns up to date.
    """
    seq = heads_of(tree)[0]
    sql = f"""SELECT v.id, v.local_id, v.parent_slot_id, v.slot_id, v.kind, v.author_id,
        {flag_bits("v")}, v.length, v.place, v.edited_from_id
        FROM trees_node v WHERE v.id BETWEEN %s AND %s ORDER BY v.id"""
    rows = fetch(sql, list(ids_in(tree.pk)))
    index = {row[0]: place for place, row in enumerate(rows)}
    authors, participants = participants_named(row[5] for row in rows)
    return {
        "seq": seq,
        "ids": [row[1] for row in rows],
        "parents": [index.get(row[2]) for row in rows],
        "slots": [index[row[3]] for row in rows],
        "kinds": [row[4] for row in rows],
        "authors": [authors[row[5]] for row in rows],
        "participants": participants,
        "flags": [
            row[6] if row[3] == row[0] else row[6] | rows[index[row[3]]][6] & ~VERSION_PRUNED
            for row in rows
        ],
        "lengths": [row[7] for row in rows],
        "orders": _orders(rows, index),
        "rests": [
            (place, index[row[9]]) for place, row in enumerate(rows) if _is_rest(row, rows, index)
        ],
    }


def _is_rest(row: Sequence[Any], rows: Sequence[Sequence[Any]], index: dict[int, int]) -> bool:
    """Whether a node is the second half of a split: made from the same text as the one above it,
    and both are as long as that. An edit that became a branch has two halves as well."""
    above = index.get(row[2]) if row[9] is not None else None
    if above is None or rows[above][9] != row[9] or row[9] not in index:
        return False
    return bool(rows[above][7] + row[7] == rows[index[row[9]]][7])


def _orders(rows: Sequence[Sequence[Any]], index: dict[int, int]) -> list[tuple[int, list[int]]]:
    """The children of each node whose children are not in order of creation."""
    placed = {row[2] for row in rows if row[8] is not None}
    below: dict[int, list[tuple[int, int]]] = {parent: [] for parent in placed}
    for row in rows if placed else ():
        if row[2] in below and row[3] == row[0] and row[4] == "text":
            below[row[2]].append((place_of(row[0], row[8]), index[row[0]]))
    orders = {parent: [at for _, at in sorted(places)] for parent, places in below.items()}
    return [(index[parent], ats) for parent, ats in orders.items() if ats != sorted(ats)]


def heads_of(tree: Tree) -> tuple[int, int]:
    """The last seqs of the tree's stream and of its grove's, whose names it shows."""
    names = (f"tree:{tree.uid}", f"grove:{tree.grove.uid}")
    heads = dict(Stream.objects.filter(name__in=names).values_list("name", "head"))
    return heads.get(names[0], 0), heads.get(names[1], 0)


def participants_named(authors: Iterable[int]) -> tuple[dict[int, int], list[dict[str, str]]]:
    """The index by row id, and the participants in the order of their first node."""
    places = {key: place for place, key in enumerate(dict.fromkeys(authors))}
    rows = Participant.objects.in_bulk(list(places))
    participants = [rows[key] for key in places]
    return places, [
        {"id": participant.uid, "name": participant.name, "kind": participant.kind}
        for participant in participants
    ]


def page(actor: Actor, tree: Tree, *, after: int = 0, limit: int = MAX_ROWS) -> dict[str, Any]:
    """`{count, next, results}`: rows of nodes in order of creation, after the ordinal
    `after`; `next` is the next `after`, null at the end."""
    sql = f"""SELECT v.id, v.local_id, v.kind, p.local_id, s.local_id, a.uid,
            {flag_bits("s")}, v.length
        FROM trees_node v JOIN trees_node s ON s.id = v.slot_id
        JOIN people_participant a ON a.id = v.author_id
        LEFT JOIN trees_node p ON p.id = v.parent_slot_id
        WHERE v.id BETWEEN %s AND %s ORDER BY v.id LIMIT %s"""
    first, last = ids_in(tree.pk)
    rows = fetch(sql, [min(first + after + 1, last), last, limit + 1])
    count = Stream.objects.values_list("items", flat=True).get(name=f"tree:{tree.uid}")
    shown = rows[:limit]
    return {
        "count": count,
        "next": shown[-1][0] - first if len(rows) > limit else None,
        "results": [
            {
                "id": local_id,
                "kind": kind,
                "parent": parent,
                "slot": slot,
                "author": author,
                "pruned": bool(flags & (PRUNED | VERSION_PRUNED)),
                "excluded": bool(flags & EXCLUDED),
                "length": length,
            }
            for _, local_id, kind, parent, slot, author, flags, length in shown
        ],
    }
