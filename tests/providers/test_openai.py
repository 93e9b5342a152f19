"""The OpenAI-shaped adapter against a provider that does as told, over real HTTP."""

import gzip
import json
from dataclasses import replace
from urllib.parse import quote

import pytest

from agents.providers.transport import Limits
from agents.providers.values import Failure, Usage
from tests.providers.asking import (
    ask,
    ask_as_time_passes,
    chat,
    completion,
    failure_of,
    is_whole,
    text_of,
)
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import (
    Script,
    cuts,
    event,
    fails,
    huge,
    never_ends,
    nothing,
    raw,
    redirects,
    says,
    stalls,
    tokens,
    used,
)


async def test_a_chat_is_sent_as_it_should_be(provider: ScriptedProvider) -> None:
    told, _ = await ask(provider, chat(provider, temperature=0.5, max_tokens=9, stop=("\n",)))
    seen = provider.seen[0]
    assert seen.method == "POST"
    assert seen.path == "/v1/chat/completions"
    assert seen.body == (
        b'{"model":"m","messages":[{"role":"user","content":"Who is Marie?"}],"stream":true,'
        b'"stream_options":{"include_usage":true},"temperature":0.5,"max_tokens":9,"stop":["\\n"]}'
    )
    assert text_of(told) == "word1 word2 word3 "
    assert Usage(used(3)) in told
    assert is_whole(told)


async def test_a_completion_is_sent_byte_by_byte(provider: ScriptedProvider) -> None:
    prompt = 'Ünd  \r\n\t→ 漢 👩‍🚀 \\ "quoted" '
    told, _ = await ask(provider, completion(provider, prompt))
    assert provider.seen[0].path == "/v1/completions"
    assert provider.seen[0].json["prompt"] == prompt
    assert provider.seen[0].json["max_tokens"] == 2048
    assert text_of(told) == "word1 word2 word3 "


async def test_the_host_is_named_and_the_local_connection_not_kept(
    provider: ScriptedProvider,
) -> None:
    await ask(provider, chat(provider))
    assert provider.seen[0].header("host") == provider.entry
    assert provider.seen[0].header("connection") == "close"


async def test_bytes_are_copied_exactly(provider: ScriptedProvider) -> None:
    body = event({"choices": [{"delta": {"content": "é\u0000"}, "finish_reason": "stop"}]})
    provider.script(Script((body[:40], body[40:]), done=False, finish=None))
    told, attempt = await ask(provider, chat(provider))
    assert attempt.received == (body, True)
    assert text_of(told) == "é\ufffd"


async def test_characters_cut_between_chunks_come_whole(provider: ScriptedProvider) -> None:
    body = event({"choices": [{"delta": {"content": "→ 漢 👩‍🚀"}}]})
    provider.script(Script(tuple(body[n : n + 1] for n in range(len(body)))))
    told, _ = await ask(provider, chat(provider))
    assert text_of(told) == "→ 漢 👩‍🚀"


async def test_half_a_character_becomes_a_replacement(provider: ScriptedProvider) -> None:
    provider.script(Script((b'data: {"choices":[{"delta":{"content":"a\xe6\xbc"}}]}\n\n',)))
    told, attempt = await ask(provider, chat(provider))
    assert text_of(told) == "a\ufffd"
    assert b"\xe6\xbc" in attempt.received[0]


async def test_a_pair_of_surrogates_cut_in_two_is_joined(provider: ScriptedProvider) -> None:
    halves = (b'{"choices":[{"delta":{"content":"x\\ud83d"}}]}',
              b'{"choices":[{"delta":{"content":"\\ude00y\\ud83d"}}]}')  # fmt: skip
    provider.script(Script(tuple(b"data: " + half + b"\n\n" for half in halves)))
    told, _ = await ask(provider, chat(provider))
    assert text_of(told) == "x😀y\ufffd"


