"""Where `{1}` in a reply is an id, and where it is text that somebody wrote."""

import pytest

from loom.language.batches import with_ids, with_made
from loom.language.lines import LineReader
from tests.grammar.table import VERBS

IDS = ("k6m2", "")


@pytest.mark.parametrize(
    ("prose", "stored"),
    [
        ("I wrote {1} and noted {2}.", "I wrote k6m2 and noted {2}."),
        ("{1}", "k6m2"),
        (
            "See [{1}], ({1}), **{1}**; {1}'s end — {1}…",
            "See [k6m2], (k6m2), **k6m2**; k6m2's end — k6m2…",
        ),
        ("* {1}: the tide\n> {1}, said\n| {1} |", "* k6m2: the tide\n> k6m2, said\n| k6m2 |"),
        ("我写了「{1}」。", "我写了「k6m2」。"),
        ("@[supports -> {1}]", "@[supports -> k6m2]"),
        ("not \\{1} but \\{9}, [\\{1}]", "not {1} but \\{9}, [{1}]"),
        ("A\n```c\nint a[] = {1}; // {1}\n```\n{1}", "A\n```c\nint a[] = {1}; // {1}\n```\nk6m2"),
        ("A\n\n    return {1}\n\n    - {1}", "A\n\n    return {1}\n\n    - k6m2"),
        ("`{1}` and ``a ` {1}`` and ` {1}", "`{1}` and ``a ` {1}`` and ` k6m2"),
        ("`\\{1}` too", "`\\{1}` too"),
        (
            'int a[] = {1}; f({1}) "{1}" a[{1}] [a-z]{1}',
            'int a[] = {1}; f({1}) "{1}" a[{1}] [a-z]{1}',
        ),
        ("\\frac{1}{2}, \\frac {1}{2}, x_{1}, ${1}", "\\frac{1}{2}, \\frac {1}{2}, x_{1}, ${1}"),
    ],
)
def test_in_the_prose_only_a_word_of_a_sentence_is_an_id(prose: str, stored: str) -> None:
    assert with_ids(prose, IDS) == stored


def made(text: str) -> str:
    return with_made(LineReader(VERBS).read(text, 3), IDS, VERBS).text


@pytest.mark.parametrize(
    "text",
    [
        'f"{1} of {2}" and [a-z]{1}',
        "int a[] = {1};",
        "a {1} b \\{1}",
        "`[{1}]`",
        "```\n[{1}]\n```",
        "a[{1}]",
        "[{2}] and [{7}]",
    ],
)
def test_the_text_of_a_line_is_stored_as_it_was_written(text: str) -> None:
    block = f"→ respond a7x2\n{text}\n←"
    assert made(block) == block
    if "\n" not in text:
        quoted = '→ respond a7x2 "{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))
        assert made(quoted) == quoted


def test_a_token_in_the_text_of_a_line_names_what_the_first_line_made() -> None:
    assert made('→ respond {1} "on [{1}], {1}"') == '→ respond k6m2 "on [k6m2], {1}"'
    assert made(r'→ respond {1} "on\n[{1}]"') == r'→ respond k6m2 "on\n[k6m2]"'
    block = "→ respond {1}\non [{1}] and @[supports -> {1}], [\\{1}]\n←"
    assert made(block) == "→ respond k6m2\non [k6m2] and @[supports -> k6m2], [{1}]\n←"


def test_an_argument_that_names_nothing_is_refused() -> None:
    read = with_made(LineReader(VERBS).read("→ tag {2} #a", 3), IDS, VERBS)
    assert read.bad is not None and "Line 2 of this message made nothing" in read.bad.message
