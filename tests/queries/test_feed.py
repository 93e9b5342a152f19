"""The log from a cursor."""

import pytest
from django.db import transaction

from loom.access import Actor, get_actor
from loom.engine import streams
from loom.engine.models import Event, Stream
from loom.people.models import Grove, User
from loom.trees.commands import node_writer
from loom.trees.models import Tree, VersionChoice
from loom.trees.queries.event_log import events_since
from loom.workspace.queries.workspace_bodies import workspace_body
from tests.queries.growing import chain, version


def test_events_come_in_order_without_gaps_after_the_cursor(actor: Actor, tree: Tree) -> None:
    chain(tree, actor.participant, "a", "b", "c")
    stream = streams.name_of(tree)
    first = events_since(actor, stream, since=0, limit=2)
    assert [event["seq"] for event in first["events"]] == [1, 2]
    assert first["head"] == 5
    rest = events_since(actor, stream, since=2)
    assert [event["seq"] for event in rest["events"]] == [3, 4, 5]
    assert rest["events"][-1]["payload"]["node"]["text"] == "c"
    assert set(rest["events"][-1]) == {"seq", "kind", "actor", "origin", "payload", "at"}
    assert events_since(actor, stream, since=5) == {"events": [], "head": 5}


def test_very_long_events_come_in_smaller_answers(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain(tree, actor.participant, "x" * 5000, "y" * 5000, "z")
    monkeypatch.setattr("loom.trees.queries.event_log.MAX_CHARACTERS", 20_000)
    stream = streams.name_of(tree)
    seqs: list[int] = []
    answers = 0
    while not seqs or seqs[-1] < 5:
        answer = events_since(actor, stream, since=seqs[-1] if seqs else 0)
        seqs += [event["seq"] for event in answer["events"]]
        answers += 1
    assert seqs == [1, 2, 3, 4, 5]
    assert answers == 2


def test_a_stream_in_which_nothing_happened_is_empty(actor: Actor) -> None:
    assert events_since(actor, "tree:nothing", since=0) == {"events": [], "head": 0}


def test_invitations_are_hidden_from_those_who_do_not_own(
    actor: Actor, grove: Grove, reader: User
) -> None:
    with transaction.atomic():
        writer = streams.lock(grove)
        writer.append("invitation.added", {"invitation": {"id": "x"}})
        writer.append("grove.changed", {"grove": grove.uid, "name": "y", "settings": {}})
        writer.flush()
    stream = streams.name_of(grove)
    seen = events_since(get_actor(reader, grove), stream, since=0)["events"]
    assert seen[0] == {"seq": 1, "kind": "hidden"}
    assert seen[1]["kind"] == "grove.changed"
    assert events_since(actor, stream, since=0)["events"][0]["kind"] == "invitation.added"
    assert Event.objects.filter(stream=Stream.objects.get(name=stream)).count() == 2


def test_a_workspace_reports_its_position_and_what_it_chose(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a")
    version(actor.participant, a, "a second")
    workspace = node_writer.workspace_of(actor.participant, tree)
    VersionChoice.objects.create(workspace=workspace, slot=a, node=a)
    workspace.position = a
    workspace.save()
    body = workspace_body(actor, workspace)
    assert body["position"] == a.local_id
    assert body["versions"] == {a.local_id: a.local_id}
    assert body["participant"] == actor.participant.uid
    assert set(body) == set(
        """id participant tree position versions revision status windows tasks scratchpad
        augments outline notifications drafts settings""".split()
    )
