"""What may not be done to a node, whatever the verb: sentences that several commands share."""

from loom.models import Node
from loom.queries import lookup
from loom.rules.refusals import Refused


def demand_not_root(node: Node, deed: str) -> None:
    """Refuses REJECTED at the root, which is never edited, split, pruned or excluded."""
    if node.parent_slot_id is None:
        raise Refused(
            "REJECTED",
            f"The root is never {deed}.",
            hint="choose a node below it; → list root shows them",
        )


def demand_visible(node: Node) -> None:
    """Refuses REJECTED where the node or one above it is pruned."""
    hiding = lookup.hidden_by(node)
    if hiding is not None:
        raise Refused(
            "REJECTED",
            f"[{node.local_id}] is hidden: [{hiding.local_id}] is pruned.",
            hint=f"→ restore {hiding.local_id} first",
        )


def demand_text_node(node: Node, deed: str) -> None:
    """Refuses REJECTED where the node is an annotation, a thought or a claim."""
    if node.kind != "text":
        raise Refused(
            "REJECTED",
            f"[{node.local_id}] is an {node.kind}, and only text is {deed}."
            if node.kind == "annotation"
            else f"[{node.local_id}] is a {node.kind}, and only text is {deed}.",
            hint="choose a text node",
        )
