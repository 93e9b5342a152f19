"""A program in the mode workspace beside a person or another program that works in its tree over
MCP: what is done there is in its next request, of its own session alone."""

import json
from typing import Any

import pytest
from mcp.client import Client

from agents.gateway.keys import make_key
from agents.gateway.models import GatewayKey, GatewaySession
from agents.gateway.results import hidden_text
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.text.tokens import count
from loom.trees.models import Node
from tests.gateway.conftest import Program, run
from tests.gateway.test_observed import whole
from tests.interfaces.test_mcp import call_tool, key_of, session_in, talk
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def secret(actor: Actor, model: Participant) -> str:
    """A key of the mode workspace."""
    return make_key(actor.user, model.uid, name="program", mode="workspace")[1]


def test_a_command_over_mcp_is_in_the_next_request(
    actor: Actor, secret: str, provider: ScriptedProvider
) -> None:
    """The reply of the tool is short; what it did is shown with the next message."""
    program = Program(secret, {"x-loom-session": "s"})
    provider.default = whole("Yes.")
    run(program.chat(("user", "Begin")))
    tree = GatewaySession.objects.get().tree

    async def work(client: Client) -> None:
        session = await session_in(client, tree.uid)
        wrote = await call_tool(client, "todo", session=session, operation="add", rest='"weigh it"')
        assert wrote["success"] and set(wrote) >= {"success", "loom", "message"}

    talk(key_of(actor.user), work)
    before = provider.seen[-1].json["messages"]
    run(program.chat(("user", "Begin"), ("assistant", "Yes."), ("user", "Go on")))
    sent = provider.seen[-1].json["messages"]
    assert sent[: len(before)] == before and len(sent) == 3
    assert "weigh it" in sent[-1]["content"] and "weigh it" not in json.dumps(before)


