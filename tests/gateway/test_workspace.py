"""The mode workspace: the model is sent the workspace of its session, and what the provider sees
only grows."""

import asyncio
import itertools
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents.gateway import forwarding, recording, workspace
from agents.gateway.keys import make_key
from agents.gateway.models import (
    AddedText,
    GatewayKey,
    GatewayMessage,
    GatewayRequest,
    GatewaySession,
)
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.trees.erasing import erase_rows
from loom.trees.models import Node, Tree
from tests.gateway.conftest import Program, run, shape_of
from tests.gateway.test_observed import whole
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def program(actor: Actor, model: Participant) -> Program:
    """A program of the owner, in the mode workspace, with a session of its own."""
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    return Program(secret, {"x-loom-session": "s"})


@pytest.fixture
def say(actor: Actor) -> Callable[[str], Any]:
    """Runs a line in the workspace of the session."""
    return lambda line: execute_line(actor, GatewaySession.objects.get().tree, Request(line))


def sent(provider: ScriptedProvider) -> list[dict[str, Any]]:
    """The requests that the provider got."""
    return [request.json for request in provider.seen]


def test_the_first_request_has_the_whole_workspace_and_later_ones_what_changed(
    program: Program, provider: ScriptedProvider, say: Callable[[str], Any]
) -> None:
    provider.default = whole("Yes.")
    history: list[tuple[str, str]] = [("system", "You code."), ("user", "Hello")]

    async def turn() -> None:
        await program.chat(*history)
        history.extend([("assistant", "Yes."), ("user", "More")])

    run(turn())
    say('todo add "look at the sea"')
    run(turn())
    run(turn())
    first, second, third = (request["messages"] for request in sent(provider))
    assert first[0]["content"] == "---CORE\nYou code.\n---CORE_END"
    assert first[1]["content"].startswith("Hello\n\n---WORKSPACE revision")
    assert "look at the sea" in second[3]["content"] and "only what changed" in second[3]["content"]
    assert second[:2] == first and third[:4] == second
    assert "---TODOS" not in third[5]["content"]


def test_a_retry_is_sent_the_same_bytes(program: Program, provider: ScriptedProvider) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "Hello")))
    run(program.chat(("user", "Hello")))
    assert provider.seen[0].body == provider.seen[1].body


def test_the_original_and_what_was_sent_can_be_compared(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "Hello")))
    request = GatewayRequest.objects.select_related("call").get()
    assert request.original["messages"] == [{"role": "user", "content": "Hello"}]
    assert request.call.request["body"] == provider.seen[0].json
    assert "Bearer" not in json.dumps(request.call.request)


def test_the_tool_for_tasks_is_not_passed_on_unless_its_owner_wants_it(
    program: Program, provider: ScriptedProvider, model: Participant
) -> None:
    """In each request, also where the first had no tools."""
    provider.default = whole("Yes.")
    tools = [{"type": "function", "function": {"name": name}} for name in ("Read", "TodoWrite")]
    history = [("user", "Hello")]
    run(program.chat(*history))
    for _ in range(2):
        history += [("assistant", "Yes."), ("user", "More")]
        run(program.chat(*history, tools=tools))
    first, *later = sent(provider)
    assert "tools" not in first and [body["tools"] for body in later] == [tools[:1], tools[:1]]
    Participant.objects.filter(pk=model.pk).update(tool_filter=[])
    run(program.chat(("user", "Hello"), tools=tools, headers={"x_loom_session": "other"}))
    assert sent(provider)[-1]["tools"] == tools


def of_tools(*ids: str) -> list[Any]:
    """An answer that uses tools, and their results, as a program sends them back."""
    calls = [
        {"id": local_id, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        for local_id in ids
    ]
    results = [{"role": "tool", "tool_call_id": local_id, "content": "a" * 400} for local_id in ids]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def test_new_results_are_notified_once(program: Program, provider: ScriptedProvider) -> None:
    provider.default = whole("Yes.")
    history = [("user", "List"), *of_tools("t1", "t2")]
    run(program.chat(("user", "List")))
    run(program.chat(*history))
    run(program.chat(*history))  # the same history again
    forwarding._open.clear()  # as after a restart
    later = [*history, ("assistant", "Yes."), ("user", "More")]
    run(program.chat(*later))
    _, first, again, more = (request["messages"] for request in sent(provider))
    lines = "\n---NOTIFICATIONS\n✓ ls t1: ≈100 tokens\n✓ ls t2: ≈100 tokens\n---NOTIFICATIONS_END"
    assert lines in first[-1]["content"]
    assert again == first and more[: len(first)] == first
    assert "t1" not in json.dumps(more[len(first) :])


def test_many_results_at_once_are_ten_lines(program: Program, provider: ScriptedProvider) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "List"), *of_tools(*(f"t{n}" for n in range(14)))))
    text = sent(provider)[0]["messages"][-1]["content"]
    assert "… 4 more results\n✓ ls t4" in text and text.count("✓ ls") == 10


