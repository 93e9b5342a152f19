"""Tools of an outside server: registered by an owner, allowed to an agent, agreed to in the card of
its turn, and read there."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import DESK, PHONE, Heddle, Open
from tests.browser.test_turns import pick
from tests.browser.test_two_people import live
from tests.outside_tools.server import RealServer
from tests.providers.scripts import says


@pytest.fixture
def agent(heddle: Heddle) -> Iterator[str]:
    """The name of a loom-aware agent behind the scripted provider."""
    name = f"Iris {uuid4().hex[:6]}"
    response = heddle.post(
        "participants",
        {
            "name": name,
            "model_ref": "scripted:iris",
            "base_url": heddle.provider.url,
            "permissions": ["loom_aware", "loom_write", "loom_generate"],
            "context_limit": 50_000,
        },
    )
    yield name
    with heddle.client() as client:
        assert client.delete(f"/api/participants/{response['id']}").is_success


@pytest.fixture
def mcp() -> Iterator[RealServer]:
    """A real MCP server."""
    with RealServer() as server:
        yield server


def add(page: Page, name: str, url: str) -> None:
    """Fills in the form of a new server."""
    form = page.get_by_role("form", name="Add a server")
    form.locator("[name=name]").fill(name)
    form.locator("[name=url]").fill(url)
    form.locator("[name=api_key]").fill("key-of-the-server-123456")


@pytest.mark.parametrize(("size", "theme"), [(DESK, "light"), (PHONE, "dark")])
def test_a_tool_is_allowed_asked_for_granted_and_its_result_is_folded(
    heddle: Heddle, visit: Open, mcp: RealServer, agent: str, size: dict[str, int], theme: str
) -> None:
    name = f"weather{uuid4().hex[:6]}"
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/settings", size=size, theme=theme)
    page.get_by_role("link", name="Outside tools").click()
    add(page, name, mcp.url)
    form = page.get_by_role("form", name="Add a server")
    form.get_by_role("button", name="Add").click()
    # An address of the own network has to be allowed; what was typed is still there.
    expect(form.get_by_role("alert")).to_contain_text("may not be called")
    expect(form.locator("[name=name]")).to_have_value(name)
    form.locator("[name=api_key]").fill("key-of-the-server-123456")
    form.get_by_label("Allow an address on the network").check()
    form.get_by_role("button", name="Add").click()
    tools = page.get_by_role("form", name=name)
    tool = tools.get_by_role("group", name=f"{name}.forecast")
    expect(tool).to_contain_text("The forecast for a city.")
    assert "key-of-the-server" not in page.content()
    tool.get_by_label(f"{agent} may use it").check()
    tools.get_by_role("button", name="Save", exact=True).click()
    expect(tool.get_by_label(f"{agent} may use it")).to_be_checked()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto(f"{heddle.url}/trees/{heddle.tree('Weather', 'How will it be?')}")
    live(page)
    heddle.provider.script(
        says(f'→ use "{name}.forecast" {{"city": "Bern", "days": 3}}\n'), says("Rain, they say.")
    )
    pick(page, agent)
    page.get_by_label("Text of the next node").press("Control+Enter")
    wants = page.locator(".turn-wants")
    expect(wants).to_have_count(1)
    expect(wants).to_contain_text(f"wants to use {name}.forecast, a tool at 127.0.0.1")
    expect(page.locator(".turn.working")).to_contain_text('"city": "Bern"')
    assert mcp.calls == []
    wants.get_by_role("button", name="Grant", exact=True).click()
    expect(page.locator("article.node").last).to_contain_text("Rain, they say.")
    expect(wants).to_have_count(0)
    assert mcp.calls == [{"city": "Bern", "days": 3}]
    turn = page.locator(".turn").last
    turn.locator(".turn-did > summary").click()
    line = turn.locator(".turn-lines details").first
    expect(line).to_contain_text(f"from outside: {name}.forecast")
    result = line.locator("pre").last
    expect(result).to_be_hidden()
    line.locator("summary").click()
    expect(result).to_contain_text("In Bern it rains for 3 days.")
    page.goto(f"{heddle.url}/groves/{grove}/tools")
    page.get_by_role("form", name=name).get_by_role("button", name="Remove").click()
    expect(page.get_by_role("form", name=name)).to_have_count(0)


def test_a_tool_is_refused_and_the_agent_goes_on_without_it(
    heddle: Heddle, visit: Open, mcp: RealServer, agent: str
) -> None:
    name = f"weather{uuid4().hex[:6]}"
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    page = visit(f"/groves/{grove}/tools")
    add(page, name, mcp.url)
    form = page.get_by_role("form", name="Add a server")
    form.get_by_label("Allow an address on the network").check()
    form.get_by_role("button", name="Add").click()
    tools = page.get_by_role("form", name=name)
    tool = tools.get_by_role("group", name=f"{name}.forecast")
    tool.get_by_label(f"{agent} may use it").check()
    tools.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto(f"{heddle.url}/trees/{heddle.tree('No weather', 'How will it be?')}")
    live(page)
    heddle.provider.script(
        says(f'→ use "{name}.forecast" {{"city": "Bern"}}\n'), says("I may not ask.")
    )
    pick(page, agent)
    page.get_by_label("Text of the next node").press("Control+Enter")
    page.get_by_role("button", name="Refuse").click()
    expect(page.locator("article.node").last).to_contain_text("I may not ask.")
    assert mcp.calls == []
    page.goto(f"{heddle.url}/groves/{grove}/tools")
    page.get_by_role("form", name=name).get_by_role("button", name="Remove").click()
    expect(page.get_by_role("form", name=name)).to_have_count(0)


def test_a_tool_that_is_granted_after_the_turn_is_used_in_another_one(
    heddle: Heddle, visit: Open, mcp: RealServer, agent: str
) -> None:
    name = f"weather{uuid4().hex[:6]}"
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    settings = f"/api/groves/{grove}/settings"
    results = heddle.get("participants")["results"]
    agent_uid = next(found_["id"] for found_ in results if found_["name"] == agent)  # type: ignore[attr-defined]
    with heddle.client() as client:
        changed = client.patch(f"/api/participants/{agent_uid}", json={"budget": "quick"})
        assert changed.is_success
    page = visit(f"/groves/{grove}/tools")
    add(page, name, mcp.url)
    form = page.get_by_role("form", name="Add a server")
    form.get_by_label("Allow an address on the network").check()
    form.get_by_role("button", name="Add").click()
    tools = page.get_by_role("form", name=name)
    tool = tools.get_by_role("group", name=f"{name}.forecast")
    tool.get_by_label(f"{agent} may use it").check()
    tools.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto(f"{heddle.url}/trees/{heddle.tree('Late weather', 'How will it be?')}")
    live(page)
    line = f'→ use "{name}.forecast" {{"city": "Bern"}}\n'
    try:
        with heddle.client() as client:
            assert client.patch(settings, json={"quick_seconds": 4}).is_success
        heddle.provider.script(says(line), says("Nobody answered."))
        pick(page, agent)
        page.get_by_label("Text of the next node").press("Control+Enter")
        later = page.get_by_role("button", name="Grant and go on")
        expect(later).to_have_count(1, timeout=60_000)
    finally:
        with heddle.client() as client:
            assert client.patch(settings, json={"quick_seconds": None}).is_success
    assert mcp.calls == []
    heddle.provider.forget()
    heddle.provider.script(says(line), says("Rain, they say."))
    later.click()
    expect(page.locator("article.node").last).to_contain_text("Rain, they say.")
    assert mcp.calls == [{"city": "Bern", "days": 1}]
    expect(page.locator(".turn-wants")).to_have_count(0)
    page.goto(f"{heddle.url}/groves/{grove}/tools")
    page.get_by_role("form", name=name).get_by_role("button", name="Remove").click()
    expect(page.get_by_role("form", name=name)).to_have_count(0)
