"""Chapters of a story: found, ordered, moved; and the book that they make."""

import io
import json
import re
import zipfile
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pypdf
import pytest
from django.test import Client
from pypdf.generic import Destination

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.manuscript.models import ManuscriptVersion
from loom.manuscript.queries import story as queries
from loom.manuscript.queries.story import manuscript_of
from loom.manuscript.rules import Piece, in_order, moved, story_of
from loom.people.models import User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.two_groves import TwoGroves

Say = Callable[[str], str]


def pieces(*texts: str) -> list[Piece]:
    return [Piece(f"n{at}", f"n{at}", text) for at, text in enumerate(texts)]


def titles(chapters: Any) -> list[str]:
    return [chapter.title for chapter in chapters]


# Rules.


def test_a_heading_is_a_line_of_the_whole_text_however_it_was_written() -> None:
    story = story_of(
        pieces("Before.\n\n# The st", "orm\nIt came. ", "No # heading.\n## Rain\n", "It fell."),
        joint="",
    )
    assert titles(story.chapters) == ["", "The storm", "Rain"]
    assert [chapter.key for chapter in story.chapters] == ["start", "n0.2", "n2"]
    assert [chapter.level for chapter in story.chapters] == [1, 1, 2]
    assert [chapter.words for chapter in story.chapters] == [1, 5, 2]
    assert story.chapters[1].beginning == "It came. No # heading."


def test_a_card_shows_whole_words_and_says_that_there_are_more() -> None:
    long, unbroken = story_of(
        pieces(f"# Long\n{'lantern ' * 50}\n# Unbroken\n{'a' * 300}"), joint=""
    ).chapters
    assert long.beginning == f"{' '.join(['lantern'] * 30)}…"
    assert unbroken.beginning == f"{'a' * 240}…"


def test_code_and_deep_headings_begin_no_chapter() -> None:
    story = story_of(pieces("# One\n```\n# no\n```\n#### deep\n#tag\n# Two #\n"), joint="")
    assert titles(story.chapters) == ["One", "Two"]


def test_a_bookmark_with_a_label_begins_a_chapter() -> None:
    texts = [Piece("a", "a", "Once."), Piece("b", "b", " Then.", label="The turn")]
    story = story_of([*texts, Piece("c", "c", "\n# Last\nEnd.", label="ignored")], joint="")
    assert titles(story.chapters) == ["", "The turn", "Last"]


def test_new_chapters_follow_what_they_follow_in_the_text() -> None:
    chapters = story_of(pieces("# A\n", "# B\n", "# C\n", "# D\n"), joint="").chapters
    assert titles(in_order(chapters, ["n2", "gone", "n0"])) == ["C", "D", "A", "B"]
    assert titles(in_order(chapters, [])) == ["A", "B", "C", "D"]


def test_a_chapter_moves_with_what_is_below_it_and_splits_no_other() -> None:
    chapters = story_of(pieces("# A\n## a\n", "# B\n## b\n", "# C\n"), joint="").chapters
    names = {chapter.key: chapter.title for chapter in chapters}

    def after(key: str, to: int) -> str:
        return "".join(names[chapter] for chapter in moved(chapters, key, to))

    assert after("n0", 3) == "BbAaC"
    assert after("n2", 1) == "CAaBb"
    assert after("n2", 2) == "CAaBb"  # not between A and its a
    assert after("n0.2", 5) == "ABbCa"


@pytest.mark.parametrize(
    "text", ["#" * 200_000, "# a\n" * 3000, "```\n" * 20_000, "# " + "#" * 90_000]
)
def test_any_text_is_read(text: str) -> None:
    assert len(story_of(pieces(text), joint="").chapters) <= 1_001


# In a tree.


@pytest.fixture
def story(actor: Actor) -> Tree:
    return trees.new_tree(actor, title="The lamp", mode="buffer")


@pytest.fixture
def say(actor: Actor, story: Tree) -> Say:
    def run(line: str) -> str:
        return str(execute_line(actor, story, Request(line)).body["reply"])

    return run


