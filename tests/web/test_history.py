"""The history panel: whose steps and turns are listed, and the lines that take them back."""

import pytest
from django.utils.html import escape

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.site.display import call
from loom.trees.models import Tree
from loom.trees.queries.lookup import root_of
from loom.turns.models import Turn
from tests.web.conftest import Visitor

pytestmark = pytest.mark.django_db


def shown(visitor: Visitor, user: User, tree: Tree) -> str:
    answer = visitor(user).get(f"/trees/{tree.uid}/history")
    assert answer.status_code == 200
    return str(answer.content.decode())


def undoing(ref: str, **more: str) -> str:
    """What the button that takes it back has."""
    return f'data-call="{escape(call("undo", ref=ref, **more))}"'


def test_an_owner_is_offered_the_steps_of_others(
    owner: User, writer: User, tree: Tree, visitor: Visitor
) -> None:
    hers = execute_line(get_actor(writer, tree.grove), tree, Request('respond root "a"')).body[
        "step"
    ]
    assert undoing(f"step:{hers}", by="Writer") in shown(visitor, owner, tree)
    assert undoing(f"step:{hers}") in shown(visitor, writer, tree)


def test_a_writer_is_not_offered_the_steps_of_others(
    actor: Actor, writer: User, tree: Tree, visitor: Visitor
) -> None:
    execute_line(actor, tree, Request('respond root "a"'))
    page = shown(visitor, writer, tree)
    assert "Other people's changes" not in page
    assert "data-call" not in page


def test_what_is_undone_is_struck_and_has_no_button(
    actor: Actor, owner: User, tree: Tree, visitor: Visitor
) -> None:
    execute_line(actor, tree, Request('respond root "a"'))
    execute_line(actor, tree, Request("undo"))
    page = shown(visitor, owner, tree)
    assert 'class="undone"' in page
    assert "data-call" not in page


def test_a_turn_is_undone_whole_by_who_asked_and_by_owners(
    actor: Actor, owner: User, writer: User, tree: Tree, muse: Participant, visitor: Visitor
) -> None:
    refs = execute_line(actor, tree, Request('respond root "a"')).body["refs"]
    node = tree.nodes.get(local_id=refs[0])
    turn = Turn.objects.create(
        tree=tree,
        participant=muse,
        invoked_by=get_actor(owner, tree.grove).participant,
        invoked_at=root_of(tree),
        answers_below=root_of(tree),
        status="complete",
        preset="standard",
        node=node,
    )
    assert undoing(f"turn:{turn.uid}") in shown(visitor, owner, tree)
    assert turn.uid not in shown(visitor, writer, tree)


def test_history_is_shown_in_plain_words_with_the_exact_line_behind_them(
    actor: Actor, owner: User, tree: Tree, visitor: Visitor
) -> None:
    ref = execute_line(actor, tree, Request('respond root "The rain stopped."')).body["refs"][0]
    execute_line(actor, tree, Request(f'edit {ref} "The rain went on." as:version'))
    page = shown(visitor, owner, tree)
    assert '<summary>Added a text <span class="excerpt">The rain stopped.</span></summary>' in page
    assert "<summary>Saved a new version" in page
    assert "<code>→ respond root &quot;The rain stopped.&quot;</code>" in page


def test_an_edit_that_made_a_branch_is_told_from_a_new_version(
    actor: Actor, owner: User, tree: Tree, visitor: Visitor
) -> None:
    text = execute_line(actor, tree, Request('respond root "The rain stopped."')).body["refs"][0]
    execute_line(actor, tree, Request(f'edit {text} "It created branch after branch." as:version'))
    assert "Saved a new branch" not in shown(visitor, owner, tree)
    execute_line(actor, tree, Request(f'edit {text} "The snow came." as:fork'))
    page = shown(visitor, owner, tree)
    assert page.count("<summary>Saved a new branch") == 1
    assert page.count("<summary>Saved a new version") == 1
