"""Drafts: what a person types is kept as it is, shown to them alone, and ends as a node."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Grove, Participant, User
from loom.trees import erasing
from loom.trees.commands import node_writer, trees
from loom.trees.models import Draft, Tree

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]


class Desk:
    """One person's client, workspace and tree."""

    def __init__(self, client: APIClient, tree: Tree) -> None:
        self.client, self.tree = client, tree
        body = client.get(f"/api/workspaces?tree={tree.uid}").json()
        self.home = f"/api/workspaces/{body['id']}"

    def keep(self, slot: str, text: str, kind: str = "buffer", **more: Any) -> Any:
        body = {"kind": kind, "text": text, **more}
        return self.client.put(f"{self.home}/drafts/{slot}", body, format="json")

    def kept(self) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = self.client.get(f"{self.home}/drafts").json()["results"]
        return results

    def told(self) -> list[dict[str, Any]]:
        events = self.client.get(f"{self.home}/events").json()["events"]
        return [event["payload"] for event in events if event["kind"] == "draft.saved"]

    def say(self, line: str) -> Any:
        address = f"/api/trees/{self.tree.uid}/commands"
        return self.client.post(address, {"line": line}, format="json").json()


@pytest.fixture
def mine(tree: Tree, owner: User, api: Client) -> Desk:
    """The owner's desk."""
    return Desk(api(owner), tree)


@pytest.fixture
def node(actor: Actor, tree: Tree) -> str:
    """A first text below the root."""
    return str(execute_line(actor, tree, Request('respond root "One."')).body["refs"][0])


@pytest.mark.parametrize("text", ["  two\r\nlines\r ", "→ prune root\n←", "e\u0301 \u2028 🦉", " "])
def test_a_draft_is_kept_to_the_byte(mine: Desk, node: str, text: str) -> None:
    answer = mine.keep(node, text)
    assert (answer.status_code, answer.json()["text"]) == (200, text)
    assert mine.kept() == [answer.json()]
    assert mine.client.get(mine.home).json()["drafts"] == mine.kept()


def test_an_empty_text_ends_a_draft_and_only_that_one(mine: Desk, node: str) -> None:
    for kind in ("buffer", "edit", "note"):
        mine.keep(node, kind, kind=kind)
    assert mine.keep(node, "", kind="edit").json()["at"] is None
    assert [draft["kind"] for draft in mine.kept()] == ["buffer", "note"]
    assert mine.told()[-1] == {"slot": node, "kind": "edit", "ended": True}
    assert mine.keep(node, "", kind="edit").status_code == 200


def test_a_draft_belongs_to_the_slot_whichever_version_is_named(mine: Desk, node: str) -> None:
    version = mine.say(f'edit {node} "Uno." as:version')["refs"][0]
    assert mine.keep(version.upper(), "more").json()["slot"] == node
    assert mine.keep("z9z9", "nowhere").status_code == 404


def test_two_tabs_do_not_overwrite_each_other(mine: Desk, node: str) -> None:
    first = mine.keep(node, "one tab", seen="").json()["at"]
    assert mine.keep(node, "another tab", seen="").status_code == 409
    # The same text again is no quarrel: an answer that was lost is asked for again.
    assert mine.keep(node, "one tab", seen="").json()["at"] == first
    second = mine.keep(node, "one tab, more", seen=first).json()["at"]
    assert second > first
    assert mine.keep(node, "", seen=first).json()["code"] == "CONFLICT"
    assert mine.keep(node, "", seen=second).status_code == 200
    assert mine.keep(node, "late", seen=second).status_code == 409
    assert mine.kept() == []


def test_the_stream_hears_of_beginning_and_end_but_not_of_every_key(mine: Desk, node: str) -> None:
    for length in range(1, 9):
        mine.keep(node, "typed as"[:length])
    mine.keep(node, "")
    told = mine.told()
    assert told[0]["ended"] is False and told[-1]["ended"] is True
    assert 2 <= len(told) <= 4
    assert not any("text" in event for event in told)


def test_drafts_are_a_persons_own(
    mine: Desk, node: str, tree: Tree, writer: User, reader: User, api: Client
) -> None:
    mine.keep(node, "for me")
    other = Desk(api(writer), tree)
    other.keep(node, "for somebody else")
    assert [draft["text"] for draft in mine.kept()] == ["for me"]
    assert [draft["text"] for draft in other.kept()] == ["for somebody else"]
    assert other.client.get(f"{mine.home}/drafts").status_code == 404
    assert other.client.put(f"{mine.home}/drafts/{node}", {}, format="json").status_code == 404
    assert Desk(api(reader), tree).keep(node, "no").json()["code"] == "PERMISSION_DENIED"


