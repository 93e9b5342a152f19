"""Hiding old results of tools: where nothing hangs on their bytes, in every later request, and what
it saves and costs; the page that compares what was sent; attached workspaces."""

import json
import random
from typing import Any

import pytest
from django.test import Client

from agents.gateway import hiding
from agents.gateway.comparing import compared
from agents.gateway.keys import make_key
from agents.gateway.messages import Shape, chain, content_of, history_of, size_of
from agents.gateway.models import GatewayRequest, GatewaySession
from agents.gateway.results import hiding_of, results_in, without
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.text.images import IMAGE_TOKENS
from loom.trees.models import Tree, TreeRight
from tests.gateway.conftest import Program, run
from tests.gateway.test_observed import whole
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "a line of output\n" * 400


@pytest.fixture
def program(actor: Actor, model: Participant) -> Program:
    """A program of the owner, in the mode workspace, with a session of its own."""
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    return Program(secret, {"x-loom-session": "s"})


def chat_history(count: int) -> list[Any]:
    """A chat with that many uses of a tool."""
    history: list[Any] = [{"role": "user", "content": "Begin"}]
    for number in range(count):
        function = {"name": "look", "arguments": json.dumps({"at": number})}
        call = {"id": f"t{number}", "type": "function", "function": function}
        history.append({"role": "assistant", "content": None, "tool_calls": [call]})
        history.append(
            {"role": "tool", "tool_call_id": f"t{number}", "content": f"{number} {LONG}"}
        )
    return history


def hide(actor: Actor, tool_use_id: str, **more: Any) -> hiding.HidableResult:
    return hiding.change(actor, session(), tool_use_id, visible=False, **more)


def session() -> GatewaySession:
    return GatewaySession.objects.select_related("key__participant", "tree__grove").get()


def test_a_hidden_result_is_one_line_from_the_next_request_on(
    program: Program, provider: ScriptedProvider, actor: Actor
) -> None:
    provider.default = whole("Yes.")
    history = chat_history(10)
    run(program.chat(*history))
    before = provider.seen[-1].json["messages"]
    told = hide(actor, "t0")
    assert told.hiding.saves > 1600 and told.hiding.rereads > 9 * 1600
    history += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on"}]
    run(program.chat(*history))
    run(program.chat(*history))
    sent = provider.seen[-1].json["messages"]
    assert sent[2] == {**history[2], "content": "tool_use_id: t0 (hidden)"}
    last = {**history[20], "content": f"tool_use_id: t9\n---\n{history[20]['content']}"}
    # Nothing else has changed. Only what came since the last answer has its id above.
    assert sent[3:21] == before[3:21] == [*history[3:20], last]
    assert provider.seen[-1].body == provider.seen[-2].body
    assert GatewayRequest.objects.first().original["messages"] == history  # type: ignore[union-attr]
    hiding.change(actor, session(), "t0", visible=True)
    run(program.chat(*history))
    assert provider.seen[-1].body == provider.seen[-2].body  # a retry stays as it was
    history += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And on"}]
    run(program.chat(*history))
    assert provider.seen[-1].json["messages"][2] == history[2]


