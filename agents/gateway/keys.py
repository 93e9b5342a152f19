"""Keys of the gateway: made and revoked by a person, found by the secret that a program sends."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from agents.gateway.models import GatewayKey, GatewayMessage, Mode
from loom import access
from loom.engine.credentials import demands_credential
from loom.errors import CommandError, not_found
from loom.money.days import today
from loom.money.queries.allowances import left_of
from loom.participants.prices import prices_of
from loom.people.commands.groves import ends_with_membership
from loom.people.models import Grove, Membership, Participant, User
from loom.text.hashes import digest
from loom.turns.models import Turn

MOST_NAME = 80
MOST_DAYS = 3650
PREFIX = "hg_"
SEEN_EVERY = timedelta(minutes=1)  # between two notes of when a key was used
REFUSAL = "This gateway key is unknown, revoked or expired. Make one under Settings, Programs."


def make_key(
    user: User,
    participant_uid: str,
    *,
    name: str,
    mode: str = Mode.OBSERVE,
    days: int | None = None,
) -> tuple[GatewayKey, str]:
    """A new key of a person for a model participant of one of their groves, and its secret, which
    is shown only once. For writers; NOT_FOUND for outsiders."""
    actor, participant = access.get_participant(user, participant_uid)
    access.demand_role(actor, "writer")
    if participant.kind != "model" or participant.archived_at is not None:
        raise CommandError(
            "REJECTED", "A gateway key names a model participant.", hint="choose a model"
        )
    if not name.strip() or not name.isprintable() or len(name) > MOST_NAME:
        raise CommandError(
            "INVALID_SYNTAX",
            f"A key has a name of 1 to {MOST_NAME} characters.",
            hint="name it after the program that uses it",
        )
    if mode not in Mode.values or (days is not None and not 1 <= days <= MOST_DAYS):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A key's mode is observe or workspace; it lasts 1 to {MOST_DAYS} days.",
            hint="send mode observe",
        )
    secret = PREFIX + secrets.token_urlsafe(32)
    key = GatewayKey.objects.create(
        user=user,
        participant=participant,
        name=name,
        mode=mode,
        digest=digest(secret),
        hint=secret[-4:],
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )
    return key, secret


def revoke_key(user: User, uid: str) -> None:
    """Revokes a key of the person: its next request is refused, what passes is cut, and the turns
    that it started act no more."""
    rows = GatewayKey.objects.filter(user=user, uid=uid, revoked_at__isnull=True)
    if not rows.update(revoked_at=timezone.now()):
        raise not_found("This gateway key")


@ends_with_membership
def revoke_keys(member: Membership) -> None:
    """Revokes the keys of a member for the models of a grove that they leave. Otherwise programs
    that still hold one could call again once the person comes back."""
    rows = GatewayKey.objects.filter(user=member.user, participant__grove=member.grove)
    rows.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())


def keys_of(user: User) -> QuerySet[GatewayKey]:
    """The person's keys that were not revoked, the newest first. `is_member`: of the grove still;
    whoever has left it is not told what its models are called."""
    rows = GatewayKey.objects.filter(user=user, revoked_at__isnull=True)
    own = Membership.objects.filter(user=user, grove=OuterRef("participant__grove"))
    return rows.select_related("participant__grove").annotate(is_member=Exists(own))


@demands_credential
def demand_key(turn_uid: str) -> None:
    """Refuses a turn that a program started with a key that has been revoked or has expired since,
    with PERMISSION_DENIED. One query, three if such a key is over."""
    over = Q(tree__gateway_sessions__key__revoked_at__gt=F("created_at"))
    over |= Q(
        tree__gateway_sessions__key__expires_at__gt=F("created_at"),
        tree__gateway_sessions__key__expires_at__lte=timezone.now(),
    )
    turn = Turn.objects.filter(over, uid=turn_uid).order_by().first()
    # Others who start a turn in the tree of a session start it elsewhere, or by words of their own.
    if turn is None:
        return
    places = [turn.input_node_id, turn.answers_below_id]
    if GatewayMessage.objects.filter(tree=turn.tree_id, node__in=places).exists():
        raise CommandError(
            "PERMISSION_DENIED",
            "The gateway key that started this turn was revoked or has expired.",
            hint="make another under Settings, Programs",
        )


def find_actor(key: GatewayKey) -> access.Actor | None:
    """The person of a key, as a member of the grove of its model; None if the key was revoked or
    has expired, its model was archived, or the person may no longer write in the grove. At most
    one query for a key that was read with its `user` and `participant__grove`."""
    if key.is_over or key.participant.archived_at is not None:
        return None
    try:
        actor = access.get_actor(key.user, key.participant.grove)
        access.demand_role(actor, "writer")
    except CommandError:
        return None
    return actor


def is_valid(key: GatewayKey) -> bool:
    """Whether a request with this key would still be accepted, by its row as it is now; what passes
    is cut otherwise. Two queries."""
    row = _KEYS.filter(pk=key.pk).first()
    return row is not None and find_actor(row) is not None


_KEYS = GatewayKey.objects.select_related("user", "participant__grove")


@dataclass(frozen=True)
class GatewayCaller:
    """Who a program calls as: the person, as a member of the participant's grove, and the key.
    `is_used_up`: the model costs something, and today's limit of the person is used up."""

    actor: access.Actor
    key: GatewayKey
    is_used_up: bool


def find_caller(secret: str) -> GatewayCaller | None:
    """The caller with this secret; None if the key is unknown, over, or of somebody who may no
    longer write in the grove. Two queries, four if the model has a price."""
    if not secret.startswith(PREFIX) or len(secret) > 200:
        return None
    key = _KEYS.filter(digest=digest(secret)).first()
    actor = find_actor(key) if key is not None else None
    if key is None or actor is None:
        return None
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > SEEN_EVERY:
        GatewayKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return GatewayCaller(actor, key, is_used_up(key.participant, actor.participant))


def is_used_up(model: Participant, payer: Participant) -> bool:
    """Whether a model costs something and today's limit of the payer is used up."""
    if prices_of(model) is None:
        return False
    left = left_of(payer, today())
    return bool(left.limit) and left.rest == 0


def models_of(groves: Iterable[Grove]) -> list[Participant]:
    """The model participants of these groves that a key or a request may name, in order of their
    making; one query."""
    rows = Participant.objects.filter(grove__in=list(groves), kind="model", archived_at=None)
    return list(rows.select_related("grove").order_by("pk"))
