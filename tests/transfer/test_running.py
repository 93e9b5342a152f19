"""An import's life: taken once, stopped, taken over, swept, and never half seen."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from loom import tasks
from loom.access import Actor, get_actor, visible_trees
from loom.engine.models import Event, Stream
from loom.people.models import Membership, User
from loom.transfer import importing
from loom.transfer.importing import ImportProgress
from loom.transfer.models import Import
from loom.transfer.tree_builder import TreeBuilder
from loom.trees import erasing
from loom.trees.models import Node, Tree
from tests.transfer.conftest import Bring, file_of, nothing_left, tree_of

pytestmark = pytest.mark.django_db

MANY = {"text": "", "children": [{"text": f"n{i}", "children": []} for i in range(10)]}
Asked = list[tuple[str, list[str]]]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "BATCH", 3)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What was asked of the worker."""
    enqueued: Asked = []

    def enqueue(task: str, args: list[str], *, queue: str) -> None:
        assert queue == "transfer"
        enqueued.append((task, args))

    monkeypatch.setattr(importing, "enqueue", enqueue)
    return enqueued


def _at_batch(monkeypatch: pytest.MonkeyPatch, which: int, run: Callable[[], None]) -> None:
    """Does something before the batch of that number is written."""
    add, count = TreeBuilder.add, 0

    def wrapped(self: TreeBuilder, *args: Any) -> None:
        nonlocal count
        count += 1
        if count == which:
            run()
        add(self, *args)

    monkeypatch.setattr(TreeBuilder, "add", wrapped)


def test_the_task_runs_an_import_once(actor: Actor) -> None:
    row = file_of(actor, MANY, name="many.json")
    tasks.run_import(row.uid)
    row.refresh_from_db()
    assert tree_of(row).nodes.count() == 11
    assert Stream.objects.get(name=f"tree:{tree_of(row).uid}").words == 10
    assert (row.done, row.total, row.leased_until) == (row.total, row.total, None)
    assert not Path(row.file).exists()
    tasks.run_import(row.uid)
    assert Tree.objects.count() == 1


