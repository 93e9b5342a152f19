"""Programs that register themselves, the tokens that they get, and what is forgotten of them."""

import logging
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from agents.oauth import documents, redirects
from agents.oauth.models import (
    WRITE,
    AuthorizationCode,
    ProgramClient,
    ProgramConnection,
    RefreshToken,
)
from loom.engine.sweeps import sweeps
from loom.errors import CommandError
from loom.people import names
from loom.people.commands import accounts as people
from loom.people.models import ApiKey, User
from loom.platform.networks import network_of
from loom.platform.outside_waits import waits_outside
from loom.text.hashes import digest

ACCESS_S = 3600  # seconds that an access token is valid
UNUSED = timedelta(days=30)  # after which a connection that nobody renews ends
CODE_LASTS = timedelta(minutes=5)
READ_AGAIN = timedelta(hours=1)  # after which the document about a program is read again
MOST_URIS = 20
MOST_UNUSED = 1000  # programs that registered and that nobody has let in; the oldest make room
UNUSED_CLIENT = timedelta(days=1)
REGISTRATIONS_AN_HOUR = 30  # from one network
AT_ONCE = 200  # rows that one sweep deletes
NAMELESS = "A program without a name"
log = logging.getLogger("heddle.oauth")


class BadMetadata(Exception):
    """What is wrong with the description of a program: an error code of RFC 7591, and a
    sentence."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error, self.description = error, description


@dataclass(frozen=True)
class Metadata:
    """What a program says of itself: its name (cleaned), and where browsers may be sent back."""

    name: str
    redirect_uris: tuple[str, ...]


def metadata_of(given: Any) -> Metadata:
    """The description of a program. Raises BadMetadata."""
    if not isinstance(given, dict):
        raise BadMetadata("invalid_client_metadata", "Send a JSON object.")
    uris = given.get("redirect_uris")
    if not isinstance(uris, list) or not 1 <= len(uris) <= MOST_URIS:
        raise BadMetadata("invalid_redirect_uri", f"Send 1 to {MOST_URIS} redirect_uris.")
    for uri in uris:
        reason = redirects.why_not(uri) if isinstance(uri, str) else "It is no text."
        if reason:
            raise BadMetadata("invalid_redirect_uri", f"{str(uri)[:100]!r}: {reason}")
    name = given.get("client_name")
    cleaned = names.cleaned(name[:200], most=80) if isinstance(name, str) else ""
    return Metadata(cleaned or NAMELESS, tuple(uris))


def register(given: Any, *, address: str) -> ProgramClient:
    """Registers a program (RFC 7591), which asks from the network address `address`. Raises
    BadMetadata; CommandError LIMIT_EXCEEDED for too many from its network."""
    metadata = metadata_of(given)
    _demand_few(f"oauth:register:{digest(network_of(address))}")
    _make_room()
    return ProgramClient.objects.create(
        client_id=f"hc_{secrets.token_urlsafe(16)}",
        name=metadata.name,
        redirect_uris=list(metadata.redirect_uris),
    )


def _make_room() -> None:
    """Forgets the oldest programs that nobody has let in, so that there is room for another. To
    refuse the newest would let whoever registers many keep everybody out; one that is used at all
    is used within minutes."""
    unused = ProgramClient.objects.filter(read_at__isnull=True, connections__isnull=True)
    # What a person has just allowed is not a connection yet.
    codes = AuthorizationCode.objects.filter(client=OuterRef("pk"), used_at__isnull=True)
    unused = unused.exclude(Exists(codes)).order_by("-pk")
    oldest = list(unused.values_list("pk", flat=True)[MOST_UNUSED - 1 :][:AT_ONCE])
    if oldest:
        unused.order_by().filter(pk__in=oldest).delete()  # one may have been let in meanwhile


def _demand_few(key: str) -> None:
    try:
        cache.add(key, 0, 3600)
        count = cache.incr(key)
    except Exception:  # a broker that is down must not keep programs out
        log.warning("cannot count registrations", exc_info=True)
        return
    if count > REGISTRATIONS_AN_HOUR:
        raise CommandError(
            "LIMIT_EXCEEDED",
            "Too many programs have registered from this network.",
            hint="try again in an hour",
            retryable=True,
        )


def learn(client_id: str, user: User) -> None:
    """Reads the document about a program whose id is an address, and to which this user is asked to
    give access, if it was not read within the hour. Raises CommandError REJECTED."""
    if not documents.is_address(client_id):
        return
    rows = ProgramClient.objects.filter(client_id=client_id)
    if rows.filter(read_at__gt=timezone.now() - READ_AGAIN).exists():
        return
    try:
        with waits_outside(user.pk, "programs"):
            metadata = metadata_of(documents.read(client_id))
    except BadMetadata as bad:
        raise CommandError(
            "REJECTED",
            f"The document about this program is not valid. {bad.description}",
            hint="Ask whoever makes the program, or use an API key from Settings, Access.",
            status=400,
        ) from None
    values = {
        "name": metadata.name,
        "redirect_uris": list(metadata.redirect_uris),
        "read_at": timezone.now(),
    }
    if not rows.update(**values):
        try:
            with transaction.atomic():
                ProgramClient.objects.create(client_id=client_id, **values)
        except IntegrityError:  # somebody else was let in by it at the same moment
            rows.update(**values)


def has_let_in(user: User, client_id: str) -> bool:
    """Whether the person has let this program in, and not ended that."""
    connections = ProgramConnection.objects.filter(user=user, client__client_id=client_id)
    return connections.filter(key__revoked_at__isnull=True).exists()


def keep_code(
    code: str,
    client: ProgramClient,
    user: User,
    *,
    redirect_uri: str,
    scope: str,
    challenge: str,
    method: str,
) -> None:
    """Stores what a person allowed, until the program exchanges the code."""
    AuthorizationCode.objects.create(
        digest=digest(code),
        client=client,
        user=user,
        redirect_uri=redirect_uri,
        scope=scope,
        code_challenge=challenge,
        code_challenge_method=method,
        expires_at=timezone.now() + CODE_LASTS,
    )


def take_code(code: str, client: ProgramClient) -> AuthorizationCode | None:
    """The code, which is used up by this; None if it is unknown, over or of another program. One
    that comes twice was stolen: what was given for it ends."""
    rows = AuthorizationCode.objects.filter(digest=digest(code), client=client)
    row = rows.select_related("user", "connection").first()
    if row is None or row.expires_at <= timezone.now():
        return None
    if rows.filter(used_at__isnull=True).update(used_at=timezone.now()):
        return row
    # The first request may not have connected the program yet: without its code it will not.
    if not rows.filter(connection__isnull=True).delete()[0]:
        used = rows.select_related("connection__user", "connection__key").first()
        if used is not None and used.connection is not None:
            end(used.connection)
    return None


def connect(code: AuthorizationCode, *, access: str, refresh: str) -> ProgramConnection | None:
    """Lets a program in with these tokens; None if its code came a second time meanwhile."""
    with transaction.atomic():
        if AuthorizationCode.objects.select_for_update().filter(pk=code.pk).first() is None:
            return None
        key = ApiKey.objects.create(
            user=code.user,
            name=code.client.name,
            digest=digest(access),
            hint=access[-4:],
            scope=_scope_of_key(code.scope),
            expires_at=timezone.now() + timedelta(seconds=ACCESS_S),
            is_program=True,
        )
        connection = ProgramConnection.objects.create(
            user=code.user, client=code.client, key=key, scope=code.scope
        )
        AuthorizationCode.objects.filter(pk=code.pk).update(connection=connection)
        _keep_refresh(connection, refresh)
    return connection


def find_refresh(token: str, client: ProgramClient) -> RefreshToken | None:
    """The token that renews, if it may still be used by this program. One that comes twice was
    stolen: the connection ends."""
    rows = RefreshToken.objects.select_related("connection__user", "connection__key")
    row = rows.filter(digest=digest(token), connection__client=client).first()
    if row is None or row.is_expired or row.connection.is_over:
        return None
    if row.used_at is not None:
        end(row.connection)
        return None
    return row


def take_refresh(row: RefreshToken) -> bool:
    """Uses up a token; False if another request was first, after which the connection ends."""
    unused = RefreshToken.objects.filter(pk=row.pk, used_at__isnull=True)
    if unused.update(used_at=timezone.now()):
        return True
    end(row.connection)
    return False


def renew(connection: ProgramConnection, *, access: str, refresh: str, scope: str) -> bool:
    """Gives a program its next tokens; its last access token ends. False if the connection ended
    meanwhile."""
    with transaction.atomic():
        changed = ApiKey.objects.filter(pk=connection.key_id, revoked_at__isnull=True).update(
            digest=digest(access),
            hint=access[-4:],
            scope=_scope_of_key(scope),
            expires_at=timezone.now() + timedelta(seconds=ACCESS_S),
        )
        if changed:
            _keep_refresh(connection, refresh)
    return bool(changed)


def _scope_of_key(scope: str) -> str:
    return "write" if WRITE in scope.split() else "read"


def _keep_refresh(connection: ProgramConnection, token: str) -> None:
    RefreshToken.objects.create(
        connection=connection, digest=digest(token), expires_at=timezone.now() + UNUSED
    )


def end(connection: ProgramConnection) -> None:
    """Ends a connection: its key is revoked, and sockets that were opened with it close."""
    try:
        people.revoke_key(connection.user, connection.key.uid)
    except CommandError:
        log.debug("a connection had ended already")


@sweeps
def sweep() -> int:
    """Forgets codes and tokens that are over, programs that nobody let in for a day, and ends
    connections that nobody has renewed for 30 days. Returns how many rows went."""
    now = timezone.now()
    forgotten = 0
    for rows in (
        AuthorizationCode.objects.filter(expires_at__lt=now - CODE_LASTS),
        RefreshToken.objects.filter(expires_at__lt=now),
    ):
        old = list(rows.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
        if old:
            forgotten += rows.model.objects.filter(pk__in=old).delete()[0]
    unused = ProgramConnection.objects.filter(refresh_tokens__isnull=True, key__revoked_at=None)
    for connection in unused.select_related("user", "key")[:AT_ONCE]:
        end(connection)
    idle = ProgramClient.objects.filter(connections__isnull=True)
    idle = idle.filter(created_at__lt=now - UNUSED_CLIENT)
    idle = idle.filter(Q(read_at__isnull=True) | Q(read_at__lt=now - UNUSED_CLIENT))
    old = list(idle.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    if old:
        forgotten += ProgramClient.objects.filter(pk__in=old).delete()[0]
    return forgotten
