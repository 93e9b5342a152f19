"""More sockets than a web process takes: how many it lets in, what the others are sent, and whether
it still answers requests meanwhile.

A whole Heddle in its own processes. Run: python -m bench.crowd [sockets] [requests]
"""

import asyncio
import collections
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx
import websockets

from config.supervisor.processes import free_port
from tests.kills.heddle import Heddle

AT_ONCE = 20  # sockets that connect at the same time
REFUSED = 1013


class Crowd:
    """Sockets that stay open, and what became of each."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.headers = url, {"Authorization": f"Bearer {key}"}
        self.open: list[websockets.ClientConnection] = []
        self.ends: collections.Counter[str] = collections.Counter()
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def join(self) -> None:
        """Connects one, and waits for its first frame or its end."""
        async with self._gate:
            try:
                line = await websockets.connect(
                    self.url, additional_headers=self.headers, compression=None, open_timeout=60
                )
                first = str(await asyncio.wait_for(line.recv(), 60))
                if '"type":"error"' in first.replace(" ", ""):
                    await asyncio.wait_for(line.recv(), 60)
            except websockets.ConnectionClosed as closed:
                self.ends[f"closed with {closed.rcvd.code if closed.rcvd else 'nothing'}"] += 1
            except (OSError, TimeoutError, websockets.WebSocketException) as error:
                self.ends[f"no connection ({type(error).__name__})"] += 1
            else:
                self.ends["let in"] += 1
                self.open.append(line)


async def answered(url: str, key: str, count: int) -> tuple[int, float]:
    """How many of the requests to /healthz and /api/me were answered, each over a connection of its
    own, and their median in ms."""
    taken = []
    for number in range(count):
        began = time.perf_counter()
        path = "/healthz" if number % 2 else "/api/me"
        try:
            async with httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as client:
                (await client.get(url + path, timeout=30)).raise_for_status()
        except httpx.HTTPError:
            continue
        taken.append((time.perf_counter() - began) * 1000)
    return len(taken), statistics.median(taken) if taken else 0.0


async def measure(heddle: Heddle, tree: str, key: str, sockets: int, requests: int) -> None:
    """Prints both, before and while the sockets are open."""
    url = heddle.url.replace("http", "ws") + f"/ws/trees/{tree}?since=1000000000"
    some, ms = await answered(heddle.url, key, requests)
    print(f"  no sockets: {some} of {requests} requests answered, {ms:.1f} ms")
    crowd = Crowd(url, key)
    await asyncio.gather(*(crowd.join() for _ in range(sockets)))
    for end, count in sorted(crowd.ends.items()):
        print(f"  {count:5} of {sockets} sockets {end}")
    some, ms = await answered(heddle.url, key, requests)
    print(f"  with {len(crowd.open)} sockets: {some} of {requests} requests answered, {ms:.1f} ms")
    for line in crowd.open:
        line.transport.abort()


def main() -> None:
    """Measures with a fresh installation."""
    given = [int(argument) for argument in sys.argv[1:]]
    sockets, requests = (*given, *(1000, 40)[len(given) :])
    with tempfile.TemporaryDirectory() as folder:
        heddle = Heddle(Path(folder), allow="", port=free_port("127.0.0.1", 0))
        heddle.start()
        try:
            key = heddle.make_key()
            with heddle.client(key) as client:
                response = client.post("trees", json={"title": "Crowded", "mode": "dialogue"})
            tree = str(response.raise_for_status().json()["id"])
            asyncio.run(measure(heddle, tree, key, sockets, requests))
        finally:
            heddle.stop()


if __name__ == "__main__":
    main()
