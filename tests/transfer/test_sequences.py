"""Chats that are written one after the other become one tree where they begin alike."""

import io
import json
import zipfile
from typing import Any

import pytest

from loom.access import Actor
from loom.documents.access import linked_to
from loom.documents.models import Document
from loom.engine.models import Event
from loom.errors import CommandError
from loom.text.lore import entry_of
from loom.transfer import inputs
from loom.transfer.readers import books, sequences
from loom.transfer.readers.encodings import decoded
from tests.transfer.conftest import Bring
from tests.transfer.conftest import tree_of as imported_tree
from tests.transfer.reading import raw_of, tree_of, trees_of

HEADER = {"user_name": "Ada", "character_name": "Seraph", "create_date": "2023-1-8 @12h 34m 56s"}


def message(text: str, *, user: bool = False, **more: Any) -> dict[str, Any]:
    """A message of SillyTavern."""
    return {"name": "Ada" if user else "Seraph", "is_user": user, "mes": text, **more}


def header(**meta: str) -> dict[str, Any]:
    """The first line of a chat."""
    return {**HEADER, "chat_metadata": meta}


def zipped(**files: Any) -> bytes:
    """A ZIP of these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), raw_of(content))
    return packed.getvalue()


def test_a_chat_of_sillytavern_has_swipes_beside_the_chosen_message() -> None:
    tree = tree_of(
        (
            HEADER,
            message("Hello.", user=True, send_date="January 8, 2023 12:34pm"),
            message("Three.", swipe_id=1, swipes=["One.", "Two.", "Last."], extra={"model": "m"}),
            message("Hidden.", is_system=True, extra={"bookmark_link": "Checkpoint"}),
        ),
        name="Seraph - 2023.jsonl",
    )
    assert tree.format.name == "sillytavern" and tree.head.mode == "dialogue"
    assert tree.outline() == [
        ("Hello.", None),
        ("One.", "Hello."),
        ("Three.", "Hello."),
        ("Last.", "Hello."),
        ("Hidden.", "Three."),
    ]
    chosen, hidden = tree.record("Three."), tree.record("Hidden.")
    assert chosen.imported["edited_from"] == "Two." and chosen.imported["extra"] == {"model": "m"}
    assert (chosen.author, chosen.author_kind) == ("Seraph", "model")
    assert (hidden.flags, hidden.bookmark) == (["excluded"], "Checkpoint")
    assert tree.record("Hello.").author == "" and tree.at == "2023-01-08T12:34:56+00:00"
    assert tree.record("Hello.").at == "2023-01-08T12:34:00+00:00"


def test_what_is_beside_a_chat_of_sillytavern_is_kept() -> None:
    infos: list[Any] = [
        {"gen_started": "now", "extra": {"model": "n"}},
        {"send_date": "x", "gen_id": 7, "extra": {"model": "m", "reasoning": "Hm."}, "api": "b"},
    ]
    more: dict[str, Any] = {"swipes": ["One.", "Two."], "swipe_info": infos, "swipe_id": 1}
    tree = tree_of((HEADER, message("Two.", extra={"model": "m"}, api="a", **more)))
    assert tree.head.imported == {
        "files": [{"user_name": "Ada", "create_date": "2023-1-8 @12h 34m 56s"}]
    }
    assert tree.record("One.").imported == {"gen_started": "now", "extra": {"model": "n"}}
    assert tree.record("Two.").imported == {
        "gen_id": 7, "extra": {"model": "m"}, "api": "a",
        "swipe_info": {"extra": {"reasoning": "Hm."}, "api": "b"},
    }  # fmt: skip


def test_the_note_of_a_chat_of_sillytavern_is_that_of_the_author() -> None:
    meta: Any = {"note_prompt": "Keep it short.", "note_depth": 400}
    tree = tree_of(({**HEADER, "chat_metadata": meta}, message("Hello.")))
    assert (tree.head.author_note, tree.head.note_depth) == ("Keep it short.", 100)


def test_files_of_one_family_are_one_tree_and_others_are_their_own() -> None:
    begin = [message("Hi.", user=True), message("Hello.")]
    raw = zipped(
        main__jsonl=(header(integrity="i"), *begin, message("A")),
        branch__jsonl=(header(integrity="j", main_chat="main"), *begin, message("B")),
        other__jsonl=(header(integrity="k"), *begin),
    )
    first, second = trees_of(raw)
    assert first.outline() == [("Hi.", None), ("Hello.", "Hi."), ("A", "Hello."), ("B", "Hello.")]
    assert second.outline() == [("Hi.", None), ("Hello.", "Hi.")]
    assert first.report.kept["files joined into one tree"] == 2


def test_a_line_that_is_not_a_message_refuses_the_chat() -> None:
    with pytest.raises(CommandError, match="Line 3 of chat"):
        tree_of((HEADER, message("a"), ["b"]), name="chat")


def chat(*pairs: tuple[str, Any], **more: Any) -> dict[str, Any]:
    """A line of OpenAI's JSON Lines."""
    return {"messages": [{"role": role, "content": text} for role, text in pairs], **more}


