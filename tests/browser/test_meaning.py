"""Finding by meaning, and skimming candidates, in the browser."""

import json
from collections.abc import Iterator
from time import monotonic
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Cookies, Heddle, Open
from tests.patience import PATIENCE_S
from tests.providers.scripts import Script, fails, says


def _until_found(heddle: Heddle, tree: str, query: str) -> None:
    """Waits until the worker has indexed the tree: a line that finds a text by its meaning."""
    until = monotonic() + PATIENCE_S
    while monotonic() < until:
        if heddle.line(tree, f'find "{query}" by:meaning').get("refs"):
            return
    raise AssertionError("the worker has indexed nothing")


def _candidates(heddle: Heddle, title: str, *texts: str) -> tuple[str, str]:
    """A tree with candidates below its first text: its id, and that of the first text."""
    tree = heddle.tree(title, "What happened at sea?")
    point = str(heddle.line(tree, "list root continuations")["refs"][0])  # type: ignore[index]
    for text in texts:
        heddle.line(tree, f"respond {point}\n{text}\n←")
    return tree, point


def test_a_text_is_found_by_its_meaning_on_the_page_of_the_grove(
    heddle: Heddle, visit: Open
) -> None:
    title = f"Sea {uuid4().hex[:6]}"
    # About what no other journey writes of: ten texts are shown, the nearest of the grove.
    tree = heddle.tree(title, "The violinist tuned her violin before the concert.")
    query = "a musician prepares her instrument for a performance"
    _until_found(heddle, tree, query)
    page = visit("/")
    page.get_by_role("searchbox").first.fill(query)
    page.get_by_role("searchbox").first.press("Enter")
    hit = page.locator(".tree-row", has_text=title)
    expect(hit).to_contain_text("near in meaning")
    hit.click()
    expect(page.get_by_text("The violinist tuned her violin")).to_be_visible()


def test_candidates_are_skimmed_with_keys(heddle: Heddle, visit: Open) -> None:
    tree, point = _candidates(
        heddle,
        f"Skim {uuid4().hex[:6]}",
        "The old sailor steered his ship through the storm.",
        "She kneaded the dough and baked fresh bread.",
        "The old sailor steered his ship through the storm!",
        "A captain sailed a boat through the gale.",
    )
    page = visit(f"/trees/{tree}?node={point}")
    link = page.locator("a.weave-variety")
    expect(link).to_contain_text("different answers of 4")
    link.click()
    cells = page.locator(".skim-cell")
    expect(cells).to_have_count(3)
    expect(cells.first).to_contain_text("1 alike")
    cells.first.get_by_text("1 alike").click()
    expect(cells.first.locator(".alike a")).to_be_visible()
    expect(cells.first.locator(".alike p")).to_contain_text("through the storm")
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    expect(cells.nth(1)).to_be_focused()
    page.keyboard.press("b")
    expect(cells.nth(1)).to_contain_text("bookmarked")
    expect(cells.nth(1)).to_be_focused()
    page.keyboard.press("End")
    last = cells.nth(2).get_attribute("data-id")
    page.keyboard.press("x")
    expect(cells).to_have_count(2)
    assert last not in [cell.get_attribute("data-id") for cell in cells.all()]
    page.keyboard.press("Home")
    taken = cells.first.get_attribute("data-id")
    page.keyboard.press("t")
    page.wait_for_url(f"**/trees/{tree}?node={taken}")


def test_a_reader_skims_and_prunes_nothing(heddle: Heddle, visit: Open, rhea: Cookies) -> None:
    tree, point = _candidates(heddle, f"Read {uuid4().hex[:6]}", "One ship.", "Two loaves.")
    page: Page = visit(f"/trees/{tree}/candidates/{point}", who=rhea)
    cells = page.locator(".skim-cell")
    expect(cells).to_have_count(2)
    cells.first.focus()
    page.keyboard.press("x")
    page.keyboard.press("ArrowRight")
    expect(cells.nth(1)).to_be_focused()
    expect(cells).to_have_count(2)


