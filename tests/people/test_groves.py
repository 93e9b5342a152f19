"""Groves, members and roles: events, sockets, and the last owner."""

from typing import Any

import pytest

from loom.access import Actor, first_grove, get_actor, visible_groves
from loom.engine import announcements
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import Grove, Membership, Participant, User
from tests.conftest import join
from tests.people.conftest import AtOnce

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was announced to sockets."""
    told: list[Any] = []
    monkeypatch.setattr(
        announcements, "send", lambda stream, message: told.append((stream, message))
    )
    return told


def kinds(grove: Grove) -> list[str]:
    """The kinds of the grove's events, in order."""
    rows = Event.objects.filter(stream__name=f"grove:{grove.uid}").order_by("seq")
    return list(rows.values_list("kind", flat=True))


def test_a_grove_is_its_makers(outsider: User) -> None:
    grove = groves.make_grove(outsider, "  Wood ")
    actor = get_actor(outsider, grove)
    assert (actor.role, grove.name) == ("owner", "  Wood ")
    events = Event.objects.filter(stream__name=f"grove:{grove.uid}")
    assert [(event.kind, event.actor) for event in events] == [
        ("grove.created", actor.participant.uid),
        ("member.added", actor.participant.uid),
    ]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\0", "a\u2028b", "x" * 201])
def test_a_name_is_one_line(name: str, outsider: User) -> None:
    with pytest.raises(CommandError) as refused:
        groves.make_grove(outsider, name)
    assert refused.value.code == "INVALID_SYNTAX"


@pytest.mark.parametrize(
    "settings",
    [
        {"colour": 1},
        {"daily_budget_usd": -1},
        {"daily_budget_usd": True},
        {"daily_budget_usd": "1"},
        {"daily_budget_usd": 1e12},
        {"tag_colours": []},
        {"tag_colours": {"a": 1}},
        {"tag_colours": {"a" * 41: "red"}},
    ],
)
def test_settings_are_a_closed_list(settings: dict[str, Any], actor: Actor) -> None:
    with pytest.raises(CommandError):
        groves.change_grove(actor, settings=settings)
    assert Grove.objects.get(pk=actor.grove.pk).settings == {}


def test_settings_that_are_not_sent_stay_and_no_change_is_not_an_event(actor: Actor) -> None:
    groves.change_grove(actor, settings={"daily_budget_usd": 2})
    groves.change_grove(actor, settings={"tag_colours": {"draft": "amber"}})
    changed = groves.change_grove(actor, name=actor.grove.name, settings={"daily_budget_usd": 2})
    assert changed.settings == {"daily_budget_usd": 2, "tag_colours": {"draft": "amber"}}
    assert kinds(actor.grove) == ["grove.changed"] * 2


def test_a_new_member_is_a_participant_with_a_name_of_their_own(actor: Actor) -> None:
    Participant.objects.create(grove=actor.grove, kind="model", name="Ångström")
    Participant.objects.create(grove=actor.grove, kind="model", name="ångström 2")
    people.make_user("ångström")
    member = groves.add_member(actor, "ångström", "writer")
    assert member.participant.name == "ångström 3"


def test_the_first_grove_stays_the_first_for_who_is_invited_elsewhere(
    actor: Actor, outsider: User
) -> None:
    own = first_grove(outsider)
    groves.add_member(actor, "outsider", "reader")
    assert actor.grove.pk < own.pk
    assert first_grove(outsider) == own
    assert list(visible_groves(outsider)) == [own, actor.grove]


def test_whoever_comes_back_is_who_they_were(actor: Actor, writer: User) -> None:
    person = Participant.objects.get(user=writer)
    groves.remove_member(actor, "writer")
    person.refresh_from_db()
    assert person.archived_at is not None
    again = groves.add_member(actor, "WRITER", "reader")
    assert again.participant == person and again.participant.archived_at is None


def test_whoever_comes_back_has_the_name_that_they_have_now(actor: Actor) -> None:
    user = people.make_user("ada", display_name="Ada")
    groves.add_member(actor, "ada", "writer")
    groves.remove_member(actor, "ada")
    groves.show_as(user, name="Countess")
    assert groves.add_member(actor, "ada", "writer").participant.name == "Countess"
    added = Event.objects.filter(kind="member.added").latest("seq")
    assert added.payload["member"]["name"] == "Countess"


def test_the_name_of_whoever_comes_back_is_free(actor: Actor) -> None:
    user = people.make_user("ada", display_name="Ada")
    groves.add_member(actor, "ada", "writer")
    groves.remove_member(actor, "ada")
    Participant.objects.create(grove=actor.grove, kind="model", name="Countess")
    groves.show_as(user, name="Countess")
    assert groves.add_member(actor, "ada", "writer").participant.name == "Countess 2"


def test_a_change_of_role_reaches_sockets_after_commit(
    actor: Actor, writer: User, sent: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        groves.change_role(actor, "writer", "reader")
        assert sent == []
    stream = f"grove:{actor.grove.uid}"
    told = {"type": "access", "grove": actor.grove.uid, "user": writer.pk}
    assert (stream, told) in sent
    sent.clear()
    with django_capture_on_commit_callbacks(execute=True):
        groves.remove_member(actor, "writer")
    assert (stream, told) in sent
    assert kinds(actor.grove) == ["member.changed", "member.removed"]


def test_the_last_owner_stays(actor: Actor, writer: User) -> None:
    for run in (
        lambda: groves.change_role(actor, "owner", "writer"),
        lambda: groves.remove_member(actor, "owner"),
    ):
        with pytest.raises(CommandError) as refused:
            run()
        assert refused.value.code == "REJECTED"
    groves.change_role(actor, "writer", "owner")
    groves.remove_member(actor, "owner")
    with pytest.raises(CommandError) as refused:
        groves.change_role(actor, "writer", "reader")
    assert refused.value.code == "NOT_FOUND"  # who gave the line is no member any more


def test_the_same_role_again_is_not_an_event(actor: Actor, writer: User) -> None:
    groves.change_role(actor, "writer", "writer")
    assert kinds(actor.grove) == []


@pytest.mark.parametrize("name", ["nobody", "outsider", "\0", ""])
def test_only_members_can_be_changed(name: str, actor: Actor, outsider: User) -> None:
    with pytest.raises(CommandError) as refused:
        groves.change_role(actor, name, "reader")
    assert refused.value.code == "NOT_FOUND"


def test_two_owners_cannot_leave_a_grove_without_one(
    at_once: AtOnce, actor: Actor, grove: Grove
) -> None:
    other = people.make_user("second")
    join(grove, other, "owner")
    second = get_actor(other, grove)
    outcomes = at_once(
        lambda: groves.change_role(actor, "second", "reader"),
        lambda: groves.change_role(second, "owner", "reader"),
    )
    assert Membership.objects.filter(grove=grove, role="owner").count() == 1
    assert "PERMISSION_DENIED" in outcomes
    assert kinds(grove) == ["member.changed"]


def test_a_user_is_added_once(at_once: AtOnce, actor: Actor, outsider: User) -> None:
    outcomes = at_once(*[lambda: groves.add_member(actor, "outsider", "reader")] * 3)
    assert outcomes.count("CONFLICT") == 2
    assert kinds(actor.grove) == ["member.added"]
