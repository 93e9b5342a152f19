"""Roles, the permissions of docs/model.md §5.1, scopes of keys, and advice where one is missing.
Pure."""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Literal

# Roles, the permissions of docs/model.md §5.1, and advice if one is missing.


Role = Literal["reader", "writer", "owner"]


class Permission(StrEnum):
    """A permission of an actor. The order is that of the table in docs/model.md §5.1, and of every
    list of permissions that is stored or shown."""

    LOOM = "loom_aware"
    WRITE = "loom_write"
    GENERATE = "loom_generate"
    READ_DOCUMENTS = "doc_read"
    WRITE_DOCUMENTS = "doc_write"
    CROSS_TREE = "cross_tree"
    WEB_SEARCH = "web_search"


LOOM, WRITE, GENERATE = Permission.LOOM, Permission.WRITE, Permission.GENERATE
READ_DOCUMENTS, WRITE_DOCUMENTS = Permission.READ_DOCUMENTS, Permission.WRITE_DOCUMENTS
CROSS_TREE, WEB_SEARCH = Permission.CROSS_TREE, Permission.WEB_SEARCH
# The highest role that an API key allows: reader, writer, or that of its person.
Scope = Literal["read", "write", "owner"]
SCOPES: tuple[Scope, ...] = ("read", "write", "owner")
_ROLE_OF_SCOPE: dict[Scope, Role] = {"read": "reader", "write": "writer", "owner": "owner"}
ROLES: tuple[Role, ...] = ("reader", "writer", "owner")
_ALL = frozenset(Permission)
OF_ROLE: dict[Role, frozenset[Permission]] = {
    "reader": frozenset({LOOM, READ_DOCUMENTS, CROSS_TREE}),
    "writer": _ALL,
    "owner": _ALL,
}
Preset = Literal["collaborator", "analysis", "subject"]
# Presets of an agent's permissions: all, looking and reading, or text only.
PRESETS: dict[Preset, tuple[Permission, ...]] = {
    "collaborator": tuple(Permission),
    "analysis": (LOOM, READ_DOCUMENTS),
    "subject": (),
}
# The permissions that a permission requires.
NEEDS: dict[Permission, Permission] = {
    WRITE: LOOM,
    GENERATE: LOOM,
    WRITE_DOCUMENTS: READ_DOCUMENTS,
}


def limited(role: Role, scope: Scope) -> Role:
    """The role, or a lower one if the scope of the key does not allow it."""
    most = _ROLE_OF_SCOPE[scope]
    return min(role, most, key=ROLES.index)


def named(names: Iterable[str]) -> frozenset[Permission]:
    """The permissions with these names. ValueError for an unknown name."""
    return frozenset(map(Permission, names))


def in_order(permissions: Collection[str]) -> list[str]:
    """The names of the permissions, in the order of the table."""
    return [one.value for one in Permission if one in permissions]


def lacking(needed: frozenset[Permission], held: frozenset[Permission]) -> list[str]:
    """The names of needed permissions that are missing, in the order of the table."""
    return in_order(needed - held)


def remedy(needed: frozenset[Permission], role: Role, *, asked_by: str = "") -> str:
    """Advice about a missing permission, for a person with that role, or for an agent in a turn
    that somebody with that role started."""
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
    """The sentence about the rule that a list of permission names breaks; "" if it breaks none."""
    known = in_order(tuple(Permission))
    unknown = [name for name in names if name not in known]
    if unknown:
        return f"There is no permission {unknown[0]!r}; there are {', '.join(known)}."
    for permission, base in NEEDS.items():
        if permission in names and base not in names:
            return f"{permission} needs {base} too."
    return ""
