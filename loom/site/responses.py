"""Schemas of responses that several addresses return; commands and queries build them. A schema
that only one module returns is defined beside its views. In OpenAPI each is named without the
`Schema` that tells it from the model of its name (`loom.site.schema.short_names`)."""

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from loom.errors import Code
from loom.permissions import Role

T = TypeVar("T")


class Returned(BaseModel):
    """Base class of all schemas of responses. What they compile to is made when it is first used:
    most are only described, and 500 of them took a tenth of every process's start (measured)."""

    model_config = ConfigDict(defer_build=True)


def _describe_page(schema: dict[str, Any]) -> None:
    schema.setdefault("description", "One page; `count` of all.")


class Page(Returned, Generic[T]):
    """One page; `count` of all."""

    model_config = ConfigDict(json_schema_extra=_describe_page)

    count: int
    results: list[T]

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """The name in the schema: Page[TreeSchema] becomes TreePage."""
        return f"{params[0].__name__.removesuffix('Schema')}Page"


class Problem(Returned):
    """Every error; `lacks` names the permissions that are missing. A refused line adds `reply`,
    `step`, and `canonical` if it could be parsed."""

    ok: Literal[False]
    code: Code
    message: str
    hint: str
    retryable: bool
    lacks: list[str] = []
    reply: str = ""
    step: int | None = None
    canonical: str = ""


class Gone(Returned):
    """Something was removed or ended."""

    ok: Literal[True]


class GroveSchema(Returned):
    """A grove, and the caller's role in it."""

    id: str
    name: str
    settings: dict[str, Any]
    role: Role
    participant: str
    members: int
    seq: int
    created_at: str


class MemberSchema(Returned):
    """A member's role in a grove, and their participant there."""

    user: str
    name: str
    role: Role
    participant: str
    archetype: str


class InvitationSchema(Returned):
    """A link with which somebody can become a member."""

    id: str
    role: Role
    expires_at: str
    uses_left: int
    revoked_at: str | None


class NewInvitationSchema(InvitationSchema):
    """An invitation with its link, which is shown only once."""

    link: str


class PlaceSchema(Returned):
    """The caller's workspace in a tree, and their position."""

    id: str
    position: str


class TreeSchema(Returned):
    """A tree with its size. `workspace` is the caller's own; null in lists if they have none."""

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
    folder: str
    root: str
    node_count: int
    branch_count: int
    depth: int
    seq: int
    created_at: str
    archived_at: str | None
    tags: list[str]
    workspace: PlaceSchema | None


# Events, links, and problems.


class EventSchema(Returned):
    """One change; for a hidden one only `seq` and `kind` are given."""

    seq: int
    kind: str
    actor: str = ""
    origin: str = ""
    payload: dict[str, Any] = {}
    at: str = ""


class Events(Returned):
    """Events after the cursor; `head` is the last seq."""

    events: list[EventSchema]
    head: int


class BrokenSchema(Returned):
    """A node that does not verify, and why."""

    node: str
    reason: str


class Verification(Returned):
    """The outcome; `later_versions` are versions on a path that are newer than the ones built
    upon. `imported` is the number of checked nodes whose hashes only a file vouches for. `calls` is
    the number of checked calls: those that the nodes name, and for a whole tree all that are
    sealed; `broken_calls` are the ids of those whose stored answers are not what was sealed."""

    status: Literal["valid", "invalid", "incomplete"]
    checked: int
    imported: int
    calls: int
    broken_calls: list[str]
    broken: list[BrokenSchema]
    later_versions: list[str]


class Violation(Returned):
    """A broken rule of views, with the windows and items concerned."""

    kind: Literal["OverlappingLenses", "StaleLens", "OrphanEvidence", "CircularThinking"]
    says: str
    windows: list[int]
    items: list[str]


class ViewReport(Returned):
    """The problems of a view: its windows, and the evidence and requirements in its tree."""

    status: Literal["valid", "invalid"]
    violations: list[Violation]


class LinkSchema(Returned):
    """A link as it is stored. `tree` is its source's; an end is a local id, or `tree:ID` or
    `tree:ID node:a7x2` of another tree, or `erased` if that is gone; `source_state` and
    `target_state` say what became of it."""

    id: str
    tree: str
    type: str
    source: str
    target: str
    source_state: Literal["", "pruned", "erased"]
    target_state: Literal["", "pruned", "erased"]
    note: str
    words: str
    confidence: float | None
    by: str
    at: str


class TrailEnd(Returned):
    """An item that a step of a trail led to. `item` is "" where it is erased or unavailable;
    `state` says what became of it."""

    item: str
    state: str
    words: str


class StepOfTrail(Returned):
    """One step of a trail."""

    type: str
    from_: list[str] = Field(alias="from")
    to: list[TrailEnd]
    because: str
    note: str
    at: str


class TrailSteps(Returned):
    """The steps that led somewhere, in order."""

    steps: list[StepOfTrail]


class TrailSummary(Returned):
    """A way that somebody took, kept under a name."""

    id: str
    name: str
    tree: str
    owner: str
    shared: bool
    forked_from: str | None
    step_count: int
    types: list[str]
    at: str


class TrailWithSteps(TrailSummary):
    """A trail with its steps, as far as the caller may see them."""

    steps: list[StepOfTrail]


class LinkTypeSchema(Returned):
    """A link type; `reverse` is its name as read from the target, `archetypes` are those that
    see it."""

    name: str
    reverse: str
    symmetric: bool
    group: str
    colour: str
    archetypes: list[str]
    archived: bool
