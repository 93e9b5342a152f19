"""What this door answers, for the OpenAPI schema, and how rows become it."""

import gzip
from typing import Any, Literal

from pydantic import BaseModel

from loom.models import Call, Generation, Node
from loom.rules.hashes import instant

SHOWN_BYTES = 1024 * 1024  # of an answer's text; `…/response` gives all of it


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
    text; `sha256` that of its bytes, transfer coding removed."""

    id: str
    tree: str
    participant: str
    turn: str | None
    purpose: str
    provider: str
    configuration: str
    request: dict[str, Any]
    response: str
    length: int
    bytes: Literal["exact", "reassembled"]
    status: int | None
    headers: dict[str, str]
    sha256: str
    usage: dict[str, Any]
    note: str
    generations: list[str]
    nodes: list[str]
    started_at: str
    first_at: str | None
    sealed_at: str | None


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
        text=row.text,
        chunk=row.chunk,
        finish=row.finish or None,
        node=row.node.local_id if row.node else None,
        call=row.call.uid if row.call else None,
        error=row.error,
        usage=row.usage,
        note=row.note,
    )


def call_body(call: Call) -> CallBody:
    """A call as the API gives it; three queries."""
    body = response_of(call)
    nodes = Node.objects.filter(tree=call.tree, call_uid=call.uid).order_by("id")
    how: Any = call.bytes
    return CallBody(
        id=call.uid,
        tree=call.tree.uid,
        participant=call.participant.uid,
        turn=call.turn.uid if call.turn else None,
        purpose=call.purpose,
        provider=call.provider,
        configuration=call.configuration,
        request=call.request,
        response=body[:SHOWN_BYTES].decode("utf-8", "replace"),
        length=len(body),
        bytes=how,
        status=call.status,
        headers=call.headers,
        sha256=call.sha256,
        usage=call.usage,
        note=call.note,
        generations=list(call.generations.order_by("index").values_list("uid", flat=True)),
        nodes=list(nodes.values_list("local_id", flat=True)),
        started_at=instant(call.started_at),
        first_at=instant(call.first_at) if call.first_at else None,
        sealed_at=instant(call.sealed_at) if call.sealed_at else None,
    )


def response_of(call: Call) -> bytes:
    """The body's bytes as they were kept; none before the call is sealed."""
    return gzip.decompress(bytes(call.response)) if call.response else b""
