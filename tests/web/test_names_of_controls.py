"""What controls are called by who does not see the row that they are in."""

from collections import Counter
from html.parser import HTMLParser

import pytest
from django.test import Client

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.trees.models import Tree

pytestmark = pytest.mark.django_db


class Controls(HTMLParser):
    """Collects the names of the buttons and folds of the main part of a page, without those of
    the frame around it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.is_main = self.is_open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_main = self.is_main or tag == "main"
        if self.is_main and tag in ("button", "summary"):
            label = dict(attrs).get("aria-label")
            self.names.append(label or "")
            self.is_open = not label

    def handle_endtag(self, tag: str) -> None:
        if tag in ("button", "summary"):
            self.is_open = False
        self.is_main = self.is_main and tag != "main"

    def handle_data(self, data: str) -> None:
        if self.is_open:
            self.names[-1] += data


def test_controls_of_rows_have_the_name_of_their_row(
    client: Client, owner: User, writer: User, tree: Tree, actor: Actor, muse: Participant
) -> None:
    for tag in ("first", "second"):
        execute_line(actor, tree, Request(f"tag tree:{tree.uid} #{tag}"))
    client.force_login(owner)
    grove = f"/groves/{tree.grove.uid}"
    for role in ("reader", "writer"):
        client.post(f"{grove}/people/invite", {"role": role, "days": "7", "uses": "1"})
    User.objects.filter(pk=owner.pk).update(is_operator=True)
    for path in (
        *(f"{grove}/{page}" for page in ("tags", "link-types", "people", "participants")),
        *("/operator/storage", "/operator/groves", "/operator/people", "/settings"),
    ):
        answer = client.get(path)
        assert answer.status_code == 200, path
        page = Controls()
        page.feed(answer.content.decode())
        names = Counter(" ".join(name.split()) for name in page.names)
        assert [name for name, count in names.items() if count > 1] == [], path
    assert "Remove everywhere: first" in str(client.get(f"{grove}/tags").content)
