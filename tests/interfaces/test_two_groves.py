"""Nothing of one grove is in an answer to a member of another one: every address of the API, every
page and every line, for a member of both groves, of one, and of none.

Both groves hold one of everything, the member of both has tied them together, and each text and
title of the right one holds the word KESTREL.
"""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver
from rest_framework.test import APIClient

from loom.access import get_actor, workspace_of
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import User
from loom.transfer.exporting import FORMATS
from loom.trees.commands.public_links import make_public_link
from tests.interfaces.matrix import LINES, ROWS, filled
from tests.interfaces.world import furnish
from tests.kept import kept
from tests.queries.test_equal_counts import PAGES
from tests.two_groves import Side, TwoGroves, make_two_groves

pytestmark = pytest.mark.django_db
KESTREL = "kestrel"
Names = dict[str, str]


class House:
    """The two groves with `here`, the names of things in the left, and `there`, in the right."""

    def __init__(self, two: TwoGroves) -> None:
        self.two = two
        two.right.grove.name = "Kestrel house"
        two.right.grove.save()
        self.here = self._furnish(two.left, "leftowner", "")
        self.there = self._furnish(two.right, "rightowner", KESTREL)
        for user in (two.both, two.only_left, two.nobody):
            user.set_password(f"{user.username}-password")
            user.save()
        self._tie()

    def _furnish(self, side: Side, owner: str, word: str) -> Names:
        actor = side.actor(User.objects.get(username=owner))
        muse = self.two.agent(side, name=f"Marie {word}".strip())
        names = furnish(actor, side.tree, muse, word)
        _, secret = make_public_link(actor, side.tree, days=1)
        near = {"end": names["marked"], "near": names["node"], "noted": names["node"]}
        near["linked"] = names["node"]
        return {**names, **near, "secret": secret}

    def _tie(self) -> None:
        """What the member of both leaves in each grove about the other."""
        two, text = self.two, self.two.left.text.local_id
        for line in (
            f"link {text} to {two.far} as:supports",
            f'respond {text} "Go on." from:{two.far}',
            f"open {two.far}",
            f'stash "far" content-of:{two.far}',
        ):
            two.left.run(two.both, line)
        near = f"tree:{two.left.tree.uid} node:{text}"
        two.right.run(two.both, f"link {two.right.text.local_id} to {near}")

    @property
    def mixed(self) -> Names:
        """Nodes, calls and people of the right grove below addresses of the left."""
        ours = ("grove", "tree", "archived", "workspace", "agents")
        return {**self.there, **{name: self.here[name] for name in ours}}


@pytest.fixture(name="house", scope="module")
def _house(django_db_setup: None, django_db_blocker: Any) -> Iterator[House]:
    """Both groves, furnished and tied together."""
    with kept(lambda: House(make_two_groves()), blocker=django_db_blocker) as house:
        yield house


def text_in(answer: Any) -> str:
    """The answer with its headers, in lower case."""
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return f"{sorted(answer.headers.items())} {body.decode(errors='replace')}".lower()


def asked(client: APIClient, row: Any, names: Names, user: User) -> Any:
    """The answer to one row of the table; what it changed is taken back, signing out too."""
    address, body = row.filled({**names, "me": user.username})
    signed_in = {key: cookie.value for key, cookie in client.cookies.items()}
    point = transaction.savepoint()
    answer = getattr(client, row.method.lower())(address, body, format="json")
    transaction.savepoint_rollback(point)
    client.cookies.load(signed_in)
    return answer


def test_no_address_of_the_api_answers_with_the_other_grove(house: House) -> None:
    wrong = []
    for name, names, like in (
        ("only_left", "here", "writer"),
        ("only_left", "there", "outsider"),
        ("only_left", "mixed", ""),
        ("nobody", "here", "outsider"),
        ("nobody", "there", "outsider"),
    ):
        user = getattr(house.two, name)
        client = house.two.client(user)
        for row in ROWS:
            answer = asked(client, row, getattr(house, names), user)
            expected = {row.status(like)} if like else {200, 201, 202, 400, 403, 404, 409, 503}
            if answer.status_code not in expected or KESTREL in text_in(answer):
                seen = (row.method, row.address, answer.status_code, text_in(answer)[-300:])
                wrong.append((name, names, *seen))
    assert wrong == []


