"""Addresses of marks, links, sources and steps become items, and what points at them stays."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests.databases import empty_database

BEFORE, AFTER = ("loom", "0023_names_of_archived_agents"), ("loom", "0026_items_required")
AT = datetime(2026, 11, 1, tzinfo=UTC)
HOME = 7
NODE = (HOME << 32) + 1
ELSEWHERE = (9 << 32) + 5  # in a tree that was erased


@pytest.fixture
def old(transactional_db: None) -> Iterator[Any]:
    """The models as they were, in a database of that time."""
    with empty_database(connection):
        executor = MigrationExecutor(connection)
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
def test_addresses_become_items(old: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    filled = import_module("loom.migrations.0025_items_filled")
    monkeypatch.setattr(filled, "BATCH", 1)
    _rows(old)
    executor = MigrationExecutor(connection)
    executor.migrate([("loom", "0025_items_filled")])
    # As after a stop: it finds nothing left to do, and does nothing twice.
    filled.forward(executor.loader.project_state([("loom", "0025_items_filled")]).apps, None)
    executor = MigrationExecutor(connection)
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
