"""Somebody comes in from their organisation's own site, whose form browsers send without our
cookies, and signs another browser out."""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, expect

from tests.browser.conftest import MOST_MS
from tests.house.processes import server
from tests.saml.organisation import Claims, Provider

PAGE = """<!doctype html><title>Sorbonne</title><form method="post" action="{action}">
<input type="hidden" name="SAMLResponse" value="{answer}"><button>I am Marie</button></form>"""


@contextmanager
def organisation() -> Iterator[Provider]:
    """An organisation on a site of its own: `localhost`, where Heddle is at a number."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The page on which somebody says who they are."""
            if not self.path.startswith("/sso"):
                self.send_error(404)
                return
            asked = provider.asked(f"http://localhost:{sso.server_port}{self.path}")
            back = str(asked.get("AssertionConsumerServiceURL"))
            claims = Claims(
                audience=back.replace("/back", "/metadata"),
                recipient=back,
                destination=back,
                attributes={"uid": ["marie"], "mail": ["marie@example.org"]},
            )
            answer = provider.answer(str(asked.get("ID")), claims)
            page = PAGE.format(action=escape(back), answer=answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    sso = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.sso = f"http://localhost:{sso.server_port}/sso"
    Thread(target=sso.serve_forever, daemon=True).start()
    try:
        yield provider
    finally:
        sso.shutdown()
        sso.server_close()


def test_somebody_comes_from_their_organisation_and_ends_other_sessions(
    chrome: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "provider.xml"
    with organisation() as provider:
        file.write_text(provider.metadata)
        given = {"METADATA": str(file), "NAME": "Sorbonne", "NEW": "anybody"}
        settings = {f"HEDDLE_SAML_{name}": value for name, value in given.items()}
        with server(tmp_path / "heddle", "--no-model", **settings) as running:
            url = running.ready()
            for _ in range(2):
                context = chrome.new_context()
                context.set_default_timeout(MOST_MS)
                page = context.new_page()
                page.goto(f"{url}/signin")
                page.get_by_role("link", name="Sign in with Sorbonne").click()
                page.get_by_role("button", name="I am Marie").click()
                expect(page.get_by_role("button", name="Sign out", exact=True)).to_be_visible()
            page.goto(f"{url}/settings/access")
            main = page.get_by_role("main")
            expect(main).to_contain_text("You sign in as marie@example.org.")
            page.get_by_role("button", name="Sign out everywhere else").click()
            expect(page.get_by_text("You are signed in with this browser only.")).to_be_visible()
            expect(page.get_by_role("button", name="Sign out everywhere else")).to_have_count(0)
            other = chrome.contexts[-2].pages[0]
            other.goto(f"{url}/settings/access")
            expect(other.get_by_role("link", name="Sign in with Sorbonne")).to_be_visible()
            for context in chrome.contexts[-2:]:
                context.close()
