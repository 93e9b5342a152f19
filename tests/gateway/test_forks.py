"""Sessions that a program has forked from another one, as Codex says it in its headers."""

import json
from typing import Any

import pytest

from agents.gateway.keys import make_key
from agents.gateway.models import GatewaySession
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.trees.models import Tree
from tests.gateway.conftest import Program, run, shape_of
from tests.gateway.test_observed import whole
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

pytestmark = pytest.mark.django_db(transaction=True)


def of_codex(session: str, forked_from: str = "") -> dict[str, str]:
    """The headers of Codex."""
    metadata = {"session_id": session, "thread_id": session}
    if forked_from:
        metadata["forked_from_thread_id"] = forked_from
    return {"session_id": session, "x_codex_turn_metadata": json.dumps(metadata)}


def talk(program: Program) -> None:
    """Two turns, and a fork behind the first of them."""
    begun = [("user", "Begin"), ("assistant", "Yes.")]
    run(program.chat(("user", "Begin"), headers=of_codex("first")))
    run(program.chat(*begun, ("user", "Go on"), headers=of_codex("first")))
    run(program.chat(*begun, ("user", "Or so"), headers=of_codex("second", "first")))
    longer = [*begun, ("user", "Or so"), ("assistant", "Yes."), ("user", "And?")]
    run(program.chat(*longer, headers=of_codex("second", "first")))


def test_a_fork_is_a_branch_of_the_same_tree(program: Program, provider: ScriptedProvider) -> None:
    provider.default = whole("Yes.")
    talk(program)
    first, second = GatewaySession.objects.order_by("pk")
    assert (first.name, second.name) == ("first", "second") and first.tree == second.tree
    assert shape_of(first) == {
        "Begin": {"Yes.": {"Go on": {"Yes.": {}}, "Or so": {"Yes.": {"And?": {"Yes.": {}}}}}}
    }
    assert Tree.objects.get(pk=first.tree_id).archived_at is None


def test_a_session_of_another_key_or_an_unknown_one_is_not_forked(
    actor: Actor, model: Participant, program: Program, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "Begin"), headers=of_codex("first")))
    other = Program(make_key(actor.user, model.uid, name="another")[1])
    run(other.chat(("user", "Begin"), headers=of_codex("second", "first")))
    run(program.chat(("user", "Begin"), headers=of_codex("third", "nothing")))
    run(program.chat(("user", "Begin"), headers=of_codex("fourth", "fourth")))
    assert GatewaySession.objects.values("tree").distinct().count() == 4


def test_a_fork_is_sent_what_its_origin_was_sent(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    Participant.objects.filter(pk=model.pk).update(persona="You are Nestor.")
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    program = Program(secret)
    provider.default = whole("Yes.")
    run(program.chat(("user", "Begin"), headers=of_codex("first")))
    tree = GatewaySession.objects.get().tree
    execute_line(actor, tree, Request('todo add "look"'))
    run(program.chat(*begun(), ("user", "Go on"), headers=of_codex("first")))
    execute_line(actor, tree, Request('todo add "listen"'))
    run(program.chat(*begun(), ("user", "Or so"), headers=of_codex("second", "first")))
    opening, longer, fork = (request.json["messages"] for request in provider.seen)
    assert fork[:2] == opening == longer[:2]  # the head and the first message, byte for byte
    assert "listen" in fork[-1]["content"] and "listen" not in longer[-1]["content"]


def begun() -> list[tuple[str, str]]:
    """The beginning of a conversation."""
    return [("user", "Begin"), ("assistant", "Yes.")]


def test_what_codex_says_before_the_conversation_is_sent_once(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    """It sends no `instructions`, but messages of the developer in front of its input."""
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    program = Program(secret, {"session-id": "s"})
    output = {"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "Yes.", "annotations": []}]}  # fmt: skip
    answer = {"id": "r", "object": "response", "status": "completed", "output": [output]}
    provider.default = Script(body=json.dumps(answer).encode())

    def message(role: str, text: str) -> dict[str, Any]:
        content = [{"type": "input_text", "text": text}]
        return {"type": "message", "role": role, "content": content}

    items = [
        message("developer", "You are Codex."),
        message("developer", "You have skills."),
        message("user", "Begin"),
    ]
    later = [*items, output, message("developer", "Now in German."), message("user", "Go on")]
    for asked in (items, later):
        run(program.send("POST", "/responses", {"model": "m", "input": asked}))
    first, second = (request.json for request in provider.seen)
    assert first["instructions"] == second["instructions"]
    assert "You are Codex.\n\nYou have skills." in first["instructions"]
    for sent in (first, second):
        assert json.dumps(sent).count("You have skills.") == 1
    assert [item["role"] for item in first["input"]] == ["user"]
    assert second["input"][0] == first["input"][0]
    assert [item["role"] for item in second["input"]][1:] == ["assistant", "developer", "user"]
