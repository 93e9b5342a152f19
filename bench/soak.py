"""Minutes of work at an installation whose processes are killed at random: people and agents write,
prune, undo and type in a document, behind the proxy of the web processes.

At the end everything that was acknowledged is looked for, every page must have each event once and
in order, and all copies of the document must be the same. The first web process and the first
worker are never killed: their memory over the time is printed.
Run: python -m bench.soak [--minutes 15] [--processes 2] [--seed N] [--sqlite]

`--processes` is the number of web processes, and that of workers.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from tests.kills.chaos import WHOLE, Chaos
from tests.kills.house import House
from tests.kills.load import Person, Pruner
from tests.kills.many import Listener, Typist, until
from tests.kills.postgres import Postgres, is_able
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider

PAUSE_S = 1.0  # between two lines of a person, at most
KEY_S = 0.1  # between two letters of a typist, at least
LETTERS = 8_000  # of a typist, at most: each is another one, and there are so many ideographs
KILL_S = (2.0, 15.0)  # between two kills
SPARED = ("web", "worker")
SAMPLES = 30
GROWN = 1.15  # from which memory grows: in the last quarter of the time / in the second
TYPISTS, PAGES = 4, 6


class Live:
    """Pages and typists, in a thread of their own: kills have to come from the main one."""

    def __init__(self, house: House, tree: str, document: str, keys: list[str], seconds: float):
        pause_s = max(KEY_S, seconds / LETTERS)
        letters = max(1, int(seconds / pause_s))
        self._pause_s = pause_s
        self._house, self._document, self._key = house, document, keys[0]
        self.pages = [Listener(house.url, tree, keys[at % 2]) for at in range(PAGES)]
        self.typists = [
            Typist(house.url, document, keys[at % 2], at, letters) for at in range(TYPISTS)
        ]
        self.head = 0  # of the tree's log at the end; pages wait for it
        self.has_head = threading.Event()
        self.is_there = threading.Event()  # everybody has the text of the document
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begins to type."""
        self._thread.start()

    def finish(self, head: int) -> None:
        """Waits for the last letter and, at every page, for the event `head`; checks both."""
        self.head = head
        self.has_head.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:  # told by finish, in the main thread
            self.error = error

    async def _live(self) -> None:
        everybody = [*self.pages, *self.typists]
        for person in everybody:
            person.join()
        await until(
            lambda: all(typist.text == "Begin." for typist in self.typists), what="the text"
        )
        self.is_there.set()
        await asyncio.gather(*(typist.type(self._pause_s) for typist in self.typists))
        await asyncio.to_thread(self.has_head.wait)
        letters = Counter("Begin." + "".join(typist.typed for typist in self.typists))
        await until(
            lambda: all(Counter(typist.text) == letters for typist in self.typists),
            what="each letter is in every copy, once",
            tell=lambda: [
                (len(typist.text), typist.connected, typist.refused) for typist in self.typists
            ],
        )
        text = self.typists[0].text
        assert {typist.text for typist in self.typists} == {text}
        client = self._house.client(self._key)

        async def is_stored() -> bool:
            answer = await asyncio.to_thread(client.get, f"/documents/{self._document}")
            return bool(answer.status_code == 200 and answer.json()["text"] == text)

        await until(is_stored, what="the stored text is that of the copies")
        await until(
            lambda: all(page.head >= self.head for page in self.pages),
            what="the last event at every page",
            tell=lambda: [(page.head, page.connected, page.refused) for page in self.pages],
        )
        for page in self.pages:
            assert page.seqs == list(range(1, page.head + 1))
        for person in everybody:
            await person.leave()


