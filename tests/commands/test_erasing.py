"""Erasing a tree leaves none of its texts in the database, wherever they had been quoted; and what
somebody read in a grove that they have left is withheld."""

import gzip
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from loom.access import CLOSED, get_actor
from loom.documents.models import Document
from loom.engine import steps as step_log
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Receipt, Step
from loom.engine.views import stored
from loom.text.quotations import GONE
from loom.transfer.models import Import, ImportPart
from loom.trees import erased_texts as erasing
from loom.trees.commands import node_writer, trees
from loom.trees.erasing import erase_rows
from loom.turns import erasing as turns_erasing
from loom.turns.models import Call, Generation, Turn
from loom.web_search.models import WebSearch
from loom.workspace.models import Window
from loom.workspace.queries.window_contents import windows_of
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
MARK = "Quetzalmarker"
LONG = f"{MARK} begins.\n\n# {MARK} heading\n\n" + f"The {MARK} sleeps in the tower. " * 20
ERASED = {"erasing_at": timezone.now() - timedelta(minutes=1), "archived_at": timezone.now()}


def _words(value: Any) -> str:
    if isinstance(value, memoryview | bytes):
        raw = bytes(value)
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        return raw.decode("utf-8", "replace")
    return json.dumps(value, default=str, ensure_ascii=False) if value is not None else ""


def places_of(word: str) -> dict[str, list[str]]:
    """Every table of the database that has the word, packed or not, with the columns."""
    places: dict[str, list[str]] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description or ()]
            for row in cursor.fetchall():
                for name, value in zip(names, row, strict=True):
                    if word.casefold() in _words(value).casefold():
                        places.setdefault(table, []).append(name)
    return places


def _erase(tree: Any) -> None:
    type(tree).objects.filter(pk=tree.pk).update(**ERASED)
    erase_rows(tree.uid)


@pytest.fixture
def far(two_groves: TwoGroves) -> tuple[TwoGroves, str]:
    """Two groves, and a text with the marker in the right one as a line in the left names it."""
    two = two_groves
    two.right.run(two.only_right, f"respond root\n{LONG}\n←")
    node = two.right.tree.nodes.latest("id")
    return two, f"tree:{two.right.tree.uid} node:{node.local_id}"


# What a member of both groves may do in the left one that reads the right one.
READING = (
    "view {far}",
    "view {far} full",
    "view {far} lines:1-2",
    "list tree:{uid} links",
    "list {far} annotations",
    'stash "all" content-of:{far}',
    'stash "part" content-of:{far} lines:1-2',
    'stash "short" summary-of:{far}',
    "open {far}",
    'open {far} lines:1-2 label:"part"',
    "open tree:{uid}",
    "tree tree:{uid} summary",
    "link here {far}",
    "list here links",
    "graph here types:related",
    "switch to {far}",
    "view here full",
    'find "sleeps"',
    "memory",
    "memory windows",
)


def _read(two: TwoGroves, far: str, *, key: bool = False) -> list[str]:
    """Reads the right tree from the left one in every way; the lines that were refused."""
    uid, refused = two.right.tree.uid, []
    actor = two.left.actor(two.both)
    for number, line in enumerate(READING):
        sent_line = line.format(far=far, uid=uid)
        try:
            execute_line(actor, two.left.tree, Request(sent_line, key=f"k{number}" if key else ""))
        except Exception as error:
            refused.append(f"{sent_line}: {error}")
    return refused