def test_chats_of_openai_share_what_they_begin_with() -> None:
    parts = [{"type": "text", "text": "Q2"}, {"type": "image_url", "image_url": {"url": "x"}}]
    tree = tree_of(
        (
            chat(("system", "Be brief."), ("user", "Q1"), ("assistant", "A1")),
            chat(("system", "Be brief."), ("user", "Q1"), ("assistant", "A2")),
            chat(("system", "Be brief."), ("user", parts), tools=[{"type": "function"}]),
        )
    )
    assert tree.format.name == "openai" and tree.head.system_context == "Be brief."
    assert tree.outline() == [("", None), ("Q1", ""), ("A1", "Q1"), ("A2", "Q1"), ("Q2", "")]
    assert tree.record("Q2").imported["content"] == parts[1:]
    assert (tree.record("A1").author, tree.record("A1").author_kind) == ("Assistant", "model")
    assert tree.head.imported["lines"] == {"line 3": {"tools": [{"type": "function"}]}}


def test_different_system_messages_stay_nodes() -> None:
    tree = tree_of((chat(("system", "A"), ("user", "Q")), chat(("system", "B"), ("user", "Q"))))
    assert tree.outline() == [("A", None), ("Q", "A"), ("B", None), ("Q", "B")]
    assert tree.record("A").author == "System"


def test_pairs_of_preferences_are_tagged_siblings() -> None:
    given = {"messages": [{"role": "user", "content": "Q"}]}
    pair = {
        "input": given,
        "preferred_output": [{"role": "assistant", "content": "good"}],
        "non_preferred_output": [{"role": "assistant", "content": "bad"}],
    }
    for content in ((pair,), ({"prompt": "Q", "chosen": "good", "rejected": "bad"},)):
        tree = tree_of(content)
        assert tree.outline() == [("Q", None), ("good", "Q"), ("bad", "Q")]
        assert [record.tags for record in tree.records] == [[], ["preferred"], ["rejected"]]


def test_the_tools_of_a_pair_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "MOST_SETTINGS", 1)
    given = {"messages": [{"role": "user", "content": "Q"}], "tools": [{"type": "function"}]}
    pair = {"input": given, "preferred_output": "good", "non_preferred_output": "bad"}
    tree = tree_of((pair, pair))
    assert tree.head.imported == {"lines": {"line 1": {"input": {"tools": [{"type": "function"}]}}}}
    assert tree.report.dropped == {"settings of lines beyond the first 1": 1}


def mikupad(**more: Any) -> dict[str, Any]:
    """A session whose values are JSON texts."""
    token = {"content": " day", "probs": [{"tok_str": " day", "prob": 0.5}]}
    prompt = [
        {"type": "user", "content": "One"},
        {"content": " fine", "prob": 0.1},
        {"content": " day", "prob": 0.5, "completion_probabilities": [token]},
        {"type": "user", "content": "."},
    ]
    memory = {"prefix": "", "text": "Remember.", "suffix": ""}
    whole = {"prompt": prompt, "memoryTokens": memory, "endpoint": "http://x", **more}
    return {name: json.dumps(value) for name, value in whole.items()}


def test_a_session_of_mikupad_is_a_path_with_a_node_for_each_run() -> None:
    raw = mikupad(
        endpointAPI=0,
        endpointAPIKey="sk-" + "a" * 30,
        temperature=0.7,
        authorNoteTokens={"prefix": "[", "text": "Be brief.", "suffix": "]"},
        authorNoteDepth=0,
    )
    tree = tree_of(raw)
    assert tree.format.name == "mikupad" and tree.head.memory == "Remember."
    assert (tree.head.author_note, tree.head.note_depth) == ("[Be brief.]", 1)
    assert tree.outline() == [("One", None), (" fine day", "One"), (".", " fine day")]
    assert tree.records[1].author_kind == "model"
    assert [token["prob"] for token in tree.records[1].imported["tokens"]] == [0.1, 0.5]
    assert tree.head.imported["temperature"] == 0.7
    assert "sk-aaa" not in str(tree.head.imported) and tree.report.dropped["endpointAPIKey"] == 1


WORLD = {
    "entries": [
        {"displayName": "Thomas", "text": "Marie's brother.", "keys": ["Thomas", 'the "old" one']},
        {"displayName": "", "text": "It stands empty.\nSince May.", "keys": ["house, old"]},
    ],
    "prefix": "",
    "suffix": "\n",
}