class Soak:
    """One run."""

    def __init__(self, house: House, provider: ScriptedProvider, seconds: float, seed: int) -> None:
        self._house, self._seconds, self._dice = house, seconds, random.Random(seed)
        owner = house.make_key()
        client = house.client(owner)
        self.chaos = Chaos(house, provider, seed=seed, client=client)
        grove = client.get("/groves").json()["results"][0]["id"]
        house.manage("adduser", "cleo", "--grove", grove)
        cleo = house.make_key("cleo")
        answer = client.post("/documents", json={"title": "Soak", "text": "Begin."})
        assert answer.status_code == 201, answer.text
        self._people: list[Person] = [
            *self.chaos.people(pause_s=PAUSE_S),
            Pruner(house.client(cleo), self.chaos.tree, "Cleo", seed, pause_s=PAUSE_S),
        ]
        document = answer.json()["id"]
        self.live = Live(house, self.chaos.tree, document, [owner, cleo], seconds)
        self._bag: list[str] = []
        self.memory: list[tuple[float, dict[str, float]]] = []

    def run(self) -> None:
        """Works, kills and samples; then checks. Raises AssertionError at what was lost."""
        for person in self._people:
            person.start()
        self.live.start()
        assert self.live.is_there.wait(2 * PATIENCE_S), self.live.error
        began = time.monotonic()
        kill_at, sample_at = self._next_kill(0.0), 0.0
        while (now := time.monotonic() - began) < self._seconds:
            if now >= sample_at:
                self.memory.append((now, self._house.resident_mb()))
                sample_at += self._seconds / SAMPLES
            if now >= kill_at:
                self.chaos.kill(self._drawn())
                self._house.wait()
                kill_at = self._next_kill(time.monotonic() - began)
            time.sleep(0.1)
        self.chaos.look(self._people)
        self.live.finish(self.chaos.head)
        self.memory.append((time.monotonic() - began, self._house.resident_mb()))

    def _drawn(self) -> str:
        """The next process to kill: each of them before one of them again."""
        if not self._bag:
            self._bag = [name for name in self._house.names if name not in SPARED]
            self._dice.shuffle(self._bag)
        return self._bag.pop()

    def _next_kill(self, now: float) -> float:
        most = min(1.0, self._seconds / 60)  # a short run has some, too
        return now + self._dice.uniform(*KILL_S) * most

    def tell(self) -> list[str]:
        """What was counted, as lines."""
        letters = sum(len(typist.typed) for typist in self.live.typists)
        again = sum(page.connected - 1 for page in self.live.pages)
        lines = [
            str(self.chaos.score),
            f"{self.chaos.head} events at {PAGES} pages, each once and in order, which had to "
            f"connect again {again} times",
            f"{letters} letters of {TYPISTS} typists in every copy and in the stored text",
        ]
        waits = sorted(wait for page in self.live.pages for wait in page.waits_s)
        if waits:
            lines.append(
                f"an event until it was at a page: p50 {waits[len(waits) // 2] * 1000:.0f} ms"
            )
        lines.append(f"{'memory, MB':<14}" + "".join(f"{at / 60:>7.1f}" for at, _ in self._some()))
        for name in self._house.names:
            had = "".join(f"{mb.get(name, 0):>7.0f}" for _, mb in self._some())
            if any(name in mb for _, mb in self.memory):
                told = f"  {self._verdict(name)}" if name in SPARED else ""
                lines.append(f"  {name:<12}{had}{told}")
        return lines

    def _some(self) -> list[tuple[float, dict[str, float]]]:
        return self.memory[:: max(1, len(self.memory) // 8)]

    def _verdict(self, name: str) -> str:
        had = [mb[name] for _, mb in self.memory if name in mb]
        quarter = max(1, len(had) // 4)
        ratio = statistics.median(had[-quarter:]) / statistics.median(had[quarter : 2 * quarter])
        return f"last quarter / second × {ratio:.2f}: {'flat' if ratio < GROWN else 'GROWS'}"


def main(minutes: float, processes: int, seed: int, *, is_sqlite: bool) -> None:
    """Starts everything, works, and prints."""
    kind = "SQLite" if is_sqlite or not is_able() else "PostgreSQL"
    print(f"{kind}, {minutes:g} minutes, seed {seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="heddle-soak-") as directory,
        ScriptedProvider(default=WHOLE) as provider,
    ):
        folder = Path(directory)
        postgres = Postgres(folder / "postgres") if kind == "PostgreSQL" else None
        if postgres is not None:
            postgres.start()
        house = House(
            folder / "data",
            allow=provider.entry,
            postgres=postgres,
            webs=processes,
            workers=processes,
        )
        try:
            house.start()
            soak = Soak(house, provider, minutes * 60, seed)
            soak.run()
            print("nothing lost, nothing twice\n" + "\n".join(f"  {line}" for line in soak.tell()))
        finally:
            house.stop()
            if postgres is not None:
                postgres.stop()


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("--minutes", type=float, default=15)
    reader.add_argument("--processes", type=int, default=2)
    reader.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    reader.add_argument("--sqlite", action="store_true")
    asked = reader.parse_args()
    main(asked.minutes, asked.processes, asked.seed, is_sqlite=asked.sqlite)
