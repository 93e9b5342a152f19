"""A span for each call of a provider, with the attributes that OpenTelemetry names for generative
models (semantic conventions 0.66b2, which may still change). No text is in it.
"""

from datetime import datetime

from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from loom.participants.prices import counts_of
from loom.platform.traces import tracer
from loom.turns.models import Call


def add_call(call: Call) -> None:
    """A span for a sealed call: from the moment it was sent to the end of its answer."""
    participant = call.participant
    model = participant.model_ref.partition(":")[2] or participant.model_ref
    operation = "text_completion" if participant.endpoint == "completions" else "chat"
    counts = counts_of(call.usage)
    attributes: dict[str, AttributeValue] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": call.provider,
        "gen_ai.request.model": model,
        "gen_ai.conversation.id": call.tree.uid,
        "gen_ai.agent.id": participant.uid,
        "gen_ai.usage.input_tokens": counts.read,
        "gen_ai.usage.output_tokens": counts.wrote,
        "gen_ai.usage.cache_read.input_tokens": counts.cached,
        "gen_ai.usage.cache_creation.input_tokens": counts.kept,
        "heddle.call.id": call.uid,
        "heddle.call.purpose": call.purpose,
    }
    if call.first_at is not None:
        waited = (call.first_at - call.started_at).total_seconds()
        attributes["gen_ai.response.time_to_first_chunk"] = waited
    if call.status is not None:
        attributes["http.response.status_code"] = call.status
    is_failed = call.status is None or call.status >= 400
    if is_failed:
        attributes["error.type"] = str(call.status or "no answer")
    span = tracer.start_span(
        f"{operation} {model}",
        kind=SpanKind.CLIENT,
        start_time=_ns(call.started_at),
        attributes=attributes,
    )
    if is_failed:
        span.set_status(Status(StatusCode.ERROR))
    span.end(_ns(call.sealed_at) if call.sealed_at else None)


def _ns(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