@pytest.fixture
def written(say: Say) -> Say:
    """A story of three chapters."""
    for text in (
        "# The house\nIt stood *empty*.\n",
        "# The storm\nRain fell all night.\n",
        "# The lamp\nIt was lit again.\n",
    ):
        say(f"respond\n{text}\n←")
    return say


def order(actor: Actor, tree: Tree) -> list[str]:
    return titles(manuscript_of(actor, tree).chapters)


@pytest.mark.django_db
def test_moving_a_chapter_changes_the_order_and_no_text(
    actor: Actor, story: Tree, written: Say
) -> None:
    before = Node.objects.filter(tree=story).count()
    assert written('chapter move "The lamp" to:1').startswith("✓")
    assert order(actor, story) == ["The lamp", "The house", "The storm"]
    written('chapter move "2" to:3')
    assert order(actor, story) == ["The lamp", "The storm", "The house"]
    assert Node.objects.filter(tree=story).count() == before
    written("undo")
    written("undo")
    assert order(actor, story) == ["The house", "The storm", "The lamp"]
    written("redo")
    assert order(actor, story) == ["The lamp", "The house", "The storm"]
    # Nothing is lost: each order is kept, and can be taken up again.
    assert ManuscriptVersion.objects.filter(tree=story).count() == 5
    written("chapter restore order:2")
    assert order(actor, story) == ["The lamp", "The storm", "The house"]
    written("chapter restore order:0")
    assert order(actor, story) == ["The house", "The storm", "The lamp"]


@pytest.mark.django_db
def test_an_undo_takes_back_no_order_of_somebody_else(
    actor: Actor, story: Tree, written: Say, writer: User
) -> None:
    written('chapter move "The lamp" to:1')
    other = get_actor(writer, actor.grove)
    execute_line(other, story, Request('chapter move "The storm" to:1'))
    with pytest.raises(CommandError) as refused:
        written("undo")
    assert refused.value.code == "CONFLICT"
    execute_line(other, story, Request("undo"))
    written("undo")
    assert order(actor, story) == ["The house", "The storm", "The lamp"]


@pytest.mark.django_db
def test_targets_notes_and_the_title_page_are_kept_with_the_chapter(
    actor: Actor, story: Tree, written: Say
) -> None:
    written('chapter target "The storm" words:500')
    written('chapter note "the storm" "More wind."')
    written('manuscript author:"Ada" language:"en" target:1000')
    listed = written("chapter list")
    assert "2. The storm" in listed and "4 of 500 words · More wind." in listed
    assert "of 1,000" in listed
    written("undo")
    manuscript = manuscript_of(actor, story)
    assert (manuscript.author, manuscript.language, manuscript.target) == ("", "und", 0)
    written("undo")
    assert manuscript.of(manuscript.chapters[1]) == (500, "More wind.")
    assert manuscript_of(actor, story).of(manuscript.chapters[1]) == (500, "")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('chapter move "Nowhere" to:1', "NOT_FOUND"),
        ('chapter move "The house" to:1', "REJECTED"),
        ("chapter restore order:9", "NOT_FOUND"),
        ('manuscript language:"no such tongue"', "INVALID_SYNTAX"),
        ("manuscript", "INVALID_SYNTAX"),
        ('chapter target "The house" words:0', "REJECTED"),
    ],
)
def test_what_cannot_be_done_is_refused(written: Say, line: str, code: str) -> None:
    with pytest.raises(CommandError) as refused:
        written(line)
    assert refused.value.code == code
    assert refused.value.hint


# Books.


@pytest.fixture
def bound(written: Say, client: Client, owner: User, story: Tree) -> Callable[[str], bytes]:
    """The book in a format, with its chapters in another order than the text."""
    written('chapter move "The lamp" to:1')
    written('manuscript title:"Lights & dark" author:"Ada Lovelace" language:"en-GB"')
    client.force_login(owner)

    def book(format: str) -> bytes:
        answer: Any = client.get(f"/api/trees/{story.uid}/book?format={format}")
        assert answer.status_code == 200
        assert f".{format}" in answer["Content-Disposition"]
        return b"".join(answer.streaming_content)

    return book


