"""How an answer of an agent ends for the program that asked, and what it says that it used."""

import json
from typing import Any

import pytest

from agents.gateway.models import GatewaySession
from loom.people.models import Participant
from loom.turns import turn_lifecycle
from loom.turns.models import Generation, Turn
from tests.gateway.conftest import Answer, Program, run, shape_of
from tests.gateway.test_hosted import AGENT
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script, cuts, fails, nothing, says

pytestmark = pytest.mark.django_db(transaction=True)
HI = [{"role": "user", "content": "Hi"}]
ASKED: dict[str, dict[str, Any]] = {
    "/chat/completions": {"messages": HI},
    "/completions": {"prompt": "Hi"},
    "/messages": {"messages": HI, "max_tokens": 900},
    "/responses": {"input": "Hi"},
}
COUNTED = {
    "prompt_tokens": 70,
    "completion_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 20},
}


@pytest.fixture(params=["subject", "agent"])
def model(request: pytest.FixtureRequest, model: Participant) -> Participant:
    """A model that gives one continuation, and an agent that runs a turn."""
    if request.param == "agent":
        model.permissions, model.context_limit = AGENT, 50_000
        model.save()
    return model


def sent(program: Program, path: str, *, is_stream: bool = False, **more: Any) -> Answer:
    """The answer to a request in this shape."""
    body = {"model": "loom/Echo", "stream": is_stream, **ASKED[path], **more}
    return run(program.send("POST", path, body))


def events_of(answer: Answer) -> list[dict[str, Any]]:
    """The objects of a stream."""
    lines = answer.body.decode().splitlines()
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(text) for text in data if text != "[DONE]"]


def ending_of(path: str, body: dict[str, Any]) -> Any:
    """How a whole answer says that it ended."""
    if path == "/messages":
        return body["stop_reason"]
    if path == "/responses":
        return (body["status"], body["incomplete_details"])
    return body["choices"][0]["finish_reason"]


CUT = {
    "/chat/completions": "length",
    "/completions": "length",
    "/messages": "max_tokens",
    "/responses": ("incomplete", {"reason": "max_output_tokens"}),
}


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("script", [cuts("Half ", "an"), says("Half ", "an", finish="length")])
def test_an_answer_that_broke_off_does_not_look_complete(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    script: Script,
) -> None:
    provider.script(script, script, script)
    got = sent(program, path)
    assert got.status == 200 and ending_of(path, got.json) == CUT[path]
    assert "Half an" in got.body.decode()


@pytest.mark.parametrize("path", ASKED)
def test_a_stream_that_broke_off_ends_with_an_error(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None, path: str
) -> None:
    provider.script(cuts("Half ", "an"))
    got = sent(program, path, is_stream=True)
    last = events_of(got)[-1]
    failed = last.get("error") or last["response"]["error"]
    assert failed["message"] and b"[DONE]" not in got.body
    assert b"Half" in got.body and b"message_stop" not in got.body


@pytest.mark.parametrize("path", ASKED)
def test_a_stream_says_that_it_reached_its_maximum(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None, path: str
) -> None:
    provider.script(says("Half ", "an", finish="length"))
    text = sent(program, path, is_stream=True).body.decode()
    word = {"/messages": '"max_tokens"', "/responses": "response.incomplete"}
    assert word.get(path, '"finish_reason": "length"') in text


