"""Other wordings are read where the rules leave one reading; nothing else ever runs."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loom.engine import registry
from loom.language.forms import Form, FormPart
from loom.language.lines import read
from loom.language.refs import ParseError
from loom.language.verbs import Verbs
from tests.grammar import table
from tests.grammar.phrasings import KNOWN, REFUSED
from tests.grammar.phrasings_apart import APART
from tests.grammar.phrasings_fresh import FRESH
from tests.grammar.strategies import texts
from tests.thorough import tries

VERBS = registry.language()

# An id without a digit is nobody's: such a line is answered NOT_FOUND (docs/model.md §4).
NOBODY = re.compile(r"node:[a-z]+(?![\w-])")


def read_as(text: str, *, is_whole: bool = True) -> str:
    """The canonical line that a wording is read as; REFUSED where it is not read or names
    nothing that can be. If not `is_whole`, the line to write instead is not looked for."""
    try:
        line = read(text, VERBS, is_whole=is_whole)
    except ParseError as bad:
        assert bad.code in ("INVALID_SYNTAX", "LIMIT_EXCEEDED", "NOT_FOUND")
        assert len(bad.candidates) <= 3
        return REFUSED
    return REFUSED if NOBODY.search(line.canonical) else line.canonical.removeprefix("→ ")


# The tables are tried in one test each: hundreds of tests of a millisecond take seconds.


def test_a_known_wording_is_read_as_what_it_means() -> None:
    readings = [(text, line, read_as(text)) for text, line in KNOWN]
    assert [reading for reading in readings if reading[2] != reading[1]] == []


def test_no_wording_kept_apart_runs_a_wrong_command() -> None:
    readings = [(text, line, read_as(text)) for text, line in (*APART, *FRESH)]
    assert [reading for reading in readings if reading[2] not in (reading[1], REFUSED)] == []


def test_nearly_every_wording_kept_apart_is_understood() -> None:
    for table_of in (APART, FRESH):
        meant = [(text, line) for text, line in table_of if line != REFUSED]
        read_so = [text for text, line in meant if read_as(text) == line]
        assert len(read_so) >= 0.98 * len(meant)


def test_the_tables_are_large_and_share_nothing() -> None:
    assert len(APART) == len({text for text, _ in APART}) >= 300
    assert not {text for text, _ in KNOWN} & {text for text, _ in APART}
    assert len(FRESH) == len({text for text, _ in FRESH})
    assert not {*KNOWN, *APART} & {*FRESH}


TURNING = ["not", "never", "don't", "unless", "except", "without", "if"]


@pytest.mark.parametrize("word", TURNING)
def test_a_word_that_turns_the_sense_is_never_skipped(word: str) -> None:
    for number, (text, line) in enumerate(KNOWN, TURNING.index(word)):
        spoken = text.partition('"')[0].split()
        for at in range(len(spoken) + 1):
            turned = " ".join([*spoken[:at], word, *spoken[at:]])
            # What to write instead is looked for in each place with one of the words: it takes
            # most of the time, and does not decide what is read.
            reading = read_as(turned, is_whole=(number + at) % len(TURNING) == 0)
            assert reading == REFUSED or word in reading, (turned, reading, line)


def test_destructive_verbs_need_their_own_word() -> None:
    assert (
        not {phrase.verb for many in VERBS.phrases.values() for phrase in many} & VERBS.destructive
    )
    for text, line in (*KNOWN, *APART):
        verb = read_as(text).partition(" ")[0]
        assert verb not in VERBS.destructive or verb in text.lower().replace("`", "").split(), (
            text,
            line,
        )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("link a7x2 to b3k9?", REFUSED),
        ("can I link a7x2 to b3k9", REFUSED),
        ("could you link a7x2 to b3k9?", "link a7x2 to b3k9"),
        ("continue from a7x2?", REFUSED),
        ("can I see a7x2?", "view a7x2"),
        ("show me more", REFUSED),
    ],
)
def test_a_question_changes_nothing_unless_it_is_a_request(text: str, line: str) -> None:
    assert read_as(text) == line


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("delete a7x2", ("prune", "unlink")),
        ("prnue a7x2", ("prune",)),
        ("revert", ("undo",)),
        ("veiw a7x2", ("view",)),
    ],
)
def test_what_the_rules_do_not_decide_names_what_may_be_meant(
    text: str, candidates: tuple[str, ...]
) -> None:
    with pytest.raises(ParseError) as caught:
        read(text, VERBS)
    assert caught.value.code == "INVALID_SYNTAX"
    assert caught.value.candidates == candidates
    assert candidates[0] in caught.value.hint


def test_two_readings_are_named_and_neither_is_run() -> None:
    with pytest.raises(ParseError) as caught:
        read("get continuations from a7x2", VERBS)
    assert caught.value.code == "INVALID_SYNTAX"
    assert caught.value.candidates == ("list", "continue")
    assert caught.value.hint == "write → list a7x2 continuations or → continue from a7x2"


def test_a_block_opened_at_the_end_of_its_line_is_answered_with_how_to_open_it() -> None:
    with pytest.raises(ParseError) as caught:
        read("→ annotate a7x2 ←\nA remark.\n←", VERBS)
    assert caught.value.hint == (
        "write → annotate a7x2, the text in the lines below it, and ← alone on the last"
    )


def test_a_number_over_its_maximum_is_that_in_other_words_too() -> None:
    with pytest.raises(ParseError) as caught:
        read("give me 50 more from here", VERBS)
    assert caught.value.code == "LIMIT_EXCEEDED"


WINDOW = FormPart("windows", "ref", many=True, refs=("window",))
LATER = {
    **table.FORMS,
    "show": [Form("show", (WINDOW, FormPart("full", "flag")))],
    "open": [Form("open", (FormPart("ref", "ref"), FormPart("keep", "flag")))],
    "back": [Form("back", (table.count("n", 1),))],
    "memory": [Form("memory", ())],
}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("show a7x2", "view a7x2"),
        ("show #3", "show #3"),
        ("show me #3", "show #3"),
        ("pin #3", "open #3 keep"),
        ("navigate to b3k9", "switch to b3k9"),
        ("navigate supports of a7x2", "expand supports of a7x2"),
        ("go back", "back"),
        ("go back two steps", "back n:2"),
        ("go back to a7x2", "switch to a7x2"),
        ("where am I?", "memory"),
    ],
)
def test_the_kind_of_argument_decides_shared_words(text: str, line: str) -> None:
    aliases = {"read": "view", "go": "switch", "navigate": "expand"}
    verbs = Verbs(LATER, aliases, VERBS.facts)
    assert read(text, verbs).canonical == f"→ {line}"


WORDS = sorted(
    {word for phrase in VERBS.phrases for word in phrase} | set("a7x2 b3k9 the #3 3".split())
)


@given(words=st.lists(st.sampled_from(WORDS), max_size=8), text=texts)
@example(words=["[]"], text="")
@settings(max_examples=tries(300))
def test_any_words_are_read_or_refused_and_what_is_read_stays_itself(
    words: list[str], text: str
) -> None:
    try:
        line = read(" ".join(words), VERBS)
    except ParseError:
        return
    assert read(line.canonical, VERBS) == line
    assert line.verb not in VERBS.destructive or line.verb in words


@given(text=texts, words=st.sampled_from(["reply to a7x2 with {}", "say {} please"]))
def test_a_quoted_text_is_never_touched(text: str, words: str) -> None:
    from loom.language.refs import quote

    line = read(words.format(quote(text)), VERBS)
    assert line.values["content"] == text


@pytest.mark.parametrize(
    "names",
    [
        'agent:"Base A","Base B"',
        'agent:"Base A", "Base B"',
        'agent:"Base A" "Base B"',
        'agent:"Base A" and agent:"Base B"',
        '"Base A","Base B"',
    ],
)
def test_several_names_after_one_key_are_proposed_with_a_key_each(names: str) -> None:
    with pytest.raises(ParseError) as caught:
        read(f"→ continue from a7x2 n:3 using {names}", VERBS)
    meant = 'continue from a7x2 n:3 using agent:"Base A" agent:"Base B"'
    assert caught.value.hint == f"write → {meant}"
    assert read_as(meant) == meant


@pytest.mark.parametrize(
    "line", ['annotate a7x2 "x","y"', 'view doc:"a","b"', 'search "x","y"', 'find "x" in:"A","B"']
)
def test_no_hint_takes_several_quoted_texts_for_one(line: str) -> None:
    with pytest.raises(ParseError) as caught:
        read(f"→ {line}", VERBS)
    assert '\\"' not in caught.value.hint
