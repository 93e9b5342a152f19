"""How documents are stored: the log of updates that several people type, and the revisions made
from it. Typed updates arrive many times a second and are not commands; making a revision is."""

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ParamSpec, TypeVar

from django.db import DatabaseError, transaction
from django.db.models import F, OuterRef, Subquery, Sum
from django.db.models.functions import Length
from django.utils import timezone

from loom.documents import rules as documents
from loom.documents.models import (
    Document,
    DocumentClient,
    DocumentEmbed,
    DocumentState,
    DocumentText,
    DocumentUpdate,
    Revision,
)
from loom.documents.queries import newest, updates_after
from loom.documents.rules import Section
from loom.documents.shared_text import EMPTY, SharedText
from loom.engine import announcements, busy, jobs, put_aside, streams
from loom.engine.models import Step
from loom.engine.streams import Writer
from loom.engine.sweeps import FORGOTTEN_S, sweeps
from loom.errors import CommandError, not_found
from loom.people.models import Participant
from loom.text.edits import Edit, edited, line_difference
from loom.text.hashes import digest_of
from loom.trees.grove_texts import note_rewritten, note_written

STATE_EVERY = 200  # after this many updates a revision also stores the whole state
STATE_AT_LEAST = 2000  # the same while people keep typing
LOG_BYTES = 64 * 1024  # a log of this length is merged into the state, if the state is not longer
MOST_STEPS = 64  # differences from which the text of an earlier revision is made
MOST_PASSES = 5  # attempts to settle a document that others write at the same time
BATCH = 100  # documents that are settled in one go after their process has ended

log = logging.getLogger("heddle.documents")

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
    return _read(document.pk)[1]


def _read(document_id: int) -> tuple[int, SharedText]:
    """The last seq of the log, and the text with all its updates."""
    rows = list(updates_after(document_id, 0))
    return rows[-1][0] if rows else 0, SharedText(update for _, update in rows)


def append(document: Document, update: bytes, authors: Sequence[str]) -> int:
    """Adds an update to the log of a locked document; returns its seq."""
    document.head += 1
    document.log_bytes += len(update)
    DocumentUpdate.objects.create(
        document=document,
        seq=document.head,
        update=update,
        authors=sorted(set(authors)),
        at=timezone.now(),
    )
    document.save(update_fields=["head", "log_bytes"])
    announcements.announce(bell(document.uid), document.head)
    return document.head


def append_typed(document: Document, update: bytes, authors: Sequence[str]) -> int:
    """Adds what people typed to the log, in its own transaction; returns its seq."""

    def write() -> Document:
        with transaction.atomic():
            row = lock(document)
            append(row, update, authors)
            return row

    row = busy.retry_while_busy(write)
    if row.log_bytes >= LOG_BYTES or row.head % STATE_AT_LEAST == 0:
        try:
            compact(row)
        except Exception:  # what was typed is stored; the next update tries again
            log.warning("could not merge the log of %s", document.uid, exc_info=True)
    return row.head


# The state: the log up to a seq, merged into one update without the letters that were deleted.


def compact(document: Document) -> None:
    """Merges the log into the stored state if it has become long. It is read and merged before
    the document is locked."""
    if _is_far(document, every=STATE_AT_LEAST):
        merge(document)


def merge(document: Document) -> int:
    """Merges the log into the stored state; the number of updates that are gone."""
    seq, shared = _read(document.pk)
    state = shared.state()
    rows = DocumentUpdate.objects.filter(document=document)

    def run() -> int:
        with transaction.atomic():
            row = lock(document)
            before = rows.count()
            _store_state(row, seq, state)
            return before - rows.count()

    return busy.retry_while_busy(run)


def _is_far(document: Document, *, every: int) -> bool:
    """Whether the log after the stored state has become long: many updates, or more bytes than
    the state."""
    rows = DocumentState.objects.filter(document=document).annotate(length=Length("state"))
    seq, length = rows.values_list("seq", "length").first() or (0, 0)
    return document.head - seq >= every or document.log_bytes >= max(LOG_BYTES, length)


