"""A sandbox in the file of its tree: exported for whoever sees it and nobody else, imported as a
sandbox of whoever imports the file."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from loom import access
from loom.access import Actor, acting_as
from loom.documents.models import Document
from loom.people.models import Membership, User
from loom.reading.queries.verify import verify_tree
from loom.sandboxes.queries import new_nodes
from loom.transfer import importing
from loom.transfer.exporting import FORMATS
from loom.transfer.writers import heddle as heddle_writer
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from tests.sandboxes.test_sandboxes import begin, say
from tests.transfer.conftest import file_of, tree_of
from tests.two_groves import Side, TwoGroves

pytestmark = pytest.mark.django_db
WRITTEN = "The owl wakes at dusk."


def _file(actor: Actor, tree: Tree) -> dict[str, Any]:
    """The tree in Heddle's own format, as the actor exports it."""
    body: dict[str, Any] = json.loads(b"".join(heddle_writer.pieces(actor, tree)))
    return body


def _filled(two: TwoGroves, user: User) -> tuple[Actor, Tree]:
    """A sandbox of a user in the left grove, with a text, a note and a tag in it."""
    actor, sandbox = begin(two, user)
    written = say(actor, sandbox, f'respond "{WRITTEN}"')["refs"][0]
    say(actor, sandbox, f'annotate {written} "Which owl?"')
    say(actor, sandbox, f"tag {written} #owls")
    return actor, sandbox


def _brought(side: Side, user: User, file: dict[str, Any]) -> Tree:
    """The tree that a user imports into a grove."""
    row = file_of(side.actor(user), file)
    importing.run(row.uid)
    row.refresh_from_db()
    return tree_of(row)


def test_its_maker_exports_it_and_brings_it_into_another_grove(two_groves: TwoGroves) -> None:
    two = two_groves
    actor, sandbox = _filled(two, two.both)
    file = _file(actor, two.left.tree)
    (part,) = file["sandboxes"]
    assert part["at"] == two.left.text.local_id
    tree = _brought(two.right, two.both, file)
    there = two.right.actor(two.both)
    copy = Tree.objects.get(sandbox_of=two.both, grove=two.right.grove)
    assert copy.sandbox_at == Node.objects.get(tree=tree, local_id=part["at"]).pk
    assert [node.text for node in new_nodes(copy)] == [WRITTEN, "Which owl?"]
    rows = ("local_id", "text", "hash", "parent_hash", "kind")
    old, new = (Node.objects.filter(tree=home).order_by("id") for home in (sandbox, copy))
    assert list(new.values_list(*rows)) == list(old.values_list(*rows))
    assert verify_tree(there, copy, None)["broken"] == []
    assert list(copy.marks.values_list("kind", "label")) == [("tag", "owls")]
    reply = say(there, copy, "promote")["reply"]
    assert reply.startswith("✓ promoted 2 nodes")
    path = lookup.path_of(there, tree, None, Node.objects.get(tree=tree, text=WRITTEN))
    assert [node.text for node in path][-2:] == [two.left.text.text, WRITTEN]


def test_nobody_elses_file_has_it_in_any_format(two_groves: TwoGroves) -> None:
    two = two_groves
    agent = two.agent(two.left)
    owner = Membership.objects.get(grove=two.left.grove, role="owner").user
    others = [
        two.left.actor(two.only_left),
        two.left.actor(owner),
        acting_as(two.left.actor(two.both), agent),  # an agent, even of its maker
    ]
    before = [_file(other, two.left.tree) for other in others]
    _filled(two, two.both)
    assert [_file(other, two.left.tree) for other in others] == before
    for user in (two.only_left, owner, two.only_right, two.nobody):
        client = two.client(user)
        for name in FORMATS:
            answer = client.get(f"/api/trees/{two.left.tree.uid}/export?format={name}")
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
            assert WRITTEN.encode() not in body, name
            assert answer.status_code == 200 or user in (two.only_right, two.nobody)


def test_what_was_brought_is_seen_by_nobody_else(two_groves: TwoGroves) -> None:
    two = two_groves
    actor, _ = _filled(two, two.both)
    file = _file(actor, two.left.tree)
    tree = _brought(two.right, two.both, file)
    owner = Membership.objects.get(grove=two.right.grove, role="owner").user
    copy = Tree.objects.get(sandbox_of=two.both, grove=two.right.grove)
    for user in (two.only_right, owner, two.only_left, two.nobody):
        assert copy not in access.visible_trees(user)
        assert two.client(user).get(f"/api/trees/{copy.uid}").status_code == 404
    listed = two.client(two.only_right).get(f"/api/trees?grove={two.right.grove.uid}").json()
    assert {row["id"] for row in listed["results"]} == {tree.uid, two.right.tree.uid}
    assert "sandboxes" not in _file(two.right.actor(two.only_right), tree)
    assert "sandboxes" in _file(two.right.actor(two.both), tree)


def test_whoever_imports_the_file_has_a_sandbox_of_their_own_that_ends(
    two_groves: TwoGroves,
) -> None:
    two = two_groves
    actor, sandbox = _filled(two, two.both)
    Tree.objects.filter(pk=sandbox.pk).update(expires_at=timezone.now() + timedelta(hours=1))
    file = _file(actor, two.left.tree)
    _brought(two.right, two.only_right, file)
    copy = Tree.objects.get(sandbox_of=two.only_right)
    assert copy.grove == two.right.grove and copy.expires_at is not None
    assert timedelta(days=6) < copy.expires_at - timezone.now() <= timedelta(days=7)
    assert not Tree.objects.filter(sandbox_of=two.both, grove=two.right.grove).exists()


def test_one_that_has_ended_is_in_no_file(two_groves: TwoGroves) -> None:
    two = two_groves
    actor, sandbox = _filled(two, two.both)
    say(actor, sandbox, "discard")
    assert "sandboxes" not in _file(actor, two.left.tree)


def test_a_split_of_a_copy_is_brought_as_what_was_written(two_groves: TwoGroves) -> None:
    """Halves stand at the place of the copy, before it in the file of a tree."""
    two = two_groves
    actor, sandbox = begin(two, two.both)
    say(actor, sandbox, f"split {two.left.text.local_id} at:9")
    say(actor, sandbox, f'respond "{WRITTEN}"')
    many = new_nodes(sandbox).count()
    assert many > 1
    _brought(two.right, two.both, _file(actor, two.left.tree))
    copy = Tree.objects.get(sandbox_of=two.both, grove=two.right.grove)
    assert new_nodes(copy).count() == many


@pytest.mark.parametrize(
    "wrong",
    [
        5,
        {},
        [5],
        [{"at": "a2a2", "copies": 2, "file": {}}],
        [{"at": 7, "copies": -1, "file": []}],
        [{"at": "root", "copies": 2, "file": "{"}],
    ],
)
def test_what_is_no_sandbox_is_left_out_of_an_import(two_groves: TwoGroves, wrong: object) -> None:
    two = two_groves
    file = _file(two.left.actor(two.both), two.left.tree)
    _brought(two.right, two.both, {**file, "sandboxes": wrong})
    assert not Tree.objects.filter(sandbox_of=two.both).exists()
    assert not Document.objects.exists()


def test_a_sandbox_at_a_text_that_the_file_lacks_is_left_out(two_groves: TwoGroves) -> None:
    two = two_groves
    actor, _ = _filled(two, two.both)
    file = _file(actor, two.left.tree)
    file["sandboxes"][0]["at"] = "z9z9"
    many = Tree.objects.count()
    _brought(two.right, two.both, file)
    assert Tree.objects.count() == many + 1
