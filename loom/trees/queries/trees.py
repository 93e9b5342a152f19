"""Groves and trees as a whole: their bodies, marks, the skeleton without texts, and a tree as a
public link shows it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import Count, QuerySet
from django.utils import timezone

from loom.access import Actor
from loom.engine.models import Stream
from loom.errors import not_found
from loom.language import ids as item_ids
from loom.language.ids import ORDINAL_BITS, place_of
from loom.notes.models import Mark
from loom.people.models import Grove, Membership, Participant, User, UserSession
from loom.text.hashes import instant, instant_or_none
from loom.text.images import hashes_in
from loom.trees.models import Image, Node, Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import (
    EXCLUDED,
    PRUNED,
    VERSION_PRUNED,
    NodeRow,
    fetch,
    flag_bits,
    rows_of,
    selected_version,
    selected_versions,
)
from loom.trees.queries.main_line import main_line_of
from loom.trees.queries.node_context import Margin, Spot, margins_of
from loom.trees.queries.outline import outline, stored_size
from loom.trees.queries.places import hidden_among, hides, path_ids


def browsers_of(user: User) -> "QuerySet[UserSession]":
    """The browsers in which the user is signed in now, the most recently used first."""
    alive = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    return UserSession.objects.filter(user=user, session_key__in=alive).order_by("-seen_at", "-id")


def grove_body(actor: Actor) -> dict[str, Any]:
    """The actor's grove as the API shows it to a member."""
    return grove_bodies([actor])[0]


def grove_bodies(actors: Sequence[Actor]) -> list[dict[str, Any]]:
    """The groves of the actors, each as the API shows it to a member. Two queries."""
    groves = [actor.grove for actor in actors]
    names = [f"grove:{grove.uid}" for grove in groves]
    heads = dict(Stream.objects.filter(name__in=names).values_list("name", "head"))
    members = Membership.objects.filter(grove__in=groves).order_by().values_list("grove")
    many = dict(members.annotate(Count("id")))
    return [
        {
            "id": actor.grove.uid,
            "name": actor.grove.name,
            "settings": actor.grove.settings,
            "role": actor.role,
            "participant": actor.participant.uid,
            "members": many[actor.grove.pk],
            "seq": heads.get(name, 0),
            "created_at": instant(actor.grove.created_at),
        }
        for actor, name in zip(actors, names, strict=True)
    ]


# A tree as the API shows it (docs/model.md §14.3.7).


def tree_body(tree: Tree, workspace: Workspace | None) -> dict[str, Any]:
    """The tree for a reader; `workspace` is the caller's own (None: they have none yet)."""
    return tree_bodies([tree], {tree.pk: workspace} if workspace else {})[0]


def tree_bodies(trees: Sequence[Tree], own: Mapping[int, Workspace]) -> list[dict[str, Any]]:
    """The trees for a reader; `own` are the caller's workspaces by the tree's row id. Six queries
    at most, and two for each position that is hidden."""
    names = [f"tree:{tree.uid}" for tree in trees]
    streams = {one.name: one for one in Stream.objects.filter(name__in=names)}
    keys = [(tree.pk << ORDINAL_BITS) + 1 for tree in trees]
    roots = dict(Node.objects.filter(pk__in=keys).values_list("tree_id", "local_id"))
    tags, places = tags_on(trees), _positions(trees, own)
    bodies = []
    for tree, name in zip(trees, names, strict=True):
        size = stored_size(tree, streams[name])
        bodies.append(
            {
                "id": tree.uid,
                "grove": tree.grove.uid,
                "title": tree.title,
                "mode": tree.mode,
                "description": tree.description,
                "system_context": tree.system_context,
                "summary": tree.summary,
                "truncation": tree.truncation,
                "memory": tree.memory,
                "author_note": tree.author_note,
                "note_depth": tree.note_depth,
                "lore_scan": tree.lore_scan,
                "lore_budget": tree.lore_budget,
                "root": roots[tree.pk],
                "node_count": size.nodes,
                "branch_count": size.branches,
                "depth": size.depth,
                "seq": streams[name].head,
                "created_at": instant(tree.created_at),
                "archived_at": instant_or_none(tree.archived_at),
                "tags": list(tags.get(tree.pk, ())),
                "workspace": {"id": own[tree.pk].uid, "position": places[tree.pk]}
                if tree.pk in own
                else None,
            }
        )
    return bodies


def head_of(tree: Tree) -> int:
    """The last seq of the tree's stream; 0 if there are no events yet."""
    heads = Stream.objects.filter(name=f"tree:{tree.uid}").values_list("head", flat=True)
    return heads.first() or 0


def position_of(tree: Tree, workspace: Workspace) -> str:
    """The position of the workspace: a local id, with its tree if that is another one. It is the
    nearest node that is not hidden."""
    return _positions([tree], {tree.pk: workspace})[tree.pk]


