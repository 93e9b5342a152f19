"""The preferences of one person: fonts, nodes, defaults. Pure."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from loom.errors import CommandError
from loom.people.shortcuts import ACTIONS_BY_ID, checked_keys

# The preferences of one person: fonts, nodes, defaults. Stored as plain values per user.

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
    """The preferences of one person. `temperature`: 0 to 2, or None for the model's own;
    `language`: a language code, or "" for the browser's; `styled`: whether Markdown in a buffer is
    rendered; `paste`: what becomes of pasted formatted text."""

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
        """As JSON: only what differs from the defaults."""
        first = asdict(Preferences())
        return {name: value for name, value in asdict(self).items() if value != first[name]}


def read_preferences(stored: object) -> Preferences:
    """The stored preferences; those that this version does not know are left out."""
    known = {entry.name for entry in fields(Preferences)}
    given = stored if isinstance(stored, dict) else {}
    fits = {name: value for name, value in given.items() if name in known and _fits(name, value)}
    return Preferences(**fits)


def keys_of(stored: object) -> dict[str, str]:
    """The person's own shortcuts, by action, from what is stored."""
    return read_preferences(stored).keys


def language_of(stored: object) -> str:
    """The person's language, from what is stored; "" for that of the browser."""
    return read_preferences(stored).language


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
        action in ACTIONS_BY_ID and isinstance(combo, str)
        for action, combo in value.items()  # type: ignore[attr-defined]
    )


def changed_preferences(before: Preferences, given: Mapping[str, Any]) -> Preferences:
    """The preferences with some changes. Refuses unknown names and invalid values."""
    wanted = dict(given)
    if isinstance(wanted.get("keys"), dict):
        wanted["keys"] = checked_keys(wanted["keys"])
    for name, value in wanted.items():
        if name not in asdict(before) or not _fits(name, value):
            hint = f"one of {', '.join(CHOICES[name])}" if name in CHOICES else "see settings"
            raise CommandError("INVALID_SYNTAX", f"{name} can't be {value!r}.", hint=hint)
    return Preferences(**{**asdict(before), **wanted})
