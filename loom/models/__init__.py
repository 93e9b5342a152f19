"""Rows, one file per noun. No decisions here: verbs live in loom.commands."""

from loom.models.drafts import Draft
from loom.models.groves import Grove, Invitation, Membership, Participant
from loom.models.logs import Event, Receipt, Step, Stream
from loom.models.people import ApiKey, SigninLink, User, UserSession
from loom.models.public import PublicLink
from loom.models.runs import Call, Generation, Import, Lane, Purse
from loom.models.trees import ORDINAL_BITS, Link, Mark, Node, NodeSource, Tree
from loom.models.turns import ENDED_TURN, OPEN_TURN, Turn
from loom.models.views import VersionChoice, Workspace

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
