"""An old database: addresses of marks, links, sources and steps become items, what points at
them stays up to today, and its tables end as those of a new one."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from tests.databases import empty_database

BEFORE, AFTER = ("loom", "0023_names_of_archived_agents"), ("loom", "0026_items_required")
SHAPE = {
    "sqlite": [
        """SELECT name, sql FROM sqlite_master
        WHERE name NOT LIKE 'sqlite_%' AND (type <> 'table' OR sql LIKE 'CREATE VIRTUAL%')""",
        """SELECT t.name, c.name, c.type, c."notnull", c.dflt_value, c.pk
        FROM sqlite_master t, pragma_table_xinfo(t.name) c WHERE t.type = 'table'
        AND t.name NOT LIKE 'sqlite_%'""",
        """SELECT t.name, k."from", k."table", k."to"
        FROM sqlite_master t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table'
        AND t.name NOT LIKE 'sqlite_%'""",
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE '%CONSTRAINT%'",
    ],
    "postgresql": [
        """SELECT table_name, column_name, data_type, character_maximum_length, is_nullable,
        column_default, identity_generation FROM information_schema.columns
        WHERE table_schema = 'public'""",
        # Without names that Django makes of columns: a renamed column leaves its index the old one.
        r"""SELECT regexp_replace(indexdef, ' loom_\w+_[0-9a-f]{8}(_\w+)? ', ' ')
        FROM pg_indexes WHERE schemaname = 'public'""",
        """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace""",
        "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
        """SELECT proname, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'loom%'""",
    ],
}
AT = datetime(2026, 11, 1, tzinfo=UTC)
HOME = 7
NODE = (HOME << 32) + 1
ELSEWHERE = (9 << 32) + 5  # in a tree that was erased


def _executor() -> MigrationExecutor:
    """Runs the migrations one after the other, as a database of that time does."""
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    return executor


def _shape() -> set[str]:
    """Columns, keys, indexes, constraints and triggers, as text. What SQLite says of a table is
    the SQL that made it, where columns stand in the order in which they came: its words are
    sorted."""
    rows = []
    with connection.cursor() as cursor:
        for query in SHAPE[connection.vendor]:
            cursor.execute(query)
            rows += cursor.fetchall()
    return {
        str(
            [
                sorted(re.split(r"[\s,()]+", one)) if "CREATE TABLE" in str(one) else one
                for one in row
            ]
        )
        for row in rows
    }


@pytest.fixture
def new_shape(transactional_db: None) -> set[str]:
    """The tables of a database that was made by the migrations as they are."""
    return _shape()


@pytest.fixture
def old(transactional_db: None) -> Iterator[Any]:
    """The models as they were, in a database of that time."""
    with empty_database(connection):
        executor = _executor()
        executor.migrate([BEFORE])
        yield executor.loader.project_state([BEFORE]).apps


def _rows(apps: Any) -> None:
    """A node that was made from itself, a mark on it and one on its tree, two links, two steps."""

    def make(model: str, **fields: Any) -> Any:
        return apps.get_model("loom", model).objects.create(**fields)

    grove = make("Grove", uid="g", name="Grove")
    who = make("Participant", uid="p", grove=grove, kind="human", name="Ada")
    tree = make("Tree", id=HOME, uid="t", grove=grove, mode="dialogue", maker=who)
    node = make(
        "Node", id=NODE, tree=tree, local_id="a2b2", length=0, author=who, slot_id=NODE, depth=0,
        hash="h", created_at=AT,
    )  # fmt: skip
    make("NodeSource", node=node, item=f"n{NODE}", role="context", version_seen="h")
    for uid, item in (("m1", f"n{NODE}"), ("m2", f"t{HOME}"), ("m3", "")):
        make("Mark", uid=uid, tree=tree, kind="tag", item=item, participant=who, at=AT)
    for uid, target in (("l1", f"t{HOME}"), ("l2", f"n{ELSEWHERE}")):
        make("Link", uid=uid, tree=tree, source=f"n{NODE}", target=target, by=who, at=AT)
    view = make("Workspace", uid="w", tree=tree, participant=who, position=node)
    for seq, items in ((1, [f"n{ELSEWHERE}", f"n{NODE}"]), (2, [])):
        make(
            "Step", uid=f"s{seq}", workspace=view, seq=seq, actor=who, line="→ view", items=items,
            outcome="ok", at=AT,
        )  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_addresses_become_items_and_the_tables_those_of_today(
    new_shape: set[str], old: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import import_module

    filled = import_module("loom.migrations.0025_items_filled")
    monkeypatch.setattr(filled, "BATCH", 1)
    _rows(old)
    executor = _executor()
    executor.migrate([("loom", "0025_items_filled")])
    # As after a stop: it finds nothing left to do, and does nothing twice.
    filled.forward(executor.loader.project_state([("loom", "0025_items_filled")]).apps, None)
    executor = _executor()
    executor.migrate([AFTER])
    new = executor.loader.project_state([AFTER]).apps

    def values(name: str, *fields: str) -> list[Any]:
        return list(new.get_model("loom", name).objects.order_by("pk").values_list(*fields))

    whole = HOME << 32
    assert values("Item", "id", "kind", "tree_id", "node_id") == [
        (whole, "tree", HOME, None),
        (NODE, "node", HOME, NODE),
        (ELSEWHERE, "node", 9, ELSEWHERE),
    ]
    assert values("NodeSource", "item_id", "version_seen") == [(NODE, "h")]
    assert values("Mark", "uid", "item_id") == [("m1", NODE), ("m2", whole)]
    assert values("Link", "source_id", "target_id") == [(NODE, whole), (NODE, ELSEWHERE)]
    assert values("StepItem", "step__seq", "item_id", "place") == [
        (1, ELSEWHERE, 0),
        (1, NODE, 1),
    ]
    # All others, up to today: the tables are those that a new database gets at once.
    (last,) = MigrationLoader(connection).graph.leaf_nodes("loom")
    executor = _executor()
    others = {app for app, _ in executor.loader.graph.nodes} - {"loom"}
    executor.migrate(
        [last, *(leaf for app in others for leaf in executor.loader.graph.leaf_nodes(app))]
    )
    new = executor.loader.project_state([last]).apps
    assert values("Link", "source_id", "target_id") == [(NODE, whole), (NODE, ELSEWHERE)]
    assert values("Mark", "uid", "item_id") == [("m1", NODE), ("m2", whole)]
    grown = _shape()
    assert len(grown) > 500
    assert grown == new_shape
    assert not MigrationExecutor(connection).migration_plan([last])
