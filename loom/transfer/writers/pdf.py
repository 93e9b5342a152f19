"""A book as PDF, laid out by ReportLab: pages of A5 in EB Garamond, with a title page, page numbers
and bookmarks.

Which letters have a typeface is known before a page is laid out: those of EB Garamond (Latin,
Greek, Cyrillic), signs and code of JetBrains Mono, and Chinese, Japanese and Korean. The last three
are not in the file: readers of PDFs draw them with typefaces of the machine. A book with other
letters is refused.
"""

import io
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from loom.errors import CommandError
from loom.text.counts import counted
from loom.text.images import described_image
from loom.transfer.selection import Paragraph, TextRun
from loom.transfer.writers.books import Book

WIDE, HIGH = 419.53, 595.28  # points of A5
SIDE, TOP, FOOT = 54.0, 58.0, 62.0
SIZE, LEADING = 11.0, 15.0
INDENT = 15.0
MOST_CHARACTERS = 8_000_000
MOST_NAMED = 5  # characters without a typeface that a refusal shows
MOST_COLUMNS, MOST_IN_CELL = 6, 400  # of a table with lines; others are written cell after cell
PIECE = 256 * 1024  # bytes that are sent at once

SERIF, MONO = "EBGaramond", "JetBrainsMono"
_HEADS = {"h1": 18.0, "h2": 15.0, "h3": 13.0, "h4": 12.0, "h5": 11.0, "h6": 11.0}
_FILES = {  # of each family: its package, the upright file, the italic file
    SERIF: ("fontpkg_eb_garamond", "EBGaramond[wght].ttf", "EBGaramond-Italic[wght].ttf"),
    MONO: ("fontpkg_jetbrains_mono", "JetBrainsMono[wght].ttf", "JetBrainsMono-Italic[wght].ttf"),
}
# The typefaces of readers for Chinese, Japanese and Korean, and the codec of the letters in each.
_FAR_EAST = {
    "ja": ("HeiseiMin-W3", "cp932"),
    "zh": ("STSong-Light", "gbk"),
    "ko": ("HYSMyeongJo-Medium", "cp949"),
}
_one_at_a_time = threading.Lock()  # ReportLab keeps its typefaces for the whole process


def pdf(book: Book) -> Iterator[bytes]:
    """The book as PDF, in pieces of `PIECE` bytes. REJECTED if it has letters without a typeface;
    LIMIT_EXCEEDED if it is longer than `MOST_CHARACTERS`."""
    with _one_at_a_time:
        file = _laid_out(book)
    while piece := file.read(PIECE):
        yield piece


def _laid_out(book: Book) -> io.BytesIO:
    from reportlab.platypus import BaseDocTemplate, Frame, PageBreak, PageTemplate, Spacer

    letters = _Letters(book.language)
    layout = _Layout(letters)
    flow = layout.title_page(book) if book.has_title_page else []
    for title, paragraphs in book.parts():
        if flow:
            flow.append(PageBreak())
        flow += layout.chapter(title, paragraphs)
    letters.demand_all()

    def number(canvas: Any, document: Any) -> None:
        if not (book.has_title_page and document.page == 1):
            canvas.setFont(_face(SERIF), 9)
            canvas.drawCentredString(WIDE / 2, 34, str(document.page))

    class Document(BaseDocTemplate):  # type: ignore[misc]
        """Adds what has a title to the outline, as it is laid on its page."""

        def afterFlowable(self, flowable: Any) -> None:
            """Called by ReportLab with each paragraph that was drawn."""
            level, title = getattr(flowable, "in_outline", (None, ""))
            if level is None:
                return
            key = f"p{id(flowable)}"
            self.canv.bookmarkHorizontal(key, 0, self.frame._y + flowable.height)
            self.canv.addOutlineEntry(title, key, level)
            self.canv.showOutline()

    file = io.BytesIO()
    known = {"title": book.title or "Untitled tree", "creator": "Heddle", "producer": "Heddle"}
    known |= {"subject": "", "keywords": ""}  # ReportLab's own would say "(unspecified)"
    known |= {"author": book.author} if book.author else {}
    known |= {"lang": book.language} if book.language != "und" else {}
    document = Document(file, pagesize=(WIDE, HIGH), initialFontName=_face(SERIF), **known)
    frame = Frame(
        SIDE,
        FOOT,
        WIDE - 2 * SIDE,
        HIGH - TOP - FOOT,
        leftPadding=0,
        rightPadding=0,
        topPadding=0,
        bottomPadding=0,
    )
    document.addPageTemplates(PageTemplate(frames=[frame], onPage=number))
    document.build(flow or [Spacer(0, 1)])
    file.seek(0)
    return file