def test_the_world_of_a_session_of_mikupad_is_lore() -> None:
    tree = tree_of(mikupad(worldInfo=WORLD))
    entries = [entry_of("", document.title, document.text) for document in tree.head.documents]
    assert [(entry.title, entry.keys, entry.text) for entry in entries if entry] == [
        ("Thomas", ("Thomas", 'the "old" one'), "Marie's brother."),
        ("house, old", ("house, old",), "It stands empty.\nSince May."),
    ]
    assert "worldInfo" not in tree.head.imported, "all of it has a place"
    odd: list[Any] = [{"text": "No keys."}, {"keys": ["a"], "text": 3}, 7, {"keys": [1, " "]}]
    for world in (odd, None, "x", {"entries": 3}, {"entries": odd, "prefix": "Facts:"}):
        tree = tree_of(mikupad(worldInfo=world))
        assert tree.head.documents == [] and tree.outline()[0] == ("One", None)
    assert tree.head.imported["worldInfo"]["prefix"] == "Facts:"


@pytest.mark.django_db
def test_lore_that_comes_with_a_tree_is_linked_to_it_and_sent(bring: Bring, actor: Actor) -> None:
    tree = imported_tree(bring(mikupad(worldInfo=WORLD)))
    again = imported_tree(bring(mikupad(worldInfo=WORLD)))
    for brought in (tree, again):
        linked = linked_to(brought, Document.objects.filter(grove=actor.grove)).order_by("pk")
        assert [document.title for document in linked] == ["Thomas", "house, old"]
    assert Document.objects.count() == 2, "the same documents are not made twice"
    events = Event.objects.filter(stream__name=f"tree:{tree.uid}", kind="link.added").order_by(
        "seq"
    )
    told = [event.payload["link"]["target"] for event in events.order_by("seq")]
    assert told == [f"doc:{document.uid}" for document in Document.objects.order_by("pk")]


def test_a_store_of_mikupad_has_a_tree_for_each_session() -> None:
    rows = [{"key": 1, "value": mikupad()}, {"key": 2, "value": json.dumps(mikupad())}]
    names = [{"key": 1, "value": "First"}, {"key": 2, "value": '"Second"'}]
    trees = trees_of({"Sessions": rows, "Names": names, "Templates": [], "Themes": []})
    assert [tree.title for tree in trees] == ["First", "Second"]
    assert all(tree.outline()[0] == ("One", None) for tree in trees)


def test_what_a_store_of_mikupad_has_beside_its_sessions_is_named_once() -> None:
    rows = [{"key": key, "value": mikupad()} for key in (1, 2)]
    beside = {"Templates": [{"key": "a"}, {"key": "b"}], "Themes": []}
    first, second = trees_of({"Sessions": rows, "Names": [], **beside})
    assert first.report.dropped == {"Templates of the store": 2}
    assert not second.report.dropped


# Texts.


TEXT = "Preface.\r\n\r\n# First #\n\nOne.\n\n```\n# no heading\n```\n\n## Second\n\nTwo.\n"


@pytest.mark.parametrize(("split", "count"), [("sections", 3), ("paragraphs", 6), ("whole", 1)])
def test_a_text_is_split_and_joined_it_is_the_same(split: str, count: int) -> None:
    tree = tree_of(TEXT.encode(), options={"split": split}, name="notes.bin")
    assert "".join(record.text for record in tree.records) == TEXT
    assert len(tree.records) == count and tree.asks == ()
    assert [record.parent for record in tree.records] == list(range(-1, count - 1))


def test_how_to_split_a_text_is_asked_only_where_it_matters() -> None:
    assert tree_of(TEXT.encode()).asks == ("sections", "paragraphs", "whole")
    assert tree_of(b"One line.").asks == ()
    assert tree_of(b"One.\n\nTwo.").asks == ("paragraphs", "whole")
    assert tree_of(b"[Verse 1]\nLa.").outline() == [("[Verse 1]\nLa.", None)]
    assert tree_of(b"# A title\n\nText.").title == "A title"


def test_a_part_of_a_text_that_is_too_long_is_named_as_its_author_knows_it() -> None:
    long = b"a" * (4 * 1024 * 1024 + 1)
    for text, part in ((long, "The text of the file"), (b"One.\n\n" + long, "Part 2 of the file")):
        with pytest.raises(CommandError, match=f"{part} is larger than") as refused:
            tree_of(text, options={"split": "paragraphs"}, name="huge.md")
        assert refused.value.hint == "divide it by headings or paragraphs"


def docx(*paragraphs: tuple[str, str], extra: str = "") -> bytes:
    """A file of Word with paragraphs of a style."""
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    page = f'{extra}<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", page)
    return packed.getvalue()


