"""How one person likes the page: keys, fonts, nodes, defaults. Plain values."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from loom.rules.errors import CommandError

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
    Action("find", "Mod+f", "any"),
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
    Action("pin", "p"),
    Action("open", "o"),
    Action("stash", "S"),
    Action("compare", "c"),
    Action("more", "."),
    Action("focus", "f"),
    Action("read", "v"),
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
            raise CommandError("NOT_FOUND", f"There is no action {name}.", hint="reload the page")
        if combo:
            _demand_pressable(BY_ID[name], combo)
    own = {name: combo for name, combo in given.items() if combo != BY_ID[name].combo}
    _demand_apart(bound(own))
    return own


def _demand_pressable(action: Action, combo: str) -> None:
    found = _COMBO.fullmatch(combo)
    if found is None:
        raise CommandError("INVALID_SYNTAX", f"{combo} is not a key.", hint="press it in its field")
    mod, alt, shift, key = found.groups()
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
        where = BY_ID[name].where
        for place in ("free", "typing") if where == "any" else (where,):
            before = held.setdefault((combo, place), name)
            if combo and before != name:
                raise CommandError(
                    "CONFLICT",
                    f"{combo} is used twice: for {before} and {name}.",
                    hint="give one of them another key",
                )


# How one person likes the page: fonts, nodes, defaults. Kept as plain values per user.


Prose = Literal["serif", "sans", "mono"]
Size = Literal["small", "medium", "large", "larger"]
Width = Literal["narrow", "medium", "wide"]
Leading = Literal["tight", "medium", "loose"]
Align = Literal["start", "justified"]
Paste = Literal["plain", "markdown"]
Nodes = Literal["full", "quiet", "plain"]
Edits = Literal["ask", "version", "fork"]
Theme = Literal["system", "light", "dark"]
THEMES: tuple[str, ...] = get_args(Theme)
CHOICES: dict[str, tuple[str, ...]] = {
    "prose": get_args(Prose),
    "size": get_args(Size),
    "width": get_args(Width),
    "leading": get_args(Leading),
    "align": get_args(Align),
    "nodes": get_args(Nodes),
    "paste": get_args(Paste),
    "edits": get_args(Edits),
}


_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,2}")


@dataclass(frozen=True)
class Preferences:
    """The choices of one person. `temperature`: 0 to 2, or None for the model's own;
    `language`: the code of one, or "" for what the browser asks for;
    `styled`: whether Markdown in a buffer is shown as what it is; `paste`: formatted text."""

    prose: Prose = "serif"
    size: Size = "medium"
    width: Width = "medium"
    leading: Leading = "medium"
    align: Align = "start"
    nodes: Nodes = "full"
    paste: Paste = "plain"
    styled: bool = True
    temperature: float | None = None
    edits: Edits = "ask"
    verbose: bool = False
    language: str = ""
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def stored(self) -> dict[str, Any]:
        """As JSON: only what differs from the beginning."""
        first = asdict(Preferences())
        return {name: value for name, value in asdict(self).items() if value != first[name]}


def read(stored: object) -> Preferences:
    """What was stored; what another version stored and this one does not know is left out."""
    known = {one.name for one in fields(Preferences)}
    given = stored if isinstance(stored, dict) else {}
    fits = {name: value for name, value in given.items() if name in known and _fits(name, value)}
    return Preferences(**fits)


def _fits(name: str, value: object) -> bool:
    if name in CHOICES:
        return value in CHOICES[name]
    if name == "temperature":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value is None or (is_number and 0 <= value <= 2)  # type: ignore[operator]
    if name == "language":
        return isinstance(value, str) and (not value or bool(_LANGUAGE.fullmatch(value)))
    if name in ("verbose", "styled"):
        return isinstance(value, bool)
    is_table = isinstance(value, dict)
    return is_table and all(
        one in BY_ID and isinstance(combo, str)
        for one, combo in value.items()  # type: ignore[attr-defined]
    )


def changed(before: Preferences, given: Mapping[str, Any]) -> Preferences:
    """The preferences with some changed. Refuses names and values that there are not."""
    wanted = dict(given)
    if isinstance(wanted.get("keys"), dict):
        wanted["keys"] = checked(wanted["keys"])
    for name, value in wanted.items():
        if name not in asdict(before) or not _fits(name, value):
            hint = f"one of {', '.join(CHOICES[name])}" if name in CHOICES else "see settings"
            raise CommandError("INVALID_SYNTAX", f"{name} can't be {value!r}.", hint=hint)
    return Preferences(**{**asdict(before), **wanted})
