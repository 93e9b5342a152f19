"""Agents of this installation as models of the gateway: `loom/<agent>`."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from agents.gateway import forwarding
from agents.gateway.keys import make_key, revoke_key
from agents.gateway.models import GatewayKey, GatewayMessage, GatewayRequest, GatewaySession
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.money.days import today
from loom.money.models import DailySpending
from loom.participants.prices import NANO
from loom.people.models import Grove, Membership, Participant
from loom.trees.models import Node
from loom.trees.queries import lookup
from loom.turns import turn_lifecycle
from loom.turns.access import acting_in
from loom.turns.models import Generation, Turn
from tests.gateway.conftest import Program, run, shape_of
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, Script, fails, says

pytestmark = pytest.mark.django_db(transaction=True)
AGENT = ["loom_aware", "loom_write", "loom_generate"]


@pytest.fixture
def agent(model: Participant) -> Participant:
    """A loom-aware agent."""
    model.name, model.permissions, model.context_limit = "Marie", AGENT, 50_000
    model.save()
    return model


async def ask(program: Program, model: str, *texts: str, **more: Any) -> Any:
    """The JSON answer to a conversation that begins with the person."""
    roles = ("user", "assistant")
    messages = [(roles[n % 2], text) for n, text in enumerate(texts)]
    return (await program.chat(*messages, model=model, **more)).json


def test_an_agent_answers_in_its_own_tree(
    program: Program, provider: ScriptedProvider, agent: Participant, worker: None
) -> None:
    provider.script(says("→ tree\n"), says("I am here."), says("Still."))

    async def talk() -> None:
        body = await ask(program, "loom/marie", "Who is here?")
        assert body["choices"][0]["message"]["content"] == "I am here."
        await ask(program, "claude-loom-Marie", "Who is here?", "I am here.", "And now?")

    run(talk())
    expected: dict[str, Any] = {"Who is here?": {"I am here.": {"And now?": {"Still.": {}}}}}
    assert shape_of(GatewaySession.objects.get()) == expected
    assert "---REQUEST from" in json.dumps(provider.seen[0].json)


def test_the_same_request_again_is_answered_beside_the_first(
    program: Program, provider: ScriptedProvider, agent: Participant, worker: None
) -> None:
    program.headers["x-session-id"] = "s"
    provider.script(says("One."), says("Two."))

    async def talk() -> None:
        await ask(program, "loom/Marie", "Count")
        await ask(program, "loom/Marie", "Count")

    run(talk())
    assert shape_of(GatewaySession.objects.get()) == {"Count": {"One.": {}, "Two.": {}}}


def test_a_subject_gives_one_continuation(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    provider.script(says("Good ", "day."))
    body = run(ask(program, "loom/Echo", "Hello"))
    assert body["choices"][0]["message"]["content"] == "Good day."
    assert shape_of(GatewaySession.objects.get()) == {"Hello": {"Good day.": {}}}


@pytest.mark.parametrize(
    ("path", "body", "first", "last"),
    [
        ("/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]},
         b"chat.completion.chunk", b"data: [DONE]"),
        ("/messages", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9},
         b"event: message_start", b'"message_stop"}'),
        ("/responses", {"input": "Hi"}, b"event: response.created", b'"response.completed"'),
        ("/completions", {"prompt": "Hi"}, b"text_completion", b"data: [DONE]"),
    ],
)  # fmt: skip
def test_each_shape_is_streamed(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    body: dict[str, Any],
    first: bytes,
    last: bytes,
) -> None:
    provider.script(says("Good ", "day."))
    sent = {"model": "loom/Echo", "stream": True, **body}
    got = run(program.send("POST", path, sent))
    assert got.status == 200 and got.headers["content-type"].startswith("text/event-stream")
    assert first in got.pieces[0] and last in got.pieces[-1]
    assert b"day." in got.body


def test_an_unknown_agent_is_named_with_those_that_are_there(
    program: Program, provider: ScriptedProvider, agent: Participant
) -> None:
    got = run(program.chat(("user", "Hi"), model="loom/nobody"))
    assert got.status == 404 and "loom/Marie" in got.json["error"]["message"]


def test_a_failing_provider_is_an_error_with_its_reason(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    provider.script(fails(401, "no such key"))
    got = run(program.chat(("user", "Hi"), model="loom/Echo"))
    assert got.status == 400 and got.json["error"]["message"]  # again would be refused again


def test_a_program_that_goes_away_stops_the_turn(
    program: Program, provider: ScriptedProvider, agent: Participant
) -> None:
    async def talk() -> None:
        leaves = asyncio.Event()
        asyncio.get_running_loop().call_later(0.5, leaves.set)
        body = {"model": "loom/Marie", "messages": [{"role": "user", "content": "Hi"}]}
        await program.send("POST", "/chat/completions", body, leaves=leaves)

    run(talk())
    assert Turn.objects.get().stop_asked


LS = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}
CALL = {"index": 0, "id": "t1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


def streamed(*deltas: dict[str, Any]) -> Script:
    """A stream of a chat with these deltas."""
    events = [{"id": "c", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    body = f"{lines}data: [DONE]\n\n".encode()
    return Script(body=body, headers=(("content-type", "text/event-stream"),))


def test_tools_of_the_program_are_passed_on_and_answered_by_it(
    program: Program, provider: ScriptedProvider, agent: Participant
) -> None:
    """Streamed; the answers are the agent's, who is sent its own persona and workspace."""
    other = Participant.objects.create(
        grove=agent.grove,
        kind="model",
        name="Key",
        model_ref="openai:key-1",
        base_url=agent.base_url,
    )
    GatewayKey.objects.update(participant=other)
    Participant.objects.filter(pk=agent.pk).update(persona="You are Marie.")
    provider.script(
        streamed({"role": "assistant", "content": "I look."}, {"tool_calls": [CALL]}),
        streamed({"content": "A file."}),
    )
    history: list[dict[str, Any]] = [
        {"role": "system", "content": "You code."},
        {"role": "user", "content": "List"},
    ]

    async def ask() -> Any:
        return await program.chat(*history, model="loom/Marie", tools=[LS], stream=True)

    assert b'"tool_calls"' in run(ask()).body
    call = {name: field for name, field in CALL.items() if name != "index"}
    history += [{"role": "assistant", "content": "I look.", "tool_calls": [call]},
             {"role": "tool", "tool_call_id": "t1", "content": "a.txt"}]  # fmt: skip
    assert b"A file." in run(ask()).body
    first, second = (request.json for request in provider.seen)
    assert first["model"] == "echo-1" and first["tools"] == second["tools"] == [LS]
    assert first["messages"][0]["content"].startswith("You are Marie.\n\n---CORE\nYou code.")
    assert "---WORKSPACE" in first["messages"][1]["content"]
    assert second["messages"][:2] == first["messages"]
    assert second["messages"][3] == {**history[3], "content": "tool_use_id: t1\n---\na.txt"}
    nodes = list(GatewaySession.objects.get().tree.nodes.order_by("id"))[1:]
    authors = [node.author.name for node in nodes]
    assert authors[1::2] == ["Marie", "Marie"] and "Marie" not in authors[::2]
    assert nodes[1].text == "I look." and nodes[-1].text == "A file."


