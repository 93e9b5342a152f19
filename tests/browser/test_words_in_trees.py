"""Comments and suggestions on words of a text in a tree, by two people at once."""

from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import Cookies, Heddle, Open
from tests.browser.test_two_people import live

SELECT = """(words) => {
  const all = [...document.querySelectorAll("article.node > .text, .cm-content, .stretch .run")];
  for (const text of all) {
    const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const at = walk.currentNode.data.indexOf(words);
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(walk.currentNode, at);
      range.setEnd(walk.currentNode, at + words.length);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      return;
    }
  }
  throw new Error("no text has these words");
}"""


def select(page: Page, words: str) -> None:
    """Selects the first place of the words, as a pointer would."""
    page.evaluate(SELECT, words)


def test_two_people_comment_on_words_of_a_text(heddle: Heddle, visit: Open, ada: Cookies) -> None:
    name = uuid4().hex[:6]
    text = f"The **{name}** tower stands. Nobody keeps the tower."
    tree = heddle.tree(f"Words {name}", text)
    mine, hers = live(visit(f"/trees/{tree}")), live(visit(f"/trees/{tree}", who=ada))
    hers.evaluate(SELECT, "Nobody keeps the tower")
    hers.get_by_role("toolbar", name="Selected words").get_by_role("button", name="Comment").click()
    field = hers.get_by_role("textbox", name="Comment on the selected words")
    expect(field).to_be_focused()
    field.fill("Who did before?")
    hers.keyboard.press("Control+Enter")
    for page in (mine, hers):
        expect(page.locator("article.node .commented")).to_have_text("Nobody keeps the tower")
        expect(page.locator(".note .of-words")).to_contain_text("Nobody keeps the tower")
    note = mine.locator("article.node .note")
    mine.locator("article.node .commented").click()
    expect(note).to_be_focused()
    note.get_by_role("button", name="Reply").click()
    mine.get_by_role("textbox", name="Reply to").fill("Her father.")
    mine.keyboard.press("Control+Enter")
    expect(hers.locator(".note .reply")).to_contain_text("Her father.")
    node = heddle.get(f"trees/{tree}/path")["nodes"][1]["id"]  # type: ignore[index]
    heddle.line(tree, f'edit {node} "Once. {text}" as:version')
    expect(hers.locator("article.node .commented")).to_have_text("Nobody keeps the tower")
    hers.locator(".note .of-words button").click()
    expect(hers.locator("article.node .commented")).to_have_class("commented pointed")
    hers.locator(".note").get_by_role("button", name="Resolve").click()
    hers.locator("form.inline-form").get_by_role("button", name="Resolve").click()
    for page in (mine, hers):
        expect(page.locator("article.node .commented")).to_have_count(0)


def test_a_suggestion_for_words_is_accepted(heddle: Heddle, visit: Open, ada: Cookies) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(f"Suggested words {name}", "The *old* house waits for the old man.")
    mine, hers = live(visit(f"/trees/{tree}")), live(visit(f"/trees/{tree}", who=ada))
    select(hers, "old")
    hers.keyboard.press("Control+Alt+s")
    field = hers.get_by_role("textbox", name="Another wording for the selected words")
    expect(field).to_have_value("old")
    field.fill("new")
    hers.keyboard.press("Control+Enter")
    expect(mine.locator("article.node .suggested-old")).to_have_text("old")
    note = mine.locator("article.node .note")
    expect(note.locator("del")).to_have_text("old")
    expect(note.locator("ins")).to_have_text("new")
    note.get_by_role("button", name="Accept", exact=True).click()
    expect(mine.locator("article.node > .text").last).to_have_text(
        "The new house waits for the old man."
    )
    expect(hers.locator(".note")).to_contain_text("accepted")
    expect(hers.locator("article.node > .text").last).to_have_text(
        "The new house waits for the old man."
    )


