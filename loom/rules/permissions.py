"""Who may do what: roles, the permission letters of MM §5.1, and their names."""

from typing import Literal

Role = Literal["reader", "writer", "owner"]
Letter = Literal["A", "W", "G", "R", "D", "X", "S"]

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

# What a permission presupposes: W and G need A, D needs R.
NEEDS: dict[Letter, Letter] = {"W": "A", "G": "A", "D": "R"}


def lacking(needed: frozenset[Letter], held: frozenset[Letter]) -> list[str]:
    """The names of needed permissions that are not held, in the order of the table."""
    return [NAMES[letter] for letter in NAMES if letter in needed and letter not in held]


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