def test_tools_in_the_shape_of_another_provider_are_refused_with_the_way(
    program: Program, provider: ScriptedProvider, agent: Participant
) -> None:
    body = {"model": "loom/Marie", "max_tokens": 9, "tools": [{"name": "ls"}],
            "messages": [{"role": "user", "content": "List"}]}  # fmt: skip
    got = run(program.send("POST", "/messages", body))
    assert got.status == 400 and "/gateway/v1/chat/completions" in got.json["error"]["message"]
    assert not provider.seen


def test_a_turn_runs_no_more_lines_once_its_key_is_revoked(
    program: Program, provider: ScriptedProvider, agent: Participant, actor: Actor
) -> None:
    """Also not with permissions that were asked before, and waited for the lock."""

    def revoked() -> Turn:
        turn = Turn.objects.select_related("tree", "participant", "invoked_by__user").get()
        acting, root = acting_in(turn), lookup.root_of(turn.tree).local_id
        execute_line(acting, turn.tree, Request('respond root "in time"', turn=turn.uid))
        wanted = turn_lifecycle.TurnStartArgs(
            participant=agent.uid, node=root, input="I ask too.", form="aside"
        )
        beside = turn_lifecycle.start(actor, turn.tree, wanted)
        revoke_key(actor.user, GatewayKey.objects.get().uid)
        line = Request('respond root "too late"', turn=turn.uid)
        with pytest.raises(CommandError, match="was revoked") as refusal:
            execute_line(acting, turn.tree, line)
        assert refusal.value.code == "PERMISSION_DENIED"
        with pytest.raises(CommandError, match="was revoked"):
            acting_in(turn)
        assert acting_in(beside).permissions  # who asked in the page did not use the key
        return turn

    async def talk() -> None:
        asking = asyncio.create_task(ask(program, "loom/Marie", "Begin"))
        begun = GatewayMessage.objects.filter(node__text="Begin")
        while not await begun.aexists():  # noqa: ASYNC110 (it begins in another thread)
            await asyncio.sleep(0.05)
        turn = await forwarding.in_thread(revoked)()
        assert "revoked" in (await asking)["error"]["message"]
        await turn.arefresh_from_db()
        assert turn.stop_asked or turn.ended_at

    run(talk())
    assert not Node.objects.filter(text="too late").exists()