def test_a_member_of_both_is_answered_as_a_writer_in_each(house: House) -> None:
    two = house.two
    client = two.client(two.both)
    for names, least in (("here", 0), ("there", 20)):
        wrong, held = [], 0
        for row in ROWS:
            answer = asked(client, row, getattr(house, names), two.both)
            held += KESTREL in text_in(answer)
            if (row.method, row.address) == ("POST", "trails"):
                continue  # it keeps the steps made so far, which are those of other rows here
            if answer.status_code != row.status("writer"):
                wrong.append((row.method, row.address, answer.status_code))
        assert wrong == [], names
        assert held > least, names


def test_no_page_holds_the_other_grove(house: House) -> None:
    wrong = []
    for name, names in (
        ("only_left", "here"),
        ("only_left", "there"),
        ("only_left", "mixed"),
        ("nobody", "there"),
    ):
        client = house.two.client(getattr(house.two, name))
        for page in PAGES:
            if "{secret}" in page and names != "here":
                continue  # whoever has the link reads the page
            address = page.format(**getattr(house, names))
            answer = client.get(address)
            is_ours = names == "here" or "{" not in page
            expected = {200, 302, 403} if is_ours else {200, 302, 403, 404}
            if names == "there" and not is_ours:
                expected = {404}
            if "{gateway_session}" in page:
                expected = {404}  # the session of a program is its owner's, also in the own grove
            if answer.status_code not in expected or KESTREL in text_in(answer):
                wrong.append((name, names, page, answer.status_code, text_in(answer)[-300:]))
    assert wrong == []


def _unpacked(answer: Any) -> str:
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if body.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            body = b"".join(archive.read(name) for name in archive.namelist())
    return body.decode(errors="replace").lower()


def test_no_export_holds_the_other_grove(house: House) -> None:
    client, uid = house.two.client(house.two.only_left), house.two.right.tree.uid
    written = set()
    for name in FORMATS:
        for more in ("whole=1&notes=1&calls=full", "whole=1", f"node={house.here['node']}"):
            asks = f"export?format={name}&{more}"
            answer = client.get(f"/api/trees/{house.two.left.tree.uid}/{asks}")
            assert KESTREL not in _unpacked(answer), asks
            if answer.status_code == 200:
                written.add(name)
        for asks in (f"export?format={name}", f"export/preview?format={name}"):
            there = client.get(f"/api/trees/{uid}/{asks}")
            assert there.status_code == 404 and KESTREL not in text_in(there)
    assert written == set(FORMATS)


def test_pages_show_the_other_grove_to_its_member(house: House) -> None:
    client = house.two.client(house.two.both)
    shown = [page for page in PAGES if KESTREL in text_in(client.get(page.format(**house.there)))]
    assert len(shown) > 25


def _posts() -> Iterator[str]:
    """Every address of the pages that names something."""
    uids = {
        "groves": "grove",
        "trees": "tree",
        "documents": "document",
        "trails": "trail",
        "explorations": "exploration",
    }
    for address, callback in _pages(get_resolver().url_patterns):
        parts = address.split("/")
        for at, part in enumerate(parts):
            name = part.strip("<>").partition(":")[2]
            if part.startswith("<"):
                known = {
                    "uid": uids.get(parts[at - 1], ""),
                    "local_id": "node",
                    "server": "tool_server",
                }
                parts[at] = "{" + known.get(name, name) + "}"
        if "{" in (route := "/".join(parts)) and ".pages" in callback.__module__:
            yield route


