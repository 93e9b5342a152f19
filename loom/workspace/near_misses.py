"""What people and models write for windows, tasks and stashes in words of other programs, and the
line to write."""

import re
from collections.abc import Iterator

from loom.language.hints import as_text
from loom.language.refs import quote

_FORGET = r"(?:forget|delete|remove|clear|discard|drop|erase|unstash)"


def _unpin(match: re.Match[str]) -> Iterator[str]:
    what = match[1]
    if what.startswith("#"):
        yield f"hide {what}"
        yield f"close {what}"
    else:
        yield f"drop {what}"


def _except(match: re.Match[str]) -> Iterator[str]:
    yield " and → ".join([f"{match[1].lower()} all", f"show {match[2]}"])


def _remember(match: re.Match[str]) -> Iterator[str]:
    yield f"todo add {as_text(match[1])}"
    yield f"scratchpad append {as_text(match[1])}"


def _forget(match: re.Match[str]) -> Iterator[str]:
    yield f"drop stash:{as_text(match[1])}"


def _tasks(match: re.Match[str]) -> Iterator[str]:
    lines = [
        re.sub(r"^\s*(?:[-*+•]|\d+[.)])?\s*(?:\[.?\])?\s*", "", line)
        for line in match[1].split("\n")
    ]
    texts = [quote(line.strip().strip('"')) for line in lines if line.strip(" \t\r←")]
    if texts:
        yield " ".join(["todo add", *texts])


def _remove_tasks(match: re.Match[str]) -> Iterator[str]:
    yield f"todo remove {match[1]}"


def _finish_tasks(match: re.Match[str]) -> Iterator[str]:
    yield f"todo done {match[1]}"


_TASKS = r"(t\d+(?: t\d+)*)[.]?"

DROP_HINTS = (
    (r"drop pin:(\w+)", lambda match: iter([f"drop {match[1]}"])),  # no node has such an id
    (r"unpin (?:the )?(?:window |node )?(#\d+|\[?[a-z]\d[a-z]\d\w*\]?)[.,]?", _unpin),
    (rf'{_FORGET} (?:the |my )?stash(?:ed)?:?\s*("[^"]*"|[\w-]+)', _forget),
)
HIDE_HINTS = (
    (r"(hide) (?:everything|all|all windows)(?:,? (?:except|but)(?: for)?) (.+?)[.]?", _except),
)
TODO_HINTS = (
    (r"(?:remember|memorise|memorize|note to self)(?: that)?\b[:,]?\s*(.+)", _remember),
    (r"todo add:?\s*\n(.+)", _tasks),
    (r"todo add:?", lambda _: iter(['todo add "…"'])),
    (r"todo add:?\s+([^\n\"]+)", _tasks),
    (rf"{_FORGET} (?:the )?(?:todo |task )?{_TASKS}", _remove_tasks),
    (rf"todo {_FORGET} {_TASKS}", _remove_tasks),
    (rf"todo (?:check|tick|complete|finish)(?: off)? {_TASKS}", _finish_tasks),
)