@pytest.mark.parametrize(
    "script",
    [
        says("a", "b", usage=None),
        says("a", "b", finish=None),
        says("a", "b", done=False),
        says("a", "b", done=False, finish=None),
        says("a", "b", chunked=False),
        says("a", "b", chunked=False, done=False),
        says("a", "b", chunked=False, finish=None),
        says("a", b": ping\n\n", "b"),
        says("a", b"event: x\nid: 1\nretry: 5\n\n", "b"),
        says("a", b'data: {"choices":[]}\n\n', "b"),
        says("a", b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n', "b"),
        says("a", b'data: {"choices":[{"delta":null,"index":0}]}\n\n', "b"),
        says("a", b'data:{"choices":\ndata:[{"text":"b"}]}\n\n'),
        says("a", b'data: {"choices":[{"text":"b"}]}\r\n\r\n'),
        says("a", b'data: {"choices":[{"delta":{"content":[{"type":"text","text":"b"}]}}]}\r\r'),
        says("a", b"\xef\xbb\xbf: not only at the start\n\n", "b"),
        raw(b'data: {"choices":[{"delta":{"content":"ab"}}]}\n\ndata: [DONE]'),
        raw(b'{"choices":[{"message":{"content":"ab"},"finish_reason":"stop"}]}'),
        raw(b' \n{"choices":[{"text":"ab"}]}', kind="application/json"),
        raw(b'\xef\xbb\xbf{"choices":[{"text":"ab"}]}', kind="text/plain"),
    ],
)
async def test_answers_of_many_servers_are_read(provider: ScriptedProvider, script: Script) -> None:
    provider.script(script)
    told, _ = await ask(provider, chat(provider))
    assert text_of(told) == "ab"
    assert is_whole(told)


async def test_an_answer_that_is_compressed_without_a_request_is_read(
    provider: ScriptedProvider,
) -> None:
    body = gzip.compress(event({"choices": [{"text": "ab"}]}))
    coded = Script(headers=(("content-encoding", "gzip"),), body=body)
    provider.script(coded)
    told, attempt = await ask(provider, chat(provider))
    assert text_of(told) == "ab"
    assert attempt.received == (body, True)


async def test_no_text_at_all_is_an_end_without_text(provider: ScriptedProvider) -> None:
    provider.script(nothing())
    told, _ = await ask(provider, chat(provider))
    assert text_of(told) == ""
    assert is_whole(told)


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        (fails(401, "bad key"), "auth", "bad key"),
        (fails(403), "auth", ""),
        (fails(404, "no model m"), "not_found", "no model m"),
        (fails(429, "slow down", retry_after="7"), "rate", "slow down"),
        (fails(400, "maximum context length is 4096 tokens"), "context", "4096"),
        (fails(400, code="exceed_context_size_error"), "context", ""),
        (fails(413, "prompt is too long"), "context", ""),
        (fails(400, "no such field"), "invalid", "no such field"),
        (fails(400, "blocked by our content filter"), "filtered", ""),
        (fails(408), "timeout", ""),
        (fails(500, "oh"), "server", "oh"),
        (fails(503, "Loading model"), "server", "Loading model"),
        (fails(529), "server", ""),
        (raw(b"<html>Bad gateway", kind="text/html", status=502), "server", "HTTP 502"),
        (raw(b'{"detail":"no"}', status=422), "invalid", "no"),
        (raw(b'{"error":"just words"}', status=400), "invalid", "just words"),
        (raw(b"[" * 100_000, status=500), "server", "HTTP 500"),
        (redirects("http://169.254.169.254/latest"), "invalid", "redirect"),
        (redirects("https://elsewhere.example/v1", 307), "invalid", "redirect"),
        (raw(b""), "server", "empty"),
        (raw(b'data: {"error":{"message":"Rate limit reached"}}\n\n'), "rate", "Rate"),
        (raw(b'data: {"error":{"message":"x","code":"503"}}\n\n'), "server", "x"),
        (raw(b'data: {"error":"no api key"}\n\n'), "auth", "no api key"),
        (raw(b"data: {not json\n\n"), "server", "not a JSON"),
        (raw(b"data: " + b"[" * 100_000 + b"\n\n"), "server", "not a JSON"),
        (raw(b"data: [1]\n\n"), "server", "not a JSON object"),
        (says(finish="content_filter", usage=None), "filtered", ""),
        (huge(2 * 1024 * 1024), "invalid", "over 1,048,576 bytes"),
        (Script(body=b"x", headers=(("content-encoding", "br"),)), "server", "coded as br"),
        (Script(body=b"no gzip", headers=(("content-encoding", "gzip"),)), "server", "compres"),
        (
            Script(
                body=gzip.compress(b"data: " + b"x" * 3 * 1024 * 1024),
                headers=(("content-encoding", "gzip"),),
            ),
            "invalid",
            "over",
        ),
    ],
)
async def test_what_goes_wrong_is_reported_as_a_failure(
    provider: ScriptedProvider, script: Script, kind: str, words: str
) -> None:
    provider.script(script)
    told, _ = await ask(provider, chat(provider))
    failure = failure_of(told)
    assert failure.kind == kind
    assert words in failure.said
    assert len(provider.seen) == 1