def test_no_table_has_a_word_of_a_tree_that_was_erased(far: tuple[TwoGroves, str]) -> None:
    two, node = far
    assert _read(two, node, key=True) == []
    with pytest.raises(Exception, match="section"):
        two.left.run(two.both, f"view {node} §nothing")
    assert places_of(MARK).keys() >= {
        "trees_node",
        "engine_step",
        "workspace_window",
    }
    _erase(two.right.tree)
    assert places_of(MARK) == {}
    # What was erased says so, with the same words everywhere.
    client = two.client(two.both)
    view = node_writer.workspace_of(two.left.actor(two.both).participant, two.left.tree)
    steps = client.get(f"/api/steps?workspace={view.uid}").json()["results"]
    read = [step for step in steps if step["canonical"].startswith("→ view tree:")]
    assert {step["message"] for step in read if step["outcome"] == "ok"} == {GONE}
    assert {
        result["text"]
        for result in client.get(f"/api/workspaces/{view.uid}/windows").json()["results"]
    } == {GONE}
    again = execute_line(
        two.left.actor(two.both), two.left.tree, Request(READING[1].format(far=node), key="k1")
    )
    assert (again.body["reply"], again.body["repeated"]) == (GONE, True)
    assert two.left.run(two.both, 'recall "all"')
    assert MARK not in str(windows_of(two.left.actor(two.both), view))
    # What was written in the other tree is still there.
    assert Step.objects.filter(workspace__tree=two.left.tree).count() >= len(READING)


def test_erasing_twice_and_with_other_texts_changes_nothing_else(
    far: tuple[TwoGroves, str],
) -> None:
    two, node = far
    two.left.run(two.both, "view here full")
    two.left.run(two.both, 'stash "own" content-of:here')
    before = dict(Step.objects.values_list("uid", "message"))
    erasing.clear_elsewhere(two.right.tree)
    erasing.clear_elsewhere(two.right.tree)
    assert dict(Step.objects.values_list("uid", "message")) == before
    two.left.run(two.both, f"view {node} full")
    _erase(two.right.tree)
    kept = dict(Step.objects.values_list("uid", "message"))
    assert {key: text for key, text in before.items() if key in kept} == {
        key: text for key, text in kept.items() if key in before
    }


def _turn(two: TwoGroves, name: str = "Marie") -> Turn:
    agent, left = two.agent(two.left, name=name), two.left
    return Turn.objects.create(
        tree=left.tree,
        participant=agent,
        invoked_by=left.actor(two.both).participant,
        invoked_at=left.text,
        answers_below=left.text,
        preset="standard",
        status="done",
        ended_at=timezone.now(),
    )


def _call(two: TwoGroves, text: str, turn: Turn | None = None) -> Call:
    return Call.objects.create(
        tree=two.left.tree,
        participant=two.left.actor(two.both).participant,
        turn=turn,
        provider="openai",
        configuration="c",
        request={"body": {"messages": [{"role": "user", "content": text}]}},
    )


def test_requests_that_models_were_sent_are_cleared(two_groves: TwoGroves) -> None:
    two = two_groves
    other = trees.new_tree(two.left.actor(two.both), title=f"{MARK} papers")
    ref = two.left.actor(two.both)
    execute_line(ref, other, Request(f"respond root\n{LONG}\n←"))
    node = other.nodes.latest("id")
    turn = _turn(two)
    view = stored(node_writer.workspace_of(turn.participant, two.left.tree))
    step = Step.objects.create(
        workspace=view,
        seq=1,
        actor=turn.participant,
        line="view",
        outcome="ok",
        message=LONG,
        turn_uid=turn.uid,
        at=turn.created_at - timedelta(seconds=5),
    )
    step_log.touch(step, [node.pk])
    quoting = f'supports: [{node.local_id}] in tree:"{MARK} papers" {MARK} begins'
    by_turn, by_title = _call(two, LONG, turn), _call(two, quoting)
    by_id = _call(two, f"mentions tree:{other.uid} node:{node.local_id} {MARK} begins")
    own = _call(two, "Who keeps the tower?")
    document = Document.objects.create(
        grove=two.left.grove,
        title="Notes",
        title_key="notes",
        maker=view.participant,
        made_at=timezone.now(),
        touched_at=timezone.now(),
        summary=f"Says {MARK}.",
        summary_revision=1,
    )
    Generation.objects.create(
        tree=two.left.tree,
        call=by_id,
        participant=turn.participant,
        asked_by=turn.participant,
        batch="b",
        point=two.left.text,
        index=0,
        about=document.item_id,
        round=-1,
        status="done",
        ended_at=timezone.now(),
    )
    row = Import.objects.create(
        grove=two.left.grove,
        participant=ref.participant,
        name="f",
        file="f",
        tree=other,
        report={"warnings": [f"{MARK} was cut"]},
    )
    ImportPart.objects.create(of=row, number=0, title=f"{MARK} papers", tree=other)
    now = timezone.now()
    own_view = stored(node_writer.workspace_of(ref.participant, other))
    WebSearch.objects.create(
        workspace=own_view, seq=9, payer=ref.participant, asks={"query": MARK}, day=now.date()
    )
    _erase(other)
    assert places_of(MARK) == {}
    for call in (by_turn, by_title, by_id):
        call.refresh_from_db()
        assert call.request == {"erased": GONE}
    own.refresh_from_db()
    assert "keeps the tower" in json.dumps(own.request)


