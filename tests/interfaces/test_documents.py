"""Documents over the API."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.documents.models import Document
from loom.documents.rules import MOST_SECTIONS
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.trees.commands import trees
from tests.steps import steps

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]

FRONT = "---\nkeys: [tower, north]\norder: 2\n---\n"
TEXT = f"{FRONT}# Motive\n\nShe wanted ![[a7x2]].\n\n## Doubt\n\nNo."


@pytest.fixture(name="ask")
def _ask(api: Client, owner: User, grove: Any) -> Callable[..., Any]:
    """`ask("get", "documents")`: the JSON that the owner is answered."""
    client = api(owner)

    def send(method: str, address: str, body: Any = None, *, status: int = 200) -> Any:
        sent = {"data": body, "format": "json"} if body is not None else {}
        answer = getattr(client, method)(f"/api/{address}", **sent)
        assert answer.status_code == status, answer.content
        return answer.json()

    return send


@pytest.fixture(name="document")
def _document(ask: Callable[..., Any]) -> dict[str, Any]:
    document: dict[str, Any] = ask(
        "post", "documents", {"title": "Notes", "text": TEXT}, status=201
    )
    return document


def test_a_document_is_answered_with_its_sections_and_front_matter(
    document: dict[str, Any],
) -> None:
    assert (document["text"], document["revision"], document["words"]) == (TEXT, 1, 8)
    assert document["sections"] == [
        {"id": "motive", "title": "Motive", "level": 1, "first": 5, "last": 11},
        {"id": "doubt", "title": "Doubt", "level": 2, "first": 9, "last": 11},
    ]
    assert document["front_matter"] == {"keys": ["tower", "north"], "order": ["2"]}
    assert document["embeds"] == ["a7x2"]


def test_each_change_is_a_revision_that_can_be_read_compared_and_restored(
    ask: Callable[..., Any], document: dict[str, Any]
) -> None:
    address = f"documents/{document['id']}"
    ask("post", f"{address}/write", {"section": "doubt", "content": "Yes.", "revision": 1})
    ask("post", f"{address}/write", {"append": "More."})
    revisions = ask("get", f"{address}/revisions")
    assert [row["number"] for row in revisions["results"]] == [3, 2, 1]
    pieces = ask("get", f"{address}/revisions/2/difference")["pieces"]
    assert [(p["kind"], p["text"]) for p in pieces if p["kind"] != "same"] == [
        ("old", "No"),
        ("new", "Yes"),
    ]
    for unknown in (0, -1, 5, 2**31, 2**63, 10**30):
        refused = ask("post", f"{address}/restore", {"revision": unknown}, status=404)
        assert refused["code"] == "NOT_FOUND"
    restored = ask("post", f"{address}/restore", {"revision": 1})
    assert (restored["text"], restored["revision"]) == (TEXT, 4)
    rows = ask("get", f"{address}/revisions")["results"]
    assert rows[0]["restored"] == 1 and rows[0]["sha256"] == rows[-1]["sha256"]
    assert ask("get", f"{address}/revisions/2")["text"].endswith("Yes.")


def test_a_write_on_an_older_revision_is_a_conflict(
    ask: Callable[..., Any], document: dict[str, Any]
) -> None:
    address = f"documents/{document['id']}"
    ask("post", f"{address}/write", {"text": "All new.", "revision": 1})
    refused = ask("post", f"{address}/write", {"text": "Again.", "revision": 1}, status=409)
    assert refused["code"] == "CONFLICT" and "changed since revision 1" in refused["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"text": "a", "append": "b"}, 400),
        ({"at": "somewhere", "content": "a"}, 400),
        ({"at": "line:99", "content": "a"}, 404),
        ({"section": "none", "content": "a"}, 404),
        ({"old": "not there", "new": "a"}, 409),
        ({"text": TEXT}, 409),
        ({"unknown": 1}, 400),
        ({"append": "\0"}, 400),
    ],
)
def test_a_bad_write_is_answered_with_a_sentence(
    ask: Callable[..., Any], document: dict[str, Any], body: Any, status: int
) -> None:
    refused = ask("post", f"documents/{document['id']}/write", body, status=status)
    assert refused["message"] and refused["hint"]
    assert Document.objects.get().revision == 1


def test_a_part_is_answered_by_section_or_lines(
    ask: Callable[..., Any], document: dict[str, Any]
) -> None:
    address = f"documents/{document['id']}"
    part = ask("get", f"{address}?section=doubt")
    assert (part["text"], part["first"], part["last"]) == ("## Doubt\n\nNo.", 9, 11)
    assert ask("get", f"{address}?first=5&last=5")["text"] == "# Motive"
    assert ask("get", f"{address}?section=none", status=404)["code"] == "NOT_FOUND"
    assert ask("get", f"{address}?first=5&last=3", status=400)["code"] == "INVALID_SYNTAX"


def test_an_export_is_the_text_byte_by_byte(
    api: Client, owner: User, document: dict[str, Any]
) -> None:
    answer = api(owner).get(f"/api/documents/{document['id']}/export")
    assert answer.content.decode() == TEXT
    assert answer["Content-Disposition"] == 'attachment; filename="Notes.md"'


def test_a_title_is_changed_and_stays_unique(
    ask: Callable[..., Any], document: dict[str, Any]
) -> None:
    ask("post", "documents", {"title": "Other"}, status=201)
    assert ask("patch", f"documents/{document['id']}", {"title": "Plan"})["title"] == "Plan"
    assert ask("patch", f"documents/{document['id']}", {"kind": "augment"})["kind"] == "augment"
    refused = ask("patch", f"documents/{document['id']}", {"title": "OTHER"}, status=409)
    assert "already a document" in refused["message"]
    assert ask("patch", f"documents/{document['id']}", {"title": " "}, status=400)["hint"]


def test_a_document_of_many_headings_is_stored_and_says_what_is_left_out(
    ask: Callable[..., Any],
) -> None:
    text = "# h\n" * 20_000 + "![[a7x2]] ![[b{}]]\n" * 101
    document = ask("post", "documents", {"title": "Many", "text": text}, status=201)
    assert document["text"] == text and len(document["sections"]) == MOST_SECTIONS
    assert [sentence.split(";")[0] for sentence in document["left_out"]] == [
        "Only the first 2,000 headings have a section id",
        "Only the first 100 embeds are shown",
    ]
    after = ask("post", f"documents/{document['id']}/write", {"append": "# h"})
    assert after["revision"] == 2
    assert [section["id"] for section in after["sections"]] == [
        section["id"] for section in document["sections"]
    ]


def test_an_answer_takes_steps_in_proportion_to_its_headings(
    ask: Callable[..., Any], document: dict[str, Any]
) -> None:
    assert document["left_out"] == []

    def work(many: int) -> int:
        body = {"title": f"{many} headings", "text": "# h\n\n" * many}
        uid = ask("post", "documents", body, status=201)["id"]
        return steps(lambda: ask("get", f"documents/{uid}"))

    work(2)  # The first answer of a process also loads what reads it.
    least = work(1)
    assert work(800) - least < 2.5 * (work(400) - least)


def test_a_document_shows_its_tags_that_the_reader_may_see(
    owner: User, writer: User, actor: Actor, api: Client
) -> None:
    seen, hidden = (trees.new_tree(actor, title=title) for title in ("Seen", "Hidden"))
    execute_line(actor, seen, Request('write doc:"Plan" new "Words"'))
    execute_line(actor, seen, Request('tag doc:"Plan" #river #Delta'))
    execute_line(actor, hidden, Request('tag doc:"Plan" #kestrel'))
    execute_line(actor, hidden, Request("allow writers hidden"))
    uid = Document.objects.get().uid
    for user, tags in ((owner, ["Delta", "kestrel", "river"]), (writer, ["Delta", "river"])):
        client = api(user)
        assert client.get(f"/api/documents/{uid}").json()["tags"] == tags
        page = client.get(f"/documents/{uid}").content.decode()
        assert [tag for tag in ("Delta", "kestrel", "river") if f">#{tag}</a>" in page] == tags
