"""Conversations in the wire shapes of known programs: ten turns with tools, an answer asked for
once more, and an edit, whose tree has exactly those branches.

What differs from program to program is what surrounds the conversation: how the session is named,
marks of a cache that move, blocks that come and go, thinking, an answer that is sent back in
another form, and short calls for titles.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.gateway.models import GatewaySession
from loom.trees.models import Node
from tests.gateway.conftest import Program, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

pytestmark = pytest.mark.django_db(transaction=True)
TURNS = 10
Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class KnownProgram:
    """How a program speaks: its address and headers, the body around its messages, what its
    provider answers, how it sends that answer back, and how a tool's result."""

    path: str
    headers: dict[str, str]
    body: Callable[[Messages], dict[str, Any]]
    answer: Callable[[int], dict[str, Any]]
    back: Callable[[int], Messages]
    result: Callable[[int], dict[str, Any]]
    user_message: Callable[[str], dict[str, Any]]
    aside: Messages = field(default_factory=list)  # a call for a title, of another conversation


def _marked(messages: Messages) -> Messages:
    """The cache mark on the last message alone: it moves with each request."""
    last = messages[-1]
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
    blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}
    return [*messages[:-1], {**last, "content": blocks}]


def _message_answer(number: int) -> dict[str, Any]:
    return {
        "id": f"m{number}", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": f"Turn {number}."},
            {"type": "tool_use", "id": f"t{number}", "name": "Read",
             "input": {"a": 1, "b": number}},
        ],
        "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 3},
    }  # fmt: skip


def _message_back(number: int) -> Messages:
    thought, text, use = _message_answer(number)["content"]
    # Its keys in another order, and the thinking gone once it is old.
    use = {"name": "Read", "type": "tool_use", "input": {"b": number, "a": 1}, "id": use["id"]}
    return [{"role": "assistant", "content": [*([thought] if number % 2 else []), text, use]}]


CLAUDE_CODE = KnownProgram(
    path="/messages?beta=true",
    headers={
        "x_claude_code_session_id": "9c1d", "user_agent": "claude-cli/2.1.330 (external, cli)",
        "anthropic_version": "2023-06-01", "anthropic_beta": "claude-code-20250219",
    },
    body=lambda messages: {
        "model": "m", "max_tokens": 32000, "messages": _marked(messages),
        "metadata": {"user_id": "user_1_account__session_9c1d"},
        "system": [
            {"type": "text", "text": f"x-anthropic-billing-header: cc={len(messages)}"},
            {"type": "text", "text": "You are Claude Code.",
             "cache_control": {"type": "ephemeral"}},
        ],
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
    },
    answer=_message_answer,
    back=_message_back,
    result=lambda number: {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": f"t{number}",
         "content": [{"type": "text", "text": f"saw {number}"}]}]},
    user_message=lambda text: {"role": "user", "content": text},
)  # fmt: skip


def _items(number: int) -> Messages:
    return [
        {"type": "reasoning", "id": f"r{number}", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "id": f"i{number}",
         "content": [{"type": "output_text", "text": f"Turn {number}.", "annotations": []}]},
        {"type": "function_call", "call_id": f"t{number}", "id": f"f{number}", "name": "shell",
         "arguments": json.dumps({"command": ["ls", str(number)]})},
    ]  # fmt: skip


CODEX = KnownProgram(
    path="/responses",
    headers={"session_id": "0199-aa", "originator": "codex_cli_rs", "user_agent": "codex/0.169"},
    body=lambda messages: {
        "model": "m", "instructions": "You are Codex.", "input": messages, "store": False,
        "prompt_cache_key": "0199-aa", "include": ["reasoning.encrypted_content"],
        "tools": [{"type": "function", "name": "shell", "parameters": {}}],
    },
    answer=lambda number: {
        "id": f"resp_{number}", "object": "response", "status": "completed",
        "output": _items(number), "usage": {"input_tokens": 5, "output_tokens": 3},
    },
    back=lambda number: [
        {key: value for key, value in item.items() if key != "id"} for item in _items(number)
    ],
    result=lambda number: {
        "type": "function_call_output", "call_id": f"t{number}", "output": f"saw {number}"
    },
    user_message=lambda text: {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]
    },
)  # fmt: skip


