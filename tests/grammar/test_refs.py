"""What an address says, one rule a row (docs/model.md §4)."""

import pytest

from loom.language.refs import ParseError, Ref, Slice, print_ref
from loom.language.slices import parse_ref

WRITTEN = [
    ("a7x2", Ref("node", "a7x2"), "a7x2"),
    ("A7X2", Ref("node", "a7x2"), "a7x2"),
    ("[a7x2]", Ref("node", "a7x2"), "a7x2"),
    ("[A7x2']", Ref("node", "a7x2", prime=True), "a7x2'"),
    ("node:A7x2", Ref("node", "a7x2"), "a7x2"),
    ("node:a7x2'", Ref("node", "a7x2", prime=True), "a7x2'"),
    ("nothing", Ref("node", "nothing"), "node:nothing"),
    ("42", Ref("node", "42"), "42"),
    ("here", Ref("here"), "here"),
    ("Root", Ref("root"), "root"),
    ("parent", Ref("parent"), "parent"),
    ("focus", Ref("focus"), "focus"),
    ("[here]", Ref("here"), "here"),
    ('doc:"my notes"', Ref("document", name="my notes"), 'doc:"my notes"'),
    ("doc:Notes", Ref("document", "notes"), "doc:notes"),
    ("[doc:k3m8]", Ref("document", "k3m8"), "doc:k3m8"),
    ("[tree:k3m8]", Ref("tree", tree_id="k3m8"), "tree:k3m8"),
    ("doc:my-notes.md", Ref("document", name="my-notes.md"), 'doc:"my-notes.md"'),
    ('tree:"The House"', Ref("tree", tree_name="The House"), 'tree:"The House"'),
    ("tree:K4m2", Ref("tree", tree_id="k4m2"), "tree:k4m2"),
    ('tree:"N" node:x9y3', Ref("node", "x9y3", tree_name="N"), 'tree:"N" node:x9y3'),
    ('x9y3 in tree:"N"', Ref("node", "x9y3", tree_name="N"), 'tree:"N" node:x9y3'),
    ("tree:k4m2 branch:b3k9", Ref("branch", "b3k9", tree_id="k4m2"), "tree:k4m2 branch:b3k9"),
    ("root in tree:k4m2", Ref("root", tree_id="k4m2"), "tree:k4m2 node:root"),
    ("branch:b3k9", Ref("branch", "b3k9"), "branch:b3k9"),
    ("R2d4-a7x2", Ref("range", "r2d4", end="a7x2"), "r2d4-a7x2"),
    ("[full]", Ref("node", "full"), "node:full"),
    ("a-b", Ref("range", "a", end="b"), "node:a-b"),
    ("#3", Ref("window", "3"), "#3"),
    ("#007", Ref("window", "7"), "#7"),
    ("t12", Ref("task", "12"), "t12"),
    ('stash:"marie insight"', Ref("stash", name="marie insight"), 'stash:"marie insight"'),
    ("stash:marie", Ref("stash", name="marie"), 'stash:"marie"'),
    ('trail:"way"', Ref("trail", name="way"), 'trail:"way"'),
    ('agent:"Muse"', Ref("agent", name="Muse"), 'agent:"Muse"'),
    ("augment:craft/dialogue", Ref("augment", name="craft/dialogue"), "augment:craft/dialogue"),
    ('pipe:"p"', Ref("pipe", name="p"), 'pipe:"p"'),
    ("turn:x9Y3", Ref("turn", "x9y3"), "turn:x9y3"),
    ("step:12", Ref("step", "12"), "step:12"),
]
SLICED = [
    ("a7x2 lines:3-9", Slice("lines", 3, 9), "a7x2 lines:3-9"),
    ("a7x2 lines:3-3", Slice("lines", 3, 3), "a7x2 lines:3"),
    ("a7x2 para:2", Slice("para", 2, 2), "a7x2 para:2"),
    ("a7x2 part:03", Slice("part", 3, 3), "a7x2 part:3"),
    ("a7x2 §motive", Slice("section", name="motive"), "a7x2 §motive"),
    ('a7x2 §"the motive"', Slice("section", name="the motive"), 'a7x2 §"the motive"'),
    ("a7x2 section:motive", Slice("section", name="motive"), "a7x2 §motive"),
    ('a7x2 section:"a b"', Slice("section", name="a b"), 'a7x2 §"a b"'),
    ("a7x2 head:200", Slice("head", last=200), "a7x2 head:200"),
    ("a7x2 tail:200", Slice("tail", last=200), "a7x2 tail:200"),
]
UNREAD = [
    *("", "   ", "all", "a7x2''", "a7x2-", "-a7x2", "[a7x2", "[[a7x2]]", "[#3]", "[t3]", "#", "#x"),
    *("é7x2", "a_7", "here'", "root-", "doc:", 'doc:""', 'doc:x"y"', 'doc:"x"y', "nodes:a7x2"),
    *("node:t3", "node:#3", "branch:", "step:x", "step:", "turn:a-b", "tree:", '"a7x2"', "§motive"),
    *("a7x2 b3k9", "a7x2 lines:3-9 lines:1", "a7x2 lines:0", "a7x2 lines:9-3", "a7x2 lines:x"),
    *("a7x2 lines:", "a7x2 lines:-3", "a7x2 head:1-2", "a7x2 para:٣", "a7x2 §", 'a7x2 §""'),
    *("here in tree:x", "tree:x in tree:y", "tree:x node:a7x2 in tree:y", "tree:x node:here"),
    *('doc:"n" in tree:x', "a7x2 in", "a7x2 in b3k9", "a7x2\0", 'doc:"a\ud800"', 'doc:"open'),
]


@pytest.mark.parametrize(("text", "ref", "printed"), WRITTEN)
def test_a_ref_is_read_and_printed_in_one_way(text: str, ref: Ref, printed: str) -> None:
    assert parse_ref(text) == ref
    assert print_ref(ref) == printed
    assert parse_ref(printed) == ref


@pytest.mark.parametrize(("text", "part", "printed"), SLICED)
def test_a_slice_belongs_to_the_ref_before_it(text: str, part: Slice, printed: str) -> None:
    assert parse_ref(text).slice == part
    assert print_ref(parse_ref(text)) == printed


@pytest.mark.parametrize("text", UNREAD)
def test_what_is_not_a_ref_is_invalid_syntax(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_ref(text)
    assert caught.value.code == "INVALID_SYNTAX"


def test_a_number_too_long_names_nothing() -> None:
    for text in ("#" + "9" * 10, "t" + "9" * 5000, "step:1" + "0" * 9):
        with pytest.raises(ParseError) as caught:
            parse_ref(text)
        assert caught.value.code == "NOT_FOUND"


def test_a_slice_of_too_many_lines_is_a_limit() -> None:
    with pytest.raises(ParseError) as caught:
        parse_ref("a7x2 lines:1-" + "9" * 5000)
    assert caught.value.code == "LIMIT_EXCEEDED"


def test_a_slice_may_come_before_the_tree() -> None:
    ref = parse_ref('r2d4-a7x2 lines:1-2 in tree:"N"')
    assert ref == Ref("range", "r2d4", end="a7x2", tree_name="N", slice=Slice("lines", 1, 2))
    assert parse_ref(print_ref(ref)) == ref
