"""How one person likes the page: fonts, nodes, defaults. Kept as plain values per user."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from loom.rules import keys
from loom.rules.refusals import Refused

Prose = Literal["serif", "sans"]
Size = Literal["small", "medium", "large", "larger"]
Width = Literal["narrow", "medium", "wide"]
Nodes = Literal["full", "quiet", "plain"]
Edits = Literal["ask", "version", "fork"]
Theme = Literal["system", "light", "dark"]
THEMES: tuple[str, ...] = get_args(Theme)
CHOICES: dict[str, tuple[str, ...]] = {
    "prose": get_args(Prose),
    "size": get_args(Size),
    "width": get_args(Width),
    "nodes": get_args(Nodes),
    "edits": get_args(Edits),
}


_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,2}")


@dataclass(frozen=True)
class Preferences:
    """The choices of one person. `temperature`: 0 to 2, or None for the model's own;
    `language`: the code of one, or "" for what the browser asks for."""

    prose: Prose = "serif"
    size: Size = "medium"
    width: Width = "medium"
    nodes: Nodes = "full"
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
    if name == "verbose":
        return isinstance(value, bool)
    is_table = isinstance(value, dict)
    return is_table and all(
        one in keys.BY_ID and isinstance(combo, str)
        for one, combo in value.items()  # type: ignore[attr-defined]
    )


def changed(before: Preferences, given: Mapping[str, Any]) -> Preferences:
    """The preferences with some changed. Refuses names and values that there are not."""
    wanted = dict(given)
    if isinstance(wanted.get("keys"), dict):
        wanted["keys"] = keys.checked(wanted["keys"])
    for name, value in wanted.items():
        if name not in asdict(before) or not _fits(name, value):
            hint = f"one of {', '.join(CHOICES[name])}" if name in CHOICES else "see settings"
            raise Refused("INVALID_SYNTAX", f"{name} cannot be {value!r}.", hint=hint)
    return Preferences(**{**asdict(before), **wanted})
