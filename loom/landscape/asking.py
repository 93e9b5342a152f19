"""Asking for a map by meaning and stopping the worker that draws it."""

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from loom.access import Actor
from loom.engine import jobs
from loom.landscape.models import Landscape
from loom.meaning.queries import demand_embedder
from loom.people.models import Grove
from loom.trees.models import Tree

DRAW = "loom.landscape.tasks.draw"
QUEUE = "transfer"  # long work of workers
LOST_S = 120  # seconds of silence after which a worker is taken to be lost


def ask(actor: Actor, grove: Grove, tree: Tree | None) -> Landscape:
    """Asks for the map of a tree, or of a grove, to be drawn, or drawn again; changes nothing while
    it is being drawn. UNAVAILABLE without an embedder."""
    embedder = demand_embedder(grove)
    own = Landscape.objects.filter(grove=grove, tree=tree, embedder=embedder.name)
    with transaction.atomic():
        row = own.select_for_update().first()
        if row is None:
            try:
                with transaction.atomic():
                    row = Landscape.objects.create(
                        grove=grove, tree=tree, embedder=embedder.name, asked_by=actor.participant
                    )
            except IntegrityError:  # somebody else was first
                return own.get()
        elif row.is_open:
            return row
        else:
            now = timezone.now()
            own.update(
                status="waiting",
                done=0,
                said="",
                stop_asked=False,
                asked_by=actor.participant,
                asked_at=now,
                moved_at=now,
            )
        jobs.enqueue(DRAW, [row.uid], queue=QUEUE)
    row.refresh_from_db()
    return row


def stop(row: Landscape) -> Landscape:
    """Asks the worker to stop; what was drawn before stays. One that waits has stopped at once."""
    own = Landscape.objects.filter(pk=row.pk)
    if not own.filter(status="waiting").update(status="stopped", stop_asked=True):
        own.filter(status="running").update(stop_asked=True)
    row.refresh_from_db()
    return row


def forgotten() -> list[str]:
    """The uids of maps that wait for a worker, or whose worker was lost."""
    silent = timezone.now() - timedelta(seconds=LOST_S)
    waits = Q(status="waiting", moved_at__lt=timezone.now() - timedelta(seconds=10))
    lost = Q(status="running", moved_at__lt=silent)
    return list(Landscape.objects.filter(waits | lost).values_list("uid", flat=True)[:50])
