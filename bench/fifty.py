"""Fifty streams on one worker: throughput, first token, and what the worker takes for it.

A whole Heddle in its own processes asks the scripted provider for 50 times 160 tokens at 80 a
second, by five lines of ten; the yardstick reads the same straight from the provider.
Run: python -m bench.fifty [streams]
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import websockets

from bench import streams as few
from config.supervisor.processes import free_port
from tests.kills.heddle import Heddle
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

COUNT, RATE = 160, 80.0
SHARE = 0.9  # the aim: of the rate that the provider gives


@dataclass
class Seen:
    """When the pieces of each stream came."""

    first: dict[str, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def take(self, frame: dict[str, object]) -> None:
        """Notes one frame of the socket."""
        now = time.perf_counter()
        if frame["type"] == "delta":
            uid = str(frame["generation"])
            self.first.setdefault(uid, now)
            self.last[uid] = now
        elif frame["type"] == "event":
            event: dict[str, object] = frame["event"]  # type: ignore[assignment]
            if event["kind"] == "generation.ended":
                payload: dict[str, dict[str, str]] = event["payload"]  # type: ignore[assignment]
                self.ended.add(payload["generation"]["id"])


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
    rates = [(COUNT - 1) / (seen.last[uid] - seen.first[uid]) for uid in seen.first]
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
    print(f"  first token: median {statistics.median(waits):.0f} ms, last {waits[-1]:.0f} ms")
    print(f"  worker: {worker[0] / took:.0%} of a core, {worker[1]:.0f} MB")


def main() -> None:
    """Prints the figures of one go, after a small one to warm."""
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    few.COUNT = COUNT
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedProvider(default=tokens(COUNT, rate=RATE)) as provider,
    ):
        heddle = Heddle(Path(folder), allow=provider.entry, port=free_port("127.0.0.1", 0))
        heddle.start()
        try:
            key, tree = few._prepared(heddle, provider)
            with heddle.client() as client:
                results = client.get("/participants").json()["results"]
                scripted = next(result["id"] for result in results if result["name"] == "Scripted")
                client.patch(f"/participants/{scripted}", json={"parallel": 64})
            asyncio.run(woven(heddle, key, tree, 3))
            _, bare_rate = asyncio.run(few.bare(provider.url, many))
            pid = heddle.pids("celery")[0]
            before = _ticks(pid)
            seen, start = asyncio.run(woven(heddle, key, tree, many))
            _reported(many, seen, start, bare_rate, (_ticks(pid) - before, _mb(pid)))
        finally:
            heddle.stop()


if __name__ == "__main__":
    main()
