"""How many queries the tree page and its parts cost: never more for a longer path."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from loom.access import Actor
from loom.commands import node_writer
from loom.commands.execute import Request, execute_line
from loom.commands.trees import make_public_link
from loom.models import Grove, Participant, Tree, User, Workspace
from loom.web import node_parts
from loom.web.avatars import cast_of
from loom.web.requests import place_of, stretch_of
from tests.conftest import join, make_user
from tests.web.conftest import Visitor

# Who asks (session, user, tree, membership, workspace, node) is six of each; one reads who wrote
# texts that were edited.
PARTS = {
    "page": ("?node={at}", 18),
    "path": ("/path?node={at}", 15),
    "below": ("/path?node={at}&after={above}", 17),
    "weave": ("/weave?node={at}", 11),
    "drawn node": ("/nodes/{at}/drawn", 11),
    "details": ("/nodes/{at}", 19),
    "turns": ("/turns?node={at}", 11),
    "whole text": ("/nodes/{at}/text", 5),
    "bookmarks": ("/bookmarks", 7),
    "marks": ("/marks", 6),
    "provenance": ("/nodes/{at}/provenance", 20),
    "the past": ("/past?seq=9", 11),
    "history": ("/history", 10),
    "search": ("/search?q=text", 13),
    "about": ("/about", 7),
    "share": ("/share", 6),
    "export": ("/export?node={at}", 24),
}
# Pages of a grove and of a person: never more for more trees, members and participants.
PAGES = {
    "first page": ("/", 14),
    "grove": ("/groves/{grove}", 14),
    "its settings": ("/groves/{grove}/settings", 6),
    "its members": ("/groves/{grove}/people", 8),
    "its money": ("/groves/{grove}/money", 15),
    "its participants": ("/groves/{grove}/participants", 7),
    "own settings": ("/settings", 3),
    "guide": ("/guide", 2),
}


def grow(actor: Actor, tree: Tree, length: int) -> list[str]:
    """A path of that length; every third text has a note with a reply, a link, and marks."""
    ids: list[str] = []
    for number in range(length):
        ids.append(said(actor, tree, f'respond "Text {number}."'))
        if number % 3 == 1:
            note = said(actor, tree, f'annotate {ids[-1]} "A note."')
            for line in (
                f'annotate {note} "A reply."',
                f"bookmark {ids[-1]}",
                f"tag {ids[-1]} #here",
                f"link {ids[-1]} to {ids[0]} as:supports",
                f'edit {ids[-1]} "Text {number} again." as:version',
            ):
                said(actor, tree, line)
    return ids


def said(actor: Actor, tree: Tree, line: str) -> str:
    """The first item that the line made or found."""
    return str(execute_line(actor, tree, Request(line)).body["refs"][0])


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """Fails where more queries are made."""
    with CaptureQueriesContext(connection) as made:
        yield
    assert len(made) <= count, "\n".join(one["sql"][:100] for one in made)


@pytest.mark.parametrize("length", [4, 40])
def test_a_path_is_drawn_with_six_queries_whatever_hangs_at_it(
    actor: Actor, tree: Tree, length: int
) -> None:
    ids = grow(actor, tree, length)
    workspace = Workspace.objects.get(participant=actor.participant, tree=tree)
    place = place_of(actor, tree, workspace, ids[-1])
    cast = cast_of(actor)
    with at_most(6):
        stretch = stretch_of(place, after="", before="", limit=60)
        drawn = node_parts.drawn_of(tree, stretch.spots, cast)
    assert len(drawn) == length


@pytest.mark.parametrize("edits", [1, 6])
def test_who_wrote_what_in_a_buffer_is_one_query_however_often_it_was_edited(
    actor: Actor, edits: int
) -> None:
    tree = node_writer.make_tree(actor, title="Buffer", mode="buffer")
    tips = []
    for number in range(5):
        tip = said(actor, tree, f'respond "Words number {number} and more."')
        for edit in range(edits):
            tip = said(actor, tree, f'edit {tip} "Words number {number}, {edit}." as:version')
        tips.append(tip)
    workspace = Workspace.objects.get(participant=actor.participant, tree=tree)
    place = place_of(actor, tree, workspace, tips[-1])
    cast = cast_of(actor)
    with at_most(6):
        stretch = stretch_of(place, after="", before="", limit=60)
        drawn = node_parts.drawn_of(tree, stretch.spots, cast)
    assert [one.id for one in drawn] == tips


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("length", [4, 40])
def test_a_part_costs_no_more_on_a_longer_path(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor, part: str, length: int
) -> None:
    ids = grow(actor, tree, length)
    address, most = PARTS[part]
    client: Client = visitor(owner)
    with at_most(most):
        answer = client.get(f"/trees/{tree.uid}" + address.format(at=ids[-1], above=ids[-3]))
    assert answer.status_code == 200


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("many", [1, 9])
def test_a_page_costs_no_more_for_more_of_everything(
    owner: User, actor: Actor, grove: Grove, visitor: Visitor, page: str, many: int
) -> None:
    for number in range(many):
        made = node_writer.make_tree(actor, title=f"Tree {number}")
        said(actor, made, 'respond root "Words."')
        join(grove, make_user(f"member{number}"), "reader")
        Participant.objects.create(grove=grove, kind="model", name=f"Model {number}")
    address, most = PAGES[page]
    client: Client = visitor(owner)
    with at_most(most):
        answer = client.get(address.format(grove=grove.uid), follow=True)
    assert answer.status_code == 200


@pytest.mark.parametrize("length", [4, 40])
def test_a_public_page_costs_no_more_for_a_longer_path(
    actor: Actor, tree: Tree, visitor: Visitor, length: int
) -> None:
    grow(actor, tree, length)
    _, secret = make_public_link(actor, tree, days=1)
    with at_most(17):
        answer = visitor().get(f"/public/{secret}")
    assert answer.status_code == 200


def test_what_was_drawn_is_not_drawn_again_until_it_changes(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = grow(actor, tree, 6)
    workspace = Workspace.objects.get(participant=actor.participant, tree=tree)
    place = place_of(actor, tree, workspace, ids[-1])
    spots = stretch_of(place, after="", before="", limit=60).spots
    drawn: list[int] = []
    inside = node_parts._inside

    def noting(found: node_parts.Found, key: int) -> str:
        drawn.append(key)
        return inside(found, key)

    monkeypatch.setattr(node_parts, "_inside", noting)

    def fresh(line: str = "") -> list[str]:
        if line:
            execute_line(actor, tree, Request(line))
        drawn.clear()
        node_parts.drawn_of(tree, spots, cast_of(actor))
        names = {spot.id: ids[at] for at, spot in enumerate(spots)}
        return sorted(names[key] for key in drawn)

    assert len(fresh()) == 6 and fresh() == []
    assert fresh(f"bookmark {ids[2]}") == [ids[2]]
    assert fresh(f'annotate {ids[3]} "Another."') == [ids[3]]
    assert fresh(f"link {ids[2]} to {ids[5]} as:refutes") == sorted([ids[2], ids[5]])
    assert fresh(f"exclude {ids[3]}") == [ids[3]]
    assert fresh(f'respond {ids[1]} "A sibling."') == sorted([ids[1], ids[2]])