def test_a_program_hides_its_results_over_mcp_by_its_own_ids(
    actor: Actor, secret: str, provider: ScriptedProvider
) -> None:
    """How many were found is said; what Heddle's own tools answered is not hidden."""
    program = Program(secret, {"x-loom-session": "s"})
    provider.default = whole("Yes.")
    history: list[Any] = [("user", "Look")]
    for name, output in (("toolu_1", "long " * 400), ("toolu_2", '{"loom":true,"message":"✓"}')):
        use = {"id": name, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        history.append({"role": "assistant", "content": None, "tool_calls": [use]})
        history.append({"role": "tool", "tool_call_id": name, "content": output})
    run(program.chat(*history))
    tree = GatewaySession.objects.get().tree
    node = Node.objects.get(text="Look").local_id

    async def work(client: Client) -> None:
        session = await session_in(client, tree.uid)
        rest = "toolu_1 toolu_2 toolu_9"
        answer = await call_tool(client, "result", session=session, operation="hide", rest=rest)
        assert answer["message"] == "✓ hidden toolu_1 · not found toolu_2 toolu_9"
        assert (answer["modified"], answer["not_found"]) == (1, ["toolu_2", "toolu_9"])
        answer = await call_tool(
            client, "result", session=session, operation="hide", rest="toolu_9"
        )
        assert (answer["success"], answer["code"]) == (False, "NOT_FOUND")
        await call_tool(client, "windows", session=session, operation="open_frame", rest=node)
        answer = await call_tool(client, "result", session=session, operation="hide", rest="#1 #99")
        assert (answer["modified"], answer["not_found"]) == (1, ["#99"])
        answer = await call_tool(client, "result", session=session, operation="show", rest="#1")
        assert (answer["modified"], answer["not_found"]) == (1, [])
        answer = await call_tool(client, "result", session=session, operation="collapse_all")
        assert (answer["modified"], answer["not_found"]) == (1, [])

    talk(key_of(actor.user), work)
    run(program.chat(*history, ("assistant", "Yes."), ("user", "Go on")))
    sent = provider.seen[-1].json["messages"]
    assert [one["content"] for one in sent if one["role"] == "tool"] == [
        "tool_use_id: toolu_1 (hidden)",
        '{"loom":true,"message":"✓"}',
    ]


def test_two_sessions_at_once_have_tasks_and_hidden_results_of_their_own(
    actor: Actor, secret: str, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    programs = {name: Program(secret, {"x-loom-session": name}) for name in ("left", "right")}
    for name, program in programs.items():
        run(program.chat(("user", f"Begin {name}")))
    for name in programs:
        tree = GatewaySession.objects.get(name=name).tree
        execute_line(actor, tree, Request(f'todo add "only {name}"'))
    for name, program in programs.items():
        run(program.chat(("user", f"Begin {name}"), ("assistant", "Yes."), ("user", "Go on")))
        words = json.dumps(provider.seen[-1].json)
        other = "right" if name == "left" else "left"
        assert f"only {name}" in words and other not in words


def test_all_blocks_of_a_result_are_sent_in_their_order(
    secret: str, provider: ScriptedProvider
) -> None:
    program = Program(secret, {"x-loom-session": "s", "anthropic-version": "2023-06-01"})
    answer = {"id": "m", "type": "message", "role": "assistant", "content": []}
    provider.default = Script(body=json.dumps(answer).encode())
    pixel = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "before"},
        {"type": "image", "source": pixel},
        {"type": "text", "text": "after"},
    ]
    use = {"type": "tool_use", "id": "t", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": blocks}
    messages = [
        {"role": "user", "content": "Begin"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    run(program.send("POST", "/messages", {"model": "m", "max_tokens": 9, "messages": messages}))
    sent = provider.seen[-1].json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    with_id = [{"type": "text", "text": "tool_use_id: t\n---"}, *blocks]
    assert sent[2]["content"][0] == {**result, "content": with_id}


def test_a_result_has_its_id_above_unless_it_is_clean_or_was_sent_without(
    secret: str, provider: ScriptedProvider
) -> None:
    program = Program(secret, {"x-loom-session": "s"})
    provider.default = whole("Yes.")
    history: list[Any] = [("user", "Begin")]

    def go_on(use_id: str, content: str) -> str:
        call = {"id": use_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        history.append({"role": "tool", "tool_call_id": use_id, "content": content})
        run(program.chat(*history))
        return sent_as(use_id)

    def sent_as(use_id: str) -> str:
        messages = provider.seen[-1].json["messages"]
        return next(str(raw["content"]) for raw in messages if raw.get("tool_call_id") == use_id)

    GatewayKey.objects.update(mode="observe")
    assert go_on("t1", "a.txt") == "a.txt"
    GatewayKey.objects.update(mode="workspace")
    assert go_on("t2", "b.txt") == "tool_use_id: t2\n---\nb.txt"
    own = '{"success": true, "loom": true, "message": "Noted."}'
    assert go_on("t3", own) == own
    assert (sent_as("t1"), sent_as("t2")) == ("a.txt", "tool_use_id: t2\n---\nb.txt")


def test_a_hidden_result_costs_less_than_20_tokens() -> None:
    assert count(hidden_text("toolu_01A09q90qw90lq917835lq9")) < 20


def test_an_augment_that_is_loaded_later_is_in_the_next_request(
    actor: Actor, secret: str, provider: ScriptedProvider
) -> None:
    program = Program(secret, {"x-loom-session": "s"})
    provider.default = whole("Yes.")
    run(program.chat(("system", "You code."), ("user", "Begin")))
    tree = GatewaySession.objects.get().tree
    for line in ('augment store craft/lamp "Read by a lamp."', "augment load craft/lamp"):
        execute_line(actor, tree, Request(line))
    before = provider.seen[-1].json["messages"]
    begun = (("system", "You code."), ("user", "Begin"), ("assistant", "Yes."))
    run(program.chat(*begun, ("user", "Go on")))
    sent = provider.seen[-1].json["messages"]
    assert sent[: len(before)] == before
    assert "Read by a lamp." in sent[-1]["content"]
    run(program.chat(*begun, ("user", "Go on"), ("assistant", "Yes."), ("user", "And?")))
    later = provider.seen[-1].json["messages"]
    assert later[: len(sent)] == sent and "Read by a lamp." not in later[-1]["content"]
    execute_line(actor, tree, Request("augment unload craft/lamp"))
    more = (("user", "Go on"), ("assistant", "Yes."), ("user", "And?"), ("assistant", "Yes."))
    run(program.chat(*begun, *more, ("user", "So?")))
    last = provider.seen[-1].json["messages"]
    assert last[: len(later)] == later and "---AUGMENTS" in last[-1]["content"]
    assert "Read by a lamp." not in last[-1]["content"]


def test_an_augment_of_the_head_is_not_sent_again(
    actor: Actor, secret: str, provider: ScriptedProvider
) -> None:
    program = Program(secret, {"x-loom-session": "s"})
    provider.default = whole("Yes.")
    run(program.chat(("system", "You code."), ("user", "Begin")))
    tree = GatewaySession.objects.get().tree
    for line in ('augment store craft/lamp "Read by a lamp."', "augment load craft/lamp"):
        execute_line(actor, tree, Request(line))
    run(program.chat(("system", "You write."), ("user", "Anew")))
    sent = provider.seen[-1].json["messages"]
    assert "Read by a lamp." in sent[0]["content"]
    assert json.dumps(sent).count("Read by a lamp.") == 1
