"""Celery's shells around what the worker does, and what it does when it starts and stops."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutdown, worker_shutting_down

from agents.sweeper import Sweeper

PUT_DOWN_S = 8  # the supervisor waits for 10


@shared_task(name="agents.tasks.run_turn")
def run_turn(uid: str) -> None:
    """Moves a turn on until it waits for a model or has ended."""
    from agents.turns import run_turn as move_on

    move_on(uid)


@shared_task(name="agents.tasks.summarise")
def summarise(tree_uid: str, person: int, nodes: list[int], whole: bool) -> None:
    """Asks for the summaries that are lacking, as somebody who needs them."""
    from loom.commands.summaries import want
    from loom.models import Participant, Tree

    who = Participant.objects.select_related("user").filter(pk=person).first()
    tree = Tree.objects.select_related("grove").filter(uid=tree_uid, erasing_at=None).first()
    if who is not None and tree is not None:
        want(who, tree, nodes, whole=whole)


@shared_task(name="agents.tasks.summarise_document")
def summarise_document(uid: str, person: int) -> None:
    """Asks for the summary that a document lacks, as somebody who needs it."""
    from loom.commands.summaries import want_document
    from loom.models import Document, Participant

    who = Participant.objects.select_related("user").filter(pk=person).first()
    paper = Document.objects.select_related("grove").filter(uid=uid).first()
    if who is not None and paper is not None:
        want_document(who, paper)


@shared_task(name="agents.tasks.probe")
def probe(uid: str) -> None:
    """Finds out what a participant's endpoint can do."""
    from agents import probes

    probes.start_probe(uid)


@shared_task(name="agents.tasks.search_web")
def search_web(uid: str) -> None:
    """Asks for the pages of the web that a line searches for."""
    from agents import probes

    probes.start_search(uid)


@shared_task(name="agents.tasks.list_models")
def list_models(uid: str) -> None:
    """Asks an address which models it has."""
    from agents import probes

    probes.start_listing(uid)


_sweepers: list[Sweeper] = []


@worker_ready.connect
def begin_sweeping(**_: Any) -> None:
    """Rows are the truth: what an earlier worker left is found beside what is asked from now on."""
    from agents.worker import begin_what_is_handed_over

    begin_what_is_handed_over()
    _sweepers.append(Sweeper())
    _sweepers[-1].start()


@worker_shutting_down.connect
def put_everything_down(**_: Any) -> None:
    """SIGTERM: what came of running answers is kept."""
    from agents.worker import end_all

    for sweeper in _sweepers:
        sweeper.stopping.set()
    end_all("worker stopped")


@worker_shutdown.connect
def wait_for_what_is_put_down(**_: Any) -> None:
    """The process ends only when the rows say so."""
    from agents.worker import wait_for_all

    wait_for_all(PUT_DOWN_S)
