"""What admitted a socket, and whether that still holds: memberships, keys, sessions, passwords, and
the rights in its tree."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

from django.contrib.sessions.models import Session
from django.db.models import Q, QuerySet
from django.utils import timezone

from loom.people.models import ApiKey
from loom.permissions import Role, Scope, limited, right_in_tree, role_in_tree
from loom.trees.queries.lookup import fetch, listed

Verdict = str | int  # a role, or the code a socket is closed with


@dataclass(frozen=True)
class Pass:
    """What admitted a guest, so that it can be checked again. `password` is the hash of the
    password at that time: changing it ends sockets of browsers.
    """

    user_id: int
    grove_id: int
    tree_id: int | None
    key_id: int | None = None
    session_key: str = ""
    password: str = ""
    scope: Scope = "owner"


_MEMBERS = """SELECT m.user_id, m.grove_id, m.role, u.password
    FROM people_membership m JOIN people_user u ON u.id = m.user_id
    WHERE u.is_active AND m.user_id IN ({users}) AND m.grove_id IN ({groves})"""


# The rights in these trees: of each role, and of those of these people who have one of their own.
_RIGHTS = """SELECT t.id, t.reader_right, t.writer_right, r.user_id, r.right
    FROM trees_tree t
    LEFT JOIN trees_treeright r ON r.tree_id = t.id AND r.user_id IN ({users})
    WHERE t.id IN ({trees}) AND t.erasing_at IS NULL"""


def memberships(passes: set[Pass]) -> dict[Pass, Verdict]:
    """The current role of each pass's user, or 4404; one query, two for a tree."""
    roles, rights = _members(passes), _rights(passes)
    return {
        ticket: _limited(
            roles.get((ticket.user_id, ticket.grove_id), (4404, ""))[0], ticket, rights
        )
        for ticket in passes
    }


def verdicts_of(passes: set[Pass]) -> dict[Pass, Verdict]:
    """For each pass its current role, or the code with which its socket is closed. Checks
    memberships, keys, sessions, passwords, trees and the rights in them. At most four queries.
    """
    members = _members(passes)
    lasting = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    valid = ApiKey.objects.filter(lasting, revoked_at__isnull=True)
    keys = _those(valid, "pk", {p.key_id for p in passes})
    sessions = _those(
        Session.objects.filter(expire_date__gt=timezone.now()),
        "session_key",
        {p.session_key for p in passes},
    )
    rights = _rights(passes)

    def verdict(ticket: Pass) -> Verdict:
        role, password = members.get((ticket.user_id, ticket.grove_id), (4404, ticket.password))
        if ticket.key_id and ticket.key_id not in keys:
            return 4401
        if ticket.session_key and (
            ticket.session_key not in sessions or password != ticket.password
        ):
            return 4401
        return _limited(role, ticket, rights)

    return {ticket: verdict(ticket) for ticket in passes}


class Judged(Protocol):
    """A socket, or the member of a room: its guest, and the current role."""

    guest: Any
    role: str

    def close(self, code: int) -> None:
        """Ends it with a code that says why."""


def judge(held: Iterable[Judged], verdicts: dict[Pass, Verdict]) -> None:
    """Closes or restricts each one according to the verdicts of `verdicts_of`."""
    for member in held:
        verdict = verdicts.get(member.guest.ticket)
        if isinstance(verdict, int):
            member.close(verdict)
        elif verdict is not None:
            member.role = verdict


class Rights(NamedTuple):
    """The rights of each role in a tree, and of people who have one of their own, by user."""

    reader: str
    writer: str
    own: dict[int, str]


def _limited(verdict: Verdict, ticket: Pass, rights: dict[int, Rights]) -> Verdict:
    """The role after applying the scope of a pass's key, and the rights in its tree; 4404 if the
    tree is gone or hidden."""
    if isinstance(verdict, int):
        return verdict
    role = cast(Role, verdict)
    if not ticket.tree_id:
        return limited(role, ticket.scope)
    there = rights.get(ticket.tree_id)
    if there is None:
        return 4404
    of_role = there.reader if role == "reader" else there.writer
    right = right_in_tree(role, there.own.get(ticket.user_id, ""), of_role, "", ticket.scope)
    return 4404 if right == "hidden" else role_in_tree(role, right, ticket.scope)


def _rights(passes: set[Pass]) -> dict[int, Rights]:
    """The rights in the trees of these passes, by row id; none for a tree that is being erased. One
    query, none if no pass is for a tree."""
    trees = {ticket.tree_id for ticket in passes if ticket.tree_id}
    if not trees:
        return {}
    users = listed({ticket.user_id for ticket in passes})
    rights: dict[int, Rights] = {}
    for tree, reader, writer, user, right in fetch(
        _RIGHTS.format(users=users, trees=listed(trees))
    ):
        there = rights.setdefault(tree, Rights(reader, writer, {}))
        if user is not None:
            there.own[user] = right
    return rights


def _members(passes: set[Pass]) -> dict[tuple[int, int], tuple[Verdict, str]]:
    users, groves = (listed({getattr(p, name) for p in passes}) for name in ("user_id", "grove_id"))
    rows = fetch(_MEMBERS.format(users=users, groves=groves))
    return {(user, grove): (role, password) for user, grove, role, password in rows}


def _those(rows: QuerySet[Any], column: str, asked: set[Any]) -> set[Any]:
    """Those of the given values that still exist; no query if there are none."""
    wanted = {value for value in asked if value}
    if not wanted:
        return set()
    return set(rows.filter(**{f"{column}__in": wanted}).values_list(column, flat=True))
