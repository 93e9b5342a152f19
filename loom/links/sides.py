"""The links of one item from its own side, and the documents that embed it."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from loom.access import Actor, erased_trees_for, trees_for
from loom.language import ids
from loom.language.ids import home_of
from loom.language.refs import label_named
from loom.links.models import Link
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.trees.queries.item_names import ERASED, PRUNED


@dataclass(frozen=True)
class LinkSide:
    """A link from one item's side: its type as read from there, and the other end."""

    type: str
    node: Node | None
    tree_title: str
    note: str
    tree_uid: str = ""
    document_uid: str = ""  # if the other end is a document; `tree_title` is its title then
    revisions: tuple[int, int] = (0, 0)  # of that document: when it was linked, and now
    link: str = ""  # its id
    confidence: float | None = None
    outward: bool = True
    wording: str = ""  # the wording of this item that it was made on, if that has changed
    words: str = ""  # of the source that it stands on
    later: str = ""  # the current version of the other end, if that is another
    item: int = 0  # the other end
    stored: str = ""  # the type as read from its source

    @property
    def is_broken(self) -> bool:
        """Whether the other end was erased."""
        return not self.tree_uid and not self.document_uid

    @property
    def whole(self) -> tuple[str, str]:
        """The other end, if it is a tree or a document: as lines name it by id, and by title."""
        kind = "doc" if self.document_uid else "tree"
        return (
            f"{kind}:{self.document_uid or self.tree_uid}",
            f"{kind}:{label_named(self.tree_title)}",
        )

    @property
    def shown(self) -> str:
        """The type in words."""
        return self.type.replace("_", " ")

    @property
    def state(self) -> str:
        """What became of the other end, in the words used everywhere: `erased`, `pruned`, or ""."""
        if self.is_broken:
            return ERASED
        node = self.node
        return PRUNED if node is not None and (node.slot.pruned or node.version_pruned) else ""

    @property
    def own_change(self) -> str:
        """The wording of this item that it was made on, if its words changed since: `[a7x2]`."""
        return f"[{self.wording}]" if self.wording else ""

    @property
    def changes(self) -> str:
        """`on [a7x2], since changed · now [k2m9]`: what was reworded since the link was made."""
        own = f"on [{self.wording}], since changed" if self.wording else ""
        far = f"now [{self.later}]" if self.later else ""
        return " · ".join(words for words in (own, far) if words)

    @property
    def has_changed(self) -> bool:
        """Whether the document at the other end has a newer revision than the one linked."""
        return 0 < self.revisions[0] < self.revisions[1]


def links_of(
    actor: Actor, item: Node | Tree, *, kind: str = "", most: int | None = None
) -> list[LinkSide]:
    """The links of a node or tree from its side, oldest first, with those that were made on other
    wordings of it; ends the actor may not see, and types that they are not shown, left out. With
    `kind` (a name or reverse) only these, and at most `most`. At most seven queries for every
    hundred."""
    here = item if isinstance(item, Tree) else item.tree
    slot = ids.of_tree(here.pk) if isinstance(item, Tree) else item.slot_id
    sides: list[LinkSide] = []
    last = 0
    while True:
        links = _links_after(actor, here, slot, last, kind=kind, most=most)
        sides += _seen_ends(actor, here, item, links)
        if most is None or len(links) < _page(most) or len(sides) >= most:
            break
        last = links[-1].pk
    return sides if most is None else sides[:most]


def _page(most: int) -> int:
    return max(most * 2, 100)


def _links_after(
    actor: Actor, here: Tree, slot: int, last: int, *, kind: str, most: int | None
) -> list[Link]:
    """The links of a place after one of them. Each direction walks its own index, so that only
    as many rows are read as are shown."""
    types = vocabulary_of(here.grove)
    links: list[Link] = []
    for end, outward in (("source_slot", True), ("target_slot", False)):
        rows = Link.objects.filter(**{end: slot}, removed_at__isnull=True)
        if kind:
            known = types.by_word.get(kind)
            if known is None or (known[1] != outward and not known[0].symmetric):
                continue
            rows = rows.filter(type=known[0].key)
        if last:
            rows = rows.filter(pk__gt=last)
        links += rows.order_by("id") if most is None else rows.order_by("id")[: _page(most)]
    links.sort(key=attrgetter("pk"))
    return links if most is None else links[: _page(most)]


