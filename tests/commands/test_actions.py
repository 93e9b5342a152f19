"""Commands without a line: what changes groves, members, participants, trees and links."""

import hashlib
from typing import Any

import pytest
from django.apps import apps
from django.core import serializers

from loom.access import Actor, get_actor
from loom.engine import command_reference, registry, streams
from loom.engine.actions import actions
from loom.engine.execute import execute
from loom.engine.models import Event, Step
from loom.engine.recorded_arguments import recorded
from loom.errors import CommandError
from loom.participants import commands as participants
from loom.participants.commands import ParticipantChangeArgs
from loom.people.commands import groves
from loom.people.models import Grove, User
from loom.trees.commands import public_links, trees
from loom.trees.commands.trees import NewTree
from loom.trees.models import Tree
from tests.conftest import join, make_user

SECRET_KEY = "sk-a-key-that-nobody-may-read"


@pytest.fixture
def boss(grove: Grove, owner: User) -> Actor:
    """The owner of the grove."""
    return get_actor(owner, grove)


def _steps(item: Grove | Tree) -> list[Step]:
    return list(Step.objects.filter(stream=streams.name_of(item), workspace=None).order_by("seq"))


def _rows() -> dict[str, int]:
    kinds: list[Any] = [kind for kind in apps.get_models() if "loom." in kind.__module__]
    return {kind.__name__: kind.objects.count() for kind in kinds}


def test_every_action_says_what_it_does_and_none_can_be_typed() -> None:
    assert {"make_grove", "start_turn", "write_document"} <= set(actions())
    assert all(action.summary for action in actions().values())
    assert not set(actions()) & {*registry.verbs(), *registry.aliases()}
    assert not any(name in command_reference.reference() for name in actions())


def test_each_change_of_a_grove_leaves_one_numbered_step(boss: Actor) -> None:
    make_user("cleo")
    groves.change_grove(boss, settings={"daily_budget_usd": 3})
    groves.add_member(boss, "cleo", "reader")
    groves.change_role(boss, "cleo", "writer")
    groves.remove_member(boss, "cleo")
    fields = {"name": "Muse", "model_ref": "openai:gpt-5"}
    muse = participants.make_participant(boss, ParticipantChangeArgs(fields=fields))
    participants.archive_participant(boss, muse)
    invitation = groves.make_invitation(boss, role="reader", days=1, uses=1)[0]
    groves.revoke_invitation(boss, invitation.uid)
    steps = _steps(boss.grove)
    assert [(step.seq, step.canonical, step.outcome) for step in steps] == [
        (1, "change_grove", "ok"),
        (2, "add_member", "ok"),
        (3, "change_member", "ok"),
        (4, "remove_member", "ok"),
        (5, "make_participant", "ok"),
        (6, "archive_participant", "ok"),
        (7, "make_invitation", "ok"),
        (8, "revoke_invitation", "ok"),
    ]
    assert {step.actor for step in steps} == {boss.participant}
    assert steps[2].arguments == {"user": "cleo", "role": "writer"}
    assert steps[5].arguments == {"participant": muse.uid}
    # Each step names the events that it made, and no event is without a step.
    events = Event.objects.filter(stream__name=streams.name_of(boss.grove)).order_by("seq")
    assert [seq for step in steps for seq in step.events] == [event.seq for event in events]


def test_trees_and_their_public_links_have_their_steps_in_the_log_of_the_tree(boss: Actor) -> None:
    tree = trees.make_tree(boss, NewTree(title="A", mode="buffer"))
    trees.change_tree(boss, tree, {"title": "B"})
    link = public_links.make_public_link(boss, tree, days=1)[0]
    public_links.revoke_public_link(boss, tree, link.uid)
    trees.change_tree(boss, tree, {"archived": True})
    assert [step.canonical for step in _steps(tree)] == [
        "make_tree",
        "change_tree",
        "make_public_link",
        "revoke_public_link",
        "change_tree",
    ]
    trees.erase(boss, tree, "B")
    assert [step.canonical for step in _steps(boss.grove)] == ["erase_tree"]


