"""What happens in a tree: its events, and what a line does to its workspace's view of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loom.engine.context import Context
from loom.engine.event_kinds import Body, Payload, adds_to, event
from loom.engine.views import ViewEffect
from loom.trees.models import Node, VersionChoice, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.outline import outline_of


@event("tree.created", stream="tree")
class TreeCreated(Payload):
    """A tree was made."""

    tree: str
    title: str
    mode: str


@event("tree.changed", stream="tree")
class TreeChanged(Payload):
    """A tree was renamed, archived or restored, or what models are sent of it was changed: the
    fields that have changed."""

    tree: str
    title: str = ""
    archived_at: str | None = None
    description: str = ""
    system_context: str = ""
    memory: str = ""
    author_note: str = ""
    note_depth: int = 0
    lore_scan: int = 0
    truncation: str = ""
    lore_budget: int = 0
    folder: str = ""
    rights: dict[str, str] = {}  # whose: a participant, or a role; and which right


@event("tree.erased", stream="grove")
class TreeErased(Payload):
    """A tree is being erased. One that was hidden from somebody is not named."""

    tree: str
    title: str


@event("node.added", stream="tree")
class NodeAdded(Payload):
    """A node was written: its body without text, which readers get from the node. `before`: the
    sibling before which it is placed, if not last."""

    node: Body
    before: str = ""


@event("node.flagged", stream="tree")
class NodeFlagged(Payload):
    """A slot was pruned, excluded or neither, or a version was hidden (`version_pruned`)."""

    node: str
    slot: str
    flag: str
    value: bool


@event("draft.saved", stream="workspace")
class DraftSaved(Payload):
    """A person's unsaved text was stored, at this instant, or has ended."""

    slot: str
    kind: str
    ended: bool
    at: str = ""


# What a line does to its workspace's view of the tree.


@dataclass(frozen=True)
class VersionChosen(ViewEffect):
    """The workspace has a node as the current version of its slot."""

    node: Node
    leads: ClassVar[bool] = True

    @classmethod
    def change(cls, workspace: Workspace, effects: Sequence["VersionChosen"]) -> dict[str, Any]:
        """Stores the choices; the last one of a slot counts."""
        chosen = {effect.node.slot_id: effect.node for effect in effects}
        for slot_id, node in chosen.items():
            VersionChoice.objects.update_or_create(
                workspace=workspace, slot_id=slot_id, defaults={"node": node}
            )
        return {
            "position": lookup.node_ref(workspace.position, workspace.tree_id),
            "versions": {
                str(version.slot.local_id): version.local_id for version in chosen.values()
            },
        }


@adds_to("view.changed")
class OutlineOfView(Payload):
    """The outline, as `outline_of` reads it."""

    outline: Body = {}


@dataclass(frozen=True)
class OutlineChanged(ViewEffect):
    """The outline, as `outline_of` reads it, as a line leaves it. The last one counts."""

    outline: dict[str, Any]

    @classmethod
    def change(cls, workspace: Workspace, effects: Sequence["OutlineChanged"]) -> dict[str, Any]:
        """The new outline."""
        workspace.outline = effects[-1].outline
        return {"outline": workspace.outline}


def outline_after(context: Context) -> dict[str, Any]:
    """The outline of the workspace as the line has left it so far."""
    changed = context.effects.last(OutlineChanged)
    return changed.outline if changed is not None else outline_of(context.workspace)
