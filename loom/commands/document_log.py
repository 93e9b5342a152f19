"""How documents are stored: the log of updates that several people type, and the revisions made
from it. Typed updates arrive many times a second and are not commands; making a revision is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from loom.events import streams
from loom.events.streams import Writer
from loom.models import (
    Document,
    DocumentEmbed,
    DocumentState,
    DocumentText,
    DocumentUpdate,
    Participant,
    Revision,
)
from loom.queries.documents import newest, updates_after
from loom.rules import documents
from loom.rules.documents import Edit
from loom.rules.errors import CommandError, not_found
from loom.rules.node_values import digest_of
from loom.rules.shared_text import SharedText

STATE_EVERY = 200  # after this many updates a revision also stores the whole state
STATE_AT_LEAST = 2000  # the same while people keep typing
BATCH = 100  # documents that are settled in one go after their process has ended

Change = Callable[[str, Revision], Sequence[Edit]]


def bell(document_uid: str) -> str:
    """The name under which a document's new updates are announced."""
    return f"doc:{document_uid}"


def lock(document: Document) -> Document:
    """The document as it is now, locked until the end of the transaction."""
    row = Document.objects.select_for_update(of=("self",)).filter(pk=document.pk).first()
    if row is None:
        raise not_found("This document")
    row.grove = document.grove
    return row


def opened(document: Document) -> SharedText:
    """The text with all updates of its log."""
    return SharedText(update for _, update in updates_after(document.pk, 0))


def append(document: Document, update: bytes, authors: Sequence[str]) -> int:
    """Adds an update to the log of a locked document; returns its seq."""
    document.head += 1
    DocumentUpdate.objects.create(
        document=document,
        seq=document.head,
        update=update,
        authors=sorted(set(authors)),
        at=timezone.now(),
    )
    document.save(update_fields=["head"])
    streams.announce(bell(document.uid), document.head)
    return document.head


def append_typed(document: Document, update: bytes, authors: Sequence[str]) -> int:
    """Adds what people typed to the log, in its own transaction; returns its seq."""

    def write() -> int:
        with transaction.atomic():
            row = lock(document)
            seq = append(row, update, authors)
            if seq % STATE_AT_LEAST == 0:
                _store_state(row, opened(row))
            return seq

    return streams.retry_while_busy(write)


def _store_state(document: Document, shared: SharedText) -> None:
    """Stores the state of a locked document, so that opening it needs no replay of its whole
    log."""
    DocumentState.objects.update_or_create(
        document=document, defaults={"seq": document.head, "state": shared.state()}
    )


# Revisions.


@dataclass(frozen=True)
class Made:
    """A stored revision, and its text."""

    revision: Revision
    text: str


def create(writer: Writer, document: Document, text: str, *, by: Participant, at: datetime) -> Made:
    """Stores a new document with its first revision, in the locked stream of its grove."""
    demand_text(text)
    document.save()
    shared, first = SharedText.born(text)
    append(document, first, [by.uid])
    _store_state(document, shared)
    made = _revise(document, shared.text, by=by, authors=[by.uid], at=at)
    writer.texts.append(text)
    writer.append("document.added", {"document": body_of(document), "text": _named(made.revision)})
    return made


def write(
    writer: Writer, document: Document, change: Change, *, by: Participant, at: datetime
) -> Made:
    """Changes a document in the locked stream of its grove. Typed text that is not settled yet
    becomes a revision first; the change is another one.

    `change` is called with the text and its newest revision. The edits that it returns are made in
    one transaction of Yjs, so that nobody's typing is lost.
    """
    row = lock(document)
    shared = opened(row)
    before = _settled(writer, row, shared, at=at) or newest(row)
    edits = change(shared.text, before)
    after = documents.edited(shared.text, edits)
    demand_text(after)
    if after == shared.text:
        raise CommandError(
            "REJECTED",
            "Nothing changed: the new text is the same as the old.",
            hint="change the text",
        )
    update = shared.edit(edits)
    append(row, update, [by.uid])
    made = _revise(row, shared.text, by=by, authors=[by.uid], at=at)
    writer.texts.append(shared.text)
    _announce(writer, row, made.revision)
    _store_state_if_far(row, shared)
    return made


def settle(document: Document) -> Revision | None:
    """Makes a revision of what was typed since the last one; None if the text is the same."""

    def run() -> Revision | None:
        with transaction.atomic():
            writer = streams.lock(document.grove)
            row = lock(document)
            if row.head == row.settled:
                return None
            shared = opened(row)
            made = _settled(writer, row, shared, at=timezone.now())
            _store_state_if_far(row, shared)
            writer.flush()
            return made

    return streams.retry_while_busy(run)