@pytest.mark.django_db
def test_an_epub_has_a_title_page_author_language_and_the_order(
    bound: Callable[[str], bytes],
) -> None:
    with zipfile.ZipFile(io.BytesIO(bound("epub"))) as file:
        texts = {name: file.read(name).decode() for name in file.namelist()}
    for name, text in texts.items():
        if name.endswith((".xhtml", ".opf", ".xml")):
            ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))
    package = texts["book.opf"]
    assert "<dc:title>Lights &amp; dark</dc:title>" in package
    assert "<dc:creator>Ada Lovelace</dc:creator>" in package
    assert "<dc:language>en-GB</dc:language>" in package
    assert package.index('idref="title"') < package.index('idref="part1"')
    assert "Ada Lovelace" in texts["title.xhtml"]
    assert re.findall(r"part\d.xhtml\">([^<]+)", texts["nav.xhtml"]) == [
        "The lamp",
        "The house",
        "The storm",
    ]
    assert "<em>empty</em>" in texts["part2.xhtml"] and "# The" not in texts["part2.xhtml"]


@pytest.mark.django_db
def test_a_word_document_has_them_too(bound: Callable[[str], bytes]) -> None:
    with zipfile.ZipFile(io.BytesIO(bound("docx"))) as file:
        core, text = (file.read(f"{n}.xml").decode() for n in ("docProps/core", "word/document"))
        ElementTree.fromstring(core)
        ElementTree.fromstring(text)
        assert 'w:val="en-GB"' in file.read("word/styles.xml").decode()
    assert "Ada Lovelace" in core and "en-GB" in core
    assert text.index("Ada Lovelace") < text.index("The lamp") < text.index("The house")
    assert text.count('<w:br w:type="page"/>') == 3


def read(raw: bytes) -> pypdf.PdfReader:
    return pypdf.PdfReader(io.BytesIO(raw), strict=True)


def words_of(file: pypdf.PdfReader) -> list[str]:
    """The text of each page on one line."""
    return [" ".join(page.extract_text().split()) for page in file.pages]


def outline(file: pypdf.PdfReader) -> list[tuple[str, int]]:
    """The title and the page, from 0, of each mark of the highest level."""
    marks = [mark for mark in file.outline if isinstance(mark, Destination)]
    return [(str(mark.title), file.get_destination_page_number(mark) or 0) for mark in marks]


@pytest.fixture
def pdf_of(say: Say, story: Tree, client: Client, owner: User) -> Callable[[str], Any]:
    """The answer to a request for the PDF of a story with this text."""

    def answer(text: str) -> Any:
        say(f"respond\n{text}\n←")
        client.force_login(owner)
        return client.get(f"/api/trees/{story.uid}/book?format=pdf")

    return answer


@pytest.mark.django_db
def test_a_pdf_has_a_title_page_chapters_numbers_and_an_outline(
    bound: Callable[[str], bytes],
) -> None:
    file = read(bound("pdf"))
    assert words_of(file) == [
        "Lights & dark Ada Lovelace",
        "2 The lamp It was lit again.",
        "3 The house It stood empty.",
        "4 The storm Rain fell all night.",
    ]
    assert outline(file) == [("The lamp", 1), ("The house", 2), ("The storm", 3)]
    assert file.metadata is not None
    assert (file.metadata.title, file.metadata.author) == ("Lights & dark", "Ada Lovelace")
    root: Any = file.trailer["/Root"]
    assert root["/Lang"] == "en-GB"
    assert all(page.mediabox.width == pytest.approx(419.53) for page in file.pages)


