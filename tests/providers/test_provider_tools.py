"""Tools that a provider runs itself are sent as they are, and what it says of them is read."""

import json
from typing import Any

import pytest

from agents.providers.anthropic import Anthropic
from agents.providers.litellm import LiteLLMTransport
from agents.providers.openai import LiteLLM, OpenAI
from agents.providers.values import Adapter, Finished, ProviderRequest, StreamEvent, ToolUsed
from tests.providers.asking import LATER, ask, chat, completion, is_whole, text_of
from tests.providers.messages import tool_blocks, web_search
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import event, raw, says, used

TOOLS: tuple[dict[str, Any], ...] = (
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 5, "unknown": [1.5, None]},
    {"type": "code_execution_20250825", "name": "code_execution"},
)
PAGE = ("Towers – a list", "https://example.org/towers")


def uses(events: list[StreamEvent]) -> list[ToolUsed]:
    """What the provider did with its tools."""
    return [event for event in events if isinstance(event, ToolUsed)]


@pytest.mark.parametrize("adapter", [Anthropic(), OpenAI()])
async def test_tools_are_sent_as_they_are_and_only_if_there_are_any(
    provider: ScriptedProvider, adapter: Adapter
) -> None:
    await ask(provider, chat(provider), adapter=adapter)
    await ask(provider, chat(provider, tools=TOOLS), adapter=adapter)
    without, with_tools = (seen.json for seen in provider.seen)
    assert "tools" not in without
    assert with_tools == {**without, "tools": list(TOOLS)}


@pytest.mark.parametrize("adapter", [Anthropic(), OpenAI()])
async def test_a_bare_text_is_completed_without_tools(
    provider: ScriptedProvider, adapter: Adapter
) -> None:
    await ask(provider, completion(provider, tools=TOOLS), adapter=adapter)
    assert "tools" not in provider.seen[0].json


async def test_litellm_hands_them_on(provider: ScriptedProvider) -> None:
    messages = ({"role": "user", "content": "Who is Marie?"},)
    tools = ({"type": "web_search_preview"},)
    for given in ((), tools):
        asked = ProviderRequest(
            provider.url, "openai/m", messages, None, key="sk-0123456789abc", tools=given
        )
        await ask(provider, asked, LATER, LiteLLM(), LiteLLMTransport((provider.entry,)))
    without, with_tools = (seen.json for seen in provider.seen)
    assert "tools" not in without and with_tools["tools"] == list(tools)


async def test_a_search_is_read_between_the_texts(provider: ScriptedProvider) -> None:
    counted = {**used(2), "server_tool_use": {"web_search_requests": 1}}
    provider.script(says("I look. ", web_search("towers", PAGE), "It fell.", usage=counted))
    told, attempt = await ask(provider, chat(provider, tools=TOOLS), adapter=Anthropic())
    assert (text_of(told), is_whole(told)) == ("I look. It fell.", True)
    text = f"1. {PAGE[0]}\n   {PAGE[1]}\n   April 30, 2026"
    assert uses(told) == [ToolUsed("web_search", "towers", text)]
    assert attempt.usage["server_tool_use"] == {"web_search_requests": 1}
    assert attempt.usage_of(0) == attempt.usage
    assert b"SECRET" in attempt.received[0]  # the bytes of the call have all of it