def want_summary(document: Document, uid: str) -> None:
    """Settles what was typed and queues a summary of the document, on behalf of the participant
    with that id."""
    settle(document)
    who = Participant.objects.filter(uid=uid).values_list("pk", flat=True).first()
    if who is not None:
        streams.enqueue("agents.tasks.summarise_document", [document.uid, who], queue="continue")


def settle_resting(before: datetime) -> int:
    """Settles documents whose last updates are older than a moment: their process ended before it
    could do so. Returns how many."""
    typed = DocumentUpdate.objects.filter(document=OuterRef("pk"), seq=OuterRef("head"))
    rows = Document.objects.filter(head__gt=F("settled")).select_related("grove")
    left = list(rows.annotate(typed=Subquery(typed.values("at"))).filter(typed__lt=before)[:BATCH])
    for document in left:
        settle(document)
    return len(left)


def _settled(
    writer: Writer, document: Document, shared: SharedText, *, at: datetime
) -> Revision | None:
    if document.head == document.settled:
        return None
    before = newest(document)
    if digest_of(shared.text) == before.content.sha256:
        document.settled = document.head
        document.save(update_fields=["settled"])
        return None
    rows = DocumentUpdate.objects.filter(document=document, seq__gt=document.settled)
    wrote = [uid for authors in rows.values_list("authors", flat=True) for uid in authors]
    last = Participant.objects.filter(grove=document.grove, uid__in=wrote[-1:]).first()
    by = last or before.by
    writer.actor = writer.actor or by.uid
    made = _revise(document, shared.text, by=by, authors=list(dict.fromkeys(wrote)), at=at)
    _announce(writer, document, made.revision)
    return made.revision


def _revise(  # one row of a revision has these parts
    document: Document, text: str, *, by: Participant, authors: Sequence[str], at: datetime
) -> Made:
    """Stores the text as the next revision of a locked document."""
    before = newest(document) if document.revision else None
    kept = documents.unpacked(before.sections) if before is not None else ()
    content, _ = DocumentText.objects.get_or_create(
        document=document, sha256=digest_of(text), defaults={"text": text}
    )
    earlier = Revision.objects.filter(document=document, content=content).order_by("-number")
    document.revision += 1
    document.words = documents.count_words(text)
    document.touched_at, document.settled = at, document.head
    made = Revision.objects.create(
        document=document,
        number=document.revision,
        content=content,
        length=len(text),
        words=document.words,
        sections=documents.packed(documents.sections_of(text, kept)),
        by=by,
        authors=list(authors),
        restored=earlier.values_list("number", flat=True).first(),
        seq=document.head,
        at=at,
    )
    document.save(update_fields=["revision", "words", "touched_at", "settled"])
    _keep_embeds(document, text)
    return Made(made, text)


def _keep_embeds(document: Document, text: str) -> None:
    """Stores which nodes the newest text of a locked document embeds."""
    names = set(documents.ids_embedded(text))
    kept = set(DocumentEmbed.objects.filter(document=document).values_list("name", flat=True))
    if kept - names:
        DocumentEmbed.objects.filter(document=document, name__in=kept - names).delete()
    rows = [DocumentEmbed(document=document, name=name) for name in sorted(names - kept)]
    DocumentEmbed.objects.bulk_create(rows)


def _announce(writer: Writer, document: Document, revision: Revision) -> None:
    payload = {"document": body_of(document), "changed": ["text"], "authors": revision.authors}
    writer.append("document.changed", {**payload, "text": _named(revision)})


def _store_state_if_far(document: Document, shared: SharedText) -> None:
    stored = DocumentState.objects.filter(document=document).values_list("seq", flat=True).first()
    if document.head - (stored or 0) >= STATE_EVERY:
        _store_state(document, shared)


def body_of(document: Document) -> dict[str, Any]:
    """A document as its events carry it."""
    return {
        "id": document.uid,
        "title": document.title,
        "kind": document.kind,
        "revision": document.revision,
        "words": document.words,
    }


def _named(revision: Revision) -> dict[str, Any]:
    """A text by its hash: the text itself is stored once, in the document."""
    return {"sha256": revision.content.sha256, "length": revision.length}


def demand_text(text: str) -> None:
    """Refuses a text that is too long: LIMIT_EXCEEDED."""
    if len(text) > documents.MAX_BYTES or len(text.encode()) > documents.MAX_BYTES:
        raise CommandError(
            "LIMIT_EXCEEDED",
            "A document has at most 4 MiB.",
            hint="write another document",
            status=413,
        )
