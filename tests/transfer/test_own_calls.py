"""Calls go out and come in with the tree: what a model wrote verifies as it did."""

import base64
import gzip
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from loom.access import Actor, get_actor
from loom.engine import streams
from loom.people.models import Participant, User
from loom.reading.queries.provenance import call_of, response_of
from loom.reading.queries.verify import verify_tree
from loom.transfer.writers import heddle as heddle_writer
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.turns.models import Call
from tests.transfer.conftest import Bring, nothing_left, tree_of

pytestmark = pytest.mark.django_db
ANSWER = b'data: {"choices": []}\n\ndata: [DONE]\n\n'
Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def written(tree: Tree, muse: Participant) -> Tree:
    """A tree with a node that a sealed call made."""
    call = Call.objects.create(
        tree=tree,
        participant=muse,
        provider="openai",
        configuration="ab" * 32,
        request={"url": "http://x/v1", "body": {"prompt": "Once </script> \u00fc"}},
        response=gzip.compress(ANSWER, mtime=0),
        sha256=hashlib.sha256(ANSWER).hexdigest(),
        headers={"content-type": "text/event-stream"},
        status=200,
        sealed_at=timezone.now(),
    )
    root = lookup.root_of(tree)
    new = node_writer.NewNode("So it was.", parent=root, call_uid=call.uid, configuration="ab" * 32)
    with transaction.atomic():
        writer = streams.lock(tree)
        node_writer.add_node(writer, tree, muse, new)
        writer.flush()
    return tree


def _out(tree: Tree, actor: Actor) -> bytes:
    return b"".join(heddle_writer.pieces(actor, tree))


def _changed(tree: Tree, actor: Actor, change: Change) -> dict[str, Any]:
    file: dict[str, Any] = json.loads(_out(tree, actor))
    change(file["calls"][0])
    return file


def test_what_a_model_wrote_is_valid_after_going_out_and_in(
    written: Tree, actor: Actor, bring: Bring
) -> None:
    again = tree_of(bring(_out(written, actor)))
    assert verify_tree(actor, again, None)["status"] == "valid"
    node = Node.objects.get(tree=again, text="So it was.")
    call, first = call_of(node), Call.objects.get(tree=written)
    assert call is not None
    assert (call.origin, call.request, call.headers) == (first.uid, first.request, first.headers)
    assert response_of(call) == ANSWER
    assert (call.started_at, call.sealed_at) == (first.started_at, first.sealed_at)
    # The participant is the importer's word alone, so its name says that it was imported.
    assert _out(again, actor).replace(b" (imported)", b"") == _out(written, actor)


def test_a_changed_answer_is_found_by_verifying(written: Tree, actor: Actor, bring: Bring) -> None:
    other = base64.b64encode(gzip.compress(b"something else")).decode()
    row = bring(_changed(written, actor, lambda call: call.update(response=other)))
    assert "does not fit" in row.report["warnings"][0]
    assert verify_tree(actor, tree_of(row), None)["status"] == "invalid"


@pytest.mark.parametrize(
    "response",
    ["not base64!", base64.b64encode(b"no gzip").decode(),
     base64.b64encode(gzip.compress(ANSWER)[:-6]).decode(),
     base64.b64encode(gzip.compress(bytes(65 * 1024 * 1024))).decode()],
    ids=["base64", "gzip", "cut", "bomb"],
)  # fmt: skip
def test_an_answer_that_cannot_be_unpacked_refuses_the_whole_file(
    written: Tree, actor: Actor, bring: Bring, response: str
) -> None:
    row = bring(_changed(written, actor, lambda call: call.update(response=response)))
    assert row.status == "failed"
    assert row.error is not None and row.error["code"] == "INVALID_SYNTAX"
    assert Tree.objects.count() == 1
    nothing_left(row)


def test_a_call_that_somebody_may_not_read_stays_out_of_their_file(
    written: Tree, writer: User, bring: Bring, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loom.transfer.writers.heddle.may_read_call", lambda actor, call: False)
    file = _out(written, get_actor(writer, written.grove))
    assert json.loads(file)["calls"] == []
    assert verify_tree(actor, tree_of(bring(file)), None)["status"] == "incomplete"
