"""Requests of which the provider holds what was said before: those that go on from an answer by
its id, or in a conversation that has one."""

import asyncio
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from agents.gateway import recording
from agents.gateway.keys import make_key
from agents.gateway.models import GatewayRequest, GatewaySession
from agents.gateway.queries import transcript_shown
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from tests.gateway.conftest import Program, run, shape_of
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script, fails

pytestmark = pytest.mark.django_db(transaction=True)
NAMED = {"x_loom_session": "s"}
PATH: dict[str, Any] = {"first": {"A1": {"second": {"A2": {"third": {"A3": {}}}}}}}


def answers(number: int) -> Script:
    """An answer of OpenAI's responses, with an id of its own."""
    words = {"type": "output_text", "text": f"A{number}", "annotations": []}
    message = {"type": "message", "role": "assistant", "status": "completed", "content": [words]}
    body = {"id": f"resp_{number}", "object": "response", "status": "completed"}
    whole = json.dumps({**body, "output": [message]}).encode()
    return Script(body=whole, headers=(("content-type", "application/json"),))


@pytest.fixture(params=["observe", "workspace"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def program(actor: Actor, model: Participant, mode: str) -> Program:
    """A program of the owner, in each mode."""
    return Program(make_key(actor.user, model.uid, name="program", mode=mode)[1])


def talk(program: Program, first: dict[str, Any], *bodies: dict[str, Any]) -> None:
    """Sends these requests; the `first` with headers of its own."""

    async def whole() -> None:
        for number, body in enumerate(bodies):
            given = {"model": "echo-1", "instructions": "Be good.", **body}
            await program.send("POST", "/responses", given, **({} if number else first))

    run(whole())


@contextmanager
def as_other_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], object]]]:
    """Answers that come inside are recorded only when what is yielded is called."""
    later: list[Callable[[], object]] = []
    end = recording.end

    def deferred(*given: Any, **named: Any) -> list[Any]:
        later.append(partial(end, *given, **named))
        return []

    with monkeypatch.context() as patch:
        patch.setattr(recording, "end", deferred)
        yield later


BY_ID = (
    {"input": "first"},
    {"input": "second", "previous_response_id": "resp_1"},
    {"input": "third", "previous_response_id": "resp_2"},
)
BY_CONVERSATION = (
    {"input": "first", "conversation": "conv_1"},
    {"input": "second", "conversation": {"id": "conv_1"}},
    {"input": "third", "conversation": "conv_1"},
)


@pytest.mark.parametrize("first", [{}, NAMED], ids=["unnamed", "named"])
@pytest.mark.parametrize("bodies", [BY_ID, BY_CONVERSATION], ids=["by id", "in a conversation"])
def test_a_conversation_that_the_provider_keeps_is_one_path(
    program: Program, provider: ScriptedProvider, first: dict[str, Any], bodies: Any
) -> None:
    if first and bodies is BY_CONVERSATION:  # the name of the session goes before that
        program.headers = {"x-loom-session": "s"}
    provider.script(*map(answers, (1, 2, 3)))
    talk(program, first, *bodies)
    assert shape_of(GatewaySession.objects.get()) == PATH


@pytest.mark.parametrize("mode", ["workspace"])
@pytest.mark.parametrize("bodies", [BY_ID, BY_CONVERSATION], ids=["by id", "in a conversation"])
def test_the_provider_is_sent_only_what_changed(
    program: Program, actor: Actor, provider: ScriptedProvider, bodies: Any
) -> None:
    provider.script(*map(answers, (1, 2, 3, 4)))
    more = {**bodies[2], "input": "fourth"}
    more |= {"previous_response_id": "resp_3"} if "previous_response_id" in more else {}
    no_instructions = {**more, "instructions": None}
    talk(program, {}, *bodies[:2])
    session = GatewaySession.objects.get()
    execute_line(actor, session.tree, Request('todo add "look at the sea"'))
    talk(program, {}, bodies[2], no_instructions)
    first, second, third, fourth = (request.body.decode() for request in provider.seen)
    assert "---WORKSPACE revision" in first and "only what changed" not in first
    assert "only what changed" in second and "only what changed" in third
    assert "look at the sea" not in second and "look at the sea" in third
    assert "---WORKSPACE" not in fourth
    assert not any("TRANSCRIPT" in body for body in (first, second, third, fourth))
    newest = list(GatewayRequest.objects.all()[:1])
    assert transcript_shown(actor.user, session, newest) == ""


