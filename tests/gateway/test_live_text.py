"""A streamed answer grows in the open pages of its tree while it comes from the provider."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.db import OperationalError

from agents.gateway import forwarding, recording
from agents.gateway.answers import answer_in
from agents.gateway.growing import GrowingText
from agents.gateway.messages import Shape, text_of
from agents.gateway.models import GatewayRequest
from loom.engine.models import Event
from loom.trees.models import Node
from loom.trees.queries.event_log import hydrated
from loom.turns import generation_lifecycle
from loom.turns.models import Generation
from tests.gateway.conftest import Program, run
from tests.gateway.test_observed import whole
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, fails, holds, never_ends

pytestmark = pytest.mark.django_db(transaction=True)

Say = tuple[str, str]


def events(*values: Any, line: str = "\n") -> bytes:
    """A stream of events."""
    return "".join(f"data: {json.dumps(value)}{line}{line}" for value in values).encode()


def chat(text: str, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": {"content": text}}]}


STREAMS: dict[Shape, bytes] = {
    "chat": events({"choices": [{"index": 0, "delta": {"role": "assistant"}}]}, chat("Grüße "),
                   chat("aus\n\nBremen"), {"choices": []}) + b"data: [DONE]\n\n",
    "completions": events({"choices": [{"index": 0, "text": "It "}]},
                          {"choices": [{"index": 0, "text": "went on."}]}, line="\r\n"),
    "messages": b"event: ping\n" + events(
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta",
                                                              "thinking": "hm"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "So "}},
        {"type": "content_block_delta", "index": 1, "delta": {"text": "it is"}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t",
                                                                      "name": "ls"}},
        {"type": "content_block_delta", "index": 2, "delta": {"partial_json": "{}"}},
        {"type": "message_stop"}),
    "responses": events(
        {"type": "response.output_text.delta", "output_index": 0, "delta": "One "},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "more"}),
}  # fmt: skip


@pytest.mark.parametrize("size", (1, 3, 17, 4096))
@pytest.mark.parametrize("shape", STREAMS)
def test_the_words_are_those_of_the_whole_answer_however_it_is_cut(shape: Shape, size: int) -> None:
    body, kind = STREAMS[shape], "text/event-stream; charset=utf-8"
    growing = GrowingText(shape, kind)
    brought = [growing.add(body[at : at + size]) for at in range(0, len(body), size)]
    [message] = answer_in(shape, kind, body).choices[0]
    assert "".join(brought) == growing.text == text_of(message) != ""


def test_only_the_first_choice_of_a_stream_that_can_be_read_grows() -> None:
    growing = GrowingText("chat", "text/event-stream")
    assert growing.add(events(chat("A"), chat("B", 1), "odd", {"choices": 3})) == "A"
    assert growing.add(b"data: {no\n\ndata: " + b"[" * 100_000 + b"\n\n") == ""
    assert GrowingText("chat", "application/json").add(events(chat("A"))) == ""


def talk(
    program: Program, *messages: Say, until: Callable[[], bool], then: Callable[[], Any]
) -> Any:
    """A streamed request; `then` runs once `until` is true, while the answer still comes."""

    def wait() -> None:
        end = time.monotonic() + PATIENCE_S
        while not until():
            assert time.monotonic() < end
            time.sleep(0.02)
        then()

    async def both() -> Any:
        asked = asyncio.ensure_future(program.chat(*messages, stream=True))
        await database_sync_to_async(wait, thread_sensitive=False)()
        return await asked

    return run(both())


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The messages that pages with the tree get while an answer comes."""
    kept: list[dict[str, Any]] = []

    async def send(stream: str, message: dict[str, Any]) -> None:
        kept.append({"stream": stream, **message})

    monkeypatch.setattr(forwarding, "send_async", send)
    return kept


def test_an_answer_is_in_the_tree_while_it_comes(
    program: Program, provider: ScriptedProvider, shown: list[dict[str, Any]]
) -> None:
    provider.script(holds("Once ", "upon ", HOLD, "a time"))
    kept: list[Generation] = []

    def look() -> None:
        kept.append(Generation.objects.select_related("point", "tree").get())
        provider.release()

    def has_come() -> bool:
        is_sent = "".join(piece["text"] for piece in shown) == "Once upon "
        return is_sent and Generation.objects.filter(text="Once upon ").exists()

    talk(program, ("user", "Tell"), until=has_come, then=look)
    [row], answer = kept, Node.objects.get(text="Once upon a time")
    assert (row.status, row.point.text, row.ended_at) == ("running", "Tell", None)
    assert {piece["stream"] for piece in shown} == {f"tree:{row.tree.uid}"}
    assert [piece["chunk"] for piece in shown] == list(range(1, len(shown) + 1))
    assert {piece["generation"] for piece in shown} == {row.uid}
    row.refresh_from_db()
    assert (row.status, row.node, row.text) == ("done", answer, "")
    kinds = Event.objects.filter(stream__name=f"tree:{row.tree.uid}").order_by("seq")
    ours = kinds.filter(kind__startswith="generation.").values("kind", "payload")
    told = [
        event["payload"]["generation"]
        for event in hydrated(f"tree:{row.tree.uid}", [dict(our) for our in ours])
    ]
    assert [generation["id"] for generation in told] == [row.uid] * 2
    assert told[1]["node"] == answer.local_id


def test_an_answer_can_be_stopped_in_the_page(program: Program, provider: ScriptedProvider) -> None:
    provider.script(never_ends(rate=50))

    def stop() -> None:
        generation_lifecycle.ask_stop(Generation.objects.get())

    talk(program, ("user", "Go"), until=Generation.objects.exists, then=stop)
    [row] = Generation.objects.select_related("node")
    assert row.status == "stopped" and row.node is not None
    assert row.node.text.startswith("on on") and row.node.finish == "interrupted:stopped"


def test_a_refused_request_leaves_nothing_that_comes(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.default = fails(500)
    run(program.chat(("user", "Go"), stream=True))
    assert not Generation.objects.filter(ended_at=None).exists()
    provider.default = whole("Yes.")
    run(program.chat(("user", "Go")))
    newest = Generation.objects.select_related("node").latest("pk")
    assert newest.node is not None and newest.node.text == "Yes."
    assert GatewayRequest.objects.count() == Generation.objects.count() == 2


def test_a_silent_answer_is_not_taken_for_dead(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "KEPT_EVERY_S", 0.01)
    provider.script(holds("Once ", HOLD, "more"))
    signs: list[Any] = []

    def has_signs() -> bool:
        alive_at = GatewayRequest.objects.values_list("alive_at", flat=True).first()
        signs.extend([] if alive_at in signs or alive_at is None else [alive_at])
        return len(signs) > 2

    talk(program, ("user", "Go"), until=has_signs, then=provider.release)
    assert Node.objects.get(text="Once more").finish == "complete"


def test_an_answer_is_kept_up_to_date_after_the_database_was_away(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "KEPT_EVERY_S", 0.01)
    provider.script(holds("Once ", HOLD, "more"))
    keep, tried = recording.keep_alive, []

    def once_away(*given: Any) -> bool:
        tried.append(given)
        if len(tried) == 1:
            raise OperationalError("the connection was closed")
        return keep(*given)

    monkeypatch.setattr(recording, "keep_alive", once_away)
    talk(program, ("user", "Go"), until=lambda: len(tried) > 2, then=provider.release)
    assert Node.objects.get(text="Once more").finish == "complete"
