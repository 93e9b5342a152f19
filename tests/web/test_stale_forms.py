"""Forms that were open for long: what somebody else has saved since stays."""

from typing import Any

import pytest
from django.test import Client
from lxml import html

from loom.people.models import User
from loom.trees.models import Tree
from tests.web.conftest import Visitor

pytestmark = pytest.mark.django_db


def form_of(client: Client, path: str, field: str) -> dict[str, Any]:
    """What a browser sends of the form with this field, if nothing is changed in it."""
    page = html.fromstring(client.get(path).content.decode())
    form = next(form for form in page.forms if field in form.fields)
    values: dict[str, Any] = {}
    for name, value in form.form_values():
        values.setdefault(name, []).append(value.replace("\n", "\r\n"))
    return values


def test_settings_of_a_grove_that_another_owner_changed_stay(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    grove, client = tree.grove, visitor(owner)
    grove.settings = {"tag_colours": {"kept": "amber", "old": "green"}, "auto_open": True}
    grove.save()
    path = f"/groves/{grove.uid}/settings"
    before = grove.settings
    form = form_of(client, path, "limit")
    client.post(path, form)
    grove.refresh_from_db()
    assert grove.settings == before  # nothing was changed, and nothing is stored
    client.post(path, form | {"limit": "0.05", "colour": ["amber", ""]})
    client.post(path, {key: value for key, value in form.items() if key != "auto_open"})
    client.post(path, form | {"name": "Renamed"})
    grove.refresh_from_db()
    assert grove.name == "Renamed"
    assert grove.settings["daily_budget_usd"] == 0.05
    assert grove.settings["auto_open"] is False
    assert grove.settings["tag_colours"] == {"kept": "amber"}


def test_what_a_tree_says_that_somebody_else_changed_stays(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client, path = visitor(owner), f"/trees/{tree.uid}/about"
    tree.system_context = "One.\n\nTwo."
    tree.save()
    form = form_of(client, path, "system_context")
    sent = f"{path}/head"
    client.post(sent, form | {"system_context": "Be brief.\r\nBe kind."})
    assert client.post(sent, form | {"title": "Renamed"}).status_code == 302
    tree.refresh_from_db()
    assert (tree.title, tree.system_context) == ("Renamed", "Be brief.\nBe kind.")
    # Both changed the same: what was typed is shown beside the reason, and may be saved then.
    refused = client.post(sent, form | {"system_context": "Be long."})
    assert refused.status_code == 409
    page = html.fromstring(refused.content.decode())
    text = page.text_content()
    assert "has changed the instructions for models since you read it" in text
    assert "as it is now" in text and "Be brief." in text
    again = next(form for form in page.forms if "system_context" in form.fields)
    assert again.fields["system_context"] == "Be long."
    assert again.fields["title"] == "Renamed"
    client.post(sent, dict(again.form_values()))
    tree.refresh_from_db()
    assert (tree.title, tree.system_context) == ("Renamed", "Be long.")


@pytest.mark.parametrize("seen", ["[", "[]", "7", '{"title": 7}', '{"system_context": ["a"]}'])
def test_any_account_of_what_was_seen_gets_an_answer(
    owner: User, tree: Tree, visitor: Visitor, seen: str
) -> None:
    client = visitor(owner)
    for path in (f"/trees/{tree.uid}/about/head", f"/groves/{tree.grove.uid}/settings"):
        assert client.post(path, {"title": "A", "name": "A", "seen": seen}).status_code < 500
