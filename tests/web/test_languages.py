"""Every page in another language: nothing of its own is left in English."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.trees.models import Tree
from tests.house.catalogues import pseudo, speak_pseudo
from tests.web.conftest import Visitor

# One process takes all words out of the sources, once.

# Words of people and of this test; words that are the same in every language.
NAMES = """
    Heddle Marie Owner owner The grove One Two Three father Muse
    Django Channels REST framework Celery LiteLLM xllamacpp CodeMirror htmx Garamond Inter
    JetBrains Mono BSD Clause MIT Apache OFL seq local smollm openai gpt mini https UTC chat
    completion Markdown JSON English Pseudo OpenAI Anthropic OpenRouter Ollama llama cpp
    SearXNG Brave Search Tavily search example org
""".split()
SHOWN = ("aria-label", "placeholder", "title", "alt")
HIDDEN = {"script", "style", "code", "kbd", "textarea", "input", "time"}


class _Texts(HTMLParser):
    """Collects what a reader or a screen reader gets."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in SHOWN]
        if tag in HIDDEN and tag != "input":
            self.hidden.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.hidden and self.hidden[-1] == tag:
            self.hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.found.append(data)


def english_left(page: str) -> list[str]:
    """Words outside the pseudo brackets that nobody has written."""
    texts = _Texts()
    texts.feed(page)
    # A sentence with tags inside it comes in several pieces: the brackets span them.
    whole = "\n".join(texts.found)
    bare = re.sub(r"⟦[^⟦⟧]*⟧", " ", re.sub(r"⟦[^⟦⟧]*⟧", " ", whole))
    return [word for word in re.findall(r"[A-Za-z]{3,}", bare) if word not in NAMES]


@pytest.fixture(scope="module")
def pseudo_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of catalogues in which every text is pseudo."""
    folder = tmp_path_factory.mktemp("locale")
    speak_pseudo(folder, "ar")
    return folder


@pytest.fixture
def speaking(settings: Any, pseudo_words: Path) -> Callable[[Client], Client]:
    """Makes a browser ask for a language in which every text of the catalogues is pseudo."""
    settings.LOCALE_PATHS = [pseudo_words]
    settings.LANGUAGES = [("en", "English"), ("ar", "Pseudo")]

    def speak(client: Client) -> Client:
        client.defaults["HTTP_ACCEPT_LANGUAGE"] = "ar"
        return client

    return speak


def _grow(actor: Actor, tree: Tree) -> None:
    for line in (
        "respond\nOne.\n←",
        'annotate here "One" as:question',
        'bookmark here "father"',
        "tag here #father",
        "respond\nTwo.\n←",
        'edit here "Three." as:version',
        "switch to parent",
    ):
        execute_line(actor, tree, Request(line=line))


def test_no_page_is_left_in_english(
    owner: User,
    actor: Actor,
    tree: Tree,
    muse: Participant,
    visitor: Visitor,
    speaking: Callable[[Client], Client],
) -> None:
    _grow(actor, tree)
    client = speaking(visitor(owner))
    here, grove = f"/trees/{tree.uid}", f"/groves/{actor.grove.uid}"
    node = client.get(f"{here}/path").content.decode().split('data-id="')[1].split('"')[0]
    left: dict[str, list[str]] = {}
    for path in (
        "/",
        f"{grove}?q=One",
        f"{grove}?archived=1",
        f"{grove}/people",
        f"{grove}/participants",
        f"{grove}/participants/new",
        f"{grove}/settings",
        here,
        f"{here}/about",
        f"{here}/bookmarks",
        f"{here}/history",
        f"{here}/nodes/{node}",
        "/settings",
        "/settings/look",
        "/settings/keys",
        "/settings/access",
        "/about",
        "/offline",
    ):
        answer = client.get(path)
        assert answer.status_code == 200, path
        page = answer.content.decode()
        assert "⟦" in page, path
        if found := english_left(page):
            left[path] = found
    assert left == {}, json.dumps(left)


def test_the_page_turns_round_for_who_reads_from_the_right(
    owner: User, tree: Tree, visitor: Visitor, speaking: Callable[[Client], Client]
) -> None:
    page = speaking(visitor(owner)).get(f"/trees/{tree.uid}").content.decode()
    assert '<html lang="ar" dir="rtl"' in page
    found = re.search(r'<script id="words" type="application/json">(.*?)</script>', page)
    assert found
    assert json.loads(found[1])["Close"] == pseudo("Close")
    assert len(json.loads(found[1])["{n} node"]) == len(set("zero one two few many other".split()))


def test_english_brings_no_catalogue(owner: User, tree: Tree, visitor: Visitor) -> None:
    page = visitor(owner).get(f"/trees/{tree.uid}").content.decode()
    assert '<html lang="en" dir="ltr"' in page
    assert 'id="words"' not in page


def test_lines_are_answered_in_english_whatever_is_spoken(
    owner: User, tree: Tree, visitor: Visitor, speaking: Callable[[Client], Client]
) -> None:
    client = speaking(visitor(owner))
    body = {"line": "respond\nOne.\n←"}
    answer = client.post(f"/api/trees/{tree.uid}/commands", body, content_type="application/json")
    assert answer.json()["reply"].startswith("✓ created")


def test_the_language_that_somebody_chose_goes_before_the_browsers(
    owner: User, visitor: Visitor, speaking: Callable[[Client], Client]
) -> None:
    client = speaking(visitor(owner))
    chosen = {"theme": "system", "language": "en"}
    assert client.post("/settings/profile", chosen).status_code == 302
    client.get("/settings")  # which says, in the language of before, that it is saved
    page = client.get("/settings").content.decode()
    assert '<html lang="en" dir="ltr"' in page
    assert "⟦" not in page
    client.post("/settings/profile", {"theme": "system", "language": "ar"})
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "en"
    assert '<html lang="ar" dir="rtl"' in client.get("/settings").content.decode()
    client.post("/settings/profile", {"theme": "system", "language": "tlh"})
    owner.refresh_from_db()
    assert owner.likes.language == "ar"