def test_nobody_sees_a_tree_before_it_is_whole(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = file_of(actor, MANY)
    seen: list[Any] = []

    def look() -> None:
        assert Node.objects.filter(text="n0").exists()
        seen.append((visible_trees(actor.user).count(), erasing.waiting()))

    _at_batch(monkeypatch, 3, look)
    importing.run(row.uid)
    assert seen == [(0, [])]
    assert visible_trees(actor.user).count() == 1


def test_progress_grows_and_ends_at_the_whole(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = file_of(actor, MANY)
    told: list[int] = []
    keep = ImportProgress.keep

    def noted(self: ImportProgress) -> None:
        keep(self)
        told.append(Import.objects.get(pk=row.pk).done)

    monkeypatch.setattr(ImportProgress, "keep", noted)
    importing.run(row.uid)
    assert told == sorted(told) and told[0] == 0 and told[-1] == row.total
    assert len(set(told)) > 3


def test_a_stop_in_the_middle_leaves_nothing(actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    row = file_of(actor, MANY, name="many.json")
    _at_batch(monkeypatch, 3, lambda: importing.ask_stop(row))
    importing.run(row.uid)
    row.refresh_from_db()
    nothing_left(row)
    assert row.error["code"] == "REJECTED"  # type: ignore[index]
    assert (Tree.objects.count(), Node.objects.count()) == (0, 0)
    assert not Stream.objects.filter(name__startswith="tree:").exists()
    assert not Event.objects.filter(stream__name__startswith="tree:").exists()


def test_a_stop_before_the_beginning_ends_it_at_once(actor: Actor) -> None:
    row = file_of(actor, MANY, name="many.json")
    importing.ask_stop(row)
    importing.run(row.uid)
    row.refresh_from_db()
    nothing_left(row)


def test_what_has_ended_is_not_stopped(bring: Bring) -> None:
    from loom.errors import CommandError

    row = bring(MANY)
    with pytest.raises(CommandError) as caught:
        importing.ask_stop(row)
    assert caught.value.code == "REJECTED"


def test_an_import_in_other_hands_is_left_alone(actor: Actor) -> None:
    row = file_of(actor, MANY)
    Import.objects.update(status="running", leased_until=timezone.now() + importing.LEASE)
    importing.run(row.uid)
    assert Tree.objects.count() == 0


def test_a_worker_that_lost_its_lease_writes_no_more(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = file_of(actor, MANY)
    taken = timezone.now() + timedelta(hours=1)

    def take_over() -> None:
        Import.objects.update(leased_until=taken)

    _at_batch(monkeypatch, 3, take_over)
    importing.run(row.uid)
    row.refresh_from_db()
    assert (row.status, row.leased_until) == ("running", taken)
    assert Node.objects.filter(text__startswith="n").count() == 5
    assert Path(row.file).exists()  # for the other worker


def test_a_dead_workers_import_begins_again(
    actor: Actor, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    row = file_of(actor, MANY)

    def die() -> None:
        raise OperationalError("the server is gone")

    with monkeypatch.context() as patch:
        _at_batch(patch, 3, die)
        with pytest.raises(OperationalError):
            importing.run(row.uid)
    assert importing.sweep() == 0  # the lease still runs
    half = Tree.objects.get()
    assert erasing.waiting() == []
    Import.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert importing.sweep() == 1
    assert asked == [("loom.tasks.run_import", [row.uid])]
    importing.run(row.uid)
    row.refresh_from_db()
    assert tree_of(row).pk != half.pk and tree_of(row).nodes.count() == 11
    assert asked[1:] == [("loom.tasks.erase_tree", [half.uid])]
    assert erasing.waiting() == [half.uid]
    tasks.erase_tree(half.uid)
    assert Tree.objects.get() == tree_of(row)


def test_an_import_that_kills_its_worker_is_given_up(actor: Actor, asked: Asked) -> None:
    row = file_of(actor, MANY, name="many.json")
    Import.objects.update(report={"tries": importing.TRIES})
    importing.run(row.uid)
    row.refresh_from_db()
    nothing_left(row)


def test_what_a_broker_forgot_is_asked_for_again_but_not_all_the_time(
    actor: Actor, asked: Asked
) -> None:
    row = file_of(actor, MANY)
    assert importing.sweep() == 0
    Import.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    assert (importing.sweep(), importing.sweep()) == (1, 0)
    assert asked == [("loom.tasks.run_import", [row.uid])]
    importing.run(row.uid)
    row.refresh_from_db()
    tree_of(row)


def test_an_error_of_our_own_fails_and_leaves_nothing(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = file_of(actor, MANY, name="many.json")

    def break_down() -> None:
        raise ZeroDivisionError

    _at_batch(monkeypatch, 2, break_down)
    importing.run(row.uid)
    row.refresh_from_db()
    nothing_left(row)
    assert row.error["code"] == "UNAVAILABLE" and Node.objects.count() == 0  # type: ignore[index]


def test_who_is_no_longer_a_writer_imports_nothing(writer: User, actor: Actor) -> None:
    row = file_of(get_actor(writer, actor.grove), MANY, name="many.json")
    Membership.objects.filter(user=writer).update(role="reader")
    importing.run(row.uid)
    row.refresh_from_db()
    nothing_left(row)
    assert row.error["code"] == "PERMISSION_DENIED"  # type: ignore[index]


def test_an_erased_tree_leaves_its_import_behind(bring: Bring, actor: Actor) -> None:
    from loom.trees.commands import trees

    row = bring(MANY, name="many.json")
    tree = Tree.objects.select_related("grove").get()
    trees.erase(actor, trees.change_tree(actor, tree, {"archived": True}), "many")
    tasks.erase_tree(tree.uid)
    row.refresh_from_db()
    assert (row.status, row.tree, Node.objects.count()) == ("done", None, 0)
