"""A book as PDF: pages of A5 in EB Garamond, with a title page, page numbers and bookmarks.

The typeface is a file of its package; what a book uses of it is embedded. Lines are broken at
blanks, as many words to a line as fit, and spread to its width.
"""

import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from loom.errors import CommandError
from loom.text.images import described_image
from loom.transfer.book_writers import Book
from loom.transfer.selection import Paragraph, TextRun

WIDE, HIGH = 419.53, 595.28  # points of A5
SIDE, TOP, FOOT = 54.0, 58.0, 62.0
SIZE, LEADING = 11.0, 15.0
INDENT = 15.0
MOST_CHARACTERS = 8_000_000
MOST_PAGES = 20_000
_HEADS = {"h1": 18.0, "h2": 15.0, "h3": 13.0, "h4": 12.0, "h5": 11.0, "h6": 11.0}
_FACES = ("F1", "F2", "F3", "F4")  # upright, bold, italic, bold italic
MOST_NAMED = 5  # characters without a glyph that a refusal shows


class _Metrics:
    """What is known of a face: glyphs by character, and widths in thousandths of its size, which
    are read when they are needed."""

    def __init__(self, name: str) -> None:
        font = _opened(name)
        head, scale = font["head"], 1000 / font["head"].unitsPerEm
        self.glyphs: dict[int, int] = {
            code: font.getGlyphID(glyph) for code, glyph in font.getBestCmap().items()
        }
        self.box = [round(one * scale) for one in (head.xMin, head.yMin, head.xMax, head.yMax)]
        self.ascent = round(font["hhea"].ascent * scale)
        self.descent = round(font["hhea"].descent * scale)
        self._names = font.getGlyphOrder()
        self._drawn = font.getGlyphSet(location={"wght": _weight(name)})
        self._scale = scale
        self._widths: dict[int, int] = {}

    def width(self, glyph: int) -> int:
        """The width of a glyph."""
        if glyph not in self._widths:
            self._widths[glyph] = round(self._drawn[self._names[glyph]].width * self._scale)
        return self._widths[glyph]

    def blank(self) -> int:
        """The width of a blank."""
        return self.width(self.glyphs[32])


def _weight(name: str) -> int:
    return 700 if name in ("F2", "F4") else 400


def _opened(name: str) -> Any:
    """The font of a face, read whole. Its tables for shaping, which are not used, are left out."""
    import fontpkg_eb_garamond
    from fontTools.ttLib import TTFont

    file = "EBGaramond-Italic[wght].ttf" if name in ("F3", "F4") else "EBGaramond[wght].ttf"
    folder = Path(next(iter(fontpkg_eb_garamond.__path__)))
    font = TTFont(io.BytesIO((folder / "files" / file).read_bytes()), lazy=False)
    for table in ("GSUB", "GPOS", "GDEF", "STAT", "MVAR"):
        if table in font:
            del font[table]
    return font


@lru_cache(maxsize=4)
def _metrics(name: str) -> _Metrics:
    """What is known of a face; read once a process."""
    return _Metrics(name)


@dataclass
class _Word:
    """Letters without a blank between them: (face, characters) each, and their width in
    thousandths."""

    pieces: list[tuple[str, str]] = field(default_factory=list)
    width: float = 0
    ends_line: bool = False


@dataclass(frozen=True)
class _Shape:
    """How a paragraph is laid: sizes in points, and whether its lines are spread to the `full`
    width, or begin at the `left` or are put in the `center`."""

    size: float = SIZE
    leading: float = LEADING
    left: float = 0
    right: float = 0
    first: float = 0
    align: str = "full"

    @property
    def room(self) -> float:
        """The width of a line in thousandths of the size."""
        return (WIDE - 2 * SIDE - self.left - self.right) * 1000 / self.size


_USUAL = _Shape()


