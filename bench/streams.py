"""First token and throughput of 1 and 3 streams at a socket, against bare HTTP.

A whole Heddle in its own processes asks the scripted provider for 120 tokens at 80 a second;
the yardstick reads the same answer straight from the provider. In turn, medians.
Run: python -m bench.streams [rounds]
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx
import websockets

from config.supervisor.processes import free_port
from tests.kills.heddle import Heddle
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

COUNT, RATE = 120, 80.0
MORE_MS, SHARE = {1: 25.0, 3: 30.0}, 0.9  # what this aims at, by the number of streams


async def bare(url: str, streams: int) -> tuple[float, float]:
    """(ms to the first token, tokens a second after it) of `streams` plain requests."""

    async def stream(client: httpx.AsyncClient) -> tuple[float, float]:
        start = time.perf_counter()
        first = 0.0
        body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
        async with client.stream("POST", f"{url}/chat/completions", json=body) as answer:
            async for line in answer.aiter_lines():
                if '"content": "' in line or '"content":"' in line:
                    first = first or time.perf_counter()
                    last = time.perf_counter()
        return (first - start) * 1000, (COUNT - 1) / (last - first)

    async with httpx.AsyncClient(timeout=60) as client:
        measured = await asyncio.gather(*(stream(client) for _ in range(streams)))
    return max(f for f, _ in measured), min(r for _, r in measured)


async def woven(heddle: Heddle, key: str, tree: str, streams: int) -> tuple[float, float]:
    """(ms to the first token, tokens a second) at a socket, from the command's leaving."""
    headers = {"Authorization": f"Bearer {key}"}
    address = heddle.url.replace("http", "ws") + f"/ws/trees/{tree}?since=1000000000"
    first: dict[str, float] = {}
    last: dict[str, float] = {}
    seen: dict[str, str] = {}
    async with (
        websockets.connect(address, additional_headers=headers) as line,
        httpx.AsyncClient(timeout=60) as client,
    ):
        await line.recv()
        await client.get(f"{heddle.url}/healthz")  # a page has a connection already
        start = time.perf_counter()
        asking = asyncio.create_task(
            client.post(
                f"{heddle.url}/api/trees/{tree}/commands",
                json={"line": f'continue from root n:{streams} using agent:"Scripted"'},
                headers=headers,
            )
        )
        ended: set[str] = set()
        while len(ended) < streams:
            frame = json.loads(await asyncio.wait_for(line.recv(), 30))
            now = time.perf_counter()
            if frame["type"] == "delta":
                uid = frame["generation"]
                first.setdefault(uid, now)
                last[uid] = now
                seen[uid] = seen.get(uid, "") + frame["text"]
            elif frame["type"] == "event" and frame["event"]["kind"] == "generation.ended":
                ended.add(frame["event"]["payload"]["generation"]["id"])
        (await asking).raise_for_status()
    rates = [(COUNT - 1) / (last[uid] - first[uid]) for uid in first]
    return max((at - start) * 1000 for at in first.values()), min(rates)


def _prepared(heddle: Heddle, provider: ScriptedProvider) -> tuple[str, str]:
    key = heddle.manage("apikey", "owner", "bench").strip().splitlines()[-1]
    with httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
        body = {"name": "Scripted", "model_ref": "openai:s", "base_url": provider.url}
        client.post(f"{heddle.url}/api/participants", json=body).raise_for_status()
        response = client.post(
            f"{heddle.url}/api/trees", json={"title": "Streams", "mode": "dialogue"}
        )
    return key, str(response.json()["id"])


def _shown(streams: int, plain: list[tuple[float, float]], ours: list[tuple[float, float]]) -> None:
    first = [statistics.median(f for f, _ in rows) for rows in (plain, ours)]
    rate = [statistics.median(r for _, r in rows) for rows in (plain, ours)]
    print(
        f"{streams} stream(s): first token bare {first[0]:.1f} ms, at a socket {first[1]:.1f} ms,"
        f" more {first[1] - first[0]:.1f} ms (aim ≤ {MORE_MS[streams]:.0f});"
        f" tokens/s bare {rate[0]:.1f}, at a socket {rate[1]:.1f},"
        f" share {rate[1] / rate[0]:.2f} (aim ≥ {SHARE})"
    )


def main() -> None:
    """Prints a line for one stream and one for three."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedProvider(default=tokens(COUNT, rate=RATE)) as provider,
    ):
        heddle = Heddle(Path(folder), allow=provider.entry, port=free_port("127.0.0.1", 0))
        heddle.start()
        try:
            key, tree = _prepared(heddle, provider)
            asyncio.run(woven(heddle, key, tree, 1))  # warm
            for streams in (1, 3):
                plain, ours = [], []
                for _ in range(rounds):
                    plain.append(asyncio.run(bare(provider.url, streams)))
                    ours.append(asyncio.run(woven(heddle, key, tree, streams)))
                _shown(streams, plain, ours)
        finally:
            heddle.stop()


if __name__ == "__main__":
    main()
