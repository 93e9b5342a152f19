"""The Python client without a server: what is sent again, and how answers are read."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from heddle_client import (
    AsyncHeddle,
    Conflict,
    ConnectionFailed,
    Heddle,
    LimitExceeded,
    NotFound,
    Refused,
)
from heddle_client.requests import Frames, Progress, pause

NODE = {"id": "a2b3", "text": "Once"}


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heddle_client.client.pause", lambda *_: 0)
    monkeypatch.setattr("heddle_client.async_client.pause", lambda *_: 0)


class Upstream:
    """Answers in order, each a status with a body, or an error; keeps what was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.seen: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.seen.append(request)
        status, body = self.answers.pop(0)
        if status == 0:
            raise httpx2.ConnectError("gone")
        return httpx2.Response(status, json=body)

    def client(self) -> Heddle:
        return Heddle("http://heddle", "k", transport=httpx2.MockTransport(self))


def test_what_only_reads_is_asked_again_and_what_writes_is_not() -> None:
    upstream = Upstream((0, None), (503, {}), (200, NODE))
    assert upstream.client().tree("t").node("a2b3")["text"] == "Once"
    assert [request.url.path for request in upstream.seen] == ["/api/trees/t/nodes/a2b3"] * 3
    assert upstream.seen[0].headers["authorization"] == "Bearer k"
    upstream = Upstream((0, None), (200, {}))
    with pytest.raises(ConnectionFailed):
        upstream.client().tree("t").run("prune a2b3")
    assert len(upstream.seen) == 1


def test_a_line_with_a_key_is_sent_again_with_that_key() -> None:
    upstream = Upstream((0, None), (200, {"ok": True, "refs": ["a2b3"]}))
    assert upstream.client().tree("t").respond("Once", key="k1") == "a2b3"
    sent = [json.loads(request.content) for request in upstream.seen]
    assert sent[0] == sent[1] == {"command": "respond", "args": {"content": "Once"}, "key": "k1"}


def test_a_failure_of_the_model_is_an_answer() -> None:
    failed = {"ok": False, "code": "MODEL_ERROR", "message": "It failed.", "hint": "look"}
    upstream = Upstream((502, failed))
    with pytest.raises(Refused, match=r"It failed\. look") as caught:
        upstream.client().tree("t").run("continue", wait=9, key="k")
    assert caught.value.code == "MODEL_ERROR" and len(upstream.seen) == 1


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (404, "NOT_FOUND", NotFound),
        (409, "CONFLICT", Conflict),
        (413, "LIMIT_EXCEEDED", LimitExceeded),
    ],
)
def test_refusals_are_exceptions_by_their_code(
    status: int, code: str, error: type[Refused]
) -> None:
    upstream = Upstream((status, {"ok": False, "code": code, "message": "m", "hint": "h"}))
    with pytest.raises(error) as caught:
        upstream.client().request("PATCH", "trees/t", {})
    assert (caught.value.status, caught.value.hint) == (status, "h")


def test_a_server_that_says_how_long_to_wait_is_believed() -> None:
    assert pause(httpx2.Response(429, headers={"retry-after": "7"}), 0) == 7
    assert all(0.75 <= pause(None, 1) <= 1 for _ in range(20))


def test_a_number_that_is_too_large_is_not_asked_for_again() -> None:
    refused = {"ok": False, "code": "LIMIT_EXCEEDED", "message": "m", "retryable": True}
    upstream = Upstream((429, refused))
    with pytest.raises(LimitExceeded):
        upstream.client().request("GET", "trees", limit=5000)
    assert len(upstream.seen) == 1


@pytest.mark.parametrize("name", ["../groves", "a/b", "", "a?b", "a b", "ä"])
def test_what_is_no_id_leads_nowhere(name: str) -> None:
    upstream = Upstream()
    with pytest.raises(ValueError, match="is no id"):
        upstream.client().tree(name)
    with pytest.raises(ValueError, match="is no id"):
        upstream.client().tree("t").node(name)
    assert not upstream.seen


