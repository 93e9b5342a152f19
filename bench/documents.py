"""A document with many at it, and a long one.

Run: python -m bench.documents [typing] [reading] [seconds]. Prints how long a key takes to another
screen while 50 type (4 keys a second each) and 200 read, over real sockets of one server process;
then how long a document of 1 MB takes to open after 100,000 updates: its log, its page, and a
client that joins. The clients run on the same machine.
"""

import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from typing import Any

import websockets
from pycrdt import Doc, Text, create_sync_message, create_update_message

from bench.fanout import free_port
from bench.installation import open_installation

KEYS_A_SECOND = 4
SAMPLED = 8  # readers that look at what they get
AIM_MS, AIM_OPEN_S = 100, 1.0
UPDATES = 100_000
KEY = "bench-key"
MARK = re.compile(rb"k\d{3}_\d{5}")


def serve(port: int) -> "subprocess.Popen[bytes]":
    """The web process, as script/server starts it."""
    words = [
        "--ws",
        "config.sockets:SizedProtocol",
        "--ws-per-message-deflate",
        "false",
        "--no-access-log",
        "--log-level",
        "warning",
    ]
    argv = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port)]
    return subprocess.Popen([*argv, *words], env=os.environ)


async def _join(address: str, tries: int = 200) -> Any:
    for _ in range(tries):
        try:
            headers = {"Authorization": f"Bearer {KEY}"}
            return await websockets.connect(
                address, additional_headers=headers, compression=None, max_size=None
            )
        except OSError:
            await asyncio.sleep(0.1)
    raise RuntimeError("the server does not answer")


async def _read(wire: Any, sent: dict[bytes, float], delays: list[float], *, looks: bool) -> None:
    async for frame in wire:
        if looks and frame[:2] == b"\x00\x02":
            now = time.perf_counter()
            delays += [now - sent[mark] for mark in MARK.findall(frame) if mark in sent]


async def _type(wire: Any, number: int, seconds: float, sent: dict[bytes, float]) -> None:
    doc: Doc[Text] = Doc()
    text: Text = doc.get("text", type=Text)
    updates: list[bytes] = []
    doc.observe(lambda event: updates.append(event.update))
    await asyncio.sleep(number / 50 / KEYS_A_SECOND)
    for key in range(int(seconds * KEYS_A_SECOND)):
        mark = f"k{number:03}_{key:05}"
        text.insert(len(text), mark)
        sent[mark.encode()] = time.perf_counter()
        await wire.send(create_update_message(updates.pop()))
        await asyncio.sleep(1 / KEYS_A_SECOND)


async def many(address: str, typing: int, reading: int, seconds: float) -> list[float]:
    """How long each key took to each reader that looks, in seconds."""
    sent: dict[bytes, float] = {}
    delays: list[float] = []
    wires = [await _join(address) for _ in range(typing + reading)]
    tasks = [
        asyncio.create_task(_read(wire, sent, delays, looks=typing <= at < typing + SAMPLED))
        for at, wire in enumerate(wires)
    ]
    await asyncio.gather(*(_type(wires[at], at, seconds, sent) for at in range(typing)))
    await asyncio.sleep(1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*(wire.close() for wire in wires), return_exceptions=True)
    expected = int(seconds * KEYS_A_SECOND) * typing * min(SAMPLED, reading)
    print(f"  {len(delays):,} of {expected:,} keys arrived at {min(SAMPLED, reading)} readers")
    return delays


async def joined(address: str) -> float:
    """How long until a client that joins has the whole text, in seconds."""
    began = time.perf_counter()
    wire = await _join(address)
    doc: Doc[Text] = Doc()
    text: Text = doc.get("text", type=Text)
    await wire.send(create_sync_message(doc))
    async for frame in wire:
        if frame[:2] == b"\x00\x01":
            from pycrdt import Decoder

            doc.apply_update(Decoder(frame[2:]).read_message() or b"")
            break
    assert len(text) > 1_000_000
    took = time.perf_counter() - began
    await wire.close()
    return took


