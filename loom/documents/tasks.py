"""The worker's tasks for documents."""

from celery import shared_task

from loom.documents.models import Document
from loom.documents.summaries import want_document
from loom.people.models import Participant


@shared_task(name="loom.documents.tasks.summarise")
def summarise(uid: str, person: int, turn: str = "") -> None:
    """Queues the missing summary of a document, on behalf of somebody who needs it."""
    who = Participant.objects.select_related("user").filter(pk=person).first()
    document = Document.objects.select_related("grove").filter(uid=uid).first()
    if who is not None and document is not None:
        want_document(who, document, turn)
