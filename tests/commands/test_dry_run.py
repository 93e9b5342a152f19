"""A dry run answers as the line would, and neither locks nor writes."""

import re
import threading
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

from loom.access import Actor
from loom.engine import busy, streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.trees.models import Tree
from tests.interfaces.matrix import LINES, filled
from tests.interfaces.world import counted, world  # noqa: F401 (a fixture)
from tests.patience import PATIENCE_S


def _said(actor: Actor, tree: Tree, request: Request) -> Any:
    """The answer without what is drawn again each time, or the refusal."""
    try:
        body = execute_line(actor, tree, request).body
    except CommandError as refused:
        return refused.code, refused.message
    drawn = ["step:[0-9]+", "exploration [a-z0-9]+", "tree:[a-z0-9]+"]
    refs = "|".join([*body["refs"], body["position"], *drawn])
    told = re.sub(rf"\b({refs})\b", "…", body["reply"])
    return told, body["canonical"], len(body["refs"])


@pytest.mark.django_db
def test_a_dry_run_answers_what_the_line_answers(
    world: dict[str, str],  # noqa: F811
    actor: Actor,
    tree: Tree,
) -> None:
    for verb in sorted(LINES):
        point = transaction.savepoint()
        for line in (filled(template, world) for template in LINES[verb]):
            before = counted()
            dry = _said(actor, tree, Request(line, dry_run=True))
            assert counted() == before, line
            assert dry == _said(actor, tree, Request(line)), line
        transaction.savepoint_rollback(point)


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_waits_for_no_lock(
    world: dict[str, str],  # noqa: F811
    actor: Actor,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            streams.lock(tree)
            is_held.set()
            is_over.wait(500)
        connections.close_all()

    holding = threading.Thread(target=hold)
    holding.start()
    try:
        assert is_held.wait(PATIENCE_S)
        sqlite = connection.vendor == "sqlite"
        if sqlite:
            monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.1)
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 100" if sqlite else "SET lock_timeout = '100ms'")
        monkeypatch.setattr(busy, "PATIENCE_S", 0.0)
        waited = [
            line
            for line in (filled(template, world) for many in LINES.values() for template in many)
            if "is busy" in str(_said(actor, tree, Request(line, dry_run=True)))
        ]
        assert waited == []
        # PostgreSQL waits as long as it must; only this test sets a limit.
        with pytest.raises(CommandError if sqlite else OperationalError) as refusal:
            execute_line(actor, tree, Request('respond root "x"'))
        assert not sqlite or getattr(refusal.value, "code", "") == "UNAVAILABLE"
    finally:
        is_over.set()
        holding.join(PATIENCE_S)
        if not sqlite:
            with connection.cursor() as cursor:  # what goes back to the pool is for other tests
                cursor.execute("RESET lock_timeout")
        connection.close()
