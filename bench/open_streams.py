"""What open streams cost the web process in threads, and requests beside them.

A whole Heddle in its own processes. 100 server-sent event streams, 100 answers through the gateway
and 100 downloads that their clients have stopped reading are held open in turn; the threads of the
web process are counted, and a small request is timed beside them.
Run: python -m bench.open_streams [streams] [requests]
"""

import asyncio
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from bench.gateway import prepared
from config.supervisor.processes import free_port
from tests.kills.heddle import Heddle
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

AIM = 8  # threads that 100 streams may add
TEXTS, TEXT = 200, "The river came down from the hills. " * 1_700  # 12 MB, more than systems buffer
RECEIVED = 4096  # bytes that a client of a download lets its system keep
SETTLED_S = 1.0  # until what was begun has come to rest

Hold = Callable[[int], Awaitable[asyncio.StreamWriter]]


def threads_of(pid: int) -> int:
    """The number of threads of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("Threads:"):
            return int(line.split()[1])
    return 0


async def begin(port: int, head: str, body: bytes = b"") -> asyncio.StreamWriter:
    """Sends a request and reads the beginning of its answer, and then no more."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED)
    line.setblocking(False)
    await asyncio.get_running_loop().sock_connect(line, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=line, limit=1024)
    writer.write(head.encode() + b"\r\n\r\n" + body)
    first = await asyncio.wait_for(reader.readline(), 60)
    assert b" 200 " in first, first
    return writer


async def request_ms(url: str, key: str, count: int) -> float:
    """The median of a small request, after a few that warm up."""
    taken = []
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as client:
        for number in range(count + 10):
            began = time.perf_counter()
            (await client.get(f"{url}/api/me")).raise_for_status()
            if number >= 10:
                taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


async def measure(heddle: Heddle, holds: dict[str, Hold], key: str, sizes: tuple[int, int]) -> None:
    """Prints a line for nothing open, and for each kind of stream."""
    (web,), (streams, requests) = heddle.pids("uvicorn"), sizes
    alone = await request_ms(heddle.url, key, requests)
    rest = threads_of(web)
    print(f"  {'nothing open':<24} {rest:4} threads {'':6} request {alone:6.1f} ms")
    for name, hold in holds.items():
        before = threads_of(web)
        held = [await hold(number) for number in range(streams)]
        await asyncio.sleep(SETTLED_S)
        more = threads_of(web) - before
        beside = await request_ms(heddle.url, key, requests)
        met = "met" if more <= AIM else "MISSED"
        print(
            f"  {streams:4} {name:<19} {before + more:4} threads {more:+5},"
            f" request {beside:6.1f} ms   aim ≤ +{AIM} {met}"
        )
        for writer in held:
            writer.transport.abort()
        await asyncio.sleep(SETTLED_S)


def grown(heddle: Heddle) -> str:
    """A tree whose export is larger than what a connection buffers; its id."""
    with heddle.client() as client:
        response = client.post("trees", json={"title": "Long", "mode": "dialogue"})
        uid = str(response.raise_for_status().json()["id"])
        for number in range(TEXTS):
            line = f'→ respond "{number} {TEXT}"'
            client.post(f"trees/{uid}/commands", json={"line": line}).raise_for_status()
    return uid


def main() -> None:
    """Measures with a fresh installation."""
    given = [int(argument) for argument in sys.argv[1:]]
    streams, requests = (*given, *(100, 200)[len(given) :])
    port = free_port("127.0.0.1", 0)
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedProvider(default=tokens(100_000, rate=5.0)) as provider,
    ):
        heddle = Heddle(Path(folder), allow=provider.entry, port=port)
        heddle.start()
        try:
            tree, gateway, key = grown(heddle), prepared(heddle, provider), heddle.make_key()

            async def events(number: int) -> asyncio.StreamWriter:
                return await begin(
                    port,
                    f"GET /api/trees/{tree}/events HTTP/1.1\r\nHost: localhost:{port}\r\n"
                    f"Accept: text/event-stream\r\nAuthorization: Bearer {key}",
                )

            async def answer(number: int) -> asyncio.StreamWriter:
                body = b'{"model": "m", "stream": true, "messages": [{"role": "user", "content": '
                body += b'"Round %d"}]}' % number
                return await begin(
                    port,
                    f"POST /gateway/v1/chat/completions HTTP/1.1\r\nHost: localhost:{port}\r\n"
                    f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                    f"Authorization: Bearer {gateway['observe']}",
                    body,
                )

            async def download(number: int) -> asyncio.StreamWriter:
                return await begin(
                    port,
                    f"GET /api/trees/{tree}/export?format=markdown&whole=1 HTTP/1.1\r\n"
                    f"Host: localhost:{port}\r\nAuthorization: Bearer {key}",
                )

            holds: dict[str, Hold] = {"events": events, "gateway": answer, "downloads": download}
            asyncio.run(measure(heddle, holds, key, (streams, requests)))
        finally:
            heddle.stop()


if __name__ == "__main__":
    main()
