"""The outline of a workspace: marked by find, folded by tree reset, cleared by find clear."""

from collections.abc import Callable

import pytest

from loom.access import Actor
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import User
from loom.text.tokens import count
from loom.trees.commands import node_writer
from loom.trees.models import Tree, Workspace
from loom.trees.queries.outline import outline_text
from loom.workspace.models import Window
from loom.workspace.queries.shown_windows import depth_in
from loom.workspace.queries.windows import parents_of
from loom.workspace.queries.workspace_bodies import workspace_body
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]
FOLDED: dict[str, object] = {"expanded": [], "collapsed": [], "found": []}


def outline(actor: Actor, tree: Tree) -> dict[str, object]:
    own = Workspace.objects.get(pk=node_writer.workspace_of(actor.participant, tree).pk)
    return dict(workspace_body(actor, own)["outline"])


def test_find_marks_its_hits_and_clear_takes_them_out(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    a = write("The needle lay there.")
    write("Nothing.")
    say('find "needle"')
    marked = {**FOLDED, "query": "needle", "hits": [a], "scores": {a: 1.0}}
    assert outline(actor, tree) == {"depth": 2, **marked}
    assert say("find clear").reply == "✓ search cleared (1 marked)"
    nothing = {**FOLDED, "found": [a], "query": "", "hits": [], "scores": {}}
    assert outline(actor, tree) == {"depth": 2, **nothing}


def test_tree_reset_folds_and_keeps_the_marks(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    a = write("needle")
    say('find "needle"')
    assert say("tree reset depth:4").reply == "✓ outline folded to depth 4"
    marked = {**FOLDED, "query": "needle", "hits": [a], "scores": {a: 1.0}}
    assert outline(actor, tree) == {"depth": 4, **marked}
    say("tree reset")
    assert outline(actor, tree)["depth"] == 2


def test_the_outline_is_each_persons_own_and_reported_in_its_stream(
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


def drawn(actor: Actor, tree: Tree) -> str:
    """The outline of the actor's workspace, as a model would read it."""
    return outline_text(actor, node_writer.workspace_of(actor.participant, tree))


@pytest.fixture
def chain(write: Write) -> list[str]:
    """Five texts below each other, and one beside the fourth."""
    ids = ["root"]
    for word in ("one", "two", "three", "four", "five"):
        ids.append(write(word, ids[-1]))
    return [*ids[1:], write("beside", ids[3])]


def test_a_branch_is_expanded_and_collapsed_and_keeps_what_was_open_in_it(
    say: Say, chain: list[str], actor: Actor, tree: Tree
) -> None:
    one, two, three, four, five, beside = chain
    say("switch to root")
    assert two in drawn(actor, tree) and three not in drawn(actor, tree)
    before = drawn(actor, tree)
    answer = say(f"expand {two}").reply
    assert answer.startswith(f"✓ ▼ [{two}] → 1 continuation\n  +")
    assert answer.endswith(f"· outline {count(drawn(actor, tree)):,} tokens")
    say(f"expand {three}")
    opened = drawn(actor, tree)
    lines = opened.split("\n")
    assert [line for line in lines if f"[{three}]" in line] == [f'      └─ - [{three}] "three"']
    assert f'├─ + [{four}] "four" [1+]' in opened and f'└─ · [{beside}] "beside"' in opened
    assert five not in opened
    say(f"collapse {one}")
    assert f'+ [{one}] "one" [1+]' in drawn(actor, tree) and two not in drawn(actor, tree)
    say(f"expand {one}")
    assert drawn(actor, tree) == opened
    say("tree reset")
    assert drawn(actor, tree) == before
    assert say("collapse all").reply.startswith("✓ ▶ all\n  -")
    assert one not in drawn(actor, tree)


def test_what_was_found_stays_unfolded_when_its_marks_are_removed(
    say: Say, chain: list[str], actor: Actor, tree: Tree
) -> None:
    say("switch to root")
    say('find "five"')
    unfolded = drawn(actor, tree)
    assert chain[4] in unfolded
    say("find clear")
    assert drawn(actor, tree) == unfolded


@pytest.mark.parametrize("line", ["expand {5}", "expand zz99", "collapse doc:x", "expand focus"])
def test_what_has_nothing_below_cannot_be_expanded(say: Say, chain: list[str], line: str) -> None:
    with pytest.raises(CommandError):
        say(line.format(*chain))


def test_back_takes_whole_moves_back(say: Say, chain: list[str], actor: Actor, tree: Tree) -> None:
    one, two, _, four, _, _ = chain
    say(f"switch to {one}")
    say(f"switch to {four}")
    say(f"expand {two}")
    before = drawn(actor, tree)
    assert say("back").reply.startswith(f"✓ back to [{four}]\n  ▶ [{two}]")
    assert drawn(actor, tree) != before
    assert say("back").body["position"] == one
    say(f"switch to {two}")
    say(f"switch to {four}")
    assert say("back n:2").body["position"] == one
    say("back n:20")
    with pytest.raises(CommandError, match="no move"):
        say("back")


def test_links_are_expanded_into_windows_that_lie_in_each_other(
    say: Say, chain: list[str], actor: Actor, tree: Tree
) -> None:
    one, two, three, four, _, _ = chain
    for pair in ((two, one), (three, one), (four, three)):
        say(f"link {pair[0]} to {pair[1]} as:supports")
    answer = say(f"expand supported_by of {one}")
    seq = answer.body["step"]
    assert answer.reply.startswith(
        f"✓ ▼ [supported_by] of [{one}] → 2 items as #{seq} #{seq + 1}\n  +"
    )
    say("expand supported_by of focus")
    rows = Window.objects.filter(is_visible=True).order_by("number")
    third = rows.last()
    assert third is not None
    assert [row.via for row in rows] == ["supported_by"] * 3
    assert third.parent_number == seq + 1
    view = node_writer.workspace_of(actor.participant, tree)
    assert depth_in(parents_of(view, third.number), third.number) == 1
    closed = say(f"collapse supported_by of {one}").reply
    assert f"hidden #{seq} #{seq + 1} #{third.number}" in closed
    assert not Window.objects.filter(is_visible=True).exists()
    say(f"expand supported_by of {one}")
    assert "closed #" in say("back").reply
    assert not Window.objects.filter(is_closed=False).exists()


def test_windows_lie_ten_deep_at_most(say: Say, write: Write) -> None:
    at = write("0")
    say(f"open {at}")
    for number in range(1, 12):
        below = write(f"{number}", at)
        say(f"link {at} to {below} as:requires")
        if number <= 10:
            say(f"open {at} with:requires")
        else:
            with pytest.raises(CommandError) as caught:
                say(f"open {at} with:requires")
            assert caught.value.code == "LIMIT_EXCEEDED"
        at = below
