"""A session of another program appears in the page as it happens, and its answers grow there."""

import threading
from typing import Any
from uuid import uuid4

from playwright.sync_api import expect

from tests.browser.conftest import Heddle, Open
from tests.clients import open_client
from tests.kills.heddle import until
from tests.patience import PATIENCE_S
from tests.providers.scripts import HOLD, holds, says


def key_of(heddle: Heddle, name: str) -> str:
    """A gateway key for a model of this name at the scripted provider."""
    body = {"name": name, "base_url": heddle.provider.url, "model_ref": "openai:s"}
    model = heddle.post("participants", body)
    response = heddle.post("gateway-keys", {"participant": model["id"], "name": name})
    return str(response["key"])


def tree_of(heddle: Heddle, name: str) -> str:
    """The id of the tree of a session; "" if it has none yet."""
    rows: Any = heddle.get("sessions")["results"]
    return next((str(row["tree"]) for row in rows if row["name"] == name), "")


def is_recorded(heddle: Heddle, tree: str) -> bool:
    """Whether the first answer is in the tree: a program has its answer before that."""
    return len(heddle.get(f"trees/{tree}/skeleton")["ids"]) >= 3  # type: ignore[arg-type]


def test_an_answer_to_a_program_grows_in_the_open_page(heddle: Heddle, visit: Open) -> None:
    name = f"Program {uuid4().hex[:6]}"
    headers = {"authorization": f"Bearer {key_of(heddle, name)}", "x-session-id": name}
    messages = [{"role": "user", "content": f"{name} says hello."}]

    def ask(*, stream: bool = True) -> None:
        with open_client(base_url=heddle.url, headers=headers) as program:
            body = {"model": "s", "messages": messages, "stream": stream}
            assert program.post("/gateway/v1/chat/completions", json=body).is_success

    heddle.provider.script(says("Hello back."))
    ask()
    tree = until(lambda: tree_of(heddle, name), what="the session is recorded")
    # Who opens the page before stays at the question, with the answer as a candidate below.
    until(lambda: is_recorded(heddle, tree), what="the answer is recorded")
    page = visit(f"/trees/{tree}")
    cards = page.locator(".card:not(.coming)")
    expect(page.locator("body")).to_contain_text("Hello back.")

    messages += [{"role": "assistant", "content": "Hello back."}]
    messages += [{"role": "user", "content": "Tell me about the gate."}]
    heddle.provider.script(holds("It was ", HOLD, "painted ", HOLD, "green."))
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        question = page.get_by_text("Tell me about the gate.").first
        expect(question).to_be_visible()
        question.click()
        grown = page.locator(".card.coming [data-text]")
        expect(grown).to_have_count(1)
        expect(grown).to_have_text("It was ")
        heddle.provider.release()
        expect(grown).to_have_text("It was painted ")
    finally:
        heddle.provider.release()
        heddle.provider.release()
        asking.join(PATIENCE_S)
    expect(cards.filter(has_text="It was painted green.")).to_have_count(1)
    expect(page.locator(".card.coming")).to_have_count(0)