def test_what_a_thinking_was_about_stays_as_it_was(
    program: Program, provider: ScriptedProvider, actor: Actor
) -> None:
    """Also where the thinking is on another branch, or only in the answer."""
    use = {"type": "tool_use", "id": "t0", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t0", "content": LONG}
    history = [{"role": "user", "content": "Begin"}, {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]}]  # fmt: skip
    thought = [{"type": "thinking", "thinking": "hm", "signature": "s"},
               {"type": "text", "text": "Yes."}]  # fmt: skip
    provider.script(Script(body=json.dumps({"id": "m", "content": thought}).encode()))
    provider.default = Script(body=b'{"id":"n","content":[{"type":"text","text":"No."}]}')

    def ask(*more: dict[str, Any]) -> list[dict[str, Any]]:
        body = {"model": "m", "max_tokens": 9, "messages": [*history, *more]}
        run(program.send("POST", "/messages", body))
        sent: list[dict[str, Any]] = provider.seen[-1].json["messages"]
        return sent

    first = ask()
    with pytest.raises(CommandError, match="thinking"):
        hide(actor, "t0", anyway=True)  # the thinking is in the answer
    ask()  # another answer without one
    hide(actor, "t0", anyway=True)
    other = ask({"role": "assistant", "content": "No."}, {"role": "user", "content": "Go on"})
    assert other[2]["content"][0]["content"] == "tool_use_id: t0 (hidden)"
    back = ask({"role": "assistant", "content": thought}, {"role": "user", "content": "Go on"})
    assert back[:3] == first


SHAPES: dict[Shape, tuple[dict[str, Any], dict[str, Any]]] = {
    "chat": (
        {"messages": [
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "ls"}}]},
            {"role": "tool", "tool_call_id": "a", "content": LONG}]},
        {"role": "assistant", "content": "x", "reasoning_content": "hm"},
    ),
    "messages": (
        {"messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "ls"}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": LONG},
                {"type": "text", "text": "so?"}]}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
    ),
    "responses": (
        {"input": [{"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"},
                   {"type": "function_call_output", "call_id": "a", "output": LONG}]},
        {"type": "reasoning", "encrypted_content": "…"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_what_hangs_on_a_result_is_seen_in_every_shape(shape: Shape) -> None:
    body, thought = SHAPES[shape]
    key = "input" if shape == "responses" else "messages"
    [result] = results_in(shape, body)
    assert (result.tool, result.message, result.tokens) == ("ls", 2, len(LONG) // 4)
    assert hiding_of(shape, body, result).hangs == ""
    assert hiding_of(shape, {**body, key: [*body[key], thought]}, result).hangs == "thinking"
    earlier = {**body, key: [thought, *body[key]]}
    assert hiding_of(shape, earlier, result).hangs == ""  # a thinking before it stays valid
    block = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    mark = {"role": "user", "content": [block]}
    assert hiding_of(shape, {**body, key: [*body[key], mark]}, result).hangs == "cache"
    assert hiding_of(shape, {**body, "cache_control": {"type": "e"}}, result).hangs == "cache"
    hidden = without(shape, body, ["a"])
    assert LONG[:9] not in json.dumps(hidden) and results_in(shape, hidden)[0].tokens < 20
    assert without(shape, body, ["b"]) == body


DATA = "A" * 92_000
URL = f"data:image/png;base64,{DATA}"
PICTURES: dict[Shape, dict[str, Any]] = {
    "chat": {"type": "image_url", "image_url": {"url": URL}},
    "messages": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": DATA},
    },
    "responses": {"type": "input_image", "image_url": URL},
}


def with_pictures(shape: Shape) -> tuple[dict[str, Any], Any]:
    """A request whose result of a tool is two pictures, and the message that has it."""
    body = json.loads(json.dumps(SHAPES[shape][0]))
    message = body["input" if shape == "responses" else "messages"][1]
    result = message["content"][0] if shape == "messages" else message
    result["output" if shape == "responses" else "content"] = [PICTURES[shape]] * 2
    return body, message


@pytest.mark.parametrize("shape", SHAPES)
def test_the_images_of_a_result_are_a_part_of_its_size(shape: Shape) -> None:
    body, message = with_pictures(shape)
    [result] = results_in(shape, body)
    assert 2 * IMAGE_TOKENS <= result.tokens < 2 * IMAGE_TOKENS + 20
    assert hiding_of(shape, body, result).saves > 2 * IMAGE_TOKENS - 20
    key = "input" if shape == "responses" else "messages"
    later = {**message, "call_id": "b", "tool_call_id": "b", "role": message.get("role", "")}
    if shape == "messages":
        later["content"] = [{**message["content"][0], "tool_use_id": "b"}]
    rereads = hiding_of(shape, {**body, key: [*body[key], later]}, result).rereads
    assert 2 * IMAGE_TOKENS < rereads < 2 * IMAGE_TOKENS + 200  # not a quarter of their bytes
    told = history_of(shape, body).messages[1]
    assert size_of(told, ["a"]) < 20 < 2 * IMAGE_TOKENS <= size_of(told, [])
    kept = {**told, "blocks": content_of(told)}
    assert "images" not in kept["blocks"][0] and chain([kept]) == chain([told])


def test_a_notice_counts_the_images_of_a_result(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    body, _ = with_pictures("chat")
    run(program.chat({"role": "user", "content": "Begin"}, *body["messages"]))
    assert f"✓ ls a: ≈{2 * IMAGE_TOKENS + 4} tokens" in provider.seen[0].body.decode()


def test_what_hangs_on_bytes_is_refused_and_says_what_it_would_cost(
    program: Program, provider: ScriptedProvider, actor: Actor
) -> None:
    provider.default = Script(body=b'{"id":"m","content":[{"type":"text","text":"Yes."}]}')
    use = {"type": "tool_use", "id": "a", "name": "ls", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": LONG}
    marked = {"type": "text", "text": "so?", "cache_control": {"type": "ephemeral"}}
    body: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "List"}, {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result, marked]}]}  # fmt: skip
    run(program.send("POST", "/messages", body))
    with pytest.raises(
        CommandError, match=r"has marked a cache that this result is part of\.$"
    ) as caught:
        hide(actor, "a")
    assert caught.value.code == "REJECTED" and session().hidden == []
    assert hide(actor, "a", dry_run=True).why_not and session().hidden == []
    hide(actor, "a", anyway=True)
    assert session().hidden == ["a"]
    hiding.change(actor, session(), "a", visible=True, anyway=True)
    body["messages"].append(
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "h"}]}
    )
    body["messages"].append({"role": "user", "content": "More"})
    run(program.send("POST", "/messages", body))
    with pytest.raises(CommandError, match=r"only valid with it.*About [\d,]+ tokens") as caught:
        hide(actor, "a", anyway=True)
    assert caught.value.hint == "hide the next one before the model thinks about it"
    later = {"type": "tool_use", "id": "b", "name": "ls", "input": {}}
    body["messages"] += [
        {"role": "assistant", "content": [later]},
        {"role": "user", "content": [{**result, "tool_use_id": "b"}]},
    ]
    run(program.send("POST", "/messages", body))
    with pytest.raises(CommandError, match=r"only valid with it.*About [\d,]+ tokens") as caught:
        hide(actor, "a")
    assert caught.value.hint == "hide one that came after the thinking"
    with pytest.raises(CommandError, match="result was not found"):
        hide(actor, "unknown")


