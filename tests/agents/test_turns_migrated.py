"""Turns, steps and calls that were stored with copies of their texts, before and after."""

import json
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.models import JSONField

from loom.access import Actor
from loom.models import Call, Generation, Participant, Step, Tree, Turn
from loom.queries.node_bodies import messages_of
from loom.queries.workspace_bodies import said_in
from loom.queries.workspaces import lines_of
from loom.queries.workspaces import turns as all_turns
from loom.web.display import cast_of
from loom.web.turns import shown as turns_shown
from tests.agents.acting import asked, went
from tests.agents.test_turn_stored import LONG, stored, write
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)
migration = import_module("loom.migrations.0052_turns_stored_once")
names = import_module("loom.migrations.0054_plain_names")


def as_it_was(turn: Turn) -> None:
    """Stores the texts of a turn as the code of that time did."""
    said = {one.uid: said_in(one, turn) for one in turn.generations.filter(round__gt=0)}
    for one in turn.rounds:
        text = said[one["generation"]]
        Generation.objects.filter(uid=one["generation"]).update(text=text)
        one.pop("is_answer", None)
        one |= {"text": text.rstrip(), "prose": "prose", "workspace": "w", "stated": {}}
        one["told"] = [{**reply, "reply": LONG} for reply in one.pop("replies")]
        del one["length"]
    turn.save()
    steps = list(lines_of(turn))
    for step in steps:
        message = messages_of([step])[step.pk]
        Step.objects.filter(pk=step.pk).update(message=message, quoted=None)


def shown(actor: Actor, turn: Turn) -> list[Any]:
    """What the page shows of the turn's rounds."""
    found = all_turns().get(pk=turn.pk)
    return list(turns_shown(actor, [found], cast_of(actor))[0].rounds)


def test_a_turn_of_that_time_is_shown_as_it_was(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    long = write(actor, tree, LONG)
    provider.script(says(f"I look.\n→ view {long} full\n"), says(f"{LONG}So it is."))
    turn = went(asked(actor, tree, agent, node=opening))
    before = shown(actor, turn)
    as_it_was(turn)
    assert LONG[:240] in stored(turn)
    migration.forward(apps, None)
    names.forward(apps, None)
    assert LONG[:240] not in stored(turn)
    assert shown(actor, turn) == before
    once = stored(turn)
    migration.forward(apps, None)
    names.forward(apps, None)
    assert stored(turn) == once
    assert '"told"' not in once


def test_what_undo_stopped_is_found_under_its_plain_name(actor: Actor, tree: Tree) -> None:
    write(actor, tree, "One.")
    ops = [{"op": "landed", "uid": "a"}, {"op": "made", "node": 1, "pruned": True}]
    Step.objects.update(inverse=ops)
    names.forward(apps, None)
    assert Step.objects.get().inverse == [{"op": "stopped", "uid": "a"}, ops[1]]


def test_the_requests_of_old_calls_are_packed(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("Yes."))
    went(asked(actor, tree, agent, node=opening))
    request = Call.objects.get().request
    assert opening in json.dumps(request)
    each = MigrationLoader(connection, replace_migrations=False)
    packing = each.get_migration("loom", "0051_requests_packed")
    # The models of today, but for this field: no other migration is undone and run again.
    past = MigrationLoader(connection).project_state()
    past.remove_field("loom", "call", "request")
    past.add_field("loom", "call", "request", JSONField(default=dict), preserve_default=True)
    with connection.schema_editor(atomic=False) as editor:
        packing.unapply(past.clone(), editor)
    try:
        past.apps.get_model("loom", "Call").objects.update(request=request)
    finally:
        with connection.schema_editor(atomic=False) as editor:
            packing.apply(past.clone(), editor)
    call = Call.objects.get()
    assert call.request == request
    with connection.cursor() as cursor:
        cursor.execute("SELECT length(request_packed) FROM loom_call")
        assert 0 < cursor.fetchone()[0] < len(json.dumps(request)) / 2
