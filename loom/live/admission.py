"""The admission of a socket to a stream: by API key, or by cookie from a listed Origin."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qs

from django.conf import settings

from loom import access, permissions
from loom.engine import streams
from loom.errors import CommandError
from loom.live import kinds
from loom.live.rechecks import Pass
from loom.people.models import ApiKey, User
from loom.people.sessions import signed_in_by
from loom.platform import request_log
from loom.text.hashes import digest

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

    @property
    def reason(self) -> str | None:
        """What the close frame says, which a client of binary frames can read too."""
        return self.refused.message if self.refused is not None else None


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
    signed_in = signed_in_by("; ".join(headers.get("cookie", [])))
    if signed_in is None:
        raise SocketRefused(4401)
    user, session = signed_in
    return user, {"session_key": session.session_key, "password": user.password}


def _who(headers: dict[str, list[str]]) -> tuple[User, dict[str, Any]]:
    given = headers.get("authorization", [])
    if given:
        return _by_key(given[0])
    return _by_cookie(headers)


def _since(scope: SocketScope) -> int:
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    given = query.get("since", [""])
    if given == [""]:
        return 0
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
