"""Through how many files of the project one flow passes, when it runs for real.

(a) A turn of an agent with two rounds, from the request to its node: the API, the worker and
    a scripted provider over HTTP.
(b) A `respond` over the API, until another person's socket has the event and their page has the
    part that it draws again.

A file counts when one of its functions was run; what runs only at an import does not count.
Each flow is run once before it is traced. Run: python -m bench.flow [a|b]
"""

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

from bench.installation import open_installation

ROOT = Path(__file__).resolve().parents[1]
OURS = ("loom", "agents", "config")
AIMS = {"a": 35, "b": 40}
AGENT = ["loom_aware", "loom_write", "loom_generate", "doc_read", "doc_write", "cross_tree"]
NODE = "The gate was new."


UNDER = tuple(f"{ROOT / name}/" for name in OURS)


class Trace:
    """Counts the calls in each file of the project while a block runs, in all threads that are
    started after `install`."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._counts = False

    def install(self) -> None:
        """Starts listening; a thread can only be traced from its start."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # A module or the body of a class has no optimized locals: that is an import.
        is_ours = code.co_flags & CO_OPTIMIZED and code.co_filename.startswith(UNDER)
        if self._counts and event == "call" and is_ours:
            self.found[code.co_filename] += 1

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Resets the counters, and counts while the block runs."""
        self.found, self._counts = Counter(), True
        try:
            yield
        finally:
            self._counts = False


class Scene:
    """A grove with two people and an agent behind a scripted provider, and one tree."""

    def __init__(self, provider: Any, trace: Trace) -> None:
        from django.test import Client
        from rest_framework.test import APIClient

        from bench.trees import make_owner
        from loom.people.models import Participant
        from loom.trees.commands import trees
        from tests.conftest import join, make_user

        self.provider, self.trace = provider, trace
        actor = make_owner("bench")
        self.reader = make_user("reader")
        join(actor.grove, self.reader, "reader")
        self.agent = Participant.objects.create(
            grove=actor.grove, kind="model", name="Marie", model_ref="openai:echo-1",
            base_url=provider.url, permissions=AGENT, context_limit=50_000,
        )  # fmt: skip
        self.tree = trees.new_tree(actor, title="Marie")
        self.api = APIClient()
        self.api.force_login(actor.user)
        self.page = Client()
        self.page.force_login(self.reader)

    def respond(self) -> dict[str, Any]:
        """The answer to one line that writes a text."""
        answer = self.api.post(
            f"/api/trees/{self.tree.uid}/commands",
            {"line": f'respond root "{NODE}"'},
            format="json",
        )
        assert answer.status_code == 200, answer.content
        return dict(answer.json())

    def turn(self) -> None:
        """Flow (a). Fails if it took another number of rounds, or made no node."""
        from agents import tasks
        from loom.turns.models import Turn
        from tests.agents.acting import run_queued
        from tests.providers.scripts import says

        node, seen = self.respond()["refs"][0], len(self.provider.seen)
        self.provider.script(says(f"Let me look.\n→ list {node}\n"), says("Nothing is below."))
        with self.trace.counting():
            asked = {"participant": self.agent.uid, "node": node}
            url = f"/api/trees/{self.tree.uid}/turns"
            answer = self.api.post(url, asked, format="json")
            assert answer.status_code in (201, 202), answer.content
            uid = answer.json()["id"]
            for _ in range(3):
                tasks.run_turn(uid)
                run_queued(Turn.objects.get(uid=uid))
        turn = self.api.get(f"/api/turns/{uid}").json()
        assert (turn["status"], len(self.provider.seen) - seen) == ("done", 2), turn
        assert turn["node"]

    async def written(self) -> None:
        """Flow (b). Fails if the event or the text does not arrive."""
        from asgiref.sync import sync_to_async

        from loom.live.consumers import hub
        from tests.live.conftest import Line, bearer

        headers = await sync_to_async(bearer)(self.reader)
        line = await Line(f"/ws/trees/{self.tree.uid}", headers, "since=0").open()
        seq = (await line.until("heartbeat"))["seq"]
        with self.trace.counting():
            await sync_to_async(self.respond)()
            event = await line.event(seq + 1)
            part = await sync_to_async(self.page.get)(f"/trees/{self.tree.uid}/path")
        assert event["payload"]["node"]["text"] == NODE
        assert part.status_code == 200 and NODE in part.content.decode()
        await line.cut()
        await hub().close()


def report(name: str, title: str, files: Counter[str]) -> None:
    """Prints the number, whether the aim is met, and the files with their calls."""
    aim = AIMS[name]
    verdict = "met" if len(files) <= aim else "MISSED"
    print(f"({name}) {title}: {len(files)} files, aim ≤ {aim} {verdict}")
    for file, calls in sorted(files.items()):
        print(f"  {calls:6}  {Path(file).relative_to(ROOT)}")


def main(asked: str) -> None:
    """Runs each flow twice and reports the second run."""
    from django.conf import settings

    from tests.providers.scripted import ScriptedProvider

    trace = Trace()
    trace.install()
    with ScriptedProvider() as provider:
        settings.PROVIDER_ALLOW = (provider.entry,)
        scene = Scene(provider, trace)
        flows: dict[str, tuple[str, Callable[[], object]]] = {
            "a": ("a turn of two rounds, from the request to its node", scene.turn),
            "b": (
                "a respond, until another page has its part",
                lambda: asyncio.run(scene.written()),
            ),
        }
        for name, (title, flow) in flows.items():
            if name in asked:
                flow()
                flow()
                report(name, title, trace.found)


if __name__ == "__main__":
    open_installation()
    main("".join(sys.argv[1:]) or "ab")
