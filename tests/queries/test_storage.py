"""A text is stored once, in its node: what the log and the index add to it."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from agents import tasks
from bench.storage import compact, prose
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Receipt, Step
from loom.errors import CommandError
from loom.people.models import User
from loom.text.hashes import digest, digest_of
from loom.text.shortening import named
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.trees.queries.event_log import events_since
from loom.trees.queries.node_bodies import stored_body, whole_bodies, without_text

LONG = "It was a long way down, she said. " * 100
NAMED = f'"It was a long way down, she said.…" (3,400 characters, sha256 {digest_of(LONG)})'


def _used() -> int:
    """Bytes that the database holds by now."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            compact(cursor)  # without what other tests have left behind
            cursor.execute(
                """SELECT sum(pg_total_relation_size(oid)) FROM pg_class
                WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"""
            )
            return int(cursor.fetchone()[0])
        numbers = []
        for name in ("page_size", "page_count", "freelist_count"):
            cursor.execute(f"PRAGMA {name}")
            numbers.append(cursor.fetchone()[0])
    size, count, free = numbers
    return int(size * (count - free))


def _respond(actor: Actor, tree: Tree, text: str, key: str = "") -> dict[str, Any]:
    return execute_line(actor, tree, Request(f"respond root\n{text}\n←", key=key)).body


@pytest.mark.django_db(transaction=True)
def test_a_long_text_costs_at_most_three_bytes_for_each_of_its_own(
    actor: Actor, tree: Tree
) -> None:
    texts = prose(40, 20_000)
    before = _used()
    for number, text in enumerate(texts):
        _respond(actor, tree, text, key=str(number))
    assert (_used() - before) / sum(len(text.encode()) for text in texts) <= 3


def test_the_log_names_a_text_that_a_node_holds(actor: Actor, tree: Tree) -> None:
    body = _respond(actor, tree, LONG, key="once")
    (ref,) = body["refs"]
    step = Step.objects.get(seq=body["step"], workspace__tree=tree)
    assert step.line == f"respond root\n{NAMED}\n←"
    assert step.canonical == body["canonical"] == f"→ respond root {NAMED}"
    event = Event.objects.get(stream__name=f"tree:{tree.uid}", seq=body["events"][0])
    node = event.payload["node"]
    assert node == {"id": ref, "name": "Owner", "length": len(LONG)}
    for kept in (step.line, event.payload, Receipt.objects.get(key="once").answer):
        assert LONG[:100] not in json.dumps(kept)


