"""The manuscript of a tree as a book: its chapters in their order, for the writers of formats."""

from collections.abc import Iterator

from loom.access import Actor
from loom.links.written_portals import OpenedPortals
from loom.manuscript.queries.story import Manuscript
from loom.manuscript.rules import Chapter
from loom.transfer.selection import Paragraph, TextRun, paragraphs
from loom.transfer.writers.books import Book


def book_of(actor: Actor, manuscript: Manuscript) -> Book:
    """The manuscript as a book with a title page, for one reader; what the portals in the texts of
    a dialogue lead to is in it."""
    return Book(
        manuscript.tree,
        manuscript.title,
        lambda: _parts(manuscript, OpenedPortals(actor, manuscript.tree, feet=False)),
        author=manuscript.author,
        language=manuscript.language,
        has_title_page=True,
    )


def _parts(manuscript: Manuscript, portals: OpenedPortals) -> Iterator[tuple[str, list[Paragraph]]]:
    """(title, paragraphs) of each chapter of the highest level; those below it are headings in
    it."""
    highest = min((chapter.level for chapter in manuscript.chapters if chapter.title), default=1)
    title, body, has_begun = "", list[Paragraph](), False
    for chapter in manuscript.chapters:
        if chapter.title and chapter.level > highest and has_begun:
            level = chapter.level - highest + 1
            body += [
                Paragraph(f"h{level}", [TextRun(chapter.title)]),
                *_text(manuscript, chapter, portals),
            ]
            continue
        if has_begun:
            yield title, body
        title, body, has_begun = chapter.title, list(_text(manuscript, chapter, portals)), True
    if has_begun:
        yield title, body


def _text(manuscript: Manuscript, chapter: Chapter, portals: OpenedPortals) -> Iterator[Paragraph]:
    if manuscript.tree.mode == "buffer":
        yield from paragraphs(manuscript.story.text[chapter.body : chapter.end])
        return
    for piece, part, is_beginning in manuscript.story.parts(chapter):
        if is_beginning and part.strip():
            yield Paragraph("by", [TextRun(piece.by)])
        yield from paragraphs(portals.text(part))
