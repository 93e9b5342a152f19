"""Rows, one file per noun. No decisions here: verbs live in loom.commands."""

from loom.models.events import Event, Receipt, Step, StepItem, Stream
from loom.models.generations import (
    ENDED_TURN,
    OPEN_TURN,
    Call,
    Generation,
    Import,
    ImportPart,
    Lane,
    Purse,
    Turn,
)
from loom.models.groves import (
    ApiKey,
    Grove,
    Invitation,
    Membership,
    Participant,
    SigninLink,
    User,
    UserSession,
)
from loom.models.trees import BranchSettings, Item, Link, Mark, Node, NodeSource, PublicLink, Tree
from loom.models.workspaces import Draft, Saved, VersionChoice, Workspace
from loom.rules.identity import ORDINAL_BITS

__all__ = [
    "ENDED_TURN",
    "OPEN_TURN",
    "ORDINAL_BITS",
    "ApiKey",
    "BranchSettings",
    "Call",
    "Draft",
    "Event",
    "Generation",
    "Grove",
    "Import",
    "ImportPart",
    "Invitation",
    "Item",
    "Lane",
    "Link",
    "Mark",
    "Membership",
    "Node",
    "NodeSource",
    "Participant",
    "PublicLink",
    "Purse",
    "Receipt",
    "Saved",
    "SigninLink",
    "Step",
    "StepItem",
    "Stream",
    "Tree",
    "Turn",
    "User",
    "UserSession",
    "VersionChoice",
    "Workspace",
]