def test_an_archived_tree_still_keeps_what_was_typed(
    mine: Desk, node: str, actor: Actor, tree: Tree
) -> None:
    trees.change_tree(actor, tree, {"archived": True})
    assert mine.keep(node, "typed meanwhile").status_code == 200


def test_what_an_archived_tree_refuses_says_who_can_restore_it(
    actor: Actor, tree: Tree, writer: User, api: Client
) -> None:
    trees.change_tree(actor, tree, {"archived": True})
    desk = Desk(api(writer), tree)
    assert desk.say('respond root "No."')["hint"] == "An owner or writer can restore it."
    restored = desk.client.patch(f"/api/trees/{tree.uid}", {"archived": False}, format="json")
    assert restored.status_code == 200
    assert desk.say('respond root "Yes."')["ok"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"kind": "poem", "text": "a"}, 400),
        ({"kind": "buffer"}, 400),
        ({"kind": "buffer", "text": "a\0b"}, 400),
        ({"kind": "buffer", "text": 7}, 400),
        ({"kind": "buffer", "text": "a" * (4 * 1024 * 1024 + 1)}, 413),
    ],
)
def test_what_no_node_could_hold_is_refused(
    mine: Desk, node: str, body: dict[str, Any], status: int
) -> None:
    answer = mine.client.put(f"{mine.home}/drafts/{node}", body, format="json")
    assert answer.status_code == status, answer.content
    assert mine.kept() == []


def test_there_is_an_end_to_how_many(
    mine: Desk, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loom.trees.commands.drafts.MAX_DRAFTS", 1)
    mine.keep(node, "a")
    assert mine.keep(node, "b", kind="edit").json()["code"] == "LIMIT_EXCEEDED"
    assert mine.keep(node, "a, more").status_code == 200


def test_a_draft_ends_with_the_line_that_makes_it_a_node(mine: Desk, node: str) -> None:
    mine.keep(node, "two")
    mine.say(f'respond {node} "otherwise"')
    assert len(mine.kept()) == 1
    mine.say(f'respond {node} "two"')
    mine.keep(node, "Uno.", kind="edit")
    mine.say(f'edit {node} "Uno." as:version')
    mine.keep(node, "why?", kind="note")
    mine.say(f'annotate {node} "why?"')
    assert mine.kept() == []


def test_a_refused_line_leaves_the_draft(mine: Desk, node: str) -> None:
    newer = mine.say(f'edit {node} "Uno." as:version')["refs"][0]
    mine.keep(node, "Eins.", kind="edit")
    assert mine.say(f'edit {node} "Eins." as:version')["code"] == "CONFLICT"
    mine.say(f"prune {newer}")
    mine.keep(node, "below")
    assert mine.say(f'respond {node} "below"')["code"] == "REJECTED"
    assert [draft["text"] for draft in mine.kept()] == ["Eins.", "below"]


def test_a_model_does_not_edit_what_a_person_is_editing(
    mine: Desk, node: str, grove: Grove, owner: User, tree: Tree, muse: Participant
) -> None:
    person = get_actor(owner, grove)
    muse.permissions = sorted(person.permissions)  # they are asked for again under the lock
    muse.save()
    agent = Actor(muse, person.participant, person.user, grove, person.role, person.permissions)
    workspace = node_writer.workspace_of(muse, tree)
    mine.keep(node, "One, and", kind="edit")
    with pytest.raises(CommandError, match="Owner is editing") as refused:
        execute_line(agent, tree, Request(f'edit {node} "Uno."'), workspace)
    assert refused.value.code == "CONFLICT"
    assert mine.kept()[0]["text"] == "One, and"
    mine.keep(node, "", kind="edit")
    assert execute_line(agent, tree, Request(f'edit {node} "Uno."'), workspace).body["ok"]


def test_an_erased_tree_takes_its_drafts_with_it(
    mine: Desk, node: str, actor: Actor, tree: Tree
) -> None:
    mine.keep(node, "gone")
    trees.change_tree(actor, tree, {"archived": True})
    mine.client.delete(f"/api/trees/{tree.uid}", {"title": tree.title}, format="json")
    erasing.erase_rows(tree.uid)
    assert not Draft.objects.exists()
