"""Following somebody: the page goes where they go, until the follower moves."""

from playwright.sync_api import expect

from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_right_pane import tab
from tests.browser.test_two_people import both


def test_who_follows_goes_along_until_escape_or_a_move(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    tree = heddle.tree("Follow", "One.", "Two.", "Three.")
    mine, hers = both(visit, heddle, tree, ada)
    tab(mine, "Participants")
    follow = mine.get_by_role("button", name="Follow: ada")
    follow.click()
    expect(mine.locator("[data-spoken]")).to_contain_text("You are following ada.")
    hers.locator("main").press("ArrowLeft")
    expect(hers.locator("article.node")).to_have_count(2)
    expect(mine.locator("article.node")).to_have_count(2)
    hers.locator("main").press("ArrowLeft")
    expect(mine.locator("article.node")).to_have_count(1)
    mine.keyboard.press("Escape")
    expect(mine.locator("[data-spoken]")).to_contain_text("You stopped following ada.")
    hers.locator("main").press("End")
    expect(hers.locator("article.node")).to_have_count(3)
    expect(mine.locator("[data-at]").nth(1)).to_be_attached()
    expect(mine.locator("article.node")).to_have_count(1)
    follow.click()
    expect(mine.locator("article.node")).to_have_count(3)
    mine.locator("main").press("Home")
    expect(mine.get_by_role("button", name="Stop following ada")).to_have_count(0)
    expect(mine.locator("article.node")).to_have_count(0)
