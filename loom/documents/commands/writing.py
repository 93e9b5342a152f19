"""Commands that view and write documents by a line in a tree, and the checks that they share with
the actions of pages and API."""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Annotated, Any, Literal

from django.db.models import QuerySet

from loom.access import Actor, in_tree
from loom.documents import log as document_log
from loom.documents import queries
from loom.documents import rules as documents
from loom.documents.access import documents_for
from loom.documents.effects import DocumentSeen, seen_by_line
from loom.documents.hints import WRITE_HINTS
from loom.documents.models import Document, Revision, read_whole
from loom.documents.queries import (
    DocumentAnnotation,
    DocumentShown,
    get_document,
    revision_seen,
    text_of,
)
from loom.documents.rules import Section, unpacked
from loom.engine.arguments import Args, PlaceField, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.jobs import enqueue
from loom.engine.registry import command, describe_verb, line_with
from loom.engine.streams import Writer
from loom.engine.undo import Own, undoes
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import DocumentPlace, ParseError, Ref, print_ref
from loom.language.slices import PART_LINES
from loom.language.slices import words as worded
from loom.language.verbs import Phrases, Verb
from loom.links import link_types
from loom.links.commands.links import join, link_body
from loom.links.derived import derived_type
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.notes.words import MOST_SHOWN
from loom.people.names import skeleton
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS
from loom.reading.commands.view import escaped_for, line_of
from loom.text.ages import age
from loom.text.changes import merged
from loom.text.counts import counted
from loom.text.edits import Edit, difference, rebased
from loom.text.front_matter import MAX_TITLE, body_start, title_key
from loom.text.lines import line_span
from loom.text.shortening import SUMMARY_WORDS, excerpt
from loom.trees.lists import text_listers
from loom.trees.models import Tree
from loom.trees.named_items import demand_whole, item_of
from loom.trees.queries import lookup
from loom.trees.queries.lookup import withheld
from loom.workspace.commands.lenses import demand_lines, move_along, range_of, steps_of_batch
from loom.workspace.commands.windows import known, move_window
from loom.workspace.models import Window
from loom.workspace.queries.open_windows import get_window, text_in
from loom.workspace.queries.window_contents import compared, is_of_own_kind
from loom.workspace.queries.windows import followed, is_fixed, lines_of, seen_by
from loom.workspace.queries.windows import named as lines_named
from loom.workspace.window_rules import Span, difference_named, total_of

Kind = Literal["note", "augment"]
MOST_SECTIONS = 60  # that a view lists
MOST_LISTED = 50
MOST_CHANGES = 3  # of others, that a refusal shows
MOST_COMPARED = 100_000  # characters of a text of which it shows the words


