"""A workspace as the API shows it: where somebody stands, and which versions he reads."""

from typing import Any

from loom.access import Actor
from loom.models import VersionChoice, Workspace
from loom.queries.counts import position_of


def workspace_body(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The body of MM §14.3, "Workspaces"; what later parts bring is empty."""
    return {
        "id": workspace.uid,
        "participant": workspace.participant.uid,
        "tree": workspace.tree.uid,
        "position": position_of(workspace.tree, workspace),
        "versions": versions_of(workspace),
        "revision": workspace.revision,
        "status": {"checkpoint": workspace.checkpoint, "steps": workspace.steps_made},
        "windows": [],
        "tasks": [],
        "augments": [],
        "outline": {"expanded": [], "query": "", "hits": []},
        "notifications": [],
        "drafts": [],
    }


def versions_of(workspace: Workspace) -> dict[str, str]:
    """The version chosen for each slot, by the local id of the slot."""
    choices = VersionChoice.objects.filter(workspace=workspace)
    return dict(choices.values_list("slot__local_id", "node__local_id"))
