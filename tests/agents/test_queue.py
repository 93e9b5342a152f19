"""Who begins when: side by side as far as a key bears, and fair between members."""

from collections.abc import Callable, Iterator

import pytest
import redis
from django.conf import settings
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from agents import runs, tasks
from agents.runs import begin_lane
from loom.access import Actor, get_actor
from loom.engine import put_aside
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, Participant, User
from loom.platform.broker import broker
from loom.reading.queries.path_page import candidates_of
from loom.trees.models import Tree
from loom.turns import generation_lifecycle, lanes
from loom.turns.models import Generation, Lane
from tests.agents.conftest import Running, Say, again, run
from tests.kills.heddle import until
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, fails, holds, says, tokens

pytestmark = pytest.mark.django_db(transaction=True)
AROUND = ("PRAGMA", "BEGIN", "COMMIT", "SET LOCAL")  # what databases send for a transaction


@pytest.fixture
def other(writer: User, grove: Grove) -> Actor:
    """A second member."""
    return get_actor(writer, grove)


def bears(model: Participant, many: int) -> None:
    Participant.objects.filter(pk=model.pk).update(parallel=many)


def order_of(lane: str) -> list[Generation]:
    """All that waits in a lane, in the order in which it begins, one at a time."""
    order: list[Generation] = []
    while True:
        taken = lanes.begin(lane, lease="x", seconds=60)
        if not taken:
            return order
        for generation in taken:
            order.append(generation)
            generation_lifecycle.end_generation(
                generation.uid, lease="x", text="", chunk=0, finish="complete"
            )


def test_fifty_of_one_member_do_not_hold_up_the_one_of_another(
    ask: Say, other: Actor, tree: Tree, model: Participant
) -> None:
    bears(model, 1)
    lane = lanes.lane_of(model)
    for _ in range(5):
        ask("continue n:10")
    first = lanes.begin(lane, lease="x", seconds=60)
    assert len(first) == 1
    own = execute_line(other, tree, Request("continue")).body["generations"]
    generation_lifecycle.end_generation(
        first[0].uid, lease="x", text="", chunk=0, finish="complete"
    )
    order = [generation.uid for generation in order_of(lane)]
    assert order.index(own[0]) <= 1
    assert len(order) == 50


def test_members_take_turns_whatever_each_asked_for(
    ask: Say, other: Actor, tree: Tree, model: Participant
) -> None:
    bears(model, 1)
    ask("continue n:10")
    execute_line(other, tree, Request("continue n:5"))
    payers = [generation.payer for generation in order_of(lanes.lane_of(model))]
    for done in range(2, 11, 2):
        assert payers[:done].count(other.person) == done // 2


def test_a_place_is_kept_for_somebody_new(
    ask: Say, other: Actor, tree: Tree, model: Participant
) -> None:
    bears(model, 8)
    lane = lanes.lane_of(model)
    ask("continue n:10")
    assert len(lanes.begin(lane, lease="x", seconds=60)) == 7
    assert lanes.begin(lane, lease="x", seconds=60) == []
    execute_line(other, tree, Request("continue n:2"))
    taken = lanes.begin(lane, lease="x", seconds=60)
    assert [generation.payer for generation in taken] == [other.person]


def test_no_more_are_asked_at_once_than_the_key_bears(
    ask: Say, provider: ScriptedProvider, model: Participant
) -> None:
    bears(model, 2)
    provider.script(*[holds("a", HOLD, "b")] * 5)
    asked = ask("continue n:5")
    running = Running(asked[0])
    provider.wait_for(2)
    assert Generation.objects.filter(status="running").count() == 2
    for _ in asked:
        provider.release()
    running.ended()
    assert [again(generation).shown for generation in asked] == ["ab"] * 5
    assert len(provider.seen) == 5


def test_what_shares_a_key_shares_its_places(
    ask: Say, grove: Grove, model: Participant, provider: ScriptedProvider
) -> None:
    twin = Participant.objects.create(
        grove=grove, kind="model", name="Twin", model_ref="openai:t", base_url=provider.url
    )
    Participant.objects.filter(pk__in=[model.pk, twin.pk]).update(lane="one key", parallel=2)
    ask('continue n:2 using agent:"Echo" agent:"Twin"')
    assert len(lanes.begin("one key", lease="x", seconds=60)) == 2
    assert Generation.objects.filter(status="queued").count() == 2


def test_those_that_wait_know_their_place(ask: Say, other: Actor, tree: Tree) -> None:
    asked = ask("continue n:3")
    late = execute_line(other, tree, Request("continue")).body["generations"]
    rows = [*asked, Generation.objects.get(uid=late[0])]
    coming = candidates_of((), {row.point_id for row in rows}).coming
    before = {generation.pk: generation.before for generation in coming}
    assert [before[row.pk] for row in rows] == [0, 2, 3, 1]


def test_one_that_fails_gives_its_place_to_the_next(
    ask: Say, provider: ScriptedProvider, model: Participant
) -> None:
    bears(model, 1)
    provider.script(fails(401, "bad key"), says("b"))
    asked = ask("continue n:2")
    run(asked[0])
    assert [again(generation).status for generation in asked] == ["failed", "done"]


def test_what_is_stopped_while_it_waits_is_never_asked(
    ask: Say, provider: ScriptedProvider, model: Participant
) -> None:
    bears(model, 1)
    asked = ask("continue n:2")
    generation_lifecycle.ask_stop(asked[1])
    run(asked[0])
    assert again(asked[1]).status == "stopped"
    assert len(provider.seen) == 1


def test_what_is_undone_while_it_waits_ends_at_once(
    ask: Say, actor: Actor, tree: Tree, model: Participant
) -> None:
    bears(model, 1)
    asked = ask("continue n:2")
    execute_line(actor, tree, Request("undo"))
    assert [again(generation).status for generation in asked] == ["stopped", "stopped"]