def test_the_status_adds_the_parts_up(
    program: Program, provider: ScriptedProvider, say: Callable[[str], Any], model: Participant
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("system", "You code."), ("user", "Hello")))
    say('todo add "look at the sea"')
    run(
        program.chat(
            ("system", "You code."), ("user", "Hello"), ("assistant", "Yes."), ("user", "x")
        )
    )
    text = sent(provider)[1]["messages"][-1]["content"]
    line = text.partition("---STATUS\n")[2].partition("\n")[0]
    *parts, total = line.split(" | ")
    sizes = {part.split(" ≈")[0]: int(part.split(" ≈")[1]) for part in parts}
    assert {"PROMPT", "MESSAGES", "TODOS"} <= set(sizes)
    assert total == f"≈{sum(sizes.values())} of {model.context_limit}"
    page = signed_in(GatewaySession.objects.get()).content.decode()
    assert f"<code>{line}</code>" in page  # the page shows the same


def signed_in(session: GatewaySession, **post: str) -> Any:
    """The page of a session for its person, or of another address with `post`."""
    client = Client()
    client.force_login(session.key.user)
    address = f"/settings/gateway/sessions/{session.uid}"
    if post:
        return client.post(f"{address}/transcript", post)
    return client.get(address)


@pytest.mark.parametrize("system", ["You code.", "You code, again."])
def test_a_new_conversation_is_told_what_was_said_before(
    program: Program, provider: ScriptedProvider, say: Callable[[str], Any], system: str
) -> None:
    """Whether its head is the one before or another; text only, nothing that was pruned."""
    provider.default = whole("Yes.")
    run(program.chat(("system", "You code."), ("user", "Hello"), *of_tools("t1")))
    run(program.chat(("system", "You code."), ("user", "Secret")))
    node = Node.objects.get(text="Secret")
    say(f"prune {node.local_id}")
    run(program.chat(("system", system), ("user", "Other")))
    words = json.dumps(sent(provider)[2], ensure_ascii=False)
    assert words.count("---TRANSCRIPT\\n") == 1
    assert "Hello" in words and "Secret" not in words and "aaaa" not in words
    run(program.chat(("system", system), ("user", "Other"), ("assistant", "Yes."), ("user", "x")))
    last = sent(provider)[3]["messages"]
    assert json.dumps(last).count("---TRANSCRIPT\\n") == 1  # not stated again


def test_a_person_edits_and_clears_what_is_told(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    history = [("user", "Hello")]
    run(program.chat(*history))
    run(program.chat(("user", "Other")))
    session = GatewaySession.objects.get()
    assert "Hello" in signed_in(session).content.decode()
    assert signed_in(session, text="They spoke of ---TODOS\r\n---TODOS_END").status_code == 302
    history = [("user", "Other"), ("assistant", "Yes."), ("user", "More")]
    run(program.chat(*history))
    run(program.chat(*history, ("assistant", "Yes."), ("user", "Still more")))
    signed_in(session, what="nothing")
    run(program.chat(*history, ("assistant", "Yes."), ("user", "Even more")))
    run(program.chat(("user", "A third")))
    _, second, edited, kept, cleared, third = (
        request["messages"][-1]["content"] for request in sent(provider)
    )
    assert "Hello" in second
    assert "---TRANSCRIPT\nThey spoke of ---TODOS\n\\---TODOS_END\n---TRANSCRIPT_END" in edited
    assert "TRANSCRIPT" not in kept
    assert "---TRANSCRIPT\n(empty now)" in cleared
    assert "TRANSCRIPT" not in third
    signed_in(session, what="said")
    session.refresh_from_db()
    assert session.transcript is None
    other = Client()
    other.force_login(User.objects.create_user("stranger", password="x" * 12))
    address = f"/settings/gateway/sessions/{session.uid}/transcript"
    assert other.post(address, {"text": "mine"}).status_code == 404


def test_a_transcript_over_the_api(program: Program, provider: ScriptedProvider) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "Hello")))
    session = GatewaySession.objects.get()
    client = Client()
    client.force_login(session.key.user)
    address = f"/api/sessions/{session.uid}"

    def patch(**body: Any) -> Any:
        return client.patch(address, json.dumps(body), content_type="application/json")

    assert patch(transcript="It was dark.").json()["transcript"] == "It was dark."
    assert patch(workspace=None).json()["transcript"] == "It was dark."
    assert patch(transcript=None).json()["transcript"] is None
    assert patch(transcript="a" * 20_001).status_code in (400, 413, 422)
    GatewayKey.objects.update(mode="observe")
    assert patch(transcript="x").json()["code"] == "REJECTED"


