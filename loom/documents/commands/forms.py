"""Forms of other features' verbs that take a document, with the permissions and the stream that a
document needs."""

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
from loom.claims.commands.text_tasks import TaskOfNode
from loom.documents.queries import get_document, text_of
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.errors import CommandError
from loom.language.refs import ParseError
from loom.links.commands.links import LinkArgs, UnlinkArgs, link_items, unlink_items
from loom.notes.commands.marks import (
    Bookmark,
    Tag,
    Unbookmark,
    add_bookmark,
    add_tags,
    remove_bookmark,
    remove_tags,
)
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE, WRITE_DOCUMENTS

# Each is tried before the common forms of its verb, and those below before those above.
_MARKED: dict[str, Any] = {
    "is_first": True,
    "group": "Make",
    "klass": "write",
    "permissions": {LOOM, WRITE, READ_DOCUMENTS},
}


# Bookmarks and tags.


class BookmarkDocument(Bookmark):
    """The document to bookmark, and a label."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


class UnbookmarkDocument(Unbookmark):
    """The document whose bookmark is removed."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


class TagDocument(Tag):
    """The document to tag, and the tags."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]


@command("bookmark", stream="grove", **_MARKED)
def bookmark_document(context: Context, args: BookmarkDocument) -> Reply:
    """Bookmarks a document; others can see it."""
    return add_bookmark(context, args)


@command("unbookmark", stream="grove", **_MARKED)
def unbookmark_document(context: Context, args: UnbookmarkDocument) -> Reply:
    """Removes your bookmark from a document."""
    return remove_bookmark(context, args)


@command("tag", stream="grove", **_MARKED)
def tag_document(context: Context, args: TagDocument) -> Reply:
    """Adds tags to a document."""
    return add_tags(context, args)


@command("untag", stream="grove", **_MARKED)
def untag_document(context: Context, args: TagDocument) -> Reply:
    """Removes tags from a document, whoever added them."""
    return remove_tags(context, args)


# Links.


class LinkFromDocument(LinkArgs):
    """The ends and the type of a link from a document."""

    source: Annotated[RefField, Written("ref", refs=("document",))]
    target: Annotated[RefField, Written("ref", lead="to")]


class LinkToDocument(LinkArgs):
    """The ends and the type of a link to a document."""

    target: Annotated[RefField, Written("ref", lead="to", refs=("document",))]


class UnlinkDocument(UnlinkArgs):
    """The ends, and the type if there are several links, of one from a document."""

    source: Annotated[RefField, Written("ref", refs=("document",))]
    target: Annotated[RefField, Written("ref", lead="to")]


class UnlinkFromDocument(UnlinkArgs):
    """The ends, and the type if there are several links, of one to a document."""

    target: Annotated[RefField, Written("ref", lead="to", refs=("document",))]


@command("link", stream="tree", **_MARKED)
def link_to_document(context: Context, args: LinkToDocument) -> Reply:
    """Links an item to a document."""
    return link_items(context, args)


@command("link", stream="grove", **_MARKED)
def link_from_document(context: Context, args: LinkFromDocument) -> Reply:
    """Links a document to another item."""
    return link_items(context, args)


@command("unlink", stream="tree", **_MARKED)
def unlink_from_document(context: Context, args: UnlinkFromDocument) -> Reply:
    """Removes the link from an item to a document."""
    return unlink_items(context, args)


@command("unlink", stream="grove", **_MARKED)
def unlink_document(context: Context, args: UnlinkDocument) -> Reply:
    """Removes the link from a document to another item."""
    return unlink_items(context, args)


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


_CITED: dict[str, Any] = {**_MARKED, "group": "Mind", "stream": "tree"}


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
