"""Rows, one file per noun. No decisions here: verbs live in loom.commands."""

from loom.models.events import Event, Receipt, Step, Stream
from loom.models.generations import (
    ENDED_TURN,
    OPEN_TURN,
    Call,
    Generation,
    Import,
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
from loom.models.trees import ORDINAL_BITS, Link, Mark, Node, NodeSource, PublicLink, Tree
from loom.models.workspaces import Draft, VersionChoice, Workspace

__all__ = [
    "ENDED_TURN",
    "OPEN_TURN",
    "ORDINAL_BITS",
    "ApiKey",
    "Call",
    "Draft",
    "Event",
    "Generation",
    "Grove",
    "Import",
    "Invitation",
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
    "SigninLink",
    "Step",
    "Stream",
    "Tree",
    "Turn",
    "User",
    "UserSession",
    "VersionChoice",
    "Workspace",
]
