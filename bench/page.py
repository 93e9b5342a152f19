"""The tree page of a tree of 100,000 nodes in Chromium: opening, map, panning, moving, memory.

Run: python -m bench.page [nodes] [moves]. Needs the browser's files built, and Chromium.
"""

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.house import Heddle, come_in, give
from tests.house.processes import server
from tests.providers.scripted import ScriptedProvider
from tests.skips import chromium

WORDS = "the river came down from the hills and nobody asked where it had been before".split()
BELOW = 2_000
ROUNDS = 5
PATIENCE_MS = 120_000  # what misses its aim is measured all the same
FIRST = """() => new Promise(done => {
    const look = () => document.querySelector(".stretch > [data-id] .text")
        ? done(performance.now()) : requestAnimationFrame(look);
    look();
})"""
SENT = """first => [...performance.getEntriesByType("navigation"),
    ...performance.getEntriesByType("resource")].filter(one => one.responseStart <= first)
    .reduce((sum, one) => sum + one.transferSize, 0)"""
FRAMES = """async () => {
    const canvas = document.querySelector("loom-map canvas");
    const fire = (name, x) => canvas.dispatchEvent(new PointerEvent(name,
        {pointerId: 1, clientX: x, clientY: 300, bubbles: true}));
    canvas.setPointerCapture = () => {};
    fire("pointerdown", 100);
    const began = performance.now();
    let frames = 0;
    while (performance.now() - began < 2000) {
        fire("pointermove", 100 + frames % 120);
        await new Promise(requestAnimationFrame);
        frames += 1;
    }
    fire("pointerup", 100);
    return frames / 2;
}"""
GO = """id => new Promise(done => {
    const began = performance.now();
    document.addEventListener("drawn", () => requestAnimationFrame(
        () => done(performance.now() - began)), {once: true});
    document.querySelector("loom-tree").page.go(id);
})"""


def nodes(count: int) -> Iterator[dict[str, Any]]:
    """The nodes of a file of Heddle's own: two siblings, one with 2,000 nodes below it."""
    dice = random.Random(7)
    names = [_name(place) for place in range(count)]
    for place, name in enumerate(names):
        parent = None
        if place in (1, 2, 3):
            parent = names[min(place - 1, 1)]
        elif place > 3:
            first = 4 if place < 4 + BELOW else 4 + BELOW
            top = 2 if first == 4 else 0
            parent = names[dice.randrange(first, place) if place > first else top]
        text = " ".join(dice.choices(WORDS, k=55)) if place else ""
        yield {
            "id": name,
            "slot": name,
            "kind": "text",
            "author": "Ada",
            "created_at": "2026-11-21T02:07:00.000000Z",
            "text": text,
            **({"parent": parent} if parent else {}),
        }


def _name(place: int) -> str:
    letters, digits = "abcdefghjkmnpqrstvwxyz", "23456789"
    a, place = letters[place % 22], place // 22
    b, place = digits[place % 8], place // 8
    c, place = letters[place % 22], place // 22
    return a + b + c + digits[place % 8] + (letters[place // 8] + "2" if place >= 8 else "")


def _brought_in(made: Heddle, file: Path) -> str:
    with made.client() as client, file.open("rb") as sent:
        asked = client.post("/api/import", files={"file": sent}, timeout=600).json()["id"]
        while True:
            state = client.get(f"/api/imports/{asked}", timeout=60).json()
            if state["status"] == "done":
                return str(state["tree"])
            if state["status"] != "running" and state["status"] != "queued":
                raise SystemExit(f"the import ended: {state}")
            time.sleep(0.5)


def _visit(chrome: Browser, made: Heddle, address: str) -> tuple[BrowserContext, Page]:
    """A fresh browser at an address, nothing of it kept from before."""
    context = chrome.new_context(viewport={"width": 1440, "height": 900})
    give(context, made.owner, made.url)
    page = context.new_page()
    page.goto(made.url + address, wait_until="commit")
    return context, page


def _open(chrome: Browser, made: Heddle, address: str) -> dict[str, float]:
    context, page = _visit(chrome, made, address)
    first = float(page.evaluate(FIRST))
    page.wait_for_selector("loom-map[data-ready]", timeout=PATIENCE_MS)
    ready = float(page.evaluate("performance.now()"))
    sent = float(page.evaluate(SENT, first)) / 1000
    frames = float(page.evaluate(FRAMES))
    context.close()
    return {"first node": first, "sent before it": sent, "map": ready, "frames": frames}


def _heap(page: Page) -> float:
    page.context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
    return float(page.evaluate("performance.memory.usedJSHeapSize")) / 1e6


def _tell(name: str, value: float, unit: str, aim: float, *, least: bool = False) -> None:
    met = value >= aim if least else value <= aim
    sign = "≥" if least else "≤"
    print(f"  {name:<44} {value:9.1f} {unit:<5} aim {sign} {aim:g} {'met' if met else 'MISSED'}")


def _measure(chrome: Browser, made: Heddle, tree: str, moves: int) -> None:
    names = [_name(place) for place in (2, 3)]
    address = f"/trees/{tree}?node={names[0]}"
    _open(chrome, made, address)
    opened = [_open(chrome, made, address) for _ in range(ROUNDS)]
    median = {name: statistics.median(one[name] for one in opened) for name in opened[0]}
    _tell("first node readable", median["first node"], "ms", 1500)
    _tell("sent before it", median["sent before it"], "kB", 300)
    _tell("map drawn", median["map"], "ms", 3000)
    _tell("panning", median["frames"], "fps", 30, least=True)
    context, page = _visit(chrome, made, address)
    page.wait_for_selector("loom-map[data-ready]", timeout=PATIENCE_MS)
    times = [float(page.evaluate(GO, names[(at + 1) % 2])) for at in range(20)]
    _tell(f"to a sibling with {BELOW:,} nodes below", statistics.median(times), "ms", 200)
    for at in range(20, 100):
        page.evaluate(GO, names[(at + 1) % 2])
    before = _heap(page)
    for at in range(moves):
        page.evaluate(GO, names[(at + 1) % 2])
    _tell(f"memory after {moves:,} moves / before", _heap(page) / before, "×", 1.1)
    context.close()


def main(count: int, moves: int) -> None:
    """Starts a Heddle, brings the tree in, and prints medians with their aims."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chrome = playwright.chromium.launch(
            executable_path=chromium(),
            args=["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"],
        )
        file = Path(folder) / "tree.json"
        head: dict[str, Any] = {"heddle": 1, "tree": {"title": "Big", "mode": "dialogue"}}
        head |= {"participants": [{"name": "Ada", "kind": "human"}], "nodes": list(nodes(count))}
        file.write_text(json.dumps(head | {"marks": [], "links": []}))
        with ScriptedProvider() as provider, server(Path(folder) / "data", "--no-model") as run:
            link = run.until(r"(http://\S+/signin/\S+)")[1]
            made = Heddle(run.ready(), provider)
            made.owner = come_in(chrome, link)
            began = time.monotonic()
            tree = _brought_in(made, file)
            print(f"a tree of {count:,} nodes, brought in in {time.monotonic() - began:.0f} s")
            _measure(chrome, made, tree, moves)
        chrome.close()


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    main(*(given + [100_000, 1_000][len(given) :]))
