"""A generation from its row to its node, against a provider over real HTTP."""

import gzip
import json
import threading
from typing import Any

import pytest
from pytest_django import Settings

from agents import candidates
from agents.providers.attempt import ProviderAttempt
from loom.access import Actor
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.trees.queries.event_log import events_since, hydrated
from loom.turns import generation_lifecycle
from loom.turns.models import Call
from tests.agents.conftest import Say, again, run
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import (
    Script,
    cuts,
    fails,
    nothing,
    raw,
    redirects,
    says,
    tokens,
    used,
)

pytestmark = pytest.mark.django_db(transaction=True)


def kinds(tree: Tree) -> list[str]:
    events = Event.objects.filter(stream__name=streams.name_of(tree)).order_by("seq")
    return list(events.values_list("kind", flat=True))


def test_what_a_model_answers_becomes_a_node(
    ask: Say, provider: ScriptedProvider, tree: Tree, model: Participant, actor: Actor
) -> None:
    execute_line(actor, tree, Request('respond "Who is Marie?"'))
    provider.script(says("She ", "was\n", " cold."))
    row = run(ask("continue tokens:50 temperature:0.5")[0])
    assert row.status == "done"
    assert row.finish == "complete"
    assert row.shown == "She was\n cold."
    assert row.usage == used(3)
    assert row.node is not None
    assert row.node.text == "She was\n cold."
    assert row.node.author == model
    assert row.node.parent_slot == row.point.slot
    assert provider.seen[0].json == {
        "model": "echo-1",
        "messages": [
            {"role": "system", "content": "You write plainly."},
            {"role": "user", "content": "Who is Marie?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 50,
    }
    assert kinds(tree)[-4:] == [
        "generation.started",
        "node.added",
        "generation.ended",
        "call.sealed",
    ]


def test_readers_of_the_log_get_all_of_a_generation(
    ask: Say, provider: ScriptedProvider, tree: Tree, model: Participant, actor: Actor
) -> None:
    row = run(ask()[0])
    assert row.node is not None
    stream = streams.name_of(tree)
    stored = Event.objects.filter(kind__startswith="generation.").order_by("seq")
    start, end = (event.payload["generation"] for event in stored)
    assert (start, end) == ({"id": row.uid}, {"id": row.uid})
    events = events_since(actor, stream, since=0)["events"]
    told = [
        event["payload"]["generation"]
        for event in events
        if event["kind"].startswith("generation.")
    ]
    assert told == [
        {
            "id": row.uid,
            "participant": model.uid,
            "point": row.point.local_id,
            "index": row.index,
            "batch": row.batch,
            "turn": None,
            "round": 0,
            "asked_by": actor.participant.uid,
            "status": "queued",
        },
        {
            "id": row.uid,
            "turn": None,
            "round": 0,
            "status": "done",
            "node": row.node.local_id,
            "finish": "complete",
            "error": None,
            "usage": row.usage,
            "note": "",
        },
    ]
    # What an earlier build stored is whole, and stays as it is.
    for event, body in zip(stored, told, strict=True):
        whole = {"kind": event.kind, "payload": {"generation": {**body, "note": "as it was"}}}
        assert hydrated(stream, [dict(whole)]) == [whole]


def test_the_call_is_the_evidence(ask: Say, provider: ScriptedProvider, tree: Tree) -> None:
    row = run(ask()[0])
    call = row.call
    assert call is not None
    assert row.node is not None
    assert row.node.call_uid == call.uid
    assert row.node.configuration == call.configuration
    assert len(call.configuration) == 64
    assert call.request["body"] == provider.seen[0].json
    assert call.request["url"] == f"{provider.url}/chat/completions"
    body = gzip.decompress(call.response)
    assert body.startswith(b"data: {")
    assert body.endswith(b"data: [DONE]\n\n")
    assert call.bytes == "exact"
    assert call.status == 200
    assert call.headers["content-type"].startswith("text/event-stream")
    assert call.usage == used(3)
    assert call.first_at is not None
    assert call.sealed_at is not None
    sealed = Event.objects.get(kind="call.sealed")
    assert sealed.payload["nodes"] == [row.node.local_id]
    (read,) = hydrated(streams.name_of(tree), [{"kind": sealed.kind, "payload": sealed.payload}])
    assert read["payload"] == {
        "call": call.uid,
        "sha256": call.sha256,
        "bytes": call.bytes,
        "nodes": sealed.payload["nodes"],
    }


def test_each_candidate_has_its_call(ask: Say, provider: ScriptedProvider) -> None:
    provider.script(says("a"), says("b"), says("c"))
    rows = [run(generation) for generation in ask("continue n:3")]
    assert {row.shown for row in rows} == {"a", "b", "c"}
    assert len(provider.seen) == 3
    assert len({row.call_id for row in rows}) == 3
    assert all(len(row.batch) == 16 for row in rows)


def test_a_generation_never_runs_twice(ask: Say, provider: ScriptedProvider) -> None:
    row = run(ask()[0])
    assert run(row).node == row.node
    assert len(provider.seen) == 1


def test_a_model_that_answers_nothing_makes_no_node(ask: Say, provider: ScriptedProvider) -> None:
    provider.script(nothing())
    row = run(ask()[0])
    assert (row.status, row.finish, row.node) == ("failed", "interrupted:empty", None)
    assert row.error is not None
    assert row.error["message"] == "The model returned no text."


def test_tokens_used_up_are_noted_and_the_text_counts_as_complete(
    ask: Say, provider: ScriptedProvider
) -> None:
    provider.script(says("She was", finish="length"))
    row = run(ask()[0])
    assert (row.finish, row.status) == ("length", "done")
    assert row.node is not None and row.node.finish == "complete"


def test_half_characters_and_nul_are_replaced_and_the_bytes_stay(
    ask: Say, provider: ScriptedProvider
) -> None:
    provider.script(Script((b'data: {"choices":[{"text":"a\\u0000b\\ud83d\xe6"}]}\n\n',)))
    row = run(ask()[0])
    assert row.shown == "a\ufffdb\ufffd\ufffd"
    assert row.call is not None
    assert b"\\ud83d\xe6" in gzip.decompress(row.call.response)


def test_a_broken_connection_keeps_what_came(ask: Say, provider: ScriptedProvider) -> None:
    provider.script(cuts("She ", "was "))
    row = run(ask()[0])
    assert (row.status, row.finish, row.shown) == ("failed", "interrupted:network", "She was ")
    assert row.node is not None
    assert row.node.text == "She was "
    assert row.node.finish == "interrupted:network"
    assert row.error is not None
    assert row.error["code"] == "MODEL_ERROR"
    assert row.error["retryable"] is True
    assert len(provider.seen) == 1


@pytest.mark.parametrize(
    ("scripts", "calls"),
    [
        ([fails(500), fails(503), says("ok")], 3),
        ([fails(429, retry_after="0"), says("ok")], 2),
        ([cuts(), says("ok")], 2),
        ([raw(b""), says("ok")], 2),
        ([fails(400, "unknown field stream_options"), says("ok")], 2),
    ],
)
def test_what_may_pass_is_tried_again_before_the_first_word(
    ask: Say, provider: ScriptedProvider, scripts: list[Script], calls: int
) -> None:
    provider.script(*scripts)
    row = run(ask()[0])
    assert row.shown == "ok"
    assert len(provider.seen) == calls
    assert Call.objects.filter(sealed_at__isnull=False).count() == calls


@pytest.mark.parametrize(
    ("script", "reason", "retryable", "calls"),
    [
        (fails(401, "bad key"), "auth", False, 1),
        (fails(404, "no such model"), "not_found", False, 1),
        (fails(400, "nonsense"), "invalid", False, 1),
        (fails(400, "maximum context length"), "context", False, 1),
        (fails(429, retry_after="900"), "rate", True, 1),
        (fails(500, "oh"), "server", True, 3),
        (redirects("http://169.254.169.254/"), "invalid", False, 1),
        (says(finish="content_filter"), "filtered", False, 1),
    ],
)
def test_what_does_not_pass_is_reported(
    ask: Say, provider: ScriptedProvider, script: Script, reason: str, retryable: bool, calls: int
) -> None:
    provider.default = script
    row = run(ask()[0])
    assert (row.status, row.finish) == ("failed", f"interrupted:{reason}")
    assert row.node is None
    assert row.error is not None
    assert (row.error["reason"], row.error["retryable"]) == (reason, retryable)
    assert len(provider.seen) == calls
    assert Call.objects.filter(sealed_at__isnull=False).count() == calls


def test_an_address_that_may_not_be_called_is_never_asked(
    ask: Say, provider: ScriptedProvider, settings: Settings
) -> None:
    settings.PROVIDER_ALLOW = ()
    row = run(ask()[0])
    assert row.error is not None
    assert row.error["code"] == "REJECTED"
    assert row.error["hint"] == f"To allow it, add HEDDLE_PROVIDER_ALLOW={provider.entry}."
    assert provider.connections == 0


def test_a_model_without_an_address_is_unavailable(ask: Say, model: Participant) -> None:
    Participant.objects.filter(pk=model.pk).update(base_url="", model_ref="nobody:x")
    row = run(ask()[0])
    assert row.error is not None
    assert row.error["code"] == "UNAVAILABLE"
    assert row.status == "failed"


def test_a_path_that_must_not_be_cut_is_refused(
    ask: Say, tree: Tree, actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    execute_line(actor, tree, Request(f'respond "{"word " * 4000}"'))
    Tree.objects.filter(pk=tree.pk).update(truncation="stopAtLimit")
    Participant.objects.filter(pk=model.pk).update(context_limit=4096)
    row = run(ask()[0])
    assert row.error is not None
    assert row.error["code"] == "LIMIT_EXCEEDED"
    assert not provider.seen


def test_a_long_path_is_cut_and_says_so(
    ask: Say, tree: Tree, actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    Participant.objects.filter(pk=model.pk).update(context_limit=4096)
    for n in range(8):
        execute_line(actor, tree, Request(f'respond "{n} {"word " * 600}"'))
    row = run(ask()[0])
    assert row.note == "left out 4 nodes in the middle"
    assert row.call is not None
    assert row.call.note == row.note
    sent = json.dumps(provider.seen[0].json, ensure_ascii=False)
    assert "[…]" in sent


def test_somebody_who_may_not_any_more_gets_no_answer(
    ask: Say, actor: Actor, provider: ScriptedProvider
) -> None:
    asked = ask()[0]
    actor.grove.memberships.update(role="reader")
    row = run(asked)
    assert row.error is not None
    assert row.error["code"] == "PERMISSION_DENIED"
    assert not provider.seen


def test_an_undone_continue_lands_pruned(
    ask: Say, actor: Actor, tree: Tree, provider: ScriptedProvider
) -> None:
    asked = ask()[0]
    type(asked).objects.filter(pk=asked.pk).update(discard=True)
    row = run(asked)
    assert row.node is not None
    row.node.refresh_from_db()
    assert row.node.pruned


def test_an_answer_larger_than_a_node_is_cut_there(
    ask: Say, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "MAX_NODE_BYTES", 10)
    provider.script(tokens(5, word="é"))
    row = run(ask()[0])
    assert (row.shown, row.finish) == ("é1 é2 é", "interrupted:too long")
    assert again(row).status == "interrupted"


def test_a_call_began_before_its_first_text_however_late_its_row_is(
    ask: Say, provider: ScriptedProvider, opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, note = threading.Event(), ProviderAttempt._note
    begin_calls = generation_lifecycle.begin_calls

    def noted(*given: Any) -> None:
        note(*given)
        heard.set()

    def late(*given: Any) -> None:
        assert heard.wait(PATIENCE_S)
        begin_calls(*given)

    monkeypatch.setattr(ProviderAttempt, "_note", noted)
    monkeypatch.setattr(generation_lifecycle, "begin_calls", late)
    provider.script(says("She was cold."))
    call = run(ask()[0]).call
    assert call is not None
    assert call.first_at is not None
    assert call.started_at <= call.first_at
