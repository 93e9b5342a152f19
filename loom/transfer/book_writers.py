"""A path as a book: EPUB 3, and DOCX. Both are written piece by piece.

A text is read as Markdown once; from its tokens each format makes its own elements. A new chapter
begins at a bookmark with a label.
"""

import io
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape as xml_escape
from xml.sax.saxutils import quoteattr

from markdown_it import MarkdownIt
from markdown_it.token import Token

from loom.queries.node_rows import NodeRow
from loom.transfer.selection import Marked, Selection, Wanted, batched, notes_of, select

CHAPTER = 300_000  # characters after which a new part of a chapter begins
PART = 40_000  # characters that are read as Markdown at once
_NEVER = "\ufffe\uffff"  # not in XML
DATE = (1980, 1, 1, 0, 0, 0)  # so that the same tree gives the same file
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True})
_MARKDOWN.enable("strikethrough").disable(["html_block", "html_inline"])


class Zipped:
    """A ZIP file that is taken out while it is being written."""

    def __init__(self) -> None:
        self._out = _Drained()
        self._zip = zipfile.ZipFile(self._out, "w", zipfile.ZIP_DEFLATED)

    def file(self, name: str, pieces: Iterator[bytes], *, packed: bool = True) -> Iterator[bytes]:
        """Writes one file; returns what of the archive is ready after each piece."""
        info = zipfile.ZipInfo(name, DATE)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        with self._zip.open(info, "w", force_zip64=True) as out:
            for piece in pieces:
                out.write(piece)
                yield self._out.taken()
        yield self._out.taken()

    def one(self, name: str, content: str | bytes, *, packed: bool = True) -> bytes:
        """Writes one file at once. Returns what of the archive is ready."""
        info = zipfile.ZipInfo(name, DATE)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        self._zip.writestr(info, content)
        return self._out.taken()

    def end(self) -> bytes:
        """Writes the directory. Returns the rest of the archive."""
        self._zip.close()
        return self._out.taken()


