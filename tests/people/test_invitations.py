"""Invitations: used no more often than they may be, ended when they are over."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from loom.access import Actor
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.commands import groves
from loom.people.models import Invitation, Membership, User
from tests.people.conftest import AtOnce

pytestmark = pytest.mark.django_db
PASSWORD = "glade-of-birches"


def invite(actor: Actor, uses: int = 1) -> str:
    """The secret of a fresh invitation for writers."""
    return groves.make_invitation(actor, role="writer", days=1, uses=uses)[1]


def code(secret: str, **who: object) -> str:
    """The code with which accepting is refused."""
    with pytest.raises(CommandError) as refused:
        groves.accept(secret, **who)  # type: ignore[arg-type]
    return refused.value.code


def test_somebody_new_chooses_a_name_and_is_a_member(actor: Actor) -> None:
    member = groves.accept(invite(actor), username="ada", password=PASSWORD)
    assert (member.role, member.user.username, member.grove) == ("writer", "ada", actor.grove)
    assert member.user.check_password(PASSWORD)
    added = Event.objects.get(kind="member.added")
    assert added.actor == member.participant.uid
    assert added.payload["invitation"] == Invitation.objects.get().uid


def test_only_the_digest_of_its_secret_is_kept(actor: Actor) -> None:
    secret = invite(actor)
    assert secret not in str(Invitation.objects.values()) + str(Event.objects.values())


def test_it_is_used_up(actor: Actor, outsider: User) -> None:
    secret = invite(actor)
    groves.accept(secret, user=outsider)
    assert code(secret, username="ada", password=PASSWORD) == "NOT_FOUND"
    members = Membership.objects.filter(grove=actor.grove).values_list("user__username", flat=True)
    assert set(members) == {"owner", "both", "outsider"}


def test_a_refusal_uses_nothing_up(actor: Actor, outsider: User, owner: User) -> None:
    secret = invite(actor)
    assert code(secret, user=owner) == "CONFLICT"
    assert code(secret, username="OUTSIDER", password=PASSWORD) == "CONFLICT"
    assert code(secret, username="ada", password="1") == "INVALID_SYNTAX"
    assert code(secret, username="ada", password="") == "INVALID_SYNTAX"
    assert not User.objects.filter(username="ada").exists()
    assert Invitation.objects.get().uses_left == 1


def test_it_ends_when_it_is_over_or_revoked(actor: Actor, outsider: User) -> None:
    over, revoked = invite(actor), invite(actor)
    first, second = Invitation.objects.order_by("id")
    Invitation.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    groves.revoke_invitation(actor, second.uid)
    for secret in (over, revoked, "nonsense"):
        assert code(secret, user=outsider) == "NOT_FOUND"
    with pytest.raises(CommandError):
        groves.revoke_invitation(actor, second.uid)


@pytest.mark.parametrize(
    ("days", "uses", "expected"),
    [
        (0, 1, "INVALID_SYNTAX"),
        (-1, 1, "INVALID_SYNTAX"),
        (float("nan"), 1, "INVALID_SYNTAX"),
        (1, 0, "INVALID_SYNTAX"),
        (366, 1, "LIMIT_EXCEEDED"),
        (1, 1001, "LIMIT_EXCEEDED"),
    ],
)
def test_it_has_bounds(days: float, uses: int, expected: str, actor: Actor) -> None:
    with pytest.raises(CommandError) as refused:
        groves.make_invitation(actor, role="reader", days=days, uses=uses)
    assert refused.value.code == expected


def test_the_last_use_is_given_to_one(at_once: AtOnce, actor: Actor) -> None:
    for number in range(3):
        accept = partial(groves.accept, invite(actor, uses=2), password=PASSWORD)
        outcomes = at_once(*[partial(accept, username=f"ada{number}-{at}") for at in range(4)])
        assert outcomes.count("NOT_FOUND") == 2
    assert User.objects.filter(username__startswith="ada").count() == 6
    assert set(Invitation.objects.values_list("uses_left", flat=True)) == {0}
