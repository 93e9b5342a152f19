"""`list bookmarks`, `list tags` and `list trees`: what a tree or grove has."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.agent_prompt import near
from loom.access import Actor, acting_as
from loom.documents.commands import writing as document_commands
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.notes.queries import marks_shown
from loom.people.models import User
from loom.permissions import CROSS_TREE
from loom.search import listing
from loom.trees.models import Tree
from loom.trees.queries import lookup
from tests.commands.conftest import Say
from tests.two_groves import TITLE, TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def test_bookmarks_are_listed_with_who_set_them_and_the_first_words(
    say: Say, write: Write, writer: User
) -> None:
    a, b = write("The tide turns."), write("The sea.")
    say(f'bookmark {a} "key point"')
    say(f"bookmark {b}", by=writer)
    answer = say("list bookmarks")
    lines = answer.reply.split("\n")
    assert lines[0] == "→ 2 bookmarks in the tree:"
    assert lines[1].startswith("  bookmark by ") and f'[{b}] "The sea."' in lines[1]
    assert 'bookmark "key point" by ' in lines[2] and f'[{a}] "The tide turns."' in lines[2]
    assert answer.body["refs"] == [b, a]


def test_tags_are_listed_by_name_with_how_many_items_have_each(say: Say, write: Write) -> None:
    a, b = write("a"), write("b")
    say(f'tag {a} #tone #"two words"')
    say(f"tag {b} #tone")
    assert (
        say("list tags").reply
        == '→ 2 tags in the tree:\n  #tone · 2 items\n  #"two words" · 1 item'
    )


def test_empty_lists_say_so(say: Say) -> None:
    assert say("list bookmarks").reply == "→ no bookmarks in the tree"
    assert say("list tags").reply == "→ no tags in the tree"


def test_trees_are_listed_with_their_size(say: Say, tree: Tree, write: Write) -> None:
    write("a")
    answer = say("list trees")
    assert "you are here" in answer.reply
    assert f"tree:{tree.uid}" in answer.body["refs"]


def test_a_list_that_is_cut_says_how_many_are_left_and_which_line_shows_them(
    say: Say, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_LISTED", 2)
    for name in "abc":
        node = write(name)
        say(f"bookmark {node}")
        say(f"tag {node} #{name}")
    assert say("list bookmarks").reply.endswith("  … 1 more: → list bookmarks after:2")
    assert '"a"' in say("list bookmarks after:2").reply
    assert say("list tags").reply.endswith("  … 1 more: → list tags after:2")
    assert say("list tags after:2").reply == "→ 3 tags in the tree:\n  #c · 1 item"


def test_a_bookmark_of_an_older_wording_names_the_text_of_today(say: Say, write: Write) -> None:
    a = write("The tide turns.")
    say(f"bookmark {a}")
    new = say(f'edit {a} "The tide has turned." as:version').body["refs"][0]
    assert f'[{new}] "The tide has turned." · made on [{a}]' in say("list bookmarks").reply


def test_marks_of_another_grove_are_not_listed(two_groves: TwoGroves) -> None:
    left, right, person = two_groves.left, two_groves.right, two_groves.both
    right.run(person, f'bookmark {right.text.local_id} "kestrel"')
    right.run(person, f"tag {right.text.local_id} #kestrel")
    for line in ("list bookmarks", "list bookmarks in:grove", "list tags in:grove"):
        assert "kestrel" in right.run(person, line)
        assert "kestrel" not in left.run(person, line)
    assert TITLE in right.run(person, "list trees")
    assert TITLE not in left.run(person, "list trees")


def test_an_agent_without_cross_tree_is_told_what_other_trees_need(two_groves: TwoGroves) -> None:
    side = two_groves.left
    may = ["loom_aware", "loom_write"]
    agent = acting_as(side.actor(two_groves.both), two_groves.agent(side, permissions=may))
    for line in ("list trees", "list bookmarks in:grove", "list tags in:grove"):
        with pytest.raises(CommandError) as refused:
            execute_line(agent, side.tree, Request(line))
        assert refused.value.code == "PERMISSION_DENIED"
        assert "cross_tree" in refused.value.message
    assert execute_line(agent, side.tree, Request("list tags")).reply == "→ no tags in the tree"


@pytest.mark.parametrize("line", ["list bookmarks", "list tags", "list trees"])
def test_a_list_asks_the_database_as_often_for_two_entries_as_for_twenty(
    say: Say, write: Write, line: str
) -> None:
    def asked() -> int:
        say(line)  # what is cached is there
        with CaptureQueriesContext(
            connection,
        ) as queries:
            say(line)
        return len(queries)

    def mark(count: int, name: str) -> None:
        for at in range(count):
            node = write(f"{name}{at}")
            say(f"bookmark {node}")
            say(f"tag {node} #{name}{at}")

    mark(2, "a")
    few = asked()
    mark(18, "b")
    assert asked() == few


def test_marks_are_shown_in_view_list_and_tree_also_on_a_later_wording(
    say: Say, write: Write
) -> None:
    a = write("The tide turns.")
    say(f'bookmark {a} "key point"')
    say(f"tag {a} #keep")
    marks = 'bookmarked "key point" · #keep'
    for line in (f"view {a}", "list root continuations", "tree"):
        assert marks in say(line).reply
    new = say(f'edit {a} "The tide has turned." as:version').body["refs"][0]
    later = f'bookmarked "key point" on [{a}] · #keep on [{a}]'
    for line in (f"view {new}", "list root continuations", "tree"):
        assert later in say(line).reply


def test_annotations_say_what_they_are_and_links_what_was_noted(say: Say, write: Write) -> None:
    a, b = write("a"), write("b")
    note = say(f'annotate {a} "why?" as:question').body["refs"][0]
    assert "· question ·" in say(f"list {a} annotations").reply
    say(f"resolve {note}")
    assert "· question · resolved ·" in say(f"list {a} annotations").reply
    say(f'link {a} to {b} type:supports note:"as in the sea"')
    assert 'note: "as in the sea"' in say(f"list {a} links").reply


def test_marks_cost_one_query_however_many_nodes_are_shown() -> None:
    with CaptureQueriesContext(connection) as queries:
        marks_shown({node: node for node in range(1, 200)})
    assert len(queries) == 1


def test_the_path_of_a_request_keeps_marks_on_a_later_wording(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    a = write("The tide turns.")
    say(f"bookmark {a}")
    say(f"tag {a} #keep")
    new = say(f'edit {a} "The tide has turned." as:version').body["refs"][0]
    node = lookup.find_node(tree, new)
    assert node is not None
    line = near(actor, tree, lookup.path_of(actor, tree, None, node), timezone.now())[-1]
    assert (line.is_bookmarked, line.tags) == (True, ("keep",))


def test_the_links_of_a_document_name_the_rest(
    say: Say, write: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_commands, "MOST_LISTED", 2)
    say('write doc:"notes" new "One."')
    for number in range(3):
        say(f'link doc:"notes" to {write(f"text {number}")} as:supports')
    assert say('list doc:"notes"').reply.endswith('  … 2 more: → list doc:"notes" after:2')
    line = 'list doc:"notes" supports'
    assert say(line).reply.endswith(f"  … 1 more: → {line} after:2")
    assert "more" not in say(f"{line} after:2").reply


def test_without_cross_tree_ones_own_tree_may_be_named_by_its_title(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    write("Once")
    held = actor.permissions - {CROSS_TREE}
    own = replace(actor, tree=tree.pk, permissions=held, in_grove=held)

    def asked(line: str) -> str:
        return execute_line(own, tree, Request(line)).reply

    assert asked(f'view tree:"{tree.title.upper()}"') == say("view tree:" + tree.uid).reply
    with pytest.raises(CommandError) as refused:
        asked('view tree:"Another"')
    assert refused.value.code == "CROSS_TREE"
