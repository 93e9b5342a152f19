"""A book as EPUB 3 and as DOCX; a path as a book. Both are written piece by piece.

A text is read as Markdown once; from its tokens each format makes its own elements. In the book of
a path a new chapter begins at a bookmark with a label.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape as xml_escape
from xml.sax.saxutils import quoteattr

from loom.errors import CommandError
from loom.text.images import described_image
from loom.transfer.selection import (
    DEEPEST,
    ExportSelection,
    Paragraph,
    TextRun,
    batched,
    chapters,
    select,
)
from loom.transfer.writers.archive import ZipStream
from loom.trees.images import as_png, shown_bytes
from loom.trees.models import Image, Tree


def _xml(text: str) -> str:
    """The text for XML."""
    return xml_escape(_clean(text))


def _clean(text: str) -> str:
    """The text without characters that XML does not allow: most control characters."""
    return "".join(letter if _is_xml(letter) else "\ufffd" for letter in text)


def _is_xml(letter: str) -> bool:
    return (
        letter in "\t\n\r"
        or " " <= letter <= "\ud7ff"
        or "\ue000" <= letter <= "\ufffd"
        or letter > "\uffff"
    )


@dataclass(frozen=True)
class Book:
    """What a book is made of. `parts` returns its chapters as (title, paragraphs), the title empty
    for one that has none; `language` is a tag such as `en`, `und` where it is not known."""

    tree: Tree
    title: str
    parts: Callable[[], Iterator[tuple[str, list[Paragraph]]]]
    author: str = ""
    language: str = "und"
    has_title_page: bool = False


def book_of(wanted: ExportSelection) -> Book:
    """A path as a book under the title of its tree."""
    title = " ".join(wanted.tree.title.split())
    shown = replace(wanted, images=True)
    return Book(wanted.tree, title, lambda: chapters(shown, select(shown)))


class Pictures:
    """The images in a book, each by its hash."""

    def __init__(self, tree: Tree) -> None:
        self._all = {image.sha256: image for image in tree.images.all()}
        self.shown: dict[str, Image] = {}

    def find(self, sha256: str) -> Image | None:
        """The image, which is then part of the book; None if its file is missing or damaged."""
        image = self._all.get(sha256)
        if image is None or sha256 in self.shown:
            return image
        try:
            shown_bytes(image)
        except CommandError:
            return None
        self.shown[sha256] = image
        return image

    def files(self, folder: str) -> Iterator[tuple[str, bytes]]:
        """The name and the bytes of each image in the book."""
        for image in self.shown.values():
            raw = shown_bytes(image)
            yield f"{folder}{name_of(image)}", as_png(raw) if image.media_type == WEBP else raw


WEBP = "image/webp"  # a type that older readers do not support


def name_of(image: Image) -> str:
    """Its name as a file in a book."""
    return f"{image.sha256}.{type_of(image).removeprefix('image/')}"


def type_of(image: Image) -> str:
    """Its media type in a book."""
    return "image/png" if image.media_type == WEBP else image.media_type


# EPUB 3


_EPUB_STYLE = """body { line-height: 1.5; } p { margin: 0 0 .8em; } .by { font-weight: bold;
margin: 1.2em 0 .2em; } .note { border-left: 2px solid; padding-left: .6em; font-size: .9em; }
pre { white-space: pre-wrap; } img { max-width: 100%; } table { border-collapse: collapse; }
td { border: 1px solid; padding: .2em .5em; }
.title { margin-top: 30%; text-align: center; } .author { font-style: italic; }
"""
_CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
"""


def epub(wanted: ExportSelection) -> Iterator[bytes]:
    """The path as an EPUB."""
    yield from epub_of(book_of(wanted))


