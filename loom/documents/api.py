"""Documents in the API: listing, making, reading in whole or in part, writing, and their
revisions."""

from functools import partial
from itertools import takewhile
from typing import Any, Literal

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.documents import access as document_access
from loom.documents import actions as verbs
from loom.documents import queries, rules, summaries
from loom.documents.access import documents_for, linked_to
from loom.documents.commands.writing import Kind
from loom.documents.models import Document, Revision
from loom.errors import CommandError
from loom.language.refs import ParseError, Slice
from loom.notes.queries import tags_of_item
from loom.site import api_requests as requests
from loom.site import responses
from loom.site.api_requests import read, user_of
from loom.site.responses import Returned
from loom.site.schema import (
    PAGES,
    a_number,
    an_id,
    number,
    operation,
    paged,
    paged_at_once,
    word,
)
from loom.text.front_matter import front_matter
from loom.text.hashes import instant
from loom.turns.summaries import MOST_TRIES


class DocumentListed(Returned):
    """A document without its text."""

    id: str
    grove: str
    title: str
    kind: str
    revision: int
    words: int
    summary: str
    made_at: str
    touched_at: str


class SectionOf(Returned):
    """A heading with its stable id; `first` and `last` are lines, from 1."""

    id: str
    title: str
    level: int
    first: int
    last: int


class LinkOf(Returned):
    """A link of the document: its type as read from this side, and the other end as a line names
    it."""

    id: str
    type: str
    to: str


class DocumentOne(DocumentListed):
    """A document in its newest revision: all of it, or the part selected by `section`, `first` and
    `last`, whose lines these then are. `left_out` says what of a very long one is text only."""

    text: str
    first: int
    last: int
    sections: list[SectionOf]
    front_matter: dict[str, list[str]]
    embeds: list[str]
    links: list[LinkOf]
    tags: list[str]
    authors: list[str]
    left_out: list[str]


class StepOfRevision(Returned):
    """The step that wrote a revision: `seq` counts those of its workspace (of the grove, for what
    no line wrote: `workspace` and `tree` are then null). `window`: the number of the window through
    which it was written, which showed the lines `first` to `last` before."""

    id: str
    seq: int
    workspace: str | None
    tree: str | None
    window: int | None
    first: int | None
    last: int | None


class RevisionOf(Returned):
    """A revision without its text. `restored` is the number of the revision whose text it
    restored; `step` is null for what people typed, and for steps of trees that the reader does not
    see."""

    number: int
    words: int
    length: int
    sha256: str
    by: str
    authors: list[str]
    restored: int | None
    step: StepOfRevision | None
    at: str


class RevisionOne(RevisionOf):
    """A revision with its text."""

    text: str


class PieceOf(Returned):
    """A piece of two texts: in both (same), or only in the earlier (old) or later (new) one."""

    kind: Literal["same", "old", "new"]
    text: str


class DifferenceSchema(Returned):
    """What changed from one revision to another, in order."""

    before: int
    after: int
    pieces: list[PieceOf]


class DocumentSent(requests.Body):
    """A new document; without a grove, in the caller's first."""

    # (Said, not checked here: the command refuses other titles with a better sentence.)
    title: str = Field(json_schema_extra={"minLength": 1, "maxLength": 200, "pattern": "\\S"})
    kind: Kind = "note"
    text: str = ""
    grove: str = Field("", json_schema_extra={"pattern": "^[A-Za-z0-9]*$"})


class DocumentChangedSchema(requests.PartialBody):
    """A new title or kind."""

    title: str = ""
    kind: Kind = "note"


class WriteSent(requests.PartialBody):
    """Exactly one change: `text` (all of it), `append`, `at` or `section` with `content`, or `old`
    with `new`. `revision` is the one that the caller has seen; without it nothing is checked."""

    text: str = ""
    append: str = ""
    at: str = ""
    section: str = ""
    content: str = ""
    old: str = ""
    new: str = ""
    revision: int = 1


class RestoreSent(requests.Body):
    """The revision to restore."""

    revision: int


