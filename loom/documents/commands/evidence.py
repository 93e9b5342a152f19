"""Forms of the verbs of claims that take a document: evidence, checks and tasks. Registered where
claims are installed."""

from typing import Annotated, Any

from loom.claims.commands import checks as check_commands
from loom.claims.commands import text_tasks
from loom.claims.commands.claims import (
    CiteAgainst,
    CiteFor,
    CiteUndercuts,
    give_evidence,
    undercut,
)
from loom.claims.commands.evidence_views import ViewEvidence, evidence_viewed
from loom.claims.commands.text_tasks import TaskOfNode
from loom.documents.commands.forms import MARKED
from loom.documents.queries import get_document, text_of
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.errors import CommandError
from loom.language.refs import ParseError
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS

# Evidence.


class CiteDocumentFor(CiteFor):
    """A document, or a part of one, that speaks for a claim."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


class CiteDocumentAgainst(CiteAgainst):
    """A document, or a part of one, that speaks against a claim."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


class CiteDocumentUndercuts(CiteUndercuts):
    """A document, or a part of one, that undercuts evidence."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


_CITED: dict[str, Any] = {**MARKED, "group": "Mind", "stream": "tree"}


@command("cite", **_CITED)
def cite_document_undercuts(context: Context, args: CiteDocumentUndercuts) -> Reply:
    """Gives a document as a reason why an item is no evidence for a claim."""
    return undercut(context, args)


@command("cite", **_CITED)
def cite_document_against(context: Context, args: CiteDocumentAgainst) -> Reply:
    """Gives a document, or a part of it, as evidence against a claim."""
    return give_evidence(context, args, "against")


@command("cite", **_CITED)
def cite_document_for(context: Context, args: CiteDocumentFor) -> Reply:
    """Gives a document, or a part of it, as evidence for a claim; `words:"…"` quotes from it."""
    return give_evidence(context, args, "for")


class ViewCitedDocument(ViewEvidence):
    """A document that is cited, and the claim."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


@command("view", group="Look", klass="look", permissions={LOOM, READ_DOCUMENTS})
def view_cited_document(context: Context, args: ViewCitedDocument) -> Reply:
    """Shows what a document is as evidence of a claim: `view doc:"name" in c4m2`."""
    return evidence_viewed(context, args.ref, args.claim)


# Checks and tasks.


class CheckDocument(Args):
    """The document to check, and the name of one check."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]
    name: Annotated[str, Written("quoted")] = ""


@command(
    "check",
    group="Mind",
    klass="look",
    permissions={LOOM, READ_DOCUMENTS},
    stream="grove",
    aliases=("test",),
    is_first=True,
)
def check_document(context: Context, args: CheckDocument) -> Reply:
    """Runs the checks that apply to a document, or to the part of it that you name."""
    document = get_document(context, args.ref)
    try:
        part = text_of(document, args.ref.slice)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    is_whole = args.ref.slice is None
    shown = document.shown
    return check_commands.check_part(context, part, args.name, is_whole=is_whole, shown=shown)


class TaskOfDocument(TaskOfNode):
    """What to do with a task of a document, its key there, and a note."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


@command(
    "todo",
    group="Keep",
    klass="write",
    permissions={LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS},
    stream="grove",
)
def task_of_document(context: Context, args: TaskOfDocument) -> Reply:
    """Checks a task `- [ ]` that is written in a document, for everybody; the text shows it."""
    document = get_document(context, args.ref)
    return text_tasks.change_task(context, document, args, document.shown)