class _Pages:
    """Lays paragraphs on pages."""

    def __init__(self) -> None:
        self.pages: list[list[str]] = []
        self.outline: list[tuple[str, int, float]] = []
        self.used: dict[str, dict[int, str]] = {name: {} for name in _FACES}
        self.missing: dict[str, None] = {}
        self.unnumbered = 0  # pages at the front
        self._y = 0.0

    def new_page(self) -> None:
        """Begins a page."""
        if len(self.pages) >= MOST_PAGES:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"A PDF has at most {MOST_PAGES:,} pages.",
                hint="export EPUB or Word, or a part of the story",
            )
        self.pages.append([])
        self._y = HIGH - TOP

    def title_page(self, title: str, author: str) -> None:
        """The title and the author, a third down a page of their own."""
        self.new_page()
        self._y = HIGH * 0.64
        self._flow([TextRun(title)], _Shape(size=26, leading=32, align="center"))
        self._y -= 10
        if author:
            self._flow([TextRun(author, ("em",))], _Shape(size=14, leading=20, align="center"))
        self.unnumbered = 1

    def chapter(self, title: str) -> None:
        """Begins a chapter on a new page."""
        self.new_page()
        if title:
            self.outline.append((title, len(self.pages) - 1, self._y + 20))
            self._y -= 40
            self._flow([TextRun(title)], _Shape(size=18, leading=24, align="center"))
            self._y -= 18

    def paragraph(self, one: Paragraph, *, is_first: bool) -> None:
        """One paragraph of the text."""
        if not self.pages:
            self.new_page()
        if one.kind in _HEADS:
            size = _HEADS[one.kind]
            self._room(size * 3)
            self._y -= size * 0.8
            title = "".join(run.text for run in one.runs)
            self.outline.append((title, len(self.pages) - 1, self._y))
            shape = _Shape(size=size, leading=size * 1.35, align="left")
            self._flow([_bold(run) for run in one.runs], shape)
            self._y -= size * 0.3
        elif one.kind == "hr":
            self._y -= 6
            self._flow([TextRun("* * *")], _Shape(align="center"))
            self._y -= 6
        elif one.kind == "table":
            for row in one.rows:
                cells = [run for cell in row for run in [*cell, TextRun("   ")]]
                self._flow(cells, _Shape(align="left"))
        elif one.kind == "by":
            self._y -= 6
            self._room(LEADING * 2)
            self._flow([_bold(run) for run in one.runs], _Shape(align="left"))
        elif one.kind == "li":
            left = INDENT * (one.level + 1)
            sign = f"{one.sign}." if one.sign.isdecimal() else "•"
            head = [TextRun(f"{sign} ")] if one.sign else []
            self._flow([*head, *one.runs], _Shape(left=left, align="left"))
        elif one.kind in ("quote", "note"):
            self._flow(one.runs, _Shape(left=INDENT * 1.5, right=INDENT * 1.5))
        elif one.kind == "pre":
            shape = _Shape(left=INDENT, size=9.5, leading=13, align="left")
            for line in "".join(run.text for run in one.runs).split("\n"):
                self._flow([TextRun(line or " ")], shape)
        else:
            self._flow(one.runs, _Shape(first=0 if is_first else INDENT))

    def _room(self, height: float) -> None:
        if not self.pages or self._y - height < FOOT:
            self.new_page()

    def _flow(self, runs: list[TextRun], shape: _Shape = _USUAL) -> None:
        """Breaks the runs into lines and lays them down the page."""
        blank = _metrics("F1").blank()
        line: list[_Word] = []
        width, indent = 0.0, shape.first * 1000 / shape.size
        for word in self._words(runs, shape.room):
            if line and width + blank + word.width + indent > shape.room:
                self._line(line, shape, indent, is_last=False)
                line, width, indent = [], 0.0, 0.0
            width += word.width + (blank if line else 0)
            line.append(word)
            if word.ends_line:
                self._line(line, shape, indent, is_last=True)
                line, width, indent = [], 0.0, 0.0
        if line:
            self._line(line, shape, indent, is_last=True)

    def _words(self, runs: list[TextRun], room: float) -> Iterator[_Word]:
        """The words of the runs; what is wider than a line is cut."""
        word = _Word()
        for run in runs:
            text = described_image(run.text) if run.image else run.text
            face = _face_of(run)
            metrics = _metrics(face)
            piece: list[str] = []
            for letter in text.replace("\t", " ").replace("\r", ""):
                if letter in " \n":
                    if piece:
                        word.pieces.append((face, "".join(piece)))
                        piece = []
                    word.ends_line = letter == "\n"
                    if word.pieces or word.ends_line:
                        yield word
                        word = _Word()
                    continue
                width = metrics.width(self._glyph(face, letter))
                if word.width + width > room:
                    yield _Word([*word.pieces, (face, "".join(piece))], word.width)
                    word, piece = _Word(), []
                piece.append(letter)
                word.width += width
            if piece:
                word.pieces.append((face, "".join(piece)))
        if word.pieces:
            yield word

    def _glyph(self, face: str, letter: str) -> int:
        """The number of a glyph, which is then embedded; 0 where the typeface has none."""
        glyph = _metrics(face).glyphs.get(ord(letter))
        if glyph is None:
            if letter.isprintable():
                self.missing[letter] = None
            return 0
        self.used[face].setdefault(glyph, letter)
        return glyph

    def _line(self, words: list[_Word], shape: _Shape, indent: float, *, is_last: bool) -> None:
        self._room(shape.leading)
        self._y -= shape.leading
        room = shape.room - indent
        natural = sum(word.width for word in words) + _metrics("F1").blank() * (len(words) - 1)
        start = SIDE + shape.left + indent * shape.size / 1000
        gap = float(_metrics("F1").blank())
        if shape.align == "center":
            start += max(0.0, (room - natural) * shape.size / 2000)
        elif shape.align == "full" and not is_last and len(words) > 1:
            gap += max(0.0, room - natural) / (len(words) - 1)
        self.pages[-1].append(self._drawn(words, (start, self._y), size=shape.size, gap=gap))

    def _drawn(
        self, words: list[_Word], at: tuple[float, float], *, size: float, gap: float
    ) -> str:
        """The operators that show a line; gaps between its words are moves of the pen."""
        parts = [f"BT 1 0 0 1 {at[0]:.2f} {at[1]:.2f} Tm"]
        face, shown = "", list[str]()
        for number, word in enumerate(words):
            if number:
                shown.append(f"{-gap:.0f}")
            for name, text in word.pieces:
                if name != face:
                    parts += [f"[{' '.join(shown)}] TJ"] if shown and face else []
                    shown = [] if face else shown
                    parts.append(f"/{name} {size:g} Tf")
                    face = name
                shown.append("<" + "".join(f"{self._glyph(name, one):04X}" for one in text) + ">")
        parts += [f"[{' '.join(shown)}] TJ"] if shown else []
        return " ".join([*parts, "ET"])

    def number(self, place: int) -> str:
        """The number at the foot of a page."""
        if place < self.unnumbered:
            return ""
        word = _Word([("F1", str(place + 1))])
        metrics = _metrics("F1")
        width = sum(metrics.width(self._glyph("F1", one)) for one in str(place + 1)) * 9 / 1000
        return self._drawn([word], ((WIDE - width) / 2, 34), size=9, gap=0)


