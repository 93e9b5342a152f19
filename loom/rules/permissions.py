"""Who may do what: roles, the permission letters of docs/model.md §5.1, and their names."""

from collections.abc import Iterable
from typing import Literal

Role = Literal["reader", "writer", "owner"]
Letter = Literal["A", "W", "G", "R", "D", "X", "S"]

# What an API key allows at most: to look, to write as a writer, or all that its person may.
Scope = Literal["read", "write", "owner"]
SCOPES: tuple[Scope, ...] = ("read", "write", "owner")
_ROLE_OF_SCOPE: dict[Scope, Role] = {"read": "reader", "write": "writer", "owner": "owner"}

ROLES: tuple[Role, ...] = ("reader", "writer", "owner")
NAMES: dict[Letter, str] = {
    "A": "loom_aware",
    "W": "loom_write",
    "G": "loom_generate",
    "R": "doc_read",
    "D": "doc_write",
    "X": "cross_tree",
    "S": "web_search",
}
LETTERS: dict[str, Letter] = {name: letter for letter, name in NAMES.items()}

_READER: frozenset[Letter] = frozenset("ARX")  # type: ignore[arg-type]
_ALL: frozenset[Letter] = frozenset(NAMES)
OF_ROLE: dict[Role, frozenset[Letter]] = {"reader": _READER, "writer": _ALL, "owner": _ALL}

Preset = Literal["collaborator", "analysis", "subject"]
# What an agent gets by one word: all of it, to look and read, or to be sent text only.
PRESETS: dict[Preset, tuple[str, ...]] = {
    "collaborator": tuple(NAMES.values()),
    "analysis": (NAMES["A"], NAMES["R"]),
    "subject": (),
}

# What a permission presupposes: W and G need A, D needs R.
NEEDS: dict[Letter, Letter] = {"W": "A", "G": "A", "D": "R"}


def limited(role: Role, scope: Scope) -> Role:
    """The role, or the one that a key's scope allows at most."""
    most = _ROLE_OF_SCOPE[scope]
    return min(role, most, key=ROLES.index)


def lacking(needed: frozenset[Letter], held: frozenset[Letter]) -> list[str]:
    """The names of needed permissions that are not held, in the order of the table."""
    return [NAMES[letter] for letter in NAMES if letter in needed and letter not in held]


def remedy(needed: frozenset[Letter], role: Role, *, asked_by: str = "") -> str:
    """What to do about a right that is lacking, for a person of that role, or for an agent in
    a turn that somebody of that role asked for."""
    if not asked_by:
        return "Ask an owner of the grove to make you a writer."
    if lacking(needed, OF_ROLE[role]):
        return f"{asked_by}, who started this turn, may not do this either; conclude without it."
    return (
        "An owner of the grove can give you this permission; "
        "→ help marks with * what you may not use."
    )


def preset_of(names: Iterable[str]) -> Preset | None:
    """The preset that gives exactly these permissions."""
    held = set(names)
    return next((preset for preset, given in PRESETS.items() if set(given) == held), None)


def broken_rule(names: list[str]) -> str:
    """The sentence that says which rule a list of permission names breaks; "" if none."""
    unknown = [name for name in names if name not in LETTERS]
    if unknown:
        return f"There is no permission {unknown[0]!r}; there are {', '.join(LETTERS)}."
    held = {LETTERS[name] for name in names}
    for letter, base in NEEDS.items():
        if letter in held and base not in held:
            return f"{NAMES[letter]} needs {NAMES[base]} too."
    return ""