def test_whoever_becomes_a_member_is_the_author_of_the_step(boss: Actor) -> None:
    secret = groves.make_invitation(boss, role="writer", days=1, uses=1)[1]
    member = groves.accept(secret, username="nadja", password="a long password 77")
    founded = groves.make_grove(member.user, "Hers")
    groves.join(founded, make_user("otto"), "reader")
    assert [step.actor for step in _steps(boss.grove)] == [boss.participant, member.participant]
    assert [(step.canonical, step.actor.name) for step in _steps(founded)] == [
        ("make_grove", "nadja"),
        ("join_grove", "otto"),
    ]


def test_a_refusal_of_a_member_changes_nothing_but_the_log_of_steps(
    boss: Actor, grove: Grove
) -> None:
    reader = make_user("rita")
    join(grove, reader, "reader")
    before = _rows()
    with pytest.raises(CommandError) as refused:
        groves.change_grove(get_actor(reader, grove), name="Mine")
    assert refused.value.code == "PERMISSION_DENIED"
    with pytest.raises(CommandError):
        groves.change_role(boss, boss.user.username, "reader")  # the last owner stays one
    assert [(step.seq, step.canonical, step.outcome) for step in _steps(grove)] == [
        (1, "change_grove", "PERMISSION_DENIED"),
        (2, "change_member", "REJECTED"),
    ]
    assert _rows() == {**before, "Step": before["Step"] + 2}
    grove.refresh_from_db()
    assert grove.name == "The grove"


def test_the_role_counts_that_holds_under_the_lock(boss: Actor, grove: Grove) -> None:
    """An actor is as old as the request; the role may have been taken away since."""
    other = make_user("olga")
    join(grove, other, "owner")
    stale = get_actor(other, grove)
    groves.change_role(boss, "olga", "reader")
    with pytest.raises(CommandError) as refused:
        groves.change_grove(stale, name="Mine")
    assert refused.value.code == "PERMISSION_DENIED"


def test_an_outsider_leaves_no_step(boss: Actor, outsider: User) -> None:
    elsewhere = boss.__class__(
        boss.participant, boss.participant, outsider, boss.grove, "owner", boss.permissions
    )
    before = _rows()
    with pytest.raises(CommandError) as refused:
        groves.change_grove(elsewhere, name="Mine")
    assert refused.value.code == "NOT_FOUND"
    assert _rows() == before


def test_no_secret_is_in_any_step(boss: Actor) -> None:
    fields = {"name": "Muse", "model_ref": "openai:gpt-5", "base_url": "https://api.openai.com/v1"}
    muse = participants.make_participant(
        boss, ParticipantChangeArgs(fields=fields, api_key=SECRET_KEY)
    )
    participants.change_participant(boss, muse, ParticipantChangeArgs(api_key=SECRET_KEY + "-two"))
    secret = groves.make_invitation(boss, role="writer", days=1, uses=2)[1]
    groves.accept(secret, username="nadja", password="a long password 77")
    with pytest.raises(CommandError):
        groves.accept(secret, username="nadja", password="a long password 78")
    tree = trees.make_tree(boss, NewTree(title="A"))
    link = public_links.make_public_link(boss, tree, days=1)[1]
    kept = serializers.serialize("json", Step.objects.all())
    assert "make_participant" in kept
    for private in (SECRET_KEY, secret, "a long password", link):
        assert private not in kept


def test_a_step_keeps_the_start_and_the_hash_of_a_long_text(boss: Actor) -> None:
    text = "In the beginning. " * 1000
    tree = trees.make_tree(boss, NewTree(title="A", system_context=text))
    (step,) = _steps(tree)
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert step.arguments == {
        "title": "A",
        "system_context": {"start": text[:200], "length": len(text), "sha256": digest},
    }
    assert len(str(step.arguments)) < 500


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (NewTree(title="a\0b\ud800"), {"title": "a�b?"}),
        (groves.InvitationArgs(role="reader", days=float("nan"), uses=1), {"days": "nan"}),
        (groves.GroveChanges(settings={"tag_colours": {"a": "b"}}), {}),
        (groves.GroveChanges(settings={"a\0\ud800": 1}), {"settings": {"a�?": 1}}),
    ],
)
def test_what_a_step_keeps_is_json(given: Any, kept: dict[str, Any]) -> None:
    assert kept.items() <= recorded(given).items()


def test_an_action_for_members_needs_one(grove: Grove) -> None:
    with pytest.raises(RuntimeError):
        execute(None, grove, actions()["change_grove"], groves.GroveChanges(name="A"))
