"""Traces for OpenTelemetry, sent to the collector that `HEDDLE_TRACES` names: a span for each
request, and one for each call of a provider (loom/turns/call_spans.py). No span holds a text, a
key, or an address with an id. Without the setting there are no spans, and the library that sends
them is not loaded.
"""

import logging
import socket
from collections.abc import Mapping
from time import time_ns

from django.conf import settings
from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

PATH = "/v1/traces"  # of a collector that speaks OTLP over HTTP
QUEUED = 8_192  # spans that wait for a collector that is away; the newest are dropped then

tracer = trace.get_tracer("heddle")
_context_of = TraceContextTextMapPropagator().extract


def start(process: str) -> None:
    """Sends the spans of this process ("web", "worker") from now on, if the operator wants them. A
    collector that is away costs the spans, and no request waits for it."""
    if not settings.TRACES_URL:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # Its errors have a traceback for each batch; one line in the log of a process is enough.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    resource = Resource.create(
        {
            "service.name": "heddle",
            "service.version": settings.VERSION,
            "service.instance.id": f"{socket.gethostname()}-{process}",
        }
    )
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=settings.TRACES_URL + PATH)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=QUEUED))
    trace.set_tracer_provider(provider)


def add_request(
    headers: Mapping[str, str], *, began_ns: int, method: str, route: str, status: int | None
) -> None:
    """A span for an answered request, within the trace that its sender names (`traceparent`).
    `route` has names in place of ids; "" for addresses that nothing answers."""
    span = tracer.start_span(
        f"{method} {route}".rstrip(),
        context=_context_of(headers),
        kind=SpanKind.SERVER,
        start_time=began_ns,
        attributes={"http.request.method": method, "http.route": route},
    )
    if status is not None:
        span.set_attribute("http.response.status_code", status)
    if status is None or status >= 500:
        span.set_status(Status(StatusCode.ERROR))
    span.end(time_ns())
