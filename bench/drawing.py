"""What one event costs when many people look at the same path, until its drawing is with all.

A server in a thread of this process, SOCKETS sockets with ?drawn=en on a path of 30 nodes, and
commands by HTTP. "Drawn" is the moment at which the last socket has received the HTML of what
changed; what a browser does with it then is not measured. Queries are those of the sockets'
threads, without those of the command itself. A line of a turn is drawn for those who listen to the
view of its agent, as pages do while it works. Run: python -m bench.drawing [sockets] [rounds]
"""

import asyncio
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from bench.fanout import KEY, Crowd, free_port, make_trees, p95
from bench.installation import open_installation

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
        """Listens on every connection, including those opened later."""
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
                took = await crowd.until_received(mark, lambda: client.post(commands, json=line))  # noqa: B023
                counter.is_on = False
                await asyncio.sleep(0.05)
                if number >= 0:
                    times[until].append(took)
                if number >= 0 and until == "drawn":
                    queries.append(counter.count)
            # Once a second the sockets' rights are looked at: the median leaves that out.
            print(f"{kind}: {sockets} sockets, {rounds} rounds")
            show(times, queries)
        for task in crowd.tasks:
            task.cancel()


def show(times: dict[str, list[float]], queries: list[int]) -> None:
    """Prints the times until each kind of frame was with all, and the usual number of queries."""
    for until, many in times.items():
        middle = statistics.median(many)
        print(f"  until {until}   p50 {middle:7.1f} ms   p95 {p95(many):7.1f} ms")
    slowest, usual = p95(times["drawn"]), int(statistics.median(queries))
    print(f"  aim for drawn ≤ {AIM_MS:g} ms {'met' if slowest <= AIM_MS else 'MISSED'}")
    met = "met" if usual <= AIM_QUERIES else "MISSED"
    print(f"  queries       {usual}   aim ≤ {AIM_QUERIES} {met}")


async def measure_turn(
    port: int, tree: str, *, sockets: int, rounds: int, counter: Counter
) -> None:
    """Measures the lines of a turn; each is rendered together with all lines before it."""
    view, say = await asyncio.to_thread(begun, tree)
    bearer = {"Authorization": f"Bearer {KEY}"}
    address = f"ws://127.0.0.1:{port}/ws/workspaces/{view}?since=1000000000&drawn=en"
    crowd = Crowd(address, sockets, bearer, "drawn")
    await crowd.gather()
    await asyncio.sleep(2)
    times: list[float] = []
    queries: list[int] = []
    for number in range(-6, rounds):
        mark = f"mark-{number}-"
        counter.count, counter.is_on = 0, True
        took = await crowd.until_received(mark, lambda: asyncio.to_thread(say, number, mark))  # noqa: B023
        counter.is_on = False
        await asyncio.sleep(0.05)
        if number >= 0:
            times.append(took)
            queries.append(counter.count)
    print(f"a line of a turn: {sockets} sockets, {rounds} rounds")
    show({"drawn": times}, queries)
    for task in crowd.tasks:
        task.cancel()


def begun(tree_uid: str) -> tuple[str, Callable[[int, str], None]]:
    """A turn that works in the tree: the view of its agent, and what says a line of it."""
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.people.models import Participant
    from loom.trees.commands.node_writer import workspace_of
    from loom.trees.models import Tree
    from loom.turns.access import acting_in
    from loom.turns.models import Generation, Turn

    tree = Tree.objects.select_related("grove").get(uid=tree_uid)
    owner = tree.grove.memberships.select_related("participant", "user").get()
    agent = Participant.objects.create(
        grove=tree.grove,
        kind="model",
        name="Weaver",
        model_ref="local:s",
        permissions=["loom_aware", "loom_write"],
    )
    point = tree.nodes.order_by("id").last()
    assert point is not None
    turn = Turn.objects.create(
        tree=tree,
        participant=agent,
        invoked_by=owner.participant,
        invoked_at=point,
        answers_below=point,
        status="generating",
        preset="thorough",
    )
    Generation.objects.create(
        tree=tree,
        participant=agent,
        asked_by=owner.participant,
        point=point,
        turn=turn,
        round=1,
        index=1,
        batch="b",
        status="running",
        text="I look.",
    )
    view = workspace_of(agent, tree)

    def say(number: int, mark: str) -> None:
        line = Request(f'→ find "{mark}"', turn=turn.uid, place=f"1.{number + 7}")
        execute_line(acting_in(turn), tree, line, view)

    return view.uid, say


async def measure_all(port: int, tree: str, *, sockets: int, rounds: int, counter: Counter) -> None:
    """Everything in one loop, one after another."""
    await measure(port, tree, sockets=sockets, rounds=rounds, counter=counter)
    await measure_turn(port, tree, sockets=sockets, rounds=rounds, counter=counter)


def main(sockets: int, rounds: int) -> None:
    """Serves, measures, prints."""
    counter, port = Counter(), free_port()
    counter.install()
    tree, _ = make_trees()
    with serving(port):
        asyncio.run(measure_all(port, tree, sockets=sockets, rounds=rounds, counter=counter))


if __name__ == "__main__":
    open_installation()
    os.environ["HEDDLE_ORIGINS"] = "http://127.0.0.1"
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [100, 50][len(given) :]))
