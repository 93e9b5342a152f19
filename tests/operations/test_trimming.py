"""Old rows are trimmed by rules: what goes, what stays, and what readers are sent."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from agents.webhooks import delivery
from agents.webhooks.models import Webhook
from loom.access import Actor
from loom.documents.actions import write_document
from loom.documents.log import opened, settle
from loom.documents.models import Document, DocumentState, DocumentUpdate
from loom.engine import trimmed_events
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step, Stream
from loom.engine.trim_rules import trim_rules
from loom.errors import CommandError
from loom.operations import commands, measuring, tasks, trim
from loom.operations.models import TrimSetting
from loom.people.models import Grove, Participant, User
from loom.reading.queries.verify import verdicts_of
from loom.trees.commands.trees import new_tree
from loom.trees.models import Node, Tree
from loom.trees.queries import event_log
from loom.turns.models import Call
from tests.conftest import make_user
from tests.live.conftest import Opener, bearer, connect, in_db  # noqa: F401

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(days=400)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few events stay, and a batch is small."""
    monkeypatch.setattr(trimmed_events, "KEPT", 5)
    monkeypatch.setattr(trimmed_events, "BATCH", 3)
    monkeypatch.setattr(trim, "REST_S", 0)


@pytest.fixture(name="boss")
def _boss(db: None) -> User:
    return make_user("boss", is_operator=True)


@pytest.fixture(name="tree")
def _tree(actor: Actor) -> Tree:
    """A tree that was made long ago."""
    with pytest.MonkeyPatch.context() as then:
        then.setattr(timezone, "now", lambda: LONG_AGO)
        return new_tree(actor, title="Marie")


def write(actor: Actor, tree: Tree, many: int) -> list[str]:
    """The ids of texts below each other, long ago."""
    with pytest.MonkeyPatch.context() as then:
        then.setattr(timezone, "now", lambda: LONG_AGO)
        ids = []
        for number in range(many):
            answer = execute_line(actor, tree, Request(f'respond "Text {number}."'))
            ids.append(str(answer.body["refs"][0]))
        return ids


def keep(name: str, days: int) -> None:
    """An operator's choice."""
    TrimSetting.objects.update_or_create(name=name, defaults={"days": days})


def floor_of(tree: Tree) -> int:
    """How far the tree's events were trimmed."""
    return Stream.objects.get(name=f"tree:{tree.uid}").floor


def test_what_nobody_asked_for_is_kept(actor: Actor, tree: Tree) -> None:
    ids = write(actor, tree, 12)
    events, steps = Event.objects.filter(stream__name=f"tree:{tree.uid}"), Step.objects.count()
    before = events.count()
    trim.trim(seconds=60)
    assert (events.count(), Step.objects.count()) == (before, steps)
    assert len(ids) == Node.objects.filter(tree=tree, local_id__in=ids).count()
    defaults = {rule.name: rule.days for rule in trim_rules().values()}
    assert defaults == {
        "view_events": 90,
        "tree_events": 0,
        "look_steps": 0,
        "call_requests": 0,
        "call_answers": 0,
        "document_updates": 7,
    }


def test_old_events_go_but_for_the_last_and_the_texts_stay(actor: Actor, tree: Tree) -> None:
    ids = write(actor, tree, 12)
    keep("tree_events", 30)
    stream = Stream.objects.get(name=f"tree:{tree.uid}")
    counted = trim.counted(timezone.now())["tree_events"]
    gone = trim.trim(seconds=60)["tree_events"]
    assert gone >= counted.rows == stream.head - 5 and counted.bytes > 100 * counted.rows
    left = Event.objects.filter(stream=stream).order_by("seq").values_list("seq", flat=True)
    assert list(left) == list(range(stream.head - 4, stream.head + 1))
    assert floor_of(tree) == stream.head - 5
    body = Client()
    body.force_login(actor.user)
    path = body.get(f"/api/trees/{tree.uid}/path?node={ids[-1]}").json()
    assert "Text 0." in str(path) and "Text 11." in str(path)
    assert body.get(f"/trees/{tree.uid}").status_code == 200
    assert body.get(f"/trees/{tree.uid}/history").status_code == 200
    assert trim.trim(seconds=60) == {}  # a second time there is nothing left


