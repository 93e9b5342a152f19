"""While an answer comes: what viewers see, what the row holds, and how it is ended early."""

import pytest
from django.utils import timezone

from agents import tasks
from agents.providers.transport import the_loop
from agents.runs import begin_lane
from loom.engine.models import Event
from loom.trees.models import Tree
from loom.turns import generation_lifecycle
from loom.turns.models import Generation
from tests.agents.conftest import Running, Say, a_moment, again, run
from tests.agents.watching import Watcher
from tests.heartbeats import beat
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, holds, says, stalls, tokens

pytestmark = pytest.mark.django_db(transaction=True)


def until_row(generation: Generation, chunk: int) -> Generation:
    """The row, once it holds the pieces up to `chunk`; written four times a second."""
    for _ in range(400):
        row = again(generation)
        if row.chunk >= chunk:
            return row
        the_loop().run(a_moment())
    raise AssertionError("the row was not written")


def test_viewers_see_the_first_piece_at_once_and_the_row_keeps_it(
    ask: Say, tree: Tree, provider: ScriptedProvider
) -> None:
    provider.script(holds("She ", HOLD, "was ", "cold."))
    asked = ask()[0]
    with Watcher(tree) as viewer:
        running = Running(asked)
        first = viewer.wait_for(1)[0]
        assert first == {"type": "delta", "generation": asked.uid, "chunk": 1, "text": "She "}
        row = until_row(asked, 1)
        assert (row.status, row.shown, row.chunk) == ("running", "She ", 1)
        provider.release()
        row = running.ended()
        viewer.wait_for_text("She was cold.")
    assert [delta["chunk"] for delta in viewer.deltas] == list(range(1, row.chunk + 1))
    assert (row.shown, row.status) == ("She was cold.", "done")


def test_quick_pieces_are_merged_without_losing_any(
    ask: Say, tree: Tree, provider: ScriptedProvider
) -> None:
    provider.script(tokens(300))
    with Watcher(tree) as viewer:
        row = run(ask()[0])
        viewer.wait_for_text(row.shown)
    assert row.shown == "".join(f"word{n} " for n in range(1, 301))
    assert [delta["chunk"] for delta in viewer.deltas] == list(range(1, row.chunk + 1))
    assert row.chunk < 100


def test_what_is_stopped_keeps_its_text(ask: Say, tree: Tree, provider: ScriptedProvider) -> None:
    provider.script(stalls("She ", "was "))
    asked = ask()[0]
    with Watcher(tree) as viewer:
        running = Running(asked)
        viewer.wait_for_text("She was ")
        generation_lifecycle.ask_stop(again(asked))
        row = running.ended()
    assert (row.status, row.finish, row.shown) == ("stopped", "interrupted:stopped", "She was ")
    assert row.node is not None
    assert row.node.text == "She was "
    assert row.error is None
    provider.wait_for_break()
    assert row.call is not None
    assert row.call.sealed_at is not None


def test_what_is_stopped_before_its_first_word_makes_no_node(
    ask: Say, provider: ScriptedProvider
) -> None:
    provider.script(stalls())
    asked = ask()[0]
    running = Running(asked)
    provider.wait_for(1)
    generation_lifecycle.ask_stop(again(asked))
    row = running.ended()
    assert (row.status, row.node, row.error) == ("stopped", None, None)


def test_what_is_stopped_before_it_began_never_begins(ask: Say, provider: ScriptedProvider) -> None:
    asked = ask()[0]
    generation_lifecycle.ask_stop(asked)
    assert run(asked).status == "stopped"
    assert not provider.seen


def interrupt_all(why: str) -> None:
    the_loop().loop.call_soon_threadsafe(tasks._interrupt_all, why)


def test_a_worker_that_is_told_to_stop_keeps_what_came(
    ask: Say, tree: Tree, provider: ScriptedProvider
) -> None:
    provider.script(stalls("She "))
    asked = ask()[0]
    with Watcher(tree) as viewer:
        running = Running(asked)
        viewer.wait_for(1)
        interrupt_all("worker stopped")
        row = running.ended()
    assert (row.status, row.finish) == ("interrupted", "interrupted:worker stopped")
    assert row.node is not None
    assert row.node.finish == "interrupted:worker stopped"


