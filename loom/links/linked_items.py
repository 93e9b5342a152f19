"""What the links of a node lead to by one type, stored or derived."""

from loom.access import Actor
from loom.language import ids
from loom.links.derived import derived_type, item_annotated, nodes_of
from loom.links.foot import portals_of
from loom.links.sides import links_of, mentioning
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Workspace


def links_counted(actor: Actor, node: Node, kind: str) -> int:
    """How many links of a type (or documents that embed it) the actor sees on a node."""
    if kind == "mentioned_by":
        return len(mentioning(actor, node))
    portals = portals_of(actor, {node.pk: node.slot_id}).get(node.pk, ())
    return sum(portal.many for portal in portals if portal.type == kind)


def items_linked(
    actor: Actor, node: Node, kind: str, workspace: Workspace, *, most: int
) -> list[int]:
    """The items at the other ends of links of a type, or of a derived type, of a node."""
    if kind == "annotates" and (item := item_annotated(node)):
        return list(grove_texts().seen(actor, workspace.tree, [item]))
    if derived_type(kind) and kind != "mentioned_by":
        nodes, _ = nodes_of(actor, node, kind, workspace, most=most)
        return [ids.of_node(row.pk) for row in nodes]
    links = (
        mentioning(actor, node)
        if kind == "mentioned_by"
        else links_of(actor, node, kind=kind, most=most)
    )
    return [link.item for link in links[:most] if link.item]
