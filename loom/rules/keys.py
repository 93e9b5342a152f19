"""What the keys of a page do: each action's key, where it counts, and which may not meet.

A combo is a key's name as browsers say it, after `Mod+` (Ctrl, or ⌘), `Alt+` (⌃⌥ on a Mac)
and `Shift+`, in this order: `g`, `?`, `Mod+k`, `Alt+ArrowLeft`, `Mod+Shift+z`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from loom.rules.refusals import Refused

Where = Literal["free", "typing", "any"]


@dataclass(frozen=True)
class Action:
    """Something a key does. `where`: when nothing is typed, only while typing, or always."""

    id: str
    combo: str
    where: Where = "free"


MOVES = (
    Action("parent", "ArrowLeft"),
    Action("child", "ArrowRight"),
    Action("sibling-before", "ArrowUp"),
    Action("sibling-after", "ArrowDown"),
    Action("root", "Home"),
    Action("leaf", "End"),
)
ACTIONS = (
    Action("command", "Mod+k", "any"),
    Action("keys", "?"),
    Action("send", "Mod+Enter", "any"),
    Action("stop", "Escape", "any"),
    Action("undo", "Mod+z"),
    Action("redo", "Mod+Shift+z"),
    *MOVES,
    Action("bookmark-before", "["),
    Action("bookmark-after", "]"),
    Action("walk", "w"),
    Action("hoist", "h"),
    *(Action(f"{one.id}-typing", f"Alt+{one.combo}", "typing") for one in MOVES),
    Action("continue", "g"),
    Action("edit", "e"),
    Action("respond", "r"),
    Action("annotate", "a"),
    Action("link", "l"),
    Action("bookmark", "b"),
    Action("prune", "x"),
    Action("split", "s"),
    Action("compare", "c"),
    Action("more", "."),
    *(Action(f"take-{number}", str(number)) for number in range(1, 10)),
)
BY_ID = {action.id: action for action in ACTIONS}

NAMED = (
    "Enter|Escape|Backspace|Delete|Insert|Home|End|PageUp|PageDown|Space"
    "|ArrowLeft|ArrowRight|ArrowUp|ArrowDown|F[1-9]|F1[0-2]"
)
_COMBO = re.compile(rf"(Mod\+)?(Alt\+)?(Shift\+)?({NAMED}|[^\s\x00-\x1f])")
_ALONE_WHILE_TYPING = re.compile(r"Escape|F\d+")


def bound(own: Mapping[str, str]) -> dict[str, str]:
    """Each action's combo, the person's own where there is one; empty where it has no key."""
    return {action.id: own.get(action.id, action.combo) for action in ACTIONS}


def checked(given: Mapping[str, str]) -> dict[str, str]:
    """The combos that differ from those at first. Refuses what cannot be pressed, would stop
    the typing, or means two things in one place."""
    for name, combo in given.items():
        if name not in BY_ID:
            raise Refused("NOT_FOUND", f"No action is called {name}.", hint="reload the page")
        if combo:
            _demand_pressable(BY_ID[name], combo)
    own = {name: combo for name, combo in given.items() if combo != BY_ID[name].combo}
    _demand_apart(bound(own))
    return own


def _demand_pressable(action: Action, combo: str) -> None:
    found = _COMBO.fullmatch(combo)
    if found is None:
        raise Refused("INVALID_SYNTAX", f"{combo} is no key.", hint="press it in its field")
    mod, alt, shift, key = found.groups()
    if alt and (mod or len(key) == 1):
        raise Refused(
            "INVALID_SYNTAX",
            f"{combo} types a symbol on some keyboards.",
            hint="choose Ctrl, or Alt with an arrow",
        )
    if shift and len(key) == 1 and not mod:
        raise Refused("INVALID_SYNTAX", f"{combo}: Shift is in the letter.", hint="press it")
    if action.where != "free" and not (mod or alt or _ALONE_WHILE_TYPING.fullmatch(key)):
        raise Refused(
            "INVALID_SYNTAX",
            f"{combo} could not be typed any more: that action is heard while typing.",
            hint="add Ctrl, or Alt with an arrow",
        )


def _demand_apart(combos: Mapping[str, str]) -> None:
    held: dict[tuple[str, str], str] = {}
    for name, combo in combos.items():
        where = BY_ID[name].where
        for place in ("free", "typing") if where == "any" else (where,):
            before = held.setdefault((combo, place), name)
            if combo and before != name:
                raise Refused(
                    "CONFLICT",
                    f"{combo} would mean two things: {before} and {name}.",
                    hint="give one of them another key",
                )
