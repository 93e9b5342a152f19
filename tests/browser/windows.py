"""Windows of a browser for journeys: each is as new, but keeps what it has loaded of the program.

In a new context Chromium fetches and compiles all scripts and styles again, a third of the CPU of
opening a page (measured). So the context that a person leaves is emptied, of cookies, of all that
pages have stored and of permissions, and is theirs again in a later journey.
"""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Error, Page

MOST = 6  # windows that wait for their person; the one that waited longest is closed


@dataclass(frozen=True)
class Window:
    """A context with an empty page, and what it was asked for."""

    context: BrowserContext
    page: Page
    asked: tuple[Any, ...]


class Windows:
    """The windows that nobody uses now."""

    def __init__(self, chrome: Browser, url: str) -> None:
        self._chrome, self._url = chrome, url
        self._free: list[Window] = []

    def open(self, person: tuple[str, ...], **options: Any) -> Window:
        """An empty window with these options, in which nobody but this person has been."""
        asked = (person, repr(sorted(options.items())))
        for window in reversed(self._free):
            if window.asked == asked:
                self._free.remove(window)
                return window
        context = self._chrome.new_context(**options, reduced_motion="reduce")
        return Window(context, context.new_page(), asked)

    def leave(self, window: Window) -> None:
        """Empties a window for the next journey. One that its journey closed stays closed."""
        try:
            self._free.append(Window(window.context, self._emptied(window.context), window.asked))
        except Error:
            window.context.close()
        while len(self._free) > MOST:
            self._free.pop(0).context.close()

    def _emptied(self, context: BrowserContext) -> Page:
        context.set_offline(False)
        context.set_extra_http_headers({})
        context.clear_permissions()
        for page in context.pages:
            page.close()
        context.clear_cookies()
        page = context.new_page()
        session = context.new_cdp_session(page)
        what = {"origin": self._url, "storageTypes": "all"}
        session.send("Storage.clearDataForOrigin", what)
        session.detach()
        return page
