"""continue and landing: rows are made at once, nodes when a generation ends."""

import gzip
import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from loom.access import Actor
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.trees.commands import drafts
from loom.trees.models import Draft, Node, Tree, Workspace
from loom.turns import generation_lifecycle
from loom.turns.api import _outcome
from loom.turns.commands.continuing import outcome_of
from loom.turns.models import Call, Generation
from tests.commands.conftest import Say
from tests.heartbeats import beat

pytestmark = pytest.mark.django_db


def kinds(tree: Tree) -> list[str]:
    rows = Event.objects.filter(stream__name=f"tree:{tree.uid}").order_by("seq")
    return list(rows.values_list("kind", flat=True))


def test_it_answers_at_once_with_generations_and_no_node(
    say: Say, tree: Tree, muse: Participant
) -> None:
    answer = say("continue from root n:3 tokens:40 temperature:0.5")
    root = Node.objects.get().local_id
    assert answer.reply == f"✓ 3 continuations from [{root}] started"
    assert answer.running
    assert len(answer.body["generations"]) == 3
    assert answer.body["refs"] == []
    assert kinds(tree)[-3:] == ["generation.started"] * 3
    row = Generation.objects.first()
    assert row is not None
    assert (row.status, row.tokens, row.temperature) == ("queued", 40, 0.5)


def test_in_a_buffer_what_was_typed_becomes_a_node_first(
    say: Say, tree: Tree, actor: Actor, muse: Participant
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode="buffer")
    tree.refresh_from_db()
    first = say('respond root "It rained."').body["refs"][0]
    slot = Node.objects.get(local_id=first)
    workspace = Workspace.objects.get(tree=tree, participant=actor.participant)
    drafts.save(actor, workspace, slot, drafts.SentDraft("buffer", " And then"))
    say("continue n:2", dry_run=True)
    assert Draft.objects.count() == 1
    answer = say("continue n:2")
    typed = Node.objects.get(text=" And then")
    assert (typed.parent_slot, typed.author) == (slot, actor.participant)
    assert answer.reply == (
        f"✓ created [{typed.local_id}] from what you typed\n"
        f"✓ 2 continuations from [{typed.local_id}] started"
    )
    # A request that waits for them is told the same.
    for row in Generation.objects.filter(status="queued"):
        generation_lifecycle.take(row.uid, lease="x", seconds=60)
        generation_lifecycle.end_generation(
            row.uid, lease="x", text=" it stopped.", chunk=1, finish="complete", error=None
        )
    is_done, waited = _outcome(answer.body)
    assert is_done
    created, continued, *_ = waited["reply"].split("\n")
    assert created == f"✓ created [{typed.local_id}] from what you typed"
    assert continued.startswith(f"✓ 2 continuations from [{typed.local_id}]")
    assert "started" not in continued
    assert {row.point for row in Generation.objects.all()} == {typed}
    assert (answer.body["position"], Draft.objects.count()) == (typed.local_id, 0)
    say("undo")
    typed.refresh_from_db()
    assert typed.pruned
    assert not Generation.objects.filter(ended_at__isnull=True, stop_asked=False).exists()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("continue from root n:11", "LIMIT_EXCEEDED"),
        ("continue from root n:0", "INVALID_SYNTAX"),
        ('continue from root using agent:"Nobody"', "NOT_FOUND"),
        ("continue from zz99", "NOT_FOUND"),
    ],
)
def test_bad_ones_are_refused(say: Say, muse: Participant, line: str, code: str) -> None:
    with pytest.raises(CommandError) as refused:
        say(line)
    assert refused.value.code == code
    assert Generation.objects.count() == 0


def test_without_a_model_it_says_what_to_do(say: Say) -> None:
    with pytest.raises(CommandError) as refused:
        say("continue from root")
    assert refused.value.code == "UNAVAILABLE"
    assert "Participants" in refused.value.hint


def test_the_model_used_last_is_used_again(say: Say, muse: Participant, actor: Actor) -> None:
    other = Participant.objects.create(grove=actor.grove, kind="model", name="Other")
    say('continue from root using agent:"other"')
    uid = say("continue from root").body["generations"][0]
    assert Generation.objects.get(uid=uid).participant == other


