"""Pages and books: HTML to walk without a server, EPUB and DOCX, and the ZIP of a tree."""

import base64
import hashlib
import io
import json
import re
import zipfile
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.transfer import selection
from loom.transfer.writers import archive, books
from loom.transfer.writers import text as text_writer
from loom.trees.models import Node, Tree
from tests.thorough import tries
from tests.transfer.conftest import Bring, tree_of
from tests.transfer.planting import Plant, call_in, paths, plant, plants, wanted

pytestmark = pytest.mark.django_db
FEW = settings(max_examples=tries(25), suppress_health_check=list(HealthCheck))
EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(1)> ![x](http://e.org/a.png) \"'&</article>"
)
TALK: list[Plant] = [
    (-1, False, EVIL),
    (0, True, "# Big\n\n*It* rained.\n\n1. one\n2. two\n\n> said\n\n```py\n<x>\n```"),
    (0, True, "[go](javascript:alert(1)) and [on](https://example.org)"),
]


class Reader(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def all(self, name: str) -> list[dict[str, str | None]]:
        """The attributes of the elements of that name."""
        return [attributes for tag, attributes in self.tags if tag == name]


def page(*given: Any, **more: Any) -> str:
    return b"".join(text_writer.html(wanted(*given, **more))).decode()


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_no_text_becomes_markup_and_nothing_is_fetched(
    mode: str, actor: Actor, muse: Participant
) -> None:
    head = {"title": EVIL, "description": EVIL}
    tree, nodes = plant(actor, muse, TALK, mode=mode, **head)
    execute_line(actor, tree, Request(f"annotate {nodes[0].local_id}\n{EVIL}"))
    shown = page(actor, tree, notes=True)
    read = Reader(shown)
    assert len(read.all("script")) == 1 and read.all("img") == [] and read.all("link") == []
    for _, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        target = attributes.get("href") or "#"
        assert target.startswith(("#", "https://example.org"))
    assert shown.count("alert(1)") >= 6 and "<script>alert" not in shown
    assert ("[image: x]" in shown) == (mode == "dialogue")


def test_the_policy_allows_only_the_page_s_own_script_and_style(
    actor: Actor, muse: Participant
) -> None:
    tree, _ = plant(actor, muse, TALK)
    shown = page(actor, tree)
    policy = next(item["content"] for item in Reader(shown).all("meta") if "http-equiv" in item)
    assert policy and policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for tag in ("script", "style"):
        [inside] = re.findall(f"<{tag}>(.*?)</{tag}>", shown, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


@FEW
@given(texts=plants())
def test_every_branch_of_the_tree_is_in_the_page(
    texts: list[Plant], actor: Actor, muse: Participant
) -> None:
    tree, _ = plant(actor, muse, texts)
    read = Reader(page(actor, tree)).all("article")
    above = {node["id"]: node["data-above"] for node in read}
    known = {node.local_id: node.text for node in tree.nodes.all()}

    def path(name: str | None) -> tuple[str, ...]:
        return (*path(above[name]), known[name]) if name else ()

    assert sorted(path(name) for name in above) == paths(tree)


def test_authors_and_notes_are_written_if_asked_for(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    execute_line(actor, tree, Request(f'annotate {nodes[0].local_id} "why so?" as:question'))
    note = tree.nodes.get(kind="annotation")
    execute_line(actor, tree, Request(f'annotate {note.local_id} "because"'))
    shown = page(actor, tree, notes=True)
    assert "question · Owner" in shown and "why so?" in shown and "because" in shown
    assert shown.index("why so?") < shown.index("because")
    bare = page(actor, tree, notes=False, authors=False)
    for gone in ("why so?", "Owner", "Muse", "<time"):
        assert gone not in bare
    assert ">Model<" in bare and ">Person<" in bare


# Books.


def zipped(pieces: Any) -> dict[str, bytes]:
    raw = b"".join(pieces)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def words(xml: bytes) -> str:
    """The text of an XML file, with a line for each paragraph."""
    breaks = ("p", "h1", "h2", "h3", "pre", "br")

    def told(at: ElementTree.Element) -> str:
        name = at.tag.rpartition("}")[2]
        inside = (at.text or "") + "".join(told(child) + (child.tail or "") for child in at)
        return ("\n" if name in breaks else "") + inside

    return told(ElementTree.fromstring(xml))


@FEW
@given(text=st.text(min_size=1, max_size=40).filter(lambda character: "\0" not in character))
def test_any_text_makes_books_that_parse(text: str, actor: Actor, muse: Participant) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    tree, nodes = plant(actor, muse, [(-1, False, text)], title=text[:20])
    for writer in (books.epub, books.docx):
        for name, content in zipped(writer(wanted(actor, tree, nodes[0]))).items():
            if name.endswith(("xml", "xhtml", "opf", "rels")):
                ElementTree.fromstring(content)


def book(actor: Actor, muse: Participant) -> tuple[Tree, list[Node]]:
    texts: list[Plant] = [
        (-1, False, "It was *night*. "),
        (0, True, "It rained.\n\n1. one\n2. two"),
        (1, False, "\n\nThen <day> came &\nwent."),
    ]
    tree, nodes = plant(actor, muse, texts, title="The house")
    execute_line(actor, tree, Request(f'bookmark {nodes[2].local_id} "Day"'))
    return tree, nodes


def test_an_epub_has_what_readers_need(actor: Actor, muse: Participant) -> None:
    tree, nodes = book(actor, muse)
    raw = b"".join(books.epub(wanted(actor, tree, nodes[2])))
    assert raw[30:58] == b"mimetypeapplication/epub+zip", "the first file, not compressed"
    files = zipped([raw])
    package = ElementTree.fromstring(files["book.opf"])
    spaces = {"o": "http://www.idpf.org/2007/opf", "d": "http://purl.org/dc/elements/1.1/"}
    listed = {item.get("href"): item.get("id") for item in package.findall(".//o:item", spaces)}
    assert set(listed) == set(files) - {"mimetype", "META-INF/container.xml", "book.opf"}
    spine = [item.get("idref") for item in package.findall(".//o:itemref", spaces)]
    assert spine == ["part1", "part2"]
    title = package.find(".//d:title", spaces)
    assert title is not None and title.text == "The house"
    first, second = words(files["part1.xhtml"]), words(files["part2.xhtml"])
    assert "It was night. It rained." in first
    assert b'<ol start="1"><li><p>one</p>\n</li>\n<li><p>two</p>' in files["part1.xhtml"]
    assert b"<em>night</em>" in files["part1.xhtml"]
    assert "Day" in second and "Then <day> came &\nwent." in second
    assert b'href="part2.xhtml">Day' in files["nav.xhtml"]


def test_an_epub_is_as_the_standard_asks(actor: Actor, muse: Participant) -> None:
    tree, nodes = book(actor, muse)
    raw = b"".join(books.epub(wanted(actor, tree, nodes[2])))
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        first = archive.infolist()[0]
        assert (first.filename, first.compress_type, first.extra) == ("mimetype", 0, b"")
    files = zipped([raw])
    container = ElementTree.fromstring(files["META-INF/container.xml"])
    [root] = container.iter("{urn:oasis:names:tc:opendocument:xmlns:container}rootfile")
    assert root.get("media-type") == "application/oebps-package+xml"
    package = ElementTree.fromstring(files[str(root.get("full-path"))])
    spaces = {"o": "http://www.idpf.org/2007/opf", "d": "http://purl.org/dc/elements/1.1/"}
    assert package.get("version") == "3.0"
    [named] = package.findall("o:metadata/d:identifier", spaces)
    assert named.get("id") == package.get("unique-identifier") and named.text
    assert package.findtext("o:metadata/d:language", "", spaces)
    meta = {
        element.get("property"): element.text
        for element in package.findall("o:metadata/o:meta", spaces)
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["dcterms:modified"] or "")
    items = package.findall("o:manifest/o:item", spaces)
    assert len({item.get("id") for item in items}) == len(items)
    [nav] = [item for item in items if item.get("properties") == "nav"]
    page = "{http://www.w3.org/1999/xhtml}"
    toc = ElementTree.fromstring(files[str(nav.get("href"))]).find(f".//{page}nav")
    assert toc is not None and toc.get("{http://www.idpf.org/2007/ops}type") == "toc"
    for item in items:
        if item.get("media-type") == "application/xhtml+xml":
            shown = ElementTree.fromstring(files[str(item.get("href"))])
            assert shown.tag == f"{page}html" and shown.findtext(f"{page}head/{page}title")
            assert not list(shown.iter(f"{page}script")), "and nothing that runs"


def test_a_docx_names_all_its_parts(actor: Actor, muse: Participant) -> None:
    tree, nodes = book(actor, muse)
    files = zipped(books.docx(wanted(actor, tree, nodes[2])))
    types = ElementTree.fromstring(files["[Content_Types].xml"])
    named = {str(kind.get("PartName"))[1:] for kind in types if kind.get("PartName")}
    endings = {kind.get("Extension") for kind in types if kind.get("Extension")}
    assert named <= files.keys() and "word/document.xml" in named
    assert all(name in named or name.rpartition(".")[2] in endings for name in files)
    for name, folder in (("_rels/.rels", ""), ("word/_rels/document.xml.rels", "word/")):
        relations = list(ElementTree.fromstring(files[name]))
        own = [relation for relation in relations if relation.get("TargetMode") != "External"]
        assert own and all(f"{folder}{relation.get('Target')}" in files for relation in own)
        assert len({relation.get("Id") for relation in relations}) == len(relations)


def test_a_docx_has_the_text_in_order(actor: Actor, muse: Participant) -> None:
    tree, nodes = book(actor, muse)
    files = zipped(books.docx(wanted(actor, tree, nodes[2])))
    paragraphs = words(files["word/document.xml"])
    for before, after in (("The house", "It was "), ("night", "two"), ("two", "Day")):
        assert paragraphs.index(before) < paragraphs.index(after)
    assert "Then <day> came &\nwent." in paragraphs
    root = ElementTree.fromstring(files["word/document.xml"])
    word = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
    named = {style.get(f"{word}val") for style in root.iter(f"{word}pStyle")}
    styles = ElementTree.fromstring(files["word/styles.xml"])
    assert named <= {style.get(f"{word}styleId") for style in styles.iter(f"{word}style")}
    assert {"Title", "Heading1", "ListParagraph"} <= named


def test_a_dialogue_in_a_book_says_who_speaks(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    execute_line(actor, tree, Request(f'annotate {nodes[1].local_id} "hm"'))
    for authors, by in ((True, "Muse"), (False, "Model")):
        asked = wanted(actor, tree, nodes[1], authors=authors, notes=True)
        paragraphs = words(zipped(books.docx(asked))["word/document.xml"])
        assert by in paragraphs and "hm" in paragraphs and ("Muse" in paragraphs) == authors


NOTED = (
    "As Knuth says.[^1] Again.[^2]\n\n[^1]: TAOCP\n\n[^2]: <https://example.org/a>\n\n"
    "Decision: [yes], [page]\n\n[yes]: UNANIMOUS\n\n[page]: https://example.org/b"
)


@pytest.mark.parametrize("writer", [books.epub, books.docx])
def test_footnotes_of_one_word_are_written(writer: Any, actor: Actor, muse: Participant) -> None:
    """Markdown takes them for definitions of links, which are not shown."""
    tree, nodes = plant(actor, muse, [(-1, False, NOTED)], mode="dialogue")
    every = b"".join(zipped(writer(wanted(actor, tree, nodes[0]))).values()).decode()
    for words_of_notes in ("[^1]: TAOCP", "[^2]: ", "https://example.org/a", "[yes]: UNANIMOUS"):
        assert words_of_notes in every
    assert "[page]" not in every and "https://example.org/b" in every
    assert "<p>[yes]: UNANIMOUS</p>" in page(actor, tree, nodes[0])


def test_a_footnote_of_one_word_comes_back_from_its_docx(
    actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, nodes = plant(actor, muse, [(-1, False, "Again.[^1]\n\n[^1]: Ibid.")], title="")
    row = bring(b"".join(books.docx(wanted(actor, tree, nodes[0]))), options={"split": "whole"})
    [text] = Node.objects.filter(tree=tree_of(row)).exclude(text="").values_list("text", flat=True)
    assert text == "Again.[^1]\n\n[^1]: Ibid."


def test_a_long_text_is_cut_into_parts(actor: Actor, muse: Participant) -> None:
    texts: list[Plant] = [
        (place - 1, False, f"{place} word. " * 40_000 + "\n\n") for place in range(3)
    ]
    tree, nodes = plant(actor, muse, texts)
    files = zipped(books.epub(wanted(actor, tree, nodes[2])))
    parts = [words(file) for name, file in files.items() if name.startswith("part")]
    assert len(parts) == 3
    assert [sum(part.count(f"{n} word.") for part in parts) for n in range(3)] == [40_000] * 3


def test_a_long_paragraph_is_one_paragraph() -> None:
    [paragraph] = selection.paragraphs("word " * 20_000)
    assert paragraph.runs[0].text == "word " * 20_000
    first, *_, last = selection.paragraphs("word " * 20_000 + "\n\nThe end.")
    assert (first.runs[0].text, last.runs[0].text) == ("word " * 20_000, "The end.")


# The ZIP.


def test_the_zip_gives_the_same_tree_again(actor: Actor, muse: Participant, bring: Bring) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    execute_line(
        actor, tree, Request(f"link {nodes[1].local_id} to {nodes[0].local_id} as:supports")
    )
    files = zipped(archive.archive(wanted(actor, tree, calls=True)))
    assert {"README.md", "tree.json", "tree.md"} < set(files)
    assert paths(tree_of(bring(files["tree.json"]))) == paths(tree)
    assert b"It* rained." in files["tree.md"]
    evidence = files[f"evidence/{nodes[0].local_id}.md"].decode()
    assert "supports: " + nodes[1].local_id in evidence and "by Owner" in evidence


def test_the_zip_holds_the_calls_that_the_reader_may_read(
    actor: Actor, muse: Participant, tree: Tree
) -> None:
    call = call_in(tree, muse)
    files = zipped(archive.archive(wanted(actor, tree, calls=True)))
    assert files[f"calls/{call.uid}.response"] == b'{"text": "It rained."}'
    assert json.loads(files[f"calls/{call.uid}.json"])["request"]["body"] == {"prompt": "Once"}
    assert json.loads(files["tree.json"])["calls"] == []  # no node names it
    bare = zipped(archive.archive(wanted(actor, tree, calls=False)))
    assert not [name for name in bare if name.startswith("calls/")]