@operation(
    "GET",
    "documents list",
    "The documents of a grove, or those linked to a tree",
    answers=responses.Page[DocumentListed],
    asks=(
        an_id("grove", "Default: the caller's first."),
        an_id("tree", "Only those linked to this tree or a node of it."),
        *PAGES,
    ),
)
@operation(
    "POST",
    "documents make",
    "Make a document",
    body=DocumentSent,
    answers=DocumentOne,
    status=201,
)
@api_view(["GET", "POST"])
def documents(request: Request) -> Response:
    """Lists documents, the last written first; or makes one."""
    user = user_of(request)
    if request.method == "POST":
        sent = read(request, DocumentSent)
        uid = sent.grove or access.first_grove(user).uid
        actor, _ = access.get_grove(user, uid, role="writer")
        new_document = verbs.make_document(actor, title=sent.title, kind=sent.kind, text=sent.text)
        return Response(_one(actor, new_document), status=201)
    tree = word(request, "tree")
    if tree:
        actor, row = access.get_tree(user, tree)
        rows = linked_to(row, documents_for(actor, row))
    else:
        uid = word(request, "grove") or access.first_grove(user).uid
        actor, _ = access.get_grove(user, uid)
        rows = documents_for(actor)
    return paged(request, rows.select_related("grove"), _listed)


_PART = (
    OpenApiParameter("section", OpenApiTypes.STR, description="A heading or its id."),
    a_number("first", "The first line, from 1.", least=1),
    a_number("last", "The last line.", least=1),
)


@operation("GET", "documents one", "A document", answers=DocumentOne, asks=_PART)
@operation(
    "PATCH",
    "documents change",
    "Rename a document or change its kind",
    body=DocumentChangedSchema,
    answers=DocumentOne,
)
@api_view(["GET", "PATCH"])
def document(request: Request, uid: str) -> Response:
    """A document with its text and sections; `?section=` and `?first=&last=` give a part."""
    role: Any = "writer" if request.method == "PATCH" else "reader"
    actor, row = document_access.get_document(user_of(request), uid, role=role)
    if request.method == "PATCH":
        row = verbs.change_document(actor, row, **read(request, DocumentChangedSchema).sent)
        return Response(_one(actor, row))
    return Response(_one(actor, row, _part(request)))


@operation(
    "POST",
    "documents write",
    "Write a document or a part of it",
    body=WriteSent,
    answers=DocumentOne,
)
@api_view(["POST"])
def write(request: Request, uid: str) -> Response:
    """Changes the text, which makes a new revision."""
    actor, row = document_access.get_document(user_of(request), uid, role="writer")
    return Response(_one(actor, verbs.write_document(actor, row, **read(request, WriteSent).sent)))


@operation(
    "GET",
    "documents revisions",
    "The revisions of a document, newest first",
    answers=responses.Page[RevisionOf],
    asks=PAGES,
)
@api_view(["GET"])
def revisions(request: Request, uid: str) -> Response:
    """Every revision, without its text."""
    actor, row = document_access.get_document(user_of(request), uid)
    return paged_at_once(request, queries.revisions(row), partial(_revisions, actor))


@operation("GET", "documents revision", "One revision", answers=RevisionOne)
@api_view(["GET"])
def revision(request: Request, uid: str, revision: int) -> Response:
    """A revision with its text."""
    actor, document = document_access.get_document(user_of(request), uid)
    row = queries.revision_of(document, revision)
    (body,) = _revisions(actor, [row])
    return Response({**body, "text": row.text})


@operation(
    "GET",
    "documents difference",
    "What a revision changed, word by word",
    answers=DifferenceSchema,
    asks=(a_number("before", "The earlier revision; default: the previous one.", least=0),),
)
@api_view(["GET"])
def difference(request: Request, uid: str, revision: int) -> Response:
    """What changed from an earlier revision to this one."""
    _, row = document_access.get_document(user_of(request), uid)
    after = queries.revision_of(row, revision)
    before = number(request, "before", default=revision - 1)
    text = queries.revision_of(row, before).text if before else ""
    pieces = queries.difference(text, after.text)
    body = [{"kind": piece.kind, "text": piece.text} for piece in pieces]
    return Response({"before": before, "after": revision, "pieces": body})


class SummaryOf(Returned):
    """The summary of a document (of its revision `revision`), and whether one is being made;
    `failed` are the attempts that have failed since."""

    summary: str
    revision: int
    open: int
    failed: list[dict[str, Any]]


