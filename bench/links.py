"""What links cost: the foot of a text with ten links and with MANY, a portal that is opened, and
the graph around a text of 150 items, with the frames in which a browser draws it.

Times are medians in this process, without a network; the last two are taken in Chromium, which has
no graphics card here. Run: python -m bench.links [many] [rounds]   (10,000 and 20 by default)
"""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.drawing import serving
from bench.fanout import free_port
from bench.installation import Case, medians_ms, open_installation, report, settle
from bench.pruning import plant

FEW, GRAPH = 10, 149
AIM_MORE_MS, AIM_PORTAL_MS, AIM_FRAME_MS, AIM_FRAMES = 2.0, 100.0, 8.0, 60


def join(actor: Any, tree: Any, pairs: list[tuple[Any, Any]]) -> None:
    """Links each of the pairs of nodes, and counts all links again."""
    from django.utils import timezone

    from loom.engine.items import make_items
    from loom.links.commands.counting import recount
    from loom.links.models import Link

    make_items({node.pk for pair in pairs for node in pair})
    Link.objects.bulk_create(
        [
            Link(
                tree=tree,
                type="supports",
                source_id=source.pk,
                target_id=target.pk,
                by=actor.participant,
                at=timezone.now(),
            )
            for source, target in pairs
        ],
        batch_size=1000,
    )
    recount()


def cases_of(
    actor: Any, tree: Any, hubs: dict[int, Any], middle: Any
) -> Iterator[tuple[str, Case]]:
    """What is measured in this process."""
    from django.test import Client

    from loom.links.foot import portals_of

    client = Client()
    client.force_login(actor.user)
    for many, node in hubs.items():
        yield f"foot, {many:,} links", partial(portals_of, actor, {node.pk: node.slot_id})
    few = hubs[FEW].local_id
    yield "portal", lambda: client.get(f"/trees/{tree.uid}/nodes/{few}/portal?type=supports")
    address = f"/trees/{tree.uid}/graph?node={middle.local_id}&through={few}"
    yield "graph", lambda: client.get(address)


# The middle cost of a frame, with the pixels: what reads them waits for them.
FRAME = """async () => {
    const graph = document.querySelector("loom-graph");
    const took = [];
    for (let at = 0; at < 60; at += 1) {
        graph.view.x += Math.sin(at / 5);
        const began = performance.now();
        graph.paint();
        graph.context.getImageData(0, 0, 1, 1);
        took.push(performance.now() - began);
        await new Promise(requestAnimationFrame);
    }
    return took.sort((one, other) => one - other)[30];
}"""
SEEN = """async () => {
    const graph = document.querySelector("loom-graph");
    let frames = 0;
    const began = performance.now();
    while (performance.now() - began < 2000) {
        graph.view.x += Math.sin(frames / 5);
        graph.paint();
        frames += 1;
        await new Promise(requestAnimationFrame);
    }
    return [frames / 2, graph.graph.nodes.length];
}"""
OPENED = """async () => {
    const portal = document.querySelector(".portal");
    const began = performance.now();
    portal.open = true;
    while (!portal.querySelector(".portal-end")) await new Promise(requestAnimationFrame);
    return performance.now() - began;
}"""


def seen_in_browser(actor: Any, tree: Any, hub: Any, middle: Any) -> None:
    """Prints what a browser needs for a portal and how many frames a second the graph has."""
    from django.test import Client
    from playwright.sync_api import sync_playwright

    from tests.skips import chromium

    port = free_port()
    client = Client()
    client.force_login(actor.user)
    cookie = client.cookies["sessionid"].value
    url = f"http://127.0.0.1:{port}"
    with serving(port), sync_playwright() as playwright:
        args = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=chromium(), args=args)
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
        page = context.new_page()
        page.goto(f"{url}/trees/{tree.uid}?node={hub.local_id}")
        page.wait_for_selector(".portal")
        took = page.evaluate(OPENED)
        met = "met" if took <= AIM_PORTAL_MS else "MISSED"
        print(f"  {'a portal opens in the browser':<44} {took:9.2f} ms   aim ≤ 100 {met}")
        page.goto(f"{url}/trees/{tree.uid}/graph?node={middle.local_id}")
        page.wait_for_selector("loom-graph[data-at-rest]", timeout=120_000)
        took = page.evaluate(FRAME)
        met = "met" if took <= AIM_FRAME_MS else "MISSED"
        print(f"  {'a frame of the graph, drawn':<44} {took:9.2f} ms   aim ≤ 8 {met}")
        frames, items = page.evaluate(SEEN)
        met = "met" if frames >= AIM_FRAMES - 1 else "MISSED"
        print(f"  {f'frames a second, graph of {items} items':<44} {frames:9.1f}      aim 60 {met}")
        browser.close()


def main(many: int, rounds: int) -> None:
    """Makes the links and prints what they cost."""
    from bench.trees import make_owner

    actor = make_owner("bench")
    tree, nodes = plant(actor, [-1] * (max(many, GRAPH) + 4))
    hubs = {FEW: nodes[0], many: nodes[1]}
    middle, spread = nodes[2], nodes[4:]
    pairs = [(hubs[size], node) for size in hubs for node in spread[:size]]
    # A graph of 150 items: seven around the middle, and the others around those.
    inner = spread[-7:]
    pairs += [(middle, node) for node in inner]
    pairs += [(inner[at % 7], node) for at, node in enumerate(spread[: GRAPH - 7])]
    join(actor, tree, pairs)
    settle()
    medians = medians_ms(dict(cases_of(actor, tree, hubs, middle)), rounds=rounds)
    report("links", medians, {})
    more = medians[f"foot, {many:,} links"] - medians[f"foot, {FEW:,} links"]
    met = "met" if more <= AIM_MORE_MS else "MISSED"
    print(f"  {'foot, many - few':<44} {more:9.2f} ms   aim ≤ 2 {met}")
    seen_in_browser(actor, tree, hubs[FEW], middle)


if __name__ == "__main__":
    given = sys.argv[1:] + ["10000", "20"][len(sys.argv) - 1 :]
    open_installation()
    main(int(given[0]), int(given[1]))
