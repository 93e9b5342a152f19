"""Programs of others: a key with the lines to paste, what a session sent, and the page on which a
person lets a program in."""

import base64
import hashlib
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.clients import open_client
from tests.kills.heddle import until
from tests.providers.scripts import says

SIZES = [(DESK, "light"), (PHONE, "dark")]
VERIFIER = "v" * 50
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()[:43]


def fits(page: Page) -> None:
    """Nothing reaches out of the window at the side."""
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0, f"{wide} pixels too wide"


@pytest.mark.parametrize(("size", "theme"), SIZES)
def test_a_key_is_made_and_its_lines_are_to_paste(
    heddle: Heddle, visit: Open, size: dict[str, int], theme: str
) -> None:
    name = f"Program {uuid4().hex[:6]}"
    body = {"name": name, "base_url": heddle.provider.url, "model_ref": "openai:s"}
    model = heddle.post("participants", body)
    page = visit("/settings/gateway", size=size, theme=theme)
    page.get_by_label("Name of a new key").fill(name)
    page.get_by_label("It calls").select_option(str(model["id"]))
    page.get_by_label("Mode").select_option("workspace")
    page.get_by_role("button", name="Create key").click()
    expect(page.get_by_text(f"{name} has been created")).to_be_visible()
    for program in ("Claude Code", "Codex CLI", "opencode", "aider", "llm", "LibreChat"):
        recipe = page.locator("details.recipe", has=page.get_by_text(program, exact=True))
        expect(recipe).to_have_count(1)
        if recipe.get_attribute("open") is None:
            recipe.locator("summary").click()
        expect(recipe.locator("pre")).to_contain_text("hg_")
        expect(recipe.locator("pre")).to_contain_text("/gateway")
    fits(page)
    recipe = page.locator("details.recipe", has=page.get_by_text("llm", exact=True))
    recipe.get_by_role("button").click()
    expect(recipe.get_by_role("button")).not_to_have_text("Copy")
    page.goto(f"{heddle.url}/settings/gateway")  # the key is not shown again
    expect(page.get_by_role("button", name=f"Revoke {name}")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("hg_")
    page.get_by_role("button", name=f"Revoke {name}").click()
    expect(page.get_by_role("button", name=f"Revoke {name}")).to_have_count(0)


def call(heddle: Heddle, key: str, session: str, *messages: dict[str, Any]) -> None:
    """A request of a program."""
    heddle.provider.script(says("Yes."))
    headers = {"authorization": f"Bearer {key}", "x-session-id": session}
    with open_client(base_url=heddle.url, headers=headers) as program:
        body = {"model": "s", "messages": list(messages), "stream": True}
        assert program.post("/gateway/v1/chat/completions", json=body).is_success


def session_of(heddle: Heddle, name: str, requests: int = 1) -> dict[str, Any]:
    """A session, once so many of its requests are recorded."""

    def recorded() -> Any:
        rows: Any = heddle.get("sessions")["results"]
        named = (row for row in rows if row["name"] == name and row["requests"] >= requests)
        return next(named, None)

    session: dict[str, Any] = until(recorded, what="the session is recorded")
    return session


def of_tool(name: str) -> list[dict[str, Any]]:
    """A use of a tool and its long result."""
    use = {"id": name, "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [use]},
        {"role": "tool", "tool_call_id": name, "content": "a line of a file\n" * 200},
    ]


@pytest.mark.parametrize(("size", "theme"), SIZES)
def test_what_a_session_sent_is_compared_and_changed(
    heddle: Heddle, visit: Open, size: dict[str, int], theme: str
) -> None:
    name = f"Session {uuid4().hex[:6]}"
    body = {"name": name, "base_url": heddle.provider.url, "model_ref": "openai:s"}
    model = heddle.post("participants", body)
    asked = {"participant": model["id"], "name": name, "mode": "workspace"}
    key = str(heddle.post("gateway-keys", asked)["key"])
    first = {"role": "user", "content": f"{name} reads a file."}
    call(heddle, key, name, first, *of_tool("call_1"))
    session = session_of(heddle, name)
    heddle.line(session["tree"], 'todo add "look at the sea"')
    later = [{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "Go on."}]
    call(heddle, key, name, first, *of_tool("call_1"), *later)
    session_of(heddle, name, requests=2)

    page = visit(f"/settings/gateway/sessions/{session['id']}", size=size, theme=theme)
    compared = page.locator(".difference")
    expect(compared.locator("ins").filter(has_text="look at the sea")).to_have_count(1)
    expect(page.locator("p > code", has_text="PROMPT ≈")).to_have_count(1)
    results = page.locator("#results + p + ul")
    expect(results).to_contain_text("hiding it saves ≈")
    fits(page)
    page.get_by_role("button", name="Hide call_1").click()
    expect(results).to_contain_text("hidden")
    expect(page.get_by_role("button", name="Show call_1 again")).to_be_visible()

    # The program clears its conversation and begins again under another name.
    other = f"{name} again"
    call(heddle, key, other, {"role": "user", "content": f"{other}: hello."})
    fresh = session_of(heddle, other)
    page.goto(f"{heddle.url}/settings/gateway/sessions/{fresh['id']}")
    attached = page.get_by_label("It is sent the workspace of")
    attached.select_option(session["tree"])
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_text("The next request is sent so.")).to_be_visible()
    expect(attached).to_have_value(session["tree"])
    before = page.get_by_label("Transcript")
    expect(before).to_have_value(re.compile("Go on."))
    before.fill("It read a file about the sea.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("button", name="Tell what was said")).to_be_visible()
    call(
        heddle, key, other,
        {"role": "user", "content": f"{other}: hello."}, *later,
    )  # fmt: skip
    sent = heddle.provider.seen[-1].json["messages"][-1]["content"]
    assert "look at the sea" in sent and "It read a file about the sea." in sent
    page.get_by_role("button", name="Tell nothing").click()
    expect(before).to_have_value("")
    fits(page)


def asking(heddle: Heddle, client: dict[str, Any]) -> str:
    """The address to which a program sends its person."""
    query = {
        "response_type": "code", "client_id": client["client_id"], "state": "s1",
        "redirect_uri": client["redirect_uris"][0], "scope": "read write",
        "code_challenge": CHALLENGE, "code_challenge_method": "S256",
        "resource": f"{heddle.url}/mcp",
    }  # fmt: skip
    return f"/oauth/authorize?{urlencode(query)}"


@pytest.mark.parametrize(("size", "theme"), SIZES)
def test_a_person_lets_a_program_in_and_ends_its_access(
    heddle: Heddle, visit: Open, size: dict[str, int], theme: str
) -> None:
    name, back = f"Loomer {uuid4().hex[:6]}", "http://127.0.0.1:7777/callback"
    with open_client(base_url=heddle.url) as program:
        asked = {"client_name": name, "redirect_uris": [back]}
        client = program.post("/oauth/register", json=asked).json()
    page = visit("/", size=size, theme=theme)
    came: list[str] = []

    def arrived(route: Route) -> None:
        came.append(route.request.url)
        route.fulfill(body="<title>Back</title>You may close this.", content_type="text/html")

    page.route("http://127.0.0.1:7777/**", arrived)
    page.goto(heddle.url + asking(heddle, client))
    expect(page.get_by_role("heading", name=f"Let {name} in?")).to_be_visible()
    expect(page.locator("main")).to_contain_text("nobody has checked that")
    expect(page.locator("main")).to_contain_text("reads and writes")
    fits(page)
    page.get_by_role("button", name="Refuse").click()
    expect(page).to_have_title("Back")
    assert parse_qs(urlsplit(came[-1]).query)["error"] == ["access_denied"]

    page.goto(heddle.url + asking(heddle, client))
    page.get_by_label("It may").select_option("read")
    page.get_by_role("button", name="Allow").click()
    expect(page).to_have_title("Back")
    given = parse_qs(urlsplit(came[-1]).query)
    assert given["state"] == ["s1"] and "error" not in given
    with open_client(base_url=heddle.url) as program:
        token = program.post(
            "/oauth/token",
            data={
                "grant_type": "authorization_code", "code": given["code"][0],
                "redirect_uri": back, "client_id": client["client_id"],
                "code_verifier": VERIFIER,
            },
        ).json()  # fmt: skip
        access = {"authorization": f"Bearer {token['access_token']}"}
        assert token["scope"] == "read"
        assert program.get("/api/trees", headers=access).is_success
        assert program.post("/api/trees", json={"title": "x"}, headers=access).status_code == 403

        page.goto(f"{heddle.url}/settings/access")
        row = page.locator("li", has_text=name)
        expect(row).to_have_count(1)
        expect(row).to_contain_text("a program that you let in")
        row.get_by_role("button").click()
        expect(page.locator("li", has_text=name)).to_have_count(0)
        assert program.get("/api/trees", headers=access).status_code == 401
