"""Judges: an agent answers the question of a check, and its call is kept."""

import pytest

from loom.access import Actor
from loom.claims.commands.checks import declare_check
from loom.claims.models import CheckResult
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.turns.models import JUDGE, Call, Generation
from tests.agents.conftest import run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)


def _judge(actor: Actor, model: Participant) -> None:
    parameters = {"question": "Does it name Marie?"}
    declare_check(actor, name="named", kind="judge", parameters=parameters, agent=model.uid)


def _run(actor: Actor, tree: Tree, line: str) -> str:
    return execute_line(actor, tree, Request(line)).reply


def test_a_judge_answers_and_its_call_is_kept(
    actor: Actor, tree: Tree, opening: str, model: Participant, provider: ScriptedProvider
) -> None:
    _judge(actor, model)
    provider.script(says("yes - it asks who Marie is"))
    asked = "✓ 0 passed · … 1 asked: named Echo reads it"
    assert _run(actor, tree, f"check {opening}") == asked
    run(Generation.objects.get(round=JUDGE))
    assert _run(actor, tree, f"check {opening}") == "✓ 1 passed"
    call, result = Call.objects.get(), CheckResult.objects.get()
    assert (call.purpose, result.call_uid, result.outcome) == ("judge", call.uid, "passed")
    assert result.said == "it asks who Marie is"
    sent = provider.seen[0].json["messages"]
    assert "Does it name Marie?" in sent[-1]["content"] and "Who is Marie?" in sent[-1]["content"]
    event = Event.objects.filter(kind="check.changed").order_by("-seq").first()
    assert event is not None


def test_a_judge_of_a_document_reads_its_revision(
    actor: Actor, tree: Tree, model: Participant, provider: ScriptedProvider
) -> None:
    _judge(actor, model)
    provider.script(says("No, nobody is named."), says("unsure"))
    _run(actor, tree, 'write doc:"Notes" new "a lamp"')
    _run(actor, tree, 'check doc:"Notes"')
    run(Generation.objects.get(round=JUDGE))
    reply = _run(actor, tree, 'check doc:"Notes"')
    assert reply == "✓ 0 passed · ✗ 1 failed: named nobody is named."
    # Named explicitly, it is asked again.
    _run(actor, tree, 'check doc:"Notes" "named"')
    run(Generation.objects.filter(round=JUDGE).latest("id"))
    assert CheckResult.objects.get().outcome == "unsure"


def test_a_judge_needs_an_agent_and_costs_nothing_on_save(
    actor: Actor, tree: Tree, opening: str, model: Participant
) -> None:
    fields = {"name": "a", "kind": "judge", "parameters": {"question": "Is it?"}}
    for more, code in (
        ({}, "NOT_FOUND"),
        ({"agent": model.uid, "on_save": True}, "INVALID_SYNTAX"),
    ):
        with pytest.raises(CommandError) as caught:
            declare_check(actor, **fields, **more)
        assert caught.value.code == code
    _judge(actor, model)
    with pytest.raises(CommandError) as caught:
        _run(actor, tree, f"check {opening} lines:1")
    assert caught.value.code == "REJECTED"


def test_a_failed_judge_is_unsure(
    actor: Actor, tree: Tree, opening: str, model: Participant, provider: ScriptedProvider
) -> None:
    _judge(actor, model)
    provider.script(says("I would have to read more."))
    _run(actor, tree, f"check {opening}")
    run(Generation.objects.get(round=JUDGE))
    reply = _run(actor, tree, f"check {opening}")
    assert reply == "✓ 0 passed · ? 1 unsure: named I would have to read more."
