"""Bookmarks and tags of nodes, of trees and of a grove."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, QuerySet

from loom.access import Actor, grove_trees
from loom.language import ids as item_ids
from loom.language.refs import label_named, tag_named
from loom.notes.models import Mark
from loom.notes.tag_keys import tag_key
from loom.people.models import Grove
from loom.text.shortening import plain
from loom.trees.models import Tree
from loom.trees.queries import lookup
from loom.trees.queries.lookup import fetch

_SHOWN_MARKS = """
    SELECT n.slot_id, n.id, n.local_id, m.kind, m.label FROM trees_node n
    JOIN notes_mark m ON m.item_id = n.id
    WHERE {slots} AND m.kind IN ('bookmark', 'tag') AND m.removed_at IS NULL ORDER BY m.id
"""


def marks_shown(nodes: Mapping[int, int]) -> dict[int, str]:
    """The bookmarks and tags of versions (row id: slot) in words, by row id: `bookmarked "key
    point" · #tone on [a7x2]`. A mark of any wording counts for all; where it was put on another,
    that is named. One query; versions without a mark are left out."""
    if not nodes:
        return {}
    sql, given = lookup.within("n.slot_id", set(nodes.values()))
    put: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for slot, key, local_id, kind, name in fetch(_SHOWN_MARKS.format(slots=sql), [given]):
        label = " ".join(plain(name).split())
        bookmarked = f"bookmarked {label_named(label)}" if label else "bookmarked"
        words = tag_named(label) if kind == "tag" else bookmarked
        put[slot].append((key, local_id, words))
    shown: dict[int, str] = {}
    for node, slot in nodes.items():
        own = [words for key, _, words in put[slot] if key == node]
        others = [f"{words} on [{name}]" for key, name, words in put[slot] if words not in own]
        if own or others:
            shown[node] = " · ".join(dict.fromkeys([*own, *others]))
    return shown


# The bookmarks and tags of whole trees.


_ON = """SELECT m.uid, m.kind, m.label, n.local_id FROM notes_mark m
    JOIN trees_item i ON i.id = m.item_id JOIN trees_node n ON n.id = i.node_id
    WHERE m.tree_id = %s AND m.kind IN ('bookmark', 'tag') AND m.removed_at IS NULL
    ORDER BY m.id"""


def tags_in(actor: Actor) -> list[dict[str, Any]]:
    """`[{name, colour, items}]`: the tags of the actor's grove by name, with how many items have
    each. Two queries."""
    seen = grove_trees(actor)
    rows = Mark.objects.filter(tree__in=seen, kind="tag", removed_at__isnull=True).order_by()
    counts = dict(rows.values_list("label").annotate(many=Count("item", distinct=True)))
    colours = Grove.objects.values_list("settings", flat=True).get(pk=actor.grove.pk)
    chosen: dict[str, str] = colours.get("tag_colours", {})
    return [
        {"name": name, "colour": chosen.get(name, ""), "items": counts.get(name, 0)}
        for name in sorted({*counts, *chosen}, key=str.casefold)
    ]


def tags_on(trees: Sequence[Tree]) -> dict[int, tuple[str, ...]]:
    """The tags on these trees themselves, by name; by the tree's row id. One query."""
    items = [item_ids.of_tree(tree.pk) for tree in trees]
    marks = Mark.objects.filter(item__in=items, kind="tag", removed_at__isnull=True)
    labels: dict[int, tuple[str, ...]] = {}
    for key, label in marks.order_by("label").values_list("tree_id", "label"):
        labels[key] = (*labels.get(key, ()), label)
    return labels


def tags_of_item(actor: Actor, item: int) -> list[str]:
    """The tags that an item has in trees that the actor sees, by name. One query."""
    marks = Mark.objects.filter(item=item, kind="tag", removed_at__isnull=True)
    seen = marks.filter(tree__in=grove_trees(actor)).order_by()
    return sorted(set(seen.values_list("label", flat=True)), key=str.casefold)


def marks_of(actor: Actor, tree: Tree) -> list[tuple[str, str, str, str]]:
    """(id, kind, label, local id) of the marks on nodes of the tree, oldest first. One query."""
    return list(fetch(_ON, [tree.pk]))


def is_tag(label: str, name: str) -> bool:
    """The condition that a mark is the tag with that name, in any case."""
    return tag_key(label) == tag_key(name)


def tags_named(name: str) -> QuerySet[Mark]:
    """The tags with that name, in any case and in all groves."""
    return Mark.objects.filter(kind="tag", label_key=tag_key(name), removed_at__isnull=True)