def test_the_tokens_of_a_text_by_a_person_say_why_there_are_none(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree(f"Tokens {uuid4().hex[:6]}", "A person wrote this.")
    node = str(heddle.line(tree, "list root continuations")["refs"][0])  # type: ignore[index]
    page = visit(f"/trees/{tree}/nodes/{node}/tokens")
    expect(page.get_by_text("There are no probabilities of this text")).to_be_visible()
    page.get_by_role("link", name="Back to").click()
    page.wait_for_url(f"**/trees/{tree}?node={node}")


def _scored(token: str, logprob: float, *rivals: tuple[str, float]) -> bytes:
    """An event of a chat with the probability of its token."""
    top = [{"token": text, "logprob": value} for text, value in rivals]
    content = [{"token": token, "logprob": logprob, "top_logprobs": top}]
    choice = {"index": 0, "delta": {"content": token}, "logprobs": {"content": content}}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


SHADED = """() => [1, 2, 3, 4].flatMap((step) => [...(CSS.highlights.get(`surprise-${step}`) ?? [])]
    .map((range) => `${step}:${range.toString()}`))"""


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_a_text_is_shaded_by_surprise_and_a_rival_is_taken_in_it(
    heddle: Heddle, visit: Open, mode: str
) -> None:
    heddle.provider.forget()
    tree = heddle.tree(f"Shaded {uuid4().hex[:6]}", "What did you see? ", mode=mode)
    heddle.provider.script(
        says(
            _scored("The", -0.1),
            _scored(" gate", -3.0, (" door", -0.2), (" gate", -3.0)),
            _scored(" opens.", -0.05),
        )
    )
    heddle.line(tree, "continue n:1")
    page = visit(f"/trees/{tree}")
    card = page.locator(".card[data-id]", has_text="The gate opens.")
    expect(card).to_have_count(1)
    node_id = card.get_attribute("data-id")
    page.goto(f"{heddle.url}/trees/{tree}?node={node_id}")
    page.get_by_label("More about this tree").click()
    page.get_by_role("button", name="Shade the text by surprise").click()
    expect(page.locator("[data-shade]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("loom-surprise")).to_have_attribute("data-shaded", "1")
    assert page.evaluate(SHADED) == ["2: gate"]
    box = page.evaluate(
        """() => { const {x, y, width, height} = [...CSS.highlights.get("surprise-2")][0]
            .getBoundingClientRect(); return [x + width / 2, y + height / 2]; }"""
    )
    page.mouse.click(*box)
    tip = page.locator(".token-tip")
    expect(tip).to_contain_text("81.9 %")
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)
    page.mouse.click(*box)
    heddle.provider.script(says(" stands open."))
    tip.get_by_role("button", name="Take it and go on").click()
    page.wait_for_url(lambda url: f"/trees/{tree}?node=" in url and str(node_id) not in url)
    expect(page.locator(".thread")).to_contain_text("The door")


def _next_ones(*tokens: tuple[str, float]) -> Script:
    """An answer of one token, with what else could stand there."""
    top = [{"token": text, "logprob": value} for text, value in tokens]
    entry = {"token": tokens[0][0], "logprob": tokens[0][1], "top_logprobs": top}
    choice = {"index": 0, "text": tokens[0][0], "logprobs": {"content": [entry]}}
    body = {"choices": [{**choice, "finish_reason": "length"}]}
    return Script(body=json.dumps(body).encode())


@pytest.fixture
def oracle(heddle: Heddle) -> Iterator[str]:
    """The name of a model whose endpoint gave probabilities when it was tested."""
    heddle.provider.forget()
    kept, heddle.provider.default = heddle.provider.default, _next_ones(("yes", -0.1))
    name = f"Oracle {uuid4().hex[:6]}"
    body = {"name": name, "model_ref": "scripted:oracle", "endpoint": "completion"}
    response = heddle.post("participants", {**body, "base_url": heddle.provider.url})
    heddle.post(f"participants/{response['id']}/probe", {})
    until = monotonic() + PATIENCE_S
    while monotonic() < until:
        probe = heddle.get(f"participants/{response['id']}")["probe"]
        if probe.get("status") in ("done", "failed"):  # type: ignore[attr-defined]
            break
    heddle.provider.default = kept
    yield name
    heddle.archive(response)


def test_what_could_come_next_is_opened_by_keys_and_a_path_is_taken(
    heddle: Heddle, visit: Open, oracle: str
) -> None:
    tree = heddle.tree(f"Multiverse {uuid4().hex[:6]}", "The old clock struck nine.", mode="buffer")
    node = str(heddle.line(tree, "list root continuations")["refs"][0])  # type: ignore[index]
    page = visit(f"/trees/{tree}/nodes/{node}/multiverse")
    expect(page.get_by_text(f"asks {oracle} for one token")).to_be_visible()
    items = page.get_by_role("treeitem")
    expect(items).to_have_count(1)  # nothing was asked for yet
    heddle.provider.script(_next_ones((" Marie", -0.2), (" Nobody", -1.9)))
    items.first.focus()
    page.keyboard.press("ArrowRight")
    expect(items).to_have_count(3)
    expect(items.nth(1)).to_contain_text("81.9 %")
    page.keyboard.press("ArrowRight")
    expect(items.nth(1)).to_be_focused()
    heddle.provider.script(_next_ones((" opened", -0.5), (" slept", -1.0)))
    page.keyboard.press("Enter")
    expect(items).to_have_count(5)
    expect(page.locator("[data-said]")).to_have_text("2 requests")
    assert heddle.provider.seen[-1].json["prompt"].endswith("struck nine. Marie")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-begun]")).to_have_text(" Marie slept")
    faces = page.locator(".multiverse-face")
    expect(faces).to_have_count(5)
    widths = [float(face.bounding_box()["width"]) for face in faces.all()]  # type: ignore[index]
    assert widths[0] > widths[1] > widths[-1]
    heddle.provider.script(fails(500, "out of memory"))
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-said]")).to_contain_text(oracle)
    page.keyboard.press("t")
    page.wait_for_url(lambda url: f"/trees/{tree}?node=" in url and node not in url)
    expect(page.locator(".thread")).to_contain_text("The old clock struck nine. Marie slept")


