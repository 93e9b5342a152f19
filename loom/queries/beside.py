"""What stands beside and below one node, counted and listed for whoever may see it."""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from loom.access import Actor, home_of, trees_for
from loom.models import Link, Node, Tree
from loom.queries import lookup
from loom.queries.items import ERASED, erased_among
from loom.rules import addresses, link_types


@dataclass(frozen=True)
class Counts:
    """How much hangs at a node: visible continuations, annotations, links, versions."""

    continuations: int
    annotations: int
    links: int
    versions: int


def counts_of(actor: Actor, node: Node) -> Counts:
    """The counts of one node; four queries."""
    return Counts(
        continuations=lookup.slots_below(node.slot_id).count(),
        annotations=annotations_of(node).count(),
        links=sum(not one.is_broken for one in links_of(actor, node)),
        versions=Node.objects.filter(slot=node.slot_id).count(),
    )


def annotations_of(node: Node) -> QuerySet[Node]:
    """The annotations directly on a node that are not pruned, oldest first; of each its
    newest wording."""
    newer = Node.objects.filter(slot=OuterRef("slot"), id__gt=OuterRef("id"), version_pruned=False)
    notes = lookup.rows().filter(parent_slot=node.slot_id, kind="annotation", slot__pruned=False)
    return notes.filter(~Exists(newer), version_pruned=False).order_by("slot_id")


def versions_of(node: Node) -> QuerySet[Node]:
    """All versions of the node's slot, oldest first."""
    return lookup.rows().filter(slot=node.slot_id)


def siblings_of(node: Node) -> QuerySet[Node]:
    """First versions of the text slots beside the node's own."""
    if node.parent_slot_id is None:
        return lookup.rows().none()
    return lookup.slots_below(node.parent_slot_id).exclude(pk=node.slot_id)


@dataclass(frozen=True)
class Seen:
    """A link from one item's side: its type as read from there, and the other end."""

    type: str
    node: Node | None
    tree_title: str
    note: str
    tree_uid: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether the other end was erased."""
        return not self.tree_uid

    @property
    def shown(self) -> str:
        """The type in words."""
        return self.type.replace("_", " ")


def links_of(actor: Actor, item: Node | Tree) -> list[Seen]:
    """The links of a node or tree from its side, oldest first; ends the actor may not see
    left out."""
    is_tree = isinstance(item, Tree)
    own = addresses.of_tree(item.pk) if is_tree else addresses.of_node(item.pk)
    rows = Link.objects.filter(Q(source=own) | Q(target=own), removed_at__isnull=True)
    rows = rows.filter(tree__in=trees_for(actor))
    seen = []
    for link in rows:
        outward = link.source == own
        kind = link.type if outward else link_types.reverse_of(link.type)
        end = _end(actor, link.target if outward else link.source)
        if end is not None:
            seen.append(Seen(kind, end[0], end[1], link.note, end[2]))
    return seen


def _end(actor: Actor, address: str) -> tuple[Node | None, str, str] | None:
    """(node, "", its tree's id) or (None, a tree's title, its id) at an address, the id being
    "" where that was erased; None where it may not be seen."""
    trees = trees_for(actor)
    node_id = addresses.node_id(address)
    if node_id is not None:
        node = lookup.rows().filter(pk=node_id, tree__in=trees).first()
        return (node, "", node.tree.uid) if node else _broken(address)
    tree = trees.filter(pk=addresses.tree_id(address) or 0).first()
    return (None, tree.title, tree.uid) if tree else _broken(address)


def _broken(address: str) -> tuple[None, str, str] | None:
    home = home_of(address)
    return (None, ERASED, "") if home is not None and erased_among({home}) else None
