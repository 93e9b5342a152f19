"""Ratings in the browser: + and − by button and key, and a pair that is judged without names."""

from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live


def test_a_candidate_is_rated_by_button_and_a_text_by_key(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Rated {uuid4().hex[:6]}", "One.")
    at = str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]
    below = heddle.line(tree, f"respond {at}\nTwo.\n←")["refs"][0]  # type: ignore[index]
    heddle.line(tree, f"respond {at}\nThree.\n←")
    page = live(visit(f"/trees/{tree}?node={at}"))
    plus = page.locator(f"#card-{below}").get_by_role(
        "button", name="Rate candidate 1 +", exact=True
    )
    minus = page.locator(f"#card-{below}").get_by_role(
        "button", name="Rate candidate 1 −", exact=True
    )
    plus.click()
    expect(plus).to_have_attribute("aria-pressed", "true")
    minus.click()
    expect(plus).to_have_attribute("aria-pressed", "false")
    expect(minus).to_have_attribute("aria-pressed", "true")
    page.locator("main").focus()
    page.keyboard.press("+")
    expect(page.locator("loom-toast")).to_contain_text("Rated +")
    assert heddle.get(f"trees/{tree}/ratings")["ratings"] == {at: "plus", below: "minus"}
    page.reload()
    expect(minus).to_have_attribute("aria-pressed", "true")
    minus.click()
    expect(minus).to_have_attribute("aria-pressed", "false")
    page.locator("main").focus()
    page.keyboard.press("ControlOrMeta+z")
    expect(minus).to_have_attribute("aria-pressed", "true")


def test_the_page_of_ratings_says_what_it_will_hold(heddle: Heddle, visit: Open) -> None:
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/ratings")
    expect(page.get_by_role("heading", name="Accepted, by model and samplers")).to_be_visible()
    expect(page.locator('[aria-current="page"]')).to_contain_text("Ratings")
