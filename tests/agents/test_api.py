"""Generations and calls over the API: for whom, and without what."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.participants.provider_keys import seal
from loom.people.models import Participant, User
from loom.trees.models import Tree
from loom.turns import generation_lifecycle
from loom.turns.generation_lifecycle import Received
from loom.turns.models import Call, Generation
from tests.agents.conftest import Running, Say, again, run
from tests.agents.watching import Watcher
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, stalls, used

live = pytest.mark.django_db(transaction=True)
Api = Callable[..., APIClient]
KEY = "sk-very-secret-0123456789"


@live
def test_a_generation_is_shown_while_it_waits_and_when_it_is_done(
    ask: Say, api: Api, reader: User, model: Participant
) -> None:
    asked = ask()[0]
    waiting = api(reader).get(f"/api/generations/{asked.uid}").json()
    assert (waiting["status"], waiting["finish"], waiting["node"]) == ("queued", None, None)
    row = run(asked)
    assert row.node is not None
    assert row.call is not None
    assert api(reader).get(f"/api/generations/{asked.uid}").json() == {
        "id": asked.uid,
        "tree": asked.tree.uid,
        "participant": model.uid,
        "point": asked.point.local_id,
        "index": 1,
        "batch": asked.batch,
        "status": "done",
        "text": "word1 word2 word3 ",
        "chunk": row.chunk,
        "finish": "complete",
        "node": row.node.local_id,
        "call": row.call.uid,
        "error": None,
        "usage": used(3),
        "note": "",
    }


@live
def test_the_bytes_of_a_call_hash_to_what_it_says(
    ask: Say, api: Api, reader: User, provider: ScriptedProvider
) -> None:
    row = run(ask()[0])
    assert row.call is not None
    shown = api(reader).get(f"/api/calls/{row.call.uid}").json()
    body = api(reader).get(f"/api/calls/{row.call.uid}/response")
    assert body["Content-Type"] == "application/octet-stream"
    assert hashlib.sha256(body.content).hexdigest() == shown["sha256"]
    assert shown["response"].encode() == body.content
    assert shown["request"]["body"] == provider.seen[0].json
    assert (shown["bytes"], shown["turn"], shown["purpose"]) == ("exact", None, "continue")
    assert shown["generations"] == [row.uid]
    assert row.node is not None
    assert shown["nodes"] == [row.node.local_id]


@live
def test_a_call_whose_stored_answer_is_damaged_says_so(
    ask: Say, api: Api, reader: User, provider: ScriptedProvider
) -> None:
    row = run(ask()[0])
    assert row.call is not None
    Call.objects.filter(pk=row.call.pk).update(response=b"no gzip")
    shown = api(reader).get(f"/api/calls/{row.call.uid}").json()
    assert (shown["response"], shown["note"]) == ("", "The stored answer cannot be read.")
    answer = api(reader).get(f"/api/calls/{row.call.uid}/response")
    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")


@live
def test_stop_keeps_what_came(
    ask: Say, api: Api, writer: User, tree: Tree, provider: ScriptedProvider
) -> None:
    provider.script(stalls("She "))
    asked = ask()[0]
    with Watcher(tree) as viewer:
        running = Running(asked)
        viewer.wait_for(1)
        answer = api(writer).post(f"/api/generations/{asked.uid}/stop")
        running.ended()
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["text"]) == ("stopped", "She ")
    assert answer.json()["node"]
    again = api(writer).post(f"/api/generations/{asked.uid}/stop")
    assert again.json() == answer.json()


def landed(generation: Generation) -> Generation:
    """The generation after an answer, recorded by the worker's verbs without a worker."""
    generation_lifecycle.take(generation.uid, lease="x", seconds=60)
    call = Call(tree=generation.tree, participant=generation.participant, provider="openai")
    generation_lifecycle.begin_calls([(call, [generation])])
    generation_lifecycle.end_generation(
        generation.uid, lease="x", text="She", chunk=1, finish="complete"
    )
    generation_lifecycle.seal(call, Received(b"data", status=200))
    return again(generation)