class ViewDocument(Args):
    """What to view, and how much of it."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]
    length: Annotated[
        Literal["full", "summary"] | None, Written("choice", choices=("full", "summary"))
    ] = None
    with_annotations: Annotated[bool, Written("flag", lead="with-annotations")] = False
    form: Annotated[
        Literal["prose", "nodes", "diff"] | None,
        Written("option", key="as", value="choice", choices=("prose", "nodes", "diff")),
    ] = None


@command("view", group="Look", klass="look", permissions={LOOM, READ_DOCUMENTS}, is_first=True)
def view_document(context: Context, args: ViewDocument) -> Reply:
    """Shows a document: its first words and its sections, with `full` or `as:prose` all of it, or a
    part: `view doc:"name" §heading`. `as:diff` shows what has changed since you saw it, or in the
    newest revision."""
    document = get_document(context, args.ref)
    try:
        shown = text_of(document, args.ref.slice)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    demand_lines(args.ref, shown)
    context.add(DocumentSeen(document.pk, shown.revision.number))
    head = (
        f"{document.shown} ({worded(document.words)} · "
        f"updated {age(context.now, document.touched_at)} · revision {shown.revision.number})"
    )
    if args.form == "diff":
        lines = _difference(context, args.ref, document)
    elif args.ref.slice is not None:
        lines = [escaped_for(context.actor, shown.text)]
        lines += [f"({shown.clipped})"] if shown.clipped else []
        head += f" · lines {shown.first}–{shown.last}"
    elif args.length == "full" or args.form == "prose":
        lines = [escaped_for(context.actor, shown.text)]
    else:
        lines = [escaped_for(context.actor, line) for line in _summary(shown)]
        if args.length == "summary" or not context.turn:
            want_summary(context, document)
    if args.with_annotations:
        lines += _annotated(context, queries.notes_on(context.actor, document, context.tree))
    return Reply(
        "\n".join([head, *lines]), refs=(f"doc:{document.uid}",), items=(item_of(document),)
    )


def _difference(context: Context, ref: Ref, document: Document) -> list[str]:
    """What has changed since the revision that the workspace has seen; if that is the newest, since
    the one before. INVALID_SYNTAX for a part, REJECTED if there is only one revision."""
    whole = print_ref(replace(ref, slice=None))
    if ref.slice is not None:
        reason = "as:diff shows what has changed in the whole document."
        raise CommandError("INVALID_SYNTAX", reason, hint=f"→ view {whole} as:diff")
    if document.revision == 1:
        reason = f"{whole} was not changed since it was written."
        raise CommandError("REJECTED", reason, hint=f"→ view {whole} full")
    seen = revision_seen(context.workspace, document)
    old = seen if 0 < seen < document.revision else document.revision - 1
    before, now = queries.revision_of(document, old), queries.newest(document)
    rows = compared(before.text, now.text, f"revision {old}", f"revision {now.number}")
    return [escaped_for(context.actor, row.text) for row in rows]


def _annotated(context: Context, notes: Sequence[DocumentAnnotation]) -> list[str]:
    """A line for each annotation on a document, with the words that it is about."""
    gone = withheld(context.actor, [annotation.note.pk for annotation in notes])
    about = {
        annotation.note.pk: f"on {excerpt(annotation.words, MOST_SHOWN)}"
        for annotation in notes
        if annotation.words
    }
    return [
        line_of(annotation.note, context.now, withheld=gone, marks=about) for annotation in notes
    ]


def _summary(shown: DocumentShown) -> list[str]:
    """The summary, else the first words; and the parts that can be viewed on their own."""
    document = shown.document
    body = shown.text[body_start(shown.text) :]
    lines = [f"summary: {document.summary}" if document.summary else excerpt(body)]
    spans = documents.spans_of(shown.text, shown.sections, most=MOST_SECTIONS)
    for section, (first, last) in zip(shown.sections, spans, strict=False):
        indent = "  " * section.level
        lines.append(f"{indent}§{section.id} {section.text} (lines {first}–{last})")
    if len(shown.sections) > MOST_SECTIONS:
        lines.append(f"  … and {len(shown.sections) - MOST_SECTIONS} more sections")
    parts = -(-shown.last // PART_LINES)
    if not shown.sections and parts > 1:
        lines.append(f"  {shown.last:,} lines: part:1 to part:{parts}")
    return lines


def want_summary(context: Context, document: Document) -> None:
    """Queues the summary that a document lacks, for the next time."""
    is_there = document.summary_revision == document.revision or document.words <= SUMMARY_WORDS
    if not is_there and context.writer is None:
        named_ = [document.uid, context.actor.person.pk, context.turn]
        enqueue("loom.documents.tasks.summarise", named_, queue="continue")


class ListDocuments(Args):
    """All documents, after so many of them."""

    documents: Annotated[str, Written("word", lead="documents")]
    after: Annotated[int, Written("option", key="after", value="int", minimum=0)] = 0


class ListDocument(Args):
    """The document, and a link type; `mentions` are what it embeds."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]
    type: Annotated[str, Written("type")] = ""
    after: Annotated[int, Written("option", key="after", value="int", minimum=0)] = 0