def test_what_was_read_in_a_grove_is_withheld_from_whoever_has_left_it(
    far: tuple[TwoGroves, str],
) -> None:
    two, node = far
    assert _read(two, node, key=True) == []
    actor, client = two.left.actor(two.both), two.client(two.both)
    view = node_writer.workspace_of(actor.participant, two.left.tree)
    reads = (
        f"/api/steps?workspace={view.uid}",
        f"/api/workspaces/{view.uid}/windows",
        f"/api/workspaces/{view.uid}",
        f"/api/workspaces/{view.uid}/context",
        f"/api/workspaces/{view.uid}/status",
        f"/api/workspaces/{view.uid}/events",
        f"/trees/{two.left.tree.uid}/",
    )
    assert MARK in client.get(reads[0]).content.decode()
    two.right.grove.memberships.filter(user=two.both).delete()
    for address in reads:
        assert MARK not in client.get(address).content.decode(), address
    steps = client.get(reads[0]).json()["results"]
    closed = [step for step in steps if not step["open"]]
    assert {step["message"] for step in closed} == {CLOSED}
    assert [step for step in steps if step["open"] and MARK in json.dumps(step)] == []
    windows = client.get(reads[1]).json()["results"]
    assert {window["text"] for window in windows} == {CLOSED}
    for line in ("memory", "memory trace", "memory stashed", "memory windows", 'recall "all"'):
        assert MARK not in two.left.run(two.both, line)
    again = execute_line(actor, two.left.tree, Request(READING[1].format(far=node), key="k1"))
    assert (again.body["reply"], again.body["repeated"]) == (CLOSED, True)
    assert Receipt.objects.count() == len(READING)
    assert Window.objects.filter(text__contains=MARK).exists()  # they may come back


def test_an_owner_who_left_the_other_grove_is_shown_nothing_of_it(
    far: tuple[TwoGroves, str],
) -> None:
    two, node = far
    two.left.grove.memberships.filter(user=two.both).update(role="owner")
    two.left.run(two.both, f"view {node} full")
    view = node_writer.workspace_of(get_actor(two.both, two.left.grove).participant, two.left.tree)
    address = f"/api/steps?workspace={view.uid}"
    assert MARK in two.client(two.both).get(address).content.decode()
    two.right.grove.memberships.filter(user=two.both).delete()
    assert MARK not in two.client(two.both).get(address).content.decode()


def test_a_turn_elsewhere_that_has_read_the_tree_is_stopped(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = two_groves
    monkeypatch.setattr(turns_erasing, "PATIENCE_S", 0.0)
    reading, other = _turn(two), _turn(two, "Iris")
    Turn.objects.update(status="generating", ended_at=None)
    view = stored(node_writer.workspace_of(reading.participant, two.left.tree))
    step = Step.objects.create(
        workspace=view,
        seq=1,
        actor=reading.participant,
        line="view",
        outcome="ok",
        at=other.moved_at,
    )
    step_log.touch(step, [two.right.text.pk])
    _erase(two.right.tree)
    asked = dict(Turn.objects.values_list("uid", "stop_asked"))
    assert asked == {reading.uid: True, other.uid: False}