def test_lists_are_read_to_their_end() -> None:
    first = {"count": 3, "results": [{"id": "a"}, {"id": "b"}]}
    upstream = Upstream((200, first), (200, {"count": 3, "results": [{"id": "c"}]}))
    assert [tree["id"] for tree in upstream.client().trees()] == ["a", "b", "c"]
    assert upstream.seen[1].url.params["offset"] == "2"
    upstream = Upstream(
        (200, {"count": 2, "next": 9, "results": [{"id": "a"}]}),
        (200, {"count": 2, "next": None, "results": [{"id": "b"}]}),
    )
    assert [node["id"] for node in upstream.client().tree("t").nodes()] == ["a", "b"]
    assert upstream.seen[1].url.params["after"] == "9"


def event(seq: int) -> str:
    body = json.dumps({"type": "event", "event": {"seq": seq, "kind": "node.added"}})
    return f"id: {seq}\nevent: event\ndata: {body}\n\n"


def test_a_stream_that_breaks_goes_on_after_its_last_event() -> None:
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        last = request.headers.get("last-event-id", "0")
        seen.append(last)
        if len(seen) == 2:
            raise httpx2.ConnectError("gone")
        begun = f"retry: 1\n\n{event(int(last) + 1)}{event(int(last) + 2)}"
        return httpx2.Response(200, text=begun + "id: 99\nevent: event\ndata: {")  # cut

    client = Heddle("http://heddle", "k", transport=httpx2.MockTransport(answer))
    events = client.tree("t").events(since=4)
    assert [next(events)["seq"] for _ in range(4)] == [5, 6, 7, 8]
    assert seen == ["4", "6", "6"]


@pytest.mark.parametrize("step", [1, 7, 1_000])
def test_a_frame_is_read_whatever_signs_its_text_has(step: int) -> None:
    delta = {"type": "delta", "generation": "g", "text": "a\u2028b\u2029c\x85d\x7f"}
    stream = f"event: delta\r\ndata: {json.dumps(delta, ensure_ascii=False)}\n\n"
    frames = Frames(0)
    pieces = [stream[at : at + step] for at in range(0, len(stream), step)]
    assert [frame for piece in pieces for frame in frames.read(piece)] == [delta]
    client = Heddle(
        "http://heddle",
        "k",
        transport=httpx2.MockTransport(lambda _: httpx2.Response(200, text=stream)),
    )
    assert next(client.frames("trees/t/events")) == delta


def test_a_stream_that_is_refused_ends() -> None:
    upstream = Upstream((404, {"code": "NOT_FOUND", "message": "No.", "hint": ""}))
    with pytest.raises(NotFound):
        next(upstream.client().tree("t").events())
    frames = Frames(0)
    assert frames.add("event: close") is None and frames.add('data: {"code": 4404}') is None
    assert frames.add("") == {"type": "close", "code": 4404}


def test_progress_takes_deltas_in_and_starts_again_with_whole_ones() -> None:
    progress = Progress({"g": ""})
    delta = {"type": "delta", "generation": "g", "text": "wo"}
    assert progress.take(delta) and progress.take({**delta, "text": "rd"})
    assert not progress.take({**delta, "generation": "other"})
    assert progress.texts == {"g": "word"}
    progress.take({**delta, "whole": True, "text": "wor"})
    ended = {"kind": "generation.ended", "seq": 3, "payload": {"generation": {"id": "g"}}}
    assert progress.take({"type": "event", "event": ended}) and progress.is_over
    assert progress.complete([{"id": "g", "text": "world"}]) and progress.texts == {"g": "world"}
    assert not progress.complete([{"id": "g", "text": "world"}])
    assert not progress.take({"type": "event", "event": ended})


def test_asyncio_is_spoken_too() -> None:
    upstream = Upstream((503, {}), (200, {"count": 1, "results": [{"id": "a"}]}))

    async def talk() -> list[str]:
        transport = httpx2.MockTransport(upstream)
        async with AsyncHeddle("http://heddle", "k", transport=transport) as client:
            return [tree["id"] async for tree in client.trees()]

    assert asyncio.run(talk()) == ["a"]