PATHS = ["generations/{generation}", "calls/{call}", "calls/{call}/response"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("who", "status"), [("owner", 200), ("writer", 200), ("reader", 200), ("outsider", 404)]
)
def test_members_look_and_outsiders_find_nothing(
    ask: Say, api: Api, path: str, who: str, status: int, request: pytest.FixtureRequest
) -> None:
    row = landed(ask()[0])
    assert row.call is not None
    address = "/api/" + path.format(generation=row.uid, call=row.call.uid)
    user = request.getfixturevalue(who)
    assert api(user).get(address).status_code == status
    assert api(None).get(address).status_code == 401
    assert api(user).delete(address).status_code == 405
    for wrong in ("x" * 16, "%00", "a'b", "é"):
        missing = "/api/" + path.format(generation=wrong, call=wrong)
        body: dict[str, Any] = api(user).get(missing).json()
        assert (body["ok"], body["code"]) == (False, "NOT_FOUND")


@pytest.mark.django_db(transaction=True)  # what waits ends after the transaction
@pytest.mark.parametrize(
    ("who", "status"), [("owner", 200), ("writer", 200), ("reader", 403), ("outsider", 404)]
)
def test_who_may_not_continue_may_not_stop(
    ask: Say, api: Api, who: str, status: int, request: pytest.FixtureRequest
) -> None:
    asked = ask()[0]
    client = api(request.getfixturevalue(who))
    answer = client.post(f"/api/generations/{asked.uid}/stop")
    assert answer.status_code == status
    asked.refresh_from_db()
    assert asked.status == ("stopped" if status == 200 else "queued")
    assert api(None).post(f"/api/generations/{asked.uid}/stop").status_code == 401


@live
def test_the_response_of_a_call_that_runs_is_not_there_yet(
    ask: Say, api: Api, owner: User, tree: Tree, provider: ScriptedProvider
) -> None:
    provider.script(stalls("She "))
    asked = ask()[0]
    with Watcher(tree) as viewer:
        running = Running(asked)
        viewer.wait_for(1)
        uid = api(owner).get(f"/api/generations/{asked.uid}").json()["call"]
        assert api(owner).get(f"/api/calls/{uid}").json()["sealed_at"] is None
        assert api(owner).get(f"/api/calls/{uid}/response").status_code == 503
        api(owner).post(f"/api/generations/{asked.uid}/stop")
        running.ended()
    assert api(owner).get(f"/api/calls/{uid}/response").status_code == 200


@live
def test_a_key_is_sent_to_its_provider_and_kept_nowhere(
    ask: Say,
    api: Api,
    owner: User,
    model: Participant,
    provider: ScriptedProvider,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from django.apps import apps

    sealed = seal(KEY, provider.url)
    Participant.objects.filter(pk=model.pk).update(sealed_key=sealed)
    provider.script(fails(401, f"Incorrect API key provided: {KEY}"))
    failed, done = run(ask()[0]), run(ask()[0])
    assert [request.header("authorization") for request in provider.seen] == [f"Bearer {KEY}"] * 2
    assert failed.error is not None
    assert failed.error["message"].endswith("Incorrect API key provided: …")
    for table in apps.get_models():
        for row in table.objects.all().values():  # type: ignore[attr-defined]
            values = [bytes(v) if isinstance(v, memoryview) else v for v in row.values()]
            assert KEY not in repr(values), table
    for generation in (failed, done):
        assert generation.call is not None
        for path in ("", "/response"):
            shown = api(owner).get(f"/api/calls/{generation.call.uid}{path}").content
            assert KEY.encode() not in shown
    assert KEY not in caplog.text


@live
def test_a_key_does_not_follow_a_changed_address(
    ask: Say, model: Participant, provider: ScriptedProvider
) -> None:
    sealed = seal(KEY, "https://elsewhere.example/v1")
    Participant.objects.filter(pk=model.pk).update(sealed_key=sealed)
    row = run(ask()[0])
    assert row.error is not None
    assert row.error["code"] == "REJECTED"
    assert not provider.seen
