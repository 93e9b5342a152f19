"""How long a stranger waits while somebody sends the heaviest request of each kind.

One web process, an attacker and a stranger in another grove. While each row of bench.attacks is
sent, the stranger reads a path and writes a text, one after the other; printed are the latencies of
both (ms) and what was refused. A row above 100 ms at the 95th percentile is marked with <<. The
stranger runs in a process of its own; on a busy machine compare with the row `nothing`.
Run: python -m bench.strangers [seconds for each row] [part of a name…]
"""

import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlencode

import httpx
import websockets

from bench.attacks import Attack, attacks
from bench.fanout import free_port, serve
from bench.installation import open_installation

AIM_MS = 100.0
KEYS = 40  # the limit of requests counts each key for itself
PATH = 300  # nodes of the attacker's path
PAUSE_S = 0.01
Sample = tuple[float, str, float, int]  # when it began, read or write, milliseconds, status


def make_world() -> tuple[dict[str, str], dict[str, str]]:
    """The names in the rows, and those of the stranger: tree, sessions and keys."""
    from django.core import signing
    from django.test import Client

    from bench.trees import make_owner
    from loom.documents import actions as document_actions
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.errors import CommandError
    from loom.mcp.tools import SALT
    from loom.people.models import ApiKey, Participant
    from loom.text.hashes import digest
    from loom.trees.commands.public_links import make_public_link
    from loom.trees.commands.trees import new_tree
    from tests.conftest import make_user
    from tests.interfaces.world import furnish

    attacker, stranger = make_owner("attacker"), make_owner("stranger")
    make_user("outsider")
    muse = Participant.objects.create(
        grove=attacker.grove, kind="model", name="Muse", model_ref="local:smollm2", max_tokens=60
    )
    tree, quiet = new_tree(attacker, title="Marie"), new_tree(stranger, title="Quiet")
    names = furnish(attacker, tree, muse)
    end = names["node"]
    for number in range(PATH):
        command = f'respond {end} "{number} ![[{end}]] a sentence of the usual length."'
        end = str(execute_line(attacker, tree, Request(command)).body["refs"][0])
    worst = end
    for text in ("# a\n" * 15_000, "![[root]]\n" * 6_000, "\n" * 60_000 + "x"):
        with suppress(CommandError):
            line = f"respond {names['node']}\n{text}"
            worst = str(execute_line(attacker, tree, Request(line)).body["refs"][0])
    document = document_actions.make_document(
        attacker, title="Long", text="# a\n![[root]]\n" * 9_000
    )
    for actor, name in ((attacker, "attacker"), (stranger, "stranger")):
        for number in range(KEYS):
            key = f"{name}-{number}"
            ApiKey.objects.create(user=actor.user, name=key, digest=digest(key), hint="-key")
    browser = Client()
    browser.force_login(attacker.user)
    names |= {"end": end, "worst": worst, "document": document.uid, "me": "attacker"}
    names["handle"] = signing.dumps([attacker.user.username, tree.uid, "x"], salt=SALT)
    names |= {"secret": "x" * 16, "long": "%20".join(["lamp"] * 300)}
    names["public"] = make_public_link(attacker, tree, days=1)[1]
    names["cookie"] = f"sessionid={browser.cookies['sessionid'].value}; csrftoken={'c' * 32}"
    return names, {"tree": quiet.uid}


async def _live(url: str, tree: str, out: Connection) -> None:
    number = 0
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        while not out.poll():
            number += 1
            headers = {"Authorization": f"Bearer stranger-{number % KEYS}"}
            kind = "write" if number % 2 else "read"
            began = time.monotonic()
            try:
                if kind == "read":
                    answer = await client.get(f"/api/trees/{tree}", headers=headers)
                else:
                    line = {"line": f'respond root "{number}"'}
                    commands = f"/api/trees/{tree}/commands"
                    answer = await client.post(commands, json=line, headers=headers)
                status = answer.status_code
            except httpx.HTTPError:
                status = 0
            out.send((began, kind, (time.monotonic() - began) * 1000, status))
            await asyncio.sleep(PAUSE_S)


def live(url: str, tree: str, out: Connection) -> None:
    """The stranger's process: reads and writes until told to end."""
    asyncio.run(_live(url, tree, out))