@pytest.mark.django_db
def test_a_pdf_shows_what_markdown_can_say(pdf_of: Callable[[str], Any]) -> None:
    text = (
        """# One
## Below

A **bold** and *slanted* and ***both*** word, a [way](https://example.org/a?b=c&d), ~~gone~~.

- first
- second

3. third

> Said & <quoted>.

```
if a:
    b → "█"
```

| a | b |
| - | - |
| c | d |

***

"""
        + "Wordsthatneverend" * 20
    )
    file = read(b"".join(pdf_of(text).streaming_content))
    shown = " ".join(words_of(file))
    for words in (
        "A bold and slanted and both word, a way, gone.",
        "• first • second 3. third",
        "Said & <quoted>.",
        'if a: b → "█"',
        "a b c d",
        "* * *",
    ):
        assert words in shown
    assert "Wordsthatneverend" * 20 in shown.replace(" ", "")
    pages: list[Any] = list(file.pages)
    fonts = {
        font.get_object()["/BaseFont"].partition("+")[2]
        for page in pages
        for font in page["/Resources"]["/Font"].values()
    }
    serif = {f"EBGaramond-{kind}" for kind in ("Regular", "Bold", "Italic", "Bold-Italic")}
    assert fonts == {*serif, "JetBrainsMono-Regular"}  # all of them in the file
    links = [note.get_object() for page in pages for note in page.get("/Annots", [])]
    assert [link["/A"]["/URI"] for link in links] == ["https://example.org/a?b=c&d"]
    assert outline(file) == [("One", 1)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text",
    [
        "Ψυχή, душа, naïve, Łódź.",
        "家は空だった。灯がともる。",
        "房子是空的，灯又亮了。",
        "집은 비어 있었다.",
    ],
)
def test_a_pdf_keeps_the_letters_of_other_scripts(pdf_of: Callable[[str], Any], text: str) -> None:
    file = read(b"".join(pdf_of(f"# {text}\nBefore. {text * 30}").streaming_content))
    shown = "".join(words_of(file)).replace(" ", "")
    assert text.replace(" ", "") * 30 in shown and "?" not in shown
    assert outline(file) == [(text, 1)]


@pytest.mark.django_db
@pytest.mark.parametrize("letters", ["ไม่มีใคร", "לא היה", "لم يكن", "🕯", "हम"])
def test_a_pdf_without_a_typeface_for_its_letters_is_refused(
    pdf_of: Callable[[str], Any], letters: str
) -> None:
    answer = pdf_of(f"# The lamp\n{letters}")
    assert answer.status_code == 409
    refusal = json.loads(answer.content)
    assert letters[0] in str(refusal) and "EPUB" in refusal["hint"]


@pytest.mark.django_db
def test_a_pdf_leaves_out_what_only_controls_letters(pdf_of: Callable[[str], Any]) -> None:
    text = "A\u200bb\u00adc\u2060d\ufe0f e\u00a0f\u3000g\x07."
    file = read(b"".join(pdf_of(text).streaming_content))
    assert "Abcd e f g." in words_of(file)[-1]


@pytest.mark.django_db
def test_a_pdf_of_an_empty_story_has_its_title_page(
    client: Client, owner: User, story: Tree
) -> None:
    client.force_login(owner)
    answer: Any = client.get(f"/api/trees/{story.uid}/book?format=pdf")
    assert words_of(read(b"".join(answer.streaming_content))) == ["The lamp"]


# Pages and groves.


@pytest.mark.django_db
def test_the_page_moves_cards_and_takes_it_back(
    client: Client, owner: User, actor: Actor, story: Tree, written: Say
) -> None:
    client.force_login(owner)
    address = f"/trees/{story.uid}/manuscript"
    page = client.get(address).content.decode()
    key = re.findall(r'data-key="([^"]+)"', page)[2]
    page = client.post(address, {"what": "move", "chapter": key, "to": "1"}).content.decode()
    assert re.findall(r'data-key="([^"]+)"', page)[0] == key
    client.post(address, {"what": "card", "chapter": key, "words": "50", "note": "Brighter."})
    page = client.get(address).content.decode()
    assert "Brighter." in page and "of 50" in page
    for _ in range(3):
        client.post(address, {"what": "undo"})
    assert order(actor, story) == ["The house", "The storm", "The lamp"]
    assert "Brighter." not in client.get(address).content.decode()
    text = client.get(f"{address}/text").content.decode()
    assert "Rain fell all night." in text and "# The" not in text


