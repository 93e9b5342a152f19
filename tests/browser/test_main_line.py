"""The main line in the browser: marked at a text, followed by End, undone by a key."""

from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live


def test_a_marked_line_is_where_end_leads_until_the_mark_is_undone(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree(f"Main {uuid4().hex[:6]}", "One.")
    at = str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]
    first = heddle.line(tree, f"respond {at}\nThe story.\n←")["refs"][0]  # type: ignore[index]
    heddle.line(tree, f"respond {first}\nIts end.\n←")
    heddle.line(tree, f"respond {at}\nAnother.\n←")
    page = live(visit(f"/trees/{tree}?node={first}"))
    text = page.locator(f"#n-{first}")
    text.hover()
    text.locator("summary[aria-label^=More]").click()
    text.get_by_role("button", name="Make this the main line").click()
    expect(page.locator("loom-toast")).to_contain_text("This is the main line now")
    page.goto(f"{heddle.url}/trees/{tree}?node={at}")
    live(page)
    page.locator("main").press("End")
    expect(page.locator("article.node").last).to_contain_text("Its end.")
    page.locator("main").press("ControlOrMeta+z")
    expect(page.locator("loom-toast")).to_contain_text("Undone: main line")
    assert heddle.get(f"trees/{tree}/main-line")["how"] == "written"


def test_whoever_has_the_link_reads_the_story_as_one_text(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree(f"Read {uuid4().hex[:6]}", "It began", mode="buffer")
    at = str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]
    heddle.line(tree, f"respond {at}\n and went wrong.\n←")
    heddle.line(tree, f"respond {at}\n and ended.\n←")
    response = heddle.post(f"trees/{tree}/public-links", {"days": 1})
    page = visit(str(response["link"]).removeprefix(heddle.url), anonymous=True)
    story = page.locator(".story")
    expect(story).to_contain_text("It began and ended.")
    expect(story).not_to_contain_text("went wrong")
    page.get_by_role("link", name="Previous sibling").click()
    expect(page.locator(".story")).to_contain_text("It began and went wrong.")


def test_all_that_reads_a_story_follows_the_line_that_was_marked(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree(f"Followed {uuid4().hex[:6]}", "It began", mode="buffer")
    at = str(heddle.get(f"trees/{tree}")["workspace"]["position"])  # type: ignore[index]
    mine = heddle.line(tree, f"respond {at}\n with a bell\n←")["refs"][0]  # type: ignore[index]
    heddle.line(tree, f"respond {mine}\n and ended.\n←")
    heddle.line(tree, f"respond {at}\n and went wrong and on and on.\n←")
    heddle.line(tree, f"main {mine}")
    story = "It began with a bell and ended."
    page = visit(f"/trees/{tree}/manuscript")
    expect(page.locator(".word-count")).to_have_text("7 words")
    page.goto(f"{heddle.url}/trees/{tree}/manuscript/text")
    expect(page.locator(".chapter .text")).to_have_text(story)
    page.emulate_media(media="print")
    expect(page.locator(".not-printed")).to_be_hidden()
    expect(page.locator(".chapter .text")).to_be_visible()
    page.emulate_media(media="screen")
    page.goto(f"{heddle.url}/trees/{tree}/export?format=text")
    expect(page.get_by_role("radio", name="The main line")).to_be_checked()
    address = page.get_by_role("link", name="Download Plain text").get_attribute("href")
    assert address is not None
    with heddle.client() as client:
        assert client.get(address).text.strip() == story
    response = heddle.post(f"trees/{tree}/public-links", {"days": 1})
    shown = visit(str(response["link"]).removeprefix(heddle.url), anonymous=True)
    for words in ("It began with a bell", "and ended."):
        expect(shown.locator(".story")).to_contain_text(words)
    expect(shown.locator(".story")).not_to_contain_text("went wrong")
