"""A database written before texts were stored once: migrated, its log names them, too.

The rows are those that the code of that time wrote: events with the whole body of the node,
steps and receipts with whole lines, generations with their text.
"""

import json
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from loom.access import Actor
from loom.commands import trees
from loom.commands.context import Request
from loom.commands.execute import execute_line
from loom.models import Event, Generation, Node, Participant, Receipt, Step, Tree
from loom.models.base import new_uid
from loom.queries import lookup
from loom.queries.event_log import event_body, hydrated
from loom.queries.search import find_in_tree
from tests.machines.replay import replayed, stored
from tests.queries.growing import add
from tests.triggers import triggers_aside

migration = import_module("loom.migrations.0018_texts_stored_once")
LONG = 'It was a "long" way down, she said.\n' * 40
LINE = f"respond root\n{LONG}\n←"
CANONICAL = f"→ respond root\n{LONG}\n←"


def _migrate() -> None:
    """Runs the migration on the models of its time, when a step held addresses itself."""
    loader = MigrationLoader(connection, replace_migrations=False)
    past = loader.project_state(("loom", "0017_node_content_guard")).apps
    kind = "jsonb" if connection.vendor == "postgresql" else "text"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        names = [
            one.name for one in connection.introspection.get_table_description(cursor, "loom_step")
        ]
        if "items" not in names:
            cursor.execute(f"ALTER TABLE loom_step ADD COLUMN items {kind} NOT NULL DEFAULT '[]'")
        for step in Step.objects.all():
            items = json.dumps([f"n{one.item_id}" for one in step.touched.all()])
            cursor.execute("UPDATE loom_step SET items = %s WHERE id = %s", [items, step.pk])
    migration.forward(past, SimpleNamespace(connection=connection))


def _old(actor: Actor, tree: Tree, model: Participant) -> dict[str, Any]:
    """Makes the rows of the tree what they were; the answer that was kept."""
    body = execute_line(actor, tree, Request(LINE, key="old")).body
    answer = {**body, "canonical": CANONICAL}
    Step.objects.filter(seq=body["step"]).update(line=LINE, canonical=CANONICAL)
    Receipt.objects.update(answer=answer)
    made = add(tree, model, LONG + "And so on.", None, generation_uid="made")
    Generation.objects.create(
        uid=new_uid(),
        tree=tree,
        participant=model,
        asked_by=actor.participant,
        batch="b",
        point=lookup.root_of(tree),
        index=1,
        status="done",
        text=made.text,
        node=made,
    )
    rows = list(Event.objects.filter(kind="node.added"))
    bodies = [event_body(0, "node.added", "", "", one.payload, one.at) for one in rows]
    with triggers_aside(connection):
        for row, full in zip(rows, hydrated(bodies), strict=True):
            Event.objects.filter(pk=row.pk).update(payload=full["payload"])
    return answer


def test_old_rows_name_their_texts_as_new_ones_do(
    actor: Actor, tree: Tree, muse: Participant
) -> None:
    answer = _old(actor, tree, muse)
    before = replayed(tree)
    _migrate()
    written = trees.new_tree(actor, title="new")
    new = execute_line(actor, written, Request(LINE, key="new")).body
    old_step, new_step = Step.objects.order_by("id")
    assert (old_step.line, old_step.canonical) == (new_step.line, new_step.canonical)
    assert Receipt.objects.get(key="old").answer == {**answer, "canonical": new["canonical"]}
    events = Event.objects.filter(kind="node.added", payload__node__length=len(LONG))
    assert len({frozenset(one.payload["node"]) for one in events}) == 1
    assert events.count() == 2
    row = Generation.objects.get()
    assert (row.text, row.shown) == ("", LONG + "And so on.")
    state = replayed(tree)
    assert state.nodes == before.nodes == stored(tree).nodes
    assert execute_line(actor, tree, Request(LINE, key="old")).body["repeated"]
    assert find_in_tree(actor, tree, None, "way down, SHE said").total == 2


def test_it_may_run_again_and_leaves_the_guard_standing(
    actor: Actor, tree: Tree, muse: Participant
) -> None:
    _old(actor, tree, muse)
    _migrate()

    def everything() -> list[Any]:
        kinds: tuple[Any, ...] = (Event, Step, Receipt, Generation)
        return [list(kind.objects.order_by("pk").values()) for kind in kinds]

    first = everything()
    _migrate()
    assert everything() == first
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        Event.objects.update(kind="x")


def test_an_event_that_does_not_fit_its_node_keeps_its_text(
    actor: Actor, tree: Tree, muse: Participant
) -> None:
    _old(actor, tree, muse)
    node = Node.objects.filter(tree=tree, text=LONG).get()
    with triggers_aside(connection):
        Node.objects.filter(pk=node.pk).update(text="changed by hand")
    _migrate()
    held = [
        one.payload["node"]["text"]
        for one in Event.objects.filter(kind="node.added")
        if "text" in one.payload["node"]
    ]
    assert held == [LONG]
    assert Step.objects.get().line == LINE
    assert replayed(tree).nodes[node.local_id]["text"] == LONG
