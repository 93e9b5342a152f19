"""Probing an endpoint: what it can do is found by asking, shown, and kept."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents import tasks
from agents.providers import probing
from agents.providers.transport import the_loop
from loom.access import Actor
from loom.engine import jobs, kept_jobs
from loom.engine.models import KeptJob
from loom.participants import commands as participants
from loom.participants.commands import ProviderAddress
from loom.participants.provider_keys import seal
from loom.participants.provider_kinds import CHECKS, REMEMBERED
from loom.people.models import Participant
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script, fails, raw, says, tokens

pytestmark = pytest.mark.django_db(transaction=True)


def probed(model: Participant) -> dict[str, Any]:
    """What a probe of the participant found."""
    the_loop().run(probing.probe(model.uid))
    model.refresh_from_db()
    return dict(model.probe)


def test_what_an_openai_shaped_server_can_do_is_found(
    model: Participant, provider: ScriptedProvider
) -> None:
    provider.default = says("One, ", "two")
    seen = probed(model)
    assert seen["status"] == "done" and seen["error"] is None
    assert set(seen["found"]) == set(CHECKS)
    assert [name for name in CHECKS if seen["found"][name]] == [
        "chat",
        "completion",
        "streaming",
        "n",
        "system",
        "usage",
    ]
    assert model.capabilities == []


def test_ways_to_go_on_and_grammar_are_remembered_as_capabilities(
    model: Participant, provider: ScriptedProvider
) -> None:
    provider.default = Script(("yes",))
    seen = probed(model)
    assert seen["found"]["prefill"] and seen["found"]["grammar"]
    assert not seen["found"]["streaming"] and not seen["found"]["usage"]
    assert model.capabilities == sorted(set(REMEMBERED) - {"images"})
    provider.default = says("One, ", "two")
    probed(model)
    assert model.capabilities == []


def test_an_endpoint_that_refuses_says_why(model: Participant, provider: ScriptedProvider) -> None:
    provider.default = fails(401, "no such key")
    seen = probed(model)
    assert (seen["status"], seen["found"]) == ("failed", {})
    assert seen["error"]["reason"] == "auth"
    assert "no such key" in seen["error"]["message"]


def test_a_probe_that_breaks_off_ends_with_a_reason(
    model: Participant, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(probe: probing.Probe) -> bool:
        raise ZeroDivisionError

    monkeypatch.setitem(probing.CHECKS, "streaming", breaks)
    seen = probed(model)
    assert seen["status"] == "failed"
    assert "the worker met an error" in seen["error"]["message"]
    assert seen["found"].keys() == {"chat", "completion"}


def test_a_probe_whose_worker_was_lost_can_be_asked_for_again(
    model: Participant, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    participants.ask_probe(actor, model)
    participants.note_probe(model, {"status": "running", "found": {"chat": True}, "error": None})
    model.refresh_from_db()
    assert participants.probe_of(model)["status"] == "running"
    monkeypatch.setattr(participants, "PROBE_PATIENCE", timedelta(0))
    lost = participants.probe_of(model)
    assert (lost["status"], lost["found"]) == ("failed", {"chat": True})
    assert lost["error"]["message"] == "The test was interrupted."
    assert participants.participant_body(model, "owner")["probe"] == lost
    monkeypatch.undo()
    participants.ask_probe(actor, model)
    model.refresh_from_db()
    assert participants.probe_of(model)["status"] == "queued"


@pytest.mark.parametrize("key", ["sk-\u200bsecret", "sk\nsecret"])
def test_a_probe_with_a_key_that_cannot_be_sent_says_so(
    key: str, model: Participant, provider: ScriptedProvider
) -> None:
    model.sealed_key = seal(key, model.base_url)  # as such keys were stored once
    model.save()
    seen = probed(model)
    assert seen["status"] == "failed" and provider.seen == []
    assert "cannot be sent" in seen["error"]["message"] and seen["error"]["hint"]


def test_nothing_of_a_tree_is_sent_and_the_requests_are_tiny(
    model: Participant, provider: ScriptedProvider
) -> None:
    model.persona = "a secret persona"
    model.save()
    probed(model)
    posts = [request for request in provider.seen if request.method == "POST"]
    assert posts and all(post.json["max_tokens"] in (8, 24) for post in posts)
    assert all(b"secret" not in post.body and len(post.body) < 2000 for post in posts)


def test_the_models_that_are_listed_are_kept(
    model: Participant, provider: ScriptedProvider
) -> None:
    listed = raw(
        json.dumps({"data": [{"id": "m-1"}, {"id": ""}, {"x": 1}, {"id": "m-2"}]}).encode(),
        kind="application/json",
    )
    probed(model)
    posts = sum(request.method == "POST" for request in provider.seen)
    provider.script(*[tokens(2)] * posts, listed)
    assert probed(model)["models"] == ["m-1", "m-2"]


def test_another_address_forgets_what_was_found(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    probed(model)
    changes = participants.ParticipantChangeArgs(fields={"base_url": "https://api.example.com/v1"})
    participants.change_participant(actor, model, changes)
    model.refresh_from_db()
    assert model.probe == {}


def test_an_anthropic_shaped_server_has_no_completion(
    model: Participant, provider: ScriptedProvider
) -> None:
    Participant.objects.filter(pk=model.pk).update(model_ref="anthropic:m")
    provider.default = says("One, ", "two")
    seen = probed(model)["found"]
    assert seen["chat"] and seen["system"] and not seen["completion"] and not seen["n"]


def test_a_context_larger_than_the_model_has_is_lowered(model: Participant) -> None:
    Participant.objects.filter(pk=model.pk).update(context_limit=32_768)
    participants.note_probe(model, {"status": "done", "found": {}, "context": 8192})
    model.refresh_from_db()
    assert model.context_limit == 8192
    participants.note_probe(model, {"status": "done", "found": {}, "context": 131_072})
    model.refresh_from_db()
    assert model.context_limit == 8192  # a longer one costs more: a person chooses it


def test_a_sampler_is_found_where_the_server_refuses_what_is_not_a_number(
    model: Participant, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = says("One, ", "two")
    plain = provider._answer

    async def answer(seen: Any, reader: Any, writer: Any) -> None:
        if seen.method == "POST" and seen.json.get("top_k") == "heddle":
            provider._queue.append(fails(400, "top_k: not a number"))
        await plain(seen, reader, writer)

    monkeypatch.setattr(provider, "_answer", answer)
    seen = probed(model)["found"]
    assert seen["top_k"]
    assert not seen["top_p"] and not seen["seed"] and not seen["logit_bias"]


def test_what_the_broker_lost_is_sent_again(
    actor: Actor, model: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[str, list[object]]] = []
    monkeypatch.setattr(jobs, "send_task", lambda task, args, *, queue: sent.append((task, args)))
    participants.ask_probe(actor, model)
    source = ProviderAddress("openai", "http://127.0.0.1:1/v1", allow_private=True)
    participants.ask_models(actor, source)
    lost = list(sent)
    assert [task for task, _ in lost] == ["agents.tasks.probe", "agents.tasks.list_models"]
    KeptJob.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    assert kept_jobs.send_again() == 2 and sent == [*lost, *lost]
    begun: list[str] = []
    monkeypatch.setattr(probing, "start_probe", begun.append)
    monkeypatch.setattr(probing, "start_listing", begun.append)
    for (_, args), task in zip(sent, (tasks.probe, tasks.list_models) * 2, strict=True):
        task(*args)
    assert len(begun) == 2


def test_what_a_worker_lost_is_sent_again(
    actor: Actor, model: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[list[object]] = []
    monkeypatch.setattr(jobs, "send_task", lambda task, args, *, queue: sent.append(args))
    participants.ask_probe(actor, model)
    source = ProviderAddress("openai", "http://127.0.0.1:1/v1", allow_private=True)
    uid = participants.ask_models(actor, source)["id"]
    monkeypatch.setattr(probing, "start_probe", lambda uid: None)  # it ends in the middle
    monkeypatch.setattr(probing, "start_listing", lambda uid: None)
    tasks.probe(*sent[0])
    tasks.list_models(*sent[1])
    KeptJob.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    assert kept_jobs.send_again() == 2
    the_loop().run(probing.probe(model.uid))
    assert KeptJob.objects.get().args == [uid]
    the_loop().run(probing.list_models(uid))
    assert not KeptJob.objects.exists()


def test_the_test_of_a_model_that_is_gone_ends(actor: Actor, model: Participant) -> None:
    participants.ask_probe(actor, model)
    KeptJob.objects.update(taken_until=timezone.now())
    Participant.objects.filter(pk=model.pk).update(archived_at=timezone.now())
    the_loop().run(probing.probe(model.uid))
    assert not KeptJob.objects.exists()
