"""What a line says, one rule a row (docs/model.md §5), in the forms of the table beside this."""

import pytest

from loom.language.lines import Line, read
from loom.language.refs import ParseError, Ref, Slice
from tests.grammar.table import VERBS


def line(text: str) -> Line:
    """The line read with the forms of the table."""
    return read(text, VERBS)


def refused(text: str) -> ParseError:
    """Why the line is not read."""
    with pytest.raises(ParseError) as caught:
        line(text)
    return caught.value


CANONICAL = [
    # the beginning
    ("view a7x2", "→ view a7x2"),
    ("→ view a7x2", "→ view a7x2"),
    ("-> view a7x2", "→ view a7x2"),
    ("  →view a7x2  \r", "→ view a7x2"),
    ("→\tVIEW\ta7x2", "→ view a7x2"),
    ("show a7x2", "→ view a7x2"),
    ("go to a7x2", "→ switch to a7x2"),
    ("view a7x2\n\n \r\n", "→ view a7x2"),
    # options and flags anywhere, in the table's order when printed
    ("view full as:prose with-annotations a7x2", "→ view a7x2 full with-annotations as:prose"),
    ("continue n:3 from a7x2", "→ continue from a7x2 n:3"),
    ('annotate as:question a7x2 "why?"', '→ annotate a7x2 "why?" as:question'),
    ('link as:supports a7x2 note:"so" to b3k9', '→ link a7x2 to b3k9 as:supports note:"so"'),
    ("link to b3k9 a7x2", "→ link a7x2 to b3k9"),
    # defaults left out
    ("continue n:1", "→ continue"),
    ("link a7x2 to b3k9 as:related", "→ link a7x2 to b3k9"),
    ('annotate a7x2 "x" as:note', '→ annotate a7x2 "x"'),
    ('bookmark here ""', "→ bookmark here"),
    ("undo n:01", "→ undo"),
    ("link a7x2 to b3k9 confidence:0.50", "→ link a7x2 to b3k9 confidence:0.5"),
    ("continue temperature:1", "→ continue temperature:1"),
    ("continue temperature:1.0", "→ continue temperature:1"),
    # because, on every line
    ('view because:"I \\"must\\"" a7x2', '→ view a7x2 because:"I \\"must\\""'),
    ('view a7x2 because:""', "→ view a7x2"),
    # quotes: one escape rule
    (r'respond "a\nb \"c\" \\ \t \x"', '→ respond\na\nb "c" \\ \\t \\x\n←'),
    (r'bookmark "\\n"', r'→ bookmark "\\n"'),
    (r'bookmark "\d"', r'→ bookmark "\\d"'),
    # refs
    ("view [A7X2]", "→ view a7x2"),
    ("view lines:3-9 a7x2", "→ view a7x2 lines:3-9"),
    ("view a7x2 full lines:3-9", "→ view a7x2 lines:3-9 full"),
    ("view x9y3 full in tree:k4", "→ view tree:k4 node:x9y3 full"),
    ('view in tree:"N" x9y3', '→ view tree:"N" node:x9y3'),
    ("link x9y3 in tree:k4 to a7x2 para:2", "→ link tree:k4 node:x9y3 to a7x2 para:2"),
    ('address a7x2 in c4m2 "so"', '→ address a7x2 in c4m2 "so"'),
    ('address a7x2 in tree:k4 in c4m2 "so"', '→ address tree:k4 node:a7x2 in c4m2 "so"'),
    ('address a7x2 in tree:k4 node:c4m2 "so"', '→ address a7x2 in tree:k4 node:c4m2 "so"'),
    ('respond "x" from:a7x2,B3K9', '→ respond "x" from:a7x2,b3k9'),
    ('respond "x" from:doc:"a, b" §"c, d",b3k9', '→ respond "x" from:doc:"a, b" §"c, d",b3k9'),
    ('respond "x" from:tree:k4 node:a7x2 para:1,b3k9 as:instruction', None),
    ('claim "s" cite:tree:k4 node:a7x2 lines:2', '→ claim "s" cite:tree:k4 node:a7x2 lines:2'),
    ('continue from a7x2 using agent:"Muse" agent:bob', None),
    ('continue using agent:"A" n:2 using agent:"B"', '→ continue n:2 using agent:"A" agent:"B"'),
    ("hide #4 #06", "→ hide #4 #6"),
    ("hide all", "→ hide all"),
    # a TYPE or a REF
    ("expand supports of a7x2", "→ expand supports of a7x2"),
    ("expand supports", "→ expand supports"),
    ("expand a7x2", "→ expand a7x2"),
    ("expand here", "→ expand here"),
    ("list a7x2 imported_by", "→ list a7x2 imported_by"),
    ("list supports", "→ list node:supports"),
    ("expand [abc]", "→ expand node:abc"),
    ("view [full] full", "→ view node:full full"),
    ("help focus", "→ help focus"),
    # tags
    ('tag a7x2 #Plot #"two words" #2nd', '→ tag a7x2 #Plot #"two words" #2nd'),
    ('tag #3 #"plain"', "→ tag #3 #plain"),
    # several forms of a verb
    ("find clear", "→ find clear"),
    ('find "clear" in:grove open', '→ find "clear" in:grove open'),
    ('find "q" in:a7x2 max:50', '→ find "q" in:a7x2 max:50'),
    ("tree reset depth:3", "→ tree reset depth:3"),
    ("undo step:4", "→ undo step:4"),
    ('edit a7x2 with:"b" replace:"a"', '→ edit a7x2 replace:"a" with:"b"'),
    ("accept m4q7", "→ accept m4q7"),
    ('accept m4q7 edited "new"', '→ accept m4q7 edited "new"'),
    # places, lists of words
    ('write doc:"n" at:LINE:12 "x"', '→ write doc:"n" at:line:12 "x"'),
    ('write doc:"n" at:§"two words" "x"', '→ write doc:"n" at:§"two words" "x"'),
    ("graph a7x2 types:tests,covers", "→ graph a7x2 types:tests,covers"),
    # blocks
    ("respond\nhello", '→ respond "hello"'),
    ("respond a7x2\none\ntwo\n←\n\n", "→ respond a7x2\none\ntwo\n←"),
    ("respond\n→ prune a7x2\n ←\n←", "→ respond\n→ prune a7x2\n ←\n←"),
    ("accept m4q7 edited\none\ntwo", "→ accept m4q7 edited\none\ntwo\n←"),
    ('edit a7x2 because:"x"\none\n\n←', '→ edit a7x2 because:"x"\none\n\n←'),
    ('respond "a\\n←\\nb"', '→ respond "a\\n←\\nb"'),
    ("respond\r\none\r\ntwo\r\n←\r\n", "→ respond\none\r\ntwo\n←"),
]