def test_a_key_that_passes_everything_hides_nothing(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    observing = Program(make_key(actor.user, model.uid, name="p")[1], {"x-loom-session": "s"})
    run(observing.chat(*chat_history(1)))
    with pytest.raises(CommandError, match="passes everything unchanged"):
        hide(actor, "t0")


@pytest.mark.parametrize("seed", range(12))
def test_what_a_provider_has_bound_never_changes(
    program: Program, provider: ScriptedProvider, actor: Actor, seed: int
) -> None:
    """Random sessions with thinking, cache marks, hides and lines: all that comes before a
    thinking or a mark is in every later request as it was."""
    dice = random.Random(seed)
    provider.default = Script(body=b'{"id":"m","content":[{"type":"text","text":"Yes."}]}')
    history: list[Any] = [{"role": "user", "content": "Begin"}]
    bound: list[Any] = []
    for number in range(6):
        for _ in range(dice.randint(1, 2)):
            name = f"t{len(history)}"
            content: list[Any] = [{"type": "tool_use", "id": name, "name": "ls", "input": {}}]
            if dice.random() < 0.4:
                content.insert(0, {"type": "thinking", "thinking": "hm", "signature": "s"})
            history.append({"role": "assistant", "content": content})
            block = {"type": "tool_result", "tool_use_id": name, "content": f"{number} {LONG}"}
            history.append({"role": "user", "content": [block]})
        if dice.random() < 0.3:
            history[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        run(program.send("POST", "/messages", {"model": "m", "max_tokens": 9, "messages": history}))
        sent = provider.seen[-1].json["messages"]
        assert sent[: len(bound)] == bound
        last = max((at for at, message in enumerate(sent) if _binds(message)), default=-1)
        bound = sent[: last + 1]
        history = [
            *history,
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "On"},
        ]
        for result in dice.sample(hiding.results_of(session()), 1):
            try:
                hiding.change(actor, session(), result.result.tool_use_id, visible=result.is_hidden)
            except CommandError as refused:
                assert refused.code == "REJECTED"
        execute_line(actor, session().tree, Request(f'todo add "{number}"'))


def _binds(message: dict[str, Any]) -> bool:
    text = json.dumps(message)
    return '"thinking"' in text or "cache_control" in text


# What was sent, compared.


def test_each_part_says_what_differs(
    program: Program, provider: ScriptedProvider, actor: Actor, model: Participant
) -> None:
    Participant.objects.filter(pk=model.pk).update(tool_filter=["TodoWrite"])
    provider.default = whole("Yes.")
    tools = [{"type": "function", "function": {"name": name}} for name in ("Read", "TodoWrite")]
    history = [{"role": "system", "content": "You code."}, *chat_history(2)]
    run(program.chat(*history, tools=tools))
    hide(actor, "t0")
    history += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on"}]
    run(program.chat(*history, tools=tools))
    request = GatewayRequest.objects.select_related("call").first()
    assert request is not None
    parts = {
        part.name: part for part in compared("chat", request.original, request.call.request["body"])
    }
    assert parts["system"].state == "changed" and "---CORE" in parts["system"].ours
    assert "TodoWrite" in parts["tools"].theirs and parts["tools"].state == "changed"
    assert parts["message 1 · user"].state == "equal"
    assert (
        "hidden" in parts["message 3 · tool"].ours and LONG[:9] in parts["message 3 · tool"].theirs
    )
    assert parts["workspace"].state == "added" and parts["model"].state == "equal"
    assert parts["message 5 · tool"].ours == "tool_use_id: t1\\n---\\n"


def test_the_page_shows_it_and_hides_by_a_button(
    program: Program, provider: ScriptedProvider, actor: Actor, outsider: User
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("system", "You code."), *chat_history(2)))
    client, address = Client(), f"/settings/gateway/sessions/{session().uid}"
    client.force_login(actor.user)
    page = client.get(address).content.decode()
    assert "<ins>---CORE" in page and "saves ≈" in page and "Hide t0" in page
    answer = client.post(f"{address}/results", {"tool_use_id": "t0"}, follow=True)
    assert "Show t0 again" in answer.content.decode() and session().hidden == ["t0"]
    first = GatewayRequest.objects.get().uid
    assert client.get(f"{address}?request={first}").status_code == 200
    assert client.get(f"{address}?request=none").status_code == 404
    other = Client()
    other.force_login(outsider)
    assert other.get(address).status_code == 404
    assert other.post(f"{address}/results", {"tool_use_id": "t0"}).status_code == 404
    assert other.post(f"{address}/workspace", {"tree": ""}).status_code == 404


