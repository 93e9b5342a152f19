"""A person's drafts in a tree, as the API shows them."""

from typing import Any

from loom.access import Actor
from loom.models import Draft, Node, Workspace
from loom.rules.hashes import instant


def draft_body(draft: Draft) -> dict[str, Any]:
    """One draft: slot (a local id), kind, text, and the instant that names its state."""
    return {
        "slot": draft.slot.local_id,
        "kind": draft.kind,
        "text": draft.text,
        "at": instant(draft.at),
    }


def drafts_of(actor: Actor, workspace: Workspace) -> list[dict[str, Any]]:
    """All drafts of a workspace, oldest first; of a person's only to himself."""
    if workspace.participant_id != actor.participant.pk:
        return []
    rows = Draft.objects.filter(workspace=workspace).select_related("slot")
    return [draft_body(draft) for draft in rows.order_by("id")]


def text_at(workspace: Workspace, node: Node, kind: str) -> str:
    """What was typed at a node's slot and is no node yet; "" for nothing."""
    rows = Draft.objects.filter(workspace=workspace, slot=node.slot_id, kind=kind)
    return rows.values_list("text", flat=True).first() or ""
