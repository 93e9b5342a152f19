"""An image dropped on the composer is kept, named in the text, and shown where it was written."""

import base64
import io
import re

from PIL import Image
from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open

DROP = """(field, raw) => {
    const bytes = Uint8Array.from(atob(raw), (one) => one.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], "red_square.png", { type: "image/png" }));
    const how = { dataTransfer: given, bubbles: true, cancelable: true };
    field.dispatchEvent(new DragEvent("drop", how));
}"""


def test_a_dropped_image_becomes_part_of_the_text(heddle: Heddle, visit: Open) -> None:
    out = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(out, "PNG")
    tree = heddle.tree("With an image", "One.", mode="dialogue")
    page = visit(f"/trees/{tree}")
    field = page.locator("#composer-text")
    field.evaluate(DROP, base64.b64encode(out.getvalue()).decode())
    expect(field).to_have_value(re.compile(r"^!\[red square\]\(image:[0-9a-f]{64}\)\n$"))
    page.locator("loom-composer [data-do=respond]").click()
    shown = page.locator("article.node img")
    expect(shown).to_have_attribute("alt", "red square")
    shown.scroll_into_view_if_needed()
    expect(shown).to_have_js_property("naturalWidth", 30)
