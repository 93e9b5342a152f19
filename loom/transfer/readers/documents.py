"""Plain text and Markdown, and the text of DOCX and EPUB: one path of nodes, whose texts in a row
are the document."""

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from lxml import etree

from loom.rules.errors import CommandError
from loom.transfer.gathering import as_text
from loom.transfer.inputs import Format, Input, Part, Put
from loom.transfer.records import Head, Record, Report, unreadable

SPLITS = ("sections", "paragraphs", "whole")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t].*)?$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_GAP = re.compile(r"(?:\r?\n[ \t]*){2,}")
_TITLE = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$")
_MOST = 64 * 1024 * 1024


def each_document(file: Input) -> Iterator[Part]:
    """The one path of a text."""
    if file.path.stat().st_size > _MOST:
        raise unreadable(f"A text has at most {_MOST:,} bytes.", "split the file")
    text = file.raw().decode("utf-8")
    yield document(text, file.options.get("split", ""))


def document(text: str, split: str, title: str = "") -> Part:
    """The part of a text; `asks` names the ways in which it can be split, if there are several.
    Without a title the first heading is the title."""
    starts = _headings(text)
    title = title or _title(text, starts)
    ways = [way for way in SPLITS if len(_pieces(text, way, starts)) > 1 or way == "whole"]
    if len(ways) == 2 and "sections" in ways:
        ways = ["sections", "whole"]
    pieces = partial(_pieces, text, split or ways[0], starts)
    part = Part(title, "", 0, partial(_read, title, pieces))
    part.asks = tuple(ways) if len(ways) > 1 and not split else ()
    return part


def _title(text: str, starts: list[int]) -> str:
    """The first heading, if the text begins with it."""
    if not starts or text[: starts[0]].strip():
        return ""
    found = _TITLE.match(text[starts[0] :].partition("\n")[0].rstrip("\r"))
    return found[1][:300] if found else ""


def _headings(text: str) -> list[int]:
    """Where headings start that are not in a block of code."""
    fences: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for found in _FENCE.finditer(text):
        if opened is None:
            opened = found.start(), found[1]
        elif found[1].startswith(opened[1]):
            fences.append((opened[0], found.end()))
            opened = None
    if opened is not None:
        fences.append((opened[0], len(text)))
    starts, at = [], 0
    for found in _HEADING.finditer(text):
        while at < len(fences) and fences[at][1] <= found.start():
            at += 1
        if at == len(fences) or found.start() < fences[at][0]:
            starts.append(found.start())
    return starts


def _pieces(text: str, split: str, starts: list[int]) -> list[str]:
    """The text in pieces that are the text again when they are joined."""
    if split == "sections":
        cuts = starts
    elif split == "paragraphs":
        cuts = [found.end() for found in _GAP.finditer(text)]
    else:
        cuts = []
    pieces, before = [], 0
    for cut in [*cuts, len(text)]:
        if text[before:cut].strip():
            pieces.append(text[before:cut])
            before = cut
    if before < len(text) and pieces:
        pieces[-1] += text[before:]
    return pieces


def _read(title: str, pieces: Callable[[], list[str]], put: Put, report: Report) -> Head:
    number = -1
    for number, piece in enumerate(pieces()):
        put(Record(number=number, parent=number - 1, text=as_text(piece, f"{number}")))
    return Head(title=title, current=number)


# -- DOCX and EPUB: paragraphs and headings, as Markdown. Nothing in them is run.


TextOf = Callable[[zipfile.ZipFile], tuple[str, str]]
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError),
    *(OSError, EOFError, ValueError, KeyError, IndexError, struct.error),
)


