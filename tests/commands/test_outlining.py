"""The outline of a workspace: marked by find, folded by tree reset, cleared by find clear."""

from collections.abc import Callable

import pytest

from loom.access import Actor
from loom.commands import node_writer
from loom.models import Event, Tree, User, Workspace
from loom.queries.workspaces import workspace_body
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def outline(actor: Actor, tree: Tree) -> dict[str, object]:
    own = Workspace.objects.get(pk=node_writer.workspace_of(actor.participant, tree).pk)
    return dict(workspace_body(actor, own)["outline"])


def test_find_marks_its_hits_and_clear_takes_them_out(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    a = write("The needle lay there.")
    write("Nothing.")
    say('find "needle"')
    marked = {"expanded": [], "query": "needle", "hits": [a], "scores": {a: 1.0}}
    assert outline(actor, tree) == {"depth": 2, **marked}
    assert say("find clear").reply == "✓ search cleared (1 marked)"
    nothing = {"expanded": [], "query": "", "hits": [], "scores": {}}
    assert outline(actor, tree) == {"depth": 2, **nothing}


def test_tree_reset_folds_and_keeps_the_marks(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    a = write("needle")
    say('find "needle"')
    assert say("tree reset depth:4").reply == "✓ outline folded to depth 4"
    marked = {"expanded": [], "query": "needle", "hits": [a], "scores": {a: 1.0}}
    assert outline(actor, tree) == {"depth": 4, **marked}
    say("tree reset")
    assert outline(actor, tree)["depth"] == 2


def test_the_outline_is_each_persons_own_and_told_in_its_stream(
    say: Say, write: Write, actor: Actor, other_actor: Actor, tree: Tree, writer: User
) -> None:
    write("needle")
    before = say("tree").body["position"]
    answer = say('find "needle"', by=writer)
    assert answer.body["events"] == []
    assert outline(actor, tree)["query"] == ""
    own = node_writer.workspace_of(other_actor.participant, tree)
    told = Event.objects.filter(stream__name=f"workspace:{own.uid}", kind="view.changed")
    assert told.last().payload["outline"]["query"] == "needle"  # type: ignore[union-attr]
    assert say("tree").body["position"] == before


def test_a_dry_run_marks_nothing(say: Say, write: Write, actor: Actor, tree: Tree) -> None:
    write("needle")
    say('find "needle"', dry_run=True)
    assert outline(actor, tree)["query"] == ""