class _Drained(io.RawIOBase):
    """A file that can only be written, and whose bytes are taken out in between."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._pieces.append(piece)
        return len(piece)

    def taken(self) -> bytes:
        """What was written since it was last asked."""
        made = b"".join(self._pieces)
        self._pieces = []
        return made


# A path as chapters of paragraphs.


@dataclass
class Run:
    """A piece of a paragraph with its style: any of strong, em, s, code; `href` of a link."""

    text: str
    styles: tuple[str, ...] = ()
    href: str = ""


@dataclass
class Paragraph:
    """One paragraph: `kind` is p, h1 … h6, li, quote, pre, hr, by or note."""

    kind: str
    runs: list[Run] = field(default_factory=list)
    level: int = 0


def chapters(wanted: Wanted, selection: Selection) -> Iterator[tuple[str, list[Paragraph]]]:
    """(title, paragraphs) of the path: a new one at each bookmark with a label, and where a part
    becomes long."""
    marks = selection.marks()
    title, texts, made, size = "", "", list[Paragraph](), 0
    is_buffer = wanted.tree.mode == "buffer"
    for page in selection.pages():
        notes = notes_of(wanted.tree, [step.slot for step, _ in page]) if wanted.notes else {}
        for step, row in page:
            label = next(filter(None, marks.get(step.slot, Marked()).bookmarks), "")
            if label or size > CHAPTER:
                made += paragraphs(texts)
                if made or title:
                    yield title, made
                title, texts, made, size = label, "", [], 0
            if is_buffer and not notes.get(step.slot):
                texts += row.text
            else:
                made += [*paragraphs(texts), *_said(wanted, row)]
                made += _notes(wanted, notes.get(step.slot, []))
                texts = ""
            size += row.length
    made += paragraphs(texts)
    if made or title:
        yield title, made


def _said(wanted: Wanted, row: NodeRow) -> Iterator[Paragraph]:
    if wanted.tree.mode == "dialogue" and row.text:
        kind = "Model" if row.author_kind == "model" else "Person"
        yield Paragraph("by", [Run(row.author_name if wanted.authors else kind)])
    yield from paragraphs(row.text)


def _notes(wanted: Wanted, notes: list[tuple[int, NodeRow]]) -> Iterator[Paragraph]:
    for level, row in notes:
        form = row.form or "note"
        head = f"{form} · {row.author_name}: " if wanted.authors else f"{form}: "
        yield Paragraph("note", [Run(head, ("strong",)), Run(row.text)], level)


def paragraphs(text: str) -> Iterator[Paragraph]:
    """The paragraphs of a Markdown text. A long one is cut at blank lines; what is still long is
    taken as it is."""
    while len(text) > PART:
        cut = text.rfind("\n\n", 0, PART) + 2
        if cut < 2:
            cut = text.find("\n\n") + 2 or len(text)
            yield Paragraph("p", [Run(text[:cut].strip("\n"))])
        else:
            yield from _parsed(text[:cut])
        text = text[cut:]
    yield from _parsed(text)


def _parsed(text: str) -> Iterator[Paragraph]:
    stack: list[str] = []
    depth, bullet = -1, ""
    for token in _MARKDOWN.parse(text):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            depth += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type in ("blockquote_open", "list_item_open", "heading_open"):
            stack.append({"blockquote": "quote"}.get(token.tag, token.tag))
            bullet = (f"{token.info}. " if token.info else "• ") if token.tag == "li" else bullet
        elif token.type in ("blockquote_close", "list_item_close", "heading_close"):
            stack.pop()
        elif token.type == "inline":
            runs = [*([Run(bullet)] if bullet else []), *_runs(token)]
            yield Paragraph(stack[-1] if stack else "p", runs, max(depth, 0))
            bullet = ""
        elif token.type in ("fence", "code_block"):
            yield Paragraph("pre", [Run(token.content.rstrip("\n"), ("code",))])
        elif token.type == "hr":
            yield Paragraph("hr")


def _runs(token: Token) -> Iterator[Run]:
    styles: list[str] = []
    href = ""
    for one in token.children or []:
        if one.type == "link_open":
            href = str(one.attrs.get("href", ""))
        elif one.type == "link_close":
            href = ""
        elif one.type == "image":
            yield Run(f"[image: {one.content}]", tuple(styles), href)
        elif one.nesting == 1:
            styles.append(one.tag)
        elif one.nesting == -1:
            styles.remove(one.tag)
        elif one.type in ("softbreak", "hardbreak"):
            yield Run("\n", tuple(styles), href)
        elif one.content:
            found = (*styles, "code") if one.type == "code_inline" else tuple(styles)
            yield Run(one.content, found, href)


def _xml(text: str) -> str:
    """The text for XML, which has no place for most control characters."""
    return xml_escape("".join(one if _is_xml(one) else "\ufffd" for one in text))


def _is_xml(one: str) -> bool:
    return (
        one in "\t\n\r" or " " <= one <= "\ud7ff" or "\ue000" <= one <= "\ufffd" or one > "\uffff"
    )


# EPUB 3


_EPUB_STYLE = """body { line-height: 1.5; } p { margin: 0 0 .8em; } .by { font-weight: bold;
margin: 1.2em 0 .2em; } .note { border-left: 2px solid; padding-left: .6em; font-size: .9em; }
pre { white-space: pre-wrap; } .li { margin-left: 1.5em; }
"""
_CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
"""


def epub(wanted: Wanted) -> Iterator[bytes]:
    """The path as an EPUB."""
    selection = select(wanted)
    title = " ".join(wanted.tree.title.split()) or "Untitled tree"
    out = Zipped()
    yield out.one("mimetype", "application/epub+zip", packed=False)
    yield out.one("META-INF/container.xml", _CONTAINER)
    yield out.one("style.css", _EPUB_STYLE)
    names: list[str] = []
    for place, (name, found) in enumerate(chapters(wanted, selection), 1):
        names.append(name or (title if place == 1 else f"Part {place}"))
        yield from out.file(f"part{place}.xhtml", _epub_part(names[-1], bool(name), found))
    if not names:
        names = [title]
        yield out.one("part1.xhtml", b"".join(_epub_part(title, False, [])))
    yield out.one("nav.xhtml", _epub_nav(title, names))
    yield out.one("book.opf", _epub_package(wanted, title, len(names)))
    yield out.end()


