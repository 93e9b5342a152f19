"""Random lines by two people: rows stay whole, and events tell all of it."""

from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import Grove, Participant, User
from loom.text import hashes
from loom.trees.commands import trees
from loom.trees.commands.node_writer import proof_of
from loom.trees.models import Node, Tree
from tests.machines.replay import replayed, stored
from tests.thorough import tries

pytestmark = pytest.mark.django_db

TEXTS = st.sampled_from(["a", "ab", "abc", " b\n", "→ prune root", "ü🙂", "x" * 40])
PICK = st.integers(0, 6)
PERSON = st.booleans()
LINES = st.sampled_from(
    [
        "prune {a}",
        "restore {a}",
        "prune {a} version",
        "restore {a} version",
        "exclude {a}",
        "include {a}",
        "split {a} at:1",
        "link {a} to {b}",
        "unlink {a} to {b}",
        'bookmark {a} "m"',
        "unbookmark {a}",
        "tag {a} #t",
        "untag {a} #t",
        "resolve {a}",
        "switch to {a}",
        "continue from {a} n:2",
        "undo",
        "undo n:3",
        "redo",
        "view {a}",
    ]
)


class Loom(RuleBasedStateMachine):
    """Lines by two people in one tree; few ids, so that they collide."""

    people: tuple[Actor, Actor]
    tree: Tree

    def __init__(self) -> None:
        super().__init__()
        self.point = transaction.savepoint()
        self.tree = trees.new_tree(self.people[0], mode="buffer")

    def say(self, person: bool, line: str, **sent: Any) -> None:
        before = (Node.objects.count(), Event.objects.count())
        try:
            execute_line(self.people[person], self.tree, Request(line, **sent))
        except CommandError as refused:
            assert refused.reply.startswith("✗ ")
            assert (Node.objects.count(), Event.objects.count()) == before

    def node(self, pick: int) -> str:
        ids = list(Node.objects.filter(tree=self.tree).order_by("-id").values_list("local_id"))
        return str(ids[pick % len(ids)][0])

    @rule(person=PERSON, below=PICK, text=TEXTS)
    def respond(self, person: bool, below: int, text: str) -> None:
        self.say(person, f"respond {self.node(below)}\n{text}\n←")

    @rule(person=PERSON, at=PICK, text=TEXTS, way=st.sampled_from(["version", "fork"]))
    def edit(self, person: bool, at: int, text: str, way: str) -> None:
        self.say(person, f"edit {self.node(at)} as:{way}\n{text}\n←")

    @rule(person=PERSON, at=PICK, text=TEXTS)
    def annotate(self, person: bool, at: int, text: str) -> None:
        self.say(person, f"annotate {self.node(at)}\n{text}\n←")

    @rule(person=PERSON, line=LINES, a=PICK, b=PICK)
    def other(self, person: bool, line: str, a: int, b: int) -> None:
        self.say(person, line.format(a=self.node(a), b=self.node(b)))

    @invariant()
    def events_tell_all(self) -> None:
        assert replayed(self.tree) == stored(self.tree)

    @invariant()
    def rows_are_whole(self) -> None:
        rows = Node.objects.filter(tree=self.tree).select_related(
            "slot", "parent_slot", "edited_from", "author"
        )
        for node in rows:
            assert node.slot.slot_id == node.slot_id
            assert node.slot.parent_slot_id == node.parent_slot_id
            assert node.depth == (node.parent_slot.depth + 1 if node.parent_slot else 0)
            assert node.hash == hashes.sha256(proof_of(node, node.author.uid))
            assert Node.objects.filter(slot=node.slot_id, version_pruned=False).exists()

    def teardown(self) -> None:
        transaction.savepoint_rollback(self.point)


def test_whatever_two_people_say_rows_and_events_agree(
    owner: User, writer: User, grove: Grove, muse: Participant
) -> None:
    class Here(Loom):
        people = (get_actor(owner, grove), get_actor(writer, grove))

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=tries(25),
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
