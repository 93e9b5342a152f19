"""Actions of a reader on the tree page, run in Chromium and measured inside the page."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, Page

# Before anything of the page's runs: its long tasks are noted.
WATCH = """window.long = [];
new PerformanceObserver(list => window.long.push(...list.getEntries().map(one => one.duration)))
    .observe({type: "longtask", buffered: true});"""
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
FIT = "() => document.querySelector('loom-map').fit()"
GO = """id => new Promise(done => {
    document.addEventListener("drawn", () => requestAnimationFrame(done), {once: true});
    document.querySelector("loom-tree").page.go(id);
})"""
OUTLINE = """() => {
    document.getElementById("tab-outline").click();
    return new Promise(requestAnimationFrame);
}"""
UNFOLD = """() => {
    const outline = document.querySelector("loom-outline");
    const {store} = outline.page;
    store.below.forEach((_, slot) => outline.open.add(slot));
    outline.rebuild();
    outline.paint();
    return new Promise(requestAnimationFrame);
}"""
TO_END = """() => {
    const outline = document.querySelector("loom-outline");
    outline.step(Infinity);
    return new Promise(requestAnimationFrame);
}"""
FILTER = """() => {
    const page = document.querySelector("loom-tree").page;
    const author = [...page.cast.values()].find(who => who.name.startsWith("Ben"));
    if (!author) throw new Error(`no Ben in ${[...page.cast.values()].map(who => who.name)}`);
    page.filter.set({author: author.id});
    return new Promise(requestAnimationFrame);
}"""
UNFILTER = "() => document.querySelector('loom-tree').page.filter.clear()"
FIND = """async () => {
    const bar = document.querySelector("loom-command");
    bar.open("hills and nobody");
    clearTimeout(bar.timer);
    await bar.suggest();
    if (!bar.choices.length) throw new Error("nothing was found");
    await new Promise(requestAnimationFrame);
    bar.dialog.close();
}"""
PAST = """async share => {
    const past = document.querySelector("loom-past");
    const map = document.querySelector("loom-map");
    const {page} = past;
    const shown = () => map.icicle?.places ?? map.scene;
    const before = shown();
    if (!past.range) past.open(page.events.seq);
    past.range.value = Math.round(page.events.seq * share);
    await past.look();
    while (shown() === before) await new Promise(requestAnimationFrame);
}"""
NOW = "() => document.querySelector('loom-past').close()"


@dataclass(frozen=True)
class Cost:
    """The cost of one action: the time until it is visible, the page's own work, and its longest
    task (all ms)."""

    took: float
    cpu: float
    longest: float


class Watched:
    """A page whose work is counted. CPU time is less moved than the clock by other work."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.tools: CDPSession = page.context.new_cdp_session(page)
        self.tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def metrics(self) -> dict[str, float]:
        """The page's counters by Chromium's names; times in seconds of CPU."""
        answer: dict[str, Any] = self.tools.send("Performance.getMetrics")
        return {metric["name"]: float(metric["value"]) for metric in answer["metrics"]}

    def do(self, case: str, arg: object = None) -> Cost:
        """Does something in the page, and waits until it has been drawn."""
        self.page.evaluate("() => { window.long = []; }")
        before = self.metrics()["TaskDuration"]
        took = self.page.evaluate(
            f"""async arg => {{
                const began = performance.now();
                await ({case})(arg);
                return performance.now() - began;
            }}""",
            arg,
        )
        self.page.wait_for_timeout(200)  # what comes after it counts too
        cpu = (self.metrics()["TaskDuration"] - before) * 1000
        longest = self.page.evaluate("() => Math.max(0, ...window.long)")
        return Cost(float(took), cpu, float(longest))

    def kept(self) -> dict[str, float]:
        """What the page still uses after garbage collection: heap in MB, nodes, listeners."""
        self.tools.send("HeapProfiler.collectGarbage")
        now = self.metrics()
        return {
            "heap MB": now["JSHeapUsedSize"] / 1e6,
            "DOM nodes": now["Nodes"],
            "listeners": now["JSEventListeners"],
        }
