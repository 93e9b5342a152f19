"""1,000 sockets on one tree, at two web processes with PostgreSQL and a broker, while people write
and models answer: how long an event takes from its writing to each page, and where the time goes.

The clocks are those of the web processes (when they have read an event, when a socket has given it
to the protocol) and of the client, on the same machine. The client only compares bytes, in a thread
of its own. The processor time of each process is printed beside, as all of them share the machine.
Run: python -m bench.thousand [--sockets 1000] [--writes 5] [--generations 4] [--seconds 20]
"""

import argparse
import base64
import os
import select
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bench.fanout import processor_us
from config.supervisor.processes import Child
from tests.kills.house import House
from tests.kills.postgres import Postgres
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

AIM_MS = 100
WORDS, RATE = 400, 33.0  # of a generation
EVENT = b'{"type":"event"'
PING, CLOSE = 9, 8


class StampedHouse(House):
    """A house whose web processes note when they send."""

    def _planned(self) -> Iterator[Child]:
        for child in super()._planned():
            child.argv = [
                "bench.stamped:application" if word == "config.asgi:application" else word
                for word in child.argv
            ]
            yield child

    def pids(self) -> dict[str, int]:
        """The process ids by name."""
        return {child.name: child.process.pid for child in self._children.all if child.process}


class Page:
    """A socket of a tree, which counts its events."""

    def __init__(self, url: str, tree: str, key: str) -> None:
        host, port = urlsplit(url).hostname, urlsplit(url).port
        self.line = socket.create_connection((host, port), timeout=60)
        nonce = base64.b64encode(os.urandom(16)).decode()
        head = f"GET /ws/trees/{tree}?since=1000000000 HTTP/1.1\r\nHost: {host}:{port}\r\n"
        head += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        head += f"Sec-WebSocket-Key: {nonce}\r\nAuthorization: Bearer {key}\r\n\r\n"
        self.line.sendall(head.encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.line.recv(65_536)
        status, _, self.rest = self.rest.partition(b"\r\n\r\n")
        assert b" 101 " in status, status
        self.line.setblocking(False)
        self.seq = 0
        self.frames = 0

    def read(self) -> list[bytes]:
        """The frames that have come."""
        data = self.rest + self.line.recv(262_144)
        at, payloads = 0, []
        while len(data) - at >= 2:
            size, start = data[at + 1], at + 2
            if size == 126:
                size, start = int.from_bytes(data[at + 2 : at + 4]), at + 4
            elif size == 127:
                size, start = int.from_bytes(data[at + 2 : at + 10]), at + 10
            if len(data) < start + size:
                break
            kind, at_next = data[at] & 15, start + size
            if kind == PING:
                self.line.send(bytes([0x8A, 0x80 + size, 0, 0, 0, 0]) + data[start:at_next])
            assert kind != CLOSE, data[start:at_next]
            payloads.append(data[start:at_next])
            at = at_next
        self.rest = data[at:]
        self.frames += len(payloads)
        return payloads


class Pages(threading.Thread):
    """Reads all pages."""

    def __init__(self, pages: list[Page]) -> None:
        super().__init__(daemon=True)
        self.waits_s: list[float] = []
        self.is_over = False
        self.processor_s = 0.0
        self.error: BaseException | None = None
        self._pages = {page.line.fileno(): page for page in pages}
        self._events: dict[bytes, tuple[int, float]] = {}  # seq and when it was written
        self._poll = select.epoll()
        for number in self._pages:
            self._poll.register(number, select.EPOLLIN)

    def run(self) -> None:
        """Until it is over."""
        try:
            while not self.is_over:
                for number, _ in self._poll.poll(0.2):
                    self._take(self._pages[number])
            self.processor_s = time.thread_time()
        except BaseException as error:
            self.error = error

    def _take(self, page: Page) -> None:
        for frame in page.read():
            if frame.startswith(EVENT):
                seq, written = self._events.get(frame) or self._parsed(frame)
                self.waits_s.append(time.time() - written)
                assert page.seq in (0, seq - 1), (page.seq, seq)
                page.seq = seq

    def _parsed(self, frame: bytes) -> tuple[int, float]:
        from json import loads

        event = loads(frame)["event"]
        known = event["seq"], datetime.fromisoformat(event["at"]).timestamp()
        self._events[frame] = known
        return known


def quantiles(waits_s: list[float]) -> str:
    """The median, the 95th and the 99th percentile and the longest, in ms."""
    ordered = sorted(waits_s)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.5, 0.95, 0.99, 1)]
    return "p50 {:6.1f}  p95 {:6.1f}  p99 {:6.1f}  max {:6.1f} ms".format(*(1000 * s for s in at))


