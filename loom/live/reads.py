"""Database reads for sockets, and the threads that run them; and the admission of a socket to a
stream: by API key, or by cookie from a listed Origin."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, ParamSpec, Protocol, TypeVar, cast
from urllib.parse import parse_qs
from weakref import WeakKeyDictionary

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet, Subquery
from django.http import HttpRequest, parse_cookie
from django.utils import timezone
from django.utils.module_loading import import_string

from loom import access, permissions
from loom.engine import streams
from loom.engine.models import Event, Stream
from loom.errors import CommandError
from loom.live import frames, kinds
from loom.live.frames import EventFrame
from loom.live.to_render import ToRender, changed_by
from loom.people.models import ApiKey, User
from loom.permissions import ROLES, Role, Scope, limited, right_in_tree, role_in_tree
from loom.platform import request_log
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.hashes import digest
from loom.trees.models import Node
from loom.trees.queries import event_log
from loom.trees.queries.lookup import fetch, listed
from loom.turns.models import Generation

P = ParamSpec("P")
T = TypeVar("T")

COUNT = 2  # two, so that reading a long log does not delay new events


class ReadThreads:
    """Runs the functions below. They only read, so a failed one is not retried here."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(COUNT, "live", initializer=self._enter)
        self._connections: list[BaseDatabaseWrapper] = []

    async def read(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The return value of the function. A connection that failed is opened again next time."""

        def run() -> T:
            try:
                return function(*args, **kwargs)
            except Error:
                connection.close()
                raise

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    async def close(self) -> None:
        """Ends the threads after their current reads, and closes their connections."""
        await asyncio.to_thread(self._leave)  # Django refuses this on the loop's thread

    def _leave(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        for opened in self._connections:
            opened.close()

    def _enter(self) -> None:
        # They are closed from another thread than their own.
        connection.inc_thread_sharing()
        self._connections.append(connections[DEFAULT_DB_ALIAS])


class PerLoop(Generic[T]):
    """Returns the one object of the running event loop, made by `make` on first use. A process has
    one loop, so there is one object in each process."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def __call__(self) -> T:
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            self._made[loop] = self._make()
        return self._made[loop]


# Database reads for sockets. Synchronous; each call makes a few short queries.


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


PAGE = 200  # events that are read at once

_STREAM = Stream.objects.filter(name=Given("stream")).values("pk")
# Of one stream, which a join hides: PostgreSQL would sort all that came since.
_AFTER = PreparedQuery(
    lambda: (
        Event.objects.filter(stream=Subquery(_STREAM), seq__gt=Given("seq"))
        .order_by("seq")
        .values_list("seq", "kind", "actor", "origin", "payload", "at")[:PAGE]
    )
)
_MEMBERS = """SELECT m.user_id, m.grove_id, m.role, u.password
    FROM people_membership m JOIN people_user u ON u.id = m.user_id
    WHERE u.is_active AND m.user_id IN ({users}) AND m.grove_id IN ({groves})"""


# The rights in these trees: of each role, and of those of these people who have one of their own.
_RIGHTS = """SELECT t.id, t.reader_right, t.writer_right, r.user_id, r.right
    FROM trees_tree t
    LEFT JOIN trees_treeright r ON r.tree_id = t.id AND r.user_id IN ({users})
    WHERE t.id IN ({trees}) AND t.erasing_at IS NULL"""


def entries_after(stream: str, seq: int, limit: int) -> list[EventFrame]:
    """The next events of a stream, at most PAGE of them, rendered; in order. Two queries:
    the texts of nodes take a second one."""
    rows = _AFTER.all(stream=stream, seq=seq)
    bodies = event_log.hydrated([event_log.event_body(*row) for row in rows[:limit]])
    return [_entry(body) for body in bodies]


def _entry(body: event_log.Body) -> EventFrame:
    seq, kind = body["seq"], body["kind"]
    hidden_from = frozenset(role for role in ROLES if event_log.is_hidden(kind, role))
    hidden = frames.event(event_log.hidden_body(seq)) if hidden_from else ""
    changed = changed_by(kind, body["payload"])
    return EventFrame(seq, kind, frames.event(body), hidden, hidden_from, changed)


def drawn(tree_uid: str, changed: ToRender, languages: frozenset[str]) -> dict[str, dict[str, Any]]:
    """The changed parts of a tree, rendered once in each language by the function that DRAWING
    names, so that pages and sockets do not depend on each other."""
    parts: dict[str, dict[str, Any]] = import_string(settings.DRAWING)(
        tree_uid,
        languages,
        near=changed.near,
        only=changed.only,
        points=changed.points,
        generations=changed.generations,
        turns=changed.turns,
    )
    return parts


def heads(streams: Iterable[str]) -> dict[str, int]:
    """The last seq of each stream that has events; one query."""
    return dict(Stream.objects.filter(name__in=list(streams)).values_list("name", "head"))


def running(tree_uid: str) -> list[tuple[str, int, str]]:
    """Uid, chunk and text of the running generations of a tree."""
    rows = Generation.objects.filter(tree__uid=tree_uid, ended_at__isnull=True)
    return list(rows.order_by("id").values_list("uid", "chunk", "text"))


def reached(tree_uids: Iterable[str]) -> list[tuple[str, str, int]]:
    """Tree, uid and chunk of the running generations of trees that have a text; one query."""
    going = Generation.objects.filter(ended_at__isnull=True, status="running", chunk__gt=0)
    rows = going.filter(tree__uid__in=list(tree_uids)).order_by()
    return list(rows.values_list("tree__uid", "uid", "chunk"))


def partial(generation_uid: str) -> tuple[int, str] | None:
    """Chunk and text of one generation; None if it has ended or never existed."""
    rows = Generation.objects.filter(uid=generation_uid, status__in=("queued", "running"))
    return rows.values_list("chunk", "text").first()


def node_exists(tree_id: int, local_id: str) -> bool:
    """Whether the tree has a node of this id."""
    return Node.objects.filter(tree_id=tree_id, local_id=local_id.lower()).exists()


def news(
    stream: str, seq: int, limit: int, passes: set[Pass]
) -> tuple[list[EventFrame], dict[Pass, Verdict]]:
    """The next events, and who may still receive them, read after the events so that a member who
    was removed before one of them does not get it. Two queries, three for a tree."""
    entries = entries_after(stream, seq, limit)
    return entries, memberships(passes) if entries else {}


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


SocketScope = Mapping[str, Any]
MAX_SEQ = 2**63 - 1


@dataclass(frozen=True)
class Guest:
    """A user who may listen: to which stream, from which seq, with which role."""

    stream: str
    groves: str  # the stream of the grove, where changes of roles are announced
    since: int
    participant: str
    role: str
    ticket: Pass
    tree_uid: str  # "" in a grove's or workspace's stream
    name: str = ""  # of the participant
    drawn: str = ""  # the language in which it wants what changed drawn; "": not at all
    drawn_in: str = ""  # the tree of it


class SocketRefused(Exception):
    """The socket is closed with `code`; `refused`, if given, is sent before that."""

    def __init__(self, code: int, refused: CommandError | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.refused = refused


def _headers(scope: SocketScope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _by_key(given: str) -> tuple[User, dict[str, Any]]:
    scheme, _, key = given.partition(" ")
    rows = ApiKey.objects.select_related("user").filter(revoked_at__isnull=True)
    row = rows.filter(digest=digest(key.strip()), user__is_active=True).first()
    if scheme.lower() != "bearer" or row is None or row.is_over:
        raise SocketRefused(4401)
    row.user.scope = cast(permissions.Scope, row.scope)
    request_log.name_account(row.user.pk)
    return row.user, {"key_id": row.pk, "scope": row.user.scope}


def _by_cookie(headers: dict[str, list[str]]) -> tuple[User, dict[str, Any]]:
    # A browser sends the cookie from any page: only the Origin identifies the page.
    origins = headers.get("origin", [])
    if len(origins) != 1 or origins[0] not in settings.ORIGINS:
        raise SocketRefused(4401)
    cookies = parse_cookie("; ".join(headers.get("cookie", [])))
    session = SessionStore(cookies.get(settings.SESSION_COOKIE_NAME, ""))
    user = get_user(cast(HttpRequest, SimpleNamespace(session=session)))
    if not isinstance(user, User) or not user.is_active:
        raise SocketRefused(4401)
    return user, {"session_key": session.session_key, "password": user.password}


def _who(headers: dict[str, list[str]]) -> tuple[User, dict[str, Any]]:
    given = headers.get("authorization", [])
    if given:
        return _by_key(given[0])
    return _by_cookie(headers)


def _since(scope: SocketScope) -> int:
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    given = query.get("since", ["0"])
    if len(given) == 1 and given[0].isascii() and given[0].isdecimal() and len(given[0]) < 20:
        return min(int(given[0]), MAX_SEQ)
    raise SocketRefused(
        4400,
        CommandError(
            "INVALID_SYNTAX", "since is not a number.", hint="Send the last seq you have, or 0."
        ),
    )


def _drawn(scope: SocketScope) -> str:
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    asked = query.get("drawn", [""])[-1]
    return asked if asked in dict(settings.LANGUAGES) else ""


def _tree(user: User, uid: str) -> tuple[access.Actor, Any]:
    return access.get_tree(user, uid)


def _grove(user: User, uid: str) -> tuple[access.Actor, Any]:
    return access.get_grove(user, uid)


def _workspace(user: User, uid: str) -> tuple[access.Actor, Any]:
    return access.get_workspace(user, uid)


_OPENERS: dict[str, kinds.Opener] = {
    "trees": _tree,
    "groves": _grove,
    "workspaces": _workspace,
}


def welcome(scope: SocketScope, kind: str, uid: str) -> Guest:
    """The guest who may listen to the item's stream. Raises SocketRefused: 4401 not signed in, 4404
    not visible or missing, 4400 for an invalid `since`."""
    user, by = _who(_headers(scope))
    special = kinds.kinds().get(kind)
    try:
        actor, item = (special.opens if special else _OPENERS[kind])(user, uid)
    except CommandError:
        raise SocketRefused(4404) from None
    tree = {"trees": item, "workspaces": getattr(item, "tree", None)}.get(kind)
    return Guest(
        stream=special.stream(item) if special else streams.name_of(item),
        groves=streams.name_of(actor.grove),
        since=_since(scope),
        participant=actor.participant.uid,
        role=actor.role,
        ticket=Pass(user.pk, actor.grove.pk, tree.pk if tree else None, **by),
        tree_uid=tree.uid if tree is not None and kind == "trees" else "",
        name=actor.participant.name,
        drawn=_drawn(scope) if tree is not None else "",
        drawn_in=tree.uid if tree is not None else "",
    )
