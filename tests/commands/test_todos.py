"""Tasks of a workspace: the machine, order, notes, limits, and who sees them."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import User
from loom.trees.commands import node_writer
from loom.trees.models import Tree
from loom.workspace.commands import tasks
from loom.workspace.models import Task
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
Say = Callable[[str], str]


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Say:
    return lambda line: execute_line(actor, tree, Request(line)).reply


def refusal(say: Say, line: str) -> CommandError:
    with pytest.raises(CommandError) as caught:
        say(line)
    return caught.value


def listed(actor: Actor, tree: Tree, client: APIClient) -> list[dict[str, Any]]:
    workspace = node_writer.workspace_of(actor.participant, tree)
    body = client.get(f"/api/workspaces/{workspace.uid}/tasks").json()
    assert client.get(f"/api/workspaces/{workspace.uid}").json()["tasks"] == body["results"]
    assert body["count"] == len(body["results"])
    return list(body["results"])


def test_tasks_are_added_in_order_and_listed(
    say: Say, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    assert say("todo") == 'there are no tasks; → todo add "…" adds one'
    assert say('todo add "Read the end" "Ask Ada"') == "✓ added t1 t2"
    assert say('todo add "First of all" at:1') == "✓ added t3"
    assert say('todo add "Last" at:99') == "✓ added t4"
    assert (
        say("todo list") == "t3 [ ] First of all\nt1 [ ] Read the end\nt2 [ ] Ask Ada\nt4 [ ] Last"
    )
    rows = listed(actor, tree, api(owner))
    assert [(row["ref"], row["text"], row["place"]) for row in rows] == [
        ("t3", "First of all", 1),
        ("t1", "Read the end", 2),
        ("t2", "Ask Ada", 3),
        ("t4", "Last", 4),
    ]


def test_the_machine_of_a_task(
    say: Say, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    say('todo add "one" "two" "three"')
    assert say("todo toggle t1 t2") == "✓ t1 [x] · t2 [x]"
    assert say("todo toggle t1") == "✓ t1 [ ]"
    assert say("todo done t1 t1") == "✓ done t1"
    assert say("todo archive t2") == "✓ archived t2"
    assert say('todo note t2 "Kept for later."') == "✓ noted on t2"
    bad = refusal(say, "todo toggle t2")
    assert (bad.code, bad.message) == (
        "REJECTED",
        "t2 is archived; an archived task can't be changed.",
    )
    assert refusal(say, "todo done t3 t2").code == "REJECTED"
    assert say("todo") == "t1 [x] one\nt3 [ ] three\nt2 [-] two\n  note: Kept for later."
    states = {task["ref"]: task["state"] for task in listed(actor, tree, api(owner))}
    assert states == {"t1": "checked", "t3": "unchecked", "t2": "archived"}
    assert say("todo remove t3") == "✓ removed t3"
    assert refusal(say, "todo toggle t3").code == "NOT_FOUND"
    assert say("todo clear") == "✓ removed t1 t2"
    assert refusal(say, "todo clear").code == "REJECTED"
    assert say('todo add "again"') == "✓ added t4"  # numbers are not used again


@given(words=st.lists(st.sampled_from(["toggle", "done", "archive"]), max_size=12))
@settings(deadline=None)
@pytest.mark.django_db(transaction=False)
def test_an_archived_task_stays_archived(words: list[str]) -> None:
    task = Task(number=1, text="x")
    for word in words:
        was = task.state
        try:
            task.state = tasks.after(task, word)
        except CommandError as refused:
            assert (was, refused.code) == ("archived", "REJECTED")
        assert was != "archived" or task.state == "archived"


def test_bad_tasks_are_refused_and_nothing_is_stored(say: Say) -> None:
    for line in ('todo add ""', 'todo add "  "', f'todo add "{"a" * 2001}"', 'todo add "a" at:0'):
        assert refusal(say, line).code == "INVALID_SYNTAX"
    assert refusal(say, "todo toggle t9").code == "NOT_FOUND"
    assert not Task.objects.exists()
    say('todo add "one"')
    assert refusal(say, 'annotate t1 "x"').code == "REJECTED"
    for _ in range(19):
        say("todo add" + ' "x"' * 10)
    assert refusal(say, "todo add" + ' "x"' * 10).code == "LIMIT_EXCEEDED"
    assert Task.objects.count() == 191


def test_each_change_is_one_event_and_one_revision(say: Say, actor: Actor, tree: Tree) -> None:
    workspace = node_writer.workspace_of(actor.participant, tree)
    say('todo add "a secret of mine" "two"')
    say("todo toggle t1 t2")
    workspace.refresh_from_db()
    assert workspace.revision == 2
    events = Event.objects.filter(kind__startswith="task.").order_by("seq")
    assert [
        (event.kind, [task["number"] for task in event.payload["tasks"]]) for event in events
    ] == [
        ("task.added", [1, 2]),
        ("task.changed", [1, 2]),
    ]
    assert "secret" not in str([event.payload for event in events])


def test_tasks_added_at_once_have_numbers_of_their_own(say: Say) -> None:
    def add() -> None:
        try:
            say('todo add "x"')
        finally:
            connections.close_all()

    say('todo add "x"')
    threads = [threading.Thread(target=add) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = Task.objects.order_by("number").values_list("number", "place")
    assert list(rows) == [(n, n) for n in range(1, 8)]


def test_tasks_are_seen_by_their_person_only(two_groves: TwoGroves) -> None:
    right = two_groves.right
    assert right.run(two_groves.only_right, f'todo add "{SECRET}"') == "✓ added t1"
    mine = node_writer.workspace_of(right.actor(two_groves.only_right).participant, right.tree)
    for user, status in (
        (two_groves.only_right, 200),
        (two_groves.both, 404),
        (two_groves.only_left, 404),
        (two_groves.nobody, 404),
    ):
        answer = two_groves.client(user).get(f"/api/workspaces/{mine.uid}/tasks")
        assert (answer.status_code, SECRET in answer.content.decode()) == (status, status == 200)
    assert right.run(two_groves.both, "todo") == 'there are no tasks; → todo add "…" adds one'


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("todo delete t1", "→ todo remove t1"),
        ("todo drop t1 t2", "→ todo remove t1 t2"),
        ("delete t1", "→ todo remove t1"),
        ("remove the task t1", "→ todo remove t1"),
        ("todo check t1", "→ todo done t1"),
        ("please expand supports of a7x2", "→ expand supports of a7x2"),
        ("expand the supports of the node a7x2", "→ expand supports of a7x2"),
        ("please expand supports [of a7x2]", "→ expand supports of a7x2"),
    ],
)
def test_words_of_other_programs_are_answered_with_the_line_to_write(
    say: Say, line: str, meant: str
) -> None:
    assert refusal(say, line).hint == f"write {meant}"