def _epub_head(title: str, more: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html '
        f'xmlns="http://www.w3.org/1999/xhtml"{more}><head><title>{_xml(title)}</title>'
        '<link rel="stylesheet" href="style.css"/></head><body>\n'
    )


def _epub_part(title: str, is_named: bool, found: list[Paragraph]) -> Iterator[bytes]:
    yield _epub_head(title).encode()
    if is_named:
        yield f"<h1>{_xml(title)}</h1>\n".encode()
    for batch in batched(found, 200):
        yield "".join(map(_epub_paragraph, batch)).encode()
    yield b"</body></html>\n"


def _epub_paragraph(one: Paragraph) -> str:
    if one.kind == "hr":
        return "<hr/>\n"
    inside = "".join(map(_epub_run, one.runs))
    if one.kind == "quote":
        return f"<blockquote><p>{inside}</p></blockquote>\n"
    if one.kind in ("li", "by", "note"):
        return f'<p class="{one.kind}">{inside}</p>\n'
    return f"<{one.kind}>{inside}</{one.kind}>\n"


def _epub_run(run: Run) -> str:
    made = _xml(run.text)
    if "code" not in run.styles:
        made = made.replace("\n", "<br/>")
    for style in reversed(run.styles):
        made = f"<{style}>{made}</{style}>"
    is_web = run.href.startswith(("https://", "http://", "mailto:"))
    return f"<a href={quoteattr(run.href)}>{made}</a>" if is_web else made


def _epub_nav(title: str, names: list[str]) -> str:
    lines = "".join(
        f'<li><a href="part{place}.xhtml">{_xml(name)}</a></li>\n'
        for place, name in enumerate(names, 1)
    )
    head = _epub_head(title, ' xmlns:epub="http://www.idpf.org/2007/ops"')
    return f'{head}<nav epub:type="toc"><ol>\n{lines}</ol></nav></body></html>\n'


def _epub_package(wanted: Wanted, title: str, count: int) -> str:
    uid = uuid.uuid5(uuid.NAMESPACE_URL, f"heddle:{wanted.tree.uid}")
    parts = range(1, count + 1)
    kind = 'media-type="application/xhtml+xml"'
    items = "".join(f'<item id="part{n}" href="part{n}.xhtml" {kind}/>\n' for n in parts)
    spine = "".join(f'<itemref idref="part{n}"/>' for n in parts)
    at = f"{wanted.tree.touched_at:%Y-%m-%dT%H:%M:%SZ}"
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{uid}</dc:identifier>
<dc:title>{_xml(title)}</dc:title><dc:language>und</dc:language>
<meta property="dcterms:modified">{at}</meta></metadata>
<manifest><item id="nav" href="nav.xhtml" {kind} properties="nav"/>
<item id="style" href="style.css" media-type="text/css"/>
{items}</manifest><spine>{spine}</spine></package>
"""


# DOCX


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_DOCX_FILES = {
    "[Content_Types].xml": f"""{_XML}<Types xmlns="{_PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml" ContentType="{_TYPE}.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="{_TYPE}.styles+xml"/>
</Types>""",
    "_rels/.rels": f"""{_XML}<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>
</Relationships>""",
    "word/_rels/document.xml.rels": f"""{_XML}<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="r1" Type="{_OFFICE}/styles" Target="styles.xml"/>
