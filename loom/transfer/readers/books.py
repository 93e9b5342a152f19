"""The text of a DOCX or EPUB, as Markdown. Nothing in them is run."""

import lzma
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from lxml import etree

from loom.errors import CommandError
from loom.text.images import described_image
from loom.transfer.inputs import ImportFormat, Input, Put, TreeInFile
from loom.transfer.readers.documents import (
    Block,
    ReadRun,
    cell_of,
    document,
    line_of,
    row_of,
    text_of_blocks,
)
from loom.transfer.readers.docx_signs import FORMULAS, MATH, WORD, formula, symbol
from loom.transfer.readers.encodings import decoded, warn_of_replaced
from loom.transfer.records import Head, Report, unreadable

_MOST = 64 * 1024 * 1024
_MOST_OF_ALL = 2 * _MOST  # bytes of all parts of a DOCX
_MOST_BESIDE = 16 * 1024 * 1024  # bytes of the parts of a DOCX that are only counted
_LEAST = 1024  # bytes that each page of a book costs beside its own, also an empty one
_DEEPEST = 200  # nested blocks of a page that are distinguished
_PIECE = 16 * 1024  # bytes of a page that are parsed in one step
_DEEPEST_OF_ALL = 5000  # nested elements
_W = WORD
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError),
    *(OSError, EOFError, ValueError, KeyError, IndexError, struct.error),
)
_UNREADABLE = (*_DAMAGED, etree.XMLSyntaxError, AssertionError)


@dataclass
class _Book:
    """What a file is read as: its title and text, and a report of what was left out of it."""

    title: str = ""
    text: str = ""
    report: Report = field(default_factory=Report)


def kind_of(path: Path) -> str:
    """`docx` or `epub` for such a file, "" for any other. Raises for a file of an office program
    that is not read."""
    try:
        if not zipfile.is_zipfile(path):
            return ""
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except _DAMAGED:
        return ""
    if "word/document.xml" in names:
        return "docx"
    if "META-INF/container.xml" in names:
        return "epub"
    if {"mimetype", "content.xml"} <= names:
        raise unreadable("OpenDocument files are not read.", "save it as DOCX, EPUB or text")
    if names & {"xl/workbook.xml", "ppt/presentation.xml"}:
        raise unreadable("Spreadsheets and presentations are not read.", "save it as text")
    return ""


def _member(archive: zipfile.ZipFile, name: str, most: int = _MOST) -> bytes:
    """A file of the archive. LIMIT_EXCEEDED, before it is unpacked, for one of more bytes."""
    if archive.getinfo(name).file_size > most:  # of which more is never unpacked
        raise _too_large(f"A file in it has more than {most:,} bytes.")
    with archive.open(name) as packed:
        return packed.read()


def _too_large(sentence: str) -> CommandError:
    return CommandError("LIMIT_EXCEEDED", sentence, hint="split it", is_size=True)


