"""The manuscript of a tree as a book: its chapters in their order, for the writers of formats."""

from collections.abc import Iterator

from loom.manuscript.queries.story import Manuscript
from loom.manuscript.rules import Chapter
from loom.transfer.book_writers import Book
from loom.transfer.selection import Paragraph, TextRun, paragraphs


def book_of(found: Manuscript) -> Book:
    """The manuscript as a book with a title page."""
    return Book(
        found.tree,
        found.title,
        lambda: _parts(found),
        author=found.author,
        language=found.language,
        has_title_page=True,
    )


def _parts(found: Manuscript) -> Iterator[tuple[str, list[Paragraph]]]:
    """(title, paragraphs) of each chapter of the highest level; those below it are headings in
    it."""
    highest = min((one.level for one in found.chapters if one.title), default=1)
    title, made, has_begun = "", list[Paragraph](), False
    for one in found.chapters:
        if one.title and one.level > highest and has_begun:
            level = one.level - highest + 1
            made += [Paragraph(f"h{level}", [TextRun(one.title)]), *_text(found, one)]
            continue
        if has_begun:
            yield title, made
        title, made, has_begun = one.title, list(_text(found, one)), True
    if has_begun:
        yield title, made


def _text(found: Manuscript, chapter: Chapter) -> Iterator[Paragraph]:
    if found.tree.mode == "buffer":
        yield from paragraphs(found.story.text[chapter.body : chapter.end])
        return
    for piece, part, is_beginning in found.story.parts(chapter):
        if is_beginning and part.strip():
            yield Paragraph("by", [TextRun(piece.by)])
        yield from paragraphs(part)
