"""Comments and suggestions on words of a text, as the page of a tree draws them."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.site.markdown import plain_by, rendered_by, with_places
from loom.trees.models import Tree
from tests.two_groves import TwoGroves

Say = Callable[[str], str]
Page = Callable[[str], str]
TEXT = "The house **waits**. The garden *waits* too."


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Say:
    """Executes a line; returns the first ref of its answer."""
    return lambda line: str(execute_line(actor, tree, Request(line)).body["refs"][0])


@pytest.fixture
def page(client: Client, tree: Tree, owner: User) -> Page:
    client.force_login(owner)
    return lambda node: client.get(f"/trees/{tree.uid}?node={node}").content.decode()


def test_the_words_are_marked_where_they_are_meant(say: Say, page: Page) -> None:
    node = say(f'respond root "{TEXT}"')
    note = say(f'annotate {node} "Why?" of:"waits" nth:2')
    drawn = page(node)
    marked = f'<em><span class="commented" data-of-comment="{note}">waits</span></em>'
    assert drawn.count('class="commented"') == 1 and marked in drawn
    assert re.search(r'<blockquote class="of-words"[^>]*><button[^>]*>waits</button>', drawn)
    say(f"resolve {note}")
    drawn = page(node)
    assert 'class="commented"' not in drawn and '<blockquote class="of-words"' in drawn


def test_in_another_wording_they_stand_where_they_are_or_are_said_to_be_gone(
    say: Say, page: Page
) -> None:
    node = say('respond root "The house waits. The garden waits too."')
    note = say(f'annotate {node} "Why?" of:"waits" nth:2')
    later = say(f'edit {node} "Long ago the house waits. The garden slept too." as:version')
    drawn = page(later)
    assert f'data-of-comment="{note}">slept</span>' in drawn
    assert ">waits</button></blockquote>" in drawn  # on what it was written
    gone = say(f'edit {later} "Long ago the house waits. The garden too." as:version')
    drawn = page(gone)
    assert 'class="commented"' not in drawn and "no longer in the text" in drawn


def test_a_suggestion_shows_what_it_would_change_in_the_text_as_it_is(say: Say, page: Page) -> None:
    node = say('respond root "The house waits. The garden waits too."')
    say(f'suggest {node} "sleeps" of:"waits" nth:2')
    later = say(f'edit {node} "The castle waits. The garden waits too." as:version')
    drawn = page(later)
    assert "The castle waits. The garden <del>waits</del><ins>sleeps</ins> too." in drawn
    assert '<span class="suggested-old" data-of-comment=' in drawn
    drawn = page(say(f'edit {later} "The castle waits. The garden walks too." as:version'))
    assert "<del>" not in drawn


def test_a_buffer_marks_them_among_the_parts_of_its_authors(
    buffer: Tree, client: Client, owner: User, actor: Actor
) -> None:
    def say(text: str) -> str:
        return str(execute_line(actor, buffer, Request(text)).body["refs"][0])

    node = say('respond root "The house waits."')
    note = say(f'annotate {node} "Why?" of:"house"')
    client.force_login(owner)
    drawn = client.get(f"/trees/{buffer.uid}?node={node}").content.decode()
    assert f'The <span class="commented" data-of-comment="{note}">house</span> waits.' in drawn


def test_places_are_cut_out_of_the_pieces_of_authors() -> None:
    spans = [(4, '<span a="1">'), (6, '<span a="2">')]
    whole = with_places(spans, [((2, 6), '<span c="1">'), ((3, 5), '<span c="2">')])
    assert whole == [
        (2, '<span a="1">'),
        (1, '<span a="1"><span c="1">'),
        (1, '<span a="1"><span c="2">'),
        (1, '<span a="2"><span c="2">'),
        (1, '<span a="2"><span c="1">'),
        (4, '<span a="2">'),
    ]
    assert with_places([(10, "")], [((8, 99), "<span>")]) == [(8, ""), (2, "<span>")]
    assert plain_by("a<b", [(1, ""), (5, "<span>")]) == "a<span>&lt;b</span>"
    assert rendered_by("*a*b", [(2, ""), (2, "<span>")]) == "<p><em>a</em><span>b</span></p>\n"


def test_an_editor_is_told_which_words_are_noted_by_who_may_read_them(
    two_groves: TwoGroves,
) -> None:
    right = two_groves.right
    node = right.text.local_id
    right.run(two_groves.both, f'annotate {node} "Which?" of:"kestrel"')
    right.run(two_groves.both, f'suggest {node} "south" of:"north"')
    right.run(two_groves.both, f'annotate {node} "All of it."')
    address = f"/trees/{right.tree.uid}/comments?ids={node},zz99"
    for user in (two_groves.only_left, two_groves.nobody):
        assert two_groves.client(user).get(address).status_code == 404
    notes = two_groves.client(two_groves.both).get(address).json()["notes"]
    assert [(note["form"], note["place"][1]) for note in notes.pop(node)] == [
        ("note", "kestrel"),
        ("diff", "north"),
    ]
    assert notes == {}
    left = two_groves.left.tree.uid
    none = two_groves.client(two_groves.both).get(f"/trees/{left}/comments?ids={node}")
    assert none.json() == {"notes": {}}
