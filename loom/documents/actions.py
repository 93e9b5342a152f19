"""Documents made, written, renamed and restored by the pages and the API."""

from collections.abc import Callable, Sequence
from typing import Any

from loom.access import Actor
from loom.documents import log as document_log
from loom.documents import queries
from loom.documents import rules as documents
from loom.documents.access import documents_for
from loom.documents.commands.writing import (
    Kind,
    changing,
    checked_title,
    create,
    demand_free,
    words_replaced,
)
from loom.documents.models import Document, Revision
from loom.documents.rules import Section
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.refs import DocumentPlace
from loom.text.edits import Edit, difference
from loom.text.front_matter import title_key


class NewDocument(Args):
    """A new document."""

    title: str
    kind: Kind = "note"
    text: str = ""


class DocumentChange(Args):
    """The changes to a document: its title or kind; an empty field stays as it is."""

    document: str
    title: str = ""
    kind: Kind | None = None


class DocumentWritten(Args):
    """One change of a document's text: all of it (`text`), an addition at the end (`append`) or at
    a place (`at`: start, end, line:n, §section, with `content`), a section's body (`section`), or
    words (`old`, `new`). `revision` is the one that the writer has seen; None skips the check."""

    document: str
    text: str | None = None
    append: str | None = None
    at: str | None = None
    section: str | None = None
    content: str = ""
    old: str | None = None
    new: str = ""
    revision: int | None = None


class DocumentRestored(Args):
    """A revision whose text becomes the newest again."""

    document: str
    revision: int


def make_document(actor: Actor, *, title: str, kind: Kind = "note", text: str = "") -> Document:
    """Makes a document in the actor's grove. For writers."""
    with document_log.text_ahead(text):
        return execute(actor, actor.grove, _make, NewDocument(title=title, kind=kind, text=text))


def change_document(
    actor: Actor, document: Document, *, title: str = "", kind: Kind | None = None
) -> Document:
    """Renames a document or changes its kind. For writers."""
    args = DocumentChange(document=document.uid, title=title, kind=kind)
    return execute(actor, actor.grove, _change, args)


def write_document(actor: Actor, document: Document, **fields: Any) -> Document:
    """Writes a document, with the fields of `DocumentWritten`. For writers."""
    args = DocumentWritten(document=document.uid, **fields)

    def change(text: str, newest: Revision) -> Sequence[Edit]:
        return _change_of(document, args)(text, newest)

    with document_log.worked_ahead(document, change):
        return execute(actor, actor.grove, _write_text, args)


def restore_document(actor: Actor, document: Document, revision: int) -> Document:
    """Makes the text of an earlier revision the newest one. For writers."""
    args = DocumentRestored(document=document.uid, revision=revision)
    with document_log.worked_ahead(document, _restoring(document, revision)):
        return execute(actor, actor.grove, _restore, args)


@action("make_document", stream="grove", role="writer")
def _make(change: RunningAction, args: NewDocument) -> Document:
    """Makes a document in a grove."""
    stored = create(
        change.writer,
        change.actor,
        title=args.title,
        text=args.text,
        now=change.now,
        kind=args.kind,
    )
    return stored.revision.document


@action("change_document", stream="grove", role="writer")
def _change(change: RunningAction, args: DocumentChange) -> Document:
    """Renames a document or changes its kind."""
    row = document_log.lock(_of(change, args.document))
    changed = []
    if args.title and (title := checked_title(args.title)) != row.title:
        demand_free(change.actor, title, row)
        row.title, row.title_key = title, title_key(title)
        changed.append("title")
    if args.kind is not None and args.kind != row.kind:
        row.kind = args.kind
        changed.append("kind")
    if changed:
        row.save(update_fields=["title", "title_key", "kind"])
        payload = {"document": document_log.body_of(row), "changed": changed}
        change.writer.append("document.changed", payload)
    return row


@action("write_document", stream="grove", role="writer")
def _write_text(change: RunningAction, args: DocumentWritten) -> Document:
    """Writes a document: all of it, or a part."""
    document = _of(change, args.document)
    stored = document_log.write(
        change.writer,
        document,
        _change_of(document, args),
        by=change.actor.participant,
        at=change.now,
    )
    return stored.revision.document


def _change_of(document: Document, args: DocumentWritten) -> document_log.Change:
    return changing(_edits(args), seen=args.revision, name=document.shown)


@action("restore_document", stream="grove", role="writer")
def _restore(change: RunningAction, args: DocumentRestored) -> Document:
    """Makes the text of an earlier revision the newest one."""
    document = _of(change, args.document)
    stored = document_log.write(
        change.writer,
        document,
        _restoring(document, args.revision),
        by=change.actor.participant,
        at=change.now,
    )
    return stored.revision.document


def _restoring(document: Document, revision: int) -> document_log.Change:
    return lambda now, _: difference(now, queries.revision_of(document, revision).text)


def _of(change: RunningAction, uid: str) -> Document:
    document = documents_for(change.actor).select_related("grove").filter(uid=uid).first()
    if document is None:
        raise not_found("This document")
    return document


def _edits(args: DocumentWritten) -> Callable[[str, Sequence[Section]], list[Edit]]:
    """The edits that the one given field makes. INVALID_SYNTAX if none or several are given."""
    given = [name for name in ("text", "append", "at", "section", "old") if _is_given(args, name)]
    if len(given) != 1:
        raise CommandError(
            "INVALID_SYNTAX",
            "A write has exactly one of text, append, at, section and old.",
            hint="send one of them",
        )
    if args.text is not None:
        return lambda text, _: difference(text, args.text or "")
    if args.append is not None:
        return lambda text, _: documents.appended(text, args.append or "")
    if args.old is not None:
        return lambda text, _: words_replaced(text, args.old or "", args.new)
    if args.section is not None:
        section = DocumentPlace("section", name=args.section.removeprefix("§"))
        return lambda text, all_: documents.replaced_section(text, all_, section, args.content)
    place = _place(args.at or "")
    return lambda text, all_: documents.put_at(text, all_, place, args.content)


def _is_given(args: DocumentWritten, name: str) -> bool:
    return getattr(args, name) is not None


def _place(written: str) -> DocumentPlace:
    line = written.removeprefix("line:")
    if written in ("start", "end"):
        return DocumentPlace("start" if written == "start" else "end")
    if line != written and line.isascii() and line.isdecimal() and 0 < int(line[:9]) < 10**8:
        return DocumentPlace("line", line=int(line))
    if written[:1] == "§" and len(written) > 1:
        return DocumentPlace("section", name=written[1:].strip('"'))
    raise CommandError(
        "INVALID_SYNTAX",
        f"{written[:40]!r} is not a place.",
        hint="start, end, line:12 or §heading",
    )