def epub_of(book: Book) -> Iterator[bytes]:
    """The book as an EPUB."""
    pictures = Pictures(book.tree)
    title = book.title or "Untitled tree"
    out = ZipStream()
    yield out.member("mimetype", "application/epub+zip", packed=False)
    yield out.member("META-INF/container.xml", _CONTAINER)
    yield out.member("style.css", _EPUB_STYLE)
    if book.has_title_page:
        yield out.member("title.xhtml", _epub_title_page(book, title))
    names: list[str] = []
    for place, (name, chapter) in enumerate(book.parts(), 1):
        names.append(name or (title if place == 1 else f"Part {place}"))
        part = _epub_part(names[-1], bool(name), chapter, pictures)
        yield from out.file(f"part{place}.xhtml", part)
    if not names:
        names = [title]
        yield out.member("part1.xhtml", b"".join(_epub_part(title, False, [], pictures)))
    for file, raw in pictures.files(""):
        yield out.member(file, raw, packed=False)
    yield out.member("nav.xhtml", _epub_nav(title, names))
    yield out.member("book.opf", _epub_package(book, title, len(names), pictures))
    yield out.end()


def _epub_title_page(book: Book, title: str) -> str:
    by = f'<p class="author">{_xml(book.author)}</p>\n' if book.author else ""
    head = _epub_head(title, ' xmlns:epub="http://www.idpf.org/2007/ops"')
    return (
        f'{head}<section class="title" epub:type="titlepage"><h1>{_xml(title)}</h1>\n{by}'
        "</section></body></html>\n"
    )


def _epub_head(title: str, more: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html '
        f'xmlns="http://www.w3.org/1999/xhtml"{more}><head><title>{_xml(title)}</title>'
        '<link rel="stylesheet" href="style.css"/></head><body>\n'
    )


def _epub_part(
    title: str, is_named: bool, paragraphs: list[Paragraph], pictures: Pictures
) -> Iterator[bytes]:
    yield _epub_head(title).encode()
    if is_named:
        yield f"<h1>{_xml(title)}</h1>\n".encode()
    for batch in batched(_epub_blocks(paragraphs, pictures), 200):
        yield "".join(batch).encode()
    yield b"</body></html>\n"


def _epub_blocks(paragraphs: list[Paragraph], pictures: Pictures) -> Iterator[str]:
    """The paragraphs, with lists around their items."""
    lists: list[str] = []
    for paragraph in paragraphs:
        is_item = paragraph.kind == "li" and bool(paragraph.sign or lists)
        depth = paragraph.level + 1 if is_item else 0
        tag = "ol" if paragraph.sign.isdecimal() else "ul"
        while len(lists) > depth or (lists and len(lists) == depth and paragraph.starts):
            yield f"</li></{lists.pop()}>\n"
        if is_item and len(lists) == depth and paragraph.sign:
            yield "</li>\n<li>"
        while len(lists) < depth:
            lists.append(tag)
            start = f' start="{int(paragraph.sign)}"' if tag == "ol" else ""
            yield f"<{tag}{start}><li>"
        yield _epub_paragraph(paragraph, pictures)
    while lists:
        yield f"</li></{lists.pop()}>\n"


def _epub_paragraph(paragraph: Paragraph, pictures: Pictures) -> str:
    def inside(runs: list[TextRun]) -> str:
        return "".join(_epub_run(run, pictures) for run in runs)

    if paragraph.kind == "hr":
        return "<hr/>\n"
    if paragraph.kind == "table":
        rows = ("".join(f"<td>{inside(cell)}</td>" for cell in row) for row in paragraph.rows)
        return "<table>" + "".join(f"<tr>{row}</tr>\n" for row in rows) + "</table>\n"
    if paragraph.kind == "quote":
        return f"<blockquote><p>{inside(paragraph.runs)}</p></blockquote>\n"
    if paragraph.kind in ("by", "note"):
        return f'<p class="{paragraph.kind}">{inside(paragraph.runs)}</p>\n'
    tag = "p" if paragraph.kind == "li" else paragraph.kind
    return f"<{tag}>{inside(paragraph.runs)}</{tag}>\n"


def _epub_run(run: TextRun, pictures: Pictures) -> str:
    if run.image:
        image = pictures.find(run.image)
        alt = quoteattr(_clean(run.text))
        return f"<img src={quoteattr(name_of(image))} alt={alt}/>" if image else _missing(run)
    markup = _xml(run.text)
    if "code" not in run.styles:
        markup = markup.replace("\n", "<br/>")
    for style in reversed(run.styles):
        markup = f"<{style}>{markup}</{style}>"
    return f"<a href={quoteattr(run.href)}>{markup}</a>" if run.is_web else markup


