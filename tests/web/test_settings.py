"""The settings: what somebody likes is kept, shown, and used on the pages."""

import json
import re

from django.test import Client

from loom.models import Tree, User
from loom.rules import options
from tests.web.conftest import Visitor


def text(client: Client, path: str) -> str:
    """The page at the path."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


def table(client: Client, tree: Tree) -> dict[str, str]:
    """The combos that the scripts of a tree's page are told."""
    found = re.search(r'id="tree-settings"[^>]*>(.*?)</script>', text(client, f"/trees/{tree.uid}"))
    assert found
    groups = json.loads(found[1])["keys"]
    return {one["id"]: one["combo"] for group in groups for one in group["keys"]}


def test_every_action_stands_in_the_table_once(owner: User, tree: Tree, visitor: Visitor) -> None:
    assert table(visitor(owner), tree) == options.bound_keys({})


def test_a_key_of_ones_own_is_used_shown_and_put_back(
    owner: User, reader: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    assert client.post("/settings/keys", {**options.bound_keys({}), "edit": "E"}).status_code == 302
    assert table(client, tree)["edit"] == "E"
    assert 'name="edit" value="E"' in text(client, "/settings/keys")
    assert table(visitor(reader), tree)["edit"] == "e"
    client.post("/settings/keys", {**options.bound_keys({}), "reset": "1"})
    assert table(client, tree)["edit"] == "e"


def test_two_actions_with_one_key_are_refused_and_nothing_changes(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    client.post("/settings/keys", {**options.bound_keys({}), "edit": "x"})
    assert "x is used twice: for edit and prune" in text(client, "/settings/keys")
    assert table(client, tree)["edit"] == "e"


def test_the_look_is_told_to_the_style_sheet(owner: User, visitor: Visitor) -> None:
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
