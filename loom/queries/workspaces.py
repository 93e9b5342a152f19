"""A workspace as the API shows it: where somebody stands, and which versions he reads."""

from typing import Any

from loom.access import Actor
from loom.models import VersionChoice, Workspace
from loom.queries.counts import position_of
from loom.queries.drafts import drafts_of

OUTLINE_DEPTH = 2  # levels shown before anything was said


def workspace_body(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The body of docs/model.md §14.3, "Workspaces"; what later parts bring is empty."""
    return {
        "id": workspace.uid,
        "participant": workspace.participant.uid,
        "tree": workspace.tree.uid,
        "position": position_of(workspace.tree, workspace),
        "versions": versions_of(workspace),
        "revision": workspace.revision,
        "status": status_of(workspace),
        "windows": [],
        "tasks": [],
        "augments": [],
        "outline": outline_of(workspace),
        "notifications": [],
        "drafts": drafts_of(actor, workspace),
    }


def status_of(workspace: Workspace) -> dict[str, int]:
    """The last step seen, and how many were made."""
    return {"checkpoint": workspace.checkpoint, "steps": workspace.steps_made}


def outline_of(workspace: Workspace) -> dict[str, Any]:
    """How the outline stands: folded to `depth`, but for what was `expanded`; the last
    `query` of find and the local ids of its `hits`."""
    return {"depth": OUTLINE_DEPTH, "expanded": [], "query": "", "hits": [], **workspace.outline}


def versions_of(workspace: Workspace) -> dict[str, str]:
    """The version chosen for each slot, by the local id of the slot."""
    choices = VersionChoice.objects.filter(workspace=workspace)
    return dict(choices.values_list("slot__local_id", "node__local_id"))