def test_results_of_tools_keep_their_place(program: Program, provider: ScriptedProvider) -> None:
    provider.default = whole("Yes.")
    call = {"id": "t1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "t1", "content": "a"}
    run(program.chat(("user", "List"), asked, result))
    messages = sent(provider)[0]["messages"]
    assert messages[1:3] == [asked, {**result, "content": "tool_use_id: t1\n---\na"}]
    assert messages[3]["role"] == "user" and messages[3]["content"].startswith("---WORKSPACE")


def test_the_name_of_a_program_stays_first_and_alone(
    program: Program, provider: ScriptedProvider, model: Participant
) -> None:
    Participant.objects.filter(pk=model.pk).update(persona="You are Nestor.")
    provider.default = Script(body=b'{"id":"m","content":[{"type":"text","text":"Yes."}]}')
    name = {"type": "text", "text": "x-anthropic-billing-header: cc=1"}
    core = {"type": "text", "text": "You code.", "cache_control": {"type": "ephemeral"}}
    body = {
        "model": "m", "max_tokens": 9, "system": [name, core],
        "messages": [{"role": "user", "content": "Hello"}],
    }  # fmt: skip
    run(program.send("POST", "/messages", body))
    system = sent(provider)[0]["system"]
    assert system[0] == name
    assert system[1]["text"] == "You are Nestor.\n\n---CORE\nYou code.\n---CORE_END"
    assert system[1]["cache_control"] == {"type": "ephemeral"} and len(system) == 2


def test_a_cleared_conversation_keeps_the_workspace_and_is_told_what_was_said(
    program: Program, provider: ScriptedProvider, say: Callable[[str], Any]
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("system", "You code."), ("user", "Hello")))
    say('todo add "look at the sea"')
    run(program.chat(("system", "You code, again."), ("user", "Other")))
    head, message = sent(provider)[1]["messages"]
    assert "---TRANSCRIPT\nOwner: Hello\nEcho: Yes.\n" in head["content"].replace("owner", "Owner")
    assert "look at the sea" in message["content"]