class Attacker:
    """Sends the rows, one at a time, each as often as its time allows."""

    def __init__(self, url: str, names: Mapping[str, str]) -> None:
        self.url, self.names = url, names
        self.client = httpx.AsyncClient(base_url=url, timeout=120)
        self.sent = 0

    def _headers(self) -> dict[str, str]:
        self.sent += 1
        return {"Authorization": f"Bearer attacker-{self.sent % KEYS}"}

    async def send(self, row: Attack) -> str:
        """Sends a row once; the status, or what happened instead."""
        if row.kind == "socket":
            return await self._frame(row)
        address, content = row.filled(self.names)
        headers = {"Content-Type": "application/json"} if content is not None else {}
        if row.kind == "mcp":
            headers["Accept"] = "application/json, text/event-stream"
        if row.kind == "page":
            headers = {"Cookie": self.names["cookie"], "X-CSRFToken": "c" * 32, "Origin": self.url}
            if row.form:
                headers["Content-Type"] = "application/x-www-form-urlencoded"
                content = urlencode(row.form).encode()
        else:
            headers |= self._headers()
        try:
            answer = await self.client.request(
                row.method, address, content=content, headers=headers
            )
        except httpx.HTTPError as error:
            return type(error).__name__
        return str(answer.status_code)

    async def _frame(self, row: Attack) -> str:
        address, _ = row.filled(self.names)
        try:
            async with websockets.connect(
                self.url.replace("http", "ws", 1) + address, additional_headers=self._headers(),
                compression=None, max_size=None,
            ) as line:  # fmt: skip
                text = str(row.body)
                for frame in (text, json.dumps({"type": "typing", "text": text[:400_000]})):
                    await line.send(frame.encode() if row.route == "documents" else frame)
                with suppress(TimeoutError):
                    await asyncio.wait_for(line.recv(), 0.2)
        except (OSError, websockets.WebSocketException) as error:
            return type(error).__name__
        return "sent"

    async def keep_sending(self, row: Attack, seconds: float) -> tuple[float, set[str]]:
        """When the row was sent first, and the answers."""
        began, answers = time.monotonic(), set[str]()
        while time.monotonic() - began < seconds:
            answers.add(await self.send(row))
        return began, answers


def p95(many: Sequence[float]) -> float:
    """The 95th percentile; the largest of a few."""
    return sorted(many)[min(len(many) - 1, int(len(many) * 0.95))]


def shown(name: str, samples: Sequence[Sample], answers: str) -> str:
    """A row of the table."""
    cells, is_slow = [], False
    for kind in ("read", "write"):
        took = [sample[2] for sample in samples if sample[1] == kind] or [0.0]
        cells.append(f"{statistics.median(took):6.0f} {p95(took):6.0f} {max(took):6.0f}")
        is_slow = is_slow or p95(took) > AIM_MS
    errors = sum(1 for sample in samples if sample[3] not in (200, 201))
    is_slow = is_slow or bool(errors)
    figures = f"{cells[0]}  {cells[1]} {errors:4d} {answers:<12}"
    return f"{name[:78]:<78} {figures}{' <<' if is_slow else ''}"


async def measure(url: str, names: Mapping[str, str], rows: Sequence[Attack], *, seconds: float,
                  heard: Connection) -> None:  # fmt: skip
    """Sends each row and prints what the stranger saw meanwhile."""
    attacker = Attacker(url, names)
    print(f"{'':<78} {'read p50    p95    max':>20}  {'write p50   p95    max':>20} errors answers")

    def drained() -> list[Sample]:
        heard_samples: list[Sample] = []
        while heard.poll():
            heard_samples.append(heard.recv())
        return heard_samples

    await asyncio.sleep(1.0)
    drained()
    await asyncio.sleep(max(2.0, seconds))
    print(shown("nothing", drained(), ""), flush=True)
    slow = 0
    for row in rows:
        drained()
        began, answers = await attacker.keep_sending(row, seconds)
        await asyncio.sleep(0.05)
        samples = drained()
        # The one that waits is what this is about: it may answer after the attack.
        until = time.monotonic() + 30
        while not any(sample[0] >= began for sample in samples) and time.monotonic() < until:
            await asyncio.sleep(0.05)
            samples += drained()
        line = shown(row.name.replace("\n", " "), samples, ",".join(sorted(answers)))
        slow += line.endswith("<<")
        print(line, flush=True)
    print(f"{len(rows)} rows, {slow} above {AIM_MS:g} ms or with errors (marked <<)")


def main(seconds: float, parts: Sequence[str]) -> None:
    """Serves, attacks, prints."""
    rows = [
        attack for attack in attacks() if not parts or any(part in attack.name for part in parts)
    ]
    names, quiet = make_world()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = serve(port)
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    stranger = multiprocessing.get_context("spawn").Process(
        target=live, args=(url, quiet["tree"], theirs)
    )
    try:
        while True:
            with suppress(httpx.TransportError):
                httpx.get(f"{url}/healthz")
                break
            time.sleep(0.05)
        stranger.start()
        asyncio.run(measure(url, names, rows, seconds=seconds, heard=ours))
        ours.send("end")
        stranger.join(30)
    finally:
        if stranger.is_alive():
            stranger.terminate()
        server.terminate()
        server.wait()


if __name__ == "__main__":
    open_installation()
    os.environ["HEDDLE_ORIGINS"] = "http://127.0.0.1"
    given: list[Any] = sys.argv[1:]
    main(float(given[0]) if given else 1.0, given[1:])
