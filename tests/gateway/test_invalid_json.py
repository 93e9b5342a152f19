"""Requests with what is not JSON although programs send it: half of an emoji, NaN and Infinity."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from agents.gateway.keys import make_key
from agents.gateway.models import GatewayRequest, GatewaySession
from loom import tasks
from loom.access import Actor
from loom.money.models import DailySpending
from loom.people.models import Participant
from tests.gateway.conftest import Program, run
from tests.gateway.test_observed import whole
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

pytestmark = pytest.mark.django_db(transaction=True)
HALF = b'{"model":"echo-1","messages":[{"role":"user","content":"a\\ud83d"}]}'
NO_NUMBERS = (
    b'{"model":"echo-1","temperature":NaN,"top_p":1e400,'
    b'"messages":[{"role":"user","content":"Hi"}]}'
)
MODES = pytest.mark.parametrize("mode", ["observe", "workspace"])


def _program(actor: Actor, model: Participant, mode: str) -> Program:
    secret = make_key(actor.user, model.uid, name="program", mode=mode)[1]
    return Program(secret, {"x-loom-session": "s"})


def _strict(text: str | bytes) -> Any:
    """The value of JSON as others read it."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    value = json.loads(text, parse_constant=refuse)
    json.dumps(value, ensure_ascii=False).encode()
    return value


@MODES
@pytest.mark.parametrize("raw", [HALF, NO_NUMBERS])
def test_a_request_that_is_not_json_can_be_read_and_exported(
    api: Callable[..., APIClient],
    actor: Actor,
    model: Participant,
    provider: ScriptedProvider,
    mode: str,
    raw: bytes,
) -> None:
    program = _program(actor, model, mode)
    provider.default = whole("Yes.")
    got = run(program.send("POST", "/chat/completions", raw))
    assert got.status == 200
    is_passed = mode == "workspace" and raw is NO_NUMBERS
    assert got.headers.get("x-loom") == ("bypass" if is_passed else None)
    session, call = GatewaySession.objects.get(), GatewayRequest.objects.get().call
    client = api(actor.user)
    for address in (
        f"/api/sessions/{session.uid}/original",
        f"/api/sessions/{session.uid}/modified",
        f"/api/calls/{call.uid}",
    ):
        answer = client.get(address)
        assert answer.status_code == 200
        _strict(answer.content)
    page = Client()
    page.force_login(actor.user)
    assert page.get(f"/settings/gateway/sessions/{session.uid}").status_code == 200
    exported = client.get(f"/api/trees/{session.tree.uid}/export?format=heddle")
    content = b"".join(exported.streaming_content)  # type: ignore[attr-defined]
    assert _strict(content)["calls"]
    sent = {"file": SimpleUploadedFile("tree.json", content), "grove": actor.grove.uid}
    uid = client.post("/api/import", sent, format="multipart").json()["id"]
    tasks.run_import(uid)
    assert client.get(f"/api/imports/{uid}").json()["status"] == "done"


def test_half_an_emoji_goes_on_as_it_came_and_hides_no_workspace(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    program = _program(actor, model, "workspace")
    provider.default = whole("Yes.")
    run(program.send("POST", "/chat/completions", HALF))
    assert provider.seen[0].json["messages"][0]["content"].startswith("a\ud83d")
    later = run(program.chat(("user", "a\ud83d"), ("assistant", "Yes."), ("user", "And now?")))
    assert "x-loom" not in later.headers
    first, second = (request.json["messages"] for request in provider.seen)
    assert second[:1] == first and "---WORKSPACE" in first[0]["content"]


@pytest.mark.parametrize(
    "part",
    [
        b'"top_p":NaN',
        b'"top_p":1E400',
        b'"top_p":-1E-99999999999999999999',
        b'"top_p":0.10000000000000000001',
        b'"top_p":0.1' + b"0" * 1000 + b"1",
        b'"metadata":{"a":1,"a":2}',
    ],
)
def test_what_would_say_something_else_is_passed_as_it_came(
    actor: Actor, model: Participant, provider: ScriptedProvider, part: bytes
) -> None:
    """A body that the workspace cannot be added to without changing what else it says."""
    program = _program(actor, model, "workspace")
    provider.default = whole("Yes.")
    raw = b'{"model":"echo-1",%s,"messages":[{"role":"user","content":"Hi"}]}' % part
    got = run(program.send("POST", "/chat/completions", raw))
    assert (got.status, got.headers["x-loom"]) == (200, "bypass")
    assert provider.seen[0].body == raw
    assert GatewayRequest.objects.get().status == "done"


def test_numbers_that_are_only_written_otherwise_hide_no_workspace(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    program = _program(actor, model, "workspace")
    provider.default = whole("Yes.")
    numbers = b'"seed":12345678901234567890123,"top_p":0.10,"n":1e0,"t":-0.0,"a":[%s]'
    numbers %= b"0.10000000000000001,0.69999998807907104,1.00000000000000000e-01,5e-324"
    raw = b'{%s,"messages":[{"role":"user","content":"Hi"}]}' % numbers
    got = run(program.send("POST", "/chat/completions", raw))
    assert "x-loom" not in got.headers and b"---WORKSPACE" in provider.seen[0].body
    assert provider.seen[0].json["seed"] == 12345678901234567890123
    assert provider.seen[0].json["a"] == [0.1, 0.69999998807907104, 0.1, 5e-324]


def test_half_an_emoji_is_paid_for(
    actor: Actor, model: Participant, program: Program, provider: ScriptedProvider
) -> None:
    model.prices = {"input": 1000.0, "output": 2000.0}
    model.save()
    provider.default = Script(
        body=json.dumps({"choices": [{"message": {"content": "Yes."}}]}).encode(),
        headers=(("content-type", "application/json"),),
    )
    run(program.send("POST", "/chat/completions", HALF))
    assert GatewayRequest.objects.get().status == "done"
    assert DailySpending.objects.get().spent > 0


def test_the_id_of_an_earlier_answer_may_be_half_an_emoji(
    program: Program, provider: ScriptedProvider
) -> None:
    raw = b'{"model":"echo-1","input":"Hi","previous_response_id":"\\ud83d"}'
    run(program.send("POST", "/responses", raw))
    assert GatewaySession.objects.count() == 1