@pytest.mark.django_db
def test_numbers_of_words_and_targets_are_grouped(
    client: Client, owner: User, story: Tree, say: Say
) -> None:
    client.force_login(owner)
    say(f"respond\n# One\n{'word ' * 1_234}\n←")
    address = f"/trees/{story.uid}/manuscript"
    client.post(address, {"what": "book", "title": "", "author": "", "target": "60000"})
    page = client.get(address).content.decode()
    assert re.search(r"1,23\d words", page) and not re.search(r"123\d words", page)
    assert "of 60,000" in page


@pytest.mark.django_db
def test_a_card_moves_only_in_the_order_that_is_shown(
    client: Client, owner: User, actor: Actor, story: Tree, written: Say
) -> None:
    client.force_login(owner)
    address = f"/trees/{story.uid}/manuscript"
    page = client.get(address).content.decode()
    first, second, third = re.findall(r'data-key="([^"]+)"', page)
    (seen,) = set(re.findall(r'name="seen" value="([^"]+)"', page))
    move = {"what": "move", "seen": seen, "to": "1"}
    assert client.post(address, {**move, "chapter": third}).status_code == 200
    late = client.post(address, {**move, "chapter": second}).content.decode()
    assert "Somebody changed the chapters meanwhile." in late
    assert re.findall(r'data-key="([^"]+)"', late) == [third, first, second]


@pytest.mark.django_db
def test_readers_look_and_writers_of_other_groves_do_not(two_groves: TwoGroves) -> None:
    two = two_groves
    side, other = two.right, two.only_left
    assert side.run(two.both, 'manuscript author:"Kestrel"').startswith("✓")
    for part in ("manuscript", "book?format=epub"):
        address = f"/api/trees/{side.tree.uid}/{part}"
        assert two.client(other).get(address).status_code == 404
        assert two.client(two.both).get(address).status_code == 200
    for part in ("manuscript", "manuscript/text"):
        page = Client()
        page.force_login(other)
        assert page.get(f"/trees/{side.tree.uid}/{part}").status_code == 404
        assert page.post(f"/trees/{side.tree.uid}/manuscript", {"what": "undo"}).status_code == 404
    left = f"/api/trees/{two.left.tree.uid}/manuscript"
    assert "Kestrel" not in str(two.client(two.both).get(left).json())


@pytest.mark.django_db
def test_a_card_reads_the_story_once_to_store_and_once_to_show(
    client: Client, owner: User, story: Tree, written: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    written('chapter target "The house" words:500')
    client.force_login(owner)
    address = f"/trees/{story.uid}/manuscript"
    key = re.findall(r'data-key="([^"]+)"', client.get(address).content.decode())[0]
    reads: list[str] = []

    def counted(pieces: list[Piece], joint: str) -> Any:
        reads.append(joint)
        return story_of(pieces, joint=joint)

    monkeypatch.setattr(queries, "story_of", counted)
    card = {"what": "card", "chapter": key, "words": "500", "note": ""}
    client.post(address, card)
    assert len(reads) == 1
    client.post(address, {**card, "words": "700"})
    assert len(reads) == 3


@pytest.mark.django_db
def test_what_is_wrong_with_the_book_is_shown_beside_its_field(
    client: Client, owner: User, story: Tree, written: Say
) -> None:
    client.force_login(owner)
    address = f"/trees/{story.uid}/manuscript"
    book = {"what": "book", "title": "Lights", "author": "", "language": "no such tongue"}
    page = client.post(address, book).content.decode()
    beside = re.findall(r'name="(\w+)" aria-invalid="true".*?field-error">([^<]+)<', page)
    assert [(name, "en, de or pt-BR" in message) for name, message in beside] == [
        ("language", True)
    ]
    assert 'value="Lights"' in page and 'value="no such tongue"' in page
    assert ManuscriptVersion.objects.filter(tree=story).count() == 0
    page = client.post(address, {**book, "language": "en", "target": "-4"}).content.decode()
    assert re.findall(r'name="(\w+)" aria-invalid="true"', page) == ["target"]
    page = client.post(address, {**book, "language": "en"}).content.decode()
    assert "aria-invalid" not in page and 'value="Lights"' in page