def _missing(run: TextRun) -> str:
    return _xml(described_image(run.text))


def _epub_nav(title: str, names: list[str]) -> str:
    lines = "".join(
        f'<li><a href="part{place}.xhtml">{_xml(name)}</a></li>\n'
        for place, name in enumerate(names, 1)
    )
    head = _epub_head(title, ' xmlns:epub="http://www.idpf.org/2007/ops"')
    return f'{head}<nav epub:type="toc"><ol>\n{lines}</ol></nav></body></html>\n'


def _epub_package(book: Book, title: str, count: int, pictures: Pictures) -> str:
    uid = uuid.uuid5(uuid.NAMESPACE_URL, f"heddle:{book.tree.uid}")
    parts = range(1, count + 1)
    kind = 'media-type="application/xhtml+xml"'
    items = "".join(f'<item id="part{n}" href="part{n}.xhtml" {kind}/>\n' for n in parts)
    items += "".join(
        f'<item id="i{image.sha256}" href="{name_of(image)}" media-type="{type_of(image)}"/>\n'
        for image in pictures.shown.values()
    )
    spine = "".join(f'<itemref idref="part{n}"/>' for n in parts)
    if book.has_title_page:
        items = f'<item id="title" href="title.xhtml" {kind}/>\n{items}'
        spine = f'<itemref idref="title"/>{spine}'
    by = f"<dc:creator>{_xml(book.author)}</dc:creator>\n" if book.author else ""
    at = f"{book.tree.touched_at:%Y-%m-%dT%H:%M:%SZ}"
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{uid}</dc:identifier>
<dc:title>{_xml(title)}</dc:title><dc:language>{_xml(book.language)}</dc:language>
{by}<meta property="dcterms:modified">{at}</meta></metadata>
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
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"
_SPACES = {
    "w": _WORD,
    "r": _OFFICE,
    "wp": f"{_DRAWING}/wordprocessingDrawing",
    "a": f"{_DRAWING}/main",
    "pic": f"{_DRAWING}/picture",
}
_DOCX_FILES = {
    "[Content_Types].xml": f"""{_XML}<Types xmlns="{_PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Default Extension="png" ContentType="image/png"/>
<Default Extension="jpeg" ContentType="image/jpeg"/>
<Default Extension="gif" ContentType="image/gif"/>
<Override PartName="/word/document.xml" ContentType="{_TYPE}.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="{_TYPE}.styles+xml"/>
<Override PartName="/word/numbering.xml" ContentType="{_TYPE}.numbering+xml"/>
<Override PartName="/docProps/core.xml"
 ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>
</Types>""",
    "_rels/.rels": f"""{_XML}<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>
<Relationship Id="r2" Type="{_PACKAGE}/relationships/metadata/core-properties"
 Target="docProps/core.xml"/>
</Relationships>""",
}
# style: (name, paragraph properties, run properties)
_DOCX_STYLES = {
    "Normal": ("Normal", '<w:spacing w:after="160" w:line="288" w:lineRule="auto"/>', ""),
    "Title": ("Title", "", '<w:b/><w:sz w:val="48"/>'),
    "Subtitle": ("Subtitle", "", '<w:i/><w:sz w:val="28"/>'),
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
_ORDER = ("code", "strong", "em", "s")  # the order that Word's schema requires


def docx(wanted: ExportSelection) -> Iterator[bytes]:
    """The path as a Word document."""
    yield from docx_of(book_of(wanted))


def docx_of(book: Book) -> Iterator[bytes]:
    """The book as a Word document."""
    out, writer = ZipStream(), _Docx(book)
    for name, content in _DOCX_FILES.items():
        yield out.member(name, content)
    yield out.member("docProps/core.xml", _docx_core(book))
    yield out.member("word/styles.xml", _docx_styles(book.language))
    yield from out.file("word/document.xml", writer.document())
    yield out.member("word/numbering.xml", writer.numbering())
    yield out.member("word/_rels/document.xml.rels", writer.relations())
    for name, raw in writer.pictures.files("word/"):
        yield out.member(name, raw, packed=False)
    yield out.end()


def _docx_core(book: Book) -> str:
    """What the document says of itself."""
    by = f"<dc:creator>{_xml(book.author)}</dc:creator>" if book.author else ""
    known = book.language != "und"
    language = f"<dc:language>{_xml(book.language)}</dc:language>" if known else ""
    return (
        f'{_XML}<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{_xml(book.title)}</dc:title>'
        f"{by}{language}</cp:coreProperties>"
    )


def _docx_styles(language: str) -> str:
    entries = "".join(
        f'<w:style w:type="paragraph" w:styleId="{uid}"{_default(uid)}><w:name w:val="{name}"/>'
        f"{_based(uid)}<w:pPr>{around}</w:pPr><w:rPr>{inside}</w:rPr></w:style>"
        for uid, (name, around, inside) in _DOCX_STYLES.items()
    )
    lang = f"<w:lang w:val={quoteattr(language)}/>" if language != "und" else ""
    usual = f"<w:docDefaults><w:rPrDefault><w:rPr>{lang}</w:rPr></w:rPrDefault></w:docDefaults>"
    return f'{_XML}<w:styles xmlns:w="{_WORD}">{usual if lang else ""}{entries}</w:styles>'


def _default(uid: str) -> str:
    return ' w:default="1"' if uid == "Normal" else ""


def _based(uid: str) -> str:
    return "" if uid == "Normal" else '<w:basedOn w:val="Normal"/>'


class _Docx:
    """Writes the text, and then its images, addresses and lists."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self.pictures = Pictures(book.tree)
        self._targets: dict[str, str] = {}  # relation by what it leads to
        self._numbers: list[tuple[int, int]] = []  # (level, first number) of each numbered list
        self._lists: dict[int, int] = {}  # the numbered list that is open, by level
        self._drawings = 0

    def document(self) -> Iterator[bytes]:
        """`word/document.xml`."""
        spaces = "".join(f' xmlns:{name}="{uri}"' for name, uri in _SPACES.items())
        yield f"{_XML}<w:document{spaces}><w:body>".encode()
        if self._book.title:
            yield self._styled("Title", [TextRun(self._book.title)]).encode()
        if self._book.author:
            yield self._styled("Subtitle", [TextRun(self._book.author)]).encode()
        for name, chapter in self._book.parts():
            if self._book.has_title_page:
                yield b'<w:p><w:r><w:br w:type="page"/></w:r></w:p>'
            if name:
                yield self._styled("Heading1", [TextRun(name)]).encode()
            for batch in batched(chapter, 200):
                yield "".join(map(self._paragraph, batch)).encode()
        yield b"<w:sectPr/></w:body></w:document>"

    def _paragraph(self, paragraph: Paragraph) -> str:
        if paragraph.kind == "hr":
            return self._styled("", [TextRun("* * *")])
        if paragraph.kind == "table":
            return self._table(paragraph.rows)
        around = ""
        if paragraph.kind == "li" and paragraph.sign:
            place = f'<w:ilvl w:val="{paragraph.level}"/><w:numId w:val="{self._list(paragraph)}"/>'
            around = f"<w:numPr>{place}</w:numPr>"
        elif paragraph.kind in ("li", "note"):
            around = f'<w:ind w:left="{720 * (paragraph.level + 1)}"/>'
        return self._styled(_STYLE_OF.get(paragraph.kind, ""), paragraph.runs, around)

    def _list(self, paragraph: Paragraph) -> int:
        """The number of the list of an item: 1 for bullets, a new one for each numbered list."""
        if not paragraph.sign.isdecimal():
            return 1
        if paragraph.starts or paragraph.level not in self._lists:
            self._numbers.append((paragraph.level, int(paragraph.sign)))
            self._lists[paragraph.level] = len(self._numbers) + 1
        return self._lists[paragraph.level]

    def _table(self, rows: list[list[list[TextRun]]]) -> str:
        sides = ("top", "left", "bottom", "right", "insideH", "insideV")
        lines = "".join(f'<w:{side} w:val="single" w:sz="4"/>' for side in sides)
        grid = '<w:gridCol w:w="1800"/>' * max(map(len, rows), default=1)
        markup = "".join(
            "<w:tr>"
            + "".join(f"<w:tc><w:tcPr/>{self._styled('', cell)}</w:tc>" for cell in row)
            + "</w:tr>"
            for row in rows
        )
        around = f'<w:tblPr><w:tblW w:w="0" w:type="auto"/><w:tblBorders>{lines}</w:tblBorders>'
        return f"<w:tbl>{around}</w:tblPr><w:tblGrid>{grid}</w:tblGrid>{markup}</w:tbl><w:p/>"

    def _styled(self, style: str, runs: list[TextRun], around: str = "") -> str:
        named = f'<w:pStyle w:val="{style}"/>' if style else ""
        return f"<w:p><w:pPr>{named}{around}</w:pPr>{''.join(map(self._run, runs))}</w:p>"

    def _run(self, run: TextRun) -> str:
        image = self.pictures.find(run.image) if run.image else None
        if image is not None:
            return f"<w:r>{self._drawing(image, run.text)}</w:r>"
        text = described_image(run.text) if run.image else run.text
        inside = "".join(_RUN_STYLES[style] for style in _ORDER if style in run.styles)
        lines = "<w:br/>".join(
            f'<w:t xml:space="preserve">{_xml(line)}</w:t>' if line else ""
            for line in text.split("\n")
        )
        markup = f"<w:r><w:rPr>{inside}</w:rPr>{lines}</w:r>"
        if not run.is_web:
            return markup
        return f'<w:hyperlink r:id="{self._relation(run.href)}">{markup}</w:hyperlink>'

    def _relation(self, target: str) -> str:
        return self._targets.setdefault(target, f"r{len(self._targets) + 3}")

    def _drawing(self, image: Image, alt: str) -> str:
        """An image in the line, at most as wide as the text; 9,525 units are a pixel."""
        self._drawings += 1
        wide = min(image.width * 9525, 5_486_400)
        size = f'cx="{wide}" cy="{wide * image.height // image.width}"'
        known = f'id="{self._drawings}" name="{self._drawings}"'
        return (
            f"<w:drawing><wp:inline><wp:extent {size}/>"
            f"<wp:docPr {known} descr={quoteattr(_clean(alt))}/><a:graphic>"
            f'<a:graphicData uri="{_SPACES["pic"]}"><pic:pic><pic:nvPicPr><pic:cNvPr {known}/>'
            "<pic:cNvPicPr/></pic:nvPicPr><pic:blipFill>"
            f'<a:blip r:embed="{self._relation(name_of(image))}"/>'
            "<a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm>"
            f'<a:off x="0" y="0"/><a:ext {size}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/>'
            "</a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing>"
        )

    def numbering(self) -> str:
        """`word/numbering.xml`: bullets, and one list for each that has numbers."""
        markup = ""
        for uid, form in enumerate(("bullet", "decimal")):
            levels = "".join(
                f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
                f'<w:lvlText w:val="{f"%{level + 1}." if uid else "•"}"/><w:pPr>'
                f'<w:ind w:left="{720 * (level + 1)}" w:hanging="360"/></w:pPr></w:lvl>'
                for level in range(DEEPEST + 1)
            )
            markup += f'<w:abstractNum w:abstractNumId="{uid}">{levels}</w:abstractNum>'
        markup += '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        for uid, (level, first) in enumerate(self._numbers, 2):
            start = f'<w:startOverride w:val="{first}"/></w:lvlOverride>'
            markup += (
                f'<w:num w:numId="{uid}"><w:abstractNumId w:val="1"/>'
                f'<w:lvlOverride w:ilvl="{level}">{start}</w:num>'
            )
        return f'{_XML}<w:numbering xmlns:w="{_WORD}">{markup}</w:numbering>'

    def relations(self) -> str:
        """`word/_rels/document.xml.rels`."""
        own = [("r1", "styles", "styles.xml"), ("r2", "numbering", "numbering.xml")]
        shown = {name_of(picture) for picture in self.pictures.shown.values()}
        markup = ""
        for target, uid in self._targets.items():
            if target in shown:
                own.append((uid, "image", target))
                continue
            markup += f'<Relationship Id="{uid}" Type="{_OFFICE}/hyperlink" TargetMode="External"'
            markup += f" Target={quoteattr(target)}/>"
        for uid, kind, target in own:
            markup += f'<Relationship Id="{uid}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{markup}</Relationships>'