def test_who_reads_the_log_gets_the_text(
    actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    _respond(actor, tree, LONG)
    _respond(actor, tree, "short")
    (added, short) = events_since(actor, f"tree:{tree.uid}", since=2)["events"][::1]
    node = added["payload"]["node"]
    shown = api(owner).get(f"/api/trees/{tree.uid}/nodes/{node['id']}").json()
    del shown["counts"]
    assert node == shown
    assert (node["text"], short["payload"]["node"]["text"]) == (LONG, "short")


def test_the_log_answers_what_was_true_when_it_was_written(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[dict[str, Any]] = []

    def stored(body: dict[str, Any]) -> dict[str, Any]:
        written.append(json.loads(json.dumps(body)))
        return stored_body(body)

    monkeypatch.setattr(node_writer, "stored_body", stored)
    (first,) = _respond(actor, tree, "It was the beginning.")["refs"]
    for line in (f'edit {first} "It is the beginning."', f'annotate {first} "Why?" as:question'):
        execute_line(actor, tree, Request(line))
    _respond(actor, tree, LONG)
    actor.participant.name = "Another"
    actor.participant.save()
    Node.objects.filter(tree=tree, local_id=first).update(excluded=True, summary="later")
    execute_line(actor, tree, Request(f"bookmark {first}"))
    events = events_since(actor, f"tree:{tree.uid}", since=0)["events"]
    read = [event["payload"]["node"] for event in events if event["kind"] == "node.added"]
    assert len(written) == 4 and read[-4:] == written
    assert [node["author"]["name"] for node in read[-4:]] == ["Owner"] * 4


def test_an_event_of_an_earlier_build_is_completed(actor: Actor, tree: Tree) -> None:
    (ref,) = _respond(actor, tree, LONG)["refs"]
    events = events_since(actor, f"tree:{tree.uid}", since=2)["events"]
    (whole,) = (event["payload"]["node"] for event in events if event["kind"] == "node.added")
    whole["id"] = ref
    assert whole_bodies(tree.uid, [without_text({**whole, "tags": ["old"]})]) == [
        {**whole, "tags": ["old"]}
    ]
    assert whole_bodies(tree.uid, [whole]) == [whole]
    gone = whole_bodies(tree.uid, [{"id": "zzzz", "name": "Ada"}])[0]
    assert gone.keys() == whole.keys() and gone["text"] == ""


def test_the_texts_of_many_events_take_one_query(
    actor: Actor, tree: Tree, django_assert_num_queries: Any
) -> None:
    for number in range(30):
        _respond(actor, tree, f"{number} {LONG}")
    with django_assert_num_queries(4):
        events = events_since(actor, f"tree:{tree.uid}", since=0)["events"]
    assert len(events) == 32


def test_the_same_key_and_line_answer_the_same_again(actor: Actor, tree: Tree) -> None:
    body = _respond(actor, tree, LONG, key="once")
    assert _respond(actor, tree, LONG, key="once") == {**body, "repeated": True}
    with pytest.raises(CommandError, match="another command"):
        _respond(actor, tree, LONG[:-2] + "!", key="once")
    assert Node.objects.filter(tree=tree).count() == 2


def test_the_answer_to_a_key_names_the_texts_that_were_viewed(actor: Actor, tree: Tree) -> None:
    ref = _respond(actor, tree, LONG)["refs"][0]
    viewed = Request(f"view {ref} full", key="look")
    body = execute_line(actor, tree, viewed).body
    assert f'"{LONG}"' in body["reply"]
    kept = Receipt.objects.get(key="look").answer
    assert LONG[:240] not in json.dumps(kept)
    assert execute_line(actor, tree, viewed).body == {**body, "repeated": True}


def test_the_text_of_a_refused_line_stays_in_its_step(actor: Actor, tree: Tree) -> None:
    with pytest.raises(CommandError) as refused:
        execute_line(actor, tree, Request(f"respond zzzz\n{LONG}\n←"))
    step = Step.objects.get(seq=refused.value.step or 0, workspace__tree=tree)
    assert LONG in step.line and LONG in step.canonical


@pytest.mark.parametrize("line", ["respond root\n{}\n←", 'respond root "{}"'])
def test_a_short_text_stays_in_the_step(actor: Actor, tree: Tree, line: str) -> None:
    given = line.format("And then?")
    execute_line(actor, tree, Request(given))
    assert Step.objects.filter(workspace__tree=tree, line=given).exists()


def test_a_text_that_was_sent_with_escapes_is_named_by_the_canonical_line(
    actor: Actor, tree: Tree
) -> None:
    text = 'She said "no". ' * 60 + "end"
    line = 'respond root "' + text.replace('"', '\\"') + '"'
    body = execute_line(actor, tree, Request(line)).body
    assert Node.objects.get(tree=tree, local_id=body["refs"][0]).text == text
    step = Step.objects.get(seq=body["step"], workspace__tree=tree)
    assert step.line == step.canonical == f"→ respond root {named(text)}"


def test_undo_reports_a_long_line_without_its_text(actor: Actor, tree: Tree) -> None:
    _respond(actor, tree, LONG)
    assert execute_line(actor, tree, Request("undo")).reply == "✓ undid → respond root …"


def test_old_receipts_and_ended_sessions_are_deleted(
    actor: Actor, tree: Tree, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "BATCH", 2)
    settings.RECEIPT_DAYS, settings.ENDED_SESSION_DAYS = 30, 1
    now = timezone.now()
    for number in range(6):
        _respond(actor, tree, "a", key=str(number))
        age = timedelta(days=31 if number < 5 else 29)
        Receipt.objects.filter(key=str(number)).update(at=now - age)
        ended = now - timedelta(hours=25 if number < 5 else 23)
        Session.objects.create(session_key=f"key-{number}", session_data="", expire_date=ended)
    assert tasks.delete_old() == 10
    assert Receipt.objects.get().key == "5"
    assert Session.objects.get().session_key == "key-5"
    assert tasks.delete_old() == 0
    # Who sends a key again after that time writes anew.
    assert "repeated" not in _respond(actor, tree, "a", key="0")


def test_a_receipt_keeps_what_its_step_does_not_have(actor: Actor, tree: Tree) -> None:
    body = _respond(actor, tree, LONG, key="once")
    kept = Receipt.objects.get(key="once")
    position = body["position"]
    assert kept.answer == {"step": body["step"], "refs": body["refs"], "position": position}
    # The answer of an earlier build is whole.
    Receipt.objects.filter(key="once").update(
        answer=body, line_digest=digest(f"respond root\n{LONG}\n←")
    )
    assert _respond(actor, tree, LONG, key="once") == {**body, "repeated": True}


def test_a_key_whose_step_was_trimmed_runs_again(actor: Actor, tree: Tree) -> None:
    look = Request("view root", key="look")
    step = execute_line(actor, tree, look).body["step"]
    Step.objects.filter(seq=step, workspace__tree=tree).delete()
    again = execute_line(actor, tree, look).body
    assert "repeated" not in again and again["step"] != step
    assert execute_line(actor, tree, look).body["repeated"]