async def test_the_time_to_wait_is_kept(provider: ScriptedProvider) -> None:
    provider.script(fails(429, retry_after="7"), fails(429, retry_after="Fri, 21 Nov 2026"))
    assert failure_of((await ask(provider, chat(provider)))[0]).retry_after_s == 7
    assert failure_of((await ask(provider, chat(provider)))[0]).retry_after_s is None


@pytest.mark.parametrize(
    "script", [cuts("a ", "b "), says("a ", "b ", chunked=False, done=False, finish=None)]
)
async def test_a_connection_cut_in_the_middle_keeps_what_came(
    provider: ScriptedProvider, script: Script
) -> None:
    provider.script(script)
    told, attempt = await ask(provider, chat(provider))
    assert text_of(told) == "a b "
    assert failure_of(told).kind == "network"
    assert b'"b "' in attempt.received[0]


TRACED = r"oh Traceback (most recent call last): File \"/srv/x.py\", line 1, in f"


@pytest.mark.parametrize(
    "script",
    [
        raw(f'{{"error":"{TRACED}"}}'.encode(), status=500),
        raw(f'data: {{"error":{{"message":"{TRACED}","code":"503"}}}}\n\n'.encode()),
        raw(f'data: {{"error":{{"message":"{TRACED}"}}}}\n\n'.encode()),
        raw(f'data: {{"error":{{"message":"{TRACED}","code":"rate limit"}}}}\n\n'.encode()),
    ],
)
async def test_no_traceback_of_a_server_is_told(provider: ScriptedProvider, script: Script) -> None:
    provider.script(script)
    told, _ = await ask(provider, chat(provider))
    assert failure_of(told).said == "oh"


async def test_an_error_inside_a_stream_keeps_what_came(provider: ScriptedProvider) -> None:
    provider.script(says("a ", b'data: {"error":{"message":"overloaded"}}\n\n', "b"))
    told, _ = await ask(provider, chat(provider))
    assert text_of(told) == "a "
    assert failure_of(told) == Failure("server", "overloaded")


async def test_the_limits_of_time_hold(provider: ScriptedProvider) -> None:
    provider.script(stalls(), stalls("a "), never_ends(rate=100))
    first = failure_of(await ask_as_time_passes(provider, chat(provider), 601, after_text=False))
    assert (first.kind, first.said) == ("timeout", "nothing came within 600 s")
    told = await ask_as_time_passes(provider, chat(provider), 601)
    assert text_of(told) == "a "
    assert failure_of(told).said == "nothing came for 600 s"
    told = await ask_as_time_passes(provider, chat(provider), 3601)
    assert text_of(told).startswith("on ")
    assert failure_of(told).said == "the answer did not end within 3600 s"


async def test_an_endless_answer_ends_at_the_limit_of_size(provider: ScriptedProvider) -> None:
    provider.script(never_ends(word="on and " * 1000))
    told, _ = await ask(provider, chat(provider))
    assert failure_of(told).kind == "invalid"
    provider.wait_for_break()


async def test_one_event_without_an_end_is_given_up(provider: ScriptedProvider) -> None:
    provider.script(raw(b"data: " + b"x" * (5 * 1024 * 1024)))
    told, _ = await ask(provider, chat(provider), Limits())
    assert failure_of(told).said == "one event of the answer never ended"


async def test_many_candidates_come_apart(provider: ScriptedProvider) -> None:
    provider.script(tokens(2))
    told, _ = await ask(provider, chat(provider, many=3))
    assert provider.seen[0].json["n"] == 3
    indexes = [getattr(piece, "index", None) for piece in told]
    assert indexes.count(0) == indexes.count(1) == indexes.count(2) == 3