def write(client: httpx.Client, tree: str, a_second: float, seconds: float, models: int) -> None:
    """Writes at a steady rate, and keeps that many generations running."""
    end, number, asked_at = time.monotonic() + seconds, 0, 0.0
    commands = f"/trees/{tree}/commands"
    taken = []
    while (now := time.monotonic()) < end:
        if models and now - asked_at > WORDS / RATE + 1:
            asked_at = now
            line = f'continue from root n:{models} using agent:"Scripted"'
            client.post(commands, json={"line": line}).raise_for_status()
        line = f'respond root "Text {number} is a sentence of the usual length of one."'
        began = time.monotonic()
        client.post(commands, json={"line": line}).raise_for_status()
        taken.append(time.monotonic() - began)
        number += 1
        time.sleep(max(0.0, 1 / a_second - (time.monotonic() - began)))
    print(f"  a write, as its client sees it    {quantiles(taken)}")


def measure(house: StampedHouse, key: str, asked: argparse.Namespace, generations: int) -> None:
    """Prints everything."""
    client = house.client(key, house.urls[0])
    tree = client.post("/trees", json={"title": "Thousand", "mode": "dialogue"}).json()["id"]
    write(client, tree, 20, 2, 0)  # warms up
    pages = [
        Page(house.urls[number % len(house.urls)], tree, key) for number in range(asked.sockets)
    ]
    reader = Pages(pages)
    reader.start()
    time.sleep(1)
    for url in house.urls:
        httpx.get(f"{url}/stamps")
    reader.waits_s.clear()
    pids = house.pids()
    before = {name: processor_us(pid) for name, pid in pids.items()}
    frames, began = sum(page.frames for page in pages), time.monotonic()
    write(client, tree, asked.writes, asked.seconds, generations)
    time.sleep(1)
    took = time.monotonic() - began
    after = {name: processor_us(pid) for name, pid in pids.items()}
    reader.is_over = True
    reader.join()
    for page in pages:
        page.line.close()
    if reader.error is not None:
        raise reader.error
    stamps = [httpx.get(f"{url}/stamps").json() for url in house.urls]
    waits = sorted(reader.waits_s)
    for name in ("read", "given"):
        told = {"read": "read by a web process", "given": "given to a protocol"}[name]
        print(
            f"  written until {told:<22} {quantiles([s for stamp in stamps for s in stamp[name]])}"
        )
    print(f"  written until at a page              {quantiles(waits)}")
    events = len(waits) / asked.sockets
    p95 = waits[int(len(waits) * 0.95)] * 1000
    print(f"  p95 {p95:.0f} ms   aim ≤ {AIM_MS} {'met' if p95 <= AIM_MS else 'MISSED'}")
    assert len({page.seq for page in pages}) == 1, "the pages differ"
    print(f"  {events:.0f} events at each of {asked.sockets} sockets, once and in order;", end=" ")
    print(f"{(sum(page.frames for page in pages) - frames) / took:.0f} frames a second in all")
    cores = {name: (after[name] - before[name]) / 1e6 / took for name in pids}
    told = ", ".join(f"{name} {used:.2f}" for name, used in cores.items())
    print(f"  cores: {told}, the client {reader.processor_s / took:.2f}")
    print(f"  load of the machine {os.getloadavg()[0]:.1f}")


def main() -> None:
    """Starts a house, and measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sockets", type=int, default=1000)
    parser.add_argument("--writes", type=float, default=5.0, help="a second")
    parser.add_argument("--generations", type=int, default=4, help="at the same time")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="heddle-thousand-") as folder,
        ScriptedProvider(default=tokens(WORDS, rate=RATE)) as provider,
    ):
        postgres = Postgres(Path(folder) / "postgres")
        postgres.start()
        house = StampedHouse(
            Path(folder) / "data",
            allow=provider.entry,
            postgres=postgres,
            webs=asked.processes,
        )
        try:
            house.start()
            key = house.make_key()
            body = {"name": "Scripted", "model_ref": "openai:scripted", "base_url": provider.url}
            people = house.client(key)
            people.post("/participants", json={**body, "endpoint": "chat"}).raise_for_status()
            print(f"{asked.sockets} sockets at {asked.processes} web processes")
            for generations in sorted({0, asked.generations}):
                print(f" {asked.writes:g} writes a second, {generations} generations")
                measure(house, key, asked, generations)
        finally:
            house.stop()
            postgres.stop()


if __name__ == "__main__":
    main()