# Typefaces.


@lru_cache(maxsize=8)
def _face(family: str, *, bold: bool = False, italic: bool = False) -> str:
    """The name under which ReportLab knows a face, which is read once a process. The bold faces
    take some 2 s, because they are computed from the variable files."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    package, upright, slanted = _FILES[family]
    raw = resources.files(package).joinpath("files", slanted if italic else upright).read_bytes()
    name = f"{family}{'-Bold' if bold else ''}{'-Italic' if italic else ''}"
    pdfmetrics.registerFont(TTFont(name, io.BytesIO(_bold(raw, name) if bold else raw)))
    return name


def _bold(raw: bytes, name: str) -> bytes:
    """The file of the bold face, under this name. The tables for shaping, which ReportLab does not
    read, are left out: computing them would take ten times as long."""
    from fontTools import subset
    from fontTools.ttLib import TTFont
    from fontTools.varLib.instancer import instantiateVariableFont

    font = TTFont(io.BytesIO(raw))
    for table in ("GSUB", "GPOS", "GDEF", "STAT", "MVAR"):
        if table in font:
            del font[table]
    options = subset.Options()
    options.layout_features = []
    options.notdef_outline = True
    maker = subset.Subsetter(options)
    maker.populate(unicodes=list(font.getBestCmap()))
    maker.subset(font)
    for record in font["name"].names:
        if record.nameID == 6:  # the name of the face in a PDF
            record.string = name
    file = io.BytesIO()
    instantiateVariableFont(font, {"wght": 700}, inplace=True, optimize=False).save(file)
    return file.getvalue()


@lru_cache(maxsize=8)
def _glyphs(family: str, *, italic: bool = False) -> frozenset[int]:
    """The code points that a face has."""
    from reportlab.pdfbase import pdfmetrics

    return frozenset(pdfmetrics.getFont(_face(family, italic=italic)).face.charToGlyph)


@lru_cache(maxsize=8)
def _usual(family: str, *, italic: bool) -> frozenset[str]:
    """The letters of a face that are drawn as they are."""
    letters = map(chr, _glyphs(family, italic=italic))
    return frozenset(
        letter for letter in letters if not _is_blank(letter) and not _is_left_out(letter)
    ) | {" "}


@lru_cache(maxsize=3)
def _far_east_face(language: str) -> str:
    """The name of a typeface of readers; its letters are not in the file."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    name = _FAR_EAST[language][0]
    pdfmetrics.registerFont(UnicodeCIDFont(name))
    return name


def _language_of(letter: str) -> str:
    """`ja`, `ko` or `zh` for a letter that is used in one of them alone, else nothing."""
    name = unicodedata.name(letter, "")
    if name.startswith(("HIRAGANA", "KATAKANA")):
        return "ja"
    return "ko" if name.startswith("HANGUL") else ""


class _Letters:
    """Chooses a typeface for each letter, and remembers the letters that have none."""

    def __init__(self, language: str) -> None:
        self._given = language.partition("-")[0].lower()
        self.missing: dict[str, None] = {}
        self._faces: dict[tuple[str, str, bool, bool, str], str] = {}

    def pieces(self, text: str, family: str, *, bold: bool, italic: bool) -> Iterator[Any]:
        """The text cut where its typeface changes: (name of the face, letters) each. Characters
        that are not printed are left out; other kinds of blanks become one."""
        face = _face(family, bold=bold, italic=italic)
        if _usual(family, italic=italic).issuperset(text):
            yield face, text
            return
        far_east = self._far_east_of(text)

        def face_of(letter: str) -> str:
            key = (letter, family, bold, italic, far_east)
            if key not in self._faces:
                self._faces[key] = self._face_of(*key)
            return self._faces[key]

        shown = "".join(
            " " if _is_blank(letter) else letter for letter in text if not _is_left_out(letter)
        )
        for face, letters in groupby(shown, face_of):
            yield face, "".join(letters)

    def _far_east_of(self, text: str) -> str:
        """The language by which a text's Chinese signs are drawn: that of the book, else that of
        letters beside them, else Chinese."""
        if self._given in _FAR_EAST or text.isascii():
            return self._given if self._given in _FAR_EAST else "zh"
        return next((language for letter in text if (language := _language_of(letter))), "zh")

    def _face_of(self, letter: str, family: str, bold: bool, italic: bool, far_east: str) -> str:
        if letter == "\n":
            return _face(family)
        for name in (family, SERIF, MONO):
            if ord(letter) in _glyphs(name, italic=italic):
                return _face(name, bold=bold, italic=italic)
            if ord(letter) in _glyphs(name):
                return _face(name, bold=bold)
        for language in (far_east, *_FAR_EAST):
            if _has(_FAR_EAST[language][1], letter):
                return _far_east_face(language)
        self.missing[letter] = None
        return _face(SERIF)

    def demand_all(self) -> None:
        """Refuses a book with letters that have no typeface."""
        if self.missing:
            shown = " ".join(list(self.missing)[:MOST_NAMED])
            raise CommandError(
                "REJECTED",
                f"The typefaces of PDFs lack {counted(len(self.missing), 'letter')} of it, such as"
                f" {shown}.",
                hint="export EPUB or Word, whose readers have typefaces of their own",
            )


