"""Fifty streams on one worker: throughput, first token, and what the worker takes for it.

A whole Heddle in its own processes asks the scripted provider for 50 times 160 tokens at 80 a
second, by lines of ten; the yardstick reads the same straight from the provider. Meanwhile the
leases of the generations are looked at: one runs out where the worker has no time to extend it.
Run: python -m bench.fifty [streams] [tokens a second]
"""

import asyncio
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import websockets

from bench import streams as few
from config.supervisor.processes import free_port
from tests.kills.heddle import Heddle
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

COUNT, RATE = 160, 80.0
LEASE_EVERY_S = 0.5
LEASE_S = 12
SHARE = 0.9  # the aim: of the rate that the provider gives


@dataclass
class Seen:
    """When the pieces of each stream came."""

    first: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    gaps: list[float] = field(default_factory=list)  # seconds between the pieces of a stream
    finishes: Counter[str] = field(default_factory=Counter)

    def take(self, frame: dict[str, object]) -> None:
        """Notes one frame of the socket."""
        now = time.perf_counter()
        if frame["type"] == "delta":
            uid = str(frame["generation"])
            self.first.setdefault(uid, now)
            if uid in self.last:
                self.gaps.append(now - self.last[uid])
            self.last[uid] = now
        elif frame["type"] == "event":
            event: dict[str, object] = frame["event"]  # type: ignore[assignment]
            if event["kind"] == "generation.ended":
                payload: dict[str, dict[str, str]] = event["payload"]  # type: ignore[assignment]
                self.ended.add(payload["generation"]["id"])
                self.finishes[payload["generation"]["status"]] += 1


class LeasesLeft(threading.Thread):
    """Looks again and again how much time the leases of running generations have left."""

    def __init__(self, database: Path) -> None:
        super().__init__(daemon=True)
        self.stopping = threading.Event()
        self.least = float(LEASE_S)
        self._database = database

    def run(self) -> None:
        """Until it is told to stop."""
        while not self.stopping.wait(LEASE_EVERY_S):
            with closing(sqlite3.connect(f"file:{self._database}?mode=ro", uri=True)) as rows:
                (until,) = rows.execute(
                    "SELECT MIN(leased_until) FROM turns_generation WHERE status = 'running'"
                ).fetchone()
            if until:
                left = datetime.fromisoformat(until).replace(tzinfo=UTC) - datetime.now(UTC)
                self.least = min(self.least, left.total_seconds())


def _ticks(pid: int) -> float:
    """Seconds of processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


async def woven(heddle: Heddle, key: str, tree: str, many: int) -> tuple[Seen, float]:
    """What came of `many` streams at a socket, and when they were asked for."""
    headers = {"Authorization": f"Bearer {key}"}
    address = heddle.url.replace("http", "ws") + f"/ws/trees/{tree}?since=1000000000"
    seen = Seen()
    async with (
        websockets.connect(address, additional_headers=headers, max_size=None) as line,
        httpx.AsyncClient(timeout=60, headers=headers) as client,
    ):
        await line.recv()
        start = time.perf_counter()

        async def ask(n: int) -> None:
            body = {"line": f'continue from root n:{n} using agent:"Scripted"'}
            answer = await client.post(f"{heddle.url}/api/trees/{tree}/commands", json=body)
            answer.raise_for_status()

        asking = [asyncio.create_task(ask(min(10, many - at))) for at in range(0, many, 10)]
        while len(seen.ended) < many:
            seen.take(json.loads(await asyncio.wait_for(line.recv(), 60)))
        await asyncio.gather(*asking)
    return seen, start


def _reported(
    many: int, seen: Seen, start: float, bare_rate: float, worker: tuple[float, float]
) -> None:
    # A stream that came in one piece, as on a machine that others use, has no rate.
    rates = [
        (COUNT - 1) / (seen.last[uid] - at) for uid, at in seen.first.items() if seen.last[uid] > at
    ]
    waits = sorted((at - start) * 1000 for at in seen.first.values())
    share = min(1.0, statistics.median(rates) / bare_rate)  # merged pieces may seem quicker
    took = max(seen.last.values()) - start
    print(
        f"{many} streams: tokens/s each, median {statistics.median(rates):.1f}, slowest"
        f" {min(rates):.1f}; bare {bare_rate:.1f}; share {share:.2f} (aim ≥ {SHARE});"
        f" together {many * COUNT / took:,.0f} tokens/s"
    )
    whole = statistics.median(at - start for at in seen.last.values())
    print(f"  from asking to the last piece: median {whole:.1f} s, bare {COUNT / bare_rate:.1f} s")
    gaps = sorted(seen.gaps) or [0.0]
    print(
        f"  between two pieces of a stream: median {statistics.median(gaps) * 1000:.0f} ms, p95"
        f" {gaps[int(len(gaps) * 0.95)] * 1000:.0f} ms, longest {gaps[-1]:.1f} s;"
        f" ended: {dict(seen.finishes)}"
    )
    print(f"  first token: median {statistics.median(waits):.0f} ms, last {waits[-1]:.0f} ms")
    print(f"  worker: {worker[0] / took:.0%} of a core, {worker[1]:.0f} MB")


def main() -> None:
    """Prints the figures of one go, after a small one to warm."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rate = float(sys.argv[2]) if len(sys.argv) > 2 else RATE
    few.COUNT = COUNT
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedProvider(default=tokens(COUNT, rate=rate)) as provider,
    ):
        heddle = Heddle(Path(folder), allow=provider.entry, port=free_port("127.0.0.1", 0))
        heddle.start()
        try:
            key, tree = few._prepared(heddle, provider)
            with heddle.client() as client:
                results = client.get("/participants").json()["results"]
                scripted = next(result["id"] for result in results if result["name"] == "Scripted")
                client.patch(f"/participants/{scripted}", json={"parallel": max(64, many)})
            asyncio.run(woven(heddle, key, tree, 3))
            _, bare_rate = asyncio.run(few.bare(provider.url, many))
            pid = heddle.pids("celery")[0]
            before = _ticks(pid)
            leases = LeasesLeft(Path(folder) / "heddle.sqlite3")
            leases.start()
            seen, start = asyncio.run(woven(heddle, key, tree, many))
            leases.stopping.set()
            _reported(many, seen, start, bare_rate, (_ticks(pid) - before, _mb(pid)))
            print(f"  shortest time left of a lease: {leases.least:.1f} s of {LEASE_S}")
        finally:
            heddle.stop()


if __name__ == "__main__":
    main()
