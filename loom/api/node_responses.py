"""What the reading views answer, for the OpenAPI schema. The bodies are made by queries."""

from typing import Any, Literal

from pydantic import BaseModel


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


class NodePage(BaseModel):
    """Some nodes in order of creation; `next` is the next `after`, null at the end."""

    count: int
    next: int | None
    results: list[NodeLine]


class Path(BaseModel):
    """A path, root first; `versions` says which version stands in each slot of it."""

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


class Event(BaseModel):
    """One thing that happened; of a hidden one only `seq` and `kind` are told."""

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


class LinkPage(BaseModel):
    """One page of links."""

    count: int
    results: list[Link]


class LinkType(BaseModel):
    """A type of links; `reverse` is how it reads from the target's side."""

    name: str
    reverse: str
    symmetric: bool


class LinkTypePage(BaseModel):
    """All types of links."""

    count: int
    results: list[LinkType]
