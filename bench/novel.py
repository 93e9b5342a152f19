"""A novel of 1,000,000 characters in 20,000 nodes in Chromium: how soon it opens, how long a key
takes to the screen, and whether memory grows while one types.

Aims: opening 1.5 s, a key 16 ms at the 95th percentile, memory flat. A key waits for the next
frame of the screen, up to 16.7 ms, whatever is done for it: the CPU of the page and the ratio to a
plain text field say what the editor costs. Every second node is a model's.
Run: python -m bench.novel [nodes] [characters of each] [keys]
"""

import json
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from bench import editor
from bench.page import FLAGS, brought_in
from bench.page_actions import Watched
from bench.shapes import WORDS, name_of
from tests.browser.house import Heddle, come_in, give
from tests.house.processes import server
from tests.providers.scripted import ScriptedProvider
from tests.skips import chromium

AIM_OPEN_MS, AIM_KEY_MS = 1500, 16
PATIENCE_MS = 120_000
ROUNDS = 3


def written(file: Path, nodes: int, size: int) -> None:
    """Writes a buffer of that many nodes, one below the other, as a file to import."""
    dice = random.Random(7)
    rows: list[dict[str, Any]] = []
    for place in range(nodes + 1):
        text = " ".join(dice.choices(WORDS, k=size // 3))[: size - 1] + " " if place else ""
        name = name_of(place)
        row = {"id": name, "slot": name, "kind": "text", "author": ("Ada", "Muse")[place % 2]}
        above = {"parent": name_of(place - 1)} if place else {}
        end = "\n\n" if place % 12 == 0 and place else ""
        rows.append(
            {**row, **above, "created_at": "2026-11-21T02:07:00.000000Z", "text": text + end}
        )
    body = {
        "heddle": 1,
        "tree": {"title": "A novel", "mode": "buffer"},
        "participants": [{"name": "Ada", "kind": "human"}, {"name": "Muse", "kind": "model"}],
        "nodes": rows,
        "marks": [],
        "links": [],
    }
    file.write_text(json.dumps(body))


def opened(browser: Browser, heddle: Heddle, address: str) -> tuple[Page, float, float]:
    """A fresh browser at the novel, and milliseconds until it can be read and typed into."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    give(context, heddle.owner, heddle.url)
    page = context.new_page()
    page.goto(heddle.url + address)
    page.wait_for_selector("loom-buffer[data-on]", timeout=PATIENCE_MS)
    typed_into = page.evaluate("performance.now()")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return page, paint, typed_into


def heap(session: CDPSession) -> float:
    """MB of JavaScript objects that are still in use."""
    session.send("HeapProfiler.collectGarbage")
    used: float = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    return used


def typed(page: Page, keys: int, at: int) -> list[float]:
    """Milliseconds from each key to the screen, with the caret at a place of the text."""
    page.evaluate(
        """at => { const {view} = document.querySelector("loom-buffer").editor;
        view.dispatch({selection: {anchor: at}, scrollIntoView: true}); view.focus();
        window.keyTimes = []; }""",
        at,
    )
    for number in range(keys):
        page.locator(".cm-content").press("xyz "[number % 4])
    page.wait_for_function(f"() => window.keyTimes.length >= {keys}")
    times: list[float] = page.evaluate("() => window.keyTimes")
    return times


def report(name: str, value: float, aim: float, unit: str = "ms") -> None:
    """Prints a figure and its ratio to the aim."""
    print(f"{name:46} {value:9.1f} {unit}   {value / aim:6.2f} of the aim")


def measure(browser: Browser, heddle: Heddle, tree: str, keys: int) -> None:
    """Opens the novel ROUNDS times, types at its end and in its middle, looks at the memory."""
    rounds = [
        opened(browser, heddle, f"/trees/{tree}?node={_last(heddle, tree)}") for _ in range(ROUNDS)
    ]
    report("text can be read", statistics.median(opening[1] for opening in rounds), AIM_OPEN_MS)
    report(
        "text can be typed into", statistics.median(opening[2] for opening in rounds), AIM_OPEN_MS
    )
    page = rounds[-1][0]
    for other, _, _ in rounds[:-1]:
        other.context.close()
    length = page.evaluate("document.querySelector('loom-buffer').editor.view.state.doc.length")
    print(f"{length:,} characters, {page.locator('.cm-line').count()} lines of them drawn")
    page.evaluate(editor._TIMED)
    bare = sorted(_bare(browser, page))
    for name, value in (("median", bare[len(bare) // 2]), ("95th", bare[int(len(bare) * 0.95)])):
        print(f"{'a key in a bare textarea, ' + name:46} {value:9.1f} ms")
    watched = Watched(page)
    session = watched.tools
    typed(page, 20, length)
    for name, at in (("at the end", length), ("in the middle", length // 2)):
        before, spent = heap(session), watched.metrics()["TaskDuration"]
        times = sorted(typed(page, keys, at))
        spent = (watched.metrics()["TaskDuration"] - spent) * 1000 / keys
        after = heap(session)
        report(f"a key {name}, CPU of the page", spent, AIM_KEY_MS)
        report(f"a key {name}, median", statistics.median(times), AIM_KEY_MS)
        late = times[int(len(times) * 0.95)]
        report(f"a key {name}, 95th percentile", late, AIM_KEY_MS)
        print(f"{'its ratio to the textarea':46} {late / bare[int(len(bare) * 0.95)]:9.2f}")
        print(f"{'memory before and after':46} {before:9.1f} {after:8.1f} MB")


def _bare(browser: Browser, page: Page) -> list[float]:
    """Types in a plain text field that holds the novel: the yardstick."""
    text = page.evaluate("document.querySelector('loom-buffer').editor.view.state.doc.toString()")
    plain = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    plain.set_content("<textarea style='width:700px;height:800px'></textarea>")
    plain.evaluate(editor._TIMED)
    fill = "text => { const f = document.querySelector('textarea'); f.value = text; f.focus(); }"
    plain.evaluate(fill, text)
    times = editor.typed(plain, "textarea")
    plain.context.close()
    return times


def _last(heddle: Heddle, tree: str) -> str:
    rows: Any = heddle.get(f"trees/{tree}/skeleton")
    return str(rows["ids"][-1])


def main(nodes: int, size: int, keys: int) -> None:
    """Starts a Heddle, brings the novel in, measures, prints."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedProvider() as provider,
        server(Path(folder), "--no-model") as running,
        sync_playwright() as playwright,
    ):
        link = running.until(r"(http://\S+/signin/\S+)")[1]
        heddle = Heddle(running.ready(), provider, Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        heddle.owner = come_in(browser, link)
        file = Path(folder) / "novel.json"
        written(file, nodes, size)
        measure(browser, heddle, brought_in(heddle, file), keys)
        browser.close()


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*given, *(20_000, 50, 200)[len(given) :])
