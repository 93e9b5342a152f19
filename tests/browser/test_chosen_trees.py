"""The list of trees: sorted, and several of them chosen."""

from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.conftest import PHONE, Heddle, Open
from tests.browser.test_accessible import violations_in_both_themes


def test_trees_are_chosen_moved_sorted_and_archived(heddle: Heddle, visit: Open) -> None:
    mark = uuid4().hex[:6]
    titles = [f"{name} {mark}" for name in ("Ash", "Birch", "Cedar")]
    for title in titles:
        heddle.tree(title, "The rain had stopped.", "She went out.")
    page = visit("/")
    bar = page.get_by_role("form", name="Chosen trees")
    expect(bar).to_be_hidden()
    page.get_by_role("checkbox", name=f"Choose {titles[0]}").check()
    page.get_by_role("checkbox", name=f"Choose {titles[1]}").check()
    expect(bar).to_contain_text("2 trees chosen")
    bar.get_by_label("Folder").fill(f"Woods {mark}")
    bar.get_by_role("button", name="Move").click()
    expect(page.get_by_text("2 trees moved.")).to_be_visible()
    page.get_by_role("navigation", name="Folders").get_by_role("link", name=mark).click()
    expect(page.locator(".tree-title")).to_have_count(2)
    page.get_by_label("Sort by").select_option("title")
    expect(page.locator(".tree-title").first).to_have_text(titles[0])
    expect(page).to_have_url(f"{page.url.split('?')[0]}?folder=Woods+{mark}&sort=title")
    for title in titles[:2]:
        page.get_by_role("checkbox", name=f"Choose {title}").check()
    with page.expect_download() as sent:
        bar.get_by_role("button", name="Export").click()
    assert sent.value.suggested_filename.endswith(".zip")
    bar.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("2 trees archived.")).to_be_visible()
    expect(page.get_by_text("No tree is in this folder.")).to_be_visible()


def test_the_list_fits_a_phone(heddle: Heddle, visit: Open) -> None:
    title = f"Willow {uuid4().hex[:6]}"
    heddle.tree(title, "The rain had stopped.", "She went out.")
    page = visit("/", size=PHONE, bypass_csp=True)
    page.get_by_role("checkbox", name=f"Choose {title}").check()
    expect(page.get_by_role("form", name="Chosen trees")).to_be_visible()
    assert violations_in_both_themes(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