def test_an_observed_request_is_said_to_be_unchanged(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    run(Program(make_key(actor.user, model.uid, name="p")[1]).chat(("user", "Hello")))
    client = Client()
    client.force_login(actor.user)
    page = client.get(f"/settings/gateway/sessions/{session().uid}").content.decode()
    assert "exactly what the program sent" in page and "<ins>-" not in page


# Attached workspaces.


def test_the_workspace_of_a_cleared_conversation_is_attached(
    program: Program, provider: ScriptedProvider, actor: Actor, tree: Tree
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "Hello")))
    old = session().tree
    execute_line(actor, old, Request('todo add "look at the sea"'))
    fresh = Program(program.secret, {"x-loom-session": "another"})
    run(fresh.chat(("user", "Anew")))
    assert "look at the sea" not in provider.seen[-1].body.decode()
    fresh_session = GatewaySession.objects.exclude(tree=old).get()
    client, address = Client(), f"/settings/gateway/sessions/{fresh_session.uid}"
    client.force_login(actor.user)
    assert f'value="{old.uid}"' in client.get(address).content.decode()
    client.post(f"{address}/workspace", {"tree": old.uid})
    run(fresh.chat(("user", "Anew"), ("assistant", "Yes."), ("user", "More")))
    sent = provider.seen[-1].json["messages"]
    assert "look at the sea" in sent[2]["content"] and "look at the sea" not in str(sent[:2])
    said_there = sent[2]["content"].partition("---TRANSCRIPT")[2].partition("_END")[0]
    assert "Hello" in said_there and "Yes." in said_there
    client.post(f"{address}/workspace", {"tree": ""})
    assert GatewaySession.objects.get(pk=fresh_session.pk).attached is None
    assert client.patch(
        f"/api/sessions/{fresh_session.uid}", {"workspace": "none"}, content_type="application/json"
    ).status_code == 404  # fmt: skip


