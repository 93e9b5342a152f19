"""Erasing in the background: asked for after commit, and again by the next worker."""

from datetime import timedelta
from typing import Any

import pytest
from celery.signals import worker_ready
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from config.celery import app
from loom import tasks
from loom.access import Actor
from loom.engine import jobs
from loom.trees.commands import trees
from loom.trees.models import Tree

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the broker is handed."""
    enqueued: list[Any] = []
    monkeypatch.setattr(
        jobs, "_send", lambda task, args, queue: enqueued.append((task, args, queue))
    )
    return enqueued


@pytest.mark.django_db(transaction=True)
def test_erasing_is_asked_for_after_commit_and_again_at_the_workers_start(
    actor: Actor, tree: Tree, asked: list[Any]
) -> None:
    job = ("loom.tasks.erase_tree", [tree.uid], "transfer")
    tidied: tuple[str, list[str], str] = ("loom.tasks.remove_unnamed_images", [], "transfer")
    trees.change_tree(actor, tree, {"archived": True})
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        trees.erase(actor, tree, "Marie")
        raise ZeroDivisionError
    assert asked == []
    trees.erase(actor, tree, "Marie")
    tasks.begin_again()
    assert asked == [job, job, tidied]
    tasks.erase_tree(tree.uid)
    assert not Tree.objects.exists()
    tasks.begin_again()
    assert asked == [job, job, tidied, tidied]


@pytest.mark.django_db(transaction=True)
def test_a_tree_whose_erasing_a_broker_has_lost_is_found_by_the_sweeper(
    actor: Actor, tree: Tree, asked: list[Any]
) -> None:
    trees.change_tree(actor, tree, {"archived": True})
    trees.erase(actor, tree, "Marie")
    asked.clear()

    def look() -> object:
        cache.delete("tasks:erase_forgotten")
        return tasks.erase_forgotten()

    assert look() == 0, "it was asked for a moment ago"
    Tree.objects.update(erasing_at=timezone.now() - timedelta(seconds=2 * tasks.LOOK_S))
    assert look() == 1 and tasks.erase_forgotten() == 0
    assert asked == [("loom.tasks.erase_tree", [tree.uid], "transfer")]
    cache.set(tasks._tried(tree.uid), 1, tasks.TRIED_S)
    assert look() == 0, "a worker is at it, and tries it again by itself"
    tasks.erase_tree(tree.uid)
    assert look() == 0 and not Tree.objects.exists()


def test_the_worker_knows_the_tasks_by_their_names() -> None:
    names = ("erase_tree", "remove_unnamed_images", "run_import")
    assert {f"loom.tasks.{name}" for name in names} <= set(app.tasks)
    assert any(receiver[1]() is tasks.begin_again for receiver in worker_ready.receivers)
