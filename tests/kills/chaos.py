"""Random kills under load, and what must be true after each round of them."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.kills.heddle import until
from tests.kills.house import House
from tests.kills.load import Person, Told
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

ENDED_S = 90
PAUSE_S = (0.0, 1.2)  # between two kills
# How often each is in the bag: processes that take seconds to start need time to work in between.
SHARES = {"broker": 3, "web": 2, "worker": 1, "backend": 3, "postmaster": 1}
WHOLE = tokens(30, rate=20)  # what the provider answers, in a second and a half


@dataclass
class Score:
    """The counts of a run."""

    killed: Counter[str] = field(default_factory=Counter)
    texts: int = 0
    repeated: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0

    def __str__(self) -> str:
        kills = ", ".join(f"{name} {count}" for name, count in sorted(self.killed.items()))
        ends = ", ".join(f"{name} {count}" for name, count in sorted(self.ends.items()))
        return (
            f"{self.killed.total()} kills ({kills}); {self.texts} texts acknowledged, "
            f"{self.repeated} of them at a repeat; generations: {ends}; the last of a round "
            f"ended {self.slowest_s:.1f} s after all was well at most"
        )


class Chaos:
    """One running Heddle, one tree, many kills."""

    def __init__(
        self,
        house: House,
        provider: ScriptedProvider,
        *,
        seed: int,
        client: httpx.Client | None = None,
    ) -> None:
        self._house, self._seed = house, seed
        self._dice = random.Random(seed)
        self._client = client or house.client()
        body = {"name": "Scripted", "model_ref": "openai:scripted", "base_url": provider.url}
        answer = self._client.post("/participants", json={**body, "endpoint": "chat"})
        assert answer.status_code == 201, answer.text
        self.tree = str(
            self._client.post("/trees", json={"title": "Kills", "mode": "dialogue"}).json()["id"]
        )
        self._told = Told()
        self._bag: list[str] = []
        self.score = Score()
        self.head = 0  # of the tree's log at the last look

    def round(self, kills: int) -> None:
        """That many kills while two people write; then checks everything that must be true."""
        people = self.people()
        for person in people:
            person.start()
        for _ in range(kills):
            time.sleep(self._dice.uniform(*PAUSE_S))
            self.kill(self._drawn())
        self.look(people)

    def people(self, *, pause_s: float = 0.04) -> list[Person]:
        """Two people who will write and ask; `pause_s` passes between two lines at most."""
        names = [f"{name}{self.score.killed.total()}" for name in ("Ada", "Ben")]
        return [
            Person(self._client, self.tree, name, self._seed, pause_s=pause_s) for name in names
        ]

    def kill(self, name: str) -> None:
        """Kills one of the processes, and counts it."""
        self._house.kill(name)
        self.score.killed[name] += 1

    def look(self, people: Sequence[Person]) -> None:
        """Lets everybody finish, waits until all is well, and checks everything that must be
        true."""
        self._house.wait()
        for told in [person.finish() for person in people]:
            self._told.texts |= told.texts
            self._told.generations += told.generations
            self._told.shown |= told.shown
            self._told.pruned |= told.pruned
            self.score.repeated += told.repeated
        self._house.wait()
        began = time.monotonic()
        until(self._all_ended, seconds=ENDED_S, what="every generation's end", tell=self._tell)
        self.score.slowest_s = max(self.score.slowest_s, time.monotonic() - began)
        self._check()

    def _drawn(self) -> str:
        if not self._bag:
            self._bag = [name for name in self._house.names for _ in range(SHARES[name])]
            self._dice.shuffle(self._bag)
        return self._bag.pop()

    def _events(self) -> list[dict[str, Any]]:
        """All events of the tree, page by page."""
        events: list[dict[str, Any]] = []
        while True:
            since = {"since": events[-1]["seq"] if events else 0}
            page = self._client.get(f"/trees/{self.tree}/events", params=since).json()
            events += page["events"]
            if not page["events"] or events[-1]["seq"] >= page["head"]:
                return events

    def _all_ended(self) -> bool:
        kinds = Counter(event["kind"] for event in self._events())
        return kinds["generation.started"] == kinds["generation.ended"]

    def _tell(self) -> str:
        """The generations that have not ended, and the state of the processes."""
        rows = self._house.rows(
            "SELECT uid, status, lease, leased_until, tries, lane, note FROM turns_generation "
            "WHERE status IN ('queued', 'running') OR ended_at IS NULL"
        )
        return "\n".join(["not ended:", *map(str, rows), self._house.tell()])

    def _check(self) -> None:
        events = self._events()
        self.head = len(events)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        added = _of(events, "node.added", "node")
        nodes = {node["id"]: node for node in added}
        assert len(nodes) == len(added)
        self._check_texts(nodes)
        self._check_generations(events, nodes)
        self._check_state(nodes)

    def _check_texts(self, nodes: dict[str, Any]) -> None:
        """Each acknowledged text is there, once, and no other text."""
        texts = {key: node["text"] for key, node in nodes.items() if " says " in node["text"]}
        assert texts == self._told.texts
        assert len(set(texts.values())) == len(texts)
        self.score.texts = len(texts)

    def _check_generations(self, events: list[Any], nodes: dict[str, Any]) -> None:
        """Each has begun and ended once, and what was shown of it is in its node."""
        started = [
            generation["id"] for generation in _of(events, "generation.started", "generation")
        ]
        ended = {
            generation["id"]: generation
            for generation in _of(events, "generation.ended", "generation")
        }
        assert sorted(started) == sorted(self._told.generations)
        assert sorted(ended) == sorted(started)
        written = [generation["node"] for generation in ended.values() if generation["node"]]
        assert len(written) == len(set(written))
        assert len(nodes) == 1 + len(self._told.texts) + len(written)
        for uid, generation in ended.items():
            text = nodes[generation["node"]]["text"] if generation["node"] else ""
            assert text.startswith(self._told.shown.get(uid, "")), (uid, text)
            assert "".join(map(str, WHOLE.pieces)).startswith(text), text
            assert generation["finish"] == "complete" or generation["finish"].startswith(
                "interrupted:"
            )
        self.score.ends = Counter(generation["finish"] for generation in ended.values())

    def _check_state(self, nodes: dict[str, Any]) -> None:
        """The rows equal what the events say."""
        page = self._client.get(f"/trees/{self.tree}").json()
        assert page["node_count"] == len(nodes)
        for key in self._dice.sample(sorted(nodes), min(20, len(nodes))):
            row = self._client.get(f"/trees/{self.tree}/nodes/{key}").json()
            for name in ("text", "hash", "finish", "parent", "kind"):
                assert row[name] == nodes[key][name], (key, name)
            assert row["pruned"] == (key in self._told.pruned), key
        # From the database: after an hour they are more than one person may ask for in a minute.
        pruned = self._house.rows("SELECT local_id FROM trees_node WHERE pruned")
        assert {key for (key,) in pruned} == self._told.pruned
        # Incomplete at most: the answer to a killed worker was never sealed.
        verified = self._client.get(f"/trees/{self.tree}/verify").json()
        assert verified["status"] in ("valid", "incomplete"), verified


def _of(events: list[dict[str, Any]], kind: str, name: str) -> list[dict[str, Any]]:
    return [event["payload"][name] for event in events if event["kind"] == kind]
