"""Replies as strong models write them: what runs is what was meant, and nothing vanishes."""

import pytest

from agents.agent_prompt import language
from agents.context.values import RoundReply
from agents.providers.attempt import read_reply
from loom.engine import registry
from loom.language.lines import makes_window, read
from tests.grammar.judged import CALLS, MENTIONED, NEAR, REFUSED, RUNS, TEXT, rows


def replied(text: str) -> RoundReply:
    return read_reply(text, language(), finished=True)


def run_of(text: str) -> list[str]:
    commands = replied(text).commands
    return [
        command.line.canonical.removeprefix("→ ")
        for command in commands
        if command.line is not None
    ]


WINDOWS = """
→ open "the lamp" => open "the lamp"
→ open m5w7 lines:3-9 pad:2 live keep => open m5w7 lines:3-9 keep live pad:2
→ open m5w7 with:requires => open m5w7 with:requires
→ open branch:m5w7 => open branch:m5w7
→ find "lamp" open => find "lamp" open
→ find "lamp" max:2 and open them => find "lamp" max:2 open
→ resize #14 lines:2-9 => resize #14 lines:2-9
→ reload #14 => refresh #14
→ refresh all => refresh all
→ edit #14 "A lamp." => edit #14 "A lamp."
→ suggest #14 "A lamp." => suggest #14 "A lamp."
→ write #14 "A lamp." => write #14 "A lamp."
"""


@pytest.mark.parametrize(("reply", "lines"), [*rows(RUNS), *rows(WINDOWS)])
def test_what_has_one_reading_runs(reply: str, lines: str) -> None:
    assert run_of(reply) == lines.split("|"), [command.bad for command in replied(reply).commands]
    assert all(command.line is not None for command in replied(reply).commands)


@pytest.mark.parametrize(("reply", "line"), rows(NEAR))
def test_a_near_miss_never_runs_and_is_answered_with_the_line_to_write(
    reply: str, line: str
) -> None:
    (command,) = replied(reply).commands
    assert command.line is None and command.bad is not None and command.near
    assert command.bad.code == "INVALID_SYNTAX"
    assert command.bad.message.startswith(f'line {command.number}: "')
    assert command.bad.message.endswith('" looks like a command.')
    assert f"write {line} alone on its line" in command.bad.hint


@pytest.mark.parametrize(("reply", "_"), rows(MENTIONED))
def test_a_command_that_a_text_mentions_is_asked_back_without_proposing_it(
    reply: str, _: str
) -> None:
    (command,) = replied(reply).commands
    assert command.line is None and command.bad is not None and command.near
    assert "if it is text, send it again" in command.bad.hint
    assert "write →" not in command.bad.hint
    assert replied(reply).prose == reply


@pytest.mark.parametrize(("reply", "line"), rows(CALLS))
def test_a_call_in_json_is_asked_back_with_the_line_to_write(reply: str, line: str) -> None:
    (command,) = replied(reply).commands
    assert command.line is None and command.bad is not None and command.near
    assert f"{line} alone" in command.bad.hint or f"such as {line};" in command.bad.hint
    assert "if it is text, send it again" in command.bad.hint


@pytest.mark.parametrize(("reply", "hint"), rows(REFUSED))
def test_what_is_refused_names_its_line_and_what_to_write(reply: str, hint: str) -> None:
    (command,) = replied(reply).commands
    assert command.line is None and command.bad is not None and not command.near
    assert command.bad.message.startswith('line 1: "')
    assert hint in command.bad.hint


@pytest.mark.parametrize(("reply", "_"), rows(TEXT.replace(" => ", " ⟹ ")))
def test_text_stays_text_without_a_word(reply: str, _: str) -> None:
    reply = reply.replace(" ⟹ ", " => ")
    parsed = replied(reply)
    assert parsed.commands == ()
    assert parsed.prose == reply.replace("\\→", "→").replace("\\->", "->")


def test_the_table_is_large_and_names_every_reply_once() -> None:
    every = [
        reply
        for section in (RUNS, NEAR, MENTIONED, CALLS, REFUSED, TEXT)
        for reply, _ in rows(section)
    ]
    assert len(every) == len(set(every)) >= 400


def test_no_destructive_line_runs_without_its_own_word() -> None:
    for reply, lines in rows(RUNS):
        for line in lines.split("|"):
            verb = line.split(" ")[0]
            assert verb not in registry.language().destructive or verb in reply.lower()


@pytest.mark.parametrize("command", list(registry.every()), ids=lambda command: command.syntax)
def test_only_commands_that_look_have_a_result_window(command: registry.Command) -> None:
    is_look = command.klass == "look" and command.verb != "continue"  # which spends
    assert command.form.makes_window == is_look


@pytest.mark.parametrize("word", ["clear", "reset", "add", "extend"])
def test_a_search_for_a_word_of_another_line_still_only_looks(word: str) -> None:
    assert makes_window(read(f'→ find "{word}"', registry.language()))
