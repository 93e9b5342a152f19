"""The tree page of trees of 100,000 nodes in Chromium: opening, map, moving, outline, memory.

Run: python -m bench.page [--nodes 100000] [--moves 1000] [SHAPE…] (all in bench.shapes).
Needs the browser's files built, and Chromium. CPU is the page's own, and says more than the
clock where other work is done on the machine.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from bench import page_actions, shapes
from bench.page_actions import Cost, Watched
from tests.browser.house import Heddle, come_in, give
from tests.house.processes import server
from tests.providers.scripted import ScriptedProvider
from tests.skips import chromium

ROUNDS = 5
SWITCHES = 21
PATIENCE_MS = 120_000  # what misses its aim is measured all the same
SMALL = 20_000  # nodes, up to which a tree shows its shape within a second
LONG = 200  # ms that no task of the page should take
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]


def brought_in(heddle: Heddle, file: Path) -> str:
    """The id of the tree that a file became."""
    with heddle.client() as client, file.open("rb") as sent:
        asked = client.post("/api/import", files={"file": sent}, timeout=600).json()["id"]
        while True:
            state = client.get(f"/api/imports/{asked}", timeout=60).json()
            if state["status"] == "done":
                return str(state["tree"])
            if state["status"] != "running" and state["status"] != "queued":
                raise SystemExit(f"the import ended: {state}")
            time.sleep(0.5)


def _visit(chrome: Browser, heddle: Heddle, address: str) -> tuple[BrowserContext, Watched]:
    """A new browser context at an address, with an empty cache."""
    context = chrome.new_context(viewport={"width": 1440, "height": 900})
    give(context, heddle.owner, heddle.url)
    context.add_init_script(page_actions.WATCH)
    page = context.new_page()
    # From one of ours: Chromium would begin another process, with other counters, else.
    page.goto(f"{heddle.url}/static/img/mark.svg")
    watched = Watched(page)
    page.goto(heddle.url + address, wait_until="commit")
    return context, watched


def _open(chrome: Browser, heddle: Heddle, address: str) -> dict[str, float]:
    context, watched = _visit(chrome, heddle, address)
    page = watched.page
    first = float(page.evaluate(page_actions.FIRST))
    page.wait_for_selector("loom-map[data-ready]", timeout=PATIENCE_MS)
    figures = {
        "first": first,
        "map": float(page.evaluate("performance.now()")),
        "sent": float(page.evaluate(page_actions.SENT, first)) / 1000,
        "cpu": watched.metrics()["TaskDuration"] * 1000,
        "longest": float(page.evaluate("() => Math.max(0, ...window.long)")),
        "near": float(page.evaluate(page_actions.FRAMES)),
    }
    page.evaluate(page_actions.FIT)
    figures["far"] = float(page.evaluate(page_actions.FRAMES))
    context.close()
    return figures


def _report(name: str, value: float, unit: str, aim: float, *, least: bool = False) -> None:
    met = value >= aim if least else value <= aim
    sign = "≥" if least else "≤"
    print(f"  {name:<44} {value:9.1f} {unit:<5} aim {sign} {aim:g} {'met' if met else 'MISSED'}")


def _opening(chrome: Browser, heddle: Heddle, where: str, address: str, *, soon: float) -> None:
    """Prints how long a page takes to open at a place, and whether its map, which shows the shape
    of the tree, is drawn within `soon` ms; medians."""
    _open(chrome, heddle, address)
    opened = [_open(chrome, heddle, address) for _ in range(ROUNDS)]
    median = {name: statistics.median(figures[name] for figures in opened) for name in opened[0]}
    print(f" at {where}: {median['cpu']:.0f} ms of CPU until the map is drawn")
    _report("first node readable", median["first"], "ms", 1500)
    _report("sent before it", median["sent"], "kB", 300)
    _report("map drawn", median["map"], "ms", soon)
    _report("longest task", median["longest"], "ms", LONG)
    _report("panning, from near", median["near"], "fps", 30, least=True)
    _report("panning, the whole map", median["far"], "fps", 30, least=True)


def _cost(name: str, costs: Sequence[Cost], aim: float | None = None) -> None:
    took, cpu, longest = (
        statistics.median(getattr(cost, part) for cost in costs)
        for part in ("took", "cpu", "longest")
    )
    print(
        f"  {name:<44} {took:9.1f} ms    {cpu:.0f} ms of CPU, longest task {longest:.0f} ms", end=""
    )
    print("" if aim is None else f", aim ≤ {aim:g} {'met' if took <= aim else 'MISSED'}")


def _actions(chrome: Browser, heddle: Heddle, address: str, moves: int) -> None:
    """Prints what moving, looking and searching cost, and what a long visit leaves behind."""
    context, watched = _visit(chrome, heddle, address)
    page = watched.page
    page.wait_for_selector("loom-map[data-ready]", timeout=PATIENCE_MS)
    siblings = [shapes.name_of(place) for place in (3, 2)]
    switches = [watched.do(page_actions.GO, siblings[at % 2]) for at in range(SWITCHES)]
    _cost(f"to a sibling with {shapes.BELOW:,} nodes below", switches[1::2], 200)
    _cost("search, hits lit on the map", [watched.do(page_actions.FIND) for _ in range(ROUNDS)])
    _cost("outline shown", [watched.do(page_actions.OUTLINE)])
    _cost("outline unfolded whole", [watched.do(page_actions.UNFOLD)])
    _cost("outline, to its last row", [watched.do(page_actions.TO_END)])
    filtered = []
    for _ in range(ROUNDS):
        filtered.append(watched.do(page_actions.FILTER))
        page.evaluate(page_actions.UNFILTER)
    _cost("filtered by author, a third of all", filtered)
    shares = [0.3, 0.9, 0.5, 0.7, 0.4]
    _cost(
        "time slider to another moment", [watched.do(page_actions.PAST, share) for share in shares]
    )
    page.evaluate(page_actions.NOW)
    for at in range(SWITCHES, 100):
        page.evaluate(page_actions.GO, siblings[at % 2])
    before = watched.kept()
    for at in range(moves):
        page.evaluate(page_actions.GO, siblings[at % 2])
    for name, value in watched.kept().items():
        _report(f"{name} after {moves:,} moves / before", value / before[name], "×", 1.1)
    context.close()


def measure(
    chrome: Browser, heddle: Heddle, tree: str, parents: shapes.Parents, moves: int
) -> None:
    """Prints medians of one tree with their aims."""
    top, low = shapes.name_of(2), shapes.name_of(shapes.deepest(parents))
    soon = 1000 if len(parents) <= SMALL else 3000
    _opening(chrome, heddle, "the top", f"/trees/{tree}?node={top}", soon=soon)
    _opening(chrome, heddle, "the deepest node", f"/trees/{tree}?node={low}", soon=soon)
    print(" then")
    _actions(chrome, heddle, f"/trees/{tree}?node={top}", moves)


def main(names: Sequence[str], count: int, moves: int) -> None:
    """Starts a Heddle, brings a tree of each shape in, and measures it."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        file = Path(folder) / "tree.json"
        with ScriptedProvider() as provider, server(Path(folder) / "data", "--no-model") as run:
            link = run.until(r"(http://\S+/signin/\S+)")[1]
            heddle = Heddle(run.ready(), provider, Path(folder) / "data")
            heddle.owner = come_in(chrome, link)
            for name in names:
                parents = shapes.write(file, name, count)
                began = time.monotonic()
                tree = brought_in(heddle, file)
                took = time.monotonic() - began
                print(f"{name}: {count:,} nodes, brought in in {took:.0f} s")
                measure(chrome, heddle, tree, parents, moves)
        chrome.close()


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description="Measures the tree page.")
    reader.add_argument("shapes", nargs="*", metavar="SHAPE", help=", ".join(shapes.SHAPES))
    reader.add_argument("--nodes", type=int, default=100_000)
    reader.add_argument("--moves", type=int, default=1_000)
    given = reader.parse_args()
    main(given.shapes or list(shapes.SHAPES), given.nodes, given.moves)