CODE = {"code": "print(1)"}
RESULTS: dict[str, tuple[bytes, ToolUsed]] = {
    "code": (
        tool_blocks(
            "code_execution",
            CODE,
            {
                "type": "code_execution_result",
                "stdout": "1\n2\n",
                "stderr": "hm",
                "return_code": 0,
                "content": [{"type": "code_execution_output", "file_id": "file_1"}],
            },
        ),
        ToolUsed("code_execution", "print(1)", "1\n2\n\nstderr: hm\nreturn code: 0\nfile: file_1"),
    ),
    "shell": (
        tool_blocks(
            "bash_code_execution",
            {"command": "ls"},
            {"type": "bash_code_execution_result", "stdout": "a", "stderr": "", "return_code": 1},
        ),
        ToolUsed("bash_code_execution", "ls", "a\nreturn code: 1"),
    ),
    "error": (
        tool_blocks(
            "web_search",
            {"query": "q"},
            {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        ),
        ToolUsed("web_search", "q", "error: max_uses_exceeded"),
    ),
    "a page": (
        tool_blocks(
            "web_fetch",
            {"url": PAGE[1]},
            {
                "type": "web_fetch_result",
                "url": PAGE[1],
                "content": {
                    "type": "document",
                    "title": PAGE[0],
                    "source": {"type": "text", "media_type": "text/plain", "data": "It stood."},
                },
            },
        ),
        ToolUsed("web_fetch", PAGE[1], f"{PAGE[1]}\n{PAGE[0]}\nIt stood."),
    ),
    "a file in base64": (
        tool_blocks(
            "web_fetch",
            {"url": PAGE[1]},
            {
                "type": "web_fetch_result",
                "url": PAGE[1],
                "content": {"type": "document", "source": {"type": "base64", "data": "SECRET"}},
            },
        ),
        ToolUsed("web_fetch", PAGE[1], PAGE[1]),
    ),
    "another server": (
        tool_blocks(
            "echo",
            {"said": ["a"]},
            [{"type": "text", "text": "a"}],
            kind="mcp_tool_result",
            type="mcp_tool_use",
            server_name="parrots",
        ),
        ToolUsed("parrots.echo", '{"said": ["a"]}', "a"),
    ),
    "no result": (
        tool_blocks("web_search", {"query": "q"}, None),
        ToolUsed("web_search", "q", ""),
    ),
}


@pytest.mark.parametrize(("blocks", "use"), RESULTS.values(), ids=RESULTS)
async def test_what_can_be_read_of_a_result_is(
    provider: ScriptedProvider, blocks: bytes, use: ToolUsed
) -> None:
    provider.script(says("A", blocks, "B"))
    told, _ = await ask(provider, chat(provider), adapter=Anthropic())
    assert (text_of(told), is_whole(told), uses(told)) == ("AB", True, [use])
    assert isinstance(told[-1], Finished)


STRANGE: list[Any] = [
    {"type": "content_block_start", "index": 1, "content_block": {"type": "hologram", "x": [1]}},
    {"type": "content_block_start", "index": [1], "content_block": {"type": "server_tool_use"}},
    {"type": "content_block_start", "content_block": {"type": ["server_tool_use"]}},
    {"type": "content_block_start", "content_block": None},
    {"type": "content_block_start", "content_block": {"type": "x_tool_result", "content": 7}},
    {"type": "content_block_delta", "index": [1], "delta": {"type": "input_json_delta"}},
    {"type": "content_block_delta", "index": 1, "delta": {"partial_json": "{", "type": "z"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "text": "C"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "aura_delta", "text": "C"}},
    {"type": "weather", "index": 9},
]


@pytest.mark.parametrize("strange", STRANGE)
async def test_no_strange_block_breaks_a_stream(provider: ScriptedProvider, strange: Any) -> None:
    provider.script(says("A", event(strange), "B"))
    told, _ = await ask(provider, chat(provider), adapter=Anthropic())
    assert (text_of(told), is_whole(told)) == ("AB", True)


async def test_no_depth_of_a_result_breaks_a_stream(provider: ScriptedProvider) -> None:
    deep: Any = "bottom"
    for _ in range(200):
        deep = {"content": [deep]}
    provider.script(says("A", tool_blocks("web_search", {"query": "q"}, deep), "B"))
    told, _ = await ask(provider, chat(provider), adapter=Anthropic())
    assert text_of(told) == "AB" and uses(told) == [ToolUsed("web_search", "q", "")]


async def test_a_whole_answer_is_read_as_a_streamed_one(provider: ScriptedProvider) -> None:
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    page = {"type": "web_search_result", "title": PAGE[0], "url": PAGE[1]}
    result = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]}
    texts = [{"type": "text", "text": "A"}, use, result, {"type": "text", "text": "B"}]
    message = {"type": "message", "content": texts, "stop_reason": "end_turn"}
    provider.script(raw(json.dumps(message).encode(), kind="application/json"))
    told, _ = await ask(provider, chat(provider), adapter=Anthropic())
    assert text_of(told) == "AB"
    assert uses(told) == [ToolUsed("web_search", "q", f"1. {PAGE[0]}\n   {PAGE[1]}")]


def cites(*urls: str) -> bytes:
    """A piece of a chat that names pages."""
    pages = [
        {"type": "url_citation", "url_citation": {"title": "A tower", "url": url}} for url in urls
    ]
    return event({"choices": [{"index": 0, "delta": {"content": "", "annotations": pages}}]})


async def test_pages_that_a_chat_names_are_told_once(provider: ScriptedProvider) -> None:
    a, b = "https://a.org/", "https://b.org/"
    counted = {**used(2), "server_tool_use": {"web_search_requests": 2, "note": "x"}}
    provider.script(says("It ", cites(a), "fell.", cites(a, b), usage=counted))
    told, attempt = await ask(provider, chat(provider, tools=TOOLS))
    assert (text_of(told), is_whole(told)) == ("It fell.", True)
    assert uses(told) == [ToolUsed("citations", "", f"1. A tower\n   {a}\n2. A tower\n   {b}")]
    assert attempt.usage["server_tool_use"] == {"web_search_requests": 2}


async def test_a_key_that_a_result_echoes_is_masked(provider: ScriptedProvider) -> None:
    key = "sk-0123456789abcdef"
    provider.script(says(web_search(key, (f"My {key}", "https://a.org/"))))
    told, _ = await ask(provider, chat(provider, key=key), adapter=Anthropic())
    (use,) = uses(told)
    assert key not in use.asked and key not in use.text and "My …" in use.text
