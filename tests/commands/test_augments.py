"""Augments: store, load, unload, pin, what they require, and who may."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from loom.access import Actor
from loom.documents import actions as document_actions
from loom.documents.models import Document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import User
from loom.trees.commands import node_writer
from loom.trees.models import Tree
from loom.workspace.queries.augments import Augment, in_order
from loom.workspace.queries.workspace_bodies import circle_of
from tests.commands.conftest import untold
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
Say = Callable[[str], str]


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Say:
    return lambda line: untold(execute_line(actor, tree, Request(line)).reply)


def refusal(say: Say, line: str) -> CommandError:
    with pytest.raises(CommandError) as caught:
        say(line)
    return caught.value


def store(say: Say, name: str, *requires: str, text: str = "Read slowly.") -> str:
    head = f"---\nrequires: {', '.join(requires)}\n---\n" if requires else ""
    return say(f"augment store {name}\n{head}{text}\n←")


def loaded(actor: Actor, tree: Tree, client: APIClient) -> dict[str, dict[str, Any]]:
    workspace = node_writer.workspace_of(actor.participant, tree)
    body = client.get(f"/api/workspaces/{workspace.uid}/augments").json()
    assert client.get(f"/api/workspaces/{workspace.uid}").json()["augments"] == body["results"]
    return {result["name"]: result for result in body["results"]}


def test_a_child_is_loaded_with_all_that_it_requires(
    say: Say, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    assert say("augment list") == "there are no augments; → augment store group/name makes one"
    assert store(say, "read/base") == (
        "✓ stored read/base (revision 1); → augment load read/base loads it"
    )
    store(say, "read/slow", "read/base")
    store(say, "read/all", "Read/Slow")
    assert say("augment load read/all") == "✓ loaded read/all (requires read/base, read/slow)"
    augments = loaded(actor, tree, api(owner))
    assert {name for name, augment in augments.items() if augment["loaded"]} == set(augments)
    assert [augment["chosen"] for augment in augments.values()] == [True, False, False]
    assert augments["read/base"]["required_by"] == ["read/all"]
    assert say("augment list read/*").split("\n") == [
        "● read/all · requires Read/Slow",
        "● read/base",
        "● read/slow · requires read/base",
    ]


def test_unloading_keeps_what_others_need_and_what_is_pinned(say: Say) -> None:
    store(say, "a/base")
    store(say, "a/x", "a/base")
    store(say, "b/y")
    assert say("augment load a/x a/base b/y") == (
        "✓ loaded a/x (requires a/base)\n✓ loaded a/base\n✓ loaded b/y"
    )
    assert say("augment unload a/base") == "✓ nothing was unloaded\n  kept: a/base (needed by a/x)"
    assert say("augment pin b/y") == "✓ pinned b/y"
    assert say("augment unload * exclude:a/x") == (
        "✓ nothing was unloaded\n  kept: a/base (needed by a/x)\n  kept: b/y (pinned)"
    )
    assert say("augment unload a/*") == "✓ unloaded a/base\n✓ unloaded a/x"
    assert say("augment unpin b/y") == "✓ unpinned b/y"
    assert say("augment unload *") == "✓ unloaded b/y"
    assert say("augment unload *") == "✓ nothing was unloaded"


def test_circles_and_unknown_names_are_refused_when_stored(say: Say) -> None:
    with pytest.raises(CommandError) as caught:
        store(say, "a/x", "a/none")
    assert (caught.value.code, caught.value.message) == ("REJECTED", "There is no augment a/none.")
    store(say, "a/x")
    store(say, "a/y", "a/x")
    with pytest.raises(CommandError) as caught:
        store(say, "a/x", "a/y")
    assert (caught.value.code, caught.value.message) == (
        "REJECTED",
        "a/x requires a/y requires a/x: that is a circle.",
    )
    with pytest.raises(CommandError, match="that is a circle"):
        store(say, "a/z", "a/z")
    assert Document.objects.count() == 2
    assert store(say, "a/y", text="Another.").startswith("✓ stored a/y (revision 2)")


def test_a_document_that_is_changed_into_a_circle_is_still_loaded_once(
    say: Say, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    store(say, "a/x")
    store(say, "a/y", "a/x")
    document = Document.objects.select_related("grove").get(title="a/x")
    text = "---\nrequires: a/y, a/gone\n---\nRead.\n"
    document_actions.write_document(actor, document, text=text)
    assert say("augment load a/y") == "✓ loaded a/y (requires a/x)"
    augments = loaded(actor, tree, api(owner))
    assert (augments["a/x"]["loaded"], augments["a/x"]["missing"]) == (True, ["a/gone"])
    assert say("augment load a/x").split("\n") == [
        "✓ loaded a/x (requires a/y)",
        "  ! a/x requires a/gone, which is not there",
    ]


def test_tools_are_shown_and_unknown_ones_warned_about(say: Say) -> None:
    text = "---\ntools: find, dance\n---\nSearch first."
    assert store(say, "a/x", text=text).split("\n")[1] == "  ! unknown tools: dance"
    assert say("augment list") == "· a/x · tools find, dance"


def test_bad_lines_are_refused(say: Say) -> None:
    assert refusal(say, "augment load a/x").code == "NOT_FOUND"
    assert refusal(say, "augment store plain\nx\n←").code == "INVALID_SYNTAX"
    assert refusal(say, "augment store a/x\n \n←").code == "INVALID_SYNTAX"
    assert refusal(say, "augment load").code == "INVALID_SYNTAX"
    say('write doc:"a/note" new "A note."')
    assert refusal(say, "augment store a/note\nx\n←").code == "CONFLICT"
    store(say, "a/x")
    assert refusal(say, "augment load [a-b]/x").code in ("NOT_FOUND", "INVALID_SYNTAX")
    assert refusal(say, "augment load a/x exclude:a/x").code == "NOT_FOUND"


def test_a_renamed_augment_stays_loaded(
    say: Say, actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    store(say, "a/x")
    say("augment load a/x")
    document = Document.objects.select_related("grove").get()
    document_actions.change_document(actor, document, title="b/x")
    assert loaded(actor, tree, api(owner))["b/x"]["loaded"]
    document_actions.change_document(actor, document, kind="note")
    assert loaded(actor, tree, api(owner)) == {}


def test_augments_are_of_one_grove(two_groves: TwoGroves) -> None:
    right, left = two_groves.right, two_groves.left
    for person in (two_groves.only_right, two_groves.both):
        right.run(person, f"augment store {person.username}/x\n{SECRET}\n←")
    assert "no augments" in left.run(two_groves.both, "augment list")
    with pytest.raises(CommandError) as caught:
        left.run(two_groves.both, "augment load *")
    assert caught.value.code == "NOT_FOUND" and SECRET not in caught.value.message
    left.run(two_groves.both, "augment store a/x\nRead.\n←")
    with pytest.raises(CommandError, match="There is no augment"):
        left.run(
            two_groves.both,
            f"augment store a/y\n---\nrequires: {two_groves.both.username}/x\n---\nx\n←",
        )


names = st.sampled_from("abcdef")


@given(st.dictionaries(names, st.lists(names, max_size=3)))
@settings(deadline=None)
@pytest.mark.django_db(transaction=False)
def test_what_is_required_comes_first_unless_it_goes_in_a_circle(
    requires: dict[str, list[str]],
) -> None:
    every = [Augment(name, name, "", tuple(needs), ()) for name, needs in requires.items()]
    ordered = in_order(every, every)
    assert sorted(augment.name for augment in ordered) == sorted(requires)
    place = {augment.name: at for at, augment in enumerate(ordered)}
    circles = {augment.name: circle_of(augment, every) for augment in every}
    if not any(circles.values()):
        for augment in every:
            assert all(
                place[name] < place[augment.name] for name in augment.requires if name in place
            )
    for name, circle in circles.items():
        if circle:
            assert circle[0] == circle[-1] == name
            assert all(after in requires[before] for before, after in pairwise(circle))
