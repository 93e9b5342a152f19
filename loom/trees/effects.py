"""What a line does to its workspace's view of a tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loom.engine.context import Context
from loom.engine.views import ViewEffect
from loom.trees.models import Node
from loom.trees.queries import lookup
from loom.trees.queries.outline import outline_of
from loom.workspace.models import VersionChoice, Workspace


@dataclass(frozen=True)
class VersionChosen(ViewEffect):
    """The workspace has a node as the current version of its slot."""

    node: Node
    leads: ClassVar[bool] = True

    @classmethod
    def change(cls, workspace: Workspace, effects: Sequence["VersionChosen"]) -> dict[str, Any]:
        """Stores the choices; the last one of a slot counts."""
        chosen = {one.node.slot_id: one.node for one in effects}
        for slot_id, node in chosen.items():
            VersionChoice.objects.update_or_create(
                workspace=workspace, slot_id=slot_id, defaults={"node": node}
            )
        return {
            "position": lookup.node_ref(workspace.position, workspace.tree_id),
            "versions": {str(one.slot.local_id): one.local_id for one in chosen.values()},
        }


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
