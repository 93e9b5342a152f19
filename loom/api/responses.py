"""The shapes of what several addresses of the API answer, for the OpenAPI schema; commands and
queries make them. A shape that one module answers lies beside its views."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from loom.rules.errors import Code
from loom.rules.limits import Role

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


# What is answered about events and links, and what is wrong.


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