@pytest.mark.parametrize("name", ["loom/Echo", "loom/Marie"])
@pytest.mark.parametrize("session", [{}, {"x-loom-session": "s"}])
@pytest.mark.parametrize("is_stream", [False, True])
def test_an_answer_is_continued_by_its_id(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    name: str,
    session: dict[str, str],
    is_stream: bool,
) -> None:
    if name == "loom/Marie":
        model.name, model.permissions, model.context_limit = "Marie", AGENT, 50_000
        model.save()
    program.headers |= session
    provider.script(says("One."), says("Two."), says("Three."))

    def answer_id(text: str, **more: str) -> str:
        body = {"model": name, "input": text, "stream": is_stream, **more}
        got = run(program.send("POST", "/responses", body))
        assert got.status == 200
        if not is_stream:
            return str(got.json["id"])
        last = got.body.strip().splitlines()[-1].removeprefix(b"data: ")
        return str(json.loads(last)["response"]["id"])

    first = answer_id("ALPHA")
    second = answer_id("BETA", previous_response_id=first)
    other = answer_id("GAMMA", previous_response_id=first)
    assert len({first, second, other}) == 3
    expected: dict[str, Any] = {"ALPHA": {"One.": {"BETA": {"Two.": {}}, "GAMMA": {"Three.": {}}}}}
    assert shape_of(GatewaySession.objects.get()) == expected
    assert "ALPHA" in json.dumps(provider.seen[1].json)


def test_an_unknown_answer_is_not_continued(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None, actor: Actor
) -> None:
    """Nor is one that another key was given."""
    provider.script(says("One."))
    body = {"model": "loom/Echo", "input": "Hi"}
    given = run(program.send("POST", "/responses", body)).json["id"]
    other = Program(make_key(actor.user, model.uid, name="other")[1])
    for asking, previous in ((program, "resp_1"), (program, given[:-1] + "x"), (other, given)):
        sent = {**body, "previous_response_id": previous}
        got = run(asking.send("POST", "/responses", sent))
        assert got.status == 404 and "previous_response_id" in got.json["error"]["message"]
    assert GatewaySession.objects.count() == 1 and len(provider.seen) == 1


@pytest.mark.parametrize("path", ["/chat/completions", "/messages"])
def test_two_answers_to_one_message_have_two_ids(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None, path: str
) -> None:
    provider.script(says("One."), says("Two."))
    body = {"model": "loom/Echo", "messages": [{"role": "user", "content": "Hi"}]}
    ids = {run(program.send("POST", path, body)).json["id"] for _ in range(2)}
    assert len(ids) == 2


def test_the_tokens_of_a_request_to_an_agent_are_estimated(
    program: Program, provider: ScriptedProvider, agent: Participant
) -> None:
    """No provider is asked, and nothing is recorded."""
    body = {
        "model": "claude-loom-Marie",
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "x" * 400}],
        "tools": [{"name": "ls", "input_schema": {"type": "object"}}],
    }
    got = run(program.send("POST", "/messages/count_tokens", body))
    assert got.status == 200 and 110 < got.json["input_tokens"] < 140
    unknown = {**body, "model": "claude-loom-Nobody"}
    assert run(program.send("POST", "/messages/count_tokens", unknown)).status == 404
    assert not provider.seen and not GatewaySession.objects.exists()


@pytest.mark.parametrize("path", ["/embeddings", "/responses/compact"])
def test_what_agents_do_not_answer_is_refused(
    program: Program, provider: ScriptedProvider, agent: Participant, path: str
) -> None:
    got = run(program.send("POST", path, {"model": "loom/Marie", "input": "Hi"}))
    assert got.status == 400 and f"Marie does not answer {path}." in got.json["error"]["message"]
    assert not provider.seen and not GatewaySession.objects.exists()