def test_a_worker_that_is_told_to_stop_puts_back_what_has_not_begun(
    ask: Say, provider: ScriptedProvider
) -> None:
    provider.script(stalls(), says("later"))
    asked = ask()[0]
    running = Running(asked)
    provider.wait_for(1)
    interrupt_all("worker stopped")
    row = running.ended()
    assert row.status == "running"
    assert row.leased_until is not None
    assert row.leased_until <= timezone.now()
    row = run(asked)
    assert (row.status, row.shown, row.tries) == ("done", "later", 2)
    assert Event.objects.filter(kind="generation.started").count() == 1


def expire(generation: Generation) -> None:
    Generation.objects.filter(pk=generation.pk).update(leased_until=timezone.now())


def test_text_of_a_lost_worker_lands_as_interrupted(ask: Say, provider: ScriptedProvider) -> None:
    asked = ask()[0]
    generation_lifecycle.take(asked.uid, lease="dead", seconds=60)
    beat(asked.uid, "dead", "She was", chunk=3, seconds=60)
    assert tasks.sweep() == 0
    expire(asked)
    assert tasks.sweep() == 1
    row = again(asked)
    assert (row.status, row.finish) == ("interrupted", "interrupted:worker lost")
    assert row.node is not None
    assert row.node.text == "She was"
    assert not provider.seen


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lanes that the sweeper hands over."""
    lanes: list[str] = []
    monkeypatch.setattr("loom.turns.lanes.hand_over", lanes.append)
    return lanes


def test_a_lost_worker_that_had_nothing_is_followed_by_another(
    ask: Say, provider: ScriptedProvider, sent: list[str]
) -> None:
    asked = ask()[0]
    sent.clear()
    generation_lifecycle.take(asked.uid, lease="dead", seconds=60)
    expire(asked)
    assert tasks.sweep() == 1
    assert sent == [asked.lane]
    assert run(asked).status == "done"


def test_what_three_workers_were_lost_over_is_given_up(
    ask: Say, provider: ScriptedProvider
) -> None:
    asked = ask()[0]
    for lease in ("one", "two", "three"):
        assert generation_lifecycle.take(asked.uid, lease=lease, seconds=60)
        expire(asked)
    row = run(asked)
    assert row.status == "failed"
    assert not provider.seen


def test_what_a_broker_forgot_is_sent_again(
    ask: Say, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ask("continue n:2")[0]
    sent.clear()
    assert tasks.sweep() == 0
    monkeypatch.setattr(tasks, "FORGOTTEN_S", 0)
    assert tasks.sweep() == 2
    assert sent == [asked.lane]


def test_a_run_whose_lease_went_to_another_writes_nothing_more(
    ask: Say, tree: Tree, provider: ScriptedProvider
) -> None:
    provider.script(stalls("She "))
    asked = ask()[0]
    with Watcher(tree) as viewer:
        running = Running(asked)
        viewer.wait_for(1)
        Generation.objects.filter(pk=asked.pk).update(lease="another")
        row = running.ended()
    assert (row.status, row.node) == ("running", None)
    provider.wait_for_break()


def test_two_tasks_for_one_generation_make_one_request(
    ask: Say, provider: ScriptedProvider
) -> None:
    provider.script(stalls())
    asked = ask()[0]
    first = Running(asked)
    provider.wait_for(1)
    Running(asked).ended()
    generation_lifecycle.ask_stop(again(asked))
    first.ended()
    assert len(provider.seen) == 1


def test_who_begins_a_lane_takes_all_candidates_of_a_line(
    ask: Say, provider: ScriptedProvider
) -> None:
    first, second, third = ask("continue n:3")
    generation_lifecycle.ask_stop(first)
    held = begin_lane(first.lane)
    assert [call.generations for call in held] == [(second,), (third,)]
    assert begin_lane(second.lane) == []
    assert again(first).status == "stopped"


def test_taking_twice_gives_nothing_the_second_time(ask: Say) -> None:
    asked = ask()[0]
    assert len(begin_lane(asked.lane)) == 1
    assert begin_lane(asked.lane) == []
    assert begin_lane("unknown") == []
