"""The shapes of what the API answers, for the OpenAPI schema; commands and queries make them."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from loom.rules.errors import Code
from loom.rules.permissions import Role, Scope

T = TypeVar("T")


def _describe_page(schema: dict[str, Any]) -> None:
    schema.setdefault("description", "One page; `count` of all.")


class Page(BaseModel, Generic[T]):
    """One page; `count` of all."""

    model_config = ConfigDict(json_schema_extra=_describe_page)

    count: int
    results: list[T]

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """The name in the schema: a Page[Tree] is a TreePage."""
        return f"{params[0].__name__}Page"


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


class Me(BaseModel):
    """Who calls."""

    user: str
    name: str
    theme: str
    has_password: bool
    groves: list[Grove]


class Member(BaseModel):
    """Somebody's role in a grove, and their participant there."""

    user: str
    name: str
    role: Role
    participant: str


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


class Participant(BaseModel):
    """Somebody or something that writes. `user` of people, `model_ref` of models."""

    id: str
    grove: str
    kind: Literal["human", "model"]
    user: str | None
    name: str
    model_ref: str
    base_url: str
    allow_private: bool
    auth: Literal["bearer", "basic", "none"]
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


class Place(BaseModel):
    """The caller's workspace in a tree, and their position."""

    id: str
    position: str


class Tree(BaseModel):
    """A tree with its size. `workspace` is the caller's own; null in lists where they have none."""

    id: str
    grove: str
    title: str
    mode: Literal["dialogue", "buffer"]
    description: str
    system_context: str
    summary: str
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"]
    memory: str
    author_note: str
    note_depth: int
    lore_scan: int
    lore_budget: int
    root: str
    node_count: int
    branch_count: int
    depth: int
    seq: int
    created_at: str
    archived_at: str | None
    tags: list[str]
    workspace: Place | None


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


class Session(BaseModel):
    """A signed-in browser; `here` is the one that asks."""

    id: str
    agent: str
    created_at: str
    seen_at: str
    here: bool


# What is answered about nodes, paths, events and links.


class Author(BaseModel):
    """Who wrote something."""

    id: str
    name: str
    kind: Literal["human", "model"]


class Source(BaseModel):
    """What a node was made from besides its parent: a local id, `tree:ID`, `tree:ID node:x9y3`."""

    item: str
    role: Literal["primary", "context", "instruction"]


class Bookmark(BaseModel):
    """Somebody's bookmark."""

    label: str
    participant: str


class Counts(BaseModel):
    """What hangs at a node and is seen. `descendants` only when asked for."""

    children: int
    annotations: int
    links: int
    versions: int
    descendants: int | None = None


class Proof(BaseModel):
    """The values the hash is taken of: SHA-256 of their JSON with sorted keys, no blanks."""

    author: str
    call: str | None
    configuration: str | None
    content: list[dict[str, Any]]
    created_at: str
    edited_from: str | None
    kind: str
    parent: str | None


class Node(BaseModel):
    """One version of one slot, in full."""

    id: str
    tree: str
    kind: Literal["text", "annotation", "thought", "claim"]
    form: str
    text: str
    content: list[dict[str, Any]]
    author: Author
    parent: str | None
    slot: str
    depth: int
    versions: list[str]
    edited_from: str | None
    sources: list[Source]
    created_at: str
    pruned: bool
    excluded: bool
    hidden: bool
    sandbox: bool
    resolved: bool
    finish: str
    generation: str | None
    call: str | None
    summary: str
    counts: Counts
    bookmarks: list[Bookmark]
    tags: list[str]
    hash: str
    proof: Proof


class NodeLine(BaseModel):
    """A node without its text; `length` in code points."""

    id: str
    kind: str
    parent: str | None
    slot: str
    author: str
    pruned: bool
    excluded: bool
    length: int


class NodePage(Page[NodeLine]):
    """Some nodes in order of creation; `next` is the next `after`, null at the end."""

    next: int | None


class Path(BaseModel):
    """A path, root first; `versions` names the selected version of each slot."""

    nodes: list[Node]
    versions: dict[str, str]


class Skeleton(BaseModel):
    """A whole tree in columns of the same length, in order of creation."""

    seq: int
    ids: list[str]
    parents: list[int | None]
    slots: list[int]
    kinds: list[str]
    authors: list[int]
    participants: list[Author]
    flags: list[int]
    lengths: list[int]
    orders: list[tuple[int, list[int]]]


class Event(BaseModel):
    """One thing that happened; of a hidden one only `seq` and `kind` are given."""

    seq: int
    kind: str
    actor: str = ""
    origin: str = ""
    payload: dict[str, Any] = {}
    at: str = ""


class Events(BaseModel):
    """Events after the cursor; `head` is the last seq there is."""

    events: list[Event]
    head: int


class Broken(BaseModel):
    """A node that does not verify, and why."""

    node: str
    reason: str


class Above(BaseModel):
    """One version that a node rests on; `call` where a model wrote it, else empty."""

    id: str
    by: str
    at: str
    hash: str
    call: str


class Provenance(BaseModel):
    """Where a node came from. `above` goes from the root downwards, without the `left_out`
    furthest ones; `call` as GET /api/calls/{id} gives it; `verify.said` are sentences."""

    node: str
    hash: str
    proof: dict[str, Any]
    finish: str
    above: list[Above]
    left_out: int
    generation: str | None
    note: str
    ended_at: str | None
    call: dict[str, Any] | None
    verify: dict[str, Any]


class Verification(BaseModel):
    """The outcome; `later_versions` are versions on a path that came after the ones built upon.
    Of the nodes checked so many were `imported`: nobody but the file vouches for them."""

    status: Literal["valid", "invalid", "incomplete"]
    checked: int
    imported: int
    broken: list[Broken]
    later_versions: list[str]


class Violation(BaseModel):
    """A rule of views that is broken, by which windows and about which items."""

    kind: Literal["OverlappingLenses", "StaleLens", "OrphanEvidence", "CircularThinking"]
    says: str
    windows: list[int]
    items: list[str]


class ViewReport(BaseModel):
    """What is wrong with a view: its windows, and the evidence and requirements in its tree."""

    status: Literal["valid", "invalid"]
    violations: list[Violation]


class Link(BaseModel):
    """A link as it is stored. `tree` is its source's; an end is a local id, or `tree:ID` or
    `tree:ID node:a7x2` of another tree, `erased` where that is gone."""

    id: str
    tree: str
    type: str
    source: str
    target: str
    note: str
    confidence: float | None
    by: str
    at: str


class LinkType(BaseModel):
    """A type of links; `reverse` is how it reads from the target's side."""

    name: str
    reverse: str
    symmetric: bool