def test_a_reader_may_not(say: Say, muse: Participant, reader: User) -> None:
    with pytest.raises(CommandError) as refused:
        say("continue from root", by=reader)
    assert refused.value.code == "PERMISSION_DENIED"


@pytest.fixture
def taken(say: Say, muse: Participant) -> Generation:
    """A generation that a worker with the lease "me" runs."""
    uid = say("continue from root").body["generations"][0]
    row = generation_lifecycle.take(uid, lease="me", seconds=900)
    assert row is not None
    return row


def test_one_worker_takes_it_and_only_an_expired_lease_is_taken_over(taken: Generation) -> None:
    assert generation_lifecycle.take(taken.uid, lease="other", seconds=900) is None
    Generation.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert generation_lifecycle.take(taken.uid, lease="other", seconds=900) is not None
    assert beat(taken.uid, "me", "a") == "lost"


def test_it_lands_once_as_a_node_below_its_point(taken: Generation, tree: Tree) -> None:
    for _ in range(2):
        node = generation_lifecycle.end_generation(
            taken.uid, lease="me", text=" and then", chunk=3, finish="complete", usage={"out": 3}
        )
    assert node is not None
    assert (node.text, node.author, node.generation_uid) == (
        " and then",
        taken.participant,
        taken.uid,
    )
    assert Node.objects.count() == 2
    assert kinds(tree)[-2:] == ["node.added", "generation.ended"]
    done, reply, errors = outcome_of([taken.uid])
    assert (done, reply.refs, errors) == (True, (node.local_id,), [])


def test_a_stop_reaches_the_worker_and_keeps_the_text(taken: Generation) -> None:
    assert beat(taken.uid, "me", "a") == "go"
    generation_lifecycle.ask_stop(taken)
    assert beat(taken.uid, "me", "ab", chunk=2) == "stop"
    node = generation_lifecycle.end_generation(
        taken.uid, lease="me", text="ab", chunk=2, finish="interrupted:stopped"
    )
    assert node is not None
    assert node.finish == "interrupted:stopped"
    assert Generation.objects.get().status == "stopped"


@pytest.mark.django_db(transaction=True)  # it ends after the transaction
def test_what_nobody_began_stops_at_once_without_a_node(say: Say, muse: Participant) -> None:
    uid = say("continue from root").body["generations"][0]
    generation_lifecycle.ask_stop(Generation.objects.get(uid=uid))
    assert Generation.objects.get().status == "stopped"
    assert Node.objects.count() == 1


def test_nothing_arrived_makes_no_node_but_says_why(taken: Generation) -> None:
    error = {"code": "MODEL_ERROR", "reason": "network", "message": "It broke."}
    assert (
        generation_lifecycle.end_generation(
            taken.uid, lease="me", text="", chunk=0, finish="interrupted:network", error=error
        )
        is None
    )
    assert Generation.objects.get().status == "failed"
    assert Node.objects.count() == 1


def test_an_undone_continue_lands_pruned(say: Say, taken: Generation) -> None:
    say("undo")
    node = generation_lifecycle.end_generation(
        taken.uid, lease="me", text="late", chunk=1, finish="complete"
    )
    assert node is not None
    assert Node.objects.get(pk=node.pk).pruned


def test_a_sealed_call_holds_the_bytes_as_received(taken: Generation, tree: Tree) -> None:
    call = Call(tree=tree, participant=taken.participant, provider="openai", configuration="c")
    generation_lifecycle.begin_calls([(call, [taken])])
    node = generation_lifecycle.end_generation(
        taken.uid, lease="me", text="x", chunk=1, finish="complete"
    )
    assert node is not None
    body = b'data: {"x": "\xff"}\n\n'
    for _ in range(2):
        generation_lifecycle.seal(call, generation_lifecycle.Received(body=body, status=200))
    row = Call.objects.get()
    assert gzip.decompress(row.response) == body
    assert row.sha256 == hashlib.sha256(body).hexdigest()
    assert kinds(tree).count("call.sealed") == 1
    assert Event.objects.get(kind="call.sealed").payload["nodes"] == [node.local_id]