def test_an_attached_tree_that_its_person_may_no_longer_read_is_not_sent(
    program: Program, provider: ScriptedProvider, actor: Actor, tree: Tree
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "Hello")))
    old = session().tree
    execute_line(actor, old, Request('todo add "look at the sea"'))
    fresh = Program(program.secret, {"x-loom-session": "another"})
    run(fresh.chat(("user", "Anew")))
    fresh_session = GatewaySession.objects.exclude(tree=old).get()
    GatewaySession.objects.filter(pk=fresh_session.pk).update(attached=old)
    Tree.objects.filter(pk=old.pk).update(writer_right="hidden", reader_right="hidden")
    actor.grove.memberships.filter(user=actor.user).update(role="writer")
    TreeRight.objects.filter(tree=old).delete()
    run(fresh.chat(("user", "Anew"), ("assistant", "Yes."), ("user", "More")))
    body = provider.seen[-1].body.decode()
    assert "look at the sea" not in body and "Hello" not in body
    assert GatewayRequest.objects.filter(bypass="").count() == 3


def test_a_workspace_that_lasts_a_turn_is_a_message_of_the_system(
    program: Program, provider: ScriptedProvider, actor: Actor
) -> None:
    provider.default = Script(body=b'{"id":"m","content":[{"type":"text","text":"Yes."}]}')
    beta = "other,mid-conversation-system-clear-at-2026-08-21"
    history: list[Any] = [{"role": "user", "content": "Hello"}]
    body: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": history}
    run(program.send("POST", "/messages", body, anthropic_beta=beta))
    history += [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "More"}]
    run(program.send("POST", "/messages", body, anthropic_beta=beta))
    first, second = (request.json["messages"] for request in provider.seen)
    assert first[0] == history[0]
    assert first[1]["role"] == "system" and first[1]["clear_at"] == "next_user_message"
    assert second[:2] == first and second[2:4] == history[1:3]
    assert second[4]["content"].startswith("---WORKSPACE") and "only what" not in str(second)
    history.insert(1, {"role": "user", "content": "and"})  # before which none may stand
    run(program.send("POST", "/messages", body, anthropic_beta=beta))
    roles = [message["role"] for message in provider.seen[-1].json["messages"]]
    assert roles == ["user", "user", "assistant", "user", "system"]
