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
# What a member may do in one tree. `comment`: read, and write notes and marks of their own.
Right = Literal["hidden", "read", "comment", "write"]
RIGHTS: tuple[Right, ...] = ("hidden", "read", "comment", "write")
# The right of each role in a tree that says nothing else.
USUAL: dict[Role, Right] = {"reader": "read", "writer": "write", "owner": "write"}
_ROLE_OF_RIGHT: dict[Right, Role] = {
    "hidden": "reader",
    "read": "reader",
    "comment": "reader",
    "write": "writer",
}
# What the right in a tree gives or takes away. All else belongs to the grove.
OF_TREE = frozenset({WRITE, GENERATE})
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


def right_in_tree(role: Role, own: str, of_role: str, usual: str, scope: Scope) -> Right:
    """The right of a member in a tree: the `own` one that they were given there, else that of
    their role there, else the `usual` one of the grove ("": none of them). Owners may do
    everything. A key never allows more than its scope."""
    if role == "owner":
        right: Right = "write"
    else:
        given = own or of_role or usual or USUAL[role]
        right = given if given in RIGHTS else "hidden"
    most: Right = "read" if scope == "read" else "write"
    return min(right, most, key=RIGHTS.index)


def role_in_tree(role: Role, right: Right, scope: Scope) -> Role:
    """The role that somebody with a role in the grove has in a tree in which they have a right."""
    return limited(role, scope) if role == "owner" else _ROLE_OF_RIGHT[right]


def permissions_in_tree(role: Role, right: Right) -> frozenset[Permission]:
    """The permissions of a member in a tree: those of their role in the grove (limited by their
    key), with what the right in the tree gives or takes away."""
    rest = OF_ROLE[role] - OF_TREE
    return rest | OF_TREE if right == "write" else rest


def named(names: Iterable[str]) -> frozenset[Permission]:
    """The permissions with these names. ValueError for an unknown name."""
    return frozenset(map(Permission, names))


def in_order(permissions: Collection[str]) -> list[str]:
    """The names of the permissions, in the order of the table."""
    return [permission.value for permission in Permission if permission in permissions]


def lacking(needed: frozenset[Permission], held: frozenset[Permission]) -> list[str]:
    """The names of needed permissions that are missing, in the order of the table."""
    return in_order(needed - held)


SCOPE_REMEDY = "use a key with the scope write"


def remedy(
    needed: frozenset[Permission],
    role: Role,
    *,
    asked_by: str = "",
    right: Right | None = None,
    held: frozenset[Permission] = frozenset(),
) -> str:
    """Advice about a missing permission, for a person with that role in the grove, or for an agent
    in a turn that somebody with that role started. In a tree: their `right` there, and the
    permissions that they have."""
    if not asked_by:
        if right == "comment":
            return "You may comment here. Ask an owner of the grove for the right to write."
        if right is not None and needed - held <= OF_TREE & OF_ROLE[role]:
            return "You may only read this tree. Ask an owner of the grove for the right to write."
        return "Ask an owner of the grove to make you a writer."
    allowed = OF_ROLE[role] if right is None else permissions_in_tree(role, right)
    if lacking(needed, allowed):
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