def test_a_persons_text_is_scored_by_a_model_and_shaded(
    heddle: Heddle, visit: Open, oracle: str
) -> None:
    tree = heddle.tree(f"Scored {uuid4().hex[:6]}", "The gate opens.")
    node = str(heddle.line(tree, "list root continuations")["refs"][0])  # type: ignore[index]
    page = visit(f"/trees/{tree}/nodes/{node}/tokens")
    logprobs = {
        "tokens": ["\n", "The", " gate", " opens."],
        "token_logprobs": [None, -0.1, -3.0, -0.05],
        "top_logprobs": [None, {}, {" door": -0.2, " gate": -3.0}, {}],
    }
    choice = {"index": 0, "text": "", "logprobs": logprobs, "finish_reason": "length"}
    whole = Script(body=json.dumps({"choices": [choice]}).encode())
    heddle.provider.script(fails(404, "no such address"), whole)
    page.get_by_role("button", name=f"Score it with {oracle}").click()
    expect(page.get_by_text(f"Scored by {oracle}")).to_be_visible()
    expect(page.locator(".tokens a[data-step='2']")).to_have_text("gate")
    page.locator(".tokens a", has_text="gate").click()
    expect(page.locator(".rivals")).to_contain_text("81.9 %")
    page.goto(f"{heddle.url}/trees/{tree}?node={node}")
    page.get_by_label("More about this tree").click()
    page.get_by_role("button", name="Shade the text by surprise").click()
    expect(page.locator("loom-surprise")).to_have_attribute("data-shaded", "1")
    assert page.evaluate(SHADED) == ["2: gate"]


def test_near_duplicates_share_a_card_of_the_tree_and_open_by_a_key(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.forget()
    tree = heddle.tree(f"Alike {uuid4().hex[:6]}", "What happened at sea?")
    ship = "The old sailor steered his ship through the storm at night, and nobody saw him again"
    heddle.provider.script(says(f"{ship}."), says(f"{ship}!"), says("She baked bread."))
    heddle.line(tree, "continue n:3")
    page = visit(f"/trees/{tree}")
    expect(page.locator(".card[data-id]")).to_have_count(2)
    fold = page.locator("details.alike")
    expect(fold.locator("summary")).to_have_text("1 alike")
    expect(fold).not_to_have_attribute("open", "")
    page.locator("main").press("d")
    expect(fold.locator("a")).to_be_visible()
    expect(fold).to_contain_text(ship)
    page.keyboard.press("d")
    expect(fold.locator("a")).to_be_hidden()