@command("list", group="Look", klass="look", permissions={LOOM, READ_DOCUMENTS}, is_first=True)
def list_documents(context: Context, args: ListDocuments) -> Reply:
    """Lists the documents that you may read here, the last written first."""
    documents = documents_for(context.actor, context.tree)
    rows = list(documents[args.after : args.after + MOST_LISTED])
    every = args.after + len(rows) if len(rows) < MOST_LISTED else documents.count()
    lines = [f"→ {counted(every, 'document')}{':' if rows else ''}"]
    for row in rows:
        kind = " · augment" if row.kind == "augment" else ""
        ago = age(context.now, row.touched_at)
        summary = f' "{row.summary}"' if row.summary else ""
        lines.append(f"  {row.shown} ({worded(row.words)} · updated {ago}{kind}){summary}")
    last = args.after + len(rows)
    if every > last and rows:
        lines.append(f"  … {every - last:,} more: → list documents after:{last}")
    refs = tuple(f"doc:{row.uid}" for row in rows)
    return Reply("\n".join(lines), refs=refs)


@command("list", group="Look", klass="look", permissions={LOOM, READ_DOCUMENTS}, is_first=True)
def list_links(context: Context, args: ListDocument) -> Reply:
    """Lists the links of a document, with a type only those; `mentions` lists what it embeds, as
    `![[a7x2]]` on a line does, `contains` also its sections, `requires` also what an augment
    requires, `annotations` the notes on it and on its words, and `claims` those about it."""
    document = get_document(context, args.ref)
    _demand_whole(document, args)
    if derived_type(args.type) == "annotations":
        return _annotations(context, document, args.after)
    kind = args.type.lower()
    others = text_listers()
    if kind in others:
        return others[kind](context, document)
    links = queries.links_of_document(context.actor, document, context.tree)
    if kind not in ("", "links"):
        known = vocabulary_of(context.actor.grove).words(archetype_of(context.actor))
        if kind not in (*known, "mentions"):
            raise CommandError(
                "INVALID_SYNTAX",
                f"There is no list {kind!r} of a document.",
                hint="there are "
                + ", ".join(("links", "annotations", "mentions", *others, *known)),
            )
        links = [link for link in links if link.type == kind]
        own = queries.derived_links(context.actor, document, kind, context.tree)
        links += [link for link in own if link.ref not in {stored.ref for stored in links}]
    typed = "" if kind in ("", "links") else f" ({kind})"
    head = f"{document.shown} → {counted(len(links), 'link')}{typed}{':' if links else ''}"
    shown = links[args.after : args.after + MOST_LISTED]
    lines = [f"  {link_types.arrow(link.type)} {link.shown}" for link in shown]
    last = args.after + len(shown)
    if last < len(links):
        line = f"list {document.shown} {kind}".rstrip()
        lines.append(f"  … {len(links) - last:,} more: → {line} after:{last}")
    refs = tuple(link.ref for link in shown)
    context.note_read(*(link.item for link in shown if link.item))
    return Reply("\n".join([head, *lines]), refs=refs, items=(item_of(document),))


def _demand_whole(document: Document, args: ListDocument) -> None:
    """Refuses a part of a document, whose links are of all of it: NOT_FOUND if there is none such.
    The hint is the line for the whole."""
    if args.ref.slice is None:
        return
    try:
        demand_lines(args.ref, text_of(document, args.ref.slice))
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    line = line_with(list_links, args, ref=replace(args.ref, slice=None))
    demand_whole(args.ref, "links and annotations are listed of a whole document.", line)


