"""What one event costs when many people look at the same path, until its drawing is with all.

A server in a thread of this process, SOCKETS sockets with ?drawn=en on a path of 30 nodes, and
commands by HTTP. "Drawn" is the moment at which the last socket has received the HTML of what
changed; what a browser does with it then is not measured. Queries are those of the sockets'
threads, without those of the command itself. Run: python -m bench.drawing [sockets] [rounds]
"""

import asyncio
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from bench.fanout import KEY, Crowd, free_port, make_trees, p95
from bench.house import open_house

LENGTH = 30
AIM_MS, AIM_QUERIES = 150.0, 10
LINES = {
    "a note": '→ annotate {middle} "{mark} is a note of the usual length of one."',
    "a text": '→ respond {end} "{mark} is a text of the usual length of one."',
}


@contextmanager
def serving(port: int) -> Iterator[None]:
    """The web process's application in a thread of this process."""
    import uvicorn

    from config.asgi import application

    options: dict[str, Any] = {"log_level": "warning", "access_log": False}
    server = uvicorn.Server(
        uvicorn.Config(application, port=port, ws_per_message_deflate=False, **options)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(20)


class Counter:
    """Queries that the sockets' threads make while it is on."""

    def __init__(self) -> None:
        self.count = 0
        self.is_on = False

    def install(self) -> None:
        """Listens on every connection, those that are opened later included."""
        from django.db.backends.signals import connection_created

        connection_created.connect(self._opened)

    def _opened(self, connection: Any, **_: object) -> None:
        connection.execute_wrappers.append(self)

    def __call__(self, execute: Any, *rest: Any) -> Any:
        if self.is_on and threading.current_thread().name.startswith("live"):
            self.count += 1
        return execute(*rest)


async def measure(port: int, tree: str, *, sockets: int, rounds: int, counter: Counter) -> None:
    """Prints for each kind of event the times and the most queries."""
    base, bearer = f"127.0.0.1:{port}", {"Authorization": f"Bearer {KEY}"}
    async with httpx.AsyncClient(base_url=f"http://{base}", headers=bearer) as client:
        commands = f"/api/trees/{tree}/commands"
        ids: list[str] = []
        for number in range(LENGTH):
            line = {"line": f'→ respond "Text {number} {"and some words " * 12}"'}
            ids.append((await client.post(commands, json=line)).json()["refs"][0])
        seq = (await client.get(f"/api/trees/{tree}/events?since=0")).json()["head"]
        crowd = Crowd(f"ws://{base}/ws/trees/{tree}?since={seq}&drawn=en", sockets, bearer, "drawn")
        await crowd.gather()
        await asyncio.sleep(2)
        for kind, words in LINES.items():
            times: dict[str, list[float]] = {"event": [], "drawn": []}
            queries = []
            for number in range(-6, rounds * 2):  # the first six warm up
                until = ("event", "drawn")[number % 2]
                crowd.start = f'{{"type":"{until}'
                mark = f"mark-{kind[2:]}-{number}-"
                at = ids[number % LENGTH]
                line = {"line": words.format(mark=mark, middle=at, end=at)}
                counter.count, counter.is_on = 0, True
                took = await crowd.told(mark, lambda: client.post(commands, json=line))  # noqa: B023
                counter.is_on = False
                await asyncio.sleep(0.05)
                if number >= 0:
                    times[until].append(took)
                if number >= 0 and until == "drawn":
                    queries.append(counter.count)
            # Once a second the sockets' rights are looked at: that is no cost of an event.
            usual = int(statistics.median(queries))
            print(f"{kind}: {sockets} sockets, {rounds} rounds")
            for until, many in times.items():
                middle = statistics.median(many)
                print(f"  until {until}   p50 {middle:7.1f} ms   p95 {p95(many):7.1f} ms")
            slowest = p95(times["drawn"])
            print(f"  aim for drawn ≤ {AIM_MS:g} ms {'met' if slowest <= AIM_MS else 'MISSED'}")
            met = "met" if usual <= AIM_QUERIES else "MISSED"
            print(f"  queries       {usual}   aim ≤ {AIM_QUERIES} {met}")
        for task in crowd.tasks:
            task.cancel()


def main(sockets: int, rounds: int) -> None:
    """Serves, measures, prints."""
    counter, port = Counter(), free_port()
    counter.install()
    tree, _ = make_trees()
    with serving(port):
        asyncio.run(measure(port, tree, sockets=sockets, rounds=rounds, counter=counter))


if __name__ == "__main__":
    open_house()
    os.environ["HEDDLE_ORIGINS"] = "http://127.0.0.1"
    given = [int(one) for one in sys.argv[1:]]
    main(*(given + [100, 50][len(given) :]))
