"""Processes killed in every state of a turn: it goes on or is clearly interrupted, with
nothing doubled, and its slot is free."""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from loom.participants.budgets import BUDGETS
from tests.kills.heddle import until
from tests.kills.house import House
from tests.kills.postgres import Postgres
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, says, stalls

pytestmark = pytest.mark.kill
postgres_only = pytest.mark.postgres
ON_POSTGRES = os.environ.get("DATABASE_URL", "").startswith("postgres")
SAID = 'One.\n→ annotate here "a"\n→ annotate here "b"\n→ list here\n'
# What is written on the way into or out of a state; whoever writes it waits at the gate.
GATES = {
    "leased": ("UPDATE", "turns_turn", "NEW.status = 'assembling' AND NEW.round = 1"),
    "assembling": ("INSERT", "turns_generation", "NEW.round > 0"),
    "heard": ("UPDATE", "turns_turn", "NEW.status = 'executing'"),
    "executing": ("INSERT", "engine_step", "NEW.turn_place = '1.2'"),
    "between rounds": ("UPDATE", "turns_turn", "NEW.round = 2"),
    "finishing": ("INSERT", "trees_node", "NEW.generation_uid <> ''"),
}
LOCK = 4242


class Scene:
    """One house, an agent in it, and a model that it may ask."""

    def __init__(self, house: House, provider: ScriptedProvider, postgres: Postgres | None) -> None:
        self.house, self.provider, self._postgres = house, provider, postgres
        self.client = house.client()
        base = {"model_ref": "openai:scripted", "base_url": provider.url, "endpoint": "chat"}
        aware = {"name": "Marie", "permissions": ["loom_aware", "loom_write", "loom_generate"]}
        # However long it takes to start what was killed, no turn ends by its time.
        grove = self.client.get("/groves").json()["results"][0]["id"]
        hours = {f"{preset}_seconds": 3600 for preset in BUDGETS}
        patient = self.client.patch(f"/groves/{grove}/settings", json=hours)
        assert patient.status_code == 200, patient.text
        self.agent = self._made("/participants", {**base, **aware, "context_limit": 50_000})
        self._made("/participants", {**base, "name": "Other"})
        self.tree = self.point = ""

    def _made(self, path: str, body: dict[str, Any]) -> str:
        answer = self.client.post(path, json=body)
        assert answer.status_code in (201, 202), answer.text
        return str(answer.json()["id"])

    def asked(self) -> str:
        """A turn at the first text of a new tree."""
        self.tree = self._made("/trees", {"title": "Kills", "mode": "dialogue"})
        line = {"line": 'respond root "Begin."'}
        self.point = self.client.post(f"/trees/{self.tree}/commands", json=line).json()["refs"][0]
        return self.again()

    def again(self) -> str:
        """Another turn at the same node."""
        body = {"participant": self.agent, "node": self.point}
        return self._made(f"/trees/{self.tree}/turns", body)

    def ended(self, turn: str) -> dict[str, Any]:
        """The turn, once it has ended."""

        def look() -> dict[str, Any] | None:
            answer = self.client.get(f"/turns/{turn}")
            row = dict(answer.json()) if answer.status_code == 200 else {}
            return row if row.get("ended_at") else None

        return dict(until(look, what="the turn's end", tell=self.house.tell))

    def killed(self, name: str) -> None:
        """A kill, until all is well again."""
        self.house.kill(name)
        self.house.wait()

    @contextmanager
    def gate(self, state: str) -> Iterator[psycopg.Connection[Any]]:
        """Whoever leaves a state waits until the block is left."""
        assert self._postgres is not None
        deed, table, when = GATES[state]
        with psycopg.connect(self._postgres.url, autocommit=True) as open_one:
            open_one.execute(
                "CREATE OR REPLACE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN PERFORM pg_advisory_xact_lock({LOCK}); RETURN NEW; END $$"
            )
            open_one.execute(
                f"CREATE TRIGGER gate BEFORE {deed} ON {table} FOR EACH ROW "
                f"WHEN ({when}) EXECUTE FUNCTION gate()"
            )
            open_one.execute(f"SELECT pg_advisory_lock({LOCK})")
            try:
                yield open_one
            finally:
                open_one.execute(f"SELECT pg_advisory_unlock({LOCK})")
                open_one.execute(f"DROP TRIGGER gate ON {table}")

    def events(self) -> list[dict[str, Any]]:
        """All events of the tree."""
        page = self.client.get(f"/trees/{self.tree}/events", params={"limit": 1000}).json()
        return list(page["events"])

    def check(self, turn: dict[str, Any], notes: list[str]) -> None:
        """Nothing is there twice, everything that began has ended, and the slot is free."""
        events = self.events()
        kinds = Counter(event["kind"] for event in events)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert (kinds["turn.started"], kinds["turn.ended"]) == (1, 1)
        assert kinds["generation.started"] == kinds["generation.ended"]
        nodes = [event["payload"]["node"] for event in events if event["kind"] == "node.added"]
        own = [node for node in nodes if node["author"]["id"] == self.agent]
        assert [node["text"] for node in own if node["kind"] == "annotation"] == notes
        answers = [node["id"] for node in own if node["kind"] == "text"]
        assert answers == ([turn["node"]] if turn["node"] else [])
        steps = self.client.get("/steps", params={"turn": turn["id"]}).json()["results"]
        places = [step["place"] for step in steps]
        assert len(places) == len(set(places))
        sealed = [event["payload"]["call"] for event in events if event["kind"] == "call.sealed"]
        assert len(sealed) == len(set(sealed))
        self.provider.script(says("Free."))
        assert self.ended(self.again())["status"] == "done"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    # Not below pytest's folder: any other pytest closes that for all users but its own.
    with (
        tempfile.TemporaryDirectory(prefix="heddle-postgres-") as temporary_directory,
        ScriptedProvider() as provider,
    ):
        postgres = Postgres(Path(temporary_directory)) if ON_POSTGRES else None
        if postgres is not None:
            postgres.start()
        data = tmp_path_factory.mktemp("turns")
        house = House(data, allow=provider.entry, postgres=postgres)
        try:
            house.start()
            yield Scene(house, provider, postgres)
        finally:
            house.stop()
            if postgres is not None:
                postgres.stop()