def test_a_docx_is_its_paragraphs_with_headings() -> None:
    tree = tree_of(
        docx(("Heading1", "Night"), ("Normal", "It rained.")), options={"split": "whole"}
    )
    assert (tree.format.name, tree.title) == ("docx", "Night")
    assert tree.records[0].text == "# Night\n\nIt rained."


def test_entities_of_a_docx_are_not_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    with pytest.raises(CommandError, match="no text"):
        tree_of(docx(("Normal", "&a;"), extra=bomb))


def test_a_docx_keeps_what_its_paragraphs_look_like() -> None:
    """As programs write it: tab stops are no text, a box is written once, an item has its sign."""
    box = (
        "<mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p>"
        "</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r>"
        "</w:p></w:txbxContent></mc:Fallback></mc:AlternateContent>"
    )
    body = (
        '<w:p><w:pPr><w:pStyle w:val="berschrift2"/></w:pPr><w:r><w:rPr><w:b/></w:rPr>'
        "<w:t>Nacht</w:t></w:r></w:p>"
        '<w:p><w:pPr><w:tabs><w:tab w:pos="10"/></w:tabs></w:pPr><w:r><w:rPr><w:i/></w:rPr>'
        '<w:t xml:space="preserve">It </w:t></w:r><w:r><w:rPr><w:i w:val="true"/></w:rPr>'
        '<w:t xml:space="preserve">rained </w:t></w:r><w:r><w:rPr><w:i w:val="0"/></w:rPr><w:tab/>'
        "<w:t>on.</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
        '<w:p><w:pPr><w:pStyle w:val="ListBullet"/></w:pPr><w:r><w:t>one</w:t></w:r></w:p>'
        '<w:p><w:pPr><w:pStyle w:val="ListBullet2"/></w:pPr><w:r><w:t>two</w:t></w:r></w:p>'
        f"<w:p><w:r>{box}</w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a|b</w:t></w:r></w:p></w:tc></w:tr>"
        "<w:sdt><w:sdtContent><w:tr><w:customXml><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc>"
        "</w:customXml></w:tr></w:sdtContent></w:sdt></w:tbl>"
        "<w:customXml><w:p><w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r>"
        "<w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p></w:customXml>"
        '<w:p><w:r><w:t>End</w:t></w:r><w:r><w:footnoteReference w:id="7"/></w:r>'
        '<w:r><w:endnoteReference w:id="7"/></w:r></w:p>'
    )
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="mc"'
    styles = (
        '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:styleId="ListBullet"><w:name w:val="List Bullet"/></w:style>'
        '<w:style w:styleId="ListBullet2"><w:name w:val="List Bullet 2"/></w:style>'
    )
    note = '<w:footnote w:id="7"><w:p><w:r><w:t>Or so.</w:t></w:r></w:p></w:footnote>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", f"<w:d {space}><w:body>{body}</w:body></w:d>")
        archive.writestr("word/styles.xml", f"<w:styles {space}>{styles}</w:styles>")
        archive.writestr("word/footnotes.xml", f"<w:notes {space}>{note}</w:notes>")
        late = note.replace("footnote", "endnote").replace("Or so", "At last")
        archive.writestr("word/endnotes.xml", f"<w:notes {space}>{late}</w:notes>")
    tree = tree_of(packed.getvalue(), options={"split": "whole"})
    assert tree.records[0].text == (
        "## Nacht\n\n*It rained* \ton.\n\n- one\n    - two\n\nboxed\n\n| a\\|b |\n|---|\n| c |\n\n"
        "漢\n\nEnd[^1][^2]\n\n[^1]: Or so.\n\n[^2]: At last."
    )


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("mimetype", "content.xml", "styles.xml"), "OpenDocument files are not read"),
        (("xl/workbook.xml",), "Spreadsheets and presentations are not read"),
    ],
)
def test_other_files_of_an_office_say_what_to_do(names: tuple[str, ...], sentence: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "application/vnd.oasis.opendocument.text")
    with pytest.raises(CommandError, match=sentence) as refused:
        tree_of(packed.getvalue())
    assert refused.value.hint.startswith("save it as")


def document_of(body: str, **files: str) -> bytes:
    """A DOCX with that body and these files of `word`, within the elements of their names."""
    spaces = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", f"<w:d {spaces}><w:body>{body}</w:body></w:d>")
        for name, content in files.items():
            archive.writestr(f"word/{name}.xml", f"<w:all {spaces}>{content}</w:all>")
    return packed.getvalue()