def test_young_events_stay(actor: Actor, tree: Tree) -> None:
    write(actor, tree, 8)
    for number in range(8):
        execute_line(actor, tree, Request(f'respond "Now {number}."'))
    keep("tree_events", 30)
    trim.trim(seconds=60)
    events = Event.objects.filter(stream__name=f"tree:{tree.uid}").order_by("seq")
    first = events[0]
    assert first.at > LONG_AGO and first.seq == floor_of(tree) + 1
    assert events.filter(kind="node.added").count() == 8


def test_whoever_asks_for_what_is_gone_is_told_to_load_again(actor: Actor, tree: Tree) -> None:
    write(actor, tree, 12)
    keep("tree_events", 30)
    trim.trim(seconds=60)
    stream = Stream.objects.get(name=f"tree:{tree.uid}")
    client = APIClient()
    client.force_authenticate(actor.user)
    address = f"/api/trees/{tree.uid}/events?since="
    refused = client.get(f"{address}0")
    assert refused.status_code == 409
    assert refused.json()["code"] == "CONFLICT"
    assert f"since={stream.head}" in refused.json()["hint"]
    kept = client.get(f"{address}{stream.floor}").json()
    assert [event["seq"] for event in kept["events"]] == list(
        range(stream.floor + 1, stream.head + 1)
    )


def test_whoever_has_seen_more_than_there_is_is_told_to_load_again(
    actor: Actor, tree: Tree
) -> None:
    write(actor, tree, 2)
    head = Stream.objects.get(name=f"tree:{tree.uid}").head
    client = APIClient()
    client.force_authenticate(actor.user)
    address = f"/api/trees/{tree.uid}/events?since="
    assert client.get(f"{address}{head}").json() == {"events": [], "head": head}
    refused = client.get(f"{address}{head + 1}")
    assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT")
    assert "an earlier state was restored" in refused.json()["message"]
    assert f"since={head}" in refused.json()["hint"]


@pytest.mark.django_db(transaction=True)
async def test_a_socket_that_asks_for_what_is_gone_gets_reload_and_then_what_follows(
    connect: Opener,  # noqa: F811
    actor: Actor,
    tree: Tree,
    owner: User,
) -> None:
    def prepare() -> int:
        write(actor, tree, 12)
        keep("tree_events", 30)
        trim.trim(seconds=60)
        return Stream.objects.get(name=f"tree:{tree.uid}").head

    head = await in_db(prepare)()
    line = await connect(tree, await in_db(bearer)(owner))
    frame = await line.until("reload")
    assert frame["seq"] == head
    await line.until("heartbeat")
    assert not [frame for frame in line.frames if frame["type"] == "event"]
    await in_db(execute_line)(actor, tree, Request('respond root "Another."'))
    event = await line.event(head + 1)
    assert event["seq"] == head + 1


def test_the_past_is_right_where_the_first_events_are_gone(actor: Actor, tree: Tree) -> None:
    ids = write(actor, tree, 12)
    execute_line(actor, tree, Request(f"tag {ids[0]} #one"))
    keep("tree_events", 30)
    stream = Stream.objects.get(name=f"tree:{tree.uid}")
    before = {
        seq: event_log.moment(actor, tree, seq).last_id
        for seq in range(stream.head - 4, stream.head + 1)
    }
    trim.trim(seconds=60)
    after = {seq: event_log.moment(actor, tree, seq).last_id for seq in before}
    assert after == before
    with pytest.raises(CommandError) as refused:
        event_log.moment(actor, tree, 1)
    assert refused.value.hint == f"{stream.head - 4} to {stream.head}"


def test_the_slider_begins_at_the_first_moment_that_is_kept(actor: Actor, tree: Tree) -> None:
    write(actor, tree, 12)
    keep("tree_events", 30)
    trim.trim(seconds=60)
    floor = floor_of(tree)
    client = Client()
    client.force_login(actor.user)
    first = client.get(f"/trees/{tree.uid}/past?seq={floor + 1}&ticks=1")
    assert first.status_code == 200
    assert first.json()["floor"] == floor > 0
    # One part for each of the five changes that are left, and none without whoever made it.
    assert [who for who, _ in first.json()["ticks"]] == [actor.participant.uid] * 5
    assert client.get(f"/trees/{tree.uid}/past?seq={floor}").status_code == 400