def test_words_of_a_buffer_are_commented_on_by_keys_and_marked_in_its_editor(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(
        f"Book {name}", "The tower stands. ", "Nobody keeps the tower.", mode="buffer"
    )
    mine, hers = live(visit(f"/trees/{tree}")), live(visit(f"/trees/{tree}", who=ada))
    text = hers.locator("loom-buffer[data-on] .cm-content")
    expect(text).to_contain_text("Nobody keeps")
    text.focus()
    hers.keyboard.press("Control+End")
    for _ in "tower.":
        hers.keyboard.press("Shift+ArrowLeft")
    hers.keyboard.press("Control+Alt+m")
    field = hers.get_by_role("textbox", name="Comment on the selected words")
    field.fill("Which of the two?")
    hers.keyboard.press("Control+Enter")
    for page in (mine, hers):
        expect(page.locator(".cm-content .commented")).to_have_text("tower.")
    mine.locator(".cm-content .commented").click()
    note = mine.locator(".cm-content .note")
    expect(note).to_contain_text("Which of the two?")
    expect(note.locator(".of-words")).to_contain_text("tower.")
    note.get_by_role("button", name="Reply").click()
    mine.get_by_role("textbox", name="Reply to").fill("The older one.")
    mine.keyboard.press("Control+Enter")
    expect(note.locator(".reply")).to_contain_text("The older one.")
    mine.keyboard.press("Escape")
    expect(note).to_have_count(0)
    expect(text).to_contain_text("Nobody keeps")
    hers.locator(".cm-content").press("Control+End")
    hers.keyboard.press("Control+Alt+m")
    expect(hers.locator(".cm-content .note .reply")).to_contain_text("The older one.")
    hers.keyboard.press("Escape")
    expect(hers.locator(".cm-content .note")).to_have_count(0)
    expect(text).to_be_focused()
    mine.locator(".cm-content").press("Control+Home")
    mine.keyboard.type("Once. ")
    expect(mine.locator(".cm-content .commented")).to_have_text("tower.")


def test_a_document_beside_a_tree_is_commented_on_there(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(f"Beside {name}", "One.")
    heddle.line(tree, f'write doc:"Plan {name}" new "A ship comes to the tower."')
    hers, mine = live(visit(f"/trees/{tree}", who=ada)), live(visit(f"/trees/{tree}"))
    for page in (hers, mine):
        page.get_by_role("link", name="Documents", exact=True).click()
        page.locator("loom-documents").get_by_role("link", name=f"Plan {name}").click()
        expect(page.locator("loom-document")).to_have_attribute("data-ready", "")
    text = hers.get_by_role("textbox", name=f"Plan {name}")
    text.click()
    hers.keyboard.press("Control+End")
    hers.keyboard.press("ArrowLeft")
    for _ in "tower":
        hers.keyboard.press("Shift+ArrowLeft")
    hers.get_by_role("toolbar", name="Selected words").get_by_role("button", name="Comment").click()
    expect(hers.get_by_role("textbox", name="Comment on the selected words")).to_be_focused()
    hers.keyboard.type("Which one?")
    hers.keyboard.press("Control+Enter")
    for page in (hers, mine):
        expect(page.locator("loom-document .commented")).to_have_text("tower")
        expect(page.locator("loom-documents [data-comment]")).to_contain_text("Which one?")
    thread = mine.locator("loom-documents [data-comment]")
    thread.get_by_label("Reply to ada").fill("The white one.")
    thread.get_by_role("button", name="Reply").click()
    expect(hers.locator("loom-documents [data-comment]")).to_contain_text("The white one.")
    whole = mine.locator("loom-documents").get_by_label("On the whole document")
    whole.fill("Well begun.")
    whole.press("Enter")
    expect(hers.locator("loom-documents [data-comment]")).to_have_count(2)
    expect(mine.locator("loom-documents .document-name")).to_have_value(f"Plan {name}")
    thread.first.get_by_role("button", name="Resolve").click()
    for page in (hers, mine):
        expect(page.locator("loom-document .commented")).to_have_count(0)


def test_a_reader_comments_on_words_of_a_buffer(heddle: Heddle, visit: Open, rhea: Cookies) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(f"Read {name}", "The tower stands. ", "Nobody keeps it.", mode="buffer")
    heddle.line(tree, "allow readers comment")
    page = live(visit(f"/trees/{tree}", who=rhea))
    expect(page.locator(".stretch .run")).to_have_count(2)
    page.evaluate(SELECT, "Nobody keeps")
    page.get_by_role("toolbar", name="Selected words").get_by_role("button", name="Comment").click()
    page.get_by_role("textbox", name="Comment on the selected words").fill("Why?")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".stretch .run .commented")).to_have_text("Nobody keeps")
    expect(page.locator(".stretch .run").last).to_be_visible()  # chosen, and still there
    expect(page.locator(".details .note")).to_contain_text("Why?")
    note = page.locator(".details .note")
    note.get_by_role("button", name="Resolve").click()
    note.locator("form").get_by_role("button", name="Resolve").click()
    expect(page.locator(".commented")).to_have_count(0)