def word(text: str) -> str:
    """A paragraph of a DOCX."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_the_text_of_formulas_and_symbols_of_a_docx_is_kept() -> None:
    def run(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    power = f"<m:sSup><m:e>{run('c')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    fraction = f"<m:f><m:num>{run('a+b')}</m:num><m:den>{run('c')}</m:den></m:f>"
    root = f"<m:rad><m:deg/><m:e>{fraction}</m:e></m:rad>"
    symbols = "".join(
        f'<w:sym w:font="{font}" w:char="{code}"/>'
        for font, code in (("Symbol", "F061"), ("Wingdings", "F0E0"), ("Wingdings", "F04D"))
    )
    tree = tree_of(
        document_of(
            f"<w:p><w:r><w:t>So </w:t></w:r><m:oMath>{run('E=m')}{power}</m:oMath></w:p>"
            f"<w:p><m:oMathPara><m:oMath>{root}</m:oMath></m:oMathPara></w:p>"
            f"<w:p><w:r>{symbols}</w:r></w:p>"
        ),
        options={"split": "whole"},
    )
    assert tree.records[0].text == "So E=mc^2\n\n√((a+b)/c)\n\nα→"
    assert tree.report.says()["left_out"] == [
        "Left out: layout of formulas (2), symbols of fonts that are pictures (1)."
    ]


def _math(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def _in_brackets(inside: str, properties: str = "") -> str:
    return f"<m:d><m:dPr>{properties}</m:dPr>{inside}</m:d>"


def _each(name: str, *inside: str) -> str:
    return "".join(f"<m:{name}>{part}</m:{name}>" for part in inside)


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (_in_brackets(_each("e", _math("a"))), "(a)"),
        (_in_brackets(_each("e", _math("a"), _math("b")), '<m:sepChr m:val=","/>'), "(a,b)"),
        (
            _in_brackets(
                _each("e", _each("eqArr", _each("e", _math("x=1"), _math("2y=3")))),
                '<m:begChr m:val="{"/><m:endChr m:val=""/>',
            ),
            "{x=1; 2y=3",
        ),
        (
            _in_brackets(
                _each(
                    "e",
                    _each(
                        "m",
                        _each(
                            "mr",
                            _each("e", _math("1"), _math("2")),
                            _each("e", _math("3"), _math("4")),
                        ),
                    ),
                ),
                '<m:begChr m:val="["/><m:endChr m:val="]"/>',
            ),
            "[1, 2; 3, 4]",
        ),
        (f"{_math('x=1')}<m:r><w:br/></m:r>{_math('y=2')}", "x=1; y=2"),
        (
            f"<w:del>{_math('old')}</w:del><w:moveFrom>{_math('moved')}</w:moveFrom>{_math('n')}",
            "n",
        ),
        (f"<w:ins>{_math('new')}</w:ins>", "new"),
        (_each("func", _each("fName", _math("sin")) + _each("e", _math("x"))), "sin x"),
        (_each("limLow", _each("e", _math("lim")) + _each("lim", _math("x→0"))), "lim_(x→0)"),
    ],
)
def test_the_parts_of_a_formula_stay_apart(inside: str, text: str) -> None:
    tree = tree_of(document_of(f"<w:p><m:oMath>{inside}</m:oMath></w:p>"))
    assert tree.records[0].text == text


def test_formulas_of_one_paragraph_stay_apart() -> None:
    both = f"<m:oMathPara>{_each('oMath', _math('x=1'), _math('2y=3'))}</m:oMathPara>"
    assert tree_of(document_of(f"<w:p>{both}</w:p>")).records[0].text == "x=1; 2y=3"


def test_a_strict_docx_is_read() -> None:
    """Word can save one, in which the namespaces have other names."""
    note = f'<w:footnote w:id="1">{word("Ibid.")}</w:footnote>'
    reference = '<w:p><w:r><w:t>Again.</w:t><w:footnoteReference w:id="1"/></w:r></w:p>'
    said = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
    raw = document_of(word(said) + reference, footnotes=note)
    strict = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as usual, zipfile.ZipFile(strict, "w") as archive:
        for name in usual.namelist():
            content = usual.read(name).decode()
            for space in ("wordprocessingml", "officeDocument"):
                content = content.replace(
                    f"schemas.openxmlformats.org/{space}/2006", f"purl.oclc.org/ooxml/{space}"
                )
            archive.writestr(name, content)
    tree = tree_of(strict.getvalue(), options={"split": "whole"})
    assert tree.records[0].text == f"{said}\n\nAgain.[^1]\n\n[^1]: Ibid."


def test_a_docx_keeps_what_it_says_about_namespaces() -> None:
    said = "See http://purl.oclc.org/ooxml/officeDocument/math."
    assert tree_of(document_of(word(said))).records[0].text == said


def test_a_table_within_a_table_of_a_docx_is_text_of_its_cell() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{word('I|1')}</w:tc><w:tc>{word('I2')}</w:tc></w:tr></w:tbl>"
    row = f"<w:tr><w:tc>{word('A1')}{inner}{word('')}</w:tc><w:tc>{word('B')}</w:tc></w:tr>"
    tree = tree_of(document_of(f"<w:tbl>{row}</w:tbl>"), options={"split": "whole"})
    assert tree.records[0].text == "| A1 I\\|1, I2 | B |\n|---|---|"
    assert "tables within tables (1)" in tree.report.says()["left_out"][0]


def test_the_report_names_what_a_docx_has_beside_its_text() -> None:
    tree = tree_of(
        document_of(
            word("Text"),
            comments=f"<w:comment>{word('No!')}</w:comment>",
            header1=word("Draft"),
            footer1=word(" "),
        )
    )
    assert tree.report.says()["left_out"] == [
        "Left out: comments of a document (1), headers and footers of pages (1)."
    ]
    assert dict(tree.report.dropped) == {_REMARKS: 1, _HEADERS: 1}
    assert not tree_of(document_of(word("Text"))).report.dropped, "nor numbers of nothing"


_REMARKS, _HEADERS = "comments of a document", "headers and footers of pages"


def test_what_is_only_counted_of_a_docx_does_not_refuse_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = document_of(word("Text"), comments="<w:comment><damaged>", header1="</w:all>")
    tree = tree_of(raw)
    assert tree.records[0].text == "Text"
    assert dict(tree.report.dropped) == {_REMARKS: 1, _HEADERS: 1}
    monkeypatch.setattr(books, "_MOST_BESIDE", 20_000)
    large = {f"header{number}": word(" " * 15_000) for number in range(3)}
    tree = tree_of(document_of(word("Text"), **large))
    assert dict(tree.report.dropped) == {_HEADERS: 2}, "the first has no words"


def test_the_parts_of_a_docx_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = dict.fromkeys(("footnotes", "endnotes"), f"<w:x>{'a' * 15000}</w:x>")
    raw = document_of(word("Text"), **notes)
    assert tree_of(raw).records[0].text == "Text"
    monkeypatch.setattr(books, "_MOST_OF_ALL", 20_000)
    with pytest.raises(CommandError, match="parts of the document have") as refused:
        tree_of(raw)
    assert refused.value.code == "LIMIT_EXCEEDED"


def test_a_book_that_names_pages_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"a.xhtml": b"<p>One</p>", "empty.xhtml": b""}
    gone = [f"gone{number}.xhtml" for number in range(150)]
    tree = tree_of(epub_of(pages, ["a.xhtml", *gone]))
    warnings = tree.report.body()["warnings"]
    assert len(warnings) == 101 and warnings[-1] == "There are 50 more warnings."
    monkeypatch.setattr(books, "_MOST", 100_000)
    for name in ("empty.xhtml", "gone.xhtml"):
        with pytest.raises(CommandError, match="pages of the book have more than") as refused:
            tree_of(epub_of(pages, ["a.xhtml", *[name] * 200]))
        assert refused.value.code == "LIMIT_EXCEEDED"


def epub_of(pages: dict[str, bytes], spine: list[str], **files: str) -> bytes:
    """A book of these pages, read in the order of `spine`, and with these files of META-INF."""
    packed = io.BytesIO()
    items = "".join(f'<item id="p{n}" href="{href}"/>' for n, href in enumerate(spine))
    order = "".join(f'<itemref idref="p{n}"/>' for n, _ in enumerate(spine))
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "OPS/book.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest>'
            f"<spine>{order}</spine></package>",
        )
        for name, raw in pages.items():
            archive.writestr(f"OPS/{name}", raw)
        for name, content in files.items():
            archive.writestr(f"META-INF/{name}.xml", content)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<?xml version="1.0" encoding="iso-8859-1"?>', "iso-8859-1"),
        ('<?xml version="1.0" encoding="windows-1252"?>', "cp1252"),
        ('<?xml version="1.0" encoding="utf-16"?>', "utf-16"),
        ('<?xml version="1.0"?>', "utf-16-be"),
        ('<?xml version="1.0" encoding="UTF-8"?>', "utf-8-sig"),
        ('<?xml version="1.0" encoding="utf-16"?>', "utf-8"),
        ('<?xml version="1.0" encoding="punycode"?>', "utf-8"),
        ('<html><head><meta charset="windows-1252"></head>', "cp1252"),
        ("<html>", "utf-8"),
    ],
)
def test_a_page_of_a_book_is_read_in_its_encoding(head: str, encoding: str) -> None:
    page = f"{head}<p>„Käse\ufffd“</p>" if "utf" in encoding else f"{head}<p>Käse</p>"
    tree = tree_of(epub_of({"a.xhtml": page.encode(encoding)}, ["a.xhtml"]))
    assert tree.records[0].text == ("„Käse\ufffd“" if "utf" in encoding else "Käse")
    assert not tree.report.warnings


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("iso-8859-1", "utf-8"),
        ("koi8-r", "utf-8"),
        ("iso-8859-1", "iso-8859-1"),
        ("iso-2022-jp", "iso-2022-jp"),
        ("hz-gb-2312", "hz"),
    ],
)
def test_an_old_element_of_a_page_does_not_say_how_it_is_read(declared: str, encoding: str) -> None:
    words = {"iso-2022-jp": "\u65e5\u672c", "hz": "\u4e2d\u6587"}.get(encoding, "K\u00e4se")
    head = '<?xml version="1.0"?><html><meta http-equiv="Content-Type" content="text/html; charset='
    page = f'{head}{declared}"/><p>{words}</p></html>'
    tree = tree_of(epub_of({"a.xhtml": page.encode(encoding)}, ["a.xhtml"]))
    assert tree.records[0].text == words and not tree.report.warnings


def test_the_report_counts_what_is_not_in_the_encoding_of_a_book() -> None:
    page = "<p>K\xe4se und \xd6l\0</p>".encode("latin-1")
    tree = tree_of(epub_of({"a.xhtml": page}, ["a.xhtml"]))
    assert tree.records[0].text == "K\ufffdse und \ufffdl\ufffd"
    assert tree.report.warnings == ["3 characters not valid in the encoding became \ufffd."]


@pytest.mark.parametrize(
    ("way", "is_refused"),
    [
        ("http://www.w3.org/2001/04/xmlenc#aes256-cbc", True),
        ("http://www.idpf.org/2008/embedding", False),
    ],
)
def test_an_encrypted_book_is_refused(way: str, is_refused: bool) -> None:
    encryption = (
        '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData>'
        f'<e:EncryptionMethod Algorithm="{way}"/><e:CipherData><e:CipherReference '
        'URI="OPS/a.xhtml"/></e:CipherData></e:EncryptedData></encryption>'
    )
    raw = epub_of({"a.xhtml": b"<p>Text</p>"}, ["a.xhtml"], encryption=encryption)
    if is_refused:
        with pytest.raises(CommandError, match="encrypted for one reader"):
            tree_of(raw)
    else:
        assert tree_of(raw).records[0].text == "Text"


def test_a_book_that_lacks_a_page_is_read_without_it() -> None:
    pages = {"a%20b.xhtml": b"<p>One</p>", "C.xhtml": b"<p>Two</p>"}
    tree = tree_of(epub_of(pages, ["a%20b.xhtml", "gone.xhtml", "c.xhtml"]))
    assert "".join(record.text for record in tree.records) == "One\n\nTwo"
    assert tree.report.warnings == ["'gone.xhtml' is not in the file, and was left out."]
    with pytest.raises(CommandError, match="no text"):
        tree_of(epub_of({}, ["gone.xhtml"]))


def test_a_table_within_a_table_of_a_book_is_text_of_its_cell() -> None:
    page = (
        "<table><tr><td>X</td><td>A<table><tr><td>1</td><td>2</td></tr></table></td><td>B</td>"
        "</tr><tr><td>C</td></tr></table><p>End</p>"
    )
    tree = tree_of(epub(page), options={"split": "whole"})
    assert tree.records[0].text == "| X | A 1 2 | B |\n|---|---|---|\n| C |\n\nEnd"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<table><tr></tr></table><p>One</p><table><tr><td>A</td></tr></table><p>Two</p>",
            "One\n\n| A |\n|---|\n\nTwo",
        ),
        ("<table><tr>Loose</tr></table><p>End</p>", "Loose\n\nEnd"),
        (
            "<table><tr><td>A</td><td>B<div><tr><td>C</td></tr></div></td></tr></table><p>End</p>",
            "| A | B C |\n|---|---|\n\nEnd",
        ),
        (
            "<div>" * 198
            + "<table><tr><td>A<table><tr><td>B</td></tr></table></td></tr></table>"
            + "</div>" * 198
            + "<p>End</p>",
            "| A B |\n|---|\n\nEnd",
        ),
    ],
)
def test_nothing_is_lost_after_a_table_of_a_book_that_is_unusual(page: str, text: str) -> None:
    assert tree_of(epub(page), options={"split": "whole"}).records[0].text == text


def epub(page: str) -> bytes:
    """A book of one page."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "OPS/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            '<metadata><dc:title>A book</dc:title></metadata><manifest><item id="p" '
            'href="text/page%201.xhtml"/></manifest><spine><itemref idref="p"/></spine></package>',
        )
        archive.writestr("OPS/text/page 1.xhtml", page)
    return packed.getvalue()


