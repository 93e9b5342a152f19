"""How many queries the tree page and its parts cost: never more for a longer path."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from loom import access
from loom.access import Actor
from loom.documents.models import Document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.exploring.models import Exploration
from loom.links.models import Trail
from loom.people.models import Grove, Participant, User
from loom.reading.pages import node_parts
from loom.reading.queries.path_page import Way, way_of
from loom.site.display import Who, cast_of
from loom.site.page_requests import stretch_of
from loom.trees.commands import node_writer, trees
from loom.trees.commands.public_links import make_public_link
from loom.trees.models import Tree
from loom.trees.queries.lookup import find_node
from tests.conftest import join, make_user
from tests.interfaces.world import gateway_session
from tests.web.conftest import Visitor

# Two of each say who asks (session, user): a page of a path is six besides, a part of it fewer.
# ARCHITECTURE.md lists them.
PARTS = {
    "page": ("?node={at}", 10),
    "path": ("/path?node={at}", 8),
    "below": ("/path?node={at}&after={above}", 9),
    "weave": ("/weave?node={at}", 7),
    "drawn node": ("/nodes/{at}/drawn", 8),
    "details": ("/nodes/{at}", 14),
    "turns": ("/turns?node={at}", 9),
    "windows": ("/windows?of={own}", 8),
    "whole text": ("/nodes/{at}/text", 4),
    "bookmarks": ("/bookmarks", 6),
    "marks": ("/marks", 4),
    "provenance": ("/nodes/{at}/provenance", 20),
    "timestamp": ("/nodes/{at}/timestamp", 7),
    "the past": ("/past?seq=9", 10),
    "history": ("/history", 11),
    "search": ("/search?q=text", 14),
    "what to link": ("/targets?q=text", 30),
    "what to link, first": ("/targets", 8),
    "about": ("/about", 8),
    "share": ("/share", 8),
    "tokens": ("/nodes/{at}/tokens", 9),
    "multiverse": ("/nodes/{at}/multiverse", 10),
    "tokens on the screen": ("/surprise?ids={at},{above}", 6),
    "candidates to skim": ("/candidates/{above}", 17),
    "export": ("/export?node={at}", 24),
    "above": ("/above?node={at}&before={above}", 11),
    "text of a buffer": ("/buffer?node={at}", 7),
    "excerpts": ("/excerpts?ids={at},{above}", 5),
    "comments": ("/comments?ids={at},{above}", 8),
    "cast": ("/cast", 4),
    "tags": ("/tags", 4),
    "path of the past": ("/past/path?seq=9&node={first}", 18),
    "portal": ("/nodes/{linked}/portal?type=supports", 13),
    "portal in a text": ("/portal?type=supports&to={linked}", 10),
    "graph": ("/graph?node={linked}", 30),
    "name in a text": ("/ref?to={linked}", 15),  # and the page that it leads to
    "its links": ("/links/{linked}", 12),
    "claims": ("/claims", 10),
    "manuscript": ("/manuscript", 19),
    "lore": ("/lore", 7),
    "keys of lore": ("/lore/keys", 4),
    "story to read": ("/manuscript/text", 17),
    "claim": ("/claims/{claim}", 14),
    "links out": ("/nodes/{linked}/portals", 7),
    "documents beside it": ("/documents", 7),
    "explorations": ("/explorations?node={at}", 7),
    "models side by side": ("/models", 17),
    "sandbox": ("/sandbox?node={at}", 7),
    "map by meaning": ("/landscape", 14),
}
# Pages of a grove and of a person: never more for more trees, members and participants.
PAGES = {
    "its webhooks": ("/groves/{grove}/webhooks", 8),
    "its outside tools": ("/groves/{grove}/tools", 9),
    "gateway": ("/settings/gateway", 9),
    "what a program sent": ("/settings/gateway/sessions/{gateway_session}", 12),
    "its checks": ("/groves/{grove}/checks", 10),
    "one's choices": ("/groves/{grove}/choices", 8),
    "its embedder": ("/groves/{grove}/embedder", 13),
    "its pipes": ("/groves/{grove}/pipes", 9),
    "its types of links": ("/groves/{grove}/link-types", 9),
    "first page": ("/", 18),
    "grove": ("/groves/{grove}", 17),
    "its tags": ("/groves/{grove}/tags", 7),
    "its link types": ("/groves/{grove}/link-types", 5),
    "ratings": ("/groves/{grove}/ratings", 17),
    "trails": ("/groves/{grove}/trails", 13),
    "a trail": ("/trails/{trail}", 14),
    "a trail's file": ("/trails/{trail}/file", 12),
    "mentions": ("/mentions", 5),
    "its settings": ("/groves/{grove}/settings", 9),
    "its members": ("/groves/{grove}/people", 8),
    "its money": ("/groves/{grove}/money", 17),
    "its participants": ("/groves/{grove}/participants", 7),
    "own settings": ("/settings", 4),
    "guide": ("/guide", 3),
    "about Heddle": ("/about", 3),
    "rows of trees": ("/groves/{grove}/rows", 11),
    "unseen mentions": ("/mentions/unseen", 3),
    "command bar": ("/palette", 5),
    "a model": ("/groves/{grove}/participants/{model}", 7),
    "adding a model": ("/groves/{grove}/participants/new", 5),
    "one's keys": ("/settings/keys", 3),
    "documents": ("/groves/{grove}/documents", 6),
    "a document": ("/documents/{document}", 24),
    "portal of a document": ("/documents/{document}/portal?type=related", 13),
    "portal in a document": ("/documents/{document}/portal?type=x&to={node}", 12),
    "name in a document": ("/documents/{document}/ref?to=doc:{document}", 30),
    "what a document shows": ("/documents/{document}/drawn", 12),
    "writers of a document": ("/documents/{document}/writers?clients=1,2", 6),
    "an embed": ("/documents/{document}/embed?ref={node}", 11),
    "a document's history": ("/documents/{document}/history", 9),
    "a document's file": ("/documents/{document}/file", 5),
    "an exploration": ("/explorations/{exploration}", 9),
    "map of a grove": ("/groves/{grove}/landscape", 14),
}


def grow(actor: Actor, tree: Tree, length: int) -> list[str]:
    """A path of that length; every third text has a note with a reply, a link, and marks."""
    ids: list[str] = []
    for number in range(length):
        ids.append(first_ref(actor, tree, f'respond "Text {number}."'))
        if number % 3 == 1:
            note = first_ref(actor, tree, f'annotate {ids[-1]} "A note."')
            for line in (
                f'annotate {note} "A reply."',
                f"bookmark {ids[-1]}",
                f"tag {ids[-1]} #here",
                f"link {ids[-1]} to {ids[0]} as:supports",
                f'edit {ids[-1]} "Text {number} again." as:version',
            ):
                first_ref(actor, tree, line)
    return ids


def first_ref(actor: Actor, tree: Tree, line: str) -> str:
    """The first item that the line made or found."""
    return str(execute_line(actor, tree, Request(line)).body["refs"][0])


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """Fails where more queries are made."""
    with CaptureQueriesContext(connection) as captured:
        yield
    assert len(captured) <= count, "\n".join(query["sql"][:100] for query in captured)


def drawn_on(tree: Tree, way: Way, cast: dict[str, Who]) -> list[node_parts.Drawn]:
    """The nodes of the path, as the page reads and draws them."""
    spots = stretch_of(way, tree, after="", limit=60).spots
    return node_parts.drawn_from(node_parts.found_for(tree, spots, cast, around=way.around), spots)


@pytest.mark.parametrize("length", [4, 40])
def test_a_path_is_drawn_with_three_queries_whatever_hangs_at_it(
    actor: Actor, tree: Tree, length: int
) -> None:
    ids = grow(actor, tree, length)
    visit, end, cast = (
        access.get_visit(actor.user, tree.uid),
        find_node(tree, ids[-1]),
        cast_of(actor),
    )
    with at_most(3):
        drawn = drawn_on(tree, way_of(visit, end, most=60), cast)
    assert len(drawn) == length


@pytest.mark.parametrize("edits", [1, 6])
def test_who_wrote_what_in_a_buffer_is_one_query_however_often_it_was_edited(
    actor: Actor, edits: int
) -> None:
    tree = trees.new_tree(actor, title="Buffer", mode="buffer")
    tips = []
    for number in range(5):
        tip = first_ref(actor, tree, f'respond "Words number {number} and more."')
        for edit in range(edits):
            tip = first_ref(actor, tree, f'edit {tip} "Words number {number}, {edit}." as:version')
        tips.append(tip)
    visit, cast = access.get_visit(actor.user, tree.uid), cast_of(actor)
    end = find_node(tree, tips[-1])
    with at_most(3):
        drawn = drawn_on(tree, way_of(visit, end, most=60), cast)
    assert [node.id for node in drawn] == tips


def too_dear(
    visit: Callable[[], Client], pages: dict[str, tuple[str, int]]
) -> dict[str, list[str]]:
    """The queries of each page that makes more than it may. Each is asked for as for the first
    time: nothing is kept in the cache, and who asks has just signed in."""
    dear = {}
    for page, (address, most) in pages.items():
        cache.clear()
        client = visit()
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(address, follow=True)
        assert answer.status_code == 200, page
        if len(captured) > most:
            dear[page] = [query["sql"][:100] for query in captured]
    return dear


@pytest.mark.parametrize("length", [4, 40])
def test_a_part_costs_no_more_on_a_longer_path(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor, length: int
) -> None:
    ids = grow(actor, tree, length)
    own = node_writer.workspace_of(actor.participant, tree).uid
    claim = first_ref(actor, tree, f'claim "It is so" cite:{ids[0]}')
    names = {
        "claim": claim,
        "at": ids[-1],
        "above": ids[-3],
        "linked": ids[1],
        "first": ids[0],
        "own": own,
    }
    parts = {
        part: (f"/trees/{tree.uid}{address.format(**names)}", most)
        for part, (address, most) in PARTS.items()
    }
    assert too_dear(lambda: visitor(owner), parts) == {}


@pytest.mark.parametrize("many", [1, 9])
def test_a_page_costs_no_more_for_more_of_everything(
    owner: User, actor: Actor, grove: Grove, visitor: Visitor, many: int
) -> None:
    for number in range(many):
        tree = trees.new_tree(actor, title=f"Tree {number}")
        node = first_ref(actor, tree, 'respond root "Words."')
        first_ref(actor, tree, f'write doc:"D{number}" new "[[D0]] ![[{node}]] and [[{node}]]."')
        for line in (f"view {node}", f'trail save "T{number}"'):
            execute_line(actor, tree, Request(line))
        join(grove, make_user(f"member{number}"), "reader")
        model = Participant.objects.create(grove=grove, kind="model", name=f"Model {number}")
        execute_line(actor, tree, Request(f"explore from {node} by:variety"))
    document = Document.objects.latest("id").uid
    names = {"grove": grove.uid, "model": model.uid, "document": document, "node": node}
    names["trail"] = Trail.objects.latest("id").uid
    names["exploration"] = Exploration.objects.latest("id").uid
    for number in range(many):
        names |= gateway_session(actor, model, str(number))
    pages = {page: (address.format(**names), most) for page, (address, most) in PAGES.items()}
    assert too_dear(lambda: visitor(owner), pages) == {}


@pytest.mark.parametrize("length", [4, 40])
def test_a_public_page_costs_no_more_for_a_longer_path(
    actor: Actor, tree: Tree, visitor: Visitor, length: int
) -> None:
    grow(actor, tree, length)
    _, secret = make_public_link(actor, tree, days=1)
    with at_most(20):
        answer = visitor().get(f"/public/{secret}")
    assert answer.status_code == 200


def test_what_was_drawn_is_not_drawn_again_until_it_changes(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = grow(actor, tree, 6)
    spots = way_of(access.get_visit(actor.user, tree.uid), None, most=60).path[1:]
    drawn: list[int] = []
    rendered = node_parts._rendered

    def noting(data: node_parts.NodeData, key: int) -> str:
        drawn.append(key)
        return rendered(data, key)

    monkeypatch.setattr(node_parts, "_rendered", noting)

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
