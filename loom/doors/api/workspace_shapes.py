"""What the API answers about workspaces and their steps, for the OpenAPI schema."""

from typing import Any

from pydantic import BaseModel


class Outline(BaseModel):
    """How an outline is folded; `hits` of the last `query` are local ids."""

    depth: int
    expanded: list[str]
    query: str
    hits: list[str]


class Status(BaseModel):
    """`checkpoint` is the last step seen."""

    checkpoint: int
    steps: int


class Workspace(BaseModel):
    """Somebody's own view of a tree."""

    id: str
    participant: str
    tree: str
    position: str
    versions: dict[str, str]
    revision: int
    status: Status
    windows: list[dict[str, Any]]
    tasks: list[dict[str, Any]]
    augments: list[dict[str, Any]]
    outline: Outline
    notifications: list[dict[str, Any]]
    drafts: list[dict[str, Any]]


class Step(BaseModel):
    """Who tried what, with what outcome: `ok` or the code of its refusal. `message` is the
    reply; `place` is the line's in its turn: `2.1` is the first of the second round. Not
    `open`: its texts are not for the reader, who may not see what it touched."""

    seq: int
    workspace: str
    actor: str
    on_behalf_of: str | None
    turn: str | None
    place: str | None
    line: str
    canonical: str
    because: str
    items: list[str]
    link_type: str
    outcome: str
    message: str
    hint: str
    stream: str
    events: list[int]
    undone: bool
    open: bool
    at: str


class StepPage(BaseModel):
    """Steps in order; `next` is the next `after`, null at the end."""

    count: int
    next: int | None
    results: list[Step]