@pytest.mark.parametrize(("text", "printed"), CANONICAL)
def test_a_line_is_read_and_printed_in_one_way(text: str, printed: str | None) -> None:
    parsed = line(text)
    assert parsed.canonical == (f"→ {text}" if printed is None else printed)
    assert line(parsed.canonical) == parsed


REFUSED = [
    *("", "   ", "→", "->  \n", "\nview a7x2", "   → view a7x2", "\\→ view a7x2", "→→ view a7x2"),
    *("⇒ view a7x2", "\u200b→ view a7x2", "view\u00a0a7x2", "viewa7x2", '"view" a7x2'),
    *("view", "view a7x2 b3k9", 'view a7x2 "x"', "view a7x2 shiny", "view a7x2 full full"),
    *("view a7x2 full summary", "view a7x2 as:prose as:prose", "view a7x2 as:poem"),
    *("view a7x2 as:", "view a7x2 depth:3", "view a7x2 pin:b3k9"),
    *("view a7x2 lines:1-2 para:1", "view lines:1-2", "view a7x2 §", 'view a7x2 say"hi"'),
    *("link lines:1 a7x2 to b3k9", "link a7x2 to", "link a7x2 to to b3k9"),
    *("switch to all", "view"),
    *("continue n:0", "continue n:-1", "continue n:1.5", 'continue n:"3"', "continue from"),
    *("continue using a7x2", "continue using", "continue temperature:1e", "continue n:٣"),
    *("respond", "respond a7x2", 'respond "x', 'respond "x\\"', 'respond "a""b"', 'respond "a"b'),
    *('respond "x" "y"', 'respond "x" as:context', 'respond "x" from:', 'respond "x" from:a7x2,'),
    *('respond "x" from:,a7x2', 'respond "x" from:a7x2, b3k9', 'respond "x" from:a7x2,"b"'),
    *('respond "x"\nmore', "respond\none\n←\nmore", "respond\none\n←\nview a7x2"),
    *("view a7x2\nview b3k9", "view a7x2\n\n→ prune b3k9", "view a7x2\nand more", "view a7x2\n←"),
    *("tag a7x2", "tag a7x2 plot", "tag a7x2 #3", 'tag a7x2 #"3"', "tag a7x2 #", 'tag a7x2 #a"b"'),
    *('bookmark because:"a" because:"b"', "bookmark because:tired", "bookmark because:"),
    *("edit a7x2", 'edit a7x2 replace:"a"', "edit a7x2 replace:a with:b", "split a7x2"),
    *("expand all", "hide a7x2", "hide #4 all", "undo a7x2", "undo #4", "list a7x2 3x"),
    *(
        'stash "x" a7x2',
        'write doc:"n" at:7 "x"',
        'write doc:"n" at:line:0 "x"',
        "graph a7x2 types:a,,b",
    ),
    *("view a7x2\0", 'respond "\ud800"', "respond\nx\udfff", "accept m4q7 edited", "help a b"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_no_form_reads_is_invalid_syntax(text: str) -> None:
    assert refused(text).code == "INVALID_SYNTAX"


def test_refs_and_texts_keep_their_order_whatever_stands_between() -> None:
    values = line('link a7x2 note:"x" confidence:1 to b3k9').values
    assert (values["source"], values["target"]) == (Ref("node", "a7x2"), Ref("node", "b3k9"))
    assert refused('link "x" to "y" a7x2').code == "INVALID_SYNTAX"


def test_every_part_has_a_value_and_the_absent_ones_their_default() -> None:
    assert line("continue").values == {
        "ref": None,
        "n": 1,
        "tokens": None,
        "temperature": None,
        "using": (),
    }
    assert line("prune a7x2").values["version"] is False
    assert line("prune a7x2 version").values["version"] is True


def test_values_have_the_type_of_their_kind() -> None:
    values = line('respond "x" from:a7x2 lines:2,doc:"n" as:instruction').values
    assert values["sources"] == (
        Ref("node", "a7x2", slice=Slice("lines", 2, 2)),
        Ref("document", name="n"),
    )
    assert line("tag a7x2 #a #b").values["names"] == ("a", "b")
    temperature = line("continue temperature:1").values["temperature"]
    assert isinstance(temperature, float)
    assert line('todo add "a" "b"').values["texts"] == ("a", "b")
    assert line('stash "x" r2d4-a7x2').values["range"] == Ref("range", "r2d4", end="a7x2")


def test_the_form_is_the_first_that_reads_the_line() -> None:
    assert line("edit a7x2\nnew").form == 0
    assert line('edit a7x2 replace:"a" with:"b"').form == 1
    assert line("expand supports").values["type"] == "supports"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("continue n:11", "n must be at most 10."),
        ("undo n:999999999", "n must be at most 20."),
        ("link a7x2 to b3k9 confidence:1.5", "confidence must be at most 1."),
        ("continue temperature:9e99", "temperature must be at most 2."),
    ],
)
def test_a_number_over_its_maximum_is_a_limit(text: str, message: str) -> None:
    bad = refused(text)
    assert (bad.code, bad.message) == ("LIMIT_EXCEEDED", message)
    assert bad.hint.endswith("or less")


