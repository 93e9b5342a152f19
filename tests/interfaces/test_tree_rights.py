"""What the right in a tree allows: every verb for members who may do less or more there than their
role in the grove says."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from loom.access import get_actor_in, workspace_of
from loom.engine import registry
from loom.engine.registry import Command
from loom.people.models import Membership, User
from loom.permissions import OF_ROLE, OF_TREE, WRITE, Role
from loom.trees.models import Tree, TreeRight
from tests.interfaces.matrix import LINES, OF_OWNERS, TYPES_OF_OWNERS
from tests.interfaces.world import counted, kept_world, open_windows, person  # noqa: F401

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]
World = dict[str, str]
# Who, with which role, and the right that they are given.
GIVEN: tuple[tuple[Role, str], ...] = (
    ("reader", "comment"),
    ("reader", "write"),
    ("writer", "comment"),
    ("writer", "read"),
)


def _lines(world: World) -> Iterator[tuple[Command, str]]:
    for verb, lines in LINES.items():
        for form, line in enumerate(lines):
            filled = line
            for name, value in world.items():
                filled = filled.replace("{" + name + "}", value)
            yield registry.find(verb, form), filled


def _is_allowed(command: Command, role: Role, right: str) -> bool:
    """What docs/model.md §5.1 says of a verb for somebody with that right."""
    if command.verb in OF_OWNERS:
        return False
    if command.verb in ("link", "unlink") and right != "write":  # a document belongs to no tree,
        return False  # but it is linked to this one
    if command.stream == "grove":
        return command.permissions <= OF_ROLE[role]
    needed = command.permissions
    if right == "write":
        needed -= OF_TREE
    elif right == "comment" and command.annotates:
        needed -= {WRITE}
    elif needed & OF_TREE:
        return False
    return needed <= OF_ROLE[role]


@pytest.mark.parametrize(("name", "right"), GIVEN)
def test_each_verb_follows_the_right_in_the_tree(
    name: Role, right: str, world: World, api: Client
) -> None:
    tree = Tree.objects.get(uid=world["tree"])
    user = User.objects.get(username=name)
    TreeRight.objects.create(tree=tree, user=user, right=right)
    open_windows(get_actor_in(user, tree.pk), tree, world["marked"])
    client = api(person(name))
    before = counted()
    for command, line in _lines(world):
        point = transaction.savepoint()
        answer = client.post(f"/api/trees/{world['tree']}/commands", {"line": line}, format="json")
        body = answer.json()
        is_others = command.verb == "resolve" and right == "comment"  # the note is the owner's
        is_of_owners = line.startswith(TYPES_OF_OWNERS)
        if _is_allowed(command, name, right) and not is_others and not is_of_owners:
            lacking = {"search": "UNAVAILABLE", "commit": "INSUFFICIENT_QUANTITY"}.get(command.verb)
            assert body["ok"] or body["code"] in ("REJECTED", lacking), (line, body)
        else:
            assert (answer.status_code, body["code"]) == (403, "PERMISSION_DENIED"), (line, body)
            assert body["hint"], line
            assert counted() == before, line
        transaction.savepoint_rollback(point)


def test_who_comments_writes_notes_and_marks_and_no_texts(world: World, api: Client) -> None:
    tree = Tree.objects.get(uid=world["tree"])
    TreeRight.objects.create(tree=tree, user=User.objects.get(username="reader"), right="comment")
    client, node = api(person("reader")), world["node"]

    def say(line: str) -> dict[str, Any]:
        url = f"/api/trees/{tree.uid}/commands"
        return dict(client.post(url, {"line": line}, format="json").json())

    note = say(f'annotate {node} "Is the lamp lit?" as:question')["refs"][0]
    assert say(f'annotate {note} "a reply"')["ok"]
    assert say(f'suggest {node} "another opening"')["ok"]
    assert say(f'bookmark {node} "mine"')["ok"] and say(f"unbookmark {node}")["ok"]
    assert say(f"rate {node} plus")["ok"] and say("undo")["ok"]
    assert say(f"resolve {note}")["ok"]
    refused = say(f"resolve {world['note']}")
    assert f"[{world['note']}] is not a note of yours." in refused["message"]
    for line in (f'respond {node} "a text"', f"prune {note}", f"accept {world['suggestion']}"):
        refused = say(line)
        assert refused["code"] == "PERMISSION_DENIED", line
        assert refused["hint"].startswith("You may comment here."), line
    kept = client.put(
        f"/api/workspaces/{_own(tree)}/drafts/{node}",
        {"kind": "note", "text": "a note to come"},
        format="json",
    )
    assert kept.status_code == 200
    kept = client.put(
        f"/api/workspaces/{_own(tree)}/drafts/{node}",
        {"kind": "buffer", "text": "a text"},
        format="json",
    )
    assert kept.status_code == 403


def _own(tree: Tree) -> str:
    return workspace_of(Membership.objects.get(user=person("reader")).participant, tree).uid