def _choice(number: int) -> dict[str, Any]:
    function = {"name": "search", "arguments": json.dumps({"q": str(number)})}
    calls = [{"id": f"t{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": f"Turn {number}.", "tool_calls": calls}


def _chat(headers: dict[str, str], system: str, back: Callable[[int], Messages]) -> KnownProgram:
    return KnownProgram(
        path="/chat/completions",
        headers=headers,
        body=lambda messages: {
            "model": "m", "messages": [{"role": "system", "content": system}, *messages],
        },
        answer=lambda number: {
            "id": f"c{number}", "choices": [
                {"index": 0, "message": _choice(number), "finish_reason": "tool_calls"}],
        },
        back=back,
        result=lambda number: {
            "role": "tool", "tool_call_id": f"t{number}", "content": f"saw {number}"
        },
        user_message=lambda text: {"role": "user", "content": text},
        aside=[{"role": "user", "content": "### Task: write a title for this chat"}],
    )  # fmt: skip


PROGRAMS = {
    "Claude Code": CLAUDE_CODE,
    "Codex CLI": CODEX,
    "opencode": _chat({"x_session_id": "ses_1"}, "You are opencode.", lambda at: [_choice(at)]),
    # Blanks at the end go, and arguments are written again.
    "LibreChat": _chat(
        {"x_session_id": "conversation-1"},
        "",
        lambda at: [
            {
                **_choice(at),
                "content": [{"type": "text", "text": f"Turn {at}.  "}],
                "tool_calls": [
                    {
                        **_choice(at)["tool_calls"][0],
                        "function": {"name": "search", "arguments": f'{{ "q" : "{at}" }}'},
                    }
                ],
            }
        ],
    ),
    "Open WebUI": _chat({}, "", lambda at: [_choice(at)]),  # which names no session
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_ten_turns_a_second_answer_and_an_edit_are_exactly_these_branches(
    name: str, program: Program, provider: ScriptedProvider
) -> None:
    known = PROGRAMS[name]
    answers = [known.answer(number) for number in range(TURNS)]
    again = json.loads(json.dumps(known.answer(TURNS - 1)).replace("Turn 9.", "Turn 9, again."))
    for answer in (*answers, again, known.answer(TURNS)):
        provider.script(Script(body=json.dumps(answer).encode()))

    async def ask(messages: Messages) -> None:
        answer = await program.send("POST", known.path, known.body(messages), **known.headers)  # type: ignore[arg-type]
        assert answer.status == 200 and "x-loom" not in answer.headers

    async def talk() -> None:
        messages: Messages = [known.user_message("Begin")]
        for number in range(TURNS):
            await ask(messages)
            messages = [*messages, *known.back(number), known.result(number)]
        before = messages[: -1 - len(known.back(TURNS - 1))]
        await ask(before)  # once more
        await ask(
            [*before[:-1], known.user_message("Something else")]
        )  # the last result was edited

    run(talk())
    session = GatewaySession.objects.get()
    nodes = list(Node.objects.filter(tree=session.tree).exclude(parent_slot=None).order_by("id"))
    texts = [node.text for node in nodes]
    words = ["Begin", *(f"Turn {at}." for at in range(TURNS)), "Turn 9, again.", "Something else"]
    assert [text for text in texts if text] == [*words, f"Turn {TURNS}."]
    below: dict[int, list[str]] = {}
    for node in nodes:
        below.setdefault(node.parent_slot_id or 0, []).append(node.text)
    forks = sorted(siblings for siblings in below.values() if len(siblings) > 1)
    assert len(forks) == 2 and ["Turn 9.", "Turn 9, again."] in forks
    assert "hm" not in str([node.blocks for node in nodes]) and "gAAA" not in str(texts)


@pytest.mark.parametrize("name", ["opencode", "Open WebUI"])
def test_a_call_for_a_title_is_no_branch_of_the_conversation(
    name: str, program: Program, provider: ScriptedProvider
) -> None:
    known = PROGRAMS[name]
    for number in range(3):
        provider.script(Script(body=json.dumps(known.answer(number)).encode()))
    history: Messages = [known.user_message("Begin")]
    longer = [*history, *known.back(0), known.result(0)]
    for messages in (history, known.aside, longer):
        run(program.send("POST", known.path, known.body(messages), **known.headers))  # type: ignore[arg-type]
    conversation = Node.objects.get(text="Begin").tree
    under = Node.objects.filter(tree=conversation, parent_slot__parent_slot=None).exclude(
        parent_slot=None
    )
    assert [node.text for node in under if not node.text.startswith("###")] == ["Begin"]
    assert Node.objects.filter(tree=conversation, text="Turn 2.").count() == 1