def test_an_epub_is_the_text_of_its_spine_and_no_script() -> None:
    page = (
        "<html><head><title>no</title></head><body><h2>Night</h2><p>It <b>rained</b> &amp; rained."
        "</p><script>steal()</script><ul><li>one</li></ul></body></html>"
    )
    tree = tree_of(epub(page), options={"split": "whole"})
    assert (tree.format.name, tree.title) == ("epub", "A book")
    assert tree.records[0].text == "## Night\n\nIt **rained** & rained.\n\n- one"


def test_a_page_of_a_book_keeps_what_it_looks_like() -> None:
    page = (
        '<ol start="3"><li><p>three</p><p>more</p></li><li>four<ul><li>deep</li></ul></li></ol>'
        "<blockquote><p>One</p><p>Two</p></blockquote><pre>a\n  b ``` c</pre><hr/>"
        "<table><tr><th>A</th><td><p>B</p><p>C</p></td></tr><tr><td>1</td></tr></table>"
        '<p><i> so </i>it <a href="chapter2.xhtml">goes</a> <img alt="a cat" src="x"/></p>'
    )
    tree = tree_of(epub(page), options={"split": "whole"})
    assert tree.records[0].text == (
        "3. three\n    more\n4. four\n    - deep\n\n> One\n>\n> Two\n\n````\na\n  b ``` c\n````\n\n"
        "***\n\n| A | B C |\n|---|---|\n| 1 |\n\n*so* it goes [image: a cat]"
    )