async def test_the_key_is_sent_and_kept_nowhere(provider: ScriptedProvider) -> None:
    echo = {"error": {"message": "Incorrect API key provided: sk-secret-1-of-many"}}
    provider.script(
        Script(
            status=401, headers=(("x-echo", "sk-secret-1-of-many"),), body=json.dumps(echo).encode()
        )
    )
    told, attempt = await ask(provider, chat(provider, key="sk-secret-1-of-many"))
    assert provider.seen[0].header("authorization") == "Bearer sk-secret-1-of-many"
    body, is_exact = attempt.received
    kept = (failure_of(told), attempt.request, attempt.headers, body, attempt.ask)
    assert "sk-secret-1-of-many" not in repr(kept)
    assert not is_exact
    assert failure_of(told).said == "Incorrect API key provided: …"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("bad key sk-proj-abcdefgh…", "bad key ……"),
        ("bad key ijklmnop9876 at the end", "bad key … at the end"),
        ("sk-proj-abcdefgh and ijklmnop9876", "… and …"),
        ("nothing of it: abcdefg", "nothing of it: abcdefg"),
    ],
)
async def test_pieces_of_a_key_are_masked_in_an_error_and_a_header(
    message: str, kept: str, provider: ScriptedProvider
) -> None:
    key = "sk-proj-abcdefghijklmnop9876"
    body = json.dumps({"error": {"message": message}}, ensure_ascii=False).encode()
    header = message.encode("ascii", "ignore").decode()
    provider.script(Script(status=401, headers=(("x-echo", header),), body=body))
    told, attempt = await ask(provider, chat(provider, key=key))
    assert failure_of(told).said == kept
    assert kept in attempt.received[0].decode()
    assert attempt.headers["x-echo"].rstrip("…") == kept.rstrip("…")


async def test_a_key_in_the_text_of_a_model_stays_as_it_came(provider: ScriptedProvider) -> None:
    key = "sk-secret-1-of-many"
    provider.script(says("It is ", key, "."))
    told, attempt = await ask(provider, chat(provider, key=key))
    assert text_of(told) == f"It is {key}."
    assert key.encode() in attempt.received[0] and attempt.received[1]


async def test_a_text_beside_an_empty_error_is_not_an_error(provider: ScriptedProvider) -> None:
    key = "sk-secret-1-of-many"
    chunk = {"error": None, "choices": [{"index": 0, "delta": {"content": key}}]}
    provider.script(raw(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()))
    told, attempt = await ask(provider, chat(provider, key=key))
    assert text_of(told) == key
    assert key.encode() in attempt.received[0] and attempt.received[1]


async def test_a_key_is_masked_in_the_address_that_is_kept(provider: ScriptedProvider) -> None:
    key = "sk-secret/1 of many"
    provider.script(says("Yes."))
    asked = chat(provider, key=key)
    asked = replace(asked, base_url=f"{asked.base_url}/keys/{quote(key, safe='')}")
    _, attempt = await ask(provider, asked)
    kept = repr(attempt.request)
    assert "sk-secret" not in kept and "%2F1" not in kept


async def test_a_short_key_is_masked_in_no_text(provider: ScriptedProvider) -> None:
    provider.script(Script(status=401, body=b'{"error": {"message": "a model of ollama"}}'))
    told, _ = await ask(provider, chat(provider, key="ollama"))
    assert failure_of(told).said == "a model of ollama"


def test_a_server_that_refuses_a_field_is_asked_without_it(provider: ScriptedProvider) -> None:
    from agents.providers.openai import OpenAI

    adapter = OpenAI()
    body = adapter.body(chat(provider, max_tokens=5))
    less = adapter.adjusted(body, Failure("invalid", "unknown field: stream_options"))
    assert less is not None
    assert "stream_options" not in less
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    newer = adapter.adjusted(less, Failure("invalid", message))
    assert newer is not None
    assert newer["max_completion_tokens"] == 5
    assert "max_tokens" not in newer
    assert adapter.adjusted(newer, Failure("invalid", message)) is None
    assert adapter.adjusted(body, Failure("server", "stream_options")) is None