def test_the_last_text_is_known_where_no_event_of_a_text_is_left(actor: Actor, tree: Tree) -> None:
    ids = write(actor, tree, 3)
    for number in range(12):
        execute_line(actor, tree, Request(f"tag {ids[0]} #n{number}"))
    Stream.objects.filter(name=f"tree:{tree.uid}").update(floor=8)
    with transaction.atomic():
        Event.objects.filter(stream__name=f"tree:{tree.uid}", seq__lte=8).delete()
    assert event_log.moment(actor, tree, 9).last_id == ids[-1]
    later = str(execute_line(actor, tree, Request('respond root "Later."')).body["refs"][0])
    assert event_log.moment(actor, tree, 9).last_id == ids[-1] != later


def test_the_log_is_guarded_above_the_floor(actor: Actor, tree: Tree) -> None:
    write(actor, tree, 4)
    events = Event.objects.filter(stream__name=f"tree:{tree.uid}")
    Stream.objects.filter(name=f"tree:{tree.uid}").update(floor=2)
    with pytest.raises(IntegrityError), transaction.atomic():
        events.filter(seq=3).delete()
    assert events.filter(seq__lte=2).delete()[0] == 2


def test_a_webhook_goes_on_after_what_is_gone(actor: Actor, tree: Tree, grove: Grove) -> None:
    write(actor, tree, 12)
    webhook = Webhook.objects.create(
        grove=grove, tree=tree, maker=actor.participant, url="https://hooks.example/a", cursor=1
    )
    keep("tree_events", 30)
    trim.trim(seconds=60)
    waiting = delivery._waiting(webhook)
    assert waiting[0]["seq"] == floor_of(tree) + 1


def test_events_of_views_are_trimmed_after_90_days(actor: Actor, tree: Tree) -> None:
    ids = write(actor, tree, 10)
    with pytest.MonkeyPatch.context() as then:
        then.setattr(timezone, "now", lambda: LONG_AGO)
        for local_id in ids:
            execute_line(actor, tree, Request(f"switch to {local_id}"))
    views = Event.objects.filter(stream__name__startswith="workspace:")
    before = views.count()
    assert before > 10
    assert trim.trim(seconds=60)["view_events"] == before - 5
    assert views.count() == 5


def test_only_looks_lose_their_steps(actor: Actor, tree: Tree) -> None:
    ids = write(actor, tree, 3)
    with pytest.MonkeyPatch.context() as then:
        then.setattr(timezone, "now", lambda: LONG_AGO)
        for line in (f"view {ids[0]}", 'find "lamp"', f"tag {ids[0]} #one", "undo", "tree"):
            execute_line(actor, tree, Request(line))
    execute_line(actor, tree, Request('find "lamps"'))
    keep("look_steps", 30)
    counted = trim.counted(timezone.now())["look_steps"]
    gone = trim.trim(seconds=60)["look_steps"]
    left = {step.line.split()[0] for step in Step.objects.filter(workspace__isnull=False)}
    assert gone == counted.rows and gone >= 2
    assert {"respond", "tag"} <= left
    assert list(Step.objects.filter(line__startswith="find").values_list("line", flat=True)) == [
        'find "lamps"'
    ]
    client = APIClient()
    client.force_authenticate(actor.user)
    verified = client.get(f"/api/trees/{tree.uid}/verify").json()
    assert verified["status"] == "valid", verified
    execute_line(actor, tree, Request("redo"))


def test_requests_go_and_answers_still_prove(actor: Actor, tree: Tree, muse: Participant) -> None:
    import gzip
    import hashlib

    answer = b'{"choices": []}'
    calls = []
    for purpose, at in (("continue", LONG_AGO), ("gateway", LONG_AGO), ("continue", None)):
        call = Call.objects.create(
            tree=tree,
            participant=muse,
            purpose=purpose,
            provider="openai",
            configuration="c",
            request={"url": "u", "headers": {}, "body": {"messages": ["KESTREL" * 50]}},
            response=gzip.compress(answer),
            sha256=hashlib.sha256(answer).hexdigest(),
            note="read the last 10 tokens" if purpose == "continue" else "",
            sealed_at=timezone.now(),
        )
        if at is not None:
            Call.objects.filter(pk=call.pk).update(started_at=at)
        calls.append(call)
    keep("call_requests", 7)
    counted = trim.counted(timezone.now())["call_requests"]
    assert (counted.rows, counted.bytes > 0) == (1, True)
    assert trim.trim(seconds=60)["call_requests"] == 1
    kept = [bool(Call.objects.get(pk=call.pk).request) for call in calls]
    assert kept == [False, True, True]
    first = Call.objects.get(pk=calls[0].pk)
    assert first.note == "read the last 10 tokens The request is no longer kept."
    assert set(verdicts_of(tree, [call.uid for call in calls]).values()) == {"sealed"}
    # The answers go by a rule of their own, and prove no more.
    keep("call_answers", 7)
    assert trim.trim(seconds=60) == {"call_answers": 1}
    rows = [Call.objects.get(pk=call.pk) for call in calls]
    assert [bool(row.response) for row in rows] == [False, True, True]
    assert rows[0].headers == {}
    assert rows[0].sha256 == hashlib.sha256(answer).hexdigest()
    assert rows[0].note.endswith("The answer is no longer kept.")
    verdicts = verdicts_of(tree, [call.uid for call in calls])
    assert [verdicts[call.uid] for call in calls] == ["open", "sealed", "sealed"]
    Call.objects.filter(pk=calls[2].pk).update(response=b"")  # not by the rule
    assert verdicts_of(tree, [calls[2].uid]) == {calls[2].uid: "broken"}