@operation("GET", "documents summary", "The summary of a document", answers=SummaryOf)
@operation(
    "POST",
    "documents summarise",
    "Ask for a new summary of a document",
    answers={202: SummaryOf},
)
@api_view(["GET", "POST"])
def summary(request: Request, uid: str) -> Response:
    """The summary; a POST requests a new one, also after failures."""
    role: Any = "writer" if request.method == "POST" else "reader"
    actor, document = document_access.get_document(user_of(request), uid, role=role)
    if request.method == "POST":
        summaries.summarise_document(actor, document, again=True)
    rows = list(summaries.of_document(document)[:MOST_TRIES])
    failed = takewhile(lambda run: run.status != "done", rows)
    body = SummaryOf(
        summary=document.summary,
        revision=document.summary_revision,
        open=sum(row.ended_at is None for row in rows),
        failed=[run.error for run in failed if run.error],
    )
    return Response(body.model_dump(), status=202 if request.method == "POST" else 200)


@operation(
    "POST",
    "documents restore",
    "Make the text of an earlier revision the newest",
    body=RestoreSent,
    answers=DocumentOne,
)
@api_view(["POST"])
def restore(request: Request, uid: str) -> Response:
    """Restores an earlier revision as a new one."""
    actor, row = document_access.get_document(user_of(request), uid, role="writer")
    return Response(
        _one(actor, verbs.restore_document(actor, row, read(request, RestoreSent).revision))
    )


@operation(
    "GET",
    "documents export",
    "A document as a Markdown file",
    answers={(200, "text/markdown"): OpenApiTypes.STR},
)
@api_view(["GET"])
def export(request: Request, uid: str) -> HttpResponse:
    """The newest text as a file, exactly as it is stored."""
    _, row = document_access.get_document(user_of(request), uid)
    name, text = queries.as_file(row)
    answer = HttpResponse(text.encode(), content_type="text/markdown; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def _listed(row: Document) -> dict[str, Any]:
    return {
        "id": row.uid,
        "grove": row.grove.uid,
        "title": row.title,
        "kind": row.kind,
        "revision": row.revision,
        "words": row.words,
        "summary": row.summary,
        "made_at": instant(row.made_at),
        "touched_at": instant(row.touched_at),
    }


def _one(actor: Actor, row: Document, part: Slice | None = None) -> dict[str, Any]:
    row.grove = actor.grove
    try:
        shown = queries.text_of(row, part)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    whole = shown.revision.text
    spans = rules.spans_of(whole, shown.sections)
    sections = [
        {
            "id": section.id,
            "title": section.text,
            "level": section.level,
            "first": first,
            "last": last,
        }
        for section, (first, last) in zip(shown.sections, spans, strict=True)
    ]
    links = queries.links_of_document(actor, row, None)
    return {
        **_listed(row),
        "text": shown.text,
        "first": shown.first,
        "last": shown.last,
        "sections": sections,
        "front_matter": {name: list(all_) for name, all_ in front_matter(whole).items()},
        "embeds": rules.embeds_of(whole),
        "links": [{"id": link.uid, "type": link.type, "to": link.ref} for link in links],
        "tags": tags_of_item(actor, row.item_id),
        "authors": shown.revision.authors,
        "left_out": rules.left_out(whole),
    }


def _revisions(actor: Actor, rows: list[Revision]) -> list[dict[str, Any]]:
    wrote = queries.steps_of(actor, rows)
    return [_revision(row, wrote.get(row.step_id or 0)) for row in rows]


def _revision(row: Revision, step: queries.WroteRevision | None) -> dict[str, Any]:
    wrote = step and {
        "id": step.uid,
        "seq": step.seq,
        "workspace": step.workspace or None,
        "tree": step.tree or None,
        "window": row.window,
        "first": row.first,
        "last": row.last,
    }
    return {
        "number": row.number,
        "words": row.words,
        "length": row.length,
        "sha256": row.content.sha256,
        "by": row.by.uid,
        "authors": row.authors,
        "restored": row.restored,
        "step": wrote,
        "at": instant(row.at),
    }


def _part(request: Request) -> Slice | None:
    section = request.query_params.get("section", "").removeprefix("§")
    if section:
        return Slice("section", name=section)
    if "first" not in request.query_params and "last" not in request.query_params:
        return None
    first = number(request, "first", default=1, least=1)
    last = number(request, "last", default=10**8, least=1)
    if first > last:
        raise CommandError(
            "INVALID_SYNTAX", "The part ends before it begins.", hint="first at most last"
        )
    return Slice("lines", first, last)
