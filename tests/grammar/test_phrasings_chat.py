"""Lines in words of other programs: they run as what they mean, or are answered with it."""

from collections import Counter

import pytest

from agents.agent_prompt import language
from agents.providers.attempt import read_reply
from tests.grammar.judged import rows
from tests.grammar.phrasings_between import LINES as BETWEEN
from tests.grammar.phrasings_chat import ALIKE, HEARD
from tests.grammar.phrasings_refused import LINES as REFUSED

UNREAD = """
→ create a story about boats
→ make it longer
→ tick the boats
→ don't prune a7x2
→ prune a7x2 except its children
→ unpin everything
→ new idea
→ give it a name
"""


def verdict_on(reply: str, meant: str) -> str:
    """`right`, `useful`, `unhelpful`, `lost` or `wrong`."""
    commands = read_reply(reply, language(), finished=True).commands
    forms = [form.strip() for form in meant.removeprefix("!").split(" | ")]
    runs = [
        command.line.canonical.removeprefix("→ ")
        for command in commands
        if command.line is not None
    ]
    if runs:
        return "right" if runs in (forms[:1], forms) and not meant.startswith("!") else "wrong"
    if not commands:
        return "lost"
    hint = " ".join(command.bad.hint for command in commands if command.bad is not None)
    return "useful" if any(form in hint for form in forms) else "unhelpful"


@pytest.mark.parametrize(
    ("reply", "meant"), [*rows(HEARD), *rows(ALIKE), *rows(BETWEEN), *rows(REFUSED)]
)
def test_a_line_in_other_words_runs_or_is_answered_with_what_it_means(
    reply: str, meant: str
) -> None:
    assert verdict_on(reply, meant) == ("useful" if meant.startswith("!") else "right")


def test_sixty_lines_are_judged() -> None:
    counter = Counter(verdict_on(*row) for row in (*rows(HEARD), *rows(ALIKE)))
    assert sum(counter.values()) == 60
    assert set(counter) == {"right", "useful"}


@pytest.mark.parametrize("reply", UNREAD.strip().split("\n"))
def test_no_write_and_no_spending_is_proposed_for_what_is_not_read(reply: str) -> None:
    (command,) = read_reply(reply, language(), finished=True).commands
    assert command.line is None and command.bad is not None
    assert "a7x2" not in command.bad.hint and "continue" not in command.bad.hint
    assert not {"continue", "respond", "think"} & set(command.bad.candidates)