def _bold(run: TextRun) -> TextRun:
    return TextRun(run.text, (*run.styles, "strong"), run.href, run.image)


def _face_of(run: TextRun) -> str:
    return _FACES[("strong" in run.styles) + 2 * ("em" in run.styles)]


def pdf(book: Book) -> Iterator[bytes]:
    """The book as PDF. REJECTED if the typeface lacks letters of it."""
    pages = _Pages()
    title = book.title or "Untitled tree"
    if book.has_title_page:
        pages.title_page(title, book.author)
    size = 0
    for name, found in book.parts():
        pages.chapter(name)
        is_first = True
        for one in found:
            size += sum(len(run.text) for run in one.runs)
            if size > MOST_CHARACTERS:
                raise CommandError(
                    "LIMIT_EXCEEDED",
                    f"A PDF has at most {MOST_CHARACTERS:,} characters.",
                    hint="export EPUB or Word, or a part of the story",
                )
            pages.paragraph(one, is_first=is_first)
            is_first = one.kind in _HEADS or one.kind == "hr"
    if not pages.pages:
        pages.new_page()
    for place, content in enumerate(pages.pages):
        content.append(pages.number(place))
    if pages.missing:
        shown = " ".join(list(pages.missing)[:MOST_NAMED])
        raise CommandError(
            "REJECTED",
            f"The typeface of PDFs lacks {len(pages.missing)} letters of it, such as {shown}.",
            hint="export EPUB or Word, whose readers have typefaces of their own",
        )
    yield from _file(book, title, pages)


