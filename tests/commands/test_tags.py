"""Tags as wholes, and what members keep by name."""

from collections.abc import Callable
from importlib import import_module

import pytest
from django.apps import apps

from loom.access import Actor, get_actor
from loom.engine.models import Event
from loom.errors import CommandError
from loom.notes.commands import marks
from loom.notes.models import Mark
from loom.notes.queries import tags_in
from loom.people.commands import groves
from loom.people.models import Grove, User
from loom.search.filters import Filters
from loom.search.queries import find_in_grove, find_in_tree
from loom.trees.models import Tree
from loom.workspace.commands import saved
from tests.commands.conftest import Say
from tests.machines.replay import replayed, stored
from tests.two_groves import TwoGroves

Write = Callable[..., str]


def labels(tree: Tree) -> list[str]:
    """The tags in the tree, each as often as it is there."""
    rows = Mark.objects.filter(tree=tree, kind="tag", removed_at__isnull=True)
    return sorted(rows.values_list("label", flat=True))


def demand_replay(tree: Tree) -> None:
    """The events of the tree lead to its rows."""
    assert replayed(tree).marks == stored(tree).marks


def test_a_tag_is_renamed_in_all_trees_and_keeps_its_colour(
    say: Say, write: Write, actor: Actor, tree: Tree, buffer: Tree
) -> None:
    node = write("one")
    say(f"tag {node} #river #Bank")
    say(f"tag tree:{buffer.uid} #river", into=buffer)
    groves.change_grove(actor, settings={"tag_colours": {"river": "teal"}})
    assert marks.change_tag(actor, "#RIVER", name="  the  stream ") == "the stream"
    assert labels(tree) == ["Bank", "the stream"]
    assert labels(buffer) == ["the stream"]
    assert tags_in(actor) == [
        {"name": "Bank", "colour": "", "items": 1},
        {"name": "the stream", "colour": "teal", "items": 2},
    ]
    for any_tree in (tree, buffer):
        demand_replay(any_tree)