def long_one(actor: Any) -> Any:
    """A document of 1 MB with 100,000 updates of one letter, stored as they are when typed."""
    import random

    from loom.documents import actions as document_actions
    from loom.documents import log as document_log
    from loom.documents.models import DocumentUpdate
    from loom.documents.queries import updates_after
    from loom.documents.shared_text import SharedText

    document = document_actions.make_document(actor, title="Long", text="She wrote on. " * 75_000)
    doc: Doc[Text] = Doc()
    text: Text = doc.get("text", type=Text)
    doc.apply_update(document_log.opened(document).state())
    updates: list[bytes] = []
    doc.observe(lambda event: updates.append(event.update))
    chance = random.Random(1)
    at = 0
    for number in range(UPDATES):
        at = chance.randrange(len(text)) if number % 20 == 0 else at + 1
        text.insert(at, "x")
    rows = [
        DocumentUpdate(
            document=document, seq=2 + seq, update=update, authors=[], at=document.made_at
        )
        for seq, update in enumerate(updates)
    ]
    from django.utils import timezone

    for row in rows:
        row.at = timezone.now()
    DocumentUpdate.objects.bulk_create(rows, batch_size=2000)
    document.head = rows[-1].seq
    document.save(update_fields=["head"])
    began = time.perf_counter()
    SharedText(update for _, update in updates_after(document.pk, 0))
    print(f"  {'its whole log, without a stored state':<44} {time.perf_counter() - began:9.2f} s")
    began = time.perf_counter()
    document_log.settle(document)
    print(f"  {'settling into a revision':<44} {time.perf_counter() - began:9.2f} s")
    return document


def main() -> None:
    """Measures both."""
    open_installation()
    from django.test import Client

    from loom.access import get_actor
    from loom.documents import actions as document_actions
    from loom.documents import log as document_log
    from loom.people.commands import groves
    from loom.people.models import ApiKey, User
    from loom.text.hashes import digest

    typing, reading, seconds = [int(word) for word in sys.argv[1:]] + [50, 200, 15][
        len(sys.argv) - 1 :
    ]
    user = User.objects.create(username="bench")
    grove = groves.make_grove(user, "Bench")
    actor = get_actor(user, grove)
    ApiKey.objects.create(user=user, name="bench", digest=digest(KEY), hint="bench")
    short = document_actions.make_document(actor, title="Short", text="Begin.")
    port = free_port()
    server = serve(port)
    home = f"ws://127.0.0.1:{port}/ws/documents"
    try:
        print(f"{typing} typing and {reading} reading for {seconds} s")
        delays = sorted(asyncio.run(many(f"{home}/{short.uid}", typing, reading, seconds)))
        p50, p95 = (delays[int(len(delays) * part)] * 1000 for part in (0.5, 0.95))
        verdict = "met" if p95 <= AIM_MS else "MISSED"
        print(f"  to another screen: p50 {p50:.0f} ms, p95 {p95:.0f} ms   aim ≤ {AIM_MS} {verdict}")
        print(f"1 MB after {UPDATES:,} updates")
        long = long_one(actor)
        client = Client()
        client.force_login(user)
        for name, case in (
            ("its log", lambda: document_log.opened(long)),
            ("its page", lambda: client.get(f"/documents/{long.uid}")),
        ):
            times = []
            for _ in range(5):
                began = time.perf_counter()
                case()
                times.append(time.perf_counter() - began)
            print(f"  {name:<44} {statistics.median(times):9.2f} s")
        first = asyncio.run(joined(f"{home}/{long.uid}"))
        verdict = "met" if first <= AIM_OPEN_S else "MISSED"
        name = "a client that joins a room not yet open"
        print(f"  {name:<44} {first:9.2f} s   aim ≤ 1 {verdict}")
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
