"""A buffer of 500 kB in 2,000 nodes in Chromium: how soon it can be read and typed into, and
how long a key takes to the screen, with and without others' changes coming in.

The yardstick for keys is a bare textarea with the same text in the same browser.
Run: python -m bench.editor [nodes] [characters of each]
"""

import re
import statistics
import sys
import tempfile
import threading
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from tests.house.processes import server
from tests.skips import chromium

KEYS = 60
WORDS = "The house stood empty at the end of the lane and nobody had been there since. "
# From the key's own time stamp to the frame after the one it changed.
_TIMED = """() => { window.keyTimes = []; addEventListener("keydown", (event) => {
    requestAnimationFrame(() => { const done = new MessageChannel();
        done.port1.onmessage = () => window.keyTimes.push(performance.now() - event.timeStamp);
        done.port2.postMessage(0); }); }, true); }"""


def grown(client: httpx.Client, nodes: int, size: int) -> str:
    """A buffer of that many nodes, one below the other; returns its id."""
    tree = str(client.post("/api/trees", json={"title": "Long", "mode": "buffer"}).json()["id"])
    for number in range(nodes):
        text = (f"{number} " + WORDS * (size // len(WORDS) + 1))[:size]
        end = "\n\n" if number % 4 == 3 else ""
        line = {"line": f"respond\n{text}{end}\n←"}
        client.post(f"/api/trees/{tree}/commands", json=line).raise_for_status()
    return tree


def typed(page: Page, where: str) -> list[float]:
    """Milliseconds from each of KEYS keys to the screen."""
    page.evaluate("() => { window.keyTimes = []; }")
    for _ in range(KEYS):
        page.locator(where).press("x")
    page.wait_for_function(f"() => window.keyTimes.length >= {KEYS}")
    times: list[float] = page.evaluate("() => window.keyTimes")
    return times


def report(name: str, times: list[float], bare: float) -> None:
    """Prints median, 95th percentile, and the ratio to the yardstick."""
    ordered = sorted(times)
    median, late = statistics.median(times), ordered[int(len(ordered) * 0.95)]
    print(f"{name:42} {median:8.1f} {late:8.1f} ms {median / bare:6.2f} of a textarea")


def measure(browser: Browser, page: Page, tree: str, client: httpx.Client) -> None:
    """Opens the tree and types at its end, in its middle, and while others change it."""
    page.goto(f"{client.base_url}/trees/{tree}")
    page.wait_for_selector("loom-buffer[data-on]", timeout=120_000)
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    print(f"{'text can be read':42} {page.evaluate(paint):8.0f} ms")
    page.goto(f"{client.base_url}/trees/{tree}")
    page.wait_for_selector("loom-buffer[data-on]", timeout=120_000)
    print(f"{'text can be typed into':42} {page.evaluate('performance.now()'):8.0f} ms")
    length = page.evaluate("document.querySelector('loom-buffer').editor.view.state.doc.length")
    drawn = page.locator(".cm-line").count()
    print(f"{length:,} characters, {drawn} lines of them drawn")
    whole = page.evaluate("document.querySelector('loom-buffer').editor.view.state.doc.toString()")
    other = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    other.set_content("<textarea style='width:700px;height:800px'></textarea>")
    other.evaluate(_TIMED)
    other.evaluate(
        "text => { const f = document.querySelector('textarea'); f.value = text; f.focus(); }",
        whole,
    )
    bare = typed(other, "textarea")
    other.close()
    report("a key in a bare textarea", bare, statistics.median(bare))
    page.evaluate(_TIMED)
    for name, at in (("at the end", length), ("in the middle", length // 2)):
        page.evaluate(
            """at => { const {view} = document.querySelector("loom-buffer").editor;
            view.dispatch({selection: {anchor: at}, scrollIntoView: true}); view.focus(); }""",
            at,
        )
        report(f"a key {name}", typed(page, ".cm-content"), statistics.median(bare))
    _while_others_write(page, tree, client, statistics.median(bare))


def _while_others_write(page: Page, tree: str, client: httpx.Client, bare: float) -> None:
    at = client.get(f"/api/trees/{tree}").json()["workspace"]["position"]
    stop = threading.Event()
    statuses: list[int] = []

    def write() -> None:
        while not stop.wait(0.05):
            line = {"line": f'respond {at} "other {len(statuses)}"', "at": at}
            statuses.append(client.post(f"/api/trees/{tree}/commands", json=line).status_code)

    writer = threading.Thread(target=write)
    writer.start()
    times = typed(page, ".cm-content")
    stop.set()
    writer.join()
    report(f"a key while {len(statuses)} changes came", times, bare)


def main(nodes: int, size: int) -> None:
    """Starts a Heddle, grows the tree, measures, prints."""
    with (
        tempfile.TemporaryDirectory() as folder,
        server(Path(folder), "--no-model") as running,
        sync_playwright() as playwright,
    ):
        link = running.until(r"(http://\S+/signin/\S+)")[1]
        url = running.ready()
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(link)
        page.get_by_role("button", name=re.compile("Sign in")).click()
        page.wait_for_url(re.compile(r":\d+/$"))
        jar = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
        headers = {"X-CSRFToken": jar["csrftoken"], "Origin": url}
        with httpx.Client(base_url=url, cookies=jar, headers=headers, timeout=60) as client:
            measure(browser, page, grown(client, nodes, size), client)
        browser.close()


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*given, *(2000, 250)[len(given) :])
