"""The text of DOCX and EPUB: paragraphs and headings, as Markdown. Nothing in them is run."""

import re
import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from lxml import etree

from loom.rules.errors import CommandError
from loom.transfer.inputs import Input, Part
from loom.transfer.readers.documents import document
from loom.transfer.recognition import Format
from loom.transfer.records import unreadable

TextOf = Callable[[zipfile.ZipFile], tuple[str, str]]
_MOST = 64 * 1024 * 1024
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DAMAGED = (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, OSError, EOFError)


def kind_of(path: Path) -> str:
    """`docx` or `epub` for such a file, "" for any other."""
    if not zipfile.is_zipfile(path):
        return ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (*_DAMAGED, ValueError, UnicodeError):
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
    except (*_DAMAGED, ValueError, UnicodeError, etree.XMLSyntaxError, AssertionError):
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
