"""Browsers for the journeys, and the people in them."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.house import Cookies, Heddle, give, opened
from tests.browser.windows import Window, Windows
from tests.skips import chromium

__all__ = ["DESK", "PHONE", "Cookies", "Heddle", "Open"]

DESK = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
MOST_MS = 60_000  # a wait for a condition or an action; it only guards against hanging
expect.set_options(timeout=MOST_MS)
HOUSE = ("The house stood empty.", " She hadn't visited\n\nsince,", " and the gate was new.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every journey here needs a browser, and shares one Heddle."""
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.browser)


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
    """One running Heddle for all journeys."""
    with opened(tmp_path_factory.mktemp("heddle"), chrome) as running:
        yield running


@pytest.fixture(scope="session")
def windows(heddle: Heddle, chrome: Browser) -> Windows:
    """Windows for all journeys."""
    return Windows(chrome, heddle.url)


Open = Callable[..., Page]


@pytest.fixture
def visit(heddle: Heddle, windows: Windows) -> Iterator[Open]:
    """Opens a page as somebody. Fails at the end if a page logged an error or violated CSP."""
    used: list[Window] = []
    complaints: list[str] = []
    heddle.provider.forget()  # what an earlier journey scripted and did not use

    def open_page(
        path: str,
        *,
        who: Cookies | None = None,
        size: dict[str, int] = DESK,
        theme: str = "light",
        anonymous: bool = False,
        bypass_csp: bool = False,
    ) -> Page:
        window = windows.open(
            () if anonymous else tuple(cookie["value"] for cookie in who or heddle.owner),
            viewport=size,
            color_scheme=theme,
            bypass_csp=bypass_csp,
        )
        used.append(window)
        window.context.set_default_timeout(MOST_MS)
        if not anonymous:
            give(window.context, who or heddle.owner, heddle.url)
        page = window.page
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.goto(heddle.url + path)
        return page

    yield open_page
    for window in used:
        windows.leave(window)
    # The browser and htmx log refused or cut off requests, which are not errors of the page: who
    # leaves a page cuts off what it was asking for.
    own = re.compile(
        "Failed to load resource|ERR_INTERNET_DISCONNECTED|htmx:(afterRequest|sendError)"
    )
    assert [words for words in complaints if not own.search(words)] == []


@pytest.fixture(scope="session")
def ada(heddle: Heddle, chrome: Browser) -> Cookies:
    """The cookies of a second person, a writer who came by an invitation."""
    return invited(heddle, chrome, "ada", "writer")


@pytest.fixture(scope="session")
def rhea(heddle: Heddle, chrome: Browser) -> Cookies:
    """The cookies of a reader who came by an invitation."""
    return invited(heddle, chrome, "rhea", "reader")


def invited(heddle: Heddle, chrome: Browser, name: str, role: str) -> Cookies:
    """The cookies of somebody who came by an invitation of the owner."""
    grove = heddle.get("groves")["results"][0]["id"]  # type: ignore[index]
    context = chrome.new_context()
    give(context, heddle.owner, heddle.url)
    page = context.new_page()
    page.goto(f"{heddle.url}/groves/{grove}/people")
    page.get_by_role("combobox", name="Role", exact=True).select_option(role)
    page.get_by_role("button", name="Create link").click()
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
    return [{"name": cookie["name"], "value": cookie["value"]} for cookie in cookies]


@pytest.fixture
def house(heddle: Heddle) -> str:
    """A buffer of three nodes, the owner's; its id."""
    return heddle.tree("The house", *HOUSE, mode="buffer")