def _has(codec: str, letter: str) -> bool:
    """Whether a typeface of readers has a letter: they hold those of the national standards."""
    try:
        return letter > "\x7f" and len(letter.encode(codec)) > 1
    except UnicodeEncodeError:
        return False


def _is_blank(letter: str) -> bool:
    return letter == "\t" or (letter != "\n" and unicodedata.category(letter) == "Zs")


def _is_left_out(letter: str) -> bool:
    """Whether a character only controls others, such as a join or a choice of colour."""
    if letter in "\n\t" or letter.isprintable():
        return "\ufe00" <= letter <= "\ufe0f"
    return unicodedata.category(letter) != "Zs"


# Pages.


class _Layout:
    """Makes what ReportLab lays on pages of the paragraphs of a book."""

    def __init__(self, letters: _Letters) -> None:
        from reportlab.lib.styles import ParagraphStyle

        self._letters = letters
        self._size = 0
        self._is_in_chapter = False
        text = ParagraphStyle(
            "text", fontName=_face(SERIF), fontSize=SIZE, leading=LEADING, alignment=4
        )
        text.bulletFontName = text.fontName
        text.allowWidows = text.allowOrphans = 0
        self._text = text
        self._styles: dict[tuple[tuple[str, Any], ...], Any] = {}

    def _style(self, **values: Any) -> Any:
        """The style of the text with other values."""
        key = tuple(values.items())
        if key not in self._styles:
            self._styles[key] = self._text.clone("more", **values)
        return self._styles[key]

    def title_page(self, book: Book) -> list[Any]:
        """The title and the author, a third down a page of their own."""
        from reportlab.platypus import Spacer

        title = self._style(fontSize=26, leading=32, alignment=1, spaceAfter=10)
        flow = [
            Spacer(0, HIGH * 0.36 - TOP),
            self._paragraph([TextRun(book.title or "Untitled tree")], title),
        ]
        if book.author:
            by = self._style(fontSize=14, leading=20, alignment=1)
            flow.append(self._paragraph([TextRun(book.author, ("em",))], by))
        return flow

    def chapter(self, title: str, paragraphs: list[Paragraph]) -> list[Any]:
        """A chapter, with its title in the outline."""
        from reportlab.platypus import Spacer

        flow: list[Any] = []
        self._is_in_chapter = bool(title)
        if title:
            style = self._style(fontSize=18, leading=24, alignment=1, spaceAfter=18, keepWithNext=1)
            heading = self._paragraph([TextRun(title)], style)
            heading.in_outline = (0, title)
            flow += [Spacer(0, 40), heading]
        is_first = True
        for paragraph in paragraphs:
            flow += self._blocks(paragraph, is_first=is_first)
            is_first = paragraph.kind in _HEADS or paragraph.kind == "hr"
        return flow

    def _blocks(self, paragraph: Paragraph, *, is_first: bool) -> list[Any]:
        """What is laid on pages for one paragraph."""
        runs, kind = paragraph.runs, paragraph.kind
        if kind in _HEADS:
            return [self._heading(paragraph)]
        if kind == "table":
            return self._table(paragraph.rows)
        if kind == "hr":
            style = self._style(alignment=1, spaceBefore=6, spaceAfter=6)
            return [self._paragraph([TextRun("* * *")], style)]
        if kind == "by":
            style = self._style(alignment=0, spaceBefore=6, keepWithNext=1)
            return [self._paragraph([_strong(run) for run in runs], style)]
        if kind == "li":
            left = INDENT * (paragraph.level + 1)
            style = self._style(leftIndent=left, bulletIndent=left - INDENT, alignment=0)
            sign = f"{paragraph.sign}." if paragraph.sign.isdecimal() else "•"
            return [self._paragraph(runs, style, sign if paragraph.sign else None)]
        if kind in ("quote", "note"):
            around = {"leftIndent": INDENT * 1.5, "rightIndent": INDENT * 1.5}
            return [self._paragraph(runs, self._style(**around))]
        if kind == "pre":
            style = self._style(leftIndent=INDENT, fontSize=8.5, leading=12, alignment=0)
            code = [TextRun("".join(run.text for run in runs), ("code",))]
            return [self._paragraph(code, style)]
        return [self._paragraph(runs, self._style(firstLineIndent=0 if is_first else INDENT))]

    def _heading(self, paragraph: Paragraph) -> Any:
        size = _HEADS[paragraph.kind]
        style = self._style(
            fontSize=size,
            leading=size * 1.35,
            alignment=0,
            spaceBefore=size * 0.8,
            spaceAfter=size * 0.3,
            keepWithNext=1,
        )
        heading = self._paragraph([_strong(run) for run in paragraph.runs], style)
        title = "".join(run.text for run in paragraph.runs)
        heading.in_outline = (int(self._is_in_chapter), title)
        return heading

    def _table(self, rows: list[list[list[TextRun]]]) -> list[Any]:
        """A table with lines around its cells; cell after cell where they would be too narrow, or
        higher than a page."""
        from reportlab.platypus import Table

        columns = max(map(len, rows), default=0)
        longest = max(
            (sum(len(run.text) for run in cell) for row in rows for cell in row), default=0
        )
        style = self._style(alignment=0)
        if not 0 < columns <= MOST_COLUMNS or longest > MOST_IN_CELL:
            return [
                self._paragraph([run for cell in row for run in (*cell, TextRun("   "))], style)
                for row in rows
            ]
        empty: list[list[TextRun]] = [[] for _ in range(columns)]
        blocks = [
            [self._paragraph(cell, style) for cell in (*row, *empty[len(row) :])] for row in rows
        ]
        room = (WIDE - 2 * SIDE) / columns
        around = ((0, 0), (-1, -1))
        lines = [("GRID", *around, 0.5, "#888888"), ("VALIGN", *around, "TOP")]
        lines.append(("FONTNAME", *around, _face(SERIF)))
        return [Table(blocks, colWidths=[room] * columns, style=lines, spaceBefore=6, spaceAfter=6)]

    def _paragraph(self, runs: list[TextRun], style: Any, sign: str | None = None) -> Any:
        from reportlab.platypus import Paragraph as Block

        self._size += sum(len(run.text) for run in runs)
        if self._size > MOST_CHARACTERS:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"A PDF has at most {MOST_CHARACTERS:,} characters.",
                hint="export EPUB or Word, or a part of the story",
            )
        if any(_is_far_east(run.text) for run in runs):
            style = style.clone("far east", wordWrap="CJK")  # breaks between any two letters
        return Block("".join(map(self._markup, runs)), style, bulletText=sign)

    def _markup(self, run: TextRun) -> str:
        """The run in the markup of ReportLab's paragraphs."""
        text = described_image(run.text) if run.image else run.text
        is_code = "code" in run.styles
        styled = {"bold": "strong" in run.styles, "italic": "em" in run.styles}
        markup = ""
        for face, letters in self._letters.pieces(text, MONO if is_code else SERIF, **styled):
            shown = escape(letters)
            if is_code:  # indents of code are kept
                shown = shown.replace("  ", "\u00a0 ")
            shown = shown.replace("\n", "<br/>")
            markup += shown if face == SERIF else f'<font name="{face}">{shown}</font>'
        if "s" in run.styles:
            markup = f"<strike>{markup}</strike>"
        return f"<a href={quoteattr(run.href)}>{markup}</a>" if run.is_web else markup


def _is_far_east(text: str) -> bool:
    """Whether a line of it may break between any two letters."""
    return not text.isascii() and any("\u2e80" <= letter <= "\uffef" for letter in text)


def _strong(run: TextRun) -> TextRun:
    return TextRun(run.text, (*run.styles, "strong"), run.href, run.image)
