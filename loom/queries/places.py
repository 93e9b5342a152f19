"""TODO."""

from collections.abc import Sequence

from django.db.models import QuerySet

from loom.models import Node, Workspace
from loom.queries import lookup
from loom.queries.lookup import selected_versions

MOST_NOTES = 20  # annotations on annotations that are followed up to a text


def places_of(ids: Sequence[int], workspace: Workspace | None) -> dict[int, list[str]]:
    """Where each of the nodes is, in words, by row id: `below x2a3 → r2v9`, the notes it answers
    up to the first text above; and `pruned`, `version pruned` or `below pruned [a7x2]`.

    One query, three for each step up, and two for each node in a tree where something is
    pruned.
    """
    nodes = list(Node.objects.filter(pk__in=ids).defer("text"))
    above: dict[int, tuple[str, int | None]] = {}
    asked = {one.parent_slot_id for one in nodes if one.parent_slot_id is not None}
    names: dict[int, str] = {}
    for _ in range(MOST_NOTES):
        if not asked:
            break
        rows = Node.objects.filter(pk__in=asked).values_list("pk", "kind", "parent_slot_id")
        found = {key: (kind, parent) for key, kind, parent in rows}
        above |= found
        names |= {slot: name for slot, (_, name) in selected_versions(found, workspace).items()}
        asked = {
            parent
            for kind, parent in found.values()
            if kind != "text" and parent is not None and parent not in above
        }
    return {one.pk: [*_chain_of(one, above, names), *_hiding(one)] for one in nodes}


def _chain_of(
    node: Node, above: dict[int, tuple[str, int | None]], names: dict[int, str]
) -> list[str]:
    chain: list[str] = []
    slot = node.parent_slot_id
    while slot is not None and slot in names and len(chain) < MOST_NOTES:
        chain.append(names[slot])
        kind, parent = above[slot]
        slot = None if kind == "text" else parent
    return [f"below {' → '.join(chain)}"] if chain else []


def _hiding(node: Node) -> list[str]:
    found = ["version pruned"] if node.version_pruned else []
    hiding = lookup.hidden_by(node)
    if hiding is not None:
        own = hiding.pk == node.slot_id
        found.append("pruned" if own else f"below pruned [{hiding.local_id}]")
    return found


def versions_of(node: Node) -> QuerySet[Node]:
    """All versions of the node's slot, oldest first."""
    return lookup.rows().filter(slot=node.slot_id)


def siblings_of(node: Node) -> QuerySet[Node]:
    """First versions of the text slots beside the node's own."""
    if node.parent_slot_id is None:
        return lookup.rows().none()
    return lookup.slots_below(node.parent_slot_id).exclude(pk=node.slot_id)