def test_a_candidate_at_its_maximum_is_a_text_like_others(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    provider.script(says("Half ", "an", finish="length"))
    sent(program, "/chat/completions")
    row = Generation.objects.select_related("node", "turn__node").get()
    node = row.node or (row.turn and row.turn.node)
    assert (row.finish, row.status) == ("length", "done")
    assert node is not None and node.finish == "complete"


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("is_stream", [False, True])
def test_usage_is_what_the_provider_counted(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    is_stream: bool,
) -> None:
    provider.script(says("Good day.", usage=COUNTED))
    got = sent(program, path, is_stream=is_stream, stream_options={"include_usage": True})
    values = events_of(got) if is_stream else [got.json]
    used = [usage for value in values if (usage := _usage_in(value))][-1]
    names = ("prompt_tokens", "completion_tokens")
    if path == "/responses":
        names = ("input_tokens", "output_tokens")
    if path == "/messages":  # which counts what was read from the cache beside the rest
        assert (used["input_tokens"], used["cache_read_input_tokens"]) == (50, 20)
        assert used["output_tokens"] == 30
        return
    assert [used[name] for name in names] == [70, 30] and used["total_tokens"] == 100


def _usage_in(value: dict[str, Any]) -> dict[str, Any] | None:
    used = value.get("usage") or value.get("response", {}).get("usage")
    return used if isinstance(used, dict) else None


def test_a_chat_that_does_not_ask_for_usage_is_not_sent_it(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    provider.script(says("Good day."))
    assert b"usage" not in sent(program, "/chat/completions", is_stream=True).body


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("is_stream", [False, True])
def test_an_answer_without_a_word_is_an_answer(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    is_stream: bool,
) -> None:
    """A client would send the request again, and the provider would be asked again."""
    provider.script(nothing(), nothing(), nothing())
    got = sent(program, path, is_stream=is_stream)
    assert got.status == 200 and b'"error": {' not in got.body
    assert len(provider.seen) == 1


@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_turn_that_worked_by_lines_alone_is_done(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    is_stream: bool,
) -> None:
    if model.permissions != AGENT:
        model.permissions, model.context_limit = AGENT, 50_000
        model.save()
    provider.script(says('→ respond "By a line."\n'), says("On it goes."))
    got = sent(program, path, is_stream=is_stream)
    assert got.status == 200 and "✓" in got.body.decode()
    assert Turn.objects.get().status == "done"


def test_a_conversation_goes_on_below_what_a_line_wrote(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    model.permissions, model.context_limit = AGENT, 50_000
    model.save()
    provider.script(says('→ respond "By a line."\n'), says("Still here."))
    first = sent(program, "/responses").json
    more = {"input": "And now?", "previous_response_id": first["id"]}
    assert sent(program, "/responses", **more).status == 200
    expected: dict[str, Any] = {"Hi": {"By a line.": {"And now?": {"Still here.": {}}}}}
    assert shape_of(GatewaySession.objects.get()) == expected


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_the_provider_refuses_for_good_is_not_asked_again(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None, status: int
) -> None:
    provider.script(*(fails(status) for _ in range(4)))
    assert sent(program, "/chat/completions").status == 400


@pytest.mark.parametrize(("status", "told"), [(429, 429), (503, 502)])
def test_what_may_help_is_asked_again(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    status: int,
    told: int,
) -> None:
    provider.script(*(fails(status) for _ in range(9)))
    assert sent(program, "/chat/completions").status == told


def test_a_turn_that_has_written_and_fails_is_not_begun_again(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    model.permissions, model.context_limit = AGENT, 50_000
    model.save()
    provider.script(says('→ respond "Once."\n→ tree\n'), *(fails(503) for _ in range(9)))
    assert sent(program, "/chat/completions").status == 400


def test_a_turn_that_a_person_stopped_is_not_begun_again(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model.permissions, model.context_limit = AGENT, 50_000
    model.save()
    begin = turn_lifecycle.start

    def stopped(*args: Any) -> Turn:
        turn = begin(*args)
        turn_lifecycle.ask_stop(turn)
        return turn

    monkeypatch.setattr(turn_lifecycle, "start", stopped)
    assert sent(program, "/chat/completions").status == 400


@pytest.mark.parametrize("model", ["agent"], indirect=True)
@pytest.mark.parametrize("path", ASKED)
def test_a_path_that_is_too_long_is_not_sent_again(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None, path: str
) -> None:
    model.context_limit = 3_000
    model.save()
    long = "Whales sing. " * 2_000
    asked: dict[str, Any] = {"input": long} if path == "/responses" else {"prompt": long}
    if path in ("/chat/completions", "/messages"):
        asked = {"messages": [{"role": "user", "content": long}]}
    got = sent(program, path, **asked)
    assert (got.status, got.json["error"]["type"]) == (400, "invalid_request_error")
    assert not provider.seen
