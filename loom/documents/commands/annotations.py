"""Comments on a document, on words of it or on a part (docs/model.md §5.1)."""

from collections.abc import Iterable
from functools import partial
from typing import Annotated, Literal

from django.db import transaction
from django.db.models import Q

from loom.documents import log as document_log
from loom.documents import queries, rules
from loom.documents.models import Document, Revision
from loom.documents.queries import get_document
from loom.engine import announcements
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.effects import after_each_line
from loom.engine.models import Event
from loom.engine.registry import command
from loom.engine.storing import Storing
from loom.errors import CommandError
from loom.language.refs import ParseError, Slice, print_slice
from loom.notes.commands.annotations import ANNOTATION_FORMS, Nth, OfWords, note_mentions
from loom.notes.words import place_of, stored
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE
from loom.text.lines import line_span
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode, demand_text
from loom.trees.commands.nodes import made_nodes
from loom.trees.models import Node, NodeSource
from loom.trees.named_items import item_of, touched
from loom.trees.queries import lookup

REPLY_DEPTH = 2


class AnnotateDocument(Args):
    """A comment on a document; with `words` on those, of which the `nth` place in it (or in the
    part) is meant."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]
    content: Annotated[str, Written("content")]
    words: OfWords = ""
    nth: Nth = None
    form: Annotated[
        Literal["note", "question", "suggestion", "warning", "objection"],
        Written("option", key="as", value="choice", choices=ANNOTATION_FORMS),
    ] = "note"


@command(
    "annotate",
    group="Make",
    klass="write",
    permissions={LOOM, WRITE, READ_DOCUMENTS},
    stream="tree",
    annotates=True,
    is_first=True,
)
def annotate_document(context: Context, args: AnnotateDocument) -> Reply:
    """Adds a note to a document, or to words of it (`of:"words"`); it stays at its words when the
    text around them changes."""
    demand_text(args.content)
    document = get_document(context, args.ref)
    revision = settled_revision(context, document)
    place = _place(document, revision, args)
    version = f"{revision.number}:{stored(place)}" if place else str(revision.number)
    new = NewNode(
        args.content,
        kind="annotation",
        form=args.form,
        parent=lookup.root_of(context.tree),
        sources=((item_of(document), "primary", version),),
    )
    note = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    note_mentions(context.actor, note)
    part = "" if args.ref.slice is None else f" {print_slice(args.ref.slice)}"
    return Reply(
        f"✓ annotation [{note.local_id}] added to {document.shown}{part}",
        refs=(note.local_id,),
        items=touched(note, document),
        inverse=made_nodes(note),
    )


def settled_revision(context: Context, document: Document) -> Revision:
    """The newest revision. What was typed since becomes one first, for a comment or a suggestion is
    about what its writer sees; not in a sandbox, which writes nothing but itself."""
    is_settled = document.head == document.settled
    if is_settled or context.world.is_dry or context.tree.sandbox_of_id is not None:
        return queries.newest(document)
    with context.grove_stream() as writer:
        return document_log.settled_now(writer, document, at=context.now)


def _place(
    document: Document, revision: Revision, args: AnnotateDocument
) -> tuple[int, int] | None:
    """Where the words stand (code points of the revision), or else the part; None: the whole."""
    text = revision.text
    first, last = _part(text, revision, args.ref.slice)
    if not args.words:
        return None if args.ref.slice is None else (first, last)
    return place_of(text, args.words, args.nth or 0, shown=document.shown, first=first, last=last)


def _part(text: str, revision: Revision, part: Slice | None) -> tuple[int, int]:
    """The first and the last code point of a part of the revision."""
    if part is None:
        return 0, len(text)
    try:
        cut = rules.cut(text, queries.sections_in(revision), part)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    return line_span(text, cut.first, cut.last)


# Whoever reads a document hears of its comments and suggestions.


_RESOLVED = {"annotation.resolved", "annotation.reopened", "suggestion.decided"}


@after_each_line
def _say_noted(storing: Storing) -> None:
    """Tells the open pages of a document that a comment or suggestion of it, or a reply, was made,
    taken back, decided or resolved. One query, of lines that do so."""
    writer = storing.context.writer
    named = {name for event in (writer.written if writer else ()) for name in _noted(event)}
    if not named:
        return
    tree = storing.context.tree
    notes = Node.objects.filter(tree=tree, local_id__in=named, kind="annotation")
    of_notes = Q(node__in=notes.values("slot")) | Q(node__in=notes.values("parent_slot"))
    rows = NodeSource.objects.filter(of_notes, role="primary", item__kind="document")
    for key in set(rows.values_list("item", flat=True)):
        uid = Document.objects.filter(pk=-key).values_list("uid", flat=True).first()
        if uid is not None:
            bell = document_log.bell(uid)
            transaction.on_commit(partial(announcements.send, bell, {"type": "noted"}))


def _noted(event: Event) -> Iterable[str]:
    """The local ids of annotations about documents that an event of a tree may be about. Those
    stand below the root and have a source, their replies one deeper."""
    body = event.payload
    if event.kind == "node.added" and body["node"].get("kind") == "annotation":
        node = body["node"]
        return [node["id"]] if node.get("sources") or node["depth"] == REPLY_DEPTH else ()
    if event.kind in _RESOLVED or (event.kind == "node.flagged" and body["flag"] == "pruned"):
        return [body["node"]]
    return ()