def _positions(trees: Sequence[Tree], own: Mapping[int, Workspace]) -> dict[int, str]:
    """The positions of workspaces, by the row id of their tree."""
    nodes = lookup.rows().in_bulk([one.position_id for one in own.values()])
    hidden = hidden_among(one.slot_id for one in nodes.values())
    found = {}
    for tree in trees:
        if tree.pk in own:
            node = nodes[own[tree.pk].position_id]
            if node.slot_id in hidden:
                node = lookup.visible_at_or_above(node, own[tree.pk])
            found[tree.pk] = lookup.node_ref(node, tree.pk)
    return found


# The bookmarks and tags of a whole tree.


_ON = """SELECT m.uid, m.kind, m.label, n.local_id FROM notes_mark m
    JOIN trees_item i ON i.id = m.item_id JOIN trees_node n ON n.id = i.node_id
    WHERE m.tree_id = %s AND m.kind IN ('bookmark', 'tag') AND m.removed_at IS NULL
    ORDER BY m.id"""


def tags_in(actor: Actor) -> list[dict[str, Any]]:
    """`[{name, colour, items}]`: the tags of the actor's grove by name, with how many items have
    each. Two queries."""
    rows = Mark.objects.filter(tree__grove=actor.grove, kind="tag", removed_at__isnull=True)
    rows = rows.filter(tree__erasing_at__isnull=True).order_by()
    found = dict(rows.values_list("label").annotate(many=Count("item", distinct=True)))
    colours = Grove.objects.values_list("settings", flat=True).get(pk=actor.grove.pk)
    chosen: dict[str, str] = colours.get("tag_colours", {})
    return [
        {"name": name, "colour": chosen.get(name, ""), "items": found.get(name, 0)}
        for name in sorted({*found, *chosen}, key=str.casefold)
    ]


def tags_on(trees: Sequence[Tree]) -> dict[int, tuple[str, ...]]:
    """The tags on these trees themselves, by name; by the tree's row id. One query."""
    items = [item_ids.of_tree(tree.pk) for tree in trees]
    marks = Mark.objects.filter(item__in=items, kind="tag", removed_at__isnull=True)
    found: dict[int, tuple[str, ...]] = {}
    for key, label in marks.order_by("label").values_list("tree_id", "label"):
        found[key] = (*found.get(key, ()), label)
    return found


def marks_of(actor: Actor, tree: Tree) -> list[tuple[str, str, str, str]]:
    """(id, kind, label, local id) of the marks on nodes of the tree, oldest first. One query."""
    return list(fetch(_ON, [tree.pk]))


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
    rows = fetch(sql, _span(tree))
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
    """Whether a node is the second half of a split: made from the same text as the one above it."""
    above = index.get(row[2]) if row[9] is not None else None
    return above is not None and rows[above][9] == row[9] and row[9] in index


def _orders(rows: Sequence[Sequence[Any]], index: dict[int, int]) -> list[tuple[int, list[int]]]:
    """The children of each node whose children are not in order of creation."""
    placed = {row[2] for row in rows if row[8] is not None}
    below: dict[int, list[tuple[int, int]]] = {parent: [] for parent in placed}
    for row in rows if placed else ():
        if row[2] in below and row[3] == row[0] and row[4] == "text":
            below[row[2]].append((place_of(row[0], row[8]), index[row[0]]))
    found = {parent: [at for _, at in sorted(places)] for parent, places in below.items()}
    return [(index[parent], ats) for parent, ats in found.items() if ats != sorted(ats)]


def heads_of(tree: Tree) -> tuple[int, int]:
    """The last seqs of the tree's stream and of its grove's, whose names it shows."""
    names = (f"tree:{tree.uid}", f"grove:{tree.grove.uid}")
    heads = dict(Stream.objects.filter(name__in=names).values_list("name", "head"))
    return heads.get(names[0], 0), heads.get(names[1], 0)


def _span(tree: Tree) -> list[int]:
    """The lowest and highest row id that a node of the tree can have."""
    return [tree.pk << ORDINAL_BITS, ((tree.pk + 1) << ORDINAL_BITS) - 1]


def participants_named(authors: Iterable[int]) -> tuple[dict[int, int], list[dict[str, str]]]:
    """The index by row id, and the participants in the order of their first node."""
    places = {key: place for place, key in enumerate(dict.fromkeys(authors))}
    rows = Participant.objects.in_bulk(list(places))
    found = [rows[key] for key in places]
    return places, [{"id": one.uid, "name": one.name, "kind": one.kind} for one in found]


