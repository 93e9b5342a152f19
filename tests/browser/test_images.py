"""An image dropped on the composer is kept, named in the text, and shown where it was written."""

import base64
import io
import re
from uuid import uuid4

from PIL import Image
from playwright.sync_api import expect

from tests.browser.book import book, opened, text_of
from tests.browser.conftest import Heddle, Open
from tests.browser.test_two_people import live

DROP = """(field, [raw, kind, name = "red_square.png", type = "image/png"]) => {
    const bytes = Uint8Array.from(atob(raw), (one) => one.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], name, { type }));
    const box = field.getBoundingClientRect();
    const how = { dataTransfer: given, clipboardData: given, bubbles: true, cancelable: true,
                  clientX: box.left + 2, clientY: box.top + 2 };
    const Made = kind === "drop" ? DragEvent : ClipboardEvent;
    field.dispatchEvent(new Made(kind, how));
}"""


def red_square() -> str:
    """A small image in base64."""
    out = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def test_a_dropped_image_becomes_part_of_the_text(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("With an image", "One.", mode="dialogue")
    page = visit(f"/trees/{tree}")
    field = page.locator("#composer-text")
    field.evaluate(DROP, [red_square(), "drop"])
    expect(field).to_have_value(re.compile(r"^!\[red square\]\(image:[0-9a-f]{64}\)\n$"))
    page.locator("loom-composer [data-do=respond]").click()
    shown = page.locator("article.node img")
    expect(shown).to_have_attribute("alt", "red square")
    shown.scroll_into_view_if_needed()
    expect(shown).to_have_js_property("naturalWidth", 30)


def test_what_is_not_an_image_is_answered_in_words(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("No image", "One.", mode="dialogue")
    page = visit(f"/trees/{tree}")
    field, composer = page.locator("#composer-text"), page.locator("loom-composer")
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="x"</script></svg>'
    raw = base64.b64encode(drawing).decode()
    field.evaluate(DROP, [raw, "drop", "drawn.svg", "image/svg+xml"])
    expect(composer).to_contain_text("drawn.svg is not an image that can be shown.")
    field.evaluate(DROP, [raw, "drop", "drawn.png", "image/png"])
    expect(composer).to_contain_text("This is not an image that can be shown.")
    expect(composer).to_contain_text("PNG, JPEG, GIF or WebP")
    bomb = io.BytesIO()
    Image.new("1", (6_000, 5_000)).save(bomb, "PNG")
    field.evaluate(DROP, [base64.b64encode(bomb.getvalue()).decode(), "paste"])
    expect(composer).to_contain_text("An image has at most 25,000,000 pixels.")
    expect(field).to_have_value("")
    # Beside the field an image is taken, too, and the browser stays on the page.
    page.locator("article.node").first.evaluate(DROP, [red_square(), "drop"])
    expect(field).to_have_value(re.compile(r"^!\[red square\]"))
    assert page.url.split("?")[0].endswith(tree)


def test_in_a_buffer_it_goes_where_it_is_dropped_or_pasted(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("A book", "One.\nTwo.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    page.locator(".cm-line").first.evaluate(DROP, [red_square(), "drop"])
    named = r"!\[red square\]\(image:[0-9a-f]{64}\)\n"
    expect(page.locator(".cm-line").first).to_have_text(re.compile(named.removesuffix("\\n")))
    assert re.fullmatch(f"{named}One.\nTwo.", text_of(page))
    book(page).press("Control+End")
    page.locator(".cm-content").evaluate(DROP, [red_square(), "paste"])
    expect(page.locator(".cm-content")).to_contain_text(re.compile("Two.!.red square"))
    assert re.fullmatch(f"{named}One.\nTwo.\n{named}", text_of(page))


def test_a_document_beside_a_tree_takes_it_as_well(heddle: Heddle, visit: Open) -> None:
    name = f"Drawn {uuid4().hex[:6]}"
    tree = heddle.tree(name, "One.")
    heddle.line(tree, f'write doc:"{name}" new "A square:"')
    page = live(visit(f"/trees/{tree}"))
    page.get_by_role("link", name="Documents", exact=True).click()
    pane = page.locator("loom-documents")
    pane.get_by_role("link", name=name).click()
    expect(pane.locator("loom-document")).to_have_attribute("data-ready", "")
    text = pane.get_by_role("textbox", name=name)
    text.press("Control+End")
    text.evaluate(DROP, [red_square(), "paste"])
    expect(text).to_contain_text(re.compile(r"A square:!\[red square\]\(image:[0-9a-f]{64}\)"))
    pane.get_by_role("button", name="Read", exact=True).click()
    shown = pane.locator("img[alt='red square']")
    shown.scroll_into_view_if_needed()
    expect(shown).to_have_js_property("naturalWidth", 30)


def test_it_is_shown_where_texts_are_compared(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Two images", "Begin.")
    with heddle.client() as client:
        file = ("a.png", base64.b64decode(red_square()), "image/png")
        sent = client.post(f"/api/trees/{tree}/images", files={"file": file}, data={"alt": "a cat"})
    assert sent.is_success, sent.text
    for words in ("One", "Two"):
        heddle.line(tree, f"respond root\n{words} {sent.json()['text']}\n←")
    nodes = heddle.get(f"trees/{tree}/skeleton")["ids"]
    assert isinstance(nodes, list)
    page = live(visit(f"/trees/{tree}?node={nodes[3]}"))
    page.locator("main").press("c")
    articles = page.get_by_role("dialog", name="Compare").locator("article")
    expect(articles).to_have_count(3)
    seen = articles.locator("img")
    expect(seen).to_have_count(2)
    expect(seen.first).to_have_attribute("alt", "a cat")
    expect(seen.first).to_have_js_property("naturalWidth", 30)
    expect(articles.last.locator("mark")).to_have_text("One")
