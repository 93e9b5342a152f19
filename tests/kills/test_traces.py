"""What a running Heddle sends to a collector of traces: a span for each request and each call of a
provider, and no text."""

import gzip
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from config.env import WrongSetting, read
from tests.kills.heddle import until
from tests.kills.house import House
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, says

TEXT = "aubergine"  # in everything that is written or sent
KEY = "sk-courgette-0123456789"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Collector(ThreadingHTTPServer):
    """A collector that keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def spans(self) -> list[Span]:
        """All spans that have arrived."""
        sent = (ExportTraceServiceRequest.FromString(body) for body in tuple(self.bodies))
        return [
            span
            for request in sent
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_packed = self.headers.get("Content-Encoding") == "gzip"
        assert self.path == "/v1/traces"
        self.server.bodies.append(gzip.decompress(body) if is_packed else body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as running:
        yield running
        running.shutdown()


@pytest.fixture
def house(tmp_path: Path, provider: ScriptedProvider, collector: Collector) -> Iterator[House]:
    # A second, not five, until the library sends what there is.
    given = {"HEDDLE_TRACES": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "1000"}
    own_house = House(tmp_path, allow=provider.entry, given=given)
    try:
        own_house.start()
        yield own_house
    finally:
        own_house.stop()


def _attributes(span: Span) -> dict[str, Any]:
    return {
        entry.key: getattr(entry.value, str(entry.value.WhichOneof("value")))
        for entry in span.attributes
    }


@pytest.mark.kill
@pytest.mark.sqlite
def test_each_request_and_each_call_has_a_span_and_no_span_has_a_text_or_a_key(
    house: House, provider: ScriptedProvider, collector: Collector
) -> None:
    client = house.client()
    body = {"name": "Scripted", "model_ref": "openai:scripted", "base_url": provider.url}
    model = client.post("/participants", json={**body, "endpoint": "chat", "api_key": KEY}).json()
    tree = client.post("/trees", json={"title": TEXT, "mode": "dialogue"}).json()["id"]
    provider.script(says(TEXT), fails(400, f"{TEXT} {KEY}"))
    client.headers["traceparent"] = PARENT

    def say(line: str) -> Any:
        return client.post(f"/trees/{tree}/commands", json={"line": line}).json()

    say(f'respond root "{TEXT}"')
    for _ in range(2):
        (uid,) = say('continue from root using agent:"Scripted"')["generations"]
        until(
            lambda uid=uid: (
                client.get(f"/generations/{uid}").json()["status"]  # type: ignore[misc]
                not in ("queued", "running")
            ),
            what="the generation's end",
        )
    calls = until(
        lambda: [spans for spans in [_named(collector, "chat scripted")] if len(spans) == 2],
        what="a span for each call",
    )[0]
    answered, refused = (_attributes(span) for span in calls)
    assert answered["gen_ai.operation.name"] == "chat"
    assert answered["gen_ai.conversation.id"] == tree
    assert answered["gen_ai.agent.id"] == model["id"]
    assert answered["gen_ai.usage.output_tokens"] > 0
    assert answered["gen_ai.response.time_to_first_chunk"] > 0
    assert answered["http.response.status_code"] == 200
    assert (refused["error.type"], calls[1].status.code) == ("400", Status.STATUS_CODE_ERROR)
    assert calls[0].start_time_unix_nano < calls[0].end_time_unix_nano
    route = "POST /api/trees/<id:uid>/commands"
    requests = until(lambda: _named(collector, route), what="a span for a request")
    assert _attributes(requests[0])["http.response.status_code"] == 200
    assert requests[0].trace_id.hex() == PARENT.split("-")[1]
    assert requests[0].parent_span_id.hex() == PARENT.split("-")[2]
    for sent in collector.bodies:
        assert TEXT.encode() not in sent and b"courgette" not in sent
    for span in collector.spans:
        assert tree not in span.name and tree not in str(_attributes(span).get("http.route"))


def _named(collector: Collector, name: str) -> list[Span]:
    return [span for span in collector.spans if span.name == name]


@pytest.mark.parametrize(
    "given", ["collector:4318", "ftp://collector", "http://collector/v1/traces", "http://"]
)
def test_what_is_no_collector_stops_the_start_with_a_sentence(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_TRACES", given)
    with pytest.raises(WrongSetting, match="HEDDLE_TRACES"):
        read()
