"""What claims and tasks cost: a request of an agent and the list of claims in a tree with few and
with MANY pieces of evidence, and a click on a task until a second browser shows it.

Times are medians in this process, without a network; the last two are between two pages of Chromium
on this machine. Run: python -m bench.claims [many] [clicks]   (10,000 and 40 by default)
"""

import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.drawing import serving
from bench.fanout import free_port
from bench.installation import Case, medians_ms, open_installation, report, settle

AIM_REQUEST_MS, AIM_CLICK_MS = 5.0, 150.0
CLAIMS = 100


def grown(actor: Any, many: int) -> tuple[Any, Any]:
    """A tree with a claim of an agent with half of `many` pieces of evidence, and as many of them
    again of somebody else's claims; and the agent as its actor."""
    from loom.access import acting_as
    from loom.claims.models import Cite, Claim
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.language import ids
    from loom.people.models import Participant
    from loom.trees.commands.trees import new_tree
    from loom.trees.models import Node

    tree = new_tree(actor, title=f"claims {many}")
    text = execute_line(actor, tree, Request('respond root "the lamp"')).body["refs"][0]
    agent = Participant.objects.create(
        grove=actor.grove,
        kind="model",
        name=f"Marie {many}",
        model_ref="openai:echo-1",
        permissions=["loom_aware", "loom_write"],
    )
    acting = acting_as(actor, agent)
    item = ids.of_node(Node.objects.get(tree=tree, local_id=text).pk)
    answer = execute_line(acting, tree, Request(f'claim "it is lit" cite:{text}'))
    own = Claim.objects.get(node__tree=tree, node__local_id=answer.body["refs"][0])
    Cite.objects.bulk_create(
        Cite(claim=own, item=item, side="for", by=agent, at=own.at) for _ in range(many // 2)
    )
    for number in range(min(CLAIMS, many)):
        line = f'claim "claim {number} of {many}" cite:{text}'
        ref = execute_line(actor, tree, Request(line)).body["refs"][0]
        claim = Claim.objects.get(node__tree=tree, node__local_id=ref)
        Cite.objects.bulk_create(
            Cite(claim=claim, item=item, side="for", by=actor.participant, at=claim.at)
            for _ in range(many // CLAIMS // 2)
        )
    return tree, acting


def cases_of(actor: Any, sizes: dict[str, tuple[Any, Any]]) -> Iterator[tuple[str, Case]]:
    """What is measured, by its name."""
    from django.test import Client

    from loom.claims.queries.brief import lines_for
    from loom.trees.commands.node_writer import workspace_of

    client = Client()
    client.force_login(actor.user)
    for name, (tree, acting) in sizes.items():
        own = workspace_of(acting.participant, tree)
        yield f"CLAIMS of a request, {name}", partial(lines_for, acting, own)
        yield f"GET claims, {name}", partial(client.get, f"/api/claims?tree={tree.uid}")


def clicked_ms(actor: Any, tree: Any, text: str, clicks: int, port: int) -> list[float]:
    """How long each click on a task takes until the second of two pages shows it."""
    from django.test import Client
    from playwright.sync_api import sync_playwright

    from tests.skips import chromium

    client = Client()
    client.force_login(actor.user)
    cookie = client.cookies["sessionid"].value
    url = f"http://127.0.0.1:{port}"
    took = []
    with serving(port), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        pages = []
        for _ in range(2):
            context = browser.new_context()
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
            page = context.new_page()
            page.goto(f"{url}/trees/{tree.uid}?node={text}")
            page.wait_for_selector(BOX)
            page.wait_for_selector('loom-status .dot[data-state="live"]', state="attached")
            pages.append(page)
        first, second = pages
        for number in range(clicks):
            wanted = number % 2 == 0
            began = time.perf_counter()
            first.click(BOX)
            second.wait_for_function(
                "([box, wanted]) => document.querySelector(box)?.checked === wanted",
                arg=[BOX, wanted],
            )
            took.append((time.perf_counter() - began) * 1000)
        browser.close()
    return sorted(took)


BOX = "input.task-box[data-token]"


def main(many: int, clicks: int, port: int) -> None:
    """Makes the claims and a task, and prints what they cost."""
    from bench.trees import make_owner
    from loom.engine.context import Request
    from loom.engine.execute import execute_line

    actor = make_owner("bench")
    sizes = {"10": grown(actor, 10), f"{many:,}": grown(actor, many)}
    settle()
    medians = medians_ms(dict(cases_of(actor, sizes)), rounds=20)
    report("Claims", medians, {})
    worst = medians[f"CLAIMS of a request, {many:,}"]
    met = "met" if worst <= AIM_REQUEST_MS else "MISSED"
    print(f"  {'a request with all of them':<44} {worst:9.2f} ms   aim ≤ 5 {met}")
    tree = sizes["10"][0]
    line = "respond root\n- [ ] light the lamp\n←"
    text = execute_line(actor, tree, Request(line)).body["refs"][0]
    took = clicked_ms(actor, tree, text, clicks, port)
    p50 = took[len(took) // 2]
    p95 = took[min(len(took) - 1, int(len(took) * 0.95))]
    print(f"  {'a click, seen in a second browser, p50':<44} {p50:9.2f} ms")
    met = "met" if p95 <= AIM_CLICK_MS else "MISSED"
    print(f"  {'a click, seen in a second browser, p95':<44} {p95:9.2f} ms   aim ≤ 150 {met}")


if __name__ == "__main__":
    free = free_port()
    open_installation(f"http://127.0.0.1:{free}")
    arguments = [int(argument) for argument in sys.argv[1:3]]
    many, clicks = [*arguments, *(10_000, 40)[len(arguments) :]]
    main(many, clicks, free)
