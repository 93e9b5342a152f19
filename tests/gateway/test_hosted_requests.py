"""What a program asks of an agent: settings and system text go to the model, and what cannot
be done is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agents.gateway.models import GatewaySession
from loom.people.models import Participant
from loom.turns.models import Generation, Turn
from tests.gateway.conftest import Program
from tests.gateway.test_hosted import AGENT
from tests.gateway.test_hosted_endings import HI, sent
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["subject", "agent"])
def model(request: pytest.FixtureRequest, model: Participant) -> Participant:
    """A model that gives one continuation, and an agent that runs a turn."""
    if request.param == "agent":
        model.permissions, model.context_limit = AGENT, 50_000
        model.save()
    return model


@pytest.mark.parametrize(
    ("path", "options", "passed"),
    [
        ("/chat/completions", {"max_tokens": 5, "stop": "two"}, {"max_tokens": 5, "stop": ["two"]}),
        ("/chat/completions", {"max_completion_tokens": 6, "top_p": 0.5}, {"max_tokens": 6}),
        ("/completions", {"max_tokens": 7, "temperature": 0.1}, {"max_tokens": 7}),
        ("/messages", {"max_tokens": 8, "stop_sequences": ["x"]}, {"max_tokens": 8, "stop": ["x"]}),
        ("/responses", {"max_output_tokens": 9, "temperature": 0}, {"max_tokens": 9}),
    ],
)
def test_settings_of_a_request_go_to_the_model(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    options: dict[str, Any],
    passed: dict[str, Any],
) -> None:
    provider.script(says("One."))
    assert sent(program, path, **options).status == 200
    body = provider.seen[0].json
    same = {name: value for name, value in options.items() if name in ("temperature", "top_p")}
    expected = passed | same
    assert {name: body.get(name) for name in expected} == expected


def test_a_program_gets_no_more_than_the_agent_may_write(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    """A continuation has as many tokens as were asked for, and at most those of a line."""
    Participant.objects.filter(pk=model.pk).update(max_tokens=100)
    provider.script(says("One."))
    assert sent(program, "/messages", max_tokens=64_000).status == 200
    is_agent = model.permissions == AGENT
    assert provider.seen[0].json["max_tokens"] == (100 if is_agent else 8192)


@pytest.mark.parametrize(
    "options",
    [
        {"n": 1, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}},
        {"stop": None, "top_k": -1, "min_p": 0, "logprobs": False, "seed": None},
        {"response_format": {"type": "text"}, "modalities": ["text"], "user": "u", "store": True},
    ],
)
def test_settings_without_effect_are_no_reason_to_refuse(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    options: dict[str, Any],
) -> None:
    provider.script(says("One."))
    assert sent(program, "/chat/completions", **options).status == 200


@pytest.mark.parametrize(
    ("path", "asked", "named"),
    [
        ("/chat/completions", {"n": 3}, "n over 1"),
        ("/chat/completions", {"logprobs": True}, "logprobs"),
        ("/chat/completions", {"response_format": {"type": "json_object"}}, "response_format"),
        ("/chat/completions", {"functions": [{"name": "f"}]}, "tools"),
        ("/chat/completions", {"modalities": ["text", "audio"]}, "audio"),
        ("/chat/completions", {"top_k": 5}, "top_k"),
        ("/chat/completions", {"temperature": 3}, "temperature"),
        ("/chat/completions", {"max_tokens": 0}, "max_tokens is a whole number"),
        ("/chat/completions", {"max_completion_tokens": "9"}, "max_completion_tokens is"),
        ("/responses", {"max_output_tokens": 1.5}, "max_output_tokens is"),
        ("/messages", {"max_tokens": True}, "max_tokens is"),
        ("/completions", {"suffix": "The end"}, "suffix"),
        ("/completions", {"prompt": ["A", "B"]}, "several prompts"),
        ("/completions", {"prompt": [1, 2]}, "tokens"),
        ("/completions", {"echo": True}, "echo"),
        ("/completions", {"logprobs": 0}, "logprobs"),
        ("/completions", {"best_of": 2}, "best_of"),
        ("/messages", {"mcp_servers": [{"url": "https://x"}]}, "mcp_servers"),
        ("/responses", {"text": {"format": {"type": "json_schema"}}}, "text.format"),
        ("/responses", {"background": True}, "background"),
        ("/responses", {"conversation": "conv_1"}, "conversation"),
        ("/responses", {"prompt": {"id": "p"}}, "stored prompt"),
    ],
)
def test_what_an_agent_cannot_do_is_refused_with_the_way(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    path: str,
    asked: dict[str, Any],
    named: str,
) -> None:
    got = sent(program, path, **asked)
    assert got.status == 400 and named in got.json["error"]["message"]
    assert not provider.seen and not GatewaySession.objects.exists()


SYSTEMS: dict[str, Callable[[str], dict[str, Any]]] = {
    "/chat/completions": lambda text: {"messages": [{"role": "system", "content": text}, *HI]},
    "/messages": lambda text: {"system": text},
    "/responses": lambda text: {"instructions": text},
}


@pytest.mark.parametrize("path", SYSTEMS)
@pytest.mark.parametrize("session", [{}, {"x-loom-session": "s"}])
def test_the_model_is_sent_the_system_text_of_the_request(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    session: dict[str, str],
) -> None:
    """Whatever the first request of its session, or another with the same words, had sent."""
    program.headers |= session
    texts = ("Be a pirate.", "Be a dog.", "Be a pirate.", "")
    provider.script(*(says(f"{number}.") for number, _ in enumerate(texts)))
    for text in texts:
        more = SYSTEMS[path](text) if text else {}
        assert sent(program, path, **more).status == 200
    for text, request in zip(texts, provider.seen, strict=True):
        said = json.dumps(request.json)
        assert [name in said for name in ("Be a pirate.", "Be a dog.")] == [
            text == "Be a pirate.",
            text == "Be a dog.",
        ]


def test_an_answer_is_continued_under_its_own_system_text(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    provider.script(*(says(f"{number}.") for number in range(4)))
    sent(program, "/responses", instructions="Be a pirate.")
    dog = sent(program, "/responses", instructions="Be a dog.").json["id"]
    more = {"input": "And now?", "previous_response_id": dog}
    again = sent(program, "/responses", **more).json["id"]
    sent(program, "/responses", input="And then?", previous_response_id=again)
    assert all("Be a dog." in json.dumps(request.json) for request in provider.seen[2:])


def test_only_a_system_text_other_than_that_of_the_tree_is_stored_again(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    provider.script(says("0."), says("1."))
    for text in ("Be a pirate.", "Be a dog."):
        sent(program, "/messages", system=text)
    rows = Turn.objects if model.permissions == AGENT else Generation.objects
    stored = rows.order_by("id").values_list("system_text", flat=True)
    assert list(stored) == [None, "Be a dog."]


def test_a_system_text_that_is_too_long_is_refused_and_not_cut(
    program: Program, provider: ScriptedProvider, model: Participant
) -> None:
    got = sent(program, "/messages", system="x" * 200_001)
    assert got.status == 413 and not provider.seen


TEXT_URL = "data:text/plain;base64,RklMRURBVEE="
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
TEXT_SOURCE = {"type": "text", "media_type": "text/plain", "data": "FILEDATA"}
CONTENT_SOURCE = {"type": "content", "content": [{"type": "text", "text": "FILEDATA"}]}
BASE64_SOURCE = {"type": "base64", "media_type": "text/plain", "data": "RklMRURBVEE="}
FOUND = {"source": "s", "title": "t", "content": [{"type": "text", "text": "FILEDATA"}]}
USE = {"id": "c1", "type": "function", "function": {"name": "get", "arguments": '{"a": 1}'}}


def in_message(path: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """A request whose only message has these parts."""
    message = {"role": "user", "content": list(parts)}
    return {"input": [message]} if path == "/responses" else {"messages": [message]}


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/messages", {"type": "document", "title": "T", "source": TEXT_SOURCE}),
        ("/messages", {"type": "document", "source": CONTENT_SOURCE}),
        ("/messages", {"type": "document", "source": BASE64_SOURCE}),
        ("/messages", {"type": "search_result", **FOUND}),
        ("/chat/completions", {"type": "file", "file": {"filename": "a", "file_data": TEXT_URL}}),
        ("/responses", {"type": "input_file", "filename": "a", "file_data": TEXT_URL}),
    ],
)
def test_a_file_that_is_text_is_sent_to_the_model(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    part: dict[str, Any],
) -> None:
    provider.script(says("One."))
    kind = "input_text" if path == "/responses" else "text"
    more = in_message(path, part, {"type": kind, "text": "Summarise"})
    assert sent(program, path, **more).status == 200
    said = json.dumps(provider.seen[0].json)
    assert "FILEDATA" in said and "Summarise" in said


def test_earlier_results_of_tools_are_sent_to_the_model_in_words(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    provider.script(says("One."))
    messages = [
        *HI,
        {"role": "assistant", "content": None, "tool_calls": [USE]},
        {"role": "tool", "tool_call_id": "c1", "content": "TOOLDATA"},
        {"role": "user", "content": "and?"},
    ]
    assert sent(program, "/chat/completions", messages=messages).status == 200
    said = json.dumps(provider.seen[0].json["messages"])
    assert "uses get" in said and "result of get" in said and "TOOLDATA" in said


@pytest.mark.parametrize(
    ("path", "part", "named"),
    [
        ("/messages", {"type": "document", "source": {"type": "url", "url": "x"}}, "document"),
        ("/messages", {"type": "image", "source": {"type": "url", "url": "x"}}, "by its address"),
        ("/messages", {"type": "tool_result", "content": [{"type": "image"}]}, "result of a tool"),
        ("/chat/completions", {"type": "file", "file": {"file_id": "f"}}, "file"),
        ("/chat/completions", {"type": "input_audio", "input_audio": {}}, "input_audio"),
        ("/chat/completions", {"type": "image_url", "image_url": {"url": "https://x"}}, "address"),
        ("/responses", {"type": "input_file", "file_id": "f"}, "input_file"),
    ],
)
def test_what_the_model_would_not_be_sent_is_refused(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    path: str,
    part: dict[str, Any],
    named: str,
) -> None:
    got = sent(program, path, **in_message(path, part))
    assert got.status == 400 and named in got.json["error"]["message"]
    assert not provider.seen and not GatewaySession.objects.exists()


def test_an_item_that_only_the_provider_has_is_refused(
    program: Program, provider: ScriptedProvider, model: Participant
) -> None:
    items = [{"type": "item_reference", "id": "msg_1"}, {"role": "user", "content": "and?"}]
    got = sent(program, "/responses", input=items)
    assert got.status == 400 and "item_reference" in got.json["error"]["message"]


def test_an_image_goes_only_to_a_model_that_sees_it(
    program: Program, provider: ScriptedProvider, model: Participant, worker: None
) -> None:
    def asked(data: str) -> Any:
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        return sent(program, "/chat/completions", **in_message("/chat/completions", image))

    blind = asked(PIXEL)
    assert blind.status == 400 and "does not see images" in blind.json["error"]["message"]
    Participant.objects.filter(pk=model.pk).update(capabilities=["images"])
    broken = asked("RklMRURBVEE=")
    assert broken.status == 400 and "cannot be read" in broken.json["error"]["message"]
    assert not GatewaySession.objects.exists()
    provider.script(says("A pixel."))
    assert asked(PIXEL).status == 200
    assert "data:image/png;base64," in json.dumps(provider.seen[0].json)
