"""What this door answers, for the OpenAPI schema, and how rows become it."""

from typing import Any, Literal

from pydantic import BaseModel

from agents.assembling import Place
from agents.context.aware import Sent
from agents.context.subject import RESERVE
from loom.models import Generation


class GenerationBody(BaseModel):
    """One candidate. `text` is what came so far, `chunk` how many pieces; `node` is its node
    once it has ended with a text, `note` what was cut from the path it read."""

    id: str
    tree: str
    participant: str
    point: str
    index: int
    batch: str
    status: Literal["queued", "running", "done", "stopped", "interrupted", "failed"]
    text: str
    chunk: int
    finish: str | None
    node: str | None
    call: str | None
    error: dict[str, Any] | None
    usage: dict[str, Any]
    note: str


class CallBody(BaseModel):
    """One exchange with a provider, without keys. `response` is the start of the body as
    text; `sha256` that of its bytes, transfer coding removed. Not `open`: whoever asks may
    not see every item it holds, and gets no texts; `sections` are names and lengths."""

    id: str
    tree: str
    participant: str
    origin: str | None
    turn: str | None
    purpose: str
    provider: str
    configuration: str
    open: bool
    request: dict[str, Any]
    sections: list[dict[str, Any]]
    response: str
    length: int
    bytes: Literal["exact", "reassembled"]
    status: int | None
    headers: dict[str, str]
    sha256: str
    usage: dict[str, Any]
    note: str
    strategy: str | None
    generations: list[str]
    nodes: list[str]
    started_at: str
    first_at: str | None
    sealed_at: str | None


class SectionBody(BaseModel):
    """A part of a request, and about how many tokens it has."""

    name: str
    tokens: int


class ContextBody(BaseModel):
    """What the next request will hold, its system text first."""

    messages: list[dict[str, str]]
    sections: list[SectionBody]
    tokens: int
    limit: int


def context_body(sent: Sent, place: Place, *, is_open: bool) -> ContextBody:
    """A request that was assembled, as the API gives it; not `is_open`: without its texts."""
    return ContextBody(
        messages=list(sent.bodies) if is_open else [],
        sections=[SectionBody(name=name, tokens=tokens) for name, tokens in sent.sections],
        tokens=sent.tokens,
        limit=place.actor.participant.context_limit - RESERVE,
    )


def generation_body(row: Generation) -> GenerationBody:
    """A generation as the API gives it."""
    status: Any = row.status
    return GenerationBody(
        id=row.uid,
        tree=row.tree.uid,
        participant=row.participant.uid,
        point=row.point.local_id,
        index=row.index,
        batch=row.batch,
        status=status,
        text=row.shown,
        chunk=row.chunk,
        finish=row.finish or None,
        node=row.node.local_id if row.node else None,
        call=row.call.uid if row.call else None,
        error=row.error,
        usage=row.usage,
        note=row.note,
    )