def test_what_was_typed_in_a_resting_document_is_merged(actor: Actor, grove: Grove) -> None:
    from loom.documents.actions import make_document

    document = make_document(actor, title="Notes", text="One.")
    for number in range(4):
        write_document(actor, Document.objects.get(pk=document.pk), append=f"Line {number}.")
    settle(Document.objects.select_related("grove").get(pk=document.pk))
    text = opened(document).text
    updates = DocumentUpdate.objects.filter(document=document)
    assert updates.count() > 1
    assert "document_updates" not in trim.trim(seconds=60)  # it does not rest yet
    Document.objects.filter(pk=document.pk).update(touched_at=LONG_AGO)
    many = updates.count()
    assert trim.counted(timezone.now())["document_updates"].rows == many
    assert trim.trim(seconds=60)["document_updates"] == many
    assert updates.count() == 0
    assert DocumentState.objects.filter(document=document).exists()
    assert opened(document).text == text
    write_document(actor, Document.objects.get(pk=document.pk), append="After.")
    assert opened(document).text.endswith("After.")


def test_an_operator_says_for_how_long(boss: User, owner: User) -> None:
    client = Client()
    client.force_login(boss)

    def sent(**fields: Any) -> str:
        return client.post("/operator/do/keep", fields, follow=True).content.decode()

    assert "Saved." in sent(rule="tree_events", days="60")
    assert TrimSetting.objects.get().days == 60
    assert 'value="60"' in client.get("/operator/storage").content.decode()
    assert "Saved." in sent(rule="tree_events", days="")
    assert TrimSetting.objects.get().days == 0
    for days in ("29", "99999999", "-5", "a"):
        assert "Saved." not in sent(rule="tree_events", days=days)
    assert "was not found" in sent(rule="nothing", days="60")
    assert TrimSetting.objects.get().days == 0
    with pytest.raises(CommandError):
        commands.keep_for(owner, "tree_events", 60)


def test_the_page_and_the_command_say_what_it_would_free(
    boss: User, actor: Actor, tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    write(actor, tree, 12)
    measuring.measure()
    client = Client()
    client.force_login(boss)
    rows = Stream.objects.get(name=f"tree:{tree.uid}").head - 5
    shown = client.get("/operator/storage").content.decode()
    assert f'<td class="number" data-column="Older rows">{rows}</td>' in shown
    call_command("trim", "--dry-run")
    out = capsys.readouterr().out
    assert f"tree_events (for ever; older than 90 days): {rows} rows, " in out
    assert floor_of(tree) == 0
    keep("tree_events", 30)
    call_command("trim")
    assert f"tree_events: {rows} rows" in capsys.readouterr().out
    assert floor_of(tree) == rows


def test_no_batch_holds_the_lock_for_more_than_its_rows(actor: Actor, tree: Tree) -> None:
    write(actor, tree, 12)
    keep("tree_events", 30)
    rule = trim_rules()["tree_events"]
    for many in rule.trim(timezone.now()):
        assert many <= 3
        assert not connection.in_atomic_block or connection.savepoint_ids == []


def test_a_worker_trims_once_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    cache.delete("operations:trimmed")
    monkeypatch.setattr("loom.engine.jobs.enqueue", lambda task, *_, **__: asked.append(task))
    assert (tasks.trim_hourly(), tasks.trim_hourly()) == (1, 0)
    assert asked == [tasks.TRIM]
