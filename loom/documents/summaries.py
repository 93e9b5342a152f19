"""Summaries of documents, which are made like those of nodes (`loom.turns.summaries`)."""

from django.db.models import QuerySet
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.documents.models import Document
from loom.documents.queries import trees_linked
from loom.errors import CommandError
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.turns.models import SUMMARY, Generation
from loom.turns.summaries import MOST_TRIES, REST, WORDS, summarise_text, summariser


def summarise_document(
    actor: Actor, document: Document, *, again: bool = False, turn: str = ""
) -> list[Generation]:
    """Queues the summary that a document lacks, or with `again` a new one. For writers, who pay.
    UNAVAILABLE if no model makes summaries, or no tree can keep the call."""
    home = home_of(actor, document)
    if home is None:
        raise CommandError(
            "UNAVAILABLE",
            "This grove has no tree in which the call could be kept.",
            hint="make a tree first",
        )
    return summarise_text(actor, home, document, again=again, turn=turn)


def home_of(actor: Actor, document: Document) -> Tree | None:
    """The tree that keeps the calls of a document's summaries: one that it is linked to, else any
    of its grove."""
    rows = access.trees_for(actor).filter(grove=document.grove, archived_at=None)
    rows = rows.select_related("grove").order_by("pk")
    return rows.filter(pk__in=trees_linked(actor, document).values("pk")).first() or rows.first()


def of_document(document: Document) -> QuerySet[Generation]:
    """The generations for the summary of a document, newest first."""
    rows = Generation.objects.filter(about=document.item_id, round=SUMMARY)
    return rows.order_by("-id")


def is_lacking(document: Document, *, again: bool) -> bool:
    """Whether a summary of the newest revision should be made now."""
    rows = list(of_document(document)[: MOST_TRIES + 1])
    if any(generation.ended_at is None for generation in rows):
        return False
    if again:
        return True
    newest = [
        generation for generation in rows if generation.settings["revision"] == document.revision
    ]
    failed = [generation for generation in newest if generation.status in ("failed", "interrupted")]
    rested = timezone.now() - REST
    is_resting = any(generation.ended_at and generation.ended_at > rested for generation in failed)
    is_done = document.summary_revision == document.revision or document.words <= WORDS
    return not (is_done or is_resting or len(failed) >= MOST_TRIES)


def want_document(person: Participant, document: Document, turn: str = "") -> int:
    """Queues the summary of a document if it needs one, as `want` does for nodes."""
    if person.user is None or summariser(document.grove) is None:
        return 0
    if not is_lacking(document, again=False):
        return 0
    try:
        actor = access.get_actor(person.user, document.grove)
        return len(summarise_document(actor, document, turn=turn))
    except CommandError:
        return 0
