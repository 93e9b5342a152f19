"""The tasks of a text are those that are drawn as boxes, whatever Markdown is around them."""

import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loom.claims.rules.inline_tokens import InlineToken, below, tokens_in
from loom.documents.models import Document
from loom.documents.queries import newest
from loom.site.markdown import rendered
from tests.commands.conftest import Say

SIGNS = ("", "> ", "- ", "* ", "1. ", "2) ", "    ", "  ", "\t", "- - ", "> 1. ", ">> ")
WORDS = ("[ ] w", "[x] w", "[X]  w", "[ ]", "[ ]w", "[] w", "\\[ ] w", "`[ ] w`", "w", "")
WHOLE = ("```", "~~~", "````", "  ```js", "[x]: y", "---", "# w", "a | b", "- | -", "`w")
ENDS = ("\n", "\r\n")
lines = st.one_of(
    st.sampled_from(WHOLE), st.builds("{}{}".format, st.sampled_from(SIGNS), st.sampled_from(WORDS))
)
texts = st.builds(
    lambda many, end: end.join(
        line.replace("w", f"w{number}", 1) for number, line in enumerate(many)
    ),
    st.lists(lines, max_size=12),
    st.sampled_from(ENDS),
)

_DRAWN = re.compile(r'<li data-task="(\d+)">\s*(?:<p>)?\[([ xX])\] ([^<\n]*)')


def _tasks(text: str) -> list[InlineToken]:
    return [token for token in tokens_in(text) if token.kind == "task"]


@given(texts)
@example("```\n- [ ] w0\n```\n- [ ] w1")
@example("1. [ ] w0\n\n> - [ ] w1\n\n- [ ] w2")
@example("- [ ] w0\n      - [ ] w1\n\n      - [ ] w2")
@example("[x]: y\n\n- [x] w0\n- [ ] w1")
def test_the_box_at_a_place_is_the_task_at_that_place(text: str) -> None:
    """Its number, its state, its words; and the mark of the token is the one that is drawn."""
    html = str(rendered(text))
    drawn = [(int(at), mark, unescape(words).strip()) for at, mark, words in _DRAWN.findall(html)]
    tasks = _tasks(text)
    assert len(drawn) == html.count("data-task=")
    assert drawn == [
        (number, text[task.mark], task.words.strip()) for number, task in enumerate(tasks, start=1)
    ]
    for number, task in enumerate(tasks):
        other = "x" if task.state == "unchecked" else " "
        after = _tasks(f"{text[: task.mark]}{other}{text[task.mark + 1 :]}")
        if "[x]: y" in text:
            continue  # a checked task may then be a link
        assert [token.words for token in after] == [token.words for token in tasks]
        changed = [new.state != old.state for new, old in zip(after, tasks, strict=True)]
        assert changed == [place == number for place in range(len(tasks))]


def test_what_is_named_in_code_is_no_token() -> None:
    text = (
        "`[a7x2]` and ``a ` @[supports -> a7x2]``, \\`[b2c3]\\`\n\n"
        '    doc:"x"\n\n```\n[a7x2]\n```\n> ~~~\n> [a7x2]\n\n[d4e5] `'
    )
    assert [token.words for token in tokens_in(text)] == ["[b2c3]", "[d4e5]"]


def test_the_parts_of_a_task_are_those_in_its_item() -> None:
    text = "- [ ] a\n  1. [ ] b\n     > - [ ] c\n- d\n  - [ ] e\n\n> - [ ] f\n"
    tasks = {task.words: task for task in _tasks(text)}
    every = list(tasks.values())
    assert [[part.words for part in below(every, tasks[name])] for name in "abe"] == [
        ["b", "c"],
        ["c"],
        [],
    ]


@pytest.mark.parametrize("text", ["`" * 200_000, "` `` " * 50_000, "\\" * 100_000 + "`[a7x2]"])
def test_no_code_is_slow(text: str) -> None:
    tokens_in(f"[a7x2] {text}")


@pytest.mark.django_db
def test_a_task_of_a_document_is_rewritten_where_it_is_drawn(say: Say) -> None:
    text = "```\n- [ ] wake\n```\n> 1) [ ] quoted\n\n- [ ] wake"
    say(f'write doc:"List" new\n{text}\n←')
    document = Document.objects.get()
    quoted, real = (token.key for token in tokens_in(text, stable=True))
    for key in (real, quoted):
        say(f'todo check doc:"List" token:{key}')
    document.refresh_from_db()
    assert newest(document).text == "```\n- [ ] wake\n```\n> 1) [x] quoted\n\n- [x] wake"