@pytest.mark.parametrize("is_aware", [False, True])
def test_a_limit_that_is_used_up_leaves_nothing_behind(
    program: Program, provider: ScriptedProvider, model: Participant, actor: Actor, is_aware: bool
) -> None:
    model.permissions = AGENT if is_aware else model.permissions
    model.prices = {"input": 1000.0, "output": 2000.0}
    model.save()
    Grove.objects.update(settings={"daily_budget_usd": 1})
    DailySpending.objects.create(participant=actor.participant, day=today(), spent=2 * NANO)
    got = run(program.chat(("user", "Hi"), model="loom/Echo"))
    assert (got.status, got.json["error"]["type"]) == (429, "rate_limit_error")
    assert "Today's limit is used up." in got.json["error"]["message"]
    assert not GatewaySession.objects.exists() and not provider.seen


def test_a_limit_that_is_too_small_for_a_turn_is_said_as_a_limit(
    program: Program, provider: ScriptedProvider, agent: Participant, worker: None
) -> None:
    agent.prices = {"input": 1000.0, "output": 2000.0}
    agent.save()
    Grove.objects.update(settings={"daily_budget_usd": 0.001})
    got = run(program.chat(("user", "Hi"), model="loom/Marie"))
    assert (got.status, got.json["error"]["type"]) == (429, "rate_limit_error")
    assert not provider.seen


def _is_revoked(actor: Actor) -> None:
    revoke_key(actor.user, GatewayKey.objects.get().uid)


def _has_expired(actor: Actor) -> None:
    GatewayKey.objects.update(expires_at=timezone.now())


def _is_a_reader(actor: Actor) -> None:
    Membership.objects.filter(user=actor.user).update(role="reader")


def _has_left(actor: Actor) -> None:
    Membership.objects.filter(user=actor.user).delete()


ENDINGS = (_is_revoked, _has_expired, _is_a_reader, _has_left)


@pytest.mark.parametrize("ends", ENDINGS)
def test_an_answer_that_passes_is_cut_once_its_key_ends(
    program: Program,
    provider: ScriptedProvider,
    actor: Actor,
    ends: Callable[[Actor], None],
) -> None:
    provider.script(says("One ", HOLD, "two"))

    async def talk() -> None:
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Count"}]}
        passing = asyncio.create_task(program.send("POST", "/chat/completions", body))
        while not await GatewayRequest.objects.aexists():  # noqa: ASYNC110 (in another thread)
            await asyncio.sleep(0.05)
        await forwarding.in_thread(ends)(actor)
        got = await passing  # although the provider holds the rest
        assert b"One" in got.body and b"two" not in got.body

    run(talk())
    provider.release()
    assert shape_of(GatewaySession.objects.get()) == {"Count": {"One ": {}}}


@pytest.mark.parametrize("ends", ENDINGS)
def test_an_answer_of_an_agent_is_cut_once_its_key_ends(
    program: Program,
    provider: ScriptedProvider,
    actor: Actor,
    worker: None,
    ends: Callable[[Actor], None],
) -> None:
    provider.script(says("One ", HOLD, "two"))

    async def talk() -> None:
        asking = asyncio.create_task(ask(program, "loom/Echo", "Count"))
        while not provider.seen:  # noqa: ASYNC110 (in another thread)
            await asyncio.sleep(0.05)
        await forwarding.in_thread(ends)(actor)
        assert "expired" in (await asking)["error"]["message"]  # while the provider holds the rest

    run(talk())
    provider.release()
    assert Generation.objects.get().stop_asked


@pytest.mark.parametrize("path", ["/chat/completions", "/embeddings"])
def test_a_request_that_waits_for_its_answer_is_cut_once_its_key_ends(
    program: Program, provider: ScriptedProvider, actor: Actor, path: str
) -> None:
    provider.script(says("late", before_s=30))

    async def talk() -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": "Count"}]}
        passing = asyncio.create_task(program.send("POST", path, body))
        while not provider.seen:  # noqa: ASYNC110 (in another thread)
            await asyncio.sleep(0.05)
        await forwarding.in_thread(_is_a_reader)(actor)
        assert (await passing).status == 401

    run(talk())
