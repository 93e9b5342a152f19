"""The settings: what somebody likes is kept, shown, and used on the pages."""

import json
import re

import pytest
from django.test import Client

from loom.people import shortcuts
from loom.people.models import Participant, User
from loom.site.display import browser
from loom.trees.models import Tree
from tests.web.conftest import Visitor


def text(client: Client, path: str) -> str:
    """The page at the path."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def table(client: Client, tree: Tree) -> dict[str, str]:
    """The combos that the scripts of a tree's page are given."""
    match = re.search(r'id="tree-settings"[^>]*>(.*?)</script>', text(client, f"/trees/{tree.uid}"))
    assert match
    groups = json.loads(match[1])["keys"]
    return {key["id"]: key["combo"] for group in groups for key in group["keys"]}


def test_every_action_is_in_the_table_once(owner: User, tree: Tree, visitor: Visitor) -> None:
    assert table(visitor(owner), tree) == shortcuts.bound_keys({})


def test_a_key_of_ones_own_is_used_shown_and_put_back(
    owner: User, reader: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    assert (
        client.post("/settings/keys", {**shortcuts.bound_keys({}), "edit": "E"}).status_code == 302
    )
    assert table(client, tree)["edit"] == "E"
    assert 'name="edit" value="E"' in text(client, "/settings/keys")
    assert table(visitor(reader), tree)["edit"] == "e"
    client.post("/settings/keys", {**shortcuts.bound_keys({}), "reset": "1"})
    assert table(client, tree)["edit"] == "e"


def test_two_actions_with_one_key_are_refused_and_nothing_changes(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    client.post("/settings/keys", {**shortcuts.bound_keys({}), "edit": "x"})
    assert "x is used twice: for edit and prune" in text(client, "/settings/keys")
    assert table(client, tree)["edit"] == "e"


def test_the_look_reaches_the_style_sheet(owner: User, visitor: Visitor) -> None:
    client = visitor(owner)
    assert 'data-page-prose="serif"' in text(client, "/settings/look")
    form = {"prose": "sans", "size": "large", "width": "wide", "nodes": "quiet"}
    client.post("/settings/look", form)
    page = text(client, "/")
    for name, value in form.items():
        assert f'data-page-{name}="{value}"' in page
    client.post("/settings/look", {**form, "prose": "gothic"})
    assert 'data-page-prose="sans"' in text(client, "/settings/look")


def test_how_one_writes_reaches_the_tree(owner: User, tree: Tree, visitor: Visitor) -> None:
    client = visitor(owner)
    client.post("/settings/writing", {"edits": "fork", "temperature": "0.7", "verbose": "1"})
    page = text(client, f"/trees/{tree.uid}")
    assert '"edits": "fork"' in page
    assert " data-page-verbose" in page
    client.post("/settings/writing", {"edits": "ask", "temperature": ""})
    assert " data-page-verbose" not in text(client, "/settings/look")


def test_an_unknown_page_or_form_is_not_there(owner: User, visitor: Visitor) -> None:
    client = visitor(owner)
    assert client.get("/settings/nowhere").status_code == 404
    assert client.post("/settings/nowhere").status_code == 404


@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            "Firefox on Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/126.0.0.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 "
            "(KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        ("", "Browser"),
    ],
)
def test_a_browser_is_listed_in_words(agent: str, shown: str) -> None:
    assert browser(agent) == shown


def test_a_chosen_name_is_used_on_the_pages_of_a_grove(
    owner: User, reader: User, tree: Tree, visitor: Visitor
) -> None:
    visitor(owner).post("/settings/profile", {"display_name": "Marie", "theme": "system"})
    assert "<b>Marie</b>" in text(visitor(reader), f"/groves/{tree.grove.uid}/people")


def test_a_refused_field_is_called_as_the_form_calls_it(
    owner: User, muse: Participant, visitor: Visitor
) -> None:
    client, grove = visitor(owner), muse.grove
    people = f"/groves/{grove.uid}/people"
    client.post(f"{people}/invite", {"role": "writer", "days": "x" * 500})
    page = text(client, people)
    assert "“Expires after (days)”: &#x27;xxx" in page
    assert "x" * 41 not in page
    form = {"name": "Muse", "kind": "openai", "model": "m", "parallel": "999"}
    page = client.post(f"/groves/{grove.uid}/participants/{muse.uid}", form).content.decode()
    assert "“Parallel requests” must be between 1 and 256." in page
    client.post(f"/groves/{grove.uid}/settings", {"name": "A", "limit": "-1"})
    page = text(client, f"/groves/{grove.uid}/settings")
    said = page.partition("“Daily limit per member” is a number from 0 to")[2]
    assert said and "budget_usd" not in said.partition("<form")[0]


def test_blanks_around_a_title_are_not_kept(owner: User, tree: Tree, visitor: Visitor) -> None:
    client = visitor(owner)
    client.post(f"/groves/{tree.grove.uid}/trees", {"title": "  A walk \n", "mode": "dialogue"})
    assert Tree.objects.filter(title="A walk").count() == 1
    client.post(f"/trees/{tree.uid}/about/head", {"title": " Marie "})
    tree.refresh_from_db()
    assert tree.title == "Marie"


def test_the_daily_limit_is_shown_as_it_was_typed(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client, path = visitor(owner), f"/groves/{tree.grove.uid}/settings"
    assert 'value="1" placeholder="no limit"' in text(client, path)
    for limit in ("0.5", "0.005"):
        client.post(path, {"name": "A", "limit": limit})
        assert f'value="{limit}" placeholder="no limit"' in text(client, path)
    client.post(path, {"name": "A", "limit": ""})
    assert 'value="" placeholder="no limit"' in text(client, path)


def test_an_owner_says_on_the_page_what_readers_may_do(
    owner: User, reader: User, tree: Tree, visitor: Visitor
) -> None:
    page = f"/groves/{tree.grove.uid}/settings"
    name = {"name": tree.grove.name}
    assert '<option value="read" selected>' in text(visitor(owner), page)
    assert visitor(owner).post(page, {**name, "readers_may": "comment"}).status_code == 302
    assert '<option value="comment" selected>' in text(visitor(owner), page)
    assert 'data-can="comment "' in text(visitor(reader), f"/trees/{tree.uid}")
    # A form without the field, such as one of an older page, leaves it as it is.
    visitor(owner).post(page, name)
    assert '<option value="comment" selected>' in text(visitor(owner), page)
    answer = visitor(owner).post(page, {**name, "readers_may": "write"}, follow=True)
    assert "readers_may" in answer.content.decode()
    assert '<option value="comment" selected>' in text(visitor(owner), page)
    visitor(owner).post(page, {**name, "readers_may": "read"})
    assert 'data-can=""' in text(visitor(reader), f"/trees/{tree.uid}")
