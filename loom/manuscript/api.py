"""The story of a tree in the API: its main line, its manuscript, and books of it."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.errors import CommandError
from loom.manuscript.books import book_of
from loom.manuscript.queries.story import Manuscript, manuscript_of
from loom.site.api_requests import user_of
from loom.site.downloads import attachment
from loom.site.responses import Returned
from loom.site.schema import operation
from loom.transfer.exporting import FORMATS
from loom.transfer.writers import pdf as pdf_writer
from loom.transfer.writers.books import Book, docx_of, epub_of
from loom.trees.queries.main_line import main_line_of

WRITERS: dict[str, tuple[Callable[[Book], Iterator[bytes]], str]] = {
    "epub": (epub_of, FORMATS["epub"].media),
    "docx": (docx_of, FORMATS["docx"].media),
    "pdf": (pdf_writer.pdf, "application/pdf"),
}


class MainLineOf(Returned):
    """The main line of a tree: the text that it leads to, how deep that is, and whether it was
    `marked` (the text that it is led through, by whom) or is the path written on last."""

    node: str
    depth: int
    how: Literal["marked", "written"]
    marked: str | None
    by: str | None


class ChapterOf(Returned):
    """A chapter in its place: `key` names it, `node` is where it begins, `level` that of its
    heading; `words` without its title; `target` 0 if none was set."""

    key: str
    title: str
    level: int
    node: str
    words: int
    target: int
    note: str
    beginning: str


class ManuscriptOf(Returned):
    """The manuscript of a tree. `number` is that of its version, 0 before the first."""

    tree: str
    title: str
    author: str
    language: str
    target: int
    words: int
    number: int
    chapters: list[ChapterOf]


@operation("GET", "trees main-line", "The main line of a tree", answers=MainLineOf)
@api_view(["GET"])
def main_line(request: Request, uid: str) -> Response:
    """Where the main line of a tree leads; `→ main` marks it."""
    _, tree = access.get_tree(user_of(request), uid)
    line = main_line_of(tree)
    return Response(
        {
            "node": line.end.local_id,
            "depth": line.end.depth,
            "how": "marked" if line.marked is not None else "written",
            "marked": line.marked.local_id if line.marked is not None else None,
            "by": line.by.name if line.by is not None else None,
        }
    )


@operation("GET", "trees manuscript", "The manuscript of a tree", answers=ManuscriptOf)
@api_view(["GET"])
def manuscript(request: Request, uid: str) -> Response:
    """The chapters of the main line in their order; `→ chapter move` changes it."""
    actor, tree = access.get_tree(user_of(request), uid)
    return Response(manuscript_body(manuscript_of(actor, tree)))


def manuscript_body(manuscript: Manuscript) -> dict[str, Any]:
    """A manuscript as the API describes it."""
    chapters = []
    for chapter in manuscript.chapters:
        target, note = manuscript.of(chapter)
        known = {
            "title": chapter.title,
            "level": chapter.level,
            "node": chapter.node,
            "words": chapter.words,
        }
        more = {"target": target, "note": note, "beginning": chapter.beginning}
        chapters.append({"key": chapter.key, **known, **more})
    return {
        "tree": manuscript.tree.uid,
        "title": manuscript.title,
        "author": manuscript.author,
        "language": manuscript.language,
        "target": manuscript.target,
        "words": manuscript.story.words,
        "number": manuscript.number,
        "chapters": chapters,
    }


@operation(
    "GET",
    "trees book",
    "The manuscript as a book",
    answers={(200, media): OpenApiTypes.BINARY for _, media in WRITERS.values()},
    asks=(OpenApiParameter("format", OpenApiTypes.STR, enum=tuple(WRITERS), default="epub"),),
)
@api_view(["GET"])
def book(request: Request, uid: str) -> StreamingHttpResponse:
    """A file with a title page, and the chapters in the order of the manuscript."""
    actor, tree = access.get_tree(user_of(request), uid)
    name = request.query_params.get("format", "epub")
    if name not in WRITERS:
        raise CommandError(
            "INVALID_SYNTAX", "A book is epub, docx or pdf.", hint=" or ".join(WRITERS)
        )
    write, media = WRITERS[name]
    bound = book_of(actor, manuscript_of(actor, tree))
    pieces = write(bound)
    first = next(pieces, b"")  # what is refused is refused before anything is sent
    answer = StreamingHttpResponse(_after(first, pieces), content_type=media)
    answer["Content-Disposition"] = attachment(bound.title, name, otherwise="Untitled tree")
    return answer


def _after(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from pieces
