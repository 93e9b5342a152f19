"""Links for readers who may see both ends; portals, grouped by type; and what can be reached over
links. The links of one item from its own side are in `sides`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet, Sum

from loom.access import Actor, erased_trees_for, trees_for
from loom.language import ids
from loom.language.ids import home_of
from loom.links.models import Link, LinkCount, Trail
from loom.links.vocabulary import archetype_of, keys_for, vocabulary_of
from loom.permissions import CROSS_TREE
from loom.text.hashes import instant
from loom.text.shortening import excerpt
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree
from loom.trees.queries.item_names import ERASED, PRUNED, erased_among, item_names
from loom.trees.queries.lookup import withheld


def written(stored: Iterable[int], tree_id: int) -> dict[int, str]:
    """Each item as a reference for a reader of the tree with that row id, as `item_names` returns
    it; saved trails by their ids. Three queries at most."""
    every = set(stored)
    shown = item_names(every, tree_id)
    if trails := [key for item in every if (key := ids.trail_id(item)) is not None]:
        kept = Trail.objects.filter(pk__in=trails).values_list("pk", "uid")
        shown.update({ids.of_trail(key): f"trail:{uid}" for key, uid in kept})
    return shown


# The links of a tree or of one node, as they are stored, for readers who may see both ends.


def links_in(actor: Actor, tree: Tree, node: Node | None = None) -> list[Link]:
    """The links that start in a tree, or all that start or end at a node; oldest first. Links with
    an end in a tree that the actor may not see are left out; an erased end is returned as
    `erased`."""
    rows = Link.objects.filter(removed_at__isnull=True).select_related("by", "tree__grove")
    if node is None:
        return _seen(actor, tree, rows.filter(tree=tree))
    own = node.slot_id
    rows = rows.filter(Q(source_slot=own) | Q(target_slot=own), tree__in=trees_for(actor))
    return _seen(actor, tree, rows)


def _seen(actor: Actor, tree: Tree, rows: "QuerySet[Link]") -> list[Link]:
    links = with_seen_ends(actor, tree, rows.order_by("id"))
    return [link for link in links if link.type in keys_for(actor, link.tree.grove)]


def with_seen_ends(actor: Actor, tree: Tree, links: Iterable[Link]) -> list[Link]:
    """Those of the links of which the actor, who reads `tree`, may see both ends; an erased end is
    there for whoever could see it. Three queries at most, none for links within the tree."""
    links = list(links)
    ends = {link: {link.source_id, link.target_id} for link in links}
    seen = {tree.pk}
    if asked := {home_of(end) for both in ends.values() for end in both} - {0} - seen:
        seen |= set(trees_for(actor).filter(pk__in=asked).values_list("pk", flat=True))
        seen |= erased_trees_for(actor, asked - seen)
    documents = grove_texts().seen(actor, tree, set().union(*ends.values()))
    return [
        link
        for link, both in ends.items()
        if all(end in documents if end < 0 else home_of(end) in seen for end in both)
    ]


def link_bodies(links: list[Link], tree: Tree) -> list[dict[str, Any]]:
    """The links as the API shows them; ends as a reader of `tree` names them, with what became of
    each."""
    ends = {end for link in links for end in (link.source_id, link.target_id)}
    named, states = written(ends, tree.pk), states_of(ends)
    return [
        {
            "id": link.uid,
            "tree": link.tree.uid,
            "type": vocabulary_of(link.tree.grove).read(link.type, outward=True),
            "source": named[link.source_id],
            "target": named[link.target_id],
            "source_state": states.get(link.source_id, ""),
            "target_state": states.get(link.target_id, ""),
            "note": link.note,
            "words": link.words,
            "confidence": link.confidence,
            "source_version": link.source_version,
            "target_version": link.target_version,
            "by": link.by.uid,
            "at": instant(link.at),
        }
        for link in links
    ]


# Following links.


MOST_REACHED = 150  # items
MOST_AWAY = 10  # links from one item to another that a graph follows
HUB = 40  # links of one item, from which on a graph does not pass through it by itself
SURE = ((0.8, "high"), (0.5, "medium"), (0.2, "low"))


class Edge(NamedTuple):
    """A link that was followed, as it is stored."""

    source: int
    target: int
    type: str
    confidence: float | None


@dataclass(frozen=True)
class Graph:
    """The items that were reached, each with its distance in links, and the links between them.
    `stops`: the items that it did not pass through, asked for or because they have HUB links or
    more; `is_cut`: there are more than MOST_REACHED."""

    items: dict[int, int]
    links: tuple[Edge, ...]
    is_cut: bool = False
    stops: frozenset[int] = frozenset()


def sureness(confidence: float | None) -> str:
    """`high`, `medium` or `low`; "" if no confidence was given, or a very low one."""
    if confidence is None:
        return ""
    return next((word for least, word in SURE if confidence >= least), "")


def graph_of(
    actor: Actor,
    node: Node,
    types: Iterable[str],
    depth: int,
    *,
    stops: Iterable[int] = (),
    through: Iterable[int] = (),
) -> Graph:
    """What can be reached from a node over links of these types, in either direction, at most
    `depth` links away, if the actor may see it. It does not pass through the items `stops`, nor
    through one with HUB links or more, unless that is one of `through`. At most six queries for
    each step."""
    of_grove = vocabulary_of(node.tree.grove)
    seen_types = of_grove.keys_seen(archetype_of(actor))
    words = [of_grove.by_word.get(word.lower()) for word in types]
    read = [pair for pair in words if pair is not None and pair[0].key in seen_types]
    outward = {kind.key for kind, is_out in read if is_out}
    inward = {kind.key for kind, is_out in read if kind.symmetric or not is_out}
    start = ids.of_node(node.pk)
    items, links, last = {start: 0}, dict[int, Edge](), {start}
    asked, passed, halted = set(stops), {start, *through}, set[int]()
    for away in range(1, depth + 1):
        out = Q(source__in=last, type__in=outward)
        followed = Link.objects.filter(out | Q(target__in=last, type__in=inward))
        followed = followed.filter(removed_at__isnull=True, tree__in=trees_for(actor))
        rows = followed.order_by("id").values_list(
            "id", "source_id", "target_id", "type", "confidence"
        )
        edges = {key: Edge(a, b, kind, x) for key, a, b, kind, x in rows[: MOST_REACHED * 2]}
        seen = _seen_of(actor, node.tree, {end for edge in edges.values() for end in edge[:2]})
        links |= {key: edge for key, edge in edges.items() if {edge.source, edge.target} <= seen}
        ends = {end for key in edges if key in links for end in links[key][:2]}
        last = ends - items.keys()
        items |= dict.fromkeys(sorted(last), away)
        halted |= (last & asked) | (_hubs(last - asked) - passed)
        last -= halted
        if not last or len(items) > MOST_REACHED:
            break
    is_cut = len(items) > MOST_REACHED
    kept = dict(list(items.items())[:MOST_REACHED])
    shown = (edge for edge in links.values() if edge.source in kept and edge.target in kept)
    return Graph(kept, tuple(shown), is_cut, frozenset(halted & kept.keys()))


def items_in(tree: Tree, names: Iterable[str]) -> set[int]:
    """The items of nodes of a tree by their local ids, and of documents by `doc:ID`; others are
    left out. Two queries."""
    wanted = {name.strip("[]").lower() for name in names}
    papers = [name.removeprefix("doc:") for name in wanted if name.startswith("doc:")]
    named = set(Node.objects.filter(tree=tree, local_id__in=wanted).values_list("pk", flat=True))
    if papers:
        items = (grove_texts().item_of(tree.grove_id, uid) for uid in papers)
        named |= {item for item in items if item is not None}
    return named


def slots_of(items: Iterable[int]) -> dict[int, int]:
    """The place of each item: the slot of a node, another item itself. One query."""
    every = set(items)
    nodes = {key: item for item in every if (key := ids.node_id(item)) is not None}
    rows = Node.objects.filter(pk__in=nodes).values_list("pk", "slot_id") if nodes else ()
    return {**{item: item for item in every}, **{nodes[key]: slot for key, slot in rows}}


def _hubs(items: Iterable[int]) -> set[int]:
    """Those of the items that have HUB links or more. Two queries."""
    slots = slots_of(items)
    rows = LinkCount.objects.filter(slot__in=set(slots.values())).values_list("slot")
    many = dict(rows.annotate(many=Sum("count")).filter(many__gte=HUB))
    return {item for item, slot in slots.items() if slot in many}


def _seen_of(actor: Actor, here: Tree, items: set[int]) -> set[int]:
    """Those of the items that the actor may see from a tree, and those that were erased."""
    homes = {home_of(item) for item in items} - {0}
    trees = set(trees_for(actor).filter(pk__in=homes).values_list("pk", flat=True))
    if CROSS_TREE not in actor.permissions:
        trees &= {here.pk}
    trees |= erased_trees_for(actor, homes - trees)
    documents = grove_texts().seen(actor, here, items)
    return {item for item in items if home_of(item) in trees or item in documents}


def graph_body(actor: Actor, graph: Graph, tree: Tree) -> dict[str, Any]:
    """A graph as the API returns it; items by how they are named in the tree, with their first
    words or title as far as the actor is shown them. Five queries."""
    types = vocabulary_of(tree.grove)
    names = graph_names(graph, tree.pk)
    words = words_of(actor, graph.items)
    states = states_of(graph.items)
    return {
        "nodes": [
            {
                "item": names[item],
                "depth": away,
                "words": words.get(item, ""),
                "stop": item in graph.stops,
                "state": states.get(item, ""),
            }
            for item, away in graph.items.items()
        ],
        "links": [
            {
                "source": names[edge.source],
                "target": names[edge.target],
                "type": types.read(edge.type, outward=True),
                "confidence": edge.confidence,
                "level": sureness(edge.confidence) or None,
            }
            for edge in graph.links
        ],
        "cut": graph.is_cut,
    }


def graph_names(graph: Graph, tree_id: int) -> dict[int, str]:
    """The items of a graph as a reader of the tree names them, each with another name: several
    erased ones are `erased`, `erased 2` …"""
    names = written(graph.items, tree_id)
    gone = [item for item in graph.items if names[item] == ERASED]
    numbered = {item: f"{ERASED} {number}" for number, item in enumerate(gone, 1) if number > 1}
    return names | numbered


def states_of(items: Iterable[int]) -> dict[int, str]:
    """What became of those of the items that are pruned or erased, in these words. Two queries."""
    every = set(items)
    nodes = {key: item for item in every if (key := ids.node_id(item)) is not None}
    hidden = Q(slot__pruned=True) | Q(version_pruned=True)
    gone = Node.objects.filter(hidden, pk__in=nodes).values_list("pk", flat=True)
    erased = erased_among({home_of(item) for item in every} - {0})
    states = {nodes[key]: PRUNED for key in gone}
    return states | {item: ERASED for item in every if home_of(item) in erased}


def words_of(actor: Actor, items: Iterable[int]) -> dict[int, str]:
    """The first words of nodes and the titles of documents and trees, which the actor may see; none
    for texts that they are not shown, and for what is being erased. Four queries."""
    every = set(items)
    nodes = {key: item for item in every if (key := ids.node_id(item)) is not None}
    gone = withheld(actor, list(nodes))
    rows = Node.objects.filter(pk__in=set(nodes) - gone, tree__erasing_at__isnull=True)
    texts = rows.values_list("pk", "text")
    words = {nodes[key]: excerpt(text, 8).strip('"') for key, text in texts if text}
    words |= grove_texts().titles(every)
    homes = {key: item for item in every if (key := ids.tree_id(item)) is not None}
    rows_of_trees = Tree.objects.filter(pk__in=homes, erasing_at__isnull=True)
    named = rows_of_trees.values_list("pk", "title")
    return words | {homes[key]: title for key, title in named}
