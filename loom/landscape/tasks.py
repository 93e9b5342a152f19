"""The worker's side: maps are drawn when somebody asked, and new texts are placed when they were
indexed."""

from celery import shared_task

from loom.engine import jobs
from loom.engine.sweeps import sweeps
from loom.landscape import asking, drawing, placing
from loom.meaning.indexing import after_indexing


@shared_task(name=asking.DRAW)
def draw(uid: str) -> None:
    """Draws a map that was asked for."""
    drawing.draw(uid)


@shared_task(name=placing.PLACE)
def place(uid: str) -> None:
    """Places the new texts of a map."""
    placing.place(uid)


@after_indexing
def place_new_texts(uid: str) -> None:
    """New texts of a tree are placed on the maps that it is on."""
    placing.wish(uid)


@sweeps
def look_for_forgotten() -> int:
    """Sends maps again whose task or worker was lost, and returns how many."""
    uids = asking.forgotten()
    for uid in uids:
        jobs.enqueue(asking.DRAW, [uid], queue=asking.QUEUE)
    return len(uids)
