"""Search over a grove with filters, over the API."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import get_actor
from loom.documents.actions import make_document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, User
from loom.trees.commands import trees
from loom.trees.models import Tree

pytestmark = pytest.mark.django_db


@pytest.fixture
def search(
    owner: User, writer: User, grove: Grove, tree: Tree, api: Callable[..., APIClient]
) -> Callable[..., Any]:
    """What a search answers, in a grove where two people wrote about rivers."""
    mine, hers = get_actor(owner, grove), get_actor(writer, grove)
    execute_line(mine, tree, Request('respond root "The river came down."'))
    node = execute_line(hers, tree, Request('respond root "A river, a river."')).body["refs"][0]
    execute_line(hers, tree, Request(f'annotate {node} "Which river?"'))
    execute_line(hers, tree, Request(f"tag {node} #water"))
    old = trees.new_tree(mine, title="River, old")
    trees.change_tree(mine, old, {"archived": True})

    def ask(**asked: str) -> Any:
        return api(owner).get(f"/api/groves/{grove.uid}/search", {"q": "river", **asked})

    return ask


def texts(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [result["text"] for result in answer.json()["results"]]


def test_filters_let_through_what_they_say(
    search: Callable[..., Any], writer: User, grove: Grove
) -> None:
    hers = get_actor(writer, grove).participant.uid
    everything = {"The river came down.", "A river, a river.", "Which river?", "River, old"}
    assert set(texts(search())) == everything
    assert set(texts(search(archived="false"))) == everything - {"River, old"}
    assert texts(search(archived="true")) == ["River, old"]
    assert texts(search(type="annotation")) == ["Which river?"]
    assert texts(search(type="tree")) == ["River, old"]
    assert set(texts(search(author=hers))) == {"A river, a river.", "Which river?"}
    assert texts(search(tag="water")) == texts(search(tag="#water")) == ["A river, a river."]
    assert texts(search(since="2999-01-01")) == []
    assert set(texts(search(since="2001-01-01"))) == everything


def test_a_name_is_an_author_and_a_tag_needs_no_words(search: Callable[..., Any]) -> None:
    assert set(texts(search(author="WRITER"))) == {"A river, a river.", "Which river?"}
    assert texts(search(author="nobody")) == []
    assert texts(search(q="", tag="WATER")) == ["A river, a river."]
    assert texts(search(q="", tag="water", type="annotation")) == []
    assert texts(search(q="", tag="dry")) == []


def test_by_time_they_come_in_the_order_of_writing(search: Callable[..., Any]) -> None:
    oldest = texts(search(sort="oldest", type="text"))
    assert oldest == ["The river came down.", "A river, a river."]
    assert texts(search(sort="newest", type="text")) == oldest[::-1]
    assert texts(search(type="text")) == oldest[::-1]


@pytest.mark.parametrize(
    "asked",
    [{"type": "x"}, {"sort": "x"}, {"since": "soon"}, {"since": "2026-13-01"}, {"q": " "}],
)
def test_what_cannot_be_asked_is_refused(search: Callable[..., Any], asked: dict[str, str]) -> None:
    answer = search(**asked)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_SYNTAX")


def test_pages_of_results_never_repeat_a_hit(search: Callable[..., Any]) -> None:
    every = [(result["tree"], result["node"]) for result in search().json()["results"]]
    for sort in ("best", "newest", "oldest"):
        pages = [
            search(limit="1", offset=str(at), sort=sort).json() for at in range(len(every) + 1)
        ]
        single = [(hit["tree"], hit["node"]) for page in pages for hit in page["results"]]
        assert sorted(single, key=str) == sorted(every, key=str)
        assert {page["count"] for page in pages} == {len(every)}
        assert pages[-1]["results"] == []


def test_documents_are_found_by_their_words_and_titles(
    search: Callable[..., Any],
    owner: User,
    outsider: User,
    grove: Grove,
    tree: Tree,
    api: Callable[..., APIClient],
) -> None:
    actor = get_actor(owner, grove)
    make_document(actor, title="Fords", text="Where the river is low.")
    make_document(actor, title="River names", text="None.")
    make_document(actor, title="Hills", text="None.")
    execute_line(actor, tree, Request('tag doc:"Fords" #water'))
    both = search(type="document").json()
    assert both["count"] == 2 and [result["title"] for result in both["results"]] == [
        "River names",
        "Fords",
    ]
    assert all(result["document"] and result["tree"] is None for result in both["results"])
    every = search().json()
    assert [result["kind"] for result in every["results"]][:2] == ["document", "document"]
    rest = search(offset="2").json()
    assert rest["count"] == every["count"] and rest["results"] == every["results"][2:]
    assert [
        result["title"] for result in search(type="document", tag="water").json()["results"]
    ] == ["Fords"]
    assert search(type="document", author=owner.username).json()["count"] == 0
    shown = api(owner).get(f"/groves/{grove.uid}", {"q": "river", "type": "document"})
    assert "Fords" in shown.content.decode() and "Hills" not in shown.content.decode()
    address = f"/api/groves/{grove.uid}/search"
    assert api(outsider).get(address, {"q": "river"}).status_code == 404


def test_documents_are_found_by_a_tag_and_left_out_by_a_date(
    search: Callable[..., Any], owner: User, grove: Grove, tree: Tree
) -> None:
    actor = get_actor(owner, grove)
    make_document(actor, title="Fords", text="Where it is low.")
    make_document(actor, title="Hills", text="Water on none.")
    execute_line(actor, tree, Request('tag doc:"Fords" #water'))

    def titles(**asked: str) -> list[str]:
        results = search(type="document", **asked).json()["results"]
        return [result["title"] for result in results]

    # The words before the name of a tag; a tag alone is enough.
    assert titles(q="water") == ["Hills", "Fords"]
    assert titles(q="#WATER") == titles(q="", tag="water") == ["Fords"]
    assert titles(q="water", tag="water") == ["Fords"]
    assert titles(q="", tag="dry") == titles(q="wat er") == []
    assert titles(q="water", since="2001-01-01") == ["Hills", "Fords"]
    assert titles(q="water", since="2999-01-01") == []
    assert search(q="", tag="water").json()["count"] == 2  # and the text of a tree
