"""Asking several models at once: side by side, stopped together, folded, and its price."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, holds, never_ends, says, tokens


@pytest.fixture
def duo(heddle: Heddle) -> Iterator[tuple[str, str]]:
    """The names of two models of the grove; the second is there for one test, and costs."""
    names = [model["name"] for model in _models(heddle)]
    body = {
        "name": "Second",
        "model_ref": "scripted:second",
        "base_url": heddle.provider.url,
        "prices": {"input": 1, "output": 2},
        "max_tokens": 100,
    }
    response = heddle.post("participants", body)
    yield names[0], "Second"
    with heddle.client() as client:
        changes = {"name": f"Second {response['id']}", "archived": True}
        assert client.patch(f"/api/participants/{response['id']}", json=changes).is_success


def _models(heddle: Heddle) -> list[dict[str, str]]:
    results = heddle.get("participants")["results"]
    return [result for result in results if result["kind"] == "model"]  # type: ignore[attr-defined]


def choose(page: Page, **counts: int) -> None:
    """Ticks exactly these models in the composer, each with its number."""
    page.locator("[data-agents] summary").click()
    for row in page.locator("[data-agents] [data-agent]").all():
        name = row.locator("b").inner_text()
        row.get_by_role("checkbox").set_checked(name in counts)
        row.get_by_role("spinbutton").fill(str(counts.get(name, "")))
    page.keyboard.press("Escape")


def go(page: Page) -> None:
    """Asks as the composer says."""
    page.locator(".composer").get_by_role("button", name="Continue").click()


def test_each_model_gives_its_own_number_in_one_go(
    heddle: Heddle, visit: Open, duo: tuple[str, str]
) -> None:
    tree = heddle.tree("Fan", "Marie opens the door.")
    heddle.provider.script(*[says("She waits.")] * 3)
    page = live(visit(f"/trees/{tree}"))
    choose(page, **{duo[0]: 2, duo[1]: 1})
    go(page)
    expect(page.locator(".card[data-id]")).to_have_count(1)  # of one text: folded
    expect(page.locator(".weave h2")).to_contain_text("3 continuations")
    expect(page.locator(".alike summary")).to_have_text("2 identical candidates")
    page.locator(".alike summary").click()
    expect(page.locator(".alike a")).to_have_count(2)
    third = page.locator(".alike a").last.get_attribute("data-go")
    page.locator("main").press("3")
    expect(page.locator("article.node")).to_have_count(2)
    assert third


def set_options(page: Page, **values: str) -> None:
    """Fills fields behind the composer's button for more options."""
    more = page.get_by_role("button", name="More options")
    more.click()
    for name, value in values.items():
        page.locator("#composer-more").get_by_label(name).first.fill(value)
    more.click()
    expect(page.locator("#composer-more")).to_be_hidden()


def test_what_a_path_was_asked_is_offered_there_and_not_applied(
    heddle: Heddle, visit: Open, duo: tuple[str, str]
) -> None:
    tree = heddle.tree("Choice", "Marie opens the door.")
    page = live(visit(f"/trees/{tree}"))
    choose(page, Second=2)
    set_options(page, tokens="120", temperature="0.7")
    go(page)
    expect(page.locator(".card[data-id]").first).to_be_visible()
    expect(page.locator("[data-offer]")).to_be_hidden()
    page.evaluate("localStorage.clear()")
    page.reload()
    live(page)
    expect(page.locator("[data-agents-shown]")).to_have_text(duo[0])
    expect(page.locator('[name="n"]')).to_have_value("3")
    page.get_by_role("button", name="Last used here: Second ×2").click()
    expect(page.locator("[data-agents-shown]")).to_have_text("Second")
    expect(page.locator('[name="n"]')).to_have_value("2")
    expect(page.locator("[data-offer]")).to_be_hidden()
    set_options(page, tokens="50")
    heddle.provider.script(holds(HOLD, "Otherwise."), holds(HOLD, "Or so."))
    more = page.get_by_role("button", name="More like these")
    more.click()
    expect(page.get_by_role("button", name="Stop all")).to_be_visible()
    expect(more).to_be_focused()  # and is no other button under the same words
    for _ in range(2):
        heddle.provider.release()
    expect(page.locator(".card[data-id]")).to_have_count(3)
    for seen in heddle.provider.seen[-2:]:
        assert (seen.json["max_tokens"], seen.json["temperature"]) == (120, 0.7)


def test_what_a_person_chose_stays_chosen_wherever_they_go(
    heddle: Heddle, visit: Open, duo: tuple[str, str]
) -> None:
    tree = heddle.tree("Stays", "Marie opens the door.", "She looks out.")
    page = live(visit(f"/trees/{tree}"))
    choose(page, **{duo[0]: 1})
    go(page)
    expect(page.locator(".card[data-id]")).to_have_count(1)
    page.locator("main").press("ArrowLeft")
    expect(page.locator("article.node")).to_have_count(1)
    choose(page, Second=4)
    set_options(page, tokens="33")
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"):
        at = page.evaluate("document.querySelector('loom-tree').page.position")
        page.locator("main").press(key)
        page.wait_for_function(
            "at => document.querySelector('loom-path').drawn !== at"
            " && !document.querySelector('main').ariaBusy",
            arg=at,
        )
        expect(page.locator("[data-agents-shown]")).to_have_text("Second ×4")
        expect(page.get_by_label("Max tokens", exact=True)).to_have_value("33")