def kind_of(path: Path) -> str:
    """`docx` or `epub` for such a file, "" for any other."""
    try:
        if not zipfile.is_zipfile(path):
            return ""
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except _DAMAGED:
        return ""
    if "word/document.xml" in names:
        return "docx"
    return "epub" if "META-INF/container.xml" in names else ""


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A file of the archive. LIMIT_EXCEEDED for one that is too large."""
    with archive.open(name) as packed:
        data = packed.read(_MOST + 1)
    if len(data) > _MOST:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A file in it has more than {_MOST:,} bytes.",
            hint="split it",
            status=413,
        )
    return data


def _parsed(data: bytes) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(data, parser)


def _each(file: Input, text_of: TextOf) -> Iterator[Part]:
    try:
        with zipfile.ZipFile(file.path) as archive:
            title, text = text_of(archive)
    except (*_DAMAGED, etree.XMLSyntaxError, AssertionError):
        raise unreadable("The file is damaged or encrypted.", "save it again") from None
    text = text.replace("\0", "\ufffd")
    if not text.strip():
        raise unreadable("The file has no text.", "images are not read")
    yield document(text, file.options.get("split", ""), title[:300])


# DOCX: the paragraphs of `word/document.xml`.


def _docx_text(archive: zipfile.ZipFile) -> tuple[str, str]:
    root = _parsed(_member(archive, "word/document.xml"))
    paragraphs = [_paragraph(one) for one in root.iter(f"{_W}p")]
    title = ""
    if "docProps/core.xml" in archive.namelist():
        found = _parsed(_member(archive, "docProps/core.xml"))
        title = found.findtext("{http://purl.org/dc/elements/1.1/}title") or ""
    return title.strip(), "\n\n".join(one for one in paragraphs if one.strip())


def _paragraph(paragraph: etree._Element) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    named = "" if style is None else str(style.get(f"{_W}val", ""))
    pieces = []
    for one in paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br", f"{_W}cr"):
        pieces.append(
            (one.text or "") if one.tag == f"{_W}t" else "\t" if one.tag == f"{_W}tab" else "\n"
        )
    text = "".join(pieces)
    level = re.fullmatch(r"(?:Heading|heading ?|berschrift|Titre)([1-6])", named)
    marks = "#" * int(level[1]) if level else "#" if named == "Title" else ""
    return f"{marks} {text}" if marks and text.strip() else text


# EPUB: the pages of the spine, in order.


def _epub_text(archive: zipfile.ZipFile) -> tuple[str, str]:
    container = _parsed(_member(archive, "META-INF/container.xml"))
    place = next((one.get("full-path") for one in container.iter("{*}rootfile")), None)
    if place is None:
        raise ValueError
    package = _parsed(_member(archive, str(place)))
    hrefs = {one.get("id"): one.get("href") for one in package.iter("{*}item")}
    folder, texts, left = PurePosixPath(str(place)).parent, [], _MOST
    for one in package.iter("{*}itemref"):
        href = hrefs.get(one.get("idref"))
        if href is None:
            continue
        page = _Page()
        data = _member(archive, _joined(folder, unquote(str(href).partition("#")[0])))
        left -= len(data)
        if left < 0:
            raise ValueError
        page.feed(data.decode("utf-8", "replace"))
        page.close()
        texts.append(page.text())
    title = next((one.text for one in package.iter("{*}title")), None)
    return (title or "").strip(), "\n\n".join(one for one in texts if one)


def _joined(folder: PurePosixPath, href: str) -> str:
    parts: list[str] = []
    for one in (folder / href).parts:
        if one == "..":
            parts = parts[:-1]
        elif one != ".":
            parts.append(one)
    return "/".join(parts)


_BLOCKS = frozenset(
    """p div section article header footer blockquote ul ol li table tr figure figcaption pre hr
    h1 h2 h3 h4 h5 h6 dl dt dd aside nav""".split()
)
_SILENT = frozenset(("head", "script", "style", "template"))


class _Page(HTMLParser):
    """The text of a page of a book: headings and paragraphs; scripts and styles are left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = [""]
        self._silent = 0
        self._mark = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag == "br":
            self._blocks[-1] += "\n"
        elif tag in _BLOCKS:
            self._blocks.append("")
            level = tag[1:] if tag[0] == "h" and tag[1:].isdigit() else ""
            self._mark = "#" * int(level) + " " if level else "* " if tag == "li" else ""

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag in _BLOCKS:
            self._blocks.append("")
            self._mark = ""

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        shown = re.sub(r"\s+", " ", data)
        if not self._blocks[-1].strip():
            shown = self._mark + shown.lstrip() if shown.strip() else ""
            self._mark = "" if shown else self._mark
        self._blocks[-1] += shown

    def text(self) -> str:
        """The blocks, with an empty line between them."""
        return "\n\n".join(one.strip() for one in self._blocks if one.strip())


def each_docx(file: Input) -> Iterator[Part]:
    """The one path of a DOCX."""
    return _each(file, _docx_text)


def each_epub(file: Input) -> Iterator[Part]:
    """The one path of an EPUB."""
    return _each(file, _epub_text)


FORMATS = {
    "docx": Format("docx", "DOCX", bool, each_docx),
    "epub": Format("epub", "EPUB", bool, each_epub),
}