</Relationships>""",
}
# style: (name, paragraph properties, run properties)
_DOCX_STYLES = {
    "Normal": ("Normal", '<w:spacing w:after="160" w:line="288" w:lineRule="auto"/>', ""),
    "Title": ("Title", "", '<w:b/><w:sz w:val="48"/>'),
    **{
        f"Heading{level}": (
            f"heading {level}",
            f'<w:keepNext/><w:outlineLvl w:val="{level - 1}"/>',
            f'<w:b/><w:sz w:val="{38 - 3 * level}"/>',
        )
        for level in range(1, 7)
    },
    "ListParagraph": ("List Paragraph", "", ""),
    "Quote": ("Quote", '<w:ind w:left="720"/>', "<w:i/>"),
    "Code": ("Code", "", '<w:rFonts w:ascii="Courier New" w:hAnsi="Courier New"/>'),
    "Author": ("Author", "<w:keepNext/>", "<w:b/>"),
    "Note": ("Note", '<w:ind w:left="720"/>', '<w:sz w:val="20"/>'),
}
_STYLE_OF = {
    "li": "ListParagraph",
    "quote": "Quote",
    "pre": "Code",
    "by": "Author",
    "note": "Note",
    **{f"h{level}": f"Heading{level}" for level in range(1, 7)},
}
_RUN_STYLES = {
    "strong": "<w:b/>",
    "em": "<w:i/>",
    "s": "<w:strike/>",
    "code": '<w:rFonts w:ascii="Courier New" w:hAnsi="Courier New"/>',
}
_ORDER = ("code", "strong", "em", "s")  # the order that the schema of Word demands


def docx(wanted: Wanted) -> Iterator[bytes]:
    """The path as a document of Word."""
    selection = select(wanted)
    out = Zipped()
    for name, content in _DOCX_FILES.items():
        yield out.one(name, content)
    yield out.one("word/styles.xml", _docx_styles())
    yield from out.file("word/document.xml", _docx_document(wanted, selection))
    yield out.end()


def _docx_styles() -> str:
    made = "".join(
        f'<w:style w:type="paragraph" w:styleId="{uid}"{_default(uid)}><w:name w:val="{name}"/>'
        f"{_based(uid)}<w:pPr>{around}</w:pPr><w:rPr>{inside}</w:rPr></w:style>"
        for uid, (name, around, inside) in _DOCX_STYLES.items()
    )
    return f'{_XML}<w:styles xmlns:w="{_WORD}">{made}</w:styles>'


def _default(uid: str) -> str:
    return ' w:default="1"' if uid == "Normal" else ""


def _based(uid: str) -> str:
    return "" if uid == "Normal" else '<w:basedOn w:val="Normal"/>'


def _docx_document(wanted: Wanted, selection: Selection) -> Iterator[bytes]:
    yield f'{_XML}<w:document xmlns:w="{_WORD}"><w:body>'.encode()
    title = " ".join(wanted.tree.title.split())
    if title:
        yield _docx_paragraph("Title", [Run(title)], 0).encode()
    for name, found in chapters(wanted, selection):
        if name:
            yield _docx_paragraph("Heading1", [Run(name)], 0).encode()
        for batch in batched(found, 200):
            yield "".join(
                _docx_paragraph(_STYLE_OF.get(one.kind, ""), _shown(one), one.level)
                for one in batch
            ).encode()
    yield b"<w:sectPr/></w:body></w:document>"


def _shown(one: Paragraph) -> list[Run]:
    return [Run("* * *")] if one.kind == "hr" else one.runs


def _docx_paragraph(style: str, runs: list[Run], level: int) -> str:
    set_in = f'<w:ind w:left="{720 * (level + 1)}"/>' if style in ("ListParagraph", "Note") else ""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{set_in}</w:pPr>{''.join(map(_docx_run, runs))}</w:p>"


def _docx_run(run: Run) -> str:
    inside = "".join(_RUN_STYLES[one] for one in _ORDER if one in run.styles)
    lines = "<w:br/>".join(
        f'<w:t xml:space="preserve">{_xml(line)}</w:t>' if line else ""
        for line in run.text.split("\n")
    )
    return f"<w:r><w:rPr>{inside}</w:rPr>{lines}</w:r>"