@pytest.fixture(autouse=True)
def no_script_of_another_test(scene: Scene) -> None:
    scene.provider.forget()


def _is_waiting(gate: psycopg.Connection[Any]) -> bool:
    asked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    row = gate.execute(asked).fetchone()
    return bool(row and row[0])


@postgres_only
@pytest.mark.parametrize("state", GATES)
def test_a_worker_killed_between_two_states_leaves_a_turn_that_goes_on(
    state: str, scene: Scene
) -> None:
    scene.provider.script(says(SAID), says("Two."))
    with scene.gate(state) as gate:
        uid = scene.asked()
        until(lambda: _is_waiting(gate), what=f"a turn that leaves {state}")
        scene.house.kill("worker")
    scene.house.wait()
    turn = scene.ended(uid)
    assert (turn["status"], turn["usage"]["steps"]) == ("done", 3)
    node = scene.client.get(f"/trees/{scene.tree}/nodes/{turn['node']}").json()
    assert (node["text"], node["finish"]) == ("Two.", "complete")
    scene.check(turn, ["a", "b"])


def test_a_turn_that_was_asked_while_no_worker_ran_goes_on_with_the_next(scene: Scene) -> None:
    scene.provider.script(says(SAID), says("Two."))
    scene.house.kill("worker")
    turn = scene.ended(scene.asked())
    assert turn["status"] == "done", turn
    scene.check(turn, ["a", "b"])


def test_a_worker_killed_before_a_word_came_leaves_a_round_that_is_asked_again(
    scene: Scene,
) -> None:
    scene.provider.script(stalls(), says(SAID), says("Two."))
    seen = len(scene.provider.seen)
    uid = scene.asked()
    scene.provider.wait_for(seen + 1)
    scene.killed("worker")
    turn = scene.ended(uid)
    assert turn["status"] == "done", turn
    scene.check(turn, ["a", "b"])


def _writes(scene: Scene, turn: str) -> Any:
    rounds = scene.client.get(f"/turns/{turn}").json().get("generations")
    return rounds and scene.client.get(f"/generations/{rounds[-1]}").json().get("text")


def test_a_worker_killed_in_the_middle_of_a_round_leaves_its_text_with_the_reason(
    scene: Scene,
) -> None:
    scene.provider.script(stalls('Half.\n→ annotate here "a"\nmore '))
    uid = scene.asked()
    until(lambda: _writes(scene, uid), what="some text of the round")
    scene.killed("worker")
    turn = scene.ended(uid)
    assert (turn["status"], turn["finish"]) == ("interrupted", "interrupted:worker lost")
    node = scene.client.get(f"/trees/{scene.tree}/nodes/{turn['node']}").json()
    assert (node["text"], node["finish"]) == ("Half.\nmore", "interrupted:worker lost")
    scene.check(turn, [])


def test_a_worker_killed_while_a_line_waits_for_candidates_lets_the_turn_go_on(
    scene: Scene,
) -> None:
    line = 'One.\n→ continue using agent:"Other"\n'
    scene.provider.script(says(line, "x"), stalls("Some "), says("Two."))
    uid = scene.asked()

    def candidate() -> Any:
        started = [event for event in scene.events() if event["kind"] == "generation.started"]
        uids = [event["payload"]["generation"]["id"] for event in started]
        return len(uids) == 2 and scene.client.get(f"/generations/{uids[1]}").json()["text"]

    until(candidate, what="a candidate that writes")
    scene.killed("worker")
    turn = scene.ended(uid)
    assert turn["status"] == "done", turn
    asked = scene.provider.seen[-1].json["messages"][-1]["content"]
    assert "Some" in asked and "interrupted" in asked
    scene.check(turn, [])


@pytest.mark.parametrize("name", ["web", "broker", pytest.param("backend", marks=postgres_only)])
def test_what_else_dies_while_a_round_is_written_does_not_end_the_turn(
    name: str, scene: Scene
) -> None:
    scene.provider.script(says("One.\n", HOLD, *SAID.split("\n", 1)[1:]), says("Two."))
    uid = scene.asked()
    until(lambda: _writes(scene, uid), what="some text of the round")
    scene.killed(name)
    scene.provider.release()
    turn = scene.ended(uid)
    assert turn["status"] == "done", turn
    scene.check(turn, ["a", "b"])


@postgres_only
def test_a_database_that_is_away_for_long_leaves_the_text_that_came(scene: Scene) -> None:
    scene.provider.script(stalls("One.\n"))
    uid = scene.asked()
    until(lambda: _writes(scene, uid), what="some text of the round")
    scene.killed("postmaster")
    scene.client.post(f"/turns/{uid}/stop", json={})
    turn = scene.ended(uid)
    # Whose lease ran out meanwhile was taken for lost; whose did not was stopped.
    assert turn["finish"] in ("interrupted:stopped", "interrupted:worker lost")
    node = scene.client.get(f"/trees/{scene.tree}/nodes/{turn['node']}").json()
    assert (node["text"], node["finish"]) == ("One.", turn["finish"])
    scene.check(turn, [])
