"""The Anthropic-shaped adapter against a provider that does as told, over real HTTP."""

import pytest

from agents.providers.anthropic import Anthropic
from agents.providers.attempt import ProviderAttempt
from agents.providers.values import Finished, ProviderRequest, StreamEvent, Usage
from tests.providers.asking import ask as asked_of
from tests.providers.asking import (
    ask_as_time_passes,
    chat,
    completion,
    failure_of,
    is_whole,
    text_of,
)
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script, cuts, fails, nothing, raw, says, stalls, tokens

MARK = {"type": "ephemeral"}


async def ask(
    provider: ScriptedProvider, asked: ProviderRequest
) -> tuple[list[StreamEvent], ProviderAttempt]:
    return await asked_of(provider, asked, adapter=Anthropic())


def sse(*events: str) -> bytes:
    return "".join(f"data: {event}\n\n" for event in events).encode()


async def test_a_chat_is_sent_as_it_should_be(provider: ScriptedProvider) -> None:
    asked = chat(provider, temperature=1.5, max_tokens=9, stop=("\n", "END"), key="sk-1")
    told, attempt = await ask(provider, asked)
    seen = provider.seen[0]
    assert (seen.method, seen.path) == ("POST", "/v1/messages")
    assert (seen.header("x-api-key"), seen.header("anthropic-version")) == ("sk-1", "2023-06-01")
    assert not seen.header("authorization")
    assert seen.json == {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Who is Marie?", "cache_control": MARK}],
            }
        ],
        "stream": True,
        "temperature": 1,
        "stop_sequences": ["END"],
    }
    assert (text_of(told), is_whole(told)) == ("word1 word2 word3 ", True)
    assert "x-api-key" not in attempt.request["headers"]


async def test_system_text_is_apart_and_a_prefilled_answer_ends_without_blanks(
    provider: ScriptedProvider,
) -> None:
    messages = (
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "Once upon a "},
    )
    await ask(provider, ProviderRequest(provider.url, "m", messages, None))
    sent = provider.seen[0].json
    assert sent["system"] == [{"type": "text", "text": "Be kind.", "cache_control": MARK}]
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant"]
    assert sent["messages"][1]["content"][0]["text"] == "Once upon a"
    assert sent["max_tokens"] == 1024


async def test_a_prompt_goes_as_a_message_of_the_user(provider: ScriptedProvider) -> None:
    await ask(provider, completion(provider, "Once\r\n → "))
    assert provider.seen[0].json["messages"][0]["content"][0]["text"] == "Once\r\n → "


async def test_at_most_four_places_are_marked(provider: ScriptedProvider) -> None:
    messages = tuple(
        {"role": "user" if at % 2 == 0 else "assistant", "content": f"{at}"} for at in range(9)
    )
    await ask(
        provider,
        ProviderRequest(provider.url, "m", ({"role": "system", "content": "s"}, *messages), None),
    )
    assert provider.seen[0].body.count(b"cache_control") == 3


async def test_what_an_earlier_call_sent_is_read_from_the_cache(
    provider: ScriptedProvider,
) -> None:
    first = ({"role": "user", "content": "x" * 400},)
    _, attempt = await ask(provider, ProviderRequest(provider.url, "m", first, None))
    assert attempt.usage == {
        "input_tokens": 0,
        "output_tokens": 3,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 0,
    }
    _, again = await ask(provider, ProviderRequest(provider.url, "m", first, None))
    assert again.usage["cache_read_input_tokens"] == 100


async def test_bytes_are_copied_exactly_and_thinking_is_not_text(
    provider: ScriptedProvider,
) -> None:
    body = sse(
        '{"type":"message_start","message":{"usage":{"input_tokens":5}}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}',
        '{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}',
        '{"type":"content_block_delta","delta":{"type":"text_delta","text":"é\\u0000"}}',
        '{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":2}}',
        '{"type":"message_stop"}',
    )
    provider.script(raw(body))
    told, attempt = await ask(provider, chat(provider))
    assert text_of(told) == "é\ufffd"
    assert attempt.received == (body, True)
    assert Finished(0, "length") in told
    assert Usage({"input_tokens": 5, "output_tokens": 2}) in told


@pytest.mark.parametrize(
    "script",
    [
        says("a", "b"),
        says("a", "b", done=False),
        says("a", b'event: ping\ndata: {"type": "ping"}\n\n', "b"),
        says("a", b'data: {"type":"new_kind","x":1}\n\n', "b"),
        raw(
            b'{"type":"message","content":[{"type":"thinking","thinking":"x"},'
            b'{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"end_turn"}'
        ),
    ],
)
async def test_answers_of_many_servers_are_read(provider: ScriptedProvider, script: Script) -> None:
    provider.script(script)
    told, _ = await ask(provider, chat(provider))
    assert (text_of(told), is_whole(told)) == ("ab", True)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (fails(401, "invalid x-api-key", code="authentication_error"), "auth"),
        (fails(429, "slow down", code="rate_limit_error", retry_after="7"), "rate"),
        (fails(529, "Overloaded", code="overloaded_error"), "server"),
        (fails(400, "prompt is too long: 9 tokens > 8 maximum"), "context"),
        (fails(404, "model: nobody", code="not_found_error"), "not_found"),
        (raw(sse('{"type":"error","error":{"type":"overloaded_error","message":"x"}}')), "server"),
        (raw(sse('{"type":"error","error":{"type":"rate_limit_error","message":"x"}}')), "rate"),
        (raw(sse("[1]")), "server"),
        (raw(b""), "server"),
        (cuts("a"), "network"),
        (says("a", finish=None, done=False), "network"),
        (says("a", finish="refusal"), "filtered"),
    ],
)
async def test_failures_are_reported_last_and_by_their_kind(
    provider: ScriptedProvider, script: Script, kind: str
) -> None:
    provider.script(script)
    told, _ = await ask(provider, chat(provider))
    assert failure_of(told).kind == kind
    if kind == "rate" and script.status == 429:
        assert failure_of(told).retry_after_s == 7


async def test_an_answer_without_text_is_whole(provider: ScriptedProvider) -> None:
    provider.script(nothing())
    told, _ = await ask(provider, chat(provider))
    assert (text_of(told), is_whole(told)) == ("", True)


async def test_what_a_server_does_not_take_is_left_out(provider: ScriptedProvider) -> None:
    asked = chat(provider, temperature=0.5)
    adapter = Anthropic()
    body = adapter.body(asked)
    provider.script(fails(400, "temperature is not supported"), fails(400, "cache_control: extra"))
    for gone in ("temperature", "cache_control"):
        told, _ = await ask(provider, asked)
        less = adapter.adjusted(body, failure_of(told))
        assert less is not None and gone in str(body) and gone not in str(less)
    assert adapter.adjusted(body, failure_of(told)) == less


async def test_silence_is_not_waited_for(provider: ScriptedProvider) -> None:
    provider.script(stalls("a"))
    told = await ask_as_time_passes(provider, chat(provider), 601, adapter=Anthropic())
    assert (text_of(told), failure_of(told).kind) == ("a", "timeout")


async def test_tokens_come_one_by_one(provider: ScriptedProvider) -> None:
    provider.script(tokens(20))
    told, _ = await ask(provider, chat(provider))
    assert text_of(told).split() == [f"word{n}" for n in range(1, 21)]
