"""Work that no row of its own says is waiting is kept until a worker has done it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from loom.engine import jobs, kept_jobs
from loom.engine.models import KeptJob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The tasks that were sent, each with its arguments; the broker loses them all."""
    tasks: list[tuple[Any, ...]] = []
    monkeypatch.setattr(jobs, "_send", lambda task, args, queue: tasks.append((task, *args)))
    return tasks


def overdue() -> None:
    """Whoever should have done what is kept did not."""
    KeptJob.objects.update(due_at=timezone.now() - timedelta(seconds=1))


def test_what_a_broker_lost_is_sent_again_until_it_is_done(sent: list[tuple[Any, ...]]) -> None:
    done: list[str] = []
    kept_jobs.enqueue_kept("look", ["a"], queue="transfer")
    assert kept_jobs.send_again() == 0  # somebody may be about to do it
    overdue()
    assert (kept_jobs.send_again(), kept_jobs.send_again()) == (1, 0)
    assert [task[:2] for task in sent] == [("look", "a"), ("look", "a")]
    look = kept_jobs.kept(done.append)
    for task in sent:
        look(*task[1:])
    assert done == ["a"]
    overdue()
    assert kept_jobs.send_again() == 0 and not KeptJob.objects.exists()


def test_what_is_rolled_back_is_not_kept(sent: list[tuple[Any, ...]]) -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        kept_jobs.enqueue_kept("look", ["a"], queue="transfer")
        raise RuntimeError("no")
    assert sent == [] and not KeptJob.objects.exists()


def test_what_a_dead_worker_had_begun_is_done_by_another(sent: list[tuple[Any, ...]]) -> None:
    done: list[str] = []
    kept_jobs.enqueue_kept("look", ["a"], queue="transfer")
    KeptJob.objects.update(taken_until=timezone.now() + timedelta(minutes=1))
    look = kept_jobs.kept(done.append)
    look(*sent[0][1:])
    assert done == []
    KeptJob.objects.update(taken_until=timezone.now() - timedelta(seconds=1))
    overdue()
    assert kept_jobs.send_again() == 1
    look(*sent[1][1:])
    assert done == ["a"]


def test_what_fails_is_tried_again_later_and_given_up_in_the_end(
    sent: list[tuple[Any, ...]],
) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("no")

    kept_jobs.enqueue_kept("look", ["a"], queue="transfer")
    for number in range(kept_jobs.MOST_TRIES):
        assert KeptJob.objects.get().tries == number
        with pytest.raises(RuntimeError):
            kept_jobs.kept(fail)(*sent[-1][1:])
        assert kept_jobs.send_again() == 0  # not at once
        overdue()
        kept_jobs.send_again()
    assert not KeptJob.objects.exists() and len(sent) == kept_jobs.MOST_TRIES


def test_what_ends_its_worker_each_time_is_given_up_too(sent: list[tuple[Any, ...]]) -> None:
    kept_jobs.enqueue_kept("look", ["a"], queue="transfer")
    KeptJob.objects.update(tries=kept_jobs.MOST_TRIES, taken_until=timezone.now())
    overdue()
    assert kept_jobs.send_again() == 0 and not KeptJob.objects.exists()


def test_what_goes_on_by_itself_is_kept_until_it_has_ended(sent: list[tuple[Any, ...]]) -> None:
    kept_jobs.enqueue_kept("look", ["a"], queue="transfer")
    kept_jobs.enqueue_kept("look", ["b"], queue="transfer")
    kept_jobs.kept(lambda _: kept_jobs.LATER)(*sent[0][1:])
    kept_jobs.ended("look", "b")  # which has not begun
    assert KeptJob.objects.count() == 2
    kept_jobs.ended("look", "a")
    assert KeptJob.objects.get().args == ["b"]


def test_what_says_that_it_goes_on_is_begun_by_no_other(sent: list[tuple[Any, ...]]) -> None:
    kept_jobs.enqueue_kept("look", ["a"], queue="transfer")
    kept_jobs.kept(lambda _: kept_jobs.LATER)(*sent[0][1:])
    overdue()
    kept_jobs.goes_on("look", "a")
    assert kept_jobs.send_again() == 0
    assert KeptJob.objects.get().tries == 1