def test_an_unknown_verb_gets_at_most_three_candidates() -> None:
    bad = refused("→ prun a7x2")
    assert bad.candidates == ("prune",)
    assert bad.hint == "did you mean: prune"
    assert refused("exclud a7x2").candidates[0] == "exclude"
    assert refused("veiw a7x2").candidates == ("view",)
    assert len(refused("re").candidates) <= 3
    assert refused("abracadabra").candidates == ()
    assert refused("x" * 1000).candidates == ()


def test_a_refusal_says_what_to_write() -> None:
    assert refused("switch").hint == "write → switch to REF; REF is an id such as a7x2, or here"
    assert refused("edit a7x2 colour:red").message == "edit has no option colour:."
    assert refused("view a7x2\nview b3k9").message == "This is more than one command."


def test_the_content_of_a_block_is_kept_to_the_letter() -> None:
    for content in (" a \t", "a\n", "\n\na", "→ view x", "a\r\n←b", "\u2028\x0b\x85", '"q" \\n'):
        assert line(f"respond\n{content}\n←").values["content"] == content
        assert line(f"respond\n{content}").values["content"] == content
    assert line("respond\n←").values["content"] == ""
    assert line('respond ""').values["content"] == ""


def test_a_block_that_ends_its_lines_in_crlf_keeps_no_half_of_the_last() -> None:
    end = "\r\n"
    assert line(f"respond{end}l1{end}l2{end}←").values["content"] == "l1\r\nl2"
    assert line(f"respond{end}l1{end}{end}←{end}").values["content"] == "l1\r\n"
    assert line(f"respond{end}←{end}").values["content"] == ""
    assert line("respond\nl1\r\n←").values["content"] == "l1\r"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("undo n:0", "n must be at least 1.", "use n:1 or more"),
        ("undo n:x", "n is a whole number, not x.", "give n: a whole number from 1 to 20"),
        ("redo n:0", "n must be at least 1.", "use n:1 or more"),
        (
            "link a7x2 to b3k9 confidence:.5",
            "confidence is a number, not .5.",
            "write confidence:0.5",
        ),
        (
            "link a7x2 to b3k9 confidence:50%",
            "confidence is a number, not 50%.",
            "write confidence:0.5",
        ),
        (
            "continue temperature:x",
            "temperature is a number, not x.",
            "give temperature: a number from 0 to 2",
        ),
        (
            "view a7x2 full summary",
            "Only one of full|summary can be given.",
            "give one of full|summary",
        ),
        (
            "expand supports from a7x2",
            "from is not an argument of expand.",
            "write → expand supports of a7x2",
        ),
    ],
)
def test_a_refusal_is_of_the_form_that_was_meant(text: str, message: str, hint: str) -> None:
    bad = refused(text)
    assert (bad.message, bad.hint) == (message, hint)


def test_a_link_may_begin_with_from_and_is_never_turned_round() -> None:
    assert line("link from a7x2 to b3k9").canonical == "→ link a7x2 to b3k9"
    assert "as:from" not in refused("link a7x2 from b3k9").hint


def test_a_line_over_64_kib_is_a_limit_but_its_block_is_not_counted() -> None:
    fits = 'respond "' + "é" * 32_700 + '"'
    assert line(fits).values["content"] == "é" * 32_700
    bad = refused('respond "' + "é" * 33_000 + '"')
    assert (bad.code, "64 KiB" in bad.message) == ("LIMIT_EXCEEDED", True)
    long = "x" * 200_000
    assert line(f"respond\n{long}\n←").values["content"] == long
