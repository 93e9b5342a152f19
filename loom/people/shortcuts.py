"""Keyboard shortcuts: what each key does, and which keys a person may choose. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from loom.errors import CommandError

# Keyboard shortcuts.

Where = Literal["free", "typing", "any"]


@dataclass(frozen=True)
class Shortcut:
    """What a key does. `where`: when nothing is being typed, only while typing, or always."""

    id: str
    combo: str
    where: Where = "free"


MOVES = (
    Shortcut("parent", "ArrowLeft"),
    Shortcut("child", "ArrowRight"),
    Shortcut("sibling-before", "ArrowUp"),
    Shortcut("sibling-after", "ArrowDown"),
    Shortcut("root", "Home"),
    Shortcut("leaf", "End"),
)
ACTIONS = (
    Shortcut("command", "Mod+k", "any"),
    Shortcut("find", "Mod+f", "any"),
    Shortcut("cite", "Mod+Shift+e", "any"),
    Shortcut("keys", "?"),
    Shortcut("send", "Mod+Enter", "any"),
    Shortcut("ask", "Mod+Shift+Enter", "any"),
    Shortcut("stop", "Escape", "any"),
    Shortcut("undo", "Mod+z"),
    Shortcut("redo", "Mod+Shift+z"),
    *MOVES,
    Shortcut("bookmark-before", "["),
    Shortcut("bookmark-after", "]"),
    Shortcut("walk", "w"),
    Shortcut("hoist", "h"),
    Shortcut("map", "m"),
    *(Shortcut(f"{move.id}-typing", f"Alt+{move.combo}", "typing") for move in MOVES),
    Shortcut("continue", "g"),
    Shortcut("edit", "e"),
    Shortcut("respond", "r"),
    Shortcut("annotate", "a"),
    Shortcut("link", "l"),
    Shortcut("bookmark", "b"),
    Shortcut("prune", "x"),
    Shortcut("split", "s"),
    Shortcut("pin", "p"),
    Shortcut("open", "o"),
    Shortcut("stash", "S"),
    Shortcut("compare", "c"),
    Shortcut("more", "."),
    Shortcut("alike", "d"),
    Shortcut("rate-plus", "+"),
    Shortcut("rate-minus", "-"),
    Shortcut("focus", "f"),
    Shortcut("read", "v"),
    *(Shortcut(f"take-{number}", str(number)) for number in range(1, 10)),
)
ACTIONS_BY_ID = {action.id: action for action in ACTIONS}
NAMED = (
    "Enter|Escape|Backspace|Delete|Insert|Home|End|PageUp|PageDown|Space"
    "|ArrowLeft|ArrowRight|ArrowUp|ArrowDown|F[1-9]|F1[0-2]"
)
_COMBO = re.compile(rf"(Mod\+)?(Alt\+)?(Shift\+)?({NAMED}|[^\s\x00-\x1f])")
_ALONE_WHILE_TYPING = re.compile(r"Escape|F\d+")


def bound_key(own: Mapping[str, str], action: str) -> str:
    """The shortcut of an action, the person's own if they have set one; empty if it has none."""
    return own.get(action, ACTIONS_BY_ID[action].combo)


def bound_keys(own: Mapping[str, str]) -> dict[str, str]:
    """Each action's shortcut, the person's own if they have set one; empty if it has none."""
    return {action.id: bound_key(own, action.id) for action in ACTIONS}


def checked_keys(given: Mapping[str, str]) -> dict[str, str]:
    """The shortcuts that differ from the defaults. Refuses those that cannot be pressed, would
    block typing, or are used twice in one place."""
    for name, combo in given.items():
        if name not in ACTIONS_BY_ID:
            raise CommandError("NOT_FOUND", f"There is no action {name}.", hint="reload the page")
        if combo:
            _demand_pressable(ACTIONS_BY_ID[name], combo)
    own = {name: combo for name, combo in given.items() if combo != ACTIONS_BY_ID[name].combo}
    _demand_apart(bound_keys(own))
    return own


def _demand_pressable(action: Shortcut, combo: str) -> None:
    match = _COMBO.fullmatch(combo)
    if match is None:
        raise CommandError("INVALID_SYNTAX", f"{combo} is not a key.", hint="press it in its field")
    mod, alt, shift, key = match.groups()
    if alt and (mod or len(key) == 1):
        raise CommandError(
            "INVALID_SYNTAX",
            f"{combo} types a symbol on some keyboards.",
            hint="choose Ctrl, or Alt with an arrow",
        )
    if shift and len(key) == 1 and not mod:
        raise CommandError("INVALID_SYNTAX", f"{combo} already includes Shift.", hint="press it")
    if action.where != "free" and not (mod or alt or _ALONE_WHILE_TYPING.fullmatch(key)):
        raise CommandError(
            "INVALID_SYNTAX",
            f"{combo} would block typing, because this action also works while you type.",
            hint="add Ctrl, or Alt with an arrow",
        )


def _demand_apart(combos: Mapping[str, str]) -> None:
    held: dict[tuple[str, str], str] = {}
    for name, combo in combos.items():
        where = ACTIONS_BY_ID[name].where
        for place in ("free", "typing") if where == "any" else (where,):
            before = held.setdefault((combo, place), name)
            if combo and before != name:
                raise CommandError(
                    "CONFLICT",
                    f"{combo} is used twice: for {before} and {name}.",
                    hint="give one of them another key",
                )
