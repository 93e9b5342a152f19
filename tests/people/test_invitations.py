"""Invitations: used no more often than they may be, ended when they are over."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from loom.access import Actor, get_actor
from loom.engine.models import Event
from loom.errors import CommandError
from loom.operations.commands import close_account, open_account
from loom.people.commands import accounts, groves
from loom.people.commands.accounts import make_user
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


@pytest.fixture
def second(actor: Actor) -> Actor:
    """Another owner, so that either can be removed or have another role."""
    user = make_user("second")
    groves.add_member(actor, "second", "owner")
    return get_actor(user, actor.grove)


def removed(actor: Actor) -> int:
    """How many invitations the events of the grove name as ended."""
    return Event.objects.filter(
        stream__name=f"grove:{actor.grove.uid}", kind="invitation.removed"
    ).count()


def test_whoever_is_removed_cannot_come_back_by_an_invitation_of_their_own(
    actor: Actor, second: Actor, outsider: User
) -> None:
    own, other = invite(second, uses=5), invite(actor)
    groves.remove_member(actor, "second")
    assert code(own, user=second.user) == code(own, user=outsider) == "NOT_FOUND"
    assert removed(actor) == 1
    assert groves.open_invitations(actor.grove).count() == 1
    groves.add_member(actor, "second", "owner")
    assert code(own, user=outsider) == "NOT_FOUND"
    assert groves.accept(other, user=outsider).role == "writer"


def test_invitations_end_when_their_maker_may_invite_no_more(
    actor: Actor, second: Actor, outsider: User
) -> None:
    secret = invite(second)
    groves.change_role(actor, "second", "writer")
    assert code(secret, user=outsider) == "NOT_FOUND"
    groves.change_role(actor, "second", "owner")
    assert code(secret, user=outsider) == "NOT_FOUND"
    assert removed(actor) == 1


def test_invitations_that_were_over_already_do_not_end_again(actor: Actor, second: Actor) -> None:
    groves.accept(invite(second), username="ada", password=PASSWORD)
    invite(second)
    Invitation.objects.filter(uses_left=1).update(expires_at=timezone.now())
    groves.remove_member(actor, "second")
    assert removed(actor) == 0


def test_invitations_end_with_the_account_of_their_maker(
    actor: Actor, second: Actor, outsider: User
) -> None:
    secret = invite(second)
    accounts.close(second.user)
    assert code(secret, user=outsider) == "NOT_FOUND"
    accounts.reopen(second.user)
    boss = User.objects.create(username="boss", is_operator=True)
    close_account(boss, "second")
    open_account(boss, "second")
    assert code(secret, user=outsider) == "NOT_FOUND"
    assert removed(actor) == 1


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