def test_another_tree_begins_with_the_models_chosen_last_and_keeps_its_own(
    heddle: Heddle, visit: Open, duo: tuple[str, str]
) -> None:
    first = heddle.tree("First", "Marie opens the door.")
    second = heddle.tree("Then", "Marie closes it.", mode="buffer")
    page = live(visit(f"/trees/{first}"))
    choose(page, Second=4)
    set_options(page, tokens="33")
    shown = page.locator("[data-agents-shown]")
    for tree, length in ((second, "80"), (first, "33")):
        page.goto(f"{heddle.url}/trees/{tree}")
        live(page)
        expect(shown).to_have_text("Second ×4")
        expect(page.get_by_label("Max tokens", exact=True)).to_have_value(length)
    page.goto(f"{heddle.url}/trees/{second}")
    live(page)
    choose(page, **{duo[0]: 2})
    for tree, words in ((first, "Second ×4"), (second, f"{duo[0]} ×2")):
        page.goto(f"{heddle.url}/trees/{tree}")
        expect(shown).to_have_text(words)


def test_the_length_of_an_answer_is_shown_as_a_number(
    heddle: Heddle, visit: Open, duo: tuple[str, str]
) -> None:
    tree = heddle.tree("Length", "Marie opens the door.")
    page = live(visit(f"/trees/{tree}"))
    choose(page, Second=1)
    expect(page.get_by_label("Max tokens", exact=True)).to_have_attribute("placeholder", "100")
    expect(page.get_by_label("Max tokens", exact=True)).to_have_value("")
    go(page)
    expect(page.locator(".card[data-id]")).to_have_count(1)
    assert heddle.provider.seen[-1].json["max_tokens"] == 100
    book = heddle.tree("Length of a book", "Marie opens the door.", mode="buffer")
    page.goto(f"{heddle.url}/trees/{book}")
    live(page)
    expect(page.get_by_label("Max tokens", exact=True)).to_have_value("80")
    go(page)
    expect(page.locator(".card[data-id]").first).to_be_visible()
    assert heddle.provider.seen[-1].json["max_tokens"] == 80


def test_all_are_stopped_at_once(heddle: Heddle, visit: Open, duo: tuple[str, str]) -> None:
    tree = heddle.tree("Stop", "Marie opens the door.")
    heddle.provider.script(*[never_ends(rate=40, word=f"{word} ") for word in ("a", "b", "c")])
    page = live(visit(f"/trees/{tree}"))
    choose(page, Second=3)
    go(page)
    expect(page.locator(".card.coming [data-text]").filter(has_text=re.compile("."))).to_have_count(
        3
    )
    page.get_by_role("button", name="Stop all").click()
    expect(page.locator(".card.coming")).to_have_count(0)
    expect(page.locator(".card[data-id]")).to_have_count(3)


def test_taking_one_stops_the_rest_where_that_is_wished(
    heddle: Heddle, visit: Open, duo: tuple[str, str]
) -> None:
    tree = heddle.tree("Take", "Marie opens the door.")
    heddle.provider.script(
        holds("She ", HOLD, "smiles."), never_ends(rate=40, word="b "), never_ends(rate=40)
    )
    page = live(visit(f"/trees/{tree}"))
    choose(page, Second=3)
    go(page)
    page.get_by_label("Accepting one stops the rest").check()
    card = page.locator(".card.coming").filter(has_text="She")
    expect(card).to_be_visible()
    card.locator(".card-text").click()
    expect(page.locator(".card.coming")).to_have_count(1)
    heddle.provider.release()
    expect(page.locator("article.node").last).to_contain_text("She smiles.")
    page.go_back()
    expect(page.get_by_label("Accepting one stops the rest")).to_be_checked()


def test_what_asking_costs_is_shown_before_and_what_waits_shows_its_place(
    heddle: Heddle, visit: Open, duo: tuple[str, str]
) -> None:
    tree = heddle.tree("Cost", "Marie opens the door. " * 20)
    second = next(model for model in _models(heddle) if model["name"] == "Second")
    with heddle.client() as client:
        assert client.patch(f"/api/participants/{second['id']}", json={"parallel": 1}).is_success
    page = live(visit(f"/trees/{tree}"))
    choose(page, Second=2)
    cost = page.locator("[data-cost]")
    expect(cost).to_contain_text(re.compile(r"about 1\d\d input tokens · at most \$0\.00\d+"))
    expect(cost).to_contain_text("left today")
    heddle.provider.script(holds("a", HOLD, "b"), tokens(2))
    go(page)
    choose(page, Second=3)
    go(page)
    expect(page.locator(".card.coming[data-before]").last).to_contain_text(" ahead")
    heddle.provider.release()
    expect(page.locator(".card.coming")).to_have_count(0)


def test_on_a_phone_the_choice_and_the_price_fit(
    heddle: Heddle, visit: Open, duo: tuple[str, str]
) -> None:
    tree = heddle.tree("Phone fan", "Marie opens the door.")
    page = live(visit(f"/trees/{tree}", size=PHONE, theme="dark"))
    choose(page, Second=3)
    expect(page.locator("[data-cost]")).to_contain_text("at most")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("[data-agents] summary").click()
    box = page.locator("[data-agents] .menu-items").bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_a_refused_request_is_reported_without_its_code(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Refused', 'One.')}"))
    page.get_by_role("spinbutton", name="answers", exact=True).fill("999")
    page.keyboard.press("ControlOrMeta+Enter")
    answer = page.locator("loom-composer [data-answer]")
    expect(answer).to_contain_text("at most 10")
    expect(answer).not_to_contain_text("LIMIT_EXCEEDED")
    page.locator("#composer-text").fill("→ go nowhere9")
    page.keyboard.press("Enter")
    expect(answer).to_contain_text("✗ ")  # as commands are answered