def page(actor: Actor, tree: Tree, *, after: int = 0, limit: int = MAX_ROWS) -> dict[str, Any]:
    """`{count, next, results}`: rows of nodes in order of creation, after the ordinal
    `after`; `next` is the next `after`, null at the end."""
    sql = f"""SELECT v.id, v.local_id, v.kind, p.local_id, s.local_id, a.uid,
            {flag_bits("s")}, v.length
        FROM trees_node v JOIN trees_node s ON s.id = v.slot_id
        JOIN people_participant a ON a.id = v.author_id
        LEFT JOIN trees_node p ON p.id = v.parent_slot_id
        WHERE v.id BETWEEN %s AND %s ORDER BY v.id LIMIT %s"""
    first, last = _span(tree)
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


# -- one tree for a reader who is not a member of its grove: only its texts. Annotations, marks,
# links, summaries, and what is pruned or in a sandbox are left out.


PAGE = 60
MOST_BELOW = 50
MOST_LINES = 400
DEEP = 60


@dataclass(frozen=True)
class PathStretch:
    """A part of a path: `rows` (without the root) with their margins, and what is below;
    `onward` is the local id with which the main line is read on, "" at its end and beside it."""

    node: NodeRow
    rows: list[NodeRow]
    margins: dict[int, Margin]
    has_above: bool
    below: list[NodeRow]
    has_more: bool
    onward: str


def public_path(actor: Actor, tree: Tree, local_id: str) -> PathStretch:
    """The path to a selected text that is not hidden; "" means the beginning of the main line.

    NOT_FOUND for everything else, whether it exists or not.
    """
    line = _main_line(actor, tree)
    node = _found(tree, local_id) if local_id else _beginning(tree, line)
    if local_id and hides(node):
        raise not_found(f"[{local_id}]", "Open the link without it.")
    place = next((at for at, (slot, _) in enumerate(line) if slot == node.slot_id), None)
    if place is None:
        path = path_ids(actor, tree, None, node, most=PAGE + 1)
    else:
        path = line[max(0, place - PAGE) : place + 1]
    ids = [key for _, key in path]
    onward = [] if place is None else [key for _, key in line[place + 1 :][:PAGE][-1:]]
    slots = [one.pk for one in lookup.slots_below(node.slot_id)[: MOST_BELOW + 1]]
    standing = selected_versions([node.slot_id, *slots], None)
    below = [standing[slot][0] for slot in slots[:MOST_BELOW]]
    rows = {row.id: row for row in rows_of([*dict.fromkeys([*ids, *onward, *below])])}
    shown = [rows[key] for key in ids if rows[key].depth][-PAGE:]
    return PathStretch(
        node=rows[ids[-1]],
        rows=shown,
        margins=margins_of(tree, [Spot(row.id, row.slot_id) for row in shown]),
        has_above=node.depth > len(shown),
        below=[rows[key] for key in below if not rows[key].sandbox],
        has_more=len(slots) > MOST_BELOW,
        onward=rows[onward[0]].local_id if onward else "",
    )


MOST_LINE = 2_000  # texts of a main line that is read from its beginning; a longer one from its end


def _main_line(actor: Actor, tree: Tree) -> list[tuple[int, int]]:
    """The main line as (slot id, row id), root first; only its last texts, if it is very long."""
    return path_ids(actor, tree, None, main_line_of(tree).end, most=MOST_LINE)


def _beginning(tree: Tree, line: list[tuple[int, int]]) -> Node:
    """The text up to which the first page of the main line is shown; its end, if it is too long
    to be read from the root."""
    is_whole = line[0][0] == _span(tree)[0] + 1
    return lookup.by_id(line[min(PAGE, len(line) - 1)][1] if is_whole else line[-1][1])


def _found(tree: Tree, local_id: str) -> Node:
    node = lookup.find_node(tree, local_id)
    if node is None or node.kind != "text":
        raise not_found(f"[{local_id}]", "Open the link without it.")
    return selected_version(node.slot_id, None) or node


def public_image(actor: Actor, tree: Tree, local_id: str, sha256: str) -> Image:
    """The image, if the text with that id can be read here and names it; NOT_FOUND otherwise."""
    refused = not_found("This image")
    node = lookup.find_node(tree, local_id)
    if node is None or node.kind != "text" or hides(node) or sha256 not in hashes_in(node.text):
        raise refused
    if selected_version(node.slot_id, None) != node:
        raise refused
    row = Image.objects.filter(tree=tree, sha256=sha256).first()
    if row is None:
        raise refused
    return row


def public_lines(actor: Actor, tree: Tree) -> tuple[list[tuple[int, NodeRow]], bool]:
    """The outline as (level, row), at most 400 lines, and whether there are more."""
    made = outline(actor, tree, None, lookup.root_of(tree), depth=DEEP, limit=MOST_LINES)
    lines: list[tuple[int, NodeRow]] = []
    hidden_below: int | None = None
    for line in made.lines[1:]:
        if hidden_below is not None and line.level > hidden_below:
            continue
        hidden_below = line.level if line.row.sandbox else None
        if not line.row.sandbox:
            lines.append((line.level, line.row))
    return lines, made.is_cut
