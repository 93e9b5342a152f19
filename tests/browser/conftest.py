"""A running Heddle for the browser: script/server's own processes, and a scripted provider.

The test process has another database; everything is done as a person or program would do it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.house.processes import ROOT, server
from tests.providers.scripted import ScriptedProvider
from tests.skips import chromium

Cookies = list[dict[str, str]]
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every journey here needs a browser, and shares one Heddle."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@dataclass
class Heddle:
    """The running program, its owner's cookies, and what models will say."""

    url: str
    provider: ScriptedProvider
    owner: Cookies = field(default_factory=list)
    people: dict[str, Cookies] = field(default_factory=dict)

    def client(self, cookies: Cookies | None = None) -> httpx.Client:
        """The API as the owner (or somebody) may use it."""
        jar = {one["name"]: one["value"] for one in cookies or self.owner}
        headers = {"X-CSRFToken": jar.get("csrftoken", ""), "Origin": self.url}
        return httpx.Client(base_url=self.url, cookies=jar, headers=headers, timeout=30)

    def post(self, path: str, body: object) -> dict[str, object]:
        """The answer to a POST by the owner, which must succeed."""
        with self.client() as client:
            answer = client.post(f"/api/{path}", json=body)
        assert answer.is_success, answer.text
        found: dict[str, object] = answer.json()
        return found

    def get(self, path: str) -> dict[str, object]:
        """The answer to a GET by the owner, which must succeed."""
        with self.client() as client:
            answer = client.get(f"/api/{path}")
        assert answer.is_success, answer.text
        found: dict[str, object] = answer.json()
        return found

    def tree(self, title: str, *texts: str, mode: str = "dialogue") -> str:
        """A new tree holding a chain of texts; its id."""
        tree = str(self.post("trees", {"title": title, "mode": mode})["id"])
        for text in texts:
            self.line(tree, f"respond\n{text}\n←")
        return tree

    def line(self, tree: str, line: str) -> dict[str, object]:
        """The answer to a line of the owner."""
        return self.post(f"trees/{tree}/commands", {"line": line})


@pytest.fixture(scope="session")
def chrome() -> Iterator[Browser]:
    """One browser for all journeys."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def heddle(tmp_path_factory: pytest.TempPathFactory, chrome: Browser) -> Iterator[Heddle]:
    """A Heddle whose models are the scripted provider; its owner came by the printed link."""
    assert (ROOT / "static" / "dist" / "tree.js").exists(), "run: node script/build.mjs"
    data = tmp_path_factory.mktemp("heddle")
    with (
        ScriptedProvider() as provider,
        server(data, "--no-model", HEDDLE_PROVIDER_ALLOW=provider.entry) as running,
    ):
        link = running.until(r"(http://\S+/signin/\S+)")[1]
        made = Heddle(running.ready(), provider)
        made.owner = _come_in(chrome, link)
        _point_models_at(made)
        yield made


def _come_in(chrome: Browser, link: str) -> Cookies:
    context = chrome.new_context()
    page = context.new_page()
    page.goto(link)
    page.get_by_role("button", name=re.compile("Sign in as")).click()
    page.wait_for_url(re.compile(r":\d+/$"))
    cookies = context.cookies()
    context.close()
    return [{"name": one["name"], "value": one["value"]} for one in cookies]


def _give(context: BrowserContext, cookies: Cookies, url: str) -> None:
    context.add_cookies(
        [{"name": one["name"], "value": one["value"], "url": url} for one in cookies]
    )


def _point_models_at(made: Heddle) -> None:
    with made.client() as client:
        for one in client.get("/api/participants").json()["results"]:
            if one["kind"] == "model":
                left = {"name": f"Embedded {one['name']}", "archived": True}
                assert client.patch(f"/api/participants/{one['id']}", json=left).is_success
                settings = {"base_url": made.provider.url, "model_ref": "scripted:demo"}
                kept = {name: one[name] for name in ("name", "permissions", "max_tokens")}
                assert client.post("/api/participants", json=kept | settings).is_success


Open = Callable[..., Page]


@pytest.fixture
def visit(heddle: Heddle, chrome: Browser) -> Iterator[Open]:
    """Opens a page as somebody. Fails at the end where a page logged an error or broke CSP."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def open_page(
        path: str,
        *,
        who: Cookies | None = None,
        size: dict[str, int] = DESK,
        theme: str = "light",
        anonymous: bool = False,
        bypass_csp: bool = False,
    ) -> Page:
        context = chrome.new_context(
            viewport=size,  # type: ignore[arg-type]
            color_scheme=theme,  # type: ignore[arg-type]
            bypass_csp=bypass_csp,
            reduced_motion="reduce",
        )
        contexts.append(context)
        if not anonymous:
            _give(context, who or heddle.owner, heddle.url)
        page = context.new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda one: said.append(one.text) if one.type == "error" else None)
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        page.goto(heddle.url + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    # A refused request is logged by the browser itself, and is no error of the page.
    assert [words for words in said if "Failed to load resource" not in words] == []


@pytest.fixture(scope="session")
def ada(heddle: Heddle, chrome: Browser) -> Cookies:
    """The cookies of a second person, a writer who came by an invitation."""
    return _invited(heddle, chrome, "ada", "writer")


@pytest.fixture(scope="session")
def rhea(heddle: Heddle, chrome: Browser) -> Cookies:
    """The cookies of a reader who came by an invitation."""
    return _invited(heddle, chrome, "rhea", "reader")


def _invited(heddle: Heddle, chrome: Browser, name: str, role: str) -> Cookies:
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    context = chrome.new_context()
    _give(context, heddle.owner, heddle.url)
    page = context.new_page()
    page.goto(f"{heddle.url}/groves/{grove}/people")
    page.get_by_role("combobox", name="Role", exact=True).select_option(role)
    page.get_by_role("button", name="Make a link").click()
    link = page.locator(".secret").inner_text()
    context.close()
    context = chrome.new_context()
    page = context.new_page()
    page.goto(link)
    page.get_by_label(re.compile("^Name")).fill(name)
    page.get_by_label(re.compile("^Password")).fill(f"{name} walks the tall grass")
    page.get_by_role("button", name="Join").click()
    page.wait_for_url(re.compile("/groves/"))
    cookies = context.cookies()
    context.close()
    return [{"name": one["name"], "value": one["value"]} for one in cookies]