def _annotations(context: Context, document: Document, after: int) -> Reply:
    """The annotations of a document that the caller may read, each with the words it is about."""
    notes = queries.notes_on(context.actor, document, context.tree)
    shown = notes[after : after + MOST_LISTED]
    lines = [f"{document.shown} → {counted(len(notes), 'annotation')}{':' if notes else ''}"]
    lines += [f"  {line}" for line in _annotated(context, shown)]
    last = after + len(shown)
    if last < len(notes):
        more = f"→ list {document.shown} annotations after:{last}"
        lines.append(f"  … {len(notes) - last:,} more: {more}")
    refs = tuple(lookup.node_ref(annotation.note, context.tree.pk) for annotation in shown)
    context.note_read(*(ids.of_node(annotation.note.pk) for annotation in shown))
    return Reply("\n".join(lines), refs=refs, items=(item_of(document),))


# Writing by a line.


class _Write(Args):
    """The document."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


class WriteNew(_Write):
    """The name and the text of a new document."""

    new: Annotated[str, Written("word", lead="new")]
    content: Annotated[str, Written("content")]


class WriteAppend(_Write):
    """What to add at the end."""

    append: Annotated[str, Written("word", lead="append")]
    content: Annotated[str, Written("content")]
    revision: Annotated[int | None, Written("option", key="revision", value="int", minimum=1)] = (
        None
    )


class WriteAt(_Write):
    """What to add, and where."""

    content: Annotated[str, Written("content")]
    at: Annotated[PlaceField, Written("option", key="at", value="place")]
    revision: Annotated[int | None, Written("option", key="revision", value="int", minimum=1)] = (
        None
    )


class WriteSection(_Write):
    """The section and its new body."""

    content: Annotated[str, Written("content")]
    replace: Annotated[
        PlaceField, Written("option", key="replace", value="place", shown="§section")
    ]
    revision: Annotated[int | None, Written("option", key="revision", value="int", minimum=1)] = (
        None
    )


class WriteWords(_Write):
    """Which words to replace with which."""

    replace: Annotated[str, Written("option", key="replace", value="quoted")]
    new: Annotated[str, Written("option", key="with", value="quoted")]
    all: Annotated[bool, Written("flag")] = False
    revision: Annotated[int | None, Written("option", key="revision", value="int", minimum=1)] = (
        None
    )


class MoveSection(_Write):
    """The section to move, and the one that it comes after or before."""

    move: Annotated[PlaceField, Written("option", key="move", value="place", shown="§section")]
    after: Annotated[
        PlaceField | None, Written("option", key="after", value="place", shown="§section")
    ] = None
    before: Annotated[
        PlaceField | None, Written("option", key="before", value="place", shown="§section")
    ] = None
    revision: Annotated[int | None, Written("option", key="revision", value="int", minimum=1)] = (
        None
    )


class RemoveSection(_Write):
    """The section to remove."""

    remove: Annotated[PlaceField, Written("option", key="remove", value="place", shown="§section")]
    revision: Annotated[int | None, Written("option", key="revision", value="int", minimum=1)] = (
        None
    )


_Existing = WriteAppend | WriteAt | WriteSection | WriteWords | MoveSection | RemoveSection
EditsOf = Callable[[str, Sequence[Section]], list[Edit]]


def _edits_of(args: _Existing) -> EditsOf:
    """The edits that a line makes in the text of an existing document."""
    if isinstance(args, WriteAppend):
        return lambda text, _: documents.appended(text, args.content)
    if isinstance(args, WriteAt):
        return lambda text, sections: documents.put_at(text, sections, args.at, args.content)
    if isinstance(args, WriteWords):
        return lambda text, _: words_replaced(text, args.replace, args.new, everywhere=args.all)
    if isinstance(args, RemoveSection):
        return lambda text, sections: documents.removed_section(text, sections, args.remove.name)
    if isinstance(args, MoveSection):
        return lambda text, sections: documents.moved_section(
            text, sections, args.move.name, to=_goal(args).name, is_after=args.before is None
        )
    return lambda text, sections: documents.replaced_section(
        text, sections, args.replace, args.content
    )


def _worked_ahead(actor: Actor, tree: Tree, args: Any) -> AbstractContextManager[None]:
    """Reads the document that a line writes, and works out its new sections, before the grove is
    locked. What cannot be read is refused under the lock, in the usual words."""
    if isinstance(args, WriteNew):
        return document_log.text_ahead(args.content)
    if not isinstance(args, _Existing) or args.ref.slice is not None:
        return nullcontext()
    try:
        document = queries.document_of(actor, tree, args.ref)
    except CommandError:
        return nullcontext()
    change = changing(_edits_of(args), seen=args.revision, name=document.shown, merges=True)
    return document_log.worked_ahead(document, change)


_OF_WRITE: dict[str, Any] = {
    "group": "Make",
    "klass": "write",
    "permissions": {LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS},
    "stream": "grove",
    "ahead": _worked_ahead,
}


describe_verb(
    Verb(
        "write",
        hints=WRITE_HINTS,
        taught=(
            'write doc:"name" new|append CONTENT; at:end|§heading CONTENT; '
            'replace:§heading CONTENT; replace:"old" with:"new" [all]; move:§a after:§b; '
            "remove:§a — or write #n CONTENT: the lines of that window. ![[a7x2]] on a "
            "line shows that node"
        ),
        phrases=(Phrases("append|append to|add to end of", before="append", needs="text"),),
        dropped=("to"),
    )
)


@command("write", **_OF_WRITE)
def write_new(context: Context, args: WriteNew) -> Reply:
    """Makes a document, and links it to this tree."""
    return made_document(context, args.ref.name or args.ref.id, args.content)


def made_document(context: Context, title: str, text: str) -> Reply:
    """Makes a document of a text, and links it to the tree of the line if the caller may write
    there. CONFLICT if the title is taken."""
    new_document = create(context.world, context.actor, title=title, text=text, now=context.now)
    document = new_document.revision.document
    if in_tree(context.actor, context.tree).right != "write":
        reply = _written(context, "created", new_document)
        reason = "not linked to this tree, in which you may not write"
        return replace(reply, text=f"{reply.text}\n  {reason}")
    link = join(context, item_of(document), item_of(context.tree), "related")
    ends = (f"doc:{document.uid}", f"tree:{context.tree.uid}")
    context.world.append("link.added", {"link": link_body(link, *ends)})
    return _written(context, "created", new_document)


@command("write", **_OF_WRITE)
def write_append(context: Context, args: WriteAppend) -> Reply:
    """Adds a paragraph at the end of a document; `![[a7x2]]` in a text shows that node there."""
    return _write(context, args, "appended to")


@command("write", **_OF_WRITE)
def write_at(context: Context, args: WriteAt) -> Reply:
    """Adds text at the start, the end, before a line (`at:line:12`), or at the end of a section
    (`at:§heading`)."""
    return _write(context, args, "wrote to", observed=True)


@command("write", **_OF_WRITE)
def write_section(context: Context, args: WriteSection) -> Reply:
    """Replaces the body of a section, below its heading."""
    _demand_sections("replace:", args.replace, hint='replace:§heading, or replace:"old" with:"new"')
    return _write(context, args, "wrote to", observed=True)


@command("write", **_OF_WRITE)
def write_words(context: Context, args: WriteWords) -> Reply:
    """Replaces words that are in the document exactly once, with `all` everywhere."""
    return _write(context, args, "wrote to")


@command("write", **_OF_WRITE)
def write_move(context: Context, args: MoveSection) -> Reply:
    """Moves a section, with what is below it, after or before another one."""
    _demand_sections("move:", args.move, _goal(args), hint="move:§one after:§other, or before:")
    return _write(context, args, "moved a section of")


def _goal(args: MoveSection) -> DocumentPlace:
    """The section beside which another one shall come; INVALID_SYNTAX unless one is named."""
    goals = [goal for goal in (args.after, args.before) if goal is not None]
    if len(goals) != 1:
        raise CommandError(
            "INVALID_SYNTAX",
            "move: needs after: or before:, and not both.",
            hint="write move:§one after:§other",
        )
    return goals[0]


@command("write", **_OF_WRITE)
def write_remove(context: Context, args: RemoveSection) -> Reply:
    """Removes a section, with its heading and what is below it."""
    _demand_sections("remove:", args.remove, hint="remove:§heading")
    return _write(context, args, "removed a section of", observed=True)


def _demand_sections(option: str, *places: DocumentPlace, hint: str) -> None:
    if any(place.kind != "section" for place in places):
        takes = "takes a section or quoted words" if option == "replace:" else "name sections"
        raise CommandError("INVALID_SYNTAX", f"{option} {takes}.", hint=f"write {hint}")


class WriteWindow(Args):
    """A window on lines of a document, and their new text."""

    ref: Annotated[RefField, Written("ref", refs=("window",))]
    content: Annotated[str, Written("content")]
    revision: Annotated[int | None, Written("option", key="revision", value="int", minimum=1)] = (
        None
    )


@command("write", **_OF_WRITE)
def write_window(context: Context, args: WriteWindow) -> Reply:
    """Replaces the lines that a window on a document shows: `write #4 …`."""
    window = known(context, get_window(context, int(args.ref.id)))
    document = _document_of(context, window)
    seen = args.revision or (document.revision if window.is_live else int(window.version_seen))
    before = queries.source_of(queries.revision_of(document, seen))
    lines = followed(seen_by(window) or before, before, lines_of(window))

    observed = seen if args.revision else _observed(context, document, seen)

    def put(text: str, _: Sequence[Section]) -> list[Edit]:
        edits = [Edit(*line_span(text, lines.first, lines.last), args.content)]
        base = queries.revision_of(document, observed).text if observed < seen else text
        if rebased(edits, difference(text, base)) is None:
            raise CommandError(
                "CONFLICT",
                f"An earlier line of this batch changed {lines_named(lines)} of {document.shown}.",
                hint="look at the text, then write it again",
            )
        return edits

    name = f"#{window.number}"
    change = changing(put, seen=seen, name=document.shown, hint=f"→ refresh {name}, then repeat")
    by = context.actor.participant
    through = document_log.Through(window.number, lines.first, lines.last)
    written = document_log.write(
        context.world, document, change, by=by, at=context.now, through=through
    )
    span = Span(lines.first, lines.last, total_of(args.content))
    after, now = queries.source_of(written.revision), span.moved(lines)
    move_along(context, before, after, span, but=window)
    move_window(context, window, after, now)
    context.add(DocumentSeen(document.pk, written.revision.number))
    words = f"{lines_named(now)}, revision {written.revision.number}"
    text = f"✓ wrote {document.shown} {words}; {name} now {range_of(now)}"
    return replace(_written(context, "wrote", written), text=text)


def _document_of(context: Context, window: Window) -> Document:
    """The document whose lines a window shows. REJECTED if it shows none or is read-only."""
    if window.kind != "document" or window.form or is_fixed(window) or window.last < window.first:
        hint = '→ open doc:"name" §heading, then write through that window'
        if window.kind in ("node", "search") or is_of_own_kind(window):
            hint = f"→ edit #{window.number} writes through it"
        elif text := text_in(context, window):
            hint = f"→ edit {text} changes one of the texts that it shows"
        raise CommandError(
            "REJECTED",
            f"Nothing of a document can be written through #{window.number}.",
            hint=hint,
        )
    rows = documents_for(context.actor, context.tree)
    row = rows.filter(pk=-(window.item_id or 0)).select_related("grove").first()
    if row is None:
        raise not_found(f"The document of #{window.number}")
    return row


def words_replaced(text: str, old: str, new: str, *, everywhere: bool = False) -> list[Edit]:
    """The edits that replace words: CONFLICT if they do not occur exactly once in the text, or,
    with `everywhere`, at all."""
    times = text.count(old) if old else 0
    if times > 1 and everywhere:
        places = (match.start() for match in re.finditer(re.escape(old), text))
        return [Edit(at, at + len(old), new) for at in places]
    if times != 1:
        raise CommandError(
            "CONFLICT",
            f"These words are in the document {counted(times, 'time')}.",
            hint="quote more of the text around them, or add all"
            if times
            else "look at the document first",
        )
    at = text.index(old)
    return [Edit(at, at + len(old), new)]


def _write(context: Context, args: _Existing, words: str, *, observed: bool = False) -> Reply:
    """Writes an existing document; `observed`: only if it is still at the revision that this
    workspace last saw."""
    if args.ref.slice is not None:
        raise CommandError(
            "INVALID_SYNTAX",
            "A line writes a whole document.",
            hint="name the place: at:§heading or replace:§heading",
        )
    document = get_document(context, args.ref)
    seen = since = args.revision
    if observed and seen is None:
        since = revision_seen(context.workspace, document)
        seen = _observed(context, document, since)
    written = document_log.write(
        context.world,
        document,
        changing(_edits_of(args), seen=seen, name=document.shown, merges=True),
        by=context.actor.participant,
        at=context.now,
    )
    number = written.revision.number
    reply = _written(context, words, written)
    if seen:
        context.add(DocumentSeen(document.pk, number))
    if since and since < number - 1:
        others = changes_since(document, since, number - 1)
        reply = replace(reply, text=f"{reply.text}\n  merged with {others}")
    return reply


def _observed(context: Context, document: Document, seen: int) -> int:
    """The revision that a line was written for: in a batch of a turn, the last that was seen before
    it, because nothing of what earlier lines made has been read yet. Two queries in a turn."""
    if not context.turn:
        return seen
    lines = steps_of_batch(context.turn).filter(canonical__startswith="→ write ")
    made = [
        op["at"]
        for inverse in lines.values_list("inverse", flat=True)
        for op in inverse or []
        if op.get("op") == "document" and op["document"] == document.pk
    ]
    # Whoever made the document in this batch knows its first text.
    return min(seen, max(min(made) - 1, 1)) if made else seen


def changing(
    edits_of: EditsOf,
    *,
    seen: int | None,
    name: str,
    hint: str = "",
    merges: bool = False,
) -> document_log.Change:
    """A change for `document_log.write` on what was seen in the revision `seen` (0: never seen;
    None: no check). If others have written since: CONFLICT, with what they changed; with `merges`
    only where they have changed the same place. NOT_FOUND for a revision that is still to come."""

    def change(text: str, newest: Revision) -> Sequence[Edit]:
        if seen == 0:
            raise CommandError(
                "CONFLICT", f"You have not looked at {name} yet.", hint=f"→ view {name} full"
            )
        if seen is not None and seen > newest.number:
            hint_newest = f"the newest is revision {newest.number}; → view {name} full shows it"
            raise not_found(f"Revision {seen} of {name}", hint_newest)
        try:
            if seen is None or seen == newest.number:
                return edits_of(text, unpacked(newest.sections))
            moved = None
            if merges:
                base = queries.revision_of(newest.document, seen)
                edits = edits_of(base.text, queries.sections_in(base))
                moved = rebased(edits, difference(base.text, text))
        except ParseError as bad:
            raise CommandError(bad.code, bad.message, hint=bad.hint) from None
        if moved is None:
            raise CommandError(
                "CONFLICT",
                f"{name} has changed since revision {seen}: "
                f"{changes_since(newest.document, seen, newest.number)}.",
                hint=hint
                or f"repeat with revision:{newest.number} if that suits it, or → view {name}",
            )
        return moved

    return change


def changes_since(document: Document, seen: int, last: int) -> str:
    """`revision 2 by Ada, line 3: - "stood" + "lay"`: what was changed after one revision up to
    another, the newest first; the last three, and no words of long texts."""
    numbers = range(last, max(seen, last - MOST_CHANGES, 0), -1)
    rows = Revision.objects.filter(document=document, number__range=(last - MOST_CHANGES, last))
    every = {row.number: row for row in rows.select_related("content", "by")}
    read_whole(row.content for row in every.values() if row.length <= MOST_COMPARED)
    lines = []
    for number in numbers:
        old, new = every.get(number - 1), every.get(number)
        if new is None:
            continue
        is_short = old is not None and max(old.length, new.length) <= MOST_COMPARED
        change = f", {difference_named(old.text, new.text)}" if old and is_short else ""
        lines.append(f"revision {number} by {new.by.name}{change}")
    left = last - seen - len(lines)
    return "; ".join([*lines, *([f"and {left} before"] if left > 0 else [])])


def _written(context: Context, words: str, written: document_log.Made) -> Reply:
    document, revision = written.revision.document, written.revision
    op: Op = {"op": "document", "document": document.pk, "at": revision.number}
    _count_as_seen(context, revision)
    return Reply(
        f"✓ {words} {document.shown} (now {worded(revision.words)}, revision {revision.number})",
        refs=(f"doc:{document.uid}",),
        items=(item_of(document),),
        inverse=({**op, "to": revision.number - 1},),
    )


def _count_as_seen(context: Context, revision: Revision) -> None:
    """A revision of one's own is seen, if the one before it was."""
    document = revision.document
    seen = seen_by_line(context, document.pk) or revision_seen(context.workspace, document)
    if seen == revision.number - 1:
        context.add(DocumentSeen(document.pk, revision.number))