def test_a_broken_renderer_sends_the_original(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(workspace, "_system", broken)
    provider.default = whole("Yes.")
    history = ("system", "You code."), ("user", "Hello")
    got = run(program.chat(*history))
    assert got.headers["x-loom"] == "bypass"
    original = [{"role": role, "content": text} for role, text in history]
    assert sent(provider)[0]["messages"] == original
    assert GatewayRequest.objects.get().bypass == "RuntimeError"

    monkeypatch.undo()  # what was sent without a workspace stays so
    got = run(program.chat(*history, ("assistant", "Yes."), ("user", "More")))
    assert "x-loom" not in got.headers
    messages = sent(provider)[1]["messages"]
    assert messages[:2] == original
    assert "---WORKSPACE" in messages[3]["content"]


def test_a_renderer_that_breaks_later_leaves_what_was_sent(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = whole("Yes.")
    history = [("system", "You code."), ("user", "Hello")]
    run(program.chat(*history))
    history += [("assistant", "Yes."), ("user", "More")]
    with monkeypatch.context() as patch:
        patch.setattr(workspace, "view_of", lambda *_: 1 / 0)
        assert run(program.chat(*history)).headers["x-loom"] == "bypass"
    run(program.chat(*history))
    first, second, third = (request["messages"] for request in sent(provider))
    assert second[:2] == first and "---CORE" in first[0]["content"]
    assert second[3] == {"role": "user", "content": "More"}
    assert third == second


def test_any_failure_of_ours_sends_the_original(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = whole("Yes.")
    with monkeypatch.context() as patch:
        patch.setattr(workspace, "_sent_before", lambda *_: 1 / 0)
        got = run(program.chat(("system", "You code."), ("user", "Hello")))
    assert got.headers["x-loom"] == "bypass"
    run(program.chat(("system", "You code."), ("user", "Hello")))
    first, second = (request["messages"] for request in sent(provider))
    assert (
        first
        == second
        == [
            {"role": "system", "content": "You code."},
            {"role": "user", "content": "Hello"},
        ]
    )
    assert GatewayRequest.objects.order_by("pk")[0].bypass == "failed"


def test_a_retry_after_the_workspace_changed_is_sent_the_same_bytes(
    program: Program, provider: ScriptedProvider, say: Callable[[str], Any]
) -> None:
    provider.default = whole("Yes.")
    history = [("user", "Hello"), ("assistant", "Yes."), ("user", "More")]
    run(program.chat(*history))
    say('todo add "look at the sea"')
    run(program.chat(*history))  # regenerates
    run(program.chat(history[0]))  # rewinds to a message that was sent without a workspace
    first, second, third = (request["messages"] for request in sent(provider))
    assert first == second and third == first[:1]


def test_the_texts_are_stored_before_the_answer_is_passed_on(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill: nothing was recorded, and the program asks again."""
    provider.default = whole("Yes.")
    with monkeypatch.context() as patch:
        patch.setattr(workspace, "record", lambda *_: 1 / 0)
        run(program.chat(("system", "You code."), ("user", "Hello")))
    assert not GatewaySession.objects.exists()
    run(program.chat(("system", "You code."), ("user", "Hello")))
    assert provider.seen[0].body == provider.seen[1].body
    session, names = GatewaySession.objects.get(), AddedText.objects.values_list("session")
    assert set(names) == {(session.uid,)}


KILLS = {"before anything": (workspace, "record"), "before the answer": (recording, "end")}


@pytest.mark.parametrize("lost", KILLS)
def test_a_session_without_a_name_is_known_after_a_kill(
    program: Program,
    provider: ScriptedProvider,
    actor: Actor,
    monkeypatch: pytest.MonkeyPatch,
    lost: str,
) -> None:
    """The server was killed after the program had its answer, but before that was recorded."""
    program.headers.clear()
    provider.default = whole("Yes.")
    history = [("system", "You code."), ("user", "Hello")]
    with monkeypatch.context() as patch:
        patch.setattr(*KILLS[lost], lambda *_, **__: 1 / 0)
        run(program.chat(*history))
    history += [("assistant", "Yes."), ("user", "More")]
    run(program.chat(*history))
    session = GatewaySession.objects.get()
    execute_line(actor, session.tree, Request('todo add "look at the sea"'))
    with monkeypatch.context() as patch:
        patch.setattr(workspace, "record", lambda *_: 1 / 0)
        history += [("assistant", "Yes."), ("user", "Even more")]
        run(program.chat(*history))
    history += [("assistant", "Yes."), ("user", "And more")]
    run(program.chat(*history))
    seen = [request["messages"] for request in sent(provider)]
    for earlier, later in itertools.pairwise(seen):
        assert later[: len(earlier)] == earlier
    assert "look at the sea" in seen[2][-1]["content"]
    assert GatewaySession.objects.get() == session


def test_two_sessions_that_began_alike_do_not_mix_after_a_kill(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows whose answer was lost: what was added is put back, in a session of its own."""
    program.headers.clear()
    answers = ("One.", "Two.")
    for answer in answers:
        provider.script(whole(answer))
        with monkeypatch.context() as patch:
            patch.setattr(recording, "end", lambda *_, **__: 1 / 0)
            run(program.chat(("user", "Hello")))
    provider.default = whole("Yes.")
    for answer in answers:
        run(program.chat(("user", "Hello"), ("assistant", answer), ("user", "More")))
    first, *_, third, fourth = (request["messages"] for request in sent(provider))
    assert first == third[:1] == fourth[:1]
    shapes = [shape_of(session) for session in GatewaySession.objects.order_by("pk")]
    assert shapes == [
        {"Hello": {}},
        {"Hello": {}},
        *({"Hello": {answer: {"More": {"Yes.": {}}}}} for answer in answers),
    ]


def test_a_conversation_from_elsewhere_gets_nothing_of_one_that_began_alike(
    program: Program, provider: ScriptedProvider
) -> None:
    program.headers.clear()
    provider.default = whole("Yes.")
    run(program.chat(("user", "Hello")))
    run(program.chat(("user", "Hello"), ("assistant", "No."), ("user", "More")))
    assert sent(provider)[1]["messages"][0]["content"] == "Hello"
    assert GatewaySession.objects.count() == 2


def test_nothing_is_sent_before_what_is_added_is_stored(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill between the two would forget what the provider has seen."""
    provider.default = whole("Yes.")
    store, seen = workspace.store, []

    def slow(prepared: workspace.PreparedRequest) -> None:
        for _ in range(20):  # as a disk that is busy
            time.sleep(0.01)
            seen.append(len(provider.seen))
        store(prepared)

    monkeypatch.setattr(workspace, "store", slow)
    run(program.chat(("user", "Hello")))
    assert set(seen) == {0} and len(provider.seen) == 1


def test_what_cannot_be_stored_is_not_sent(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = whole("Yes.")
    history = [("user", "Hello")]
    run(program.chat(*history))
    history += [("assistant", "Yes."), ("user", "More")]
    with monkeypatch.context() as patch:
        patch.setattr(workspace, "store", lambda _: 1 / 0)
        patch.setattr(workspace, "_state", stated_again)
        got = run(program.chat(*history))
    assert got.headers["x-loom"] == "bypass"
    history += [("assistant", "Yes."), ("user", "Even more")]
    run(program.chat(*history))
    first, second, third = (request["messages"] for request in sent(provider))
    assert second[0] == first[0] and second[2]["content"] == "More"
    assert third[:3] == second
    assert GatewayRequest.objects.order_by("pk")[1].bypass


def test_of_two_processes_the_first_says_what_is_added(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that asks again on another connection, while its request is still being sent."""
    provider.default = whole("Yes.")
    store = workspace.store

    def late(prepared: workspace.PreparedRequest) -> None:
        monkeypatch.setattr(workspace, "store", store)
        with monkeypatch.context() as patch:
            patch.setattr(workspace, "_state", stated_again)
            workspace.add(prepared.incoming)
        store(prepared)

    monkeypatch.setattr(workspace, "store", late)
    run(program.chat(("user", "Hello")))
    assert sent(provider)[0]["messages"][0]["content"] == "Hello\n\n---WORKSPACE changed"


def stated_again(row: AddedText, *_: Any) -> None:
    """A workspace that has changed."""
    row.text = "---WORKSPACE changed"


@pytest.mark.parametrize("seed", range(8))
def test_what_the_provider_has_seen_never_changes(
    program: Program, provider: ScriptedProvider, say: Callable[[str], Any], seed: int
) -> None:
    dice = random.Random(seed)
    provider.default = whole("Yes.")
    lines = ['todo add "one"', "todo done t1", 'stash "a" "b"', 'scratchpad "mine"', "hide all",
             'augment store a/b "Read a lamp."', "augment load a/b", "tree"]  # fmt: skip
    history: list[tuple[str, str]] = [("system", "You code."), ("user", "Hello 0")]
    seen: list[list[dict[str, Any]]] = []
    for number in range(8):
        run(program.chat(*history))
        seen.append(sent(provider)[-1]["messages"])
        if dice.random() < 0.2 and len(history) > 4:  # the program rewinds
            del history[-2:]
            history[-1] = ("user", f"Other {number}")
        else:
            history += [("assistant", "Yes."), ("user", f"Hello {number + 1}")]
        for line in dice.sample(lines, dice.randint(0, 3)):
            try:
                say(line)
            except Exception:
                continue
    for number, later in enumerate(seen):
        for earlier in seen[:number]:
            shared = 0
            for one, other in zip(earlier, later, strict=False):
                if plain(one) != plain(other):
                    break
                shared += 1
            assert earlier[:shared] == later[:shared]


def plain(message: dict[str, Any]) -> tuple[str, str]:
    """A message as the program wrote it."""
    return message["role"], message["content"].partition("\n\n---WORKSPACE")[0]


def test_an_erased_session_is_gone_and_begins_again(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "Hello")))
    tree = GatewaySession.objects.get().tree
    Tree.objects.filter(pk=tree.pk).update(erasing_at=timezone.now())
    erase_rows(tree.uid)
    for model in (GatewaySession, GatewayRequest, GatewayMessage, AddedText, Tree):
        assert not model._default_manager.exists()
    run(program.chat(("user", "Hello")))
    assert GatewaySession.objects.get().tree.pk != tree.pk


def test_a_request_does_not_wait_for_the_record_of_the_one_that_it_goes_on_from(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also without a name for the session: it is known from the request before."""
    program.headers.clear()
    provider.default = whole("Yes.")
    may_record, record = threading.Event(), workspace.record

    def late(prepared: workspace.PreparedRequest) -> GatewayRequest:
        may_record.wait(20)
        return record(prepared)

    monkeypatch.setattr(workspace, "record", late)

    async def answered(*history: tuple[str, str]) -> asyncio.Task[Any]:
        """Returns once the answer has come, before it is recorded."""
        came = asyncio.Event()
        messages = [{"role": role, "content": text} for role, text in history]

        async def arrived(_: bytes) -> None:
            came.set()

        body = {"model": "echo-1", "messages": messages}
        send = program.send("POST", "/chat/completions", body, on_piece=arrived)
        task = asyncio.create_task(send)
        await came.wait()
        return task

    async def talk() -> None:
        async with asyncio.timeout(PATIENCE_S):
            first = await answered(("user", "Hello"))
            second = await answered(("user", "Hello"), ("assistant", "Yes."), ("user", "More"))
            may_record.set()
            await asyncio.gather(first, second)

    run(talk())
    first, second = (request["messages"] for request in sent(provider))
    assert second[:1] == first
    assert shape_of(GatewaySession.objects.get()) == {"Hello": {"Yes.": {"More": {"Yes.": {}}}}}


@pytest.mark.parametrize("is_open", [False, True])
def test_a_retry_stays_in_its_session_while_another_that_began_alike_is_recorded(
    program: Program,
    provider: ScriptedProvider,
    actor: Actor,
    monkeypatch: pytest.MonkeyPatch,
    is_open: bool,
) -> None:
    """What shares more than the first message counts: the request that is sent again, whether its
    record is there or (`is_open`) still being written too."""
    program.headers.clear()
    provider.default = whole("Yes.")
    hello = ("user", "Hello")
    longer = (hello, ("assistant", "Yes."), ("user", "More"))
    run(program.chat(hello))
    execute_line(actor, GatewaySession.objects.get().tree, Request('todo add "look at the sea"'))
    may_record, record = threading.Event(), workspace.record
    held = {1, 3} if is_open else {1}

    def late(prepared: workspace.PreparedRequest) -> GatewayRequest:
        if len(prepared.incoming.history.messages) in held:
            may_record.wait(PATIENCE_S)
        return record(prepared)

    async def answered(*history: tuple[str, str]) -> asyncio.Task[Any]:
        """Returns once the answer has come, before it is recorded."""
        came = asyncio.Event()
        messages = [{"role": role, "content": text} for role, text in history]

        async def arrived(_: bytes) -> None:
            came.set()

        body = {"model": "echo-1", "messages": messages}
        send = program.send("POST", "/chat/completions", body, on_piece=arrived)
        task = asyncio.create_task(send)
        await came.wait()
        return task

    async def talk() -> None:
        async with asyncio.timeout(PATIENCE_S):
            tasks = [await answered(*longer)]
            if not is_open:
                await asyncio.gather(*tasks)
            tasks.append(await answered(hello))  # another session
            tasks.append(await answered(*longer))  # the first one again
            may_record.set()
            await asyncio.gather(*tasks)

    with monkeypatch.context() as patch:
        patch.setattr(workspace, "record", late)
        run(talk())
    _, asked, other, again = (request["messages"] for request in sent(provider))
    assert "look at the sea" in asked[-1]["content"]
    assert again == asked and other != asked
    shapes = [shape_of(session) for session in GatewaySession.objects.order_by("pk")]
    twice: dict[str, dict[str, str]] = {"Yes.": {}, "Yes.'": {}}
    assert shapes == [{"Hello": {"Yes.": {"More": twice}}}, {"Hello": {"Yes.": {}}}]
