"""A provider that lies: its counts, its words of refusal and its indices hold no call open."""

import json
from typing import Any

import pytest

from tests.agents.conftest import Say, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script, raw

pytestmark = pytest.mark.django_db(transaction=True)


def events(*bodies: dict[str, Any]) -> bytes:
    """Bodies as server-sent events, with the usual end."""
    told = [f"data: {json.dumps(body)}\n\n" for body in bodies]
    return "".join([*told, "data: [DONE]\n\n"]).encode()


def answer(text: str, **more: Any) -> dict[str, Any]:
    """An event with a text that is whole."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": "stop"}
    return {"choices": [choice], **more}


@pytest.mark.parametrize("name", ["prompt_tokens", "completion_tokens", "total_tokens"])
def test_no_count_of_tokens_holds_up_an_answer(
    name: str, ask: Say, provider: ScriptedProvider
) -> None:
    for count in (2**31, 2**63, 2**70, 10**400, -5, 10**4000):
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, name: count}
        provider.script(raw(events(answer("Marie.", usage=usage))))
        row = run(ask()[0])
        assert (row.status, row.shown) == ("done", "Marie."), count
        assert row.tokens_in >= 0, count
        assert row.tokens_out >= 0, count
        assert row.call is not None, count
        assert row.call.sealed_at is not None, count


def test_an_index_that_nobody_asked_for_is_skipped(ask: Say, provider: ScriptedProvider) -> None:
    for index in (-1, -7, 9, 10**30, True):
        stray = {"choices": [{"index": index, "delta": {"content": "stray"}}]}
        provider.script(raw(events(stray, answer("Marie."))))
        row = run(ask()[0])
        assert (row.status, row.shown) == ("done", "Marie."), index


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_words_of_refusal_that_cannot_be_stored_end_a_call(
    status: int, ask: Say, provider: ScriptedProvider
) -> None:
    for message in ("a\0b", "a\ud800b", "<script>alert(1)</script>", "x" * 100_000):
        body = {"error": {"message": message, "code": message}}
        sent = events(body) if status == 200 else json.dumps(body).encode()
        provider.default = raw(sent, status=status)
        row = run(ask()[0])
        assert row.status == "failed", message[:40]
        assert row.error is not None, message[:40]
        assert len(json.dumps(row.error)) < 4000, message[:40]


@pytest.mark.parametrize(
    "when",
    [
        "nan",
        "inf",
        "-1",
        "1e400",
        "9" * 5000,
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 0001 00:00:00 -0000",
        "Mon, 01 Jan 2026 00:00:00 +9999999999",
    ],
)
def test_no_time_to_wait_breaks_a_call(when: str, ask: Say, provider: ScriptedProvider) -> None:
    provider.default = Script(
        status=429, body=b'{"error":"slow"}', headers=(("retry-after", when),)
    )
    row = run(ask()[0])
    assert row.status == "failed"
    assert row.error is not None
    assert row.error["reason"] == "rate"
