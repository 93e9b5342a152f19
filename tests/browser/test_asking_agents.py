"""Asking an agent from the composer: one picker, one press, one number, one card."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.book import book, caret, opened, text_of
from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_drafts import REFUSED, slow
from tests.browser.test_turns import pick
from tests.browser.test_two_people import live
from tests.providers.scripts import HOLD, holds, says


@pytest.fixture(scope="module", autouse=True)
def _nestor(heddle: Heddle) -> Iterator[None]:
    """A loom-aware agent behind the scripted provider, for these journeys only."""
    agent = heddle.post(
        "participants",
        {
            "name": "Nestor",
            "model_ref": "scripted:nestor",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write", "loom_generate"],
            "context_limit": 50_000,
        },
    )
    yield
    with heddle.client() as client:
        assert client.delete(f"/api/participants/{agent['id']}").is_success


def test_an_agent_that_is_picked_is_asked_by_the_key_that_sends(
    heddle: Heddle, visit: Open
) -> None:
    heddle.provider.script(says("First answer."), says("Second answer."))
    tree = heddle.tree("Picked", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    pick(page, "Nestor")
    expect(page.locator("[data-agents] summary")).to_have_text("Ask Nestor")
    expect(page.get_by_role("spinbutton", name="answers", exact=True)).to_be_hidden()
    field = page.get_by_label("Text of the next node")
    field.fill("What now?")
    field.press("Control+Enter")
    expect(page.locator("article.node").last).to_contain_text("First answer.")
    # Whoever was picked stays picked, also after a reload: from now on it is one press.
    page.reload()
    live(page)
    page.get_by_label("Text of the next node").fill("And then?")
    page.get_by_label("Text of the next node").press("Control+Enter")
    expect(page.locator("article.node").last).to_contain_text("Second answer.")
    expect(page.get_by_label("Text of the next node")).to_have_value("")
    # A model that is picked takes its place again.
    page.locator("[data-agents] summary").click()
    page.locator("[data-agents] [data-agent]").first.get_by_role("checkbox").check()
    expect(page.get_by_role("spinbutton", name="answers", exact=True)).to_be_visible()
    expect(page.get_by_role("radio", name="Nestor")).not_to_be_checked()


def presses(page: Page) -> None:
    """Counts from now on what is pressed: buttons, and keys that type nothing."""
    page.evaluate(
        """() => {
            window.presses = 0;
            const count = () => window.presses++;
            document.addEventListener("pointerdown", count, true);
            const types = event => event.key.length === 1 && !event.ctrlKey;
            const half = ["Control", "Shift"];
            document.addEventListener("keydown", event =>
                types(event) || half.includes(event.key) || count(), true);
        }"""
    )


def pressed(page: Page) -> int:
    """How often something was pressed."""
    count: int = page.evaluate("window.presses")
    return count


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_the_first_question_to_an_agent_costs_one_press(
    heddle: Heddle, visit: Open, size: dict[str, int]
) -> None:
    answers = ("The miller's daughter.", "She left in spring.", " And so on.")
    heddle.provider.script(*map(says, answers))
    tree = heddle.tree("First question", "Begin.")
    page = live(visit(f"/trees/{tree}", size=size))
    presses(page)
    field = page.get_by_label("Text of the next node")
    field.focus()
    page.keyboard.type("Who is Marie?")
    ask = page.get_by_role("button", name=re.compile("^Ask .*token"))
    expect(ask).to_be_in_viewport(ratio=1)
    reads = "".join(re.findall(r"\d", ask.inner_text()))
    ask.click()
    expect(page.locator("article.node").last).to_contain_text("The miller's daughter.")
    assert pressed(page) == 1
    assert int(reads) > 500  # what an agent is sent, not what a model is
    # Who was asked is picked, and the models are as near from now on.
    expect(page.locator("[data-agents] summary")).to_have_text(re.compile("^Ask (Analyst|Nestor)"))
    expect(page.get_by_role("button", name=re.compile("^Continue with Muse"))).to_be_visible()
    # The key goes on asking the agent, whoever is picked.
    field.fill("And then?")
    field.press("Control+Shift+Enter")
    expect(page.locator("article.node").last).to_contain_text("She left in spring.")
    expect(page.locator("[data-agents] summary")).to_have_text(re.compile("^Ask (Analyst|Nestor)"))
    page.get_by_role("button", name=re.compile("^Continue with Muse")).click()
    expect(page.locator(".card").first).to_be_visible()
    assert pressed(page) == 3
    expect(page.locator("[data-agents] summary")).to_have_text("Ask Muse")
    expect(page.get_by_role("button", name=re.compile("^Ask "))).to_be_visible()


def test_what_is_typed_while_an_agent_is_asked_stays(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(says("The miller's daughter."))
    page = live(visit(f"/trees/{heddle.tree('Asked slowly', 'Begin.')}"))
    field = page.get_by_label("Text of the next node")
    page.get_by_role("button", name=re.compile("^Ask .*token")).wait_for()
    for is_refused in (True, False):
        held = slow(page, "**/turns")
        field.fill("Who is Marie?")
        with page.expect_request("**/turns"):
            if is_refused:
                page.get_by_role("button", name=re.compile("^Ask .*token")).click()
            else:  # who was asked is picked from now on
                field.press("Control+Enter")
        field.focus()
        page.keyboard.type("And why?")
        if is_refused:
            held.pop().fulfill(status=503, json=REFUSED)
            expect(field).to_have_value("Who is Marie?\nAnd why?")
        else:
            held.pop().continue_()
    expect(page.locator("article.node").last).to_contain_text("The miller's daughter.")
    page.wait_for_function(TYPED)


TYPED = """() => document.querySelector("loom-tree").page.drafts.all()
    .some(([, text]) => text === "And why?")"""


def test_a_buffer_offers_an_agent_beside_the_models(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(says(" He went home."))
    page = opened(visit(f"/trees/{heddle.tree('Beside', 'Marie slept.', mode='buffer')}"))
    caret(page, len(text_of(page)))
    presses(page)
    book(page).press("Control+Shift+Enter")
    expect(book(page)).to_contain_text("He went home.")
    assert pressed(page) == 1


def test_a_buffer_asks_the_agent_that_is_picked(heddle: Heddle, visit: Open) -> None:
    heddle.provider.script(says(" He went home."))
    tree = heddle.tree("Picked in a buffer", "Marie slept.", mode="buffer")
    page = opened(visit(f"/trees/{tree}"))
    pick(page, "Nestor")
    caret(page, len(text_of(page)))
    book(page).press("Control+Enter")
    expect(book(page)).to_contain_text("He went home.")


def test_the_picker_ends_with_adding_a_model(heddle: Heddle, visit: Open) -> None:
    page = live(visit(f"/trees/{heddle.tree('Add one', 'Begin.')}"))
    page.locator("[data-agents] summary").click()
    link = page.locator("[data-agents] .menu-items > :last-child")
    expect(link).to_have_text("Add a model…")
    link.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("model")


def number(page: Page) -> str:
    """The tokens that the composer names."""
    page.wait_for_function(
        "() => document.querySelector('[data-cost]').textContent.includes('token')"
    )
    words: str = page.locator("[data-cost]").inner_text()
    return "".join(sign for sign in words.split("token", maxsplit=1)[0] if sign.isdigit())


def test_what_is_sent_has_one_number_beside_the_button_and_in_the_context(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("One number", "A day begins. " * 40)
    page = live(visit(f"/trees/{tree}"))
    shown = page.locator("loom-context [data-shown]")
    for name in ("", "typed", "Nestor"):
        if name == "typed":  # what stands in the field is sent with it
            page.get_by_label("Text of the next node").fill("And what becomes of it? " * 9)
            expect(shown).to_contain_text("What you are writing")
        elif name:
            pick(page, name)
            expect(shown).to_contain_text("What Nestor is sent next")
        page.wait_for_function(
            """() => {
                const digits = text => text.replace(/[^0-9]/g, "");
                const cost = document.querySelector("[data-cost]").textContent.split("input")[0];
                const shown = document.querySelector("loom-context [data-shown]").textContent;
                const [, sent] = /([0-9.,]+) of [0-9.,]+ tokens/.exec(shown) ?? [];
                return sent && digits(cost) === digits(sent);
            }"""
        )
    assert int(number(page)) > 500  # an agent is sent more than the path


def test_a_grant_is_still_there_when_the_turn_has_ended(heddle: Heddle, visit: Open) -> None:
    tree = heddle.tree("Grant", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(
        says('→ budget extend steps:40 why:"to read it all"\n'),
        says("I have read half."),
        holds("Now ", HOLD, "the whole."),
    )
    pick(page, "Nestor")
    page.get_by_label("Text of the next node").press("Control+Enter")
    expect(page.locator("article.node").last).to_contain_text("I have read half.")
    wants = page.locator(".turn-wants").last
    expect(wants).to_contain_text("to read it all")
    wants.get_by_role("button", name="Grant and go on").click()
    working = page.locator(".turn.working")
    expect(working).to_be_visible()
    # It may use what was granted.
    expect(working).to_contain_text("of 140")
    heddle.provider.release()
    expect(page.locator("article.node").last).to_contain_text("Now the whole.")
    expect(page.get_by_role("button", name="Grant and go on")).to_have_count(0)


def test_the_reader_lands_on_the_text_that_was_written_by_command(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Preamble", "Begin.")
    page = live(visit(f"/trees/{tree}"))
    first = page.locator("article.node").get_attribute("data-id")
    heddle.provider.script(
        says("I need a little more room for this.\n→ view here full\n"),
        says(f"→ respond {first}\nThe real text.\n←\n→ tag last #done\n"),
        says(""),
    )
    pick(page, "Nestor")
    page.get_by_label("Text of the next node").press("Control+Enter")
    expect(page.locator("article.node").last).to_contain_text("The real text.")
    expect(page.locator("article.node")).to_have_count(2)


def test_a_turn_that_has_ended_keeps_its_place_in_the_path_as_a_line_of_prose(
    heddle: Heddle, visit: Open
) -> None:
    tree = heddle.tree("Folded", "Marie came home.", "And Marie slept.")
    page = live(visit(f"/trees/{tree}"))
    heddle.provider.script(
        says('→ find "Marie"\n→ annotate here "who?"\n→ bokmark here\n'),
        says("She is the miller's daughter."),
        says("Nothing else."),
    )
    pick(page, "Nestor")
    page.get_by_label("Text of the next node").press("Control+Enter")
    answer = page.locator("article.node", has_text="She is the miller's daughter.")
    expect(answer).to_be_visible()
    card = answer.locator(".turn")
    summary = card.locator(".turn-did > summary")
    expect(summary).to_contain_text("Searched for “Marie”")
    expect(summary).to_contain_text("made 1 change")
    expect(summary).to_contain_text("1 line was refused")
    # Its lines are one level deeper.
    expect(card.locator(".turn-lines").first).to_be_hidden()
    page.get_by_label("Text of the next node").fill("Go on.")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("article.node")).to_have_count(4)
    expect(card).to_have_count(1)
    summary.click()
    expect(card.locator(".turn-lines").first).to_contain_text('find "Marie"')
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    lines, text = card.locator(".turn-lines").first, answer.locator(".text")
    ends = "(element) => Math.round(element.getBoundingClientRect().right)"
    assert lines.evaluate(ends) == text.evaluate(ends)
    page.reload()
    live(page)
    expect(summary).to_contain_text("Searched for “Marie”")
