"""The map by meaning: how long a layout takes, how long somebody waits until it is opened, and how
long a frame takes while the reader pans and zooms, and how many a second that is, with 10,000 and
100,000 texts.

Vectors are made up: 60 subjects of several kinds each, as texts of a grove have. Frames are
frames in Chromium without a graphics card, so that they are the slowest that a reader has.

Run: python -m bench.landscape [numbers of texts]
"""

import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from loom.embedding.vectors import Floats, unit
from loom.landscape import layout, map_rows
from loom.landscape.regions import find_regions

DIST = Path(__file__).resolve().parents[1] / "static" / "dist"
SCREEN = 60  # frames a second that the browser is asked for
SIZE = {"width": 1440, "height": 900}
PAGE = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="/dist/app.css">
<loom-landscape class="landscape" data-points="/points"><div class="landscape-main">
<div class="landscape-frame" hidden><canvas tabindex="0"></canvas><div data-tip hidden></div></div>
<div class="landscape-legend" data-legend></div></div>
<section data-text hidden></section><section data-picked hidden></section></loom-landscape>
<script type="module" src="/dist/landscape.js"></script>"""
# Frames while the map is panned and zoomed: the ms that each takes, and those from one to the next.
MOVES = """async () => {
    const map = document.querySelector("loom-landscape");
    const took = [], apart = [];
    let before = performance.now();
    for (let at = 0; at < 120; at += 1) {
        if (at % 40 < 30) { map.eye.pan(at < 60 ? 6 : -6, 3); map.moved(); }
        else map.zoom(at < 60 ? 1.03 : 1 / 1.03, 400, 300);
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        took.push(map.picture.took); apart.push(now - before); before = now;
    }
    return {took, apart};
}"""


def vectors_of(count: int) -> Floats:
    """So many vectors of 60 subjects, each of which has 8 kinds; the same each time."""
    dice = np.random.default_rng(5)
    subjects = dice.normal(size=(60, 256))
    kinds = subjects[:, None, :] + 0.6 * dice.normal(size=(60, 8, 256))
    chosen = kinds.reshape(480, 256)[dice.integers(0, 480, count)]
    return unit((chosen + 0.8 * dice.normal(size=(count, 256))).astype(np.float32))


def measure(count: int) -> None:
    """Prints the figures for so many texts."""
    vectors = vectors_of(count)
    begun, before = time.perf_counter(), time.process_time()
    drawn = layout.to_whole(layout.lay_out(vectors))
    spent = time.process_time() - before
    took_s = time.perf_counter() - begun
    print(f"{count:,} texts laid out in {spent:.1f} s of one core ({took_s:.1f} s)")
    new = vectors_of(count + 1_000)[count:]
    before = time.process_time()
    layout.place_new(new, [(vectors, drawn)], np.arange(1_000))
    print(f"  1,000 new texts placed in {time.process_time() - before:.1f} s of one core")
    rows = np.zeros(count, map_rows.ROW)
    rows["ordinal"] = rows["slot"] = np.arange(1, count + 1)
    rows["up"] = np.arange(count) // 3
    rows["x"], rows["y"] = drawn.T
    none = np.zeros(0, np.int64)
    before = time.process_time()
    seen = map_rows.shown(rows, none, own=none, pruned=none, choices={})
    map_rows.nearest_shown(rows, seen)
    map_rows.branches(rows, seen, 12)
    regions = find_regions(rows["x"], rows["y"])
    took = (time.process_time() - before) * 1000
    print(f"  opened in {took:.0f} ms of one core beside the database, {len(regions)} regions")
    body = _body(rows, regions)
    print(
        f"  sent as {len(body) / 1e6:.1f} MB of JSON; {map_rows.ROW.itemsize} bytes a text stored"
    )
    _frames(body)


def _body(rows: map_rows.Rows, regions: list[Any]) -> str:
    count = len(rows)
    return json.dumps(
        {
            "revision": 1,
            "placed": 0,
            "trees": [{"id": "t", "title": "Bench"}],
            "participants": [
                {"id": str(at), "name": f"Author {at}", "kind": "human", "model": ""}
                for at in range(6)
            ],
            "branches": [],
            "ids": [f"n{at}" for at in range(count)],
            "x": rows["x"].tolist(),
            "y": rows["y"].tolist(),
            "tree": [],
            "ups": (rows["up"].astype(np.int64) - 1).tolist(),
            "authors": (np.arange(count) % 6).tolist(),
            "times": list(range(count)),
            "branch": [-1] * count,
            "ratings": [],
            "lit": None,
            "regions": [
                {
                    "level": region.level,
                    "x": region.x,
                    "y": region.y,
                    "count": len(region.members),
                    "within": region.within,
                    "words": ["hill", str(at)],
                }
                for at, region in enumerate(regions)
            ],
        }
    )


def _frames(body: str) -> None:
    """Prints how long frames take in a browser."""
    from playwright.sync_api import Route, sync_playwright

    from tests.skips import chromium

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix("http://bench.invalid")
        if path.startswith("/dist/"):
            file = DIST / path.removeprefix("/dist/")
            route.fulfill(path=file) if file.exists() else route.fulfill(status=404)
        elif path == "/points":
            route.fulfill(body=body, content_type="application/json")
        else:
            route.fulfill(body=PAGE, content_type="text/html")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.route("**/*", answer)
        begun = time.perf_counter()
        page.goto("http://bench.invalid/")
        page.locator(".landscape-frame[data-ready]").wait_for(timeout=120_000)
        page.wait_for_function("() => document.querySelector('loom-landscape').picture.took > 0")
        opened = (time.perf_counter() - begun) * 1000
        frames = page.evaluate(MOVES)
        browser.close()
    for name, words in (("took", "work of a frame"), ("apart", "from frame to frame")):
        ordered = sorted(frames[name])
        late = ordered[int(0.95 * len(ordered))]
        print(f"  {words}: {median(ordered):.1f} ms, p95 {late:.1f} ms")
    ordered = sorted(frames["apart"])
    rate, slow = per_second(ordered), per_second(ordered[int(0.95 * len(ordered)) :])
    usual = 1000 / median(ordered)
    print(
        f"  {usual:.0f} frames a second of {SCREEN}: {rate:.0f} on average, {slow:.0f} at the worst"
    )
    print(f"  {per_second(frames['took']):,.0f} a second on average if the screen set no pace")
    print(f"  seen after {opened:.0f} ms")


def per_second(took_ms: list[float]) -> float:
    """How many frames a second those are."""
    return 1000 * len(took_ms) / max(sum(took_ms), 1e-9)


if __name__ == "__main__":
    for number in [int(argument) for argument in sys.argv[1:]] or [10_000, 100_000]:
        measure(number)
