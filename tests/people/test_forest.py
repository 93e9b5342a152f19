"""Trees as wholes: changed, archived, erased."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Stream
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.trees import erasing
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node, Tree, Workspace
from loom.turns.models import Generation
from tests.people.conftest import AtOnce

pytestmark = pytest.mark.django_db


def code(run: Callable[..., Any], *given: Any) -> str:
    """The code with which a call is refused."""
    with pytest.raises(CommandError) as refused:
        run(*given)
    return refused.value.code


def archived(actor: Actor, tree: Tree) -> Tree:
    """The tree, archived."""
    return trees.change_tree(actor, tree, {"archived": True})


def test_a_change_is_reported_with_what_changed_only(actor: Actor, tree: Tree) -> None:
    trees.change_tree(
        actor, tree, {"title": " x\n", "description": "", "truncation": "rollingWindow"}
    )
    row = Tree.objects.get(pk=tree.pk)
    assert (row.title, row.truncation) == (" x\n", "rollingWindow")
    changed = Event.objects.filter(kind="tree.changed")
    assert [event.payload for event in changed] == [
        {"tree": tree.uid, "title": " x\n", "truncation": "rollingWindow"}
    ]
    trees.change_tree(actor, tree, {"title": " x\n"})
    assert changed.count() == 1


def test_an_archived_tree_is_read_only_until_it_is_taken_out(actor: Actor, tree: Tree) -> None:
    archived(actor, tree)
    first = Tree.objects.get(pk=tree.pk).archived_at
    assert code(trees.change_tree, actor, tree, {"title": "x"}) == "REJECTED"
    assert code(trees.change_tree, actor, tree, {"title": "x", "archived": True}) == "REJECTED"
    assert archived(actor, tree).archived_at == first
    both = trees.change_tree(actor, tree, {"title": "x", "archived": False})
    assert (both.title, both.archived_at) == ("x", None)


def test_readers_change_no_tree(reader: User, tree: Tree) -> None:
    actor = get_actor(reader, tree.grove)
    assert code(trees.change_tree, actor, tree, {"title": "x"}) == "PERMISSION_DENIED"


def test_erasing_needs_an_archived_tree_its_title_and_an_owner(
    actor: Actor, tree: Tree, writer: User
) -> None:
    assert code(trees.erase, actor, tree, "Marie") == "REJECTED"
    archived(actor, tree)
    assert code(trees.erase, actor, tree, "marie") == "REJECTED"
    assert code(trees.erase, get_actor(writer, tree.grove), tree, "Marie") == "PERMISSION_DENIED"
    assert Tree.objects.get(pk=tree.pk).erasing_at is None


def _grown(actor: Actor, tree: Tree, muse: Participant) -> None:
    """A tree with one of everything that a tree may hold."""
    for line in (
        'respond root "one"',
        'edit here "two" as:version',
        'respond here "three" from:root as:context',
        "link here to root",
        'bookmark here "b"',
        "tag here #t",
        'annotate here "why"',
        "split here at:2",
        "prune here",
        "undo",
        "undo",
        "continue from root n:2",
    ):
        execute_line(actor, tree, Request(line, key=line))
    generation = Generation.objects.filter(tree=tree).first()
    assert generation is not None
    generation.node = Node.objects.filter(tree=tree, text="one").first()
    generation.save()


def _rows() -> dict[str, int]:
    kinds: list[Any] = [kind for kind in apps.get_models() if "loom." in kind.__module__]
    return {kind.__name__: kind.objects.count() for kind in kinds}


def test_an_erased_tree_leaves_one_event_one_step_and_who_could_read_it(
    actor: Actor, tree: Tree, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "BATCH", 3)
    monkeypatch.setattr(erasing, "NODES", 2)
    other = trees.new_tree(actor, title="Other")
    own = node_writer.workspace_of(actor.participant, other)
    before = _rows()
    doomed = trees.new_tree(actor, title="Doomed")
    _grown(actor, doomed, muse)
    # A view of another tree may stand in this one.
    Workspace.objects.filter(pk=own.pk).update(position=Node.objects.filter(tree=doomed).last())
    archived(actor, doomed)
    trees.erase(actor, doomed, "Doomed")
    assert erasing.waiting() == [doomed.uid]
    erasing.erase_rows(doomed.uid)
    erasing.erase_rows(doomed.uid)
    connection.check_constraints()
    after = _rows()
    assert after.pop("Event") == before.pop("Event") + 1
    assert after.pop("Step") == before.pop("Step") + 1  # who erased it, in the grove's log
    assert after.pop("ErasedTree") == before.pop("ErasedTree") + 1  # who could read it
    assert after == before
    assert Event.objects.get(kind="tree.erased").payload == {"tree": doomed.uid, "title": "Doomed"}
    own.refresh_from_db()
    assert own.position == Node.objects.get(tree=other)
    assert not Stream.objects.filter(erasing=True).exists()


def test_erasing_goes_on_where_it_was_stopped(
    actor: Actor, tree: Tree, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    _grown(actor, tree, muse)
    archived(actor, tree)
    trees.erase(actor, tree, "Marie")

    def stopped(tree: Tree) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(erasing, "_delete_nodes", stopped)
        erasing.erase_rows(tree.uid)
    assert Node.objects.filter(tree=tree).exists()
    erasing.erase_rows(tree.uid)
    assert not Tree.objects.filter(pk=tree.pk).exists()


def test_only_an_erased_tree_loses_rows(tree: Tree) -> None:
    erasing.erase_rows(tree.uid)
    erasing.erase_rows("nothing")
    assert Node.objects.filter(tree=tree).count() == 1


def test_a_tree_is_erased_once(at_once: AtOnce, actor: Actor, tree: Tree) -> None:
    archived(actor, tree)
    outcomes = at_once(*[lambda: trees.erase(actor, tree, "Marie")] * 3)
    assert sorted(map(str, outcomes)) == ["NOT_FOUND", "NOT_FOUND", "None"]
    assert Event.objects.filter(kind="tree.erased").count() == 1


def test_nothing_is_written_to_a_tree_that_goes(actor: Actor, tree: Tree) -> None:
    archived(actor, tree)
    trees.erase(actor, tree, "Marie")
    assert code(execute_line, actor, tree, Request('respond root "x"')) in ("NOT_FOUND", "REJECTED")
    assert code(trees.change_tree, actor, tree, {"archived": False}) == "NOT_FOUND"
    assert Tree.objects.filter(pk=tree.pk).exists()