def test_a_refused_message_of_a_conversation_is_the_same_when_it_comes_again(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.script(answers(1), fails(400), answers(2), answers(3))
    talk(program, {}, *BY_CONVERSATION[:2], *BY_CONVERSATION[1:])
    assert shape_of(GatewaySession.objects.get()) == PATH
    assert provider.seen[1].body == provider.seen[2].body


@pytest.mark.parametrize("mode", ["observe"])
def test_a_whole_conversation_with_an_id_is_known_by_what_it_sends(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.script(answers(1), answers(2))
    history = [{"role": "user", "content": "first"}, {"role": "assistant", "content": "A1"}]
    whole = [*history, {"role": "user", "content": "second"}]
    talk(program, {}, BY_CONVERSATION[0], {**BY_CONVERSATION[0], "input": whole})
    assert shape_of(GatewaySession.objects.get()) == {"first": {"A1": {"second": {"A2": {}}}}}


@pytest.mark.parametrize("name", ["", "s"], ids=["unnamed", "named"])
@pytest.mark.parametrize("bodies", [BY_ID, BY_CONVERSATION], ids=["by id", "in a conversation"])
def test_an_answer_that_another_process_still_records_is_waited_for(
    program: Program,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    bodies: Any,
) -> None:
    program.headers = {"x-loom-session": name} if name else {}
    provider.script(*map(answers, (1, 2, 3)))
    with as_other_process(monkeypatch) as later:
        talk(program, {}, bodies[0])
    look = recording._has_previous

    def has_previous(incoming: recording.Incoming) -> bool:
        is_known = look(incoming)
        if later:  # it is recorded between two looks
            later.pop()()
        return is_known

    monkeypatch.setattr(recording, "_has_previous", has_previous)
    talk(program, {}, *bodies[1:])
    assert shape_of(GatewaySession.objects.get()) == PATH


@pytest.mark.parametrize("mode", ["observe"])
def test_an_answer_that_was_asked_for_without_a_name_is_waited_for(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script(*map(answers, (1, 2, 3)))
    talk(program, NAMED, BY_ID[0])
    begins, ends = recording.begin, recording.end
    has_begun, has_come = threading.Event(), threading.Event()

    def begin(incoming: recording.Incoming, session: GatewaySession) -> GatewayRequest:
        if incoming.previous_answer == "resp_2":
            has_begun.set()
        return begins(incoming, session)

    def end(*given: Any, **named: Any) -> list[Any]:
        has_come.set()
        has_begun.wait(0.5)  # it is not begun before this has ended
        return ends(*given, **named)

    monkeypatch.setattr(recording, "begin", begin)
    monkeypatch.setattr(recording, "end", end)

    async def sent(body: dict[str, Any], headers: dict[str, Any]) -> None:
        await program.send("POST", "/responses", {"model": "echo-1", **body}, **headers)

    async def both() -> None:
        second = asyncio.ensure_future(sent(BY_ID[1], {}))
        await asyncio.to_thread(has_come.wait, PATIENCE_S)
        await asyncio.gather(second, sent(BY_ID[2], NAMED))

    run(both())
    assert shape_of(GatewaySession.objects.get()) == PATH


def test_answers_of_other_conversations_are_not_waited_for(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script(*map(answers, (1, 2, 3)))
    with as_other_process(monkeypatch):
        talk(program, {}, BY_CONVERSATION[0])
    began = zlib.compress(b'data: {"response":{"id":"resp_1"}}')
    GatewayRequest.objects.update(partial=began)
    looks: list[recording.Incoming] = []
    monkeypatch.setattr(recording, "_has_previous", looks.append)
    others = {"input": "x", "previous_response_id": "resp_9"}, {"input": "x", "conversation": "c9"}
    talk(program, {}, *others)
    assert GatewayRequest.objects.filter(ended_at__isnull=False).count() == 2 and not looks