def _parsed(data: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(data, parser)


def _read_book(file: Input, book_of: Callable[[zipfile.ZipFile], _Book]) -> Iterator[TreeInFile]:
    try:
        with zipfile.ZipFile(file.path) as archive:
            book = book_of(archive)
    except _UNREADABLE:
        raise unreadable("The file is damaged or encrypted.", "save it again") from None
    text = book.text.replace("\0", "\ufffd")
    if not text.strip():
        raise unreadable("The file has no text.", "images are not read")
    part = document(text, file.options.get("split", ""), book.title[:300])

    def read(put: Put, report: Report) -> Head:
        report.add(book.report)
        return part.read(put, report)

    yield replace(part, read=read)


# DOCX: the paragraphs of `word/document.xml`, in order.


_STYLE_KINDS = {
    **{"quote": "quote", "intense quote": "quote", "quotations": "quote", "block text": "quote"},
    **{"html preformatted": "pre", "preformatted text": "pre", "code": "pre", "source code": "pre"},
    "horizontal line": "hr",
}
_RUN_NAMES = {"strong": "strong", "emphasis": "em", "source text": "code", "html code": "code"}
_OFF = ("0", "false", "off", "none")
_WRAPPERS = "body ins moveTo smartTag customXml sdt sdtContent fldSimple dir bdo"
_AROUND = {f"{_W}{word}" for word in _WRAPPERS.split()}
_NOTES = {"footnoteReference": "footnote", "endnoteReference": "endnote"}
# What is left out, as the report calls it.
_REMARKS = "comments of a document"
_HEADERS = "headers and footers of pages"
_DRAWN = "charts and diagrams"
_SYMBOLS = "symbols of fonts that are pictures"
_FORMULAS = "layout of formulas"
_TABLES = "layout of tables within tables"
_DRAWINGS = ("{*}chart", "{*}relIds")
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
# The names of namespaces in a document that Word has saved as "Strict", and their usual ones.
_STRICT = {
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": _W,
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": _R,
    b"http://purl.oclc.org/ooxml/officeDocument/math": MATH,
}
# Within an element's name and attributes only: a text or a link can say the same.
_WITH_NAMESPACES = re.compile(rb"<[^<>!?/][^<>]*\sxmlns[^<>]*")
_NAMESPACE = re.compile(
    rb"""(\sxmlns(?::[^\s=]+)?\s*=\s*["'])("""
    + b"|".join(map(re.escape, _STRICT))
    + rb""")(?=["'])"""
)


def _word_part(data: bytes) -> etree._Element:
    if b"http://purl.oclc.org/ooxml/" in data:
        data = _WITH_NAMESPACES.sub(lambda element: _NAMESPACE.sub(_usual, element[0]), data)
    return _parsed(data)


def _usual(declaration: re.Match[bytes]) -> bytes:
    return declaration[1] + _STRICT[declaration[2]].strip("{}").encode()


class _Docx:
    """Reads the body of a document: its names of styles, lists, addresses and notes."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive, self._names = archive, set(archive.namelist())
        self._left, self._left_beside = _MOST_OF_ALL, _MOST_BESIDE  # bytes
        self._styles: dict[str | None, str] = {}
        self._links: dict[str | None, str] = {}
        for style in self._each_of("word/styles.xml", f"{_W}style"):
            self._styles[style.get(f"{_W}styleId")] = _value(style, "name").lower()
        for style in self._each_of("word/_rels/document.xml.rels", "{*}Relationship"):
            if style.get("TargetMode") == "External":
                self._links[style.get("Id")] = style.get("Target") or ""
        formats: dict[str | None, dict[str | None, str]] = {}
        numbering = list(self._each_of("word/numbering.xml", f"{_W}abstractNum", f"{_W}num"))
        for style in (entry for entry in numbering if entry.tag == f"{_W}abstractNum"):
            levels = {lvl.get(f"{_W}ilvl"): _value(lvl, "numFmt") for lvl in style.iter(f"{_W}lvl")}
            formats[style.get(f"{_W}abstractNumId")] = levels
        self._lists: dict[str, dict[str | None, str]] = {}
        self._starts: dict[tuple[str, int], int] = {}  # first numbers that are not 1
        for style in (entry for entry in numbering if entry.tag == f"{_W}num"):
            number = style.get(f"{_W}numId") or ""
            self._lists[number] = formats.get(_value(style, "abstractNumId"), {})
            for level in style.iter(f"{_W}lvlOverride"):
                if first := _value(level, "startOverride"):
                    self._starts[number, int(level.get(f"{_W}ilvl", "0"))] = int(first)
        self._counts: dict[str, dict[int, int]] = {}  # by list and level
        self._notes: list[tuple[str, str]] = []  # footnote or endnote and its id, in their order
        self._rows = 0  # rows of tables that are open within each other
        self.left_out: Counter[str] = Counter()

    def _each_of(self, name: str, *tags: str) -> Iterator[etree._Element]:
        """The elements of these names in a part, if there is such a part."""
        if name in self._names:
            yield from self._part(name).iter(*tags)

    def _part(self, name: str) -> etree._Element:
        """A part of the document. LIMIT_EXCEEDED if this or all parts together are too large."""
        self._left -= self._archive.getinfo(name).file_size
        if self._left < 0:
            raise _too_large(f"The parts of the document have more than {_MOST_OF_ALL:,} bytes.")
        return _word_part(_member(self._archive, name))

    def text(self) -> str:
        """The whole text with its notes at the end."""
        blocks = list(self._blocks(self._part("word/document.xml")))
        notes = {
            (kind, element.get(f"{_W}id")): text_of_blocks(self._blocks(element)).strip()
            for kind in _NOTES.values()
            for element in self._each_of(f"word/{kind}s.xml", f"{_W}{kind}")
        }
        for place, note in enumerate(self._notes, 1):
            blocks.append(Block("p", f"[^{place}]: {notes.get(note, '')}"))
        self._count_beside()
        return text_of_blocks(blocks)

    def _count_beside(self) -> None:
        """Counts the comments, and the headers and footers with words. A part that is damaged, or
        too large to be read only for that, is one: nothing of it would be read anyway."""
        for name in sorted(self._names):
            if name == "word/comments.xml":
                counted, tag = _REMARKS, f"{_W}comment"
            elif re.fullmatch(r"word/(?:header|footer)\d*\.xml", name):
                counted, tag = _HEADERS, f"{_W}t"
            else:
                continue
            try:
                data = _member(self._archive, name, self._left_beside)
                self._left_beside -= len(data)
                every = _word_part(data).iter(tag)
            except (*_UNREADABLE, CommandError):
                self.left_out[counted] += 1
                continue
            if counted == _REMARKS:
                self.left_out[counted] += sum(1 for _ in every)
            else:
                self.left_out[counted] += any((text.text or "").strip() for text in every)

    def _blocks(self, around: etree._Element) -> Iterator[Block]:
        for child in around:
            if child.tag == f"{_W}p":
                yield from self._paragraph(child)
            elif child.tag == f"{_W}tbl":
                yield from self._table(child)
            elif child.tag in FORMULAS:
                yield Block("p", self._formula(child))
            elif child.tag in _AROUND:
                yield from self._blocks(child)

    def _table(self, table: etree._Element) -> Iterator[Block]:
        """A row for each of a table. Markdown has no tables in cells: the rows of one are lines."""
        self.left_out[_TABLES] += bool(self._rows)
        for place, row in enumerate(_each_within(table, "tr")):
            self._rows += 1
            texts = [text_of_blocks(self._blocks(cell)) for cell in _each_within(row, "tc")]
            self._rows -= 1
            if self._rows:
                yield Block("p", ", ".join(text.strip() for text in texts if text.strip()))
            elif texts:
                yield row_of([cell_of(text) for text in texts], place == 0)
        yield Block("", "")

    def _formula(self, element: etree._Element) -> str:
        self.left_out[_FORMULAS] += 1
        return formula(element)

    def _paragraph(self, paragraph: etree._Element) -> Iterator[Block]:
        named = self._style(paragraph.find(f"{_W}pPr/{_W}pStyle"))
        kind = _STYLE_KINDS.get(named, "p")
        level = re.fullmatch(r"(?:heading|berschrift|titre) ?([1-6])", named)
        runs = list(self._runs(paragraph, ""))
        if kind == "pre":
            yield Block("pre", "".join(run.text for run in runs).rstrip())
        elif level or named == "title":
            runs = [run._replace(styles=run.styles - {"strong"}) for run in runs]
            text = " ".join(line_of(runs).split())
            yield Block("h", f"{'#' * int(level[1] if level else 1)} {text}" if text else "")
        elif kind == "hr":
            yield Block("p", "***")
        elif text := line_of(runs).strip("\n"):
            item = self._item(paragraph, named) if text.strip() else ""
            yield Block("li", item + text.strip()) if item else Block(kind, text)
        for box in paragraph.iter(f"{_W}txbxContent"):
            is_other = next(box.iterancestors("{*}Fallback"), None) is not None
            if not is_other and next(box.iterancestors(f"{_W}p"), None) is paragraph:
                yield from self._blocks(box)

    def _style(self, element: etree._Element | None) -> str:
        uid = "" if element is None else str(element.get(f"{_W}val", ""))
        return self._styles.get(uid) or uid.lower()

    def _item(self, paragraph: etree._Element, named: str) -> str:
        """The sign before an item of a list; empty for other paragraphs."""
        properties = paragraph.find(f"{_W}pPr/{_W}numPr")
        number, level = "", 0
        if properties is not None:
            number = _value(properties, "numId")
            level = min(int(_value(properties, "ilvl") or 0), 8)
        if number not in self._lists:
            by_name = re.fullmatch(r"(list (?:bullet|number))(?: ([2-5]))?", named)
            number, level = (by_name[1], int(by_name[2] or 1) - 1) if by_name else ("", 0)
        if not number:
            return ""
        counts = self._counts.setdefault(number, {})
        for deeper in [level_above for level_above in counts if level_above > level]:
            del counts[deeper]
        count = counts.get(level, self._starts.get((number, level), 1) - 1) + 1
        counts[level] = count
        form = self._lists.get(number, {}).get(f"{level}", "")
        is_bullet = form in ("bullet", "none") or number == "list bullet"
        return "    " * level + ("- " if is_bullet else f"{count}. ")

    def _runs(self, around: etree._Element, href: str) -> Iterator[ReadRun]:
        for child in around:
            if child.tag == f"{_W}r":
                yield from self._run(child, href)
            elif child.tag == f"{_W}hyperlink":
                yield from self._runs(child, self._links.get(child.get(f"{_R}id"), ""))
            elif child.tag in FORMULAS:
                yield ReadRun(self._formula(child), href=href)
            elif child.tag in _AROUND:
                yield from self._runs(child, href)

    def _run(self, run: etree._Element, href: str) -> Iterator[ReadRun]:
        properties = run.find(f"{_W}rPr")
        styles = set[str]()
        if properties is not None:
            styles = {
                name
                for tag, name in (("b", "strong"), ("i", "em"), ("strike", "s"))
                if (own := properties.find(f"{_W}{tag}")) is not None
                and own.get(f"{_W}val", "") not in _OFF
            }
            fonts = properties.find(f"{_W}rFonts")
            face = "" if fonts is None else fonts.get(f"{_W}ascii", "")
            if "Mono" in face or face.startswith(("Courier", "Consolas")):
                styles.add("code")
            styles |= {_RUN_NAMES.get(self._style(properties.find(f"{_W}rStyle")), "")} - {""}
        for child in run:
            name = str(child.tag).removeprefix(_W)
            if name in ("drawing", "pict"):
                alt = next((p.get("descr") for p in child.iter("{*}docPr") if p.get("descr")), "")
                text = described_image(alt) if next(child.iter("{*}blip"), None) is not None else ""
                self.left_out[_DRAWN] += next(child.iter(*_DRAWINGS), None) is not None
            elif name == "sym":
                text = symbol(child.get(f"{_W}font", ""), child.get(f"{_W}char", ""))
                self.left_out[_SYMBOLS] += not text
            elif name in _NOTES:
                self._notes.append((_NOTES[name], str(child.get(f"{_W}id"))))
                text = f"[^{len(self._notes)}]"
            elif name == "ruby":  # keeps the base text without its pronunciation
                bases = child.iterfind(f"{_W}rubyBase//{_W}t")
                text = "".join(base.text or "" for base in bases)
            else:
                text = _CHARACTERS.get(name, (child.text or "") if name == "t" else "")
            yield ReadRun(text, frozenset(styles), href)


def _each_within(around: etree._Element, name: str) -> Iterator[etree._Element]:
    """The rows of a table, or the cells of a row, also where something is wrapped around them."""
    for child in around:
        if child.tag == f"{_W}{name}":
            yield child
        elif child.tag in _AROUND:
            yield from _each_within(child, name)


def _value(around: etree._Element, name: str) -> str:
    element = around.find(f"{_W}{name}")
    return "" if element is None else str(element.get(f"{_W}val", ""))


def _docx_book(archive: zipfile.ZipFile) -> _Book:
    title = ""
    if "docProps/core.xml" in archive.namelist():
        core = _parsed(_member(archive, "docProps/core.xml"))
        title = core.findtext("{http://purl.org/dc/elements/1.1/}title") or ""
    read = _Docx(archive)
    text = read.text()
    return _Book(title.strip(), text, Report(dropped=+read.left_out))


# EPUB: the pages of the spine, in order.


class _Files:
    """The files of a book by their names, also as programs write them that keep to no case."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name: name for name in archive.namelist()}
        for name in archive.namelist():
            self._names.setdefault(name.casefold(), name)

    def name_of(self, folder: PurePosixPath, href: str) -> str:
        """The name of the file that an address leads to; "" if there is none."""
        path = href.partition("#")[0]
        for wanted in (_joined(folder, unquote(path)), _joined(folder, path)):
            for name in (wanted, wanted.casefold()):
                if name in self._names:
                    return self._names[name]
        return ""

    def size_of(self, name: str) -> int:
        """How many bytes a file has, unpacked."""
        return self._archive.getinfo(name).file_size

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return _member(self._archive, name)

    def encrypted(self) -> set[str]:
        """The names of the files that are encrypted; fonts that are only disguised are not."""
        if "META-INF/encryption.xml" not in self._names:
            return set()
        names = set()
        for entry in _parsed(self.read("META-INF/encryption.xml")).iter("{*}EncryptedData"):
            ways = {method.get("Algorithm") for method in entry.iter("{*}EncryptionMethod")}
            if not ways & _DISGUISES:
                places = (place.get("URI") or "" for place in entry.iter("{*}CipherReference"))
                names |= {self.name_of(PurePosixPath(), str(place)) for place in places}
        return names


_DISGUISES = {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}


def _epub_book(archive: zipfile.ZipFile) -> _Book:
    files = _Files(archive)
    container = _parsed(files.read("META-INF/container.xml"))
    place = next((file.get("full-path") for file in container.iter("{*}rootfile")), None)
    if place is None:
        raise ValueError
    package_name = files.name_of(PurePosixPath(), str(place))
    package = _parsed(files.read(package_name))
    items = {item.get("id"): item for item in package.iter("{*}item")}
    title = next((element.text for element in package.iter("{*}title")), None)
    book = _Book((title or "").strip())
    folder, texts, left = PurePosixPath(package_name).parent, [], _MOST
    encrypted = files.encrypted()
    replaced = 0
    for reference in package.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is not None and "nav" in (item.get("properties") or "").split():
            continue  # its table of contents
        href = str(reference.get("idref", "") if item is None else item.get("href", ""))
        name = "" if item is None else files.name_of(folder, href)
        left -= _LEAST + (files.size_of(name) if name else 0)
        if left < 0:
            raise _too_large(f"The pages of the book have more than {_MOST:,} bytes.")
        if not name:
            book.report.warn(f"{href[:200]!r} is not in the file, and was left out.")
            continue
        if name in encrypted:
            raise unreadable(
                "The book is encrypted for one reader or device (DRM).", "take a copy without it"
            )
        text, count = decoded(files.read(name))
        replaced += count
        texts.append(_page_text(text))
    book.text = "\n\n".join(text for text in texts if text)
    warn_of_replaced(replaced, book.report)
    return book


def _joined(folder: PurePosixPath, href: str) -> str:
    parts: list[str] = []
    for part in (folder / href).parts:
        if part == "..":
            parts = parts[:-1]
        elif part not in (".", "/"):
            parts.append(part)
    return "/".join(parts)


_BLOCKS = frozenset(
    """p div section article header footer blockquote ul ol li table tr figure figcaption pre hr
    h1 h2 h3 h4 h5 h6 dl dt dd aside nav""".split()
)
_SILENT = frozenset(("head", "script", "style", "template"))
_STYLES = {"b": "strong", "i": "em", "cite": "em", "del": "s", "strike": "s", "tt": "code"}
_STYLES |= {name: name for name in ("strong", "em", "s", "code")}


def _page_text(text: str) -> str:
    """The text of a page as Markdown. libxml2 parses it: Python's own parser needs quadratic time
    for some pages, and this one only if elements are nested very deep."""
    page = _Page()
    parser = etree.HTMLParser(target=page, encoding="utf-8", no_network=True, huge_tree=False)
    raw = text.encode()
    for start in range(0, len(raw), _PIECE):  # an error is only raised after a piece
        parser.feed(raw[start : start + _PIECE])
    if text.strip():
        parser.close()
    return page.text()


class _Page:
    """Takes the elements of a page of a book as they are read; scripts and styles are left out."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._depth = 0
        self._runs: list[ReadRun] = []
        self._styles: list[str] = []
        self._around: list[str] = []  # the blocks that are open
        self._lists: list[int] = []  # the next number in each open list; 0 for bullets
        self._href = self._item = ""
        self._silent = 0
        self._cells: list[str] | None = None
        self._inner = 0  # tables that are open within a cell: their cells are its text
        self._is_first = True

    def start(self, tag: str, given: dict[str, str]) -> None:
        """Takes the start of an element. ValueError where it is too deep."""
        self._depth += 1
        if self._depth > _DEEPEST_OF_ALL:
            raise ValueError
        if tag in _SILENT:
            self._silent += 1
        elif tag == "br":
            self._add("\n")
        elif tag == "img":
            self._add(described_image(given.get("alt", "")))
        elif tag == "a":
            self._href = given.get("href", "")
        elif tag in _STYLES and len(self._styles) < _DEEPEST:
            self._styles.append(_STYLES[tag])
        elif tag in _BLOCKS:
            self._end()
            self._begin(tag, given)

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        if tag == "hr":
            self.blocks.append(Block("p", "***"))
            return
        if len(self._around) == _DEEPEST:
            return
        self._around.append(tag)
        if tag in ("ul", "ol"):
            start = given.get("start", "1")
            self._lists.append(0 if tag == "ul" else int(start) if start[:9].isdecimal() else 1)
        elif tag == "li" and self._lists:
            number = self._lists[-1]
            indent = "    " * (min(len(self._lists), 9) - 1)
            self._item = f"{indent}{number}. " if number else f"{indent}- "
            self._lists[-1] += 1 if number else 0
        elif tag == "table" and self._cells is not None:
            self._inner += 1
        elif tag == "table":
            self._is_first = True
        elif tag == "tr" and not self._inner and self._cells is None:
            self._cells = []

    def end(self, tag: str) -> None:
        """Takes the end of an element."""
        self._depth -= 1
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "a":
            self._href = ""
        elif tag in ("td", "th") and self._inner:
            self._runs.append(ReadRun(" "))
        elif tag in ("td", "th") and self._cells is not None:
            self._cells.append(cell_of(line_of(self._runs)))
            self._runs = []
        elif tag in _STYLES:
            if _STYLES[tag] in self._styles:
                self._styles.remove(_STYLES[tag])
        elif tag in _BLOCKS and tag in self._around:
            self._end()
            closed = ""
            while closed != tag:
                closed = self._around.pop()
                self._close(closed)

    def _close(self, tag: str) -> None:
        """Ends a block; each that is open within another that ends is ended, too."""
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "table" and self._inner:
            self._inner -= 1
        elif tag == "table":
            self.blocks.append(Block("", ""))
        elif tag == "tr" and not self._inner:
            if self._cells:
                self.blocks.append(row_of(self._cells, self._is_first))
                self._is_first = False
            self._cells = None  # also of an empty row: what follows is no cell

    def data(self, data: str) -> None:
        """Takes text."""
        if not self._silent:
            self._add(data if "pre" in self._around else re.sub(r"\s+", " ", data))

    def _add(self, text: str) -> None:
        self._runs.append(ReadRun(text, frozenset(self._styles), self._href))

    def _end(self) -> None:
        """Ends the paragraph that is open, outside of the cells of a table."""
        if self._cells is not None:
            self._runs.append(ReadRun(" "))
            return
        runs, self._runs = self._runs, []
        if "pre" in self._around:
            if text := "".join(run.text for run in runs).strip("\n"):
                self.blocks.append(Block("pre", text))
            return
        text = "\n".join(line.strip() for line in line_of(runs).split("\n")).strip()
        if not text:
            return
        inner = self._around[-1] if self._around else ""
        if inner[:1] == "h" and inner[1:].isdigit():
            text = " ".join(
                line_of(run._replace(styles=run.styles - {"strong"}) for run in runs).split()
            )
            self.blocks.append(Block("h", f"{'#' * int(inner[1:])} {text}"))
        elif "li" in self._around:
            self.blocks.append(Block("li", (self._item or "    " * len(self._lists)) + text))
            self._item = ""
        else:
            self.blocks.append(Block("quote" if "blockquote" in self._around else "p", text))

    def close(self) -> None:
        """Takes the end of the page."""

    def text(self) -> str:
        """The page as Markdown."""
        self._end()
        return text_of_blocks(self.blocks).strip()


def each_docx(file: Input) -> Iterator[TreeInFile]:
    """The one path of a DOCX."""
    return _read_book(file, _docx_book)


def each_epub(file: Input) -> Iterator[TreeInFile]:
    """The one path of an EPUB."""
    return _read_book(file, _epub_book)


FORMATS = {
    "docx": ImportFormat("docx", "DOCX", bool, each_docx),
    "epub": ImportFormat("epub", "EPUB", bool, each_epub),
}