@pytest.mark.parametrize("deep", ["<div></p>", "<b>", "<blockquote>"])
def test_elements_too_far_within_each_other_are_refused(deep: str) -> None:
    """Because each of them costs what is around it."""
    assert tree_of(epub(deep * 1000 + "Deep"), options={"split": "whole"}).records[0].text
    with pytest.raises(CommandError, match="damaged"):
        tree_of(epub(deep * 50_000 + "Deep"))


# Several files at once.


def test_a_zip_of_an_archive_leaves_out_what_is_not_a_tree() -> None:
    chat = {
        "title": "T",
        "mapping": {
            "a": {"message": None},
            "b": {
                "message": {"author": {"role": "user"}, "content": {"parts": ["Q"]}},
                "parent": "a",
            },
        },
    }
    raw = zipped(
        conversations__json=[chat, chat],
        chat__html=b"<html>",
        notes__txt=b"a text",
        user__json={"email": "x"},
        feedback__json=[],
    )
    trees = trees_of(raw)
    assert [tree.outline() for tree in trees] == [[("Q", None)]] * 2
    assert trees[0].report.warnings == [
        "chat.html was left out. Web pages are not read.",
        "2 files were left out: user.json, feedback.json. The file is JSON in an unknown format.",
        "notes.txt was left out. Texts beside trees are not read: import them by themselves.",
    ]
    assert not any("email" in str(tree.head.imported) for tree in trees)


