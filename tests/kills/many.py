"""Several web processes and workers of one installation behind a proxy, and what clients of all of
them see: for the tests, small, and for `bench/many.py`, large."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx
import websockets
from pycrdt import Doc, Text, TransactionEvent, create_sync_message, create_update_message
from pycrdt import handle_sync_message as handle_sync

from tests.kills.house import House
from tests.kills.load import Person
from tests.patience import LOOK_S, PATIENCE_S
from tests.providers.scripted import ScriptedProvider

SYNC = 0  # the kind of a frame of y-websocket
FIRST_LETTER = 0x4E00  # each edit inserts a letter of its own
AGAIN_S = 0.2  # until somebody whose socket was closed connects again
OPEN = ("queued", "running")


async def until(look: Callable[[], Any], *, what: str, tell: Callable[[], object] = str) -> Any:
    """Looks again and again until the answer is true, and returns it, while sockets go on."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        answer = look()
        if isinstance(answer, Awaitable):
            answer = await answer
        if answer:
            return answer
        await asyncio.sleep(LOOK_S)
    raise AssertionError(f"did not happen: {what}\n{tell()}")


class Socket:
    """A socket that connects again when it is closed, until `leave`."""

    def __init__(self, address: str, key: str) -> None:
        self._address, self._headers = address, {"Authorization": f"Bearer {key}"}
        self._line: websockets.ClientConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self.refused = Counter[str]()
        self.connected = 0

    def join(self) -> None:
        """Begins to connect."""
        self._task = asyncio.create_task(self._run())

    async def leave(self) -> None:
        """Closes it for good."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def send(self, frame: str | bytes) -> None:
        """Sends a frame now, or not at all while the server is away."""
        if self._line is not None:
            with suppress(websockets.ConnectionClosed):
                await self._line.send(frame)

    def query(self) -> str:
        """What the address ends with, at each connection."""
        return ""

    async def opened(self) -> None:
        """Runs after each connection."""

    async def heard(self, frame: str | bytes) -> None:
        """Takes a frame of the server."""

    async def _run(self) -> None:
        while True:
            try:
                async with websockets.connect(
                    self._address + self.query(),
                    additional_headers=self._headers,
                    compression=None,
                    max_size=None,
                    open_timeout=PATIENCE_S,
                ) as self._line:
                    self.connected += 1
                    await self.opened()
                    async for frame in self._line:
                        await self.heard(frame)
                self.refused[f"{self._line.close_code}"] += 1
            except (OSError, TimeoutError, websockets.WebSocketException) as error:
                self.refused[str(error)] += 1
            finally:
                self._line = None
            await asyncio.sleep(AGAIN_S)


class Listener(Socket):
    """Somebody's page of a tree: every event, the text of each generation, and who is here."""

    def __init__(self, url: str, tree: str, key: str) -> None:
        super().__init__(f"{url.replace('http', 'ws', 1)}/ws/trees/{tree}", key)
        self.seqs: list[int] = []
        self._since = float("inf")
        self.waits_s: list[float] = []  # from the writing of an event until it came here
        self.shown: dict[str, str] = {}  # by generation
        self.here: set[str] = set()  # participants

    async def opened(self) -> None:
        """What was written before this moment did not wait for this socket."""
        self._since = time.time()

    def query(self) -> str:
        """Goes on after the last event that it has."""
        return f"?since={self.head}"

    @property
    def head(self) -> int:
        """The seq of its last event."""
        return self.seqs[-1] if self.seqs else 0

    async def heard(self, frame: str | bytes) -> None:
        """Keeps it."""
        told = json.loads(frame)
        if told["type"] == "event":
            self.seqs.append(told["event"]["seq"])
            written = datetime.fromisoformat(told["event"]["at"]).timestamp()
            if written > self._since:
                self.waits_s.append(time.time() - written)
        elif told["type"] == "delta":
            before = "" if told.get("whole") else self.shown.get(told["generation"], "")
            self.shown[told["generation"]] = before + told["text"]
        elif told["type"] == "presence":
            self.here = {person["participant"] for person in told["here"]}


