"""The vendors' own clients over the gateway: conversations of ten turns with tools, a regenerated
answer and an edit, whose tree has exactly those branches.

The clients are imported by the tests: each takes longer than all tests of a folder, and every
process of a run would pay for it.
"""

import asyncio
import json
from typing import Any

import httpx
import httpx2
import pytest

from agents.gateway import forwarding
from agents.gateway.models import GatewaySession
from agents.gateway.server import handle
from loom.people.models import Participant
from loom.trees.models import Node
from tests.gateway.conftest import Program, run, shape_of
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

pytestmark = pytest.mark.django_db(transaction=True)
TURNS = 10


async def application(scope: Any, receive: Any, send: Any) -> None:
    """The gateway; an answer counts as sent once it is recorded."""
    async with asyncio.timeout(PATIENCE_S):
        await handle(scope, receive, send)
        await forwarding.wait_for_records()


def chat_answer(number: int) -> Script:
    """An answer that uses a tool."""
    call = {
        "id": f"t{number}", "type": "function",
        "function": {"name": "look", "arguments": json.dumps({"at": number})},
    }  # fmt: skip
    message = {"role": "assistant", "content": f"Turn {number}.", "tool_calls": [call]}
    body = {
        "id": f"c{number}", "object": "chat.completion", "created": 1, "model": "echo-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    }  # fmt: skip
    return Script(body=json.dumps(body).encode())


def test_openai_talks_with_tools_regenerates_and_edits(
    program: Program, provider: ScriptedProvider
) -> None:
    from openai import AsyncOpenAI

    http = httpx.AsyncClient(transport=httpx.ASGITransport(app=application))
    client = AsyncOpenAI(
        api_key=program.secret, base_url="http://heddle/gateway/v1", http_client=http, max_retries=0
    )
    provider.script(*(chat_answer(number) for number in range(TURNS + 2)))

    async def talk() -> None:
        messages: list[Any] = [{"role": "user", "content": "Begin"}]
        for number in range(TURNS):
            answer = await client.chat.completions.create(model="echo-1", messages=messages)
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            result = {"role": "tool", "tool_call_id": f"t{number}", "content": f"saw {number}"}
            messages.append(result)
        await client.chat.completions.create(model="echo-1", messages=messages[:-2])
        edited = [*messages[:-2], {"role": "user", "content": "Something else"}]
        await client.chat.completions.create(model="echo-1", messages=edited)

    run(talk())
    assert GatewaySession.objects.count() == 1
    nodes = list(Node.objects.exclude(parent_slot=None).order_by("id"))
    assert len(nodes) == 2 * TURNS + 3  # the last result was never sent
    last_result = nodes[2 * TURNS - 2]  # what the last answer of the talk follows
    below = [node for node in nodes if node.parent_slot_id == last_result.slot_id]
    assert [node.text for node in below] == ["Turn 9.", "Turn 10.", "Something else"]


def message_answer(number: int) -> Script:
    """An answer that thinks and uses a tool."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": f"Turn {number}."},
        {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {"at": number}},
    ]
    body = {
        "id": f"m{number}", "type": "message", "role": "assistant", "model": "echo-1",
        "content": content, "stop_reason": "tool_use", "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 3},
    }  # fmt: skip
    return Script(body=json.dumps(body).encode())


def test_anthropic_talks_with_tools_regenerates_and_edits(
    program: Program, provider: ScriptedProvider
) -> None:
    from anthropic import AsyncAnthropic

    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application))
    client = AsyncAnthropic(
        api_key=program.secret, base_url="http://heddle/gateway", http_client=http, max_retries=0
    )
    provider.script(*(message_answer(number) for number in range(TURNS + 2)))

    async def ask(messages: list[Any]) -> Any:
        return await client.messages.create(model="echo-1", max_tokens=99, messages=messages)

    async def talk() -> None:
        messages: list[Any] = [{"role": "user", "content": "Begin"}]
        for number in range(TURNS):
            answer = await ask(messages)
            content = [block.model_dump() for block in answer.content]
            messages.append({"role": "assistant", "content": content})
            result = {
                "type": "tool_result", "tool_use_id": f"t{number}", "content": f"saw {number}"
            }  # fmt: skip
            messages.append({"role": "user", "content": [result]})
        await ask(messages[:-2])
        await ask([*messages[:-2], {"role": "user", "content": "Something else"}])

    run(talk())
    assert GatewaySession.objects.count() == 1
    nodes = list(Node.objects.exclude(parent_slot=None).order_by("id"))
    assert len(nodes) == 2 * TURNS + 3  # the last result was never sent
    assert "hm" not in str([node.blocks for node in nodes])


@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_a_stream_of_an_agent_is_read_by_the_client(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None, shape: str
) -> None:
    async def of_openai() -> str:
        from openai import AsyncOpenAI

        http = httpx.AsyncClient(transport=httpx.ASGITransport(app=application))
        client = AsyncOpenAI(
            api_key=program.secret, base_url="http://heddle/gateway/v1", http_client=http
        )
        messages: Any = [{"role": "user", "content": "Hello"}]
        stream = await client.chat.completions.create(
            model="loom/Echo", messages=messages, stream=True
        )
        return "".join([piece.choices[0].delta.content or "" async for piece in stream])

    async def of_anthropic() -> str:
        from anthropic import AsyncAnthropic

        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application))
        client = AsyncAnthropic(
            api_key=program.secret, base_url="http://heddle/gateway", http_client=http
        )
        messages: Any = [{"role": "user", "content": "Hello"}]
        async with client.messages.stream(
            model="loom/Echo", max_tokens=9, messages=messages
        ) as stream:
            return "".join([text async for text in stream.text_stream])

    text = run(of_openai() if shape == "openai" else of_anthropic())
    assert text == "word1 word2 word3 "
    assert shape_of(GatewaySession.objects.get()) == {"Hello": {text: {}}}
