"""Two models asked at the same place stand side by side, and figures lead to their texts."""

from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open
from tests.providers.scripts import says


def test_two_models_are_asked_and_compared(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Compared {uuid4().hex[:6]}", "Who keeps the tower?")
    page = visit(f"/trees/{tree}")
    page.get_by_label("More about this tree").click()
    page.get_by_role("link", name="Compare models", exact=True).click()
    expect(page.get_by_text("No model was asked to continue here yet.")).to_be_visible()
    heddle.provider.script(*(says(f"A kestrel, number {number}.") for number in range(4)))
    models = page.get_by_role("group", name="Models")
    boxes = models.get_by_role("checkbox")
    names = [boxes.nth(at).get_attribute("value") or "" for at in range(2)]
    for at in range(2):
        boxes.nth(at).check()
    page.get_by_label("Texts of each").fill("2")
    page.get_by_role("button", name="Ask", exact=True).click()
    table = page.get_by_role("region", name="Models")
    for name in names:
        row = table.get_by_role("row", name=name)
        expect(row).to_be_visible()
    page.get_by_role("link", name="all places").click()
    row = table.get_by_role("row", name=names[0])
    row.get_by_role("link").first.click()
    expect(page.get_by_text("A kestrel, number").first).to_be_visible()
    expect(page.get_by_role("heading", name="Contributions over time")).to_be_visible()
