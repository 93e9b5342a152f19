"""An event from a command to 100 sockets, against a bare group_send over the same broker.

Both from the request's leaving to the last socket's frame, in one server process, in turn; and the
processor time of that process for each frame at a socket, which tells more where others use the
machine.
Run: python -m bench.fanout [sockets] [rounds]
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import websockets

from bench.installation import open_installation

AIM = 1.5
WHOLE, BARE = "command to sockets", "bare group_send"
ALONE = "the command, unheard"  # its answer, in a tree nobody listens to
KEY = "bench-key"


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def serve(port: int) -> subprocess.Popen[bytes]:
    """The web process, as script/server starts it, with the yardstick beside."""
    words = ["--ws-per-message-deflate", "false", "--no-access-log", "--log-level", "warning"]
    words += ["--http", "config.http:LimitedProtocol", "--ws", "config.sockets:SizedProtocol"]
    argv = [sys.executable, "-m", "uvicorn", "bench.bare:application", "--port", str(port)]
    return subprocess.Popen([*argv, *words], env=os.environ)


def processor_us(pid: int) -> float:
    """The processor time of all threads of a process so far, in microseconds."""
    stats = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(stat.read_text().split()[0]) for stat in stats) / 1000


def make_trees() -> tuple[str, str]:
    """Two trees whose maker has the key KEY; their uids."""
    from bench.trees import make_owner
    from loom.people.models import ApiKey
    from loom.text.hashes import digest
    from loom.trees.commands.trees import new_tree

    actor = make_owner("bench")
    ApiKey.objects.create(user=actor.user, name="bench", digest=digest(KEY), hint="-key")
    heard, unheard = (new_tree(actor, title=title) for title in ("Heard", "Unheard"))
    return heard.uid, unheard.uid


class Crowd:
    """Sockets that each wait for one frame of a kind (any, where none is named) which holds a
    mark."""

    def __init__(self, url: str, count: int, headers: dict[str, str], kind: str = "") -> None:
        self.url, self.count, self.headers = url, count, headers
        self.start = f'{{"type":"{kind}' if kind else ""
        self.mark = ""
        self.missing = 0
        self.all_received = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    async def gather(self) -> None:
        """Connects everybody; each has been greeted where the server greets."""
        for _ in range(self.count):
            line = await websockets.connect(
                self.url, additional_headers=self.headers, compression=None
            )
            self.tasks.append(asyncio.create_task(self._listen(line)))

    async def _listen(self, line: websockets.ClientConnection) -> None:
        async for frame in line:
            told = str(frame)
            if self.mark and told.startswith(self.start) and self.mark in told:
                self.missing -= 1
                if not self.missing:
                    self.all_received.set()

    async def until_received(self, mark: str, case: Callable[[], Awaitable[object]]) -> float:
        """Milliseconds from the start of the case until every socket has received the mark."""
        self.mark, self.missing = mark, self.count
        self.all_received.clear()
        began = time.perf_counter()
        doing = asyncio.ensure_future(case())
        await self.all_received.wait()
        taken_ms = (time.perf_counter() - began) * 1000
        await doing
        return taken_ms


Figures = dict[str, list[float]]


async def measure(
    server: int, port: int, trees: tuple[str, str], sockets: int, rounds: int
) -> tuple[Figures, Figures]:
    """All times in milliseconds, by name, and the processor time of the server, whose process id is
    given, in microseconds; they take turns."""
    tree, unheard = trees
    base, bearer = f"127.0.0.1:{port}", {"Authorization": f"Bearer {KEY}"}
    heddle = Crowd(f"ws://{base}/ws/trees/{tree}?since=0", sockets, bearer)
    bare = Crowd(f"ws://{base}/bare", sockets, {})
    taken: Figures = {name: [] for name in (WHOLE, BARE, ALONE)}
    used: Figures = {name: [] for name in (WHOLE, BARE, ALONE)}
    async with httpx.AsyncClient(base_url=f"http://{base}", headers=bearer) as client:
        await heddle.gather()
        await bare.gather()
        frame = ""
        for number in range(-10, rounds):  # the first ten warm up
            mark = f"mark-{number}-"
            line = {"line": f'→ respond "{mark} and a sentence of the usual length of one."'}
            commands = f"/api/trees/{tree}/commands"
            at = [processor_us(server)]
            ours = await heddle.until_received(mark, lambda: client.post(commands, json=line))  # noqa: B023
            at.append(processor_us(server))
            if not frame:
                frame = await _event_frame(client, tree)
            text = f"{mark}{frame}"
            at.append(processor_us(server))
            theirs = await bare.until_received(mark, lambda: client.post("/bare", content=text))  # noqa: B023
            at.append(processor_us(server))
            began = time.perf_counter()
            await client.post(f"/api/trees/{unheard}/commands", json=line)
            alone = (time.perf_counter() - began) * 1000
            at.append(processor_us(server))
            if number >= 0:
                costs = (at[1] - at[0], at[3] - at[2], at[4] - at[3])
                for name, took, cost in zip(taken, (ours, theirs, alone), costs, strict=True):
                    taken[name].append(took)
                    used[name].append(cost)
        for task in heddle.tasks + bare.tasks:
            task.cancel()
    return taken, used


async def _event_frame(client: httpx.AsyncClient, tree: str) -> str:
    """A frame as long as the ones that Heddle sends."""
    events = (await client.get(f"/api/trees/{tree}/events?since=0")).json()["events"]
    added = [event for event in events if event["kind"] == "node.added"]
    return json.dumps({"type": "event", "event": added[-1]}, ensure_ascii=False)


def p95(many: list[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(many, n=20)[-1]


def main(sockets: int, rounds: int) -> None:
    """Serves, measures, prints."""
    trees, port = make_trees(), free_port()
    server = serve(port)
    try:
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/healthz")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        taken, used = asyncio.run(measure(server.pid, port, trees, sockets, rounds))
    finally:
        server.terminate()
        server.wait()
    print(f"fan-out to {sockets} sockets, {rounds} rounds")
    for name, many in taken.items():
        print(f"  {name:<24} p50 {statistics.median(many):8.2f} ms   p95 {p95(many):8.2f} ms")
    middle = {name: statistics.median(many) for name, many in used.items()}
    own, least = (middle[WHOLE] - middle[ALONE]) / sockets, middle[BARE] / sockets
    print(f"  processor for each event at a socket: {own:.0f} µs, bare {least:.0f} µs")
    ratio = p95(taken[WHOLE]) / p95(taken[BARE])
    print(f"  p95 / p95 × {ratio:.2f}   aim ≤ {AIM:g} {'met' if ratio <= AIM else 'MISSED'}")


if __name__ == "__main__":
    open_installation()
    os.environ["HEDDLE_ORIGINS"] = "http://127.0.0.1"
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [100, 200][len(given) :]))