def test_a_name_that_another_tag_has_makes_one_tag_of_the_two(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    both, one = write("both"), write("one")
    say(f"tag {both} #river #Stream")
    say(f"tag {one} #river")
    assert marks.change_tag(actor, "river", name="stream") == "Stream"
    assert labels(tree) == ["Stream", "Stream"]
    demand_replay(tree)
    say(f"untag {one} #stream")
    marks.change_tag(actor, "Stream", name="brook")
    say("undo")
    assert labels(tree) == ["brook", "brook"]
    demand_replay(tree)


def test_a_tag_is_the_same_in_any_case_of_any_letter(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    for tagged in ("#Fluß", "#FLUSS", "#fluss"):
        say(f"tag {write('one')} {tagged}")
    assert labels(tree) == ["Fluß"] * 3
    found = find_in_tree(actor, tree, None, "one", only=Filters(tag="FLUß"))
    assert len(found.hits) == 3
    marks.change_tag(actor, "fluss", name="Ärger")
    say(f"tag {write('two')} #ÄRGER")
    assert labels(tree) == ["Ärger"] * 4


def test_tags_from_before_there_were_keys_are_given_theirs(
    say: Say, write: Write, tree: Tree
) -> None:
    node = write("one")
    say(f'tag {node} #Ärger #"two words"')
    say(f'bookmark {node} "Ärger"')
    Mark.objects.update(label_key="")
    import_module("loom.notes.migrations.0002_tag_key")._fill(apps, None)
    keys = Mark.objects.order_by("pk").values_list("kind", "label_key")
    assert list(keys) == [("tag", "ärger"), ("tag", "two words"), ("bookmark", "")]


def test_a_removed_tag_leaves_what_had_it(
    say: Say, write: Write, actor: Actor, writer: User, tree: Tree
) -> None:
    node = write("one")
    say(f"tag {node} #river")
    with pytest.raises(CommandError) as refused:
        marks.remove_tag(get_actor(writer, tree.grove), "river")
    assert refused.value.code == "PERMISSION_DENIED"
    assert marks.remove_tag(actor, "river") == 1
    assert labels(tree) == []
    assert "one" in say(f"view {node} full").body["reply"]
    demand_replay(tree)
    with pytest.raises(CommandError) as refused:
        marks.remove_tag(actor, "river")
    assert refused.value.code == "NOT_FOUND"


@pytest.mark.parametrize("colour", ["red", "javascript:x", "teal;"])
def test_only_colours_of_the_list_are_taken(
    colour: str, say: Say, write: Write, actor: Actor
) -> None:
    say(f"tag {write('one')} #river")
    for given in ({"river": colour},):
        with pytest.raises(CommandError):
            groves.change_grove(actor, settings={"tag_colours": given})
    with pytest.raises(CommandError) as refused:
        marks.change_tag(actor, "river", colour=colour)
    assert "is not a colour" in refused.value.message
    marks.change_tag(actor, "river", colour="teal")
    assert tags_in(actor)[0]["colour"] == "teal"
    marks.change_tag(actor, "river", colour="")
    assert tags_in(actor)[0]["colour"] == ""


@pytest.mark.parametrize("name", ['a"b', "x" * 201, "#", "###", "12", "a\0"])
def test_a_name_that_no_line_could_write_is_refused(
    name: str, say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    say(f"tag {write('one')} #river")
    with pytest.raises(CommandError):
        marks.change_tag(actor, "river", name=name)
    assert labels(tree) == ["river"]


def test_tags_of_another_grove_stay_as_they_are(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    for side in (left, right):
        side.run(two_groves.both, f"tag tree:{side.tree.uid} #shared")
    actor = get_actor(two_groves.only_left, left.grove)
    marks.change_tag(actor, "shared", name="ours")
    assert labels(right.tree) == ["shared"]
    assert [tag["name"] for tag in tags_in(actor)] == ["ours"]


def test_names_of_tags_are_searched(say: Say, write: Write, actor: Actor, tree: Tree) -> None:
    node = write("Nothing of the kind.")
    say(f"tag {node} #waterfall")
    say(f"tag tree:{tree.uid} #waterway")
    for query in ("water", "#waterf", "FALL"):
        hits = find_in_grove(actor, query).hits
        assert node in [hit.node.local_id for hit in hits if hit.node], query
    assert [hit.node for hit in find_in_grove(actor, "waterway").hits] == [None]
    result = find_in_tree(actor, tree, None, "#waterfall")
    assert [hit.node.local_id for hit in result.hits if hit.node] == [node]
    say(f"prune {node}")
    assert find_in_tree(actor, tree, None, "waterfall").hits == []


def test_what_is_kept_is_ones_own_and_a_preset_may_be_everybodys(
    actor: Actor, writer: User, reader: User, grove: Grove
) -> None:
    mine = saved.save_own(actor, "search", "Rivers", {"q": "river", "sort": "newest"})
    hers = get_actor(writer, grove)
    assert list(saved.saved_by(actor, "search")) == [mine]
    assert list(saved.saved_by(hers, "search")) == []
    with pytest.raises(CommandError) as refused:
        saved.remove(hers, mine.uid)
    assert refused.value.code == "NOT_FOUND"
    shared = saved.share_preset(hers, "Calm", {"top_p": 0.8, "stop": ["\n"]})
    assert [preset.body for preset in saved.saved_by(actor, "preset")] == [shared.body]
    with pytest.raises(CommandError) as refused:
        saved.remove(get_actor(reader, grove), shared.uid)
    assert refused.value.code == "PERMISSION_DENIED"
    saved.share_preset(actor, "Calm", {"top_p": 0.7})
    assert [preset.body for preset in saved.saved_by(hers, "preset")] == [{"top_p": 0.7}]
    saved.remove(hers, shared.uid)
    assert list(saved.saved_by(actor, "preset")) == []
    kinds = list(Event.objects.filter(stream__name=f"grove:{grove.uid}").values_list("kind"))
    assert kinds[-3:] == [("preset.saved",), ("preset.saved",), ("preset.removed",)]


@pytest.mark.parametrize("body", [{}, {"q": ""}, {"x": "a"}, {"q": 1}, {"q": "x" * 501}])
def test_a_search_that_cannot_be_asked_is_not_kept(body: dict[str, object], actor: Actor) -> None:
    with pytest.raises(CommandError):
        saved.save_own(actor, "search", "a", body)


def test_a_tag_is_no_longer_than_its_column(say: Say, write: Write, tree: Tree) -> None:
    node = write("one")
    say(f"tag {node} #{'a' * 200}")
    with pytest.raises(CommandError, match="at most 200 characters") as refused:
        say(f"tag {node} #{'b' * 201}")
    assert refused.value.code == "LIMIT_EXCEEDED"
    assert labels(tree) == ["a" * 200]


@pytest.mark.parametrize(
    ("typed", "kept"), [("##h", "h"), ('#" pad "', "pad"), (r'#"two\nwords"', "two words")]
)
def test_a_tag_is_kept_as_lines_write_it(
    typed: str, kept: str, say: Say, write: Write, tree: Tree
) -> None:
    node = write("one")
    say(f"tag {node} {typed}")
    assert labels(tree) == [kept]
    say(f"untag {node} {typed}")
    assert labels(tree) == []


@pytest.mark.parametrize("again", ["river", "River"])
def test_undo_gives_an_item_no_tag_that_it_got_again(
    again: str, say: Say, write: Write, tree: Tree, writer: User
) -> None:
    node = write("one")
    say(f"tag {node} #river", by=writer)
    say(f"untag {node} #river")
    say(f"tag {node} #{again}", by=writer)
    with pytest.raises(CommandError) as refused:
        say("undo")
    assert refused.value.code == "CONFLICT"
    assert Mark.objects.filter(kind="tag", removed_at=None).count() == 1
