"""What is sent to the API: one frozen model a body."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from loom.commands import forest, invitations, participants, people, public_links
from loom.doors.api.body import Body, Part
from loom.rules import preferences
from loom.rules.permissions import Scope

Role = Literal["reader", "writer", "owner"]
MAX_TEXT = 1_000_000
Word = Annotated[str, Field(min_length=1, max_length=80)]


def _instant(value: Any) -> datetime:
    if not isinstance(value, str):
        raise ValueError("must be a time such as 2026-11-21T02:07:00Z")
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError("must be a time such as 2026-11-21T02:07:00Z") from None
    if found.tzinfo is None:
        raise ValueError("must be a time with its zone, such as 2026-11-21T02:07:00Z")
    return found


Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class DraftSent(Body):
    """A draft. `seen`: the `at` of the draft as the writer saw it last, "" for none; another
    one is CONFLICT. Left out: whatever is kept is replaced."""

    kind: Literal["buffer", "edit", "note"]
    text: str
    seen: str | None = None


class LineSent(Body):
    """One command. `at`: a local id, what `here` means; `wait`: seconds until it must have
    been answered; `key`: a repeat with the same one, within
    HEDDLE_RECEIPT_DAYS, runs nothing twice. null is left out."""

    line: str
    dry_run: bool | None = False
    key: str | None = Field("", max_length=64)
    at: str | None = Field("", max_length=8)
    wait: float | None = Field(0, ge=0, le=120)


class TurnSent(Body):
    """A turn to be asked of a participant. `node`: where (else where the caller stands);
    `input`: the caller's words, which become a node first; `budget`: else the agent's own."""

    model_config = ConfigDict(populate_by_name=True)

    participant: str = Field(min_length=1, max_length=32)
    node: str = Field("", max_length=8)
    input: str = ""
    form: Literal["continuation", "aside"] = Field("continuation", alias="as")
    budget: Literal["", "quick", "standard", "thorough"] = ""


class StepsSent(Body):
    """How many steps more."""

    steps: int = Field(ge=1, le=500)


class GroveSent(Body):
    """A new grove."""

    name: str = Field(min_length=1, max_length=200)


class GroveChanged(Part):
    """What changes of a grove; of `settings` only those that are named."""

    name: str = Field("", min_length=1, max_length=200)
    settings: dict[str, Any] = {}


class SettingsChanged(Part):
    """What changes of the caller's own settings; values as `GET settings` gives them."""

    name: str = Field("", max_length=people.MAX_SHOWN)
    theme: preferences.Theme = "system"
    language: str = Field("", max_length=20)
    prose: preferences.Prose = "serif"
    size: preferences.Size = "medium"
    width: preferences.Width = "medium"
    nodes: preferences.Nodes = "full"
    temperature: float | None = Field(None, ge=0, le=2)
    edits: preferences.Edits = "ask"
    verbose: bool = False
    keys: dict[str, str] = {}


class MemberSent(Body):
    """A user by name, and the role."""

    user: str = Field(min_length=1, max_length=people.MAX_NAME)
    role: Role


class MemberNamed(Body):
    """A user by name."""

    user: str = Field(min_length=1, max_length=people.MAX_NAME)


class InvitationSent(Body):
    """Which role, for how many people, and until when (or for how many days)."""

    role: Role
    uses: int = Field(1, ge=1, le=invitations.MAX_USES)
    days: float = Field(7, gt=0, le=invitations.MAX_DAYS)
    expires_at: Instant | None = None


class PublicLinkSent(Body):
    """For how many days anybody may read the tree."""

    days: float = Field(7, gt=0, le=public_links.MAX_DAYS)


class PublicLinkNamed(Body):
    """A public link's id."""

    id: str = Field(min_length=1, max_length=32)


class InvitationNamed(Body):
    """An invitation's id."""

    id: str = Field(min_length=1, max_length=32)


class ParticipantChanged(Part):
    """What changes of a model participant, in the words of the model; `api_key` is never
    shown again, and an empty one takes the old one away."""

    name: str = Field("", min_length=1, max_length=participants.MAX_NAME)
    model_ref: str = Field("", min_length=3, max_length=200)
    base_url: str = Field("", max_length=500)
    endpoint: Literal["chat", "completion"] = "chat"
    capabilities: list[Word] = Field([], max_length=32)
    persona: str = Field("", max_length=MAX_TEXT)
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    stop: list[Annotated[str, Field(min_length=1, max_length=1000)]] = Field([], max_length=16)
    context_limit: int = Field(4096, ge=256, le=10_000_000)
    archetype: Literal["reader", "writer", "editor", "auditor"] = "writer"
    authority: int = Field(0, ge=0, le=3)
    budget: Literal["quick", "standard", "thorough"] = "standard"
    tool_filter: list[Word] = Field([], max_length=256)
    parallel: int = Field(12, ge=1, le=256)
    prices: dict[str, float] = Field({}, max_length=5)
    permissions: list[str] = Field([], max_length=32)
    loom_aware: bool = False
    archived: bool = False
    api_key: str | None = Field(None, max_length=2000)


class ParticipantSent(ParticipantChanged):
    """A new model participant; without `grove` one of the caller's first."""

    grove: str = ""
    kind: Literal["model"] = "model"
    name: str = Field(min_length=1, max_length=participants.MAX_NAME)
    model_ref: str = Field(min_length=3, max_length=200)


class TreeSent(Body):
    """A new tree; without `grove` one of the caller's first. `mode` stays for good."""

    title: str = Field("", max_length=forest.MAX_TITLE)
    mode: Literal["dialogue", "buffer"]
    grove: str = ""
    description: str = Field("", max_length=MAX_TEXT)
    system_context: str = Field("", max_length=MAX_TEXT)


class TreeChanged(Part):
    """What changes of a tree; mode and grove never do."""

    title: str = Field("", max_length=forest.MAX_TITLE)
    description: str = Field("", max_length=MAX_TEXT)
    system_context: str = Field("", max_length=MAX_TEXT)
    summary: str = Field("", max_length=MAX_TEXT)
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"] = "truncateMiddle"
    archived: bool = False


class TreeTyped(Body):
    """The title of the tree, typed again."""

    title: str


class KeySent(Body):
    """What an API key is called, what it may do at most (`read`: look; `write`: what a writer
    may; `owner`: all that you may), and after how many days it ends (null: never)."""

    name: str = Field(min_length=1, max_length=people.MAX_KEY_NAME)
    scope: Scope = "owner"
    days: int | None = Field(None, ge=1, le=people.MAX_KEY_DAYS)


class PasswordSent(Body):
    """The old password (empty where there is none yet) and the new one."""

    old: str = Field("", max_length=1000)
    new: str = Field(min_length=people.MIN_PASSWORD, max_length=1000)