ACROSS = """([first, last]) => {
  const range = document.createRange();
  const walk = document.createTreeWalker(document.querySelector("loom-path"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const { data } = walk.currentNode;
    if (data.includes(first)) range.setStart(walk.currentNode, data.indexOf(first));
    if (data.includes(last)) range.setEnd(walk.currentNode, data.indexOf(last) + last.length);
  }
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""


def test_a_comment_is_on_words_of_two_texts(heddle: Heddle, visit: Open) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(f"Across {name}", "The tower stands.", "Nobody keeps it.")
    page = live(visit(f"/trees/{tree}"))
    expect(page.locator("article.node .text").last).to_contain_text("Nobody")
    page.evaluate(ACROSS, ["tower", "keeps"])
    bar = page.get_by_role("toolbar", name="Selected words")
    bar.get_by_role("button", name="Suggest another wording").click()
    toast = page.locator("loom-toast").get_by_text("These words are of 2 texts.")
    expect(toast).to_be_visible()
    page.evaluate(ACROSS, ["tower", "keeps"])
    bar.get_by_role("button", name="Comment").click()
    page.get_by_role("textbox", name="Comment on the selected words").fill("Two sentences?")
    page.keyboard.press("Control+Enter")
    note = page.locator("article.node .note")
    expect(note).to_contain_text("Two sentences?")
    expect(note.locator(".text blockquote")).to_contain_text("Nobody keeps")
    expect(page.locator("article.node .commented")).to_have_text("tower stands.")


def test_a_wording_across_a_border_of_a_buffer_is_a_suggestion_for_each_text(
    heddle: Heddle, visit: Open
) -> None:
    name = uuid4().hex[:6]
    tree = heddle.tree(
        f"Border {name}", "The tower stands. ", "Nobody keeps the tower.", mode="buffer"
    )
    page = live(visit(f"/trees/{tree}"))
    text = page.locator("loom-buffer[data-on] .cm-content")
    expect(text).to_contain_text("Nobody keeps")
    text.focus()
    page.keyboard.press("Control+End")
    for _ in "stands. Nobody keeps the tower.":
        page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Control+Alt+s")
    field = page.get_by_role("textbox", name="Another wording for the selected words")
    expect(field).to_have_value("stands. Nobody keeps the tower.")
    field.fill("fell. Nobody keeps the ruin.")
    page.keyboard.press("Control+Enter")
    expect(field).to_have_count(0)
    expect(page.locator(".cm-content .suggested-old")).to_have_text(
        ["stands.", "Nobody keeps the tower."]
    )
    page.locator(".cm-content .suggested-old").first.click()
    note = page.locator(".cm-content .note")
    note.get_by_role("button", name="Accept", exact=True).click()
    expect(text).to_contain_text("The tower fell. Nobody keeps the tower.")


def test_a_wording_of_several_texts_is_undone_as_one_and_what_was_accepted_of_it_stays(
    heddle: Heddle, visit: Open, ada: Cookies
) -> None:
    name = uuid4().hex[:6]
    texts = ("The tower stands. ", "She came late. ", "Nobody waits.")
    tree = heddle.tree(f"Three {name}", *texts, mode="buffer")
    mine, hers = live(visit(f"/trees/{tree}")), live(visit(f"/trees/{tree}", who=ada))
    book, old = "loom-buffer[data-on] .cm-content", ".cm-content .suggested-old"
    expect(hers.locator(book)).to_contain_text("Nobody waits.")
    hers.locator(book).focus()
    hers.keyboard.press("Control+End")
    for _ in "stands. She came late. Nobody waits.":
        hers.keyboard.press("Shift+ArrowLeft")
    hers.keyboard.press("Control+Alt+s")
    field = hers.get_by_role("textbox", name="Another wording for the selected words")
    field.fill("fell. He came late. Everybody waits.")
    hers.keyboard.press("Control+Enter")
    toast = hers.locator("loom-toast .toast")
    expect(toast).to_contain_text("Suggested a wording of 3 passages")
    expect(mine.locator(old)).to_have_count(3)
    mine.locator(old).nth(1).click()
    note = mine.locator(".cm-content .note")
    note.get_by_role("button", name="Accept", exact=True).click()
    expect(mine.locator(book)).to_contain_text("The tower stands. He came late. Nobody waits.")
    expect(hers.locator(book)).to_contain_text("He came late.")
    hers.locator("main").focus()
    hers.keyboard.press("Control+z")
    expect(toast).to_contain_text("Undone: suggested a wording of 3 passages")
    expect(mine.locator(old)).to_have_count(0)
    expect(mine.locator(book)).to_contain_text("The tower stands. He came late. Nobody waits.")
    hers.keyboard.press("Control+Shift+z")
    expect(toast).to_contain_text("Redone: suggested a wording of 3 passages")
    expect(mine.locator(old)).to_have_count(2)
