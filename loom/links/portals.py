"""What a portal leads to, for one reader: the items that a text names in it, or those that links of
a type lead to (docs/model.md §8)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from loom import access
from loom.access import Actor, may_reach
from loom.errors import CommandError
from loom.language import ids
from loom.language.portals import EMBED, PortalItem, PortalView, named, too_deep
from loom.language.refs import ParseError, Ref, Slice, print_slice
from loom.language.slices import parse_ref
from loom.links.foot import Portal, portals_of
from loom.links.sides import links_of
from loom.links.trails import UNAVAILABLE, EndSeen, EndsSeen
from loom.people.grove_settings import number_of
from loom.people.models import Grove
from loom.text.front_matter import body_start
from loom.trees.grove_texts import grove_texts, is_text
from loom.trees.models import GroveText, Node, Tree
from loom.trees.queries import lookup
from loom.trees.queries.lookup import withheld

MOST_SHOWN = 50  # items of one portal
LEFT_OUT = "pruned, its text is left out"
MOST_TEXT = 4_000  # characters of a text in a portal


class NamedItem(NamedTuple):
    """An item and the part of it that is meant; `written` is how a text names it. No item (0) for
    what does not exist or may not be seen. Of a link: its note, its confidence, and the wording of
    this side that it was made on, if that has changed (`[a7x2]`)."""

    item: int
    written: str = ""
    part: Slice | None = None
    note: str = ""
    confidence: float | None = None
    changed: str = ""


@dataclass(frozen=True)
class PortalEnd:
    """An item inside a portal: what the reader sees of it, its text, whether that is cut, the part
    that is meant, and the portals at its foot. `note`, `confidence` and `changed` as in
    NamedItem."""

    seen: EndSeen
    text: str = ""
    is_cut: bool = False
    part: str = ""
    note: str = ""
    portals: tuple[Portal, ...] = ()
    document: GroveText | None = None
    confidence: float | None = None
    changed: str = ""

    @property
    def by(self) -> str:
        """Who wrote it; "" for what is no node."""
        return self.seen.node.author.name if self.seen.node is not None else ""

    @property
    def shown(self) -> str:
        """`[a7x2]`, `doc:"notes" §motive`."""
        return f"{self.seen.shown} {self.part}".strip()


def demand_not_deep(grove: Grove, path: Sequence[str]) -> None:
    """LIMIT_EXCEEDED for a portal inside more portals than the grove allows, given by the types of
    those around it and its own. The refusal names the chain."""
    most = number_of(grove.settings, "portal_depth")
    if len(path) > most:
        raise CommandError(
            "LIMIT_EXCEEDED", too_deep(path, most), hint="go to the item to look further"
        )


def items_named(actor: Actor, tree: Tree, targets: Sequence[str]) -> list[NamedItem]:
    """The items that targets name in a text of a tree, in order, as far as the actor may see them.
    At most four queries for each."""
    items = []
    for target, ref in refs_of(targets).items():
        if ref is None:
            items.append(NamedItem(0, target))
        elif ref.kind == "document":
            items.append(NamedItem(text_named(actor, tree, ref), target, ref.slice))
        else:
            items.append(NamedItem(_in_tree(actor, tree, ref), target, ref.slice))
    return items


def refs_of(targets: Sequence[str]) -> dict[str, Ref | None]:
    """Each target as a ref; None for what is none."""
    refs: dict[str, Ref | None] = {}
    for target in targets:
        try:
            refs[target] = parse_ref(target)
        except ParseError:
            refs[target] = None
    return refs


def text_named(actor: Actor, here: Tree | None, ref: Ref) -> int:
    """The item of the text outside of trees that a ref names, as the actor may read it in a tree;
    0 for others."""
    text = grove_texts().named(actor, here, ref)
    return text.item_id if text is not None else 0


def _in_tree(actor: Actor, tree: Tree, ref: Ref) -> int:
    """The item of a ref to a node or tree; 0 for others."""
    home = tree
    if ref.tree_id or ref.tree_name:
        rows = access.trees_for(actor)
        rows = rows.filter(uid=ref.tree_id) if ref.tree_id else rows.filter(title=ref.tree_name)
        other = rows.order_by("-id").first()
        if other is None or not may_reach(actor, other.pk, here=tree):
            return 0
        home = other
    if ref.kind == "tree":
        return ids.of_tree(home.pk)
    if ref.kind != "node":
        return 0
    node = lookup.find_node(home, ref.id)
    return ids.of_node(node.pk) if node is not None else 0


def items_linked(actor: Actor, home: Node | GroveText, kind: str) -> tuple[list[NamedItem], int]:
    """The items that links of a type lead to, each once, oldest link first, and how many there
    are; only those of MOST_SHOWN links."""
    if not isinstance(home, Node):
        every = list(dict.fromkeys(grove_texts().linked_items(actor, home, kind, None)))
        return [NamedItem(item) for item in every[:MOST_SHOWN]], len(every)
    seen = links_of(actor, home, kind=kind, most=MOST_SHOWN)
    items = _each_once(
        NamedItem(side.item, "", None, side.note, side.confidence, side.own_change) for side in seen
    )
    if len(seen) < MOST_SHOWN:
        return items, len(items)
    portals = portals_of(actor, {home.pk: home.slot_id}).get(home.pk, ())
    many = sum(portal.targets for portal in portals if portal.type == kind)
    return items, max(many, len(items))


def _each_once(items: Iterable[NamedItem]) -> list[NamedItem]:
    """The items that links lead to, each once, with the notes of all links to it."""
    linked: dict[int, NamedItem] = {}
    for item in items:
        first = linked.get(item.item)
        if first is None:
            linked[item.item] = item
            continue
        notes = " · ".join(dict.fromkeys(filter(None, (first.note, item.note))))
        confidence = item.confidence if first.confidence is None else first.confidence
        changed = first.changed or item.changed
        linked[item.item] = first._replace(note=notes, confidence=confidence, changed=changed)
    return list(linked.values())


def ends_of(
    actor: Actor, here: Tree | None, items: Sequence[NamedItem], *, newest: bool = False
) -> list[PortalEnd]:
    """The items with their texts and portals, each once. With `newest`, nodes in their current
    version, as an embed shows them. Ten queries, and three for each document."""
    stops = EndsSeen(actor, here, [named_item.item for named_item in items if named_item.item])
    seen = {item: _current(end) if newest else end for item, end in stops.by_item.items()}
    papers = grove_texts().seen(actor, here, seen)
    nodes = {item: end.node for item, end in seen.items() if end.node is not None}
    gone = withheld(actor, [node.pk for node in nodes.values()])
    slots = {item: node.slot_id for item, node in nodes.items()}
    slots |= {item: item for item, end in seen.items() if item < 0 and not end.is_gone}
    feet = portals_of(actor, slots)
    ends = []
    for named_item in dict.fromkeys(items):
        end = seen.get(named_item.item) or EndSeen(
            0, "", named(named_item.written), state=UNAVAILABLE
        )
        node, paper = end.node, papers.get(named_item.item)
        part = ""
        text = "" if node is None or node.pk in gone else node.text
        if paper is not None and not end.is_gone:
            text, part = _part_of(paper, named_item.part)
        foot = feet.get(named_item.item, ())
        cut = text[:MOST_TEXT]
        of_link = (named_item.confidence, named_item.changed)
        is_cut = len(text) > MOST_TEXT
        ends.append(PortalEnd(end, cut, is_cut, part, named_item.note, foot, paper, *of_link))
    return ends


def _current(end: EndSeen) -> EndSeen:
    """A node in its current version."""
    if end.now is None or end.node is None or end.now.pk == end.node.pk:
        return end
    end.now.tree = end.node.tree
    shown = end.shown.replace(end.node.local_id, end.now.local_id, 1)
    ref = end.ref.replace(end.node.local_id, end.now.local_id)
    return EndSeen(end.item, ref, shown, "", "", end.now, end.now)


def _part_of(text: GroveText, part: Slice | None) -> tuple[str, str]:
    """The words of a text outside of trees or of a part of it, and how the part is written; all of
    it if there is no such part."""
    if part is not None:
        try:
            return grove_texts().part_of(text, part).text, print_slice(part)
        except ParseError:
            pass
    whole = grove_texts().part_of(text).text
    return whole[body_start(whole) :], ""


# The same as values, of which all renderings are made (`loom.language.portals`).


def opened(
    actor: Actor,
    here: Tree | None,
    kind: str,
    items: Sequence[NamedItem],
    many: int,
    *,
    pruned: bool = True,
) -> PortalView:
    """An open portal, with its items and the closed portals at their foot. Without `pruned` the
    texts of what is pruned, or below what is pruned, are left out, which their state says."""
    ends = ends_of(actor, here, items, newest=kind == EMBED)
    if not pruned:
        hidden = _hidden(ends)
        ends = [
            replace(end, text="", is_cut=False, seen=replace(end.seen, state=LEFT_OUT))
            if end.seen.item in hidden
            else end
            for end in ends
        ]
    shown = tuple(
        PortalItem(
            end.shown,
            end.by,
            end.seen.state,
            end.text + (" …" if end.is_cut else ""),
            tuple(below.opened for below in end.portals),
        )
        for end in ends
    )
    name = ends[0].shown if many == len(ends) == 1 else ""
    return PortalView(
        kind,
        many,
        name,
        shown,
        is_open=True,
        nouns=nouns_of(named_item.item for named_item in items),
    )


def _hidden(ends: Iterable[PortalEnd]) -> set[int]:
    """The items that are pruned or below what is pruned. One query for each tree."""
    nodes = [end.seen.node for end in ends if end.seen.node is not None]
    hidden = {node.pk for node in nodes if node.slot.pruned or node.version_pruned}
    for tree in {node.tree_id for node in nodes}:
        here = [node for node in nodes if node.tree_id == tree]
        below = lookup.below_pruned(tree, [node.slot_id for node in here])
        hidden.update(node.pk for node in here if node.slot_id in below)
    return {end.seen.item for end in ends if end.seen.node and end.seen.node.pk in hidden}


def nouns_of(items: Iterable[int]) -> tuple[str, str]:
    """What items are called together, one and many of them."""
    documents = {is_text(item) for item in items}
    if documents == {True}:
        return "document", "documents"
    return ("item", "items") if True in documents else ("node", "nodes")
