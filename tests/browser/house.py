"""A running Heddle for the browser: script/server's own processes, and a scripted provider.

The caller's process has another database; everything is done as a person or program would.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from playwright.sync_api import Browser, BrowserContext

from tests.clients import open_client
from tests.databases import copy_started_data
from tests.house.processes import ROOT, server
from tests.providers.scripted import ScriptedProvider

Cookies = list[dict[str, str]]


@dataclass
class Heddle:
    """The running program, its owner's cookies, and what models will say."""

    url: str
    provider: ScriptedProvider
    data: Path
    owner: Cookies = field(default_factory=list)
    people: dict[str, Cookies] = field(default_factory=dict)

    def client(self, cookies: Cookies | None = None) -> httpx.Client:
        """The API as the owner (or somebody) may use it."""
        jar = {cookie["name"]: cookie["value"] for cookie in cookies or self.owner}
        headers = {"X-CSRFToken": jar.get("csrftoken", ""), "Origin": self.url}
        return open_client(base_url=self.url, cookies=jar, headers=headers)

    def post(self, path: str, body: object) -> dict[str, object]:
        """The answer to a POST by the owner, which must succeed."""
        with self.client() as client:
            answer = client.post(f"/api/{path}", json=body)
        assert answer.is_success, answer.text
        parsed: dict[str, object] = answer.json()
        return parsed

    def get(self, path: str) -> dict[str, object]:
        """The answer to a GET by the owner, which must succeed."""
        with self.client() as client:
            answer = client.get(f"/api/{path}")
        assert answer.is_success, answer.text
        body: dict[str, object] = answer.json()
        return body

    def archive(self, participant: dict[str, object]) -> None:
        """Takes a participant out of the grove again."""
        with self.client() as client:
            answer = client.delete(f"/api/participants/{participant['id']}")
        assert answer.is_success, answer.text

    def tree(self, title: str, *texts: str, mode: str = "dialogue") -> str:
        """A new tree holding a chain of texts; its id."""
        tree = str(self.post("trees", {"title": title, "mode": mode})["id"])
        for text in texts:
            self.line(tree, f"respond\n{text}\n←")
        return tree

    def line(self, tree: str, line: str) -> dict[str, object]:
        """The answer to a line of the owner."""
        return self.post(f"trees/{tree}/commands", {"line": line})


@contextmanager
def opened(data: Path, chrome: Browser) -> Iterator[Heddle]:
    """A Heddle whose models are the scripted provider; its owner came by the printed link."""
    assert (ROOT / "static" / "dist" / "tree.js").exists(), "run: node script/build.mjs"
    copy_started_data(data)
    with (
        ScriptedProvider() as provider,
        server(
            data, "--no-model", HEDDLE_PROVIDER_ALLOW=provider.entry, HEDDLE_OAUTH="1"
        ) as running,
    ):
        link = running.until(r"(http://\S+/signin/\S+)")[1]
        heddle = Heddle(running.ready(), provider, data)
        heddle.owner = come_in(chrome, link)
        _point_models_at(heddle)
        yield heddle


def come_in(chrome: Browser, link: str) -> Cookies:
    context = chrome.new_context()
    page = context.new_page()
    page.goto(link)
    page.get_by_role("button", name=re.compile("Sign in")).click()
    page.wait_for_url(re.compile(r":\d+/$"))
    cookies = context.cookies()
    context.close()
    return [{"name": cookie["name"], "value": cookie["value"]} for cookie in cookies]


def give(context: BrowserContext, cookies: Cookies, url: str) -> None:
    """Makes the browser theirs whose cookies these are."""
    context.add_cookies(
        [{"name": cookie["name"], "value": cookie["value"], "url": url} for cookie in cookies]
    )


def _point_models_at(heddle: Heddle) -> None:
    with heddle.client() as client:
        for result in client.get("/api/participants").json()["results"]:
            if result["kind"] == "model":
                left = {"name": f"Embedded {result['name']}", "archived": True}
                assert client.patch(f"/api/participants/{result['id']}", json=left).is_success
                settings = {"base_url": heddle.provider.url, "model_ref": "scripted:demo"}
                kept = {name: result[name] for name in ("name", "permissions", "max_tokens")}
                assert client.post("/api/participants", json=kept | settings).is_success