def _seen_ends(
    actor: Actor, here: Tree, item: Node | Tree, links: Sequence[Link]
) -> list[LinkSide]:
    """The other ends of links of an item, as far as the actor may see them."""
    slot = ids.of_tree(here.pk) if isinstance(item, Tree) else item.slot_id
    far = {
        shown_link.target_id if shown_link.source_slot == slot else shown_link.source_id
        for shown_link in links
    }
    keys = [key for end in far if (key := ids.node_id(end)) is not None]
    asked_trees = {home_of(end) for end in far} | {link.tree_id for link in links}
    rows_of_trees = trees_for(actor).filter(pk__in=asked_trees - {0}).select_related("grove")
    trees = {rows_of_tree.pk: rows_of_tree for rows_of_tree in rows_of_trees}
    nodes = lookup.rows().filter(tree__in=trees).in_bulk(keys) if keys else {}
    for node in nodes.values():
        node.tree = trees[node.tree_id]
    linked = grove_texts().seen(actor, here, far)
    gone = {home_of(end) for end in far if end > 0} - set(trees)
    erased = erased_trees_for(actor, gone)
    own = _own_wordings(item, links)
    newer = lookup.selected_versions({row.slot_id for row in nodes.values()}, None)
    archetype = archetype_of(actor)
    seen = []
    for link in links:
        outward = link.source_slot == slot
        if link.tree_id not in trees:
            continue
        types = vocabulary_of(trees[link.tree_id].grove)
        if link.type not in types.keys_seen(archetype):
            continue
        kind = types.read(link.type, outward=outward)
        end = link.target_id if outward else link.source_id
        document, tree = linked.get(end), trees.get(home_of(end))
        words = own.get(link.source_id if outward else link.target_id, "")
        more: dict[str, Any] = {
            "link": link.uid,
            "confidence": link.confidence,
            "wording": "" if outward and _still_there(link, item) else words,
            "words": link.words,
            "outward": outward,
            "item": end,
            "stored": types.read(link.type, outward=True),
        }
        if document is not None:
            version = link.target_version if outward else link.source_version
            revisions = (int(version or 0), document.revision)
            of = (kind, None, document.title, link.note, "", document.uid)
            seen.append(LinkSide(*of, revisions=revisions, **more))
        elif end in nodes:
            node = nodes[end]
            now = newer.get(node.slot_id, (node.pk, ""))
            later = "" if now[0] == node.pk or node.version_pruned else now[1]
            seen.append(LinkSide(kind, node, "", link.note, node.tree.uid, later=later, **more))
        elif tree is not None and ids.tree_id(end) is not None:
            seen.append(LinkSide(kind, None, tree.title, link.note, tree.uid, **more))
        elif home_of(end) in erased:
            seen.append(LinkSide(kind, None, ERASED, link.note, **more))
    return seen


def _own_wordings(item: Node | Tree, links: Sequence[Link]) -> dict[int, str]:
    """The local ids of the wordings that links were made on, other than the item itself."""
    if isinstance(item, Tree):
        return {}
    ends = {
        link.source_id if link.source_slot == item.slot_id else link.target_id for link in links
    }
    ends.discard(item.pk)
    return dict(Node.objects.filter(pk__in=ends).values_list("pk", "local_id")) if ends else {}


def _still_there(link: Link, item: Node | Tree) -> bool:
    """Whether the words that a link stands on are in this wording of its source."""
    return bool(link.words) and isinstance(item, Node) and link.words in item.text


def mentioning(actor: Actor, node: Node) -> list[LinkSide]:
    """The documents that embed a version of a node and that the actor may read, as links that are
    not stored."""
    return [
        LinkSide("mentioned_by", None, document.title, "", "", document.uid, item=document.item_id)
        for document in grove_texts().mentioning(actor, node)
    ]
