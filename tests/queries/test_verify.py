"""Verification: any change of what was written is found."""

import gzip
import hashlib
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from loom.access import Actor
from loom.people.models import Participant
from loom.reading.queries import verify
from loom.text import hashes
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree, VersionChoice
from loom.turns.models import Call
from tests.queries.growing import add, chain, flag, fresh, version
from tests.triggers import triggers_aside


def _whole(actor: Actor, tree: Tree) -> dict[str, Any]:
    return verify.verify_tree(actor, tree, None)


def _broken(report: dict[str, Any]) -> dict[str, str]:
    return {row["node"]: row["reason"] for row in report["broken"]}


def _tamper(node: Node, **values: Any) -> None:
    with triggers_aside(connection):
        Node.objects.filter(pk=node.pk).update(**values)


def _call(tree: Tree, muse: Participant, body: bytes = b"answer", **fields: Any) -> Call:
    fields = {
        "response": gzip.compress(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "sealed_at": timezone.now(),
        **fields,
    }
    return Call.objects.create(tree=tree, participant=muse, provider="x", **fields)


def test_what_was_written_verifies(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a ü\r\n", "b")
    version(actor.participant, a, "a second")
    add(tree, actor.participant, "note", b, kind="annotation", form="note")
    flag(a, pruned=True, excluded=True)
    report = _whole(actor, tree)
    assert (report["status"], report["checked"], report["broken"]) == ("valid", 5, [])


def test_a_changed_text_breaks_the_node_and_all_below(actor: Actor, tree: Tree) -> None:
    a, b, c = chain(tree, actor.participant, "a", "b", "c")
    beside = add(tree, actor.participant, "beside", a)
    _tamper(b, text="B")
    report = _whole(actor, tree)
    assert report["status"] == "invalid"
    assert _broken(report) == {b.local_id: verify.CONTENT, c.local_id: verify.ABOVE}
    assert verify.verify_node(actor, tree, None, fresh(c))["status"] == "invalid"
    assert verify.verify_path(actor, tree, None, fresh(c))["status"] == "invalid"
    for node in (a, beside):
        assert verify.verify_node(actor, tree, None, fresh(node))["status"] == "valid"


@pytest.mark.parametrize(
    "values",
    [
        {"author": None},
        {"kind": "annotation"},
        {"created_at": timezone.now()},
        {"configuration": "c" * 64},
        {"call_uid": "another"},
        {"blocks": [{"type": "text", "text": "other"}]},
        {"hash": "0" * 64},
        {"parent_hash": "0" * 64},
    ],
)
def test_every_field_of_the_proof_counts(
    actor: Actor, tree: Tree, muse: Participant, values: dict[str, Any]
) -> None:
    (a,) = chain(tree, actor.participant, "a")
    _tamper(a, **{key: muse if key == "author" else value for key, value in values.items()})
    assert list(_broken(_whole(actor, tree))) == [a.local_id]


def test_a_change_with_a_new_hash_is_found_below(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    a.text = "A"
    _tamper(a, text="A", hash=hashes.sha256(node_writer.proof_of(a, actor.participant.uid)))
    assert _broken(_whole(actor, tree)) == {b.local_id: verify.PARENT}
    assert verify.verify_node(actor, tree, None, fresh(b))["status"] == "invalid"


def test_a_node_that_was_moved_is_found(actor: Actor, tree: Tree) -> None:
    a, b, c = chain(tree, actor.participant, "a", "b", "c")
    _tamper(c, parent_slot=a, depth=2)
    assert _broken(_whole(actor, tree)) == {c.local_id: verify.PARENT}
    assert b.pk


def test_what_was_edited_from_counts(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    second = version(actor.participant, b, "b second")
    _tamper(second, edited_from=a)
    assert _broken(_whole(actor, tree)) == {second.local_id: verify.CONTENT}


def test_edits_and_prunes_break_nothing_but_are_reported(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    second = version(actor.participant, a, "a second")
    for report in (
        _whole(actor, tree),
        verify.verify_path(actor, tree, None, b),
        verify.verify_node(actor, tree, None, b),
    ):
        assert report["status"] == "valid"
        assert report["later_versions"] == [second.local_id]
    workspace = node_writer.workspace_of(actor.participant, tree)
    VersionChoice.objects.create(workspace=workspace, slot=a, node=a)
    for report in (
        verify.verify_tree(actor, tree, workspace),
        verify.verify_path(actor, tree, workspace, b),
    ):
        assert report["later_versions"] == []


def test_a_path_rests_on_versions_that_are_not_current(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    version(actor.participant, a, "a second")
    _tamper(a, text="A")
    report = verify.verify_path(actor, tree, None, b)
    assert report["status"] == "invalid"
    assert set(_broken(report)) >= {a.local_id, b.local_id}


def test_a_sealed_call_is_verified_from_its_bytes(
    actor: Actor, tree: Tree, muse: Participant
) -> None:
    call = _call(tree, muse)
    node = add(tree, muse, "from the model", None, call_uid=call.uid, configuration="c" * 64)
    assert _whole(actor, tree)["status"] == "valid"
    Call.objects.filter(pk=call.pk).update(response=gzip.compress(b"another answer"))
    report = _whole(actor, tree)
    assert report["status"] == "invalid"
    assert _broken(report) == {node.local_id: verify.SEAL}
    Call.objects.filter(pk=call.pk).update(response=b"no gzip")
    assert _whole(actor, tree)["status"] == "invalid"


@pytest.mark.parametrize("fields", [{"sealed_at": None}, {"bytes": "reassembled"}])
def test_an_open_or_reassembled_call_leaves_it_incomplete(
    actor: Actor, tree: Tree, muse: Participant, fields: dict[str, Any]
) -> None:
    call = _call(tree, muse, **fields)
    node = add(tree, muse, "from the model", None, call_uid=call.uid)
    assert _whole(actor, tree)["status"] == "incomplete"
    assert verify.verify_node(actor, tree, None, node)["status"] == "incomplete"


def test_a_call_that_is_not_here_leaves_it_incomplete(actor: Actor, tree: Tree) -> None:
    add(tree, actor.participant, "imported", None, call_uid="elsewhere", generation_uid="x")
    assert _whole(actor, tree)["status"] == "incomplete"


@pytest.mark.sqlite  # PostgreSQL refuses such bytes
def test_text_that_is_not_utf_8_any_more_is_broken_not_a_crash(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "abc", "b")
    with triggers_aside(connection), connection.cursor() as cursor:
        cursor.execute("UPDATE trees_node SET text = CAST(x'61FF63' AS TEXT) WHERE id = %s", [a.pk])
    report = _whole(actor, tree)
    assert _broken(report) == {a.local_id: verify.UNREADABLE, b.local_id: verify.ABOVE}
    assert report["checked"] == 3


def test_an_imported_proof_keeps_its_author(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a")
    a.proof_author = "somebody-elsewhere"
    _tamper(
        a,
        proof_author=a.proof_author,
        hash=hashes.sha256(node_writer.proof_of(a, actor.participant.uid)),
    )
    assert _whole(actor, tree)["status"] == "valid"


def test_a_call_that_no_node_names_is_checked_with_the_tree(
    actor: Actor, tree: Tree, muse: Participant
) -> None:
    (a,) = chain(tree, actor.participant, "a")
    rounds = [_call(tree, muse, note="a round of a turn") for _ in range(3)]
    _call(tree, muse, sealed_at=None)
    report = _whole(actor, tree)
    assert (report["status"], report["calls"], report["broken_calls"]) == ("valid", 3, [])
    Call.objects.filter(pk=rounds[1].pk).update(response=gzip.compress(b"another"))
    report = _whole(actor, tree)
    assert (report["status"], report["broken"]) == ("invalid", [])
    assert report["broken_calls"] == [rounds[1].uid]
    # No text depends on it.
    assert verify.verify_node(actor, tree, None, fresh(a))["status"] == "valid"