def test_a_zip_of_texts_has_a_tree_for_each() -> None:
    trees = trees_of(zipped(one__md=b"# One", two__md=b"Two"))
    assert [tree.title for tree in trees] == ["One", "two"]


def test_chapters_of_several_kinds_are_all_read() -> None:
    raw = zipped(one__docx=docx(("", "First.")), two__md=b"# Two", three__txt=b"Third.")
    trees = trees_of(raw)
    assert [tree.title for tree in trees] == ["one", "Two", "three"]
    assert not any(tree.report.warnings for tree in trees)


def test_a_zip_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from loom.transfer import uploads

    raw = zipped(big__txt=b"a" * 100_000)
    monkeypatch.setattr(uploads, "MAX_FILE", 50_000)
    with pytest.raises(CommandError, match="more than 50,000 bytes"):
        trees_of(raw)


def test_a_value_that_is_nested_too_deep_is_left_out() -> None:
    deep = b"[" * 4000 + b"]" * 4000
    raw = b'{"messages": [{"role": "user", "content": "Q", "x": ' + deep + b"}]}"
    tree = tree_of(raw)
    assert tree.outline() == [("Q", None)]
    assert tree.report.dropped and len(json.dumps(tree.records[-1].imported)) < 300


def test_a_chat_that_is_too_large_refuses_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MAX_PART", 100_000)
    raw = [{"mapping": {}, "x": "y" * 60_000}, {"mapping": {}, "x": "y" * 300_000}]
    with pytest.raises(CommandError, match="too large"):
        trees_of(raw)


@pytest.mark.parametrize(
    ("declared", "written", "text"),
    [
        ("gb2312", "gb18030", "喆"),
        ("shift_jis", "cp932", "①"),
        ("euc-kr", "cp949", "똠"),
        ("iso-8859-9", "cp1254", "“ğ”"),
        ("iso-8859-1", "cp1252", "“€”"),
    ],
)
def test_an_encoding_is_read_as_the_larger_one_that_pages_use(
    declared: str, written: str, text: str
) -> None:
    page = f'<meta charset="{declared}">'.encode() + text.encode(written)
    assert decoded(page) == (f'<meta charset="{declared}">{text}', 0)
