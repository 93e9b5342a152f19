"""A generation that is stopped at the moment when a worker takes it ends once: a worker never calls
the provider for a row that has ended. On PostgreSQL, where each of the two locks its own rows."""

import threading
import time
from typing import Any

import pytest
from django.db import connection

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.money import spending
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.turns import generation_lifecycle, lanes
from loom.turns.models import Generation
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]
LEASE = "a worker"


@pytest.fixture
def queued(actor: Actor, tree: Tree, muse: Participant) -> Generation:
    execute_line(actor, tree, Request(f'continue with agent:"{muse.name}"'))
    return Generation.objects.get()


class Worker(threading.Thread):
    """Takes what waits in a lane."""

    def __init__(self, lane: str) -> None:
        super().__init__()
        self.lane, self.taken = lane, list[Generation]()

    def run(self) -> None:
        try:
            self.taken = lanes.begin(self.lane, lease=LEASE, seconds=60)
        finally:
            connection.close()

    def has_met_a_lock(self) -> bool:
        """Whether a statement of somebody waits for a lock."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                "AND datname = current_database()"
            )
            return bool(cursor.fetchone()[0])


def test_a_worker_that_takes_a_generation_while_it_is_stopped(
    queued: Generation, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, settle = Worker(queued.lane), spending.settle

    def late(*given: Any, **named: Any) -> None:
        worker.start()
        until = time.monotonic() + PATIENCE_S
        while worker.is_alive() and not worker.has_met_a_lock():
            assert time.monotonic() < until
        settle(*given, **named)

    monkeypatch.setattr(spending, "settle", late)
    # As `ask_stop` does, once it has seen that nobody took it.
    stopped = "interrupted:stopped"
    generation_lifecycle.end_generation(queued.uid, lease="", text="", chunk=0, finish=stopped)
    worker.join()
    assert worker.taken == []
    row = Generation.objects.get()
    assert (row.status, row.lease) == ("stopped", "")


def test_ending_a_generation_keeps_what_others_wrote_of_its_row(queued: Generation) -> None:
    (taken,) = lanes.begin(queued.lane, lease=LEASE, seconds=60)
    end, update = generation_lifecycle._end, Generation.objects.filter(pk=taken.pk).update

    def late(*given: Any, **named: Any) -> None:
        update(discard=True)
        end(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation_lifecycle, "_end", late)
        generation_lifecycle.end_generation(
            taken.uid, lease=LEASE, text="a lamp", chunk=1, finish="complete"
        )
    row = Generation.objects.get()
    assert (row.status, row.discard) == ("done", True)
