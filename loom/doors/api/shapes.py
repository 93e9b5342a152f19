"""What the writing endpoints take and answer, for pydantic and the OpenAPI schema."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from loom.doors.api.body import Body

Role = Literal["reader", "writer", "owner"]


class Problem(BaseModel):
    """The body of every error."""

    ok: Literal[False]
    code: str
    message: str
    hint: str
    retryable: bool


class Line(Body):
    """One command. `at`: a local id, what `here` means; `wait`: seconds, at most 120."""

    line: str
    dry_run: bool = False
    key: str = Field("", max_length=64)
    at: str = Field("", max_length=16)
    wait: float = Field(0, ge=0, le=120, strict=False)


class Answer(BaseModel):
    """What a command that ran answers."""

    ok: Literal[True]
    reply: str
    canonical: str
    step: int | None
    stream: str
    events: list[int]
    refs: list[str]
    generations: list[str]
    position: str
    repeated: bool = False


class GroveBody(Body):
    """A new grove, or what changes of one."""

    name: str | None = None
    settings: dict[str, Any] | None = None


class MemberBody(Body):
    """A user by name, and the role."""

    user: str
    role: Role


class MemberGone(Body):
    """A user by name."""

    user: str


class InvitationBody(Body):
    """Which role, for how many days and uses."""

    role: Role = "reader"
    days: float = Field(7, strict=False)
    uses: int = 1


class InvitationGone(Body):
    """An invitation's id."""

    id: str


class ParticipantBody(Body):
    """A model participant in the words of MM §2.1; what is not sent stays."""

    grove: str | None = None
    kind: Literal["model"] = "model"
    name: str | None = None
    model_ref: str | None = Field(None, max_length=200)
    base_url: str | None = Field(None, max_length=500)
    endpoint: Literal["chat", "completion"] | None = None
    capabilities: list[str] | None = None
    persona: str | None = Field(None, max_length=100_000)
    temperature: float | None = Field(None, ge=0, le=2, strict=False)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    stop: list[str] | None = Field(None, max_length=16)
    context_limit: int | None = Field(None, ge=256, le=100_000_000)
    archetype: Literal["reader", "writer", "editor", "auditor"] | None = None
    authority: int | None = Field(None, ge=0, le=3)
    budget: Literal["quick", "standard", "thorough"] | None = None
    tool_filter: list[str] | None = None
    permissions: list[str] | None = None
    loom_aware: bool | None = None
    api_key: str | None = Field(None, max_length=2000)


class TreeBody(Body):
    """A new tree."""

    title: str = Field("", max_length=300)
    mode: Literal["dialogue", "buffer"] = "dialogue"
    grove: str | None = None
    description: str = Field("", max_length=100_000)
    system_context: str = Field("", max_length=1_000_000)


class TreeChanges(Body):
    """What changes of a tree; mode and grove never do."""

    title: str | None = Field(None, max_length=300)
    description: str | None = Field(None, max_length=100_000)
    system_context: str | None = Field(None, max_length=1_000_000)
    summary: str | None = Field(None, max_length=100_000)
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"] | None = None
    archived: bool | None = None


class TreeGone(Body):
    """The title of the tree, typed again."""

    title: str


class KeyBody(Body):
    """What an API key is called."""

    name: str = Field(max_length=80)


class Gone(BaseModel):
    """Something was ended."""

    ok: Literal[True]


class Page(BaseModel):
    """One page of a list."""

    count: int
    results: list[dict[str, Any]]