def _store_state(document: Document, seq: int, state: bytes) -> None:
    """Stores the state of a locked document at `seq`, and deletes the updates that it contains.
    Of those that are not settled one empty update keeps the authors."""
    stored = DocumentState.objects.filter(document=document).values_list("seq", flat=True).first()
    if stored is not None and stored >= seq:
        return
    DocumentState.objects.update_or_create(document=document, defaults={"seq": seq, "state": state})
    rows = DocumentUpdate.objects.filter(document=document)
    merged = rows.filter(seq__lte=seq)
    unsettled = merged.filter(seq__gt=document.settled).order_by("seq")
    wrote = _authors(unsettled.values_list("authors", flat=True))
    if wrote:
        unsettled.filter(seq=seq).update(update=EMPTY, authors=wrote)
        merged = merged.exclude(seq=seq)
    merged.delete()
    left = rows.filter(seq__gt=seq).aggregate(bytes=Sum(Length("update")))
    document.log_bytes = left["bytes"] or 0
    document.save(update_fields=["log_bytes"])


def _authors(rows: Iterable[list[str]]) -> list[str]:
    """Those who wrote, each once, in the order in which they wrote last."""
    every = [uid for authors in rows for uid in authors]
    return list(dict.fromkeys(reversed(every)))[::-1]


# Revisions. What takes long is done before the stream of the grove is locked: reading the log, and
# what follows from a text. Under the lock it is looked up, and worked out again only if somebody
# else has written in between.


@dataclass(frozen=True)
class Made:
    """A stored revision, and its text."""

    revision: Revision
    text: str


@dataclass(frozen=True)
class Through:
    """The window through which a document is written: its number, and the lines that it showed."""

    window: int
    first: int
    last: int


@dataclass(frozen=True)
class Worked:
    """What follows from the text of a revision and from the sections before it."""

    sha256: str
    words: int
    sections: tuple[Section, ...]
    embeds: frozenset[str]


def worked(text: str, before: tuple[Section, ...]) -> Worked:
    """The hash, words, sections and embeds of a text."""
    return _once(_work, text, before)


def _work(text: str, before: tuple[Section, ...]) -> Worked:
    return Worked(
        sha256=digest_of(text),
        words=documents.count_words(text),
        sections=tuple(documents.sections_of(text, before)),
        embeds=frozenset(documents.ids_embedded(text)),
    )


def _back(after: str, before: str) -> str:
    """The edits that make an earlier text from the next one, as JSON."""
    return _once(_edits_back, after, before)


def _edits_back(after: str, before: str) -> str:
    edits = line_difference(after, before)
    return json.dumps([[edit.start, edit.end, edit.text] for edit in edits], ensure_ascii=False)


class _Ahead(threading.local):
    """What this thread has done before a lock: the results of functions by their arguments (None:
    nothing is kept), and the log that it has read: the key of the document, a seq, and the text up
    to there. pycrdt allows no other thread to use it."""

    results: dict[tuple[Any, ...], Any] | None = None
    log: tuple[int, int, SharedText] | None = None


_ahead = _Ahead()
P = ParamSpec("P")
T = TypeVar("T")


