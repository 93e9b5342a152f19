"""Suggestions for documents: other wordings, which their writers accept as a revision or reject
(docs/model.md §5.1)."""

from collections.abc import Sequence
from typing import Annotated

from loom import access
from loom.documents import log as document_log
from loom.documents import queries
from loom.documents.access import documents_for
from loom.documents.commands.annotations import settled_revision
from loom.documents.effects import DocumentSeen
from loom.documents.models import Revision
from loom.documents.queries import get_document
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.registry import command
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import ParseError
from loom.notes.commands.annotations import (
    SUGGESTION_FORM,
    Nth,
    OfWords,
    Suggestion,
    accepts,
    demand_whole,
    set_resolved,
)
from loom.notes.words import place_of
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS
from loom.text.changes import merged
from loom.text.edits import Edit, difference
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode, demand_text
from loom.trees.commands.nodes import made_nodes
from loom.trees.named_items import item_of, touched
from loom.trees.queries import lookup


class SuggestDocument(Args):
    """The document (or part of one) and its whole new wording; with `words` what stands in their
    place, of which the `nth` is meant."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]
    content: Annotated[str, Written("content")]
    words: OfWords = ""
    nth: Nth = None


@command(
    "suggest",
    group="Make",
    klass="write",
    permissions={LOOM, READ_DOCUMENTS},
    stream="tree",
    is_first=True,
)
def suggest_document(context: Context, args: SuggestDocument) -> Reply:
    """Suggests another wording of a document, of words of it (`of:"words"`), or of a part of it
    (`suggest doc:"name" §heading …`); its writers accept it as a revision, or reject it."""
    document = get_document(context, args.ref)
    revision = settled_revision(context, document)
    document, whole = revision.document, revision.text
    text = args.content
    if args.words:
        demand_whole(args.ref)
        place = place_of(whole, args.words, args.nth or 0, shown=document.shown)
        text = f"{whole[: place[0]]}{args.content}{whole[place[1] :]}"
    elif args.ref.slice is not None:
        try:
            part = queries.text_of(document, args.ref.slice)
        except ParseError as bad:
            raise CommandError(bad.code, bad.message, hint=bad.hint) from None
        lines = whole.split("\n")
        text = "\n".join([*lines[: part.first - 1], args.content, *lines[part.last :]])
    demand_text(text)
    if text == whole:
        raise CommandError(
            "REJECTED", "The suggestion is the same as the text.", hint="change the text"
        )
    source = (item_of(document), "primary", str(revision.number))
    root = lookup.root_of(context.tree)
    new = NewNode(text, kind="annotation", form=SUGGESTION_FORM, parent=root, sources=(source,))
    suggestion = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    return Reply(
        f"✓ suggestion [{suggestion.local_id}] on {document.shown}, revision {revision.number}",
        refs=(suggestion.local_id,),
        items=touched(suggestion, document),
        inverse=made_nodes(suggestion),
    )


@accepts("document")
def accept_as_revision(context: Context, suggestion: Suggestion, own: str | None) -> Reply:
    """Makes the suggestion, or the caller's `own` text, a revision and closes the suggestion. What
    was written since is merged; CONFLICT if both changed the same passage."""
    node, key = suggestion.node, ids.document_id(suggestion.item) or 0
    readable = documents_for(context.actor, context.tree).filter(pk=key)
    document = readable.select_related("grove").first()
    if document is None:
        raise not_found("The document of this suggestion")
    access.demand(context.actor, {READ_DOCUMENTS, WRITE_DOCUMENTS}, "deciding about a document")
    base = queries.revision_of(document, int(suggestion.version)).text

    def change(text: str, newest: Revision) -> Sequence[Edit]:
        taken = own if own is not None else merged(base, text, node.text)
        if taken is None:
            raise CommandError(
                "CONFLICT",
                f"{newest.by.name} changed the same passage of {document.shown} since.",
                hint=f"→ accept {node.local_id} edited, with the text that both lead to",
            )
        return difference(text, taken)

    decision = "accepted" if own is None else "edited"
    if context.world.is_dry:
        change(queries.current(document), queries.newest(document))
        return Reply(f"✓ {decision} [{node.local_id}] as a revision of {document.shown}")
    with context.grove_stream() as writer:
        by = context.actor.participant
        stored = document_log.write(writer, document, change, by=by, at=context.now)
        number = stored.revision.number
        body = {"document": document.uid, "node": node.slot.local_id, "decision": decision}
        writer.append("suggestion.decided", {**body, "version": number})
    op: Op = {"op": "document", "document": document.pk, "at": number, "to": number - 1}
    context.add(DocumentSeen(document.pk, number))
    return Reply(
        f"✓ accepted [{node.local_id}] as revision {number} of {document.shown}",
        refs=(f"doc:{document.uid}",),
        items=touched(node, document),
        inverse=(set_resolved(context, node, True, decision=decision), op),
    )
