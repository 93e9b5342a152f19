"""What the API answers about people, groves, trees and lines, for the OpenAPI schema. The
bodies are made by commands and queries."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from loom.rules.errors import Code
from loom.rules.permissions import Scope

Role = Literal["reader", "writer", "owner"]


class Problem(BaseModel):
    """Every error. A refused line adds `reply`, `step`, and `canonical` where it was read."""

    ok: Literal[False]
    code: Code
    message: str
    hint: str
    retryable: bool
    reply: str = ""
    step: int | None = None
    canonical: str = ""


class Gone(BaseModel):
    """Something was ended."""

    ok: Literal[True]


class Answer(BaseModel):
    """What a line that ran answers; `repeated` where its key had come before. `canonical` names
    a long text that the line made a node of: its first words, length and SHA-256."""

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


class Grove(BaseModel):
    """A grove, and what the caller is in it."""

    id: str
    name: str
    settings: dict[str, Any]
    role: Role
    participant: str
    members: int
    seq: int
    created_at: str


class GrovePage(BaseModel):
    """One page of groves."""

    count: int
    results: list[Grove]


class Me(BaseModel):
    """Who calls."""

    user: str
    name: str
    theme: str
    has_password: bool
    groves: list[Grove]


class Member(BaseModel):
    """Somebody's role in a grove, and the participant he is there."""

    user: str
    name: str
    role: Role
    participant: str


class MemberPage(BaseModel):
    """One page of members."""

    count: int
    results: list[Member]


class Invitation(BaseModel):
    """A link by which somebody becomes a member."""

    id: str
    role: Role
    expires_at: str
    uses_left: int
    revoked_at: str | None


class NewInvitation(Invitation):
    """The same with its link, which is shown this once."""

    link: str


class InvitationPage(BaseModel):
    """One page of invitations."""

    count: int
    results: list[Invitation]


class Participant(BaseModel):
    """Somebody or something that writes. `user` of people, `model_ref` of models."""

    id: str
    grove: str
    kind: Literal["human", "model"]
    user: str | None
    name: str
    model_ref: str
    base_url: str
    endpoint: Literal["chat", "completion"]
    capabilities: list[str]
    persona: str
    temperature: float | None
    max_tokens: int | None
    stop: list[str]
    context_limit: int
    archetype: Literal["reader", "writer", "editor", "auditor"]
    authority: int
    budget: Literal["quick", "standard", "thorough"]
    tool_filter: list[str]
    parallel: int
    prices: dict[str, float]
    loom_aware: bool
    permissions: list[str]
    has_key: bool
    probe: dict[str, Any]
    created_at: str
    archived_at: str | None


class ParticipantPage(BaseModel):
    """One page of participants."""

    count: int
    results: list[Participant]


class Place(BaseModel):
    """The caller's workspace in a tree, and where he stands."""

    id: str
    position: str


class Tree(BaseModel):
    """A tree with its size. `workspace` is the caller's own; null in lists where he has none."""

    id: str
    grove: str
    title: str
    mode: Literal["dialogue", "buffer"]
    description: str
    system_context: str
    summary: str
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"]
    root: str
    node_count: int
    branch_count: int
    depth: int
    seq: int
    created_at: str
    archived_at: str | None
    workspace: Place | None


class TreePage(BaseModel):
    """One page of trees."""

    count: int
    results: list[Tree]


class CommandForm(BaseModel):
    """One form of one command, as the registry declares it."""

    verb: str
    syntax: str
    help: str
    group: str
    klass: str = Field(alias="class")
    permissions: list[str]
    aliases: list[str]
    arguments: dict[str, Any]
    allowed: bool


class CommandPage(BaseModel):
    """All commands."""

    count: int
    results: list[CommandForm]


class Key(BaseModel):
    """An API key; `hint` is its end, to know it by."""

    id: str
    name: str
    hint: str
    scope: Scope
    expires_at: str | None
    created_at: str
    last_used_at: str | None


class NewKey(Key):
    """The same with the key itself, which is shown this once."""

    key: str


class KeyPage(BaseModel):
    """One page of keys."""

    count: int
    results: list[Key]


class Session(BaseModel):
    """A signed-in browser; `here` is the one that asks."""

    id: str
    agent: str
    created_at: str
    seen_at: str
    here: bool


class SessionPage(BaseModel):
    """One page of browsers."""

    count: int
    results: list[Session]