class Typist(Socket):
    """An editor with a document of Yjs: types letters that nobody else types, anywhere."""

    def __init__(self, url: str, document: str, key: str, number: int, edits: int) -> None:
        super().__init__(f"{url.replace('http', 'ws', 1)}/ws/documents/{document}", key)
        self._dice = random.Random(number)
        self._left = [chr(FIRST_LETTER + number * edits + at) for at in range(edits)]
        self.typed = "".join(self._left)
        self._applying = False
        self._out: list[bytes] = []
        self._doc: Doc[Text] = Doc()
        self._shared: Text = self._doc.get("text", type=Text)
        self._doc.observe(self._note)

    @property
    def text(self) -> str:
        """Its copy of the document."""
        return str(self._shared)

    def _note(self, event: TransactionEvent) -> None:
        if not self._applying:
            self._out.append(event.update)

    async def opened(self) -> None:
        """Asks for what it lacks; the server asks for what it has."""
        await self.send(create_sync_message(self._doc))

    async def heard(self, frame: str | bytes) -> None:
        """Applies it, and answers what the server asks."""
        if isinstance(frame, bytes) and frame[0] == SYNC:
            self._applying = True
            answer = handle_sync(frame[1:], self._doc)
            self._applying = False
            if answer is not None:
                await self.send(answer)

    async def type(self, pause_s: float) -> None:
        """Types all its letters, also while the server is away."""
        while self._left:
            now = self.text
            at = len(now[: self._dice.randrange(len(now) + 1)].encode())
            self._shared.insert(at, self._left.pop())
            for update in self._out:
                await self.send(create_update_message(update))
            self._out.clear()
            await asyncio.sleep(self._dice.uniform(0, 2 * pause_s))


@dataclass
class Figures:
    """What was counted and how long it took."""

    lines: list[str] = field(default_factory=list)

    def add(self, name: str, value: object) -> None:
        """Adds a line."""
        self.lines.append(f"  {name:<64} {value}")


