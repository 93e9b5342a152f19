"""Forms of other features' verbs that take a document, with the permissions and the stream that a
document needs."""

from typing import Annotated, Any

from loom.engine.arguments import RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
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
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE

# Each is tried before the common forms of its verb, and those below before those above.
MARKED: dict[str, Any] = {
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


@command("bookmark", stream="grove", **MARKED)
def bookmark_document(context: Context, args: BookmarkDocument) -> Reply:
    """Bookmarks a document; others can see it."""
    return add_bookmark(context, args)


@command("unbookmark", stream="grove", **MARKED)
def unbookmark_document(context: Context, args: UnbookmarkDocument) -> Reply:
    """Removes your bookmark from a document."""
    return remove_bookmark(context, args)


@command("tag", stream="grove", **MARKED)
def tag_document(context: Context, args: TagDocument) -> Reply:
    """Adds tags to a document."""
    return add_tags(context, args)


@command("untag", stream="grove", **MARKED)
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


@command("link", stream="tree", **MARKED)
def link_to_document(context: Context, args: LinkToDocument) -> Reply:
    """Links an item to a document."""
    return link_items(context, args)


@command("link", stream="grove", **MARKED)
def link_from_document(context: Context, args: LinkFromDocument) -> Reply:
    """Links a document to another item."""
    return link_items(context, args)


@command("unlink", stream="tree", **MARKED)
def unlink_from_document(context: Context, args: UnlinkFromDocument) -> Reply:
    """Removes the link from an item to a document."""
    return unlink_items(context, args)


@command("unlink", stream="grove", **MARKED)
def unlink_document(context: Context, args: UnlinkDocument) -> Reply:
    """Removes the link from a document to another item."""
    return unlink_items(context, args)