class _Out:
    """Numbers and writes the objects of the file."""

    def __init__(self, count: int) -> None:
        self._places = [0] * (count + 1)
        self._at = 0

    def head(self) -> bytes:
        """The first bytes."""
        return self._sent(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")

    def one(self, number: int, content: str | bytes) -> bytes:
        """An object."""
        self._places[number] = self._at
        raw = content.encode("latin-1") if isinstance(content, str) else content
        return self._sent(b"%d 0 obj\n%b\nendobj\n" % (number, raw))

    def stream(self, number: int, raw: bytes, more: str = "") -> bytes:
        """An object that is a stream."""
        packed = zlib.compress(raw)
        head = f"<< /Length {len(packed)} /Filter /FlateDecode {more}>>\nstream\n".encode()
        return self.one(number, head + packed + b"\nendstream")

    def end(self, root: int, info: int) -> bytes:
        """The table of objects and the trailer."""
        count = len(self._places)
        rows = "".join(f"{place:010d} 00000 n \n" for place in self._places[1:])
        table = f"xref\n0 {count}\n0000000000 65535 f \n{rows}"
        tail = f"trailer\n<< /Size {count} /Root {root} 0 R /Info {info} 0 R >>\n"
        return f"{table}{tail}startxref\n{self._at}\n%%EOF\n".encode()

    def _sent(self, raw: bytes) -> bytes:
        self._at += len(raw)
        return raw


def _file(book: Book, title: str, pages: _Pages) -> Iterator[bytes]:
    faces = [name for name in _FACES if pages.used[name]]
    first_font, many = 5, len(pages.pages)
    first_page = first_font + 5 * len(faces)
    first_mark = first_page + 2 * many
    out = _Out(first_mark + len(pages.outline) - 1)
    yield out.head()
    lang = "" if book.language == "und" else f" /Lang {_text(book.language)}"
    marks = " /Outlines 3 0 R /PageMode /UseOutlines" if pages.outline else ""
    yield out.one(1, f"<< /Type /Catalog /Pages 2 0 R{lang}{marks} >>")
    kids = " ".join(f"{first_page + 2 * place} 0 R" for place in range(many))
    fonts = " ".join(f"/{name} {first_font + 5 * at} 0 R" for at, name in enumerate(faces))
    box = f"/MediaBox [0 0 {WIDE} {HIGH}] /Resources << /Font << {fonts} >> >>"
    yield out.one(2, f"<< /Type /Pages /Count {many} /Kids [{kids}] {box} >>")
    ends = f" /First {first_mark} 0 R /Last {first_mark + len(pages.outline) - 1} 0 R"
    yield out.one(
        3, f"<< /Type /Outlines /Count {len(pages.outline)}{ends if pages.outline else ''} >>"
    )
    author = f" /Author {_text(book.author)}" if book.author else ""
    yield out.one(4, f"<< /Title {_text(title)}{author} /Producer (Heddle) >>")
    for at, name in enumerate(faces):
        yield from _font(out, first_font + 5 * at, name, pages.used[name])
    for place, content in enumerate(pages.pages):
        own = first_page + 2 * place
        yield out.one(own, f"<< /Type /Page /Parent 2 0 R /Contents {own + 1} 0 R >>")
        yield out.stream(own + 1, "\n".join(content).encode("latin-1"))
    for at, (name, place, y) in enumerate(pages.outline):
        near = f" /Prev {first_mark + at - 1} 0 R" if at else ""
        near += f" /Next {first_mark + at + 1} 0 R" if at + 1 < len(pages.outline) else ""
        to = f"[{first_page + 2 * place} 0 R /XYZ 0 {y:.0f} 0]"
        yield out.one(first_mark + at, f"<< /Title {_text(name)} /Parent 3 0 R{near} /Dest {to} >>")
    yield out.end(1, 4)


def _text(words: str) -> str:
    """A string of the file, in UTF-16."""
    return f"<FEFF{words.encode('utf-16-be', 'replace').hex().upper()}>"


def _font(out: _Out, number: int, name: str, used: dict[int, str]) -> Iterator[bytes]:
    """A face: the five objects of a composite font, with the glyphs that are used."""
    metrics = _metrics(name)
    tag = f"HEDDLE+EBGaramond{name}"
    widths = " ".join(f"{glyph} [{metrics.width(glyph)}]" for glyph in sorted(used))
    yield out.one(
        number,
        f"<< /Type /Font /Subtype /Type0 /BaseFont /{tag} /Encoding /Identity-H "
        f"/DescendantFonts [{number + 1} 0 R] /ToUnicode {number + 3} 0 R >>",
    )
    yield out.one(
        number + 1,
        f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /{tag} /CIDSystemInfo << /Registry "
        f"(Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor {number + 2} 0 R "
        f"/W [{widths}] /CIDToGIDMap /Identity >>",
    )
    box = " ".join(map(str, metrics.box))
    slant = -12 if name in ("F3", "F4") else 0
    yield out.one(
        number + 2,
        f"<< /Type /FontDescriptor /FontName /{tag} /Flags 6 /FontBBox [{box}] /ItalicAngle "
        f"{slant} /Ascent {metrics.ascent} /Descent {metrics.descent} /CapHeight 650 /StemV 80 "
        f"/FontFile2 {number + 4} 0 R >>",
    )
    rows = [f"<{glyph:04X}> <{letter.encode('utf-16-be').hex()}>" for glyph, letter in used.items()]
    parts = [rows[at : at + 100] for at in range(0, len(rows), 100)]
    chars = "\n".join(f"{len(part)} beginbfchar\n{chr(10).join(part)}\nendbfchar" for part in parts)
    yield out.stream(
        number + 3,
        (
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def\n"
            "1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
            f"{chars}\nendcmap end end"
        ).encode(),
    )
    raw = _subset(name, used)
    yield out.stream(number + 4, raw, f"/Length1 {len(raw)} ")


def _subset(name: str, used: dict[int, str]) -> bytes:
    """The face with these glyphs alone, under the numbers that they have."""
    from fontTools import subset
    from fontTools.varLib.instancer import instantiateVariableFont

    options = subset.Options()
    options.retain_gids = True
    options.layout_features = []
    options.notdef_outline = True
    maker = subset.Subsetter(options)
    maker.populate(gids=list(used))
    font = _opened(name)
    maker.subset(font)
    font = instantiateVariableFont(font, {"wght": _weight(name)}, inplace=True, optimize=False)
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()