class Many:
    """One house with several processes, its owner and Bea, and a tree."""

    def __init__(self, house: House, provider: ScriptedProvider, *, seed: int) -> None:
        self._house, self._seed = house, seed
        self._owner = house.make_key()
        self.client = house.client(self._owner, house.urls[0])
        grove = self.client.get("/groves").json()["results"][0]
        house.manage("adduser", "bea", "--grove", grove["id"])
        self._bea = house.make_key("bea")
        body = {"name": "Scripted", "model_ref": "openai:scripted", "base_url": provider.url}
        response = self.client.post("/participants", json={**body, "endpoint": "chat"})
        assert response.status_code == 201, response.text
        tree = self.client.post("/trees", json={"title": "Many", "mode": "dialogue"}).json()
        self.tree, self.root = str(tree["id"]), str(tree["root"])
        self.figures = Figures()

    @property
    def _urls(self) -> list[str]:
        return self._house.urls

    @property
    def last(self) -> str:
        """The name of the last web process. The first is never killed: it answers what is asked
        here."""
        return f"web-{len(self._urls)}"

    def listeners(self, per_address: int, urls: Sequence[str]) -> list[Listener]:
        """That many pages at each address; half of them are Bea's."""
        keys = (self._owner, self._bea)
        return [
            Listener(url, self.tree, keys[number % 2])
            for url in urls
            for number in range(per_address)
        ]

    def events(self) -> list[dict[str, Any]]:
        """All events of the tree, page by page."""
        events: list[dict[str, Any]] = []
        while True:
            since = {"since": events[-1]["seq"] if events else 0}
            page = self.client.get(f"/trees/{self.tree}/events", params=since).json()
            events += page["events"]
            if not page["events"] or events[-1]["seq"] >= page["head"]:
                return events

    def _ended(self) -> bool:
        kinds = Counter(event["kind"] for event in self.events())
        return kinds["generation.started"] == kinds["generation.ended"]

    async def writing(self, *, per_process: int, texts: int, kill: str = "") -> None:
        """Two people write and ask, and every page at every process gets each event once and in
        order, and the whole text of each generation: `per_process` pages for each process, all of
        them and the people behind the proxy. `kill` names a process that is killed meanwhile."""
        before = list(self._house.connections)
        pages = self.listeners(per_process * len(self._urls), [self._house.url])
        for page in pages:
            page.join()
        await until(lambda: all(page.connected for page in pages), what="every page is there")
        shares = [
            now - earlier for now, earlier in zip(self._house.connections, before, strict=True)
        ]
        assert min(shares) > 0, shares
        people = [
            Person(self._house.client(key), self.tree, name, self._seed)
            for key, name in ((self._owner, "Ada"), (self._bea, "Bea"))
        ]
        for person in people:
            person.start()

        def written() -> int:
            assert all(person.error is None for person in people), [
                person.error for person in people
            ]
            return min(len(person.told.texts) for person in people)

        if kill:
            await until(lambda: written() >= texts // 2, what="half of the texts")
            self._house.kill(kill)
        await until(lambda: written() >= texts, what="all texts", tell=self._house.tell)
        told = [await asyncio.to_thread(person.finish) for person in people]
        await until(lambda: asyncio.to_thread(self._ended), what="every generation's end")
        events = await asyncio.to_thread(self.events)
        expected = list(range(1, len(events) + 1))
        assert [event["seq"] for event in events] == expected
        await until(
            lambda: all(page.head >= len(events) for page in pages),
            what="the last event everywhere",
        )
        for page in pages:
            # The seal of a call may come after the end of its generation: more than was expected.
            seqs = list(page.seqs)
            wrong = [(seq, at) for at, seq in enumerate(seqs, 1) if seq != at]
            assert not wrong, (wrong[:3], seqs[-3:], page.connected, page.refused)
        texts_of = {
            event["payload"]["node"]["id"]: event["payload"]["node"]["text"]
            for event in events
            if event["kind"] == "node.added"
        }
        for report in told:
            assert report.texts.items() <= texts_of.items()
        asked = {uid for report in told for uid in report.generations}
        rows = [e["payload"]["generation"] for e in events if e["kind"] == "generation.ended"]
        ended = [row for row in rows if row["id"] in asked]
        assert {generation["id"] for generation in ended} == asked
        for generation in ended:
            for page in pages:
                # A page that came back finds it ended, and has its text from the event.
                if page.connected == 1 and generation["node"]:
                    assert (
                        page.shown[generation["id"]].strip() == texts_of[generation["node"]].strip()
                    )
        for page in pages:
            await page.leave()
        waits = sorted(wait for page in pages for wait in page.waits_s)
        self.figures.add("pages; events; generations", (len(pages), len(events), len(ended)))
        self.figures.add(
            "from the writing of an event until it is at a page, ms",
            f"p50 {_at(waits, 0.5) * 1000:.0f}, p95 {_at(waits, 0.95) * 1000:.0f}",
        )

    async def presence(self, kill: str = "") -> None:
        """Everybody is seen at every process, once, and no longer when their last page is closed
        or its process is killed (`kill`, which has Bea's page)."""
        pages = [Listener(url, self.tree, self._owner) for url in self._urls[:-1]]
        bea = Listener(self._urls[-1], self.tree, self._bea)
        for page in (*pages, bea):
            page.join()
        place = json.dumps({"type": "presence", "node": self.root})
        await until(
            lambda: all(listener.connected for listener in (*pages, bea)),
            what="every page is there",
        )
        for page in (*pages, bea):
            await page.send(place)
        everybody = (*pages, bea)
        await until(
            lambda: all(len(listener.here) == 2 for listener in everybody),
            what="both are seen at every process",
            tell=lambda: [listener.here for listener in everybody],
        )
        assert len({frozenset(listener.here) for listener in everybody}) == 1
        began = time.monotonic()
        if kill:
            self._house.kill(kill)
        await bea.leave()
        await until(lambda: all(len(page.here) == 1 for page in pages), what="only one is seen")
        self.figures.add(
            f"until {'who is at a killed process' if kill else 'who leaves'} is gone, s",
            f"{time.monotonic() - began:.1f}",
        )
        for page in pages:
            await page.leave()

    async def documents(
        self, *, typists: int, edits: int, pause_s: float = 0.02, kill: str = ""
    ) -> None:
        """Typists at every process, behind the proxy, write in one document; every copy and the
        stored text are the same, and hold each letter once."""
        response = self.client.post("/documents", json={"title": f"Many {kill}", "text": "Begin."})
        assert response.status_code == 201, response.text
        document = response.json()["id"]
        keys = (self._owner, self._bea)
        many = [Typist(self._house.url, document, keys[at % 2], at, edits) for at in range(typists)]
        for typist in many:
            typist.join()
        await until(
            lambda: all(typist.text == "Begin." for typist in many), what="everybody has the text"
        )
        typing = [asyncio.create_task(typist.type(pause_s)) for typist in many]
        if kill:
            await asyncio.sleep(edits * pause_s / 2)
            self._house.kill(kill)
        await asyncio.gather(*typing)
        began = time.monotonic()
        letters = Counter("Begin." + "".join(typist.typed for typist in many))
        await until(
            lambda: all(Counter(typist.text) == letters for typist in many),
            what="each letter is in every copy, once",
            tell=lambda: [(len(typist.text), typist.connected, typist.refused) for typist in many],
        )
        self.figures.add(
            f"letters of {typists} typists; until all copies are the same, s",
            (letters.total(), round(time.monotonic() - began, 1)),
        )
        assert len({typist.text for typist in many}) == 1

        async def stored() -> bool:
            answer = await asyncio.to_thread(self.client.get, f"/documents/{document}")
            return bool(answer.json()["text"] == many[0].text)

        await until(stored, what="the stored text is that of the copies")
        for typist in many:
            await typist.leave()

    async def killed_worker(self, *, generations: int) -> None:
        """A worker is killed while it writes: what it wrote ends as interrupted with the text that
        was stored (four times a second), or is done by the other worker."""
        page = Listener(self._urls[-1], self.tree, self._owner)
        page.join()
        # Its process may have been killed a moment ago, and be starting.
        await until(lambda: page.connected, what="the page is there")
        uids = []
        for _ in range(generations):
            sent = {"line": 'continue from root using agent:"Scripted"'}
            answer = self.client.post(f"/trees/{self.tree}/commands", json=sent)
            uids += answer.json()["generations"]
        await until(
            lambda: len(set(uids) & page.shown.keys()) == len(uids), what="some of each text"
        )

        def rows() -> list[dict[str, Any]]:
            return [self.client.get(f"/generations/{uid}").json() for uid in uids]

        stored = {row["id"]: row["text"] for row in await asyncio.to_thread(rows)}
        self._house.kill("worker-2")
        began = time.monotonic()

        async def over() -> Any:
            listed = await asyncio.to_thread(rows)
            return all(row["status"] not in OPEN for row in listed) and listed

        ended = await until(over, what="every generation's end", tell=self._house.tell)
        self.figures.add(
            "until the generations of a killed worker have ended, s",
            f"{time.monotonic() - began:.1f} ({Counter(row['status'] for row in ended)})",
        )
        for row in ended:
            assert row["status"] in ("done", "interrupted"), row
            assert row["text"].startswith(stored[row["id"]].strip()), (row, stored)
        await page.leave()

    async def crowd(self, *, sockets: int, requests: int) -> None:
        """More pages than the processes take: each process holds `sockets`, tells the others to
        come again, and answers requests meanwhile."""
        more = sockets + 4
        self._house.wait()  # a process may have been killed a moment ago
        pages = self.listeners(more, self._urls)
        by_process = [pages[at : at + more] for at in range(0, len(pages), more)]
        for page in pages:
            page.join()
        await until(
            lambda: all(page.head or page.refused for page in pages), what="an answer for all"
        )
        # A place that an earlier page had may become free a moment later: then who was refused
        # has it.
        await until(
            lambda: all(sum(1 for page in own if page.head) == sockets for own in by_process),
            what="as many at each process as it takes",
            tell=lambda: [[(page.head, page.refused) for page in own] for own in by_process],
        )
        for url in self._urls:
            for path in ("/healthz", "/api/me") * requests:
                answer = await asyncio.to_thread(self._asked, url + path)
                assert answer.status_code == 200, answer.text
        self.figures.add("sockets held by each process; told to come again", (sockets, 4))
        for page in pages:
            await page.leave()

    def _asked(self, url: str) -> httpx.Response:
        return self.client.get(url)


def _at(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0