def test_what_was_stopped_by_a_process_that_is_gone_is_ended_by_the_sweeper(
    ask: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask()[0]
    with monkeypatch.context() as killed:
        killed.setattr(generation_lifecycle, "end_unbegun", lambda uid: None)
        generation_lifecycle.ask_stop(asked)
    assert again(asked).status == "queued"
    assert tasks.sweep() == 1 and tasks.sweep() == 0
    assert again(asked).status == "stopped"


def test_a_lane_goes_on_after_its_worker_was_killed(
    ask: Say, provider: ScriptedProvider, model: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies with one running and two waiting: the rows alone bring all to an end."""
    bears(model, 1)
    asked = ask("continue n:3")
    assert len(begin_lane(lanes.lane_of(model))) == 1
    assert begin_lane(lanes.lane_of(model)) == []
    Generation.objects.filter(status="running").update(leased_until="2020-01-01T00:00:00Z")
    monkeypatch.setattr(tasks, "FORGOTTEN_S", 0)
    sent: list[str] = []
    monkeypatch.setattr("loom.turns.lanes.hand_over", sent.append)
    tasks.sweep()
    assert sent == [lanes.lane_of(model)]
    provider.default = tokens(1)
    run(asked[0])
    assert {again(generation).status for generation in asked} == {"done"}


# How a lane reaches a worker: by the broker, after commit; the rows are the truth.


@pytest.fixture
def handed() -> Iterator[Callable[[], list[str]]]:
    """The lanes that wait at the broker."""
    with redis.Redis.from_url(settings.REDIS_URL, decode_responses=True) as broker:
        broker.delete(lanes.LANES)
        yield lambda: list(broker.lrange(lanes.LANES, 0, -1))


@pytest.fixture
def _a_worker(handed: Callable[[], list[str]]) -> Iterator[None]:
    """A worker that begins what is handed over, in this process."""
    listening = tasks.begin_what_is_handed_over()
    yield
    listening.cancel()


def test_a_lane_is_handed_over_once_what_waits_in_it_is_stored(
    actor: Actor, tree: Tree, model: Participant, handed: Callable[[], list[str]]
) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        execute_line(actor, tree, Request("continue"))
        raise ZeroDivisionError
    execute_line(actor, tree, Request("continue", dry_run=True))
    assert handed() == []
    with transaction.atomic():
        execute_line(actor, tree, Request("continue n:3"))
        assert handed() == []
    assert handed() == [lanes.lane_of(model)]


def test_a_worker_begins_what_is_handed_over(
    ask: Say, provider: ScriptedProvider, _a_worker: None
) -> None:
    provider.default = tokens(3)
    asked = ask("continue n:2")
    until(
        lambda: {again(generation).status for generation in asked} == {"done"},
        what="both have ended",
    )
    assert len(provider.seen) == 2


def test_what_was_handed_over_first_is_begun_first(
    handed: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for lane in ("first", "second", "third"):
        lanes.hand_over(lane)
    begun: list[str] = []

    async def note(lane: str) -> None:
        begun.append(lane)

    monkeypatch.setattr(runs, "begin", note)
    listening = tasks.begin_what_is_handed_over()
    until(lambda: len(begun) == 3, what="all were taken")
    listening.cancel()
    assert begun == ["first", "second", "third"]


def test_a_generation_whose_put_aside_work_is_dropped_ends_as_failed(ask: Say) -> None:
    asked = ask()[0]
    Generation.objects.filter(pk=asked.pk).update(
        status="running", lease="gone", text="So far", chunk=2
    )
    for _ in range(put_aside.MOST_TRIES):
        put_aside.failed("generation", asked.uid, ValueError("no room"), version=2)
    assert put_aside.drop(put_aside.everywhere(), "generation", asked.uid)
    ended = again(asked)
    assert (ended.status, ended.node, ended.text) == ("failed", None, "So far")
    assert ended.error is not None
    assert ended.error["message"] == "It could not be stored, and an operator gave it up."
    assert not put_aside.drop(put_aside.everywhere(), "generation", asked.uid)


def test_a_broker_that_is_away_loses_nothing(
    ask: Say,
    provider: ScriptedProvider,
    handed: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as away:
        away.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
        asked = ask()[0]
    assert (asked.status, handed()) == ("queued", [])
    broker.answered()
    monkeypatch.setattr(tasks, "FORGOTTEN_S", 0)
    tasks.sweep()
    assert handed() == [asked.lane]


def test_a_worker_that_ends_begins_nothing_more(
    ask: Say, handed: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    listening = tasks.begin_what_is_handed_over()
    monkeypatch.setattr(runs, "ending", ["worker stopped"])
    asked = ask()[0]
    listening.result(PATIENCE_S)
    assert (again(asked).status, handed()) == ("queued", [asked.lane])


@pytest.mark.parametrize("length", [3, 60])
def test_a_generation_is_begun_and_its_path_read_with_few_queries(
    actor: Actor, tree: Tree, ask: Say, model: Participant, length: int
) -> None:
    for number in range(length):
        execute_line(actor, tree, Request(f'respond "Text {number}."'))
    ask()
    Lane.objects.create(name=lanes.lane_of(model))  # it was asked before
    with CaptureQueriesContext(connection) as captured:
        held = begin_lane(lanes.lane_of(model))
    assert "Text 2." in str(held[0].order.ask.messages)
    queries = [query["sql"] for query in captured if not query["sql"].startswith(AROUND)]
    # PostgreSQL locks the row before it is read with what it is joined to.
    assert len(queries) == 10 + (connection.vendor == "postgresql"), queries