def _once(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the function returns; not worked out again inside of `_remembering`."""
    if _ahead.results is None:
        return function(*args, **kwargs)
    key = (function.__name__, *args)
    if key not in _ahead.results:
        _ahead.results[key] = function(*args, **kwargs)
    result: T = _ahead.results[key]
    return result


@contextmanager
def _remembering() -> Iterator[None]:
    """Keeps what is worked out, until the end of the outermost block."""
    if _ahead.results is not None:
        yield
        return
    _ahead.results = {}
    try:
        yield
    finally:
        _ahead.results = _ahead.log = None


@contextmanager
def text_ahead(text: str) -> Iterator[None]:
    """Finds the sections of the text of a new document before a lock is taken."""
    with _remembering():
        if len(text) <= documents.MAX_BYTES:
            worked(text, ())
        yield


@contextmanager
def worked_ahead(document: Document, change: Change | None = None) -> Iterator[None]:
    """Does what is long about a write before its lock is taken: reads the log, and works out the
    sections of the text that `change` would make. Whatever stands in the way is found again, and
    said, by the write itself."""
    with _remembering():
        try:
            _work_ahead(document.pk, change)
        except (CommandError, DatabaseError):
            log.debug("could not work ahead for %s", document.uid, exc_info=True)
        yield


def _work_ahead(document_id: int, change: Change | None) -> None:
    row = Document.objects.filter(pk=document_id).first()
    if row is None:
        return
    seq, shared = _read(row.pk)
    _ahead.log = (row.pk, seq, shared)
    before, text = newest(row), shared.text
    sections = documents.unpacked(before.sections)
    if text != before.text:
        sections = list(worked(text, tuple(sections)).sections)
        _back(text, before.text)
        before = Revision(
            document=row,
            number=before.number + 1,
            by=before.by,
            sections=documents.packed(sections),
        )
    if change is not None:
        after = edited(text, change(text, before))
        demand_text(after)
        worked(after, tuple(sections))
        _back(after, text)


def _opened(document: Document) -> SharedText:
    """The text of a locked document, from what was read before the lock if there is any."""
    read, _ahead.log = _ahead.log, None
    if read is None or read[0] != document.pk:
        return opened(document)
    _, seq, shared = read
    if seq < document.head:
        for _, update in updates_after(document.pk, seq):
            shared.apply(update)
    return shared


def create(writer: Writer, document: Document, text: str, *, by: Participant, at: datetime) -> Made:
    """Stores a new document with its first revision, in the locked stream of its grove."""
    demand_text(text)
    document.save()  # its first update is its stored state
    shared, _ = SharedText.born(text)
    document.head = 1
    _sign(document, shared, by)
    DocumentState.objects.create(document=document, seq=document.head, state=shared.state())
    announcements.announce(bell(document.uid), document.head)
    stored = _revise(document, shared.text, by=by, authors=[by.uid], at=at)
    writer.on_step.append(partial(_note_step, stored.revision.pk, None))
    writer.texts.append(text)
    writer.append(
        "document.added", {"document": body_of(document), "text": _named(stored.revision)}
    )
    return stored


def _sign(document: Document, shared: SharedText, by: Participant) -> None:
    """Stores whose the letters are that this copy writes: each copy has a client id of its own."""
    signed = DocumentClient(document=document, client=shared.client, participant=by)
    DocumentClient.objects.bulk_create([signed], ignore_conflicts=True)


def _note_step(revision: int, through: Through | None, step: Step) -> None:
    """Stores which step wrote a revision (its row id), and through which window."""
    place = vars(through) if through is not None else {}
    Revision.objects.filter(pk=revision).update(step=step, **place)


def write(
    writer: Writer,
    document: Document,
    change: Change,
    *,
    by: Participant,
    at: datetime,
    through: Through | None = None,
) -> Made:
    """Changes a document in the locked stream of its grove. Typed text that is not settled yet
    becomes a revision first; the change is another one. Callers that can use `worked_ahead`.

    `change` is called with the text and its newest revision. The edits that it returns are made in
    one transaction of Yjs, so that nobody's typing is lost.
    """
    row = lock(document)
    shared = _opened(row)
    typed = _settled(writer, row, shared.text, seq=row.head, at=at)
    before = typed or newest(row)
    edits = change(shared.text, before)
    after = edited(shared.text, edits)
    demand_text(after)
    if after == shared.text:
        raise CommandError(
            "REJECTED",
            "Nothing changed: the new text is the same as the old.",
            hint="change the text",
        )
    update = shared.edit(edits)
    _sign(row, shared, by)
    append(row, update, [by.uid])
    stored = _revise(row, shared.text, by=by, authors=[by.uid], at=at)
    writer.on_step.append(partial(_note_step, stored.revision.pk, through))
    writer.texts.append(shared.text)
    _announce(writer, row, stored.revision)
    if _is_far(row, every=STATE_EVERY):
        _store_state(row, row.head, shared.state())
    return stored


def settled_now(writer: Writer, document: Document, *, at: datetime) -> Revision:
    """The newest revision, in the locked stream of the grove; what was typed and is not settled
    yet becomes one first."""
    row = lock(document)
    typed = _settled(writer, row, _opened(row).text, seq=row.head, at=at)
    return typed or newest(row)


def settle(document: Document) -> Revision | None:
    """Makes a revision of what was typed since the last one; None if the text is the same, or if
    the document is put aside because this has failed several times and nobody has typed since."""
    head = Document.objects.filter(pk=document.pk).values_list("head", flat=True).first() or 0
    known = put_aside.find("document", document.uid)
    if put_aside.is_left_alone(known, version=head):
        return None
    try:
        revision = _settle(document)
    except Exception as error:
        put_aside.failed("document", document.uid, error, version=head, grove=document.grove)
        raise
    if known is not None:
        put_aside.done("document", document.uid)
    return revision


def _settle(document: Document) -> Revision | None:
    for _ in range(MOST_PASSES):
        row = Document.objects.filter(pk=document.pk).first()
        if row is None:
            raise not_found("This document")
        if row.head == row.settled:
            return None
        with _remembering():
            typed = _Typed.of(row)
            is_stored, revision = busy.retry_while_busy(partial(typed.store, document))
        if is_stored:
            return revision
    raise CommandError(
        "UNAVAILABLE",
        "Others write in this document at the same time; what was typed is stored.",
        hint="send it again in a moment",
    )


@dataclass(frozen=True)
class _Typed:
    """What was typed in a document, read and worked out without a lock: the text of its log up to
    `seq`, after the revision with that number, and its state if that is to be stored."""

    revision: int
    seq: int
    text: str
    state: bytes

    @classmethod
    def of(cls, row: Document) -> "_Typed":
        seq, shared = _read(row.pk)
        text, before = shared.text, newest(row)
        if text != before.text:
            worked(text, tuple(documents.unpacked(before.sections)))
            _back(text, before.text)
        state = shared.state() if _is_far(row, every=STATE_EVERY) else b""
        return cls(row.revision, seq, text, state)

    def store(self, document: Document) -> tuple[bool, Revision | None]:
        """Stores it as a revision, in a short transaction: (False, None) if another one was made
        in the meantime."""
        with transaction.atomic():
            writer = streams.lock(document.grove)
            row = lock(document)
            if row.revision != self.revision or self.seq < row.settled:
                return False, None
            revision = _settled(writer, row, self.text, seq=self.seq, at=timezone.now())
            if self.state:
                _store_state(row, self.seq, self.state)
            writer.flush()
        return True, revision


def want_summary(document: Document, uid: str) -> None:
    """Settles what was typed and queues a summary of the document, on behalf of the participant
    with that id."""
    settle(document)
    who = Participant.objects.filter(uid=uid).values_list("pk", flat=True).first()
    if who is not None:
        jobs.enqueue("loom.documents.tasks.summarise", [document.uid, who], queue="continue")


@sweeps
def settle_forgotten() -> int:
    """Settles documents whose process ended before it could do so."""
    return settle_resting(timezone.now() - timedelta(seconds=FORGOTTEN_S))


def settle_resting(before: datetime) -> int:
    """Settles documents whose last updates are older than a moment: their process ended before it
    could do so. One that fails is tried again a few times, and then put aside. Returns how many
    it has settled."""
    typed = DocumentUpdate.objects.filter(document=OuterRef("pk"), seq=OuterRef("head"))
    rows = Document.objects.filter(head__gt=F("settled")).select_related("grove")
    rows = rows.exclude(put_aside.among("document", version="head"))
    left = list(rows.annotate(typed=Subquery(typed.values("at"))).filter(typed__lt=before)[:BATCH])
    return sum(
        put_aside.attempt(
            "document",
            document.uid,
            partial(_settle, document),
            version=document.head,
            grove=document.grove,
        )
        for document in left
    )


def _settled(
    writer: Writer, document: Document, text: str, *, seq: int, at: datetime
) -> Revision | None:
    """Makes a revision of the text of the log of a locked document up to `seq`."""
    if seq == document.settled:
        return None
    before = newest(document)
    if digest_of(text) == before.content.sha256:
        document.settled = seq
        document.save(update_fields=["settled"])
        return None
    rows = DocumentUpdate.objects.filter(document=document, seq__lte=seq, seq__gt=document.settled)
    rows = rows.order_by("seq")
    wrote = [uid for authors in rows.values_list("authors", flat=True) for uid in authors]
    last = Participant.objects.filter(grove=document.grove, uid__in=wrote[-1:]).first()
    by = last or before.by
    writer.actor = writer.actor or by.uid
    stored = _revise(document, text, by=by, authors=list(dict.fromkeys(wrote)), at=at, seq=seq)
    _announce(writer, document, stored.revision)
    return stored.revision


def _revise(  # one row of a revision has these parts
    document: Document,
    text: str,
    *,
    by: Participant,
    authors: Sequence[str],
    at: datetime,
    seq: int | None = None,
) -> Made:
    """Stores the text as the next revision of a locked document."""
    before = newest(document) if document.revision else None
    kept = documents.unpacked(before.sections) if before is not None else ()
    work = worked(text, tuple(kept))
    content, is_restored = _content(document, text, work.sha256)
    earlier = Revision.objects.filter(document=document, content=content).order_by("-number")
    document.revision += 1
    document.words = work.words
    document.touched_at = at
    document.settled = document.head if seq is None else seq
    revision = Revision.objects.create(
        document=document,
        number=document.revision,
        content=content,
        length=len(text),
        words=document.words,
        sections=documents.packed(work.sections),
        by=by,
        authors=list(authors),
        restored=earlier.values_list("number", flat=True).first() if is_restored else None,
        seq=document.settled,
        at=at,
    )
    document.save(update_fields=["head", "revision", "words", "touched_at", "settled"])
    if before is not None:
        _shrink(before, revision, text)
    _keep_embeds(document, work.embeds)
    if before is not None:
        note_rewritten(document, before.text, text)
    note_written(document)
    return Made(revision, text)


def _content(document: Document, text: str, sha256: str) -> tuple[DocumentText, bool]:
    """The row of a text, which is stored whole, and whether it was there already."""
    content = DocumentText.objects.filter(document=document, sha256=sha256).first()
    if content is None:
        return DocumentText.objects.create(document=document, sha256=sha256, text=text), False
    if content.base_id is not None:
        content.text, content.base, content.edits = text, None, None
        content.save(update_fields=["text", "base", "edits"])
    return content, True


def _shrink(before: Revision, after: Revision, text: str) -> None:
    """Stores the text of the revision before as what makes it from the new text, unless that is
    long, or too many steps would then lead to the new text. Its sections are not read again."""
    Revision.objects.filter(pk=before.pk).update(sections=[])
    old, new = before.content, after.content
    if old.pk == new.pk or old.base_id is not None or old.chain >= MOST_STEPS:
        return
    edits = _back(text, old.text)
    if len(edits) * 2 < len(old.text):
        DocumentText.objects.filter(pk=old.pk).update(text="", base=new, edits=json.loads(edits))
        if new.chain <= old.chain:
            DocumentText.objects.filter(pk=new.pk).update(chain=old.chain + 1)


def _keep_embeds(document: Document, names: frozenset[str]) -> None:
    """Stores which nodes the newest text of a locked document embeds."""
    kept = set(DocumentEmbed.objects.filter(document=document).values_list("name", flat=True))
    if kept - names:
        DocumentEmbed.objects.filter(document=document, name__in=kept - names).delete()
    rows = [DocumentEmbed(document=document, name=name) for name in sorted(names - kept)]
    DocumentEmbed.objects.bulk_create(rows)


def _announce(writer: Writer, document: Document, revision: Revision) -> None:
    payload = {"document": body_of(document), "changed": ["text"], "authors": revision.authors}
    writer.append("document.changed", {**payload, "text": _named(revision)})


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
            is_size=True,
        )