@undoes("document")
def _undo_write(context: Context, op: Op, own: Own) -> list[Op]:
    """Takes back what a write changed, as a new revision; what was written elsewhere in the
    document since stays. Returns the inverse. CONFLICT if the same passage was changed since."""
    document = Document.objects.select_related("grove").get(pk=op["document"])
    op_text = queries.revision_of(document, op["at"]).text
    before = queries.revision_of(document, op["to"]).text if op["to"] else ""
    last = op["at"]

    def change(text: str, newest: Revision) -> Sequence[Edit]:
        nonlocal last
        last = newest.number
        after = merged(op_text, text, before)
        if after is None:
            later = Revision.objects.filter(document=document, number__gt=op["at"])
            others = later.exclude(by__in=own).select_related("by")
            who = (others.order_by("-number").first() or newest).by
            raise CommandError(
                "CONFLICT",
                f"{document.shown} has since been changed by {who.name}.",
                hint="look first; → undo step:n undoes another step",
            )
        return difference(text, after)

    with context.grove_stream() as writer:
        by = context.actor.participant
        written = document_log.write(writer, document, change, by=by, at=context.now)
    _count_as_seen(context, written.revision)
    return [{**op, "at": written.revision.number, "to": last}]


def create(  # of a line and of an action
    writer: Writer, actor: Actor, *, title: str, text: str, now: Any, kind: Kind = "note"
) -> document_log.Made:
    name = checked_title(title)
    demand_free(actor, name, None)
    document = Document(
        grove=actor.grove,
        title=name,
        title_key=title_key(name),
        kind=kind,
        maker=actor.participant,
        made_at=now,
        touched_at=now,
    )
    return document_log.create(writer, document, text, by=actor.participant, at=now)


def checked_title(title: str) -> str:
    name = " ".join(title.split())
    if not skeleton(name) or len(name) > MAX_TITLE or "\0" in name:
        raise CommandError(
            "INVALID_SYNTAX",
            f"A title has 1 to {MAX_TITLE} characters, and something to be seen.",
            hint="such as Notes on Marie",
        )
    return name


def demand_free(actor: Actor, title: str, own: Document | None) -> None:
    rows: QuerySet[Document] = Document.objects.filter(
        grove=actor.grove, title_key=title_key(title)
    )
    if rows.exclude(pk=own.pk if own else 0).exists():
        raise CommandError(
            "CONFLICT",
            f"There is already a document called {title!r}.",
            hint="choose another title, or → write to that one",
        )