def _pages(patterns: list[Any], before: str = "/") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _pages(pattern.url_patterns, before + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            yield before + str(pattern.pattern), pattern.callback


NAMED = {"action": "tags", "listing": "none", "sha256": "0" * 64}


@pytest.mark.parametrize("name", ["only_left", "nobody"])
def test_nothing_is_posted_to_the_pages_of_the_other_grove(house: House, name: str) -> None:
    client = Client()
    client.force_login(getattr(house.two, name))
    wrong, tried = [], 0
    for page in _posts():
        if page.startswith(("/signin", "/invitations", "/public", "/settings")):
            continue  # they name nothing of a grove
        for body in ({}, {"node": house.there["node"], "line": 'respond root "a"', "tags": "a"}):
            answer = client.post(page.format(**{**house.there, **NAMED}), body)
            tried += 1
            if answer.status_code not in (404, 405) or KESTREL in text_in(answer):
                wrong.append((page, answer.status_code, text_in(answer)[-300:]))
    assert wrong == []
    assert tried > 80


def _lines(names: Names, tree: str) -> Iterator[str]:
    far = {name: f"tree:{tree} node:{value}" for name, value in names.items()}
    for lines in LINES.values():
        for line in lines:
            yield filled(line, far)
            yield filled(line, names)


@pytest.mark.parametrize("name", ["only_left", "both"])
def test_a_line_about_the_other_grove_is_answered_to_its_members_only(
    house: House, name: str
) -> None:
    two = house.two
    user = getattr(two, name)
    actor, told = get_actor(user, two.left.grove), 0
    for line in _lines(house.there, house.there["tree"]):
        point = transaction.savepoint()
        try:
            answer = execute_line(actor, two.left.tree, Request(line)).body
        except CommandError as why:
            answer = {"ok": False, "code": why.code, "reply": f"{why.message} {why.hint}"}
        transaction.savepoint_rollback(point)
        told += KESTREL in str(answer).lower()
        if name == "only_left":
            assert KESTREL not in str(answer).lower(), (line, answer)
            assert answer["ok"] is False or house.there["tree"] not in line, (line, answer)
    assert told > 5 or name == "only_left"


def test_lines_about_the_own_grove_hold_nothing_of_the_other(house: House) -> None:
    two = house.two
    actor = get_actor(two.only_left, two.left.grove)
    text = two.left.text.local_id
    for line in [f"view {text}", f"view {text} with:notes,links", f"list {text} links", "tree"] + [
        filled(line, house.here) for lines in LINES.values() for line in lines
    ]:
        point = transaction.savepoint()
        try:
            answer = str(execute_line(actor, two.left.tree, Request(line)).body)
        except CommandError as why:
            answer = f"{why.message} {why.hint}"
        transaction.savepoint_rollback(point)
        assert KESTREL not in answer.lower(), line


def test_who_left_the_other_grove_is_shown_nothing_of_it_any_more(house: House) -> None:
    two = house.two
    there = f"tree:{two.right.tree.uid}"
    for line in (
        f'find "sleeps" in:{there} open',
        f"open {there} branch:{two.right.text.local_id}",
        f"open {there}",
        f"switch to {two.far}",
        "switch to root",
        f"switch to {two.far}",
    ):
        two.left.run(two.both, line)
    own = workspace_of(two.left.actor(two.both).participant, two.left.tree)
    client = two.client(two.both)
    wrong: list[tuple[object, ...]] = []
    names = {**house.here, "workspace": own.uid}
    shown = client.get(f"/api/workspaces/{own.uid}/windows")
    assert KESTREL in text_in(shown)
    two.right.grove.memberships.filter(user=two.both).delete()
    for row in ROWS:
        answer = asked(client, row, names, two.both)
        if row.address.startswith("steps"):
            continue  # what somebody was answered once stays theirs
        if KESTREL in text_in(answer):
            wrong.append((row.address, text_in(answer)[-300:]))
    for page in PAGES:
        answer = client.get(page.format(**house.here))
        if KESTREL in text_in(answer):
            wrong.append((page, text_in(answer)[-300:]))
    for number in (result["number"] for result in shown.json()["results"]):
        for line in OF_WINDOWS:
            answer = client.post(
                f"/api/trees/{two.left.tree.uid}/commands",
                {"line": line.format(window=f"#{number}")},
                format="json",
            )
            if KESTREL in text_in(answer):
                wrong.append((line, number, text_in(answer)[-300:]))
    assert wrong == []


OF_WINDOWS = (
    "view {window} full",
    "view {window}",
    "compare {window} root as:side",
    "list {window} versions",
    "resize {window} lines:1",
    "refresh {window}",
    "show {window}",
    "open {window}",
    "expand supports of {window}",
    'stash "kept" content-of:{window}',
    'respond root "a" from:{window}',
    "back",
)


def test_a_line_in_the_tree_of_the_other_grove_finds_none(house: House) -> None:
    two = house.two
    for user in (two.only_left, two.nobody):
        client = two.client(user)
        for lines in LINES.values():
            for line in lines:
                answer = client.post(
                    f"/api/trees/{house.there['tree']}/commands",
                    {"line": filled(line, house.there)},
                    format="json",
                )
                assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), line
                assert KESTREL not in text_in(answer), line
