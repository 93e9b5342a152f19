"""Nodes that files brought before they were marked are marked by the migration, and no others."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from loom.access import Actor
from loom.commands import trees
from loom.commands.context import Request
from loom.commands.execute import execute_line
from loom.events import streams
from loom.models import Import, Node, Tree
from tests.triggers import triggers_aside

pytestmark = pytest.mark.django_db
migration = import_module("loom.migrations.0016_mark_imported_nodes")


def test_what_came_before_the_end_of_an_import_is_marked(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "BATCH", 2)
    for text in ("a", "b", "c"):
        execute_line(actor, tree, Request(f'respond root "{text}"'))
    writer = streams.lock(tree, actor=actor.participant.uid)
    writer.append("import.finished", {"import": "x", "tree": tree.uid, "report": {}})
    writer.flush()
    Import.objects.create(
        grove=tree.grove, participant=actor.participant, tree=tree, name="x", file="", status="done"
    )
    execute_line(actor, tree, Request('respond root "written here"'))
    other = trees.new_tree(actor, title="Beside")
    with triggers_aside(connection):  # the migration runs before the guard of nodes is made
        migration.mark(apps, None)
    assert not Node.objects.filter(tree=other, imported__isnull=False).exists()
    here = tree.nodes.filter(imported__isnull=True)
    assert [one.text for one in here] == ["written here"]
