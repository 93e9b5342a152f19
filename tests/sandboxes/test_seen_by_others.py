"""A sandbox is in no answer to anybody else: every address of the API, every page, every line,
every export and what agents are sent, for the owner, another member, and outsiders.

A member of two groves fills a sandbox with one of everything; each text, title, label and name in
it holds the word KESTREL. What others are answered is the same before and after."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from loom.access import Actor, acting_as
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.transfer.exporting import FORMATS
from loom.trees.commands import trees
from loom.trees.commands.public_links import make_public_link
from loom.trees.models import Tree
from tests.interfaces.matrix import LINES, ROWS, filled
from tests.interfaces.test_two_groves import NAMED, _posts, _unpacked, asked, text_in
from tests.interfaces.world import ends_of, fill_tree, furnish
from tests.kept import kept
from tests.queries.test_equal_counts import PAGES
from tests.two_groves import TwoGroves, make_two_groves

pytestmark = pytest.mark.django_db
KESTREL = "kestrel"
Names = dict[str, str]
MORE = (
    "/api/groves/{grove}/search?q=kestrel",
    "/api/groves/{grove}/search?q=sleeps",
    "/groves/{grove}?q=kestrel",
    "/groves/{grove}/search?q=kestrel",
    "/trees/{tree}/search?q=kestrel",
    "/palette?q=kestrel",
    "/api/trees?grove={grove}&q=kestrel",
)


class Surveyed:
    """The left grove with one of everything, and what its people were answered before a member made
    a sandbox there. `there` are the names of what is in it."""

    def __init__(self, two: TwoGroves) -> None:
        self.two = two
        self.owner = User.objects.get(username="leftowner")
        for user in (two.both, two.only_left, two.nobody, self.owner):
            user.set_password(f"{user.username}-password")
            user.save()
        actor = two.left.actor(self.owner)
        self.muse = two.agent(two.left)
        names = furnish(actor, two.left.tree, self.muse)
        _, secret = make_public_link(actor, two.left.tree, days=1)
        self.here = {**names, **ends_of(names["node"], names["marked"]), "secret": secret}
        execute_line(two.left.actor(two.both), two.left.tree, Request("tree"))
        self.moment = timezone.now()
        self.answers = {user: self.answered(user) for user in (self.owner, two.only_left)}
        self.events = self.shared_events()
        self.tree, self.there = self._fill()

    def _fill(self) -> tuple[Tree, Names]:
        """The sandbox, filled by the member of both groves."""
        two = self.two
        actor, tree = two.left.actor(two.both), two.left.tree
        execute_line(actor, tree, Request(f'sandbox from {self.here["node"]} "{KESTREL}"'))
        sandbox = Tree.objects.get(sandbox_of=two.both)

        def say(line: str) -> str:
            refs = execute_line(actor, sandbox, Request(line)).body["refs"]
            return str(refs[0]) if refs else ""

        there = fill_tree(
            actor,
            sandbox,
            self.muse,
            KESTREL,
            opening=f"A {KESTREL} sleeps.",
            at="",
            to="@Leftowner",
        )
        node = there["node"]
        far = f"tree:{tree.uid} node:{self.here['node']}"
        say(f'link {node} to {far} as:supports note:"{KESTREL}"')
        say(f'respond {node} "more of the {KESTREL}" from:{far}')
        say(f'ask "Leftowner" "Where is the {KESTREL}?"')
        say(f'scratchpad "{KESTREL}"')
        say('chapter target "1" words:9')
        trees.change_tree(actor, sandbox, {"description": KESTREL, "folder": KESTREL})
        return sandbox, {**self.here, **there}

    def answered(self, user: User) -> dict[str, str]:
        """What each address of the grove answers a person, all at one moment."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(timezone, "now", lambda: self.moment)
            return self._answered(user)

    def _answered(self, user: User) -> dict[str, str]:
        client = self.two.client(user)
        rows = [f"/api/{row.address}" for row in ROWS if row.method == "GET"]
        answers = {}
        for address in (*rows, *PAGES, *MORE):
            point = transaction.savepoint()
            answer = client.get(address.format(**{**self.here, "me": user.username}))
            transaction.savepoint_rollback(point)
            answers[address] = f"{answer.status_code} {settled(text_in(answer))}"
        return answers

    def shared_events(self) -> list[tuple[str, int]]:
        """The events of the grove and of its tree."""
        names = [f"grove:{self.two.left.grove.uid}", f"tree:{self.two.left.tree.uid}"]
        rows = Event.objects.filter(stream__name__in=names).order_by("id")
        return list(rows.values_list("stream__name", "seq"))


VARIES = (
    r'csrf\w*"?[^>]{0,40}?(?:value|content)="[^"]*"',
    r"csrftoken=[^;]*",
    r"nonce[-=]\W?[\w+/=-]+",
    r"\d{4}-\d\d-\d\dt\d\d:\d\d[\d:.]*(?:z|\+00:00)",
    r"content-length', '\d+'",
    r"expires(=|', ')[^;']*",
    r"server-timing[^)]*\)",
    r"\b\d+(?:\.\d+)? (?:ms|seconds?|minutes?) ?(?:ago)?",
)


def settled(text: str) -> str:
    """An answer without what differs each time."""
    for pattern in VARIES:
        text = re.sub(pattern, "…", text)
    return text


@pytest.fixture(name="house", scope="module")
def _house(django_db_setup: None, django_db_blocker: Any) -> Iterator[Surveyed]:
    with kept(lambda: Surveyed(make_two_groves()), blocker=django_db_blocker) as house:
        yield house


def test_others_are_answered_as_before(house: Surveyed) -> None:
    # What it costs is in the sums of the grove.
    spent = ("/api/groves/{grove}/usage", "/groves/{grove}/money")
    for user, earlier in house.answers.items():
        after = house.answered(user)
        before = {address: text for address, text in earlier.items() if address not in spent}
        wrong = {
            address: _difference(before[address], after[address])
            for address in before
            if before[address] != after[address]
        }
        assert wrong == {}, (user, sorted(wrong.items())[:3])
        assert [
            address
            for address, text in after.items()
            if KESTREL in text and "q=kestrel" not in address
        ] == []


def _difference(before: str, after: str) -> tuple[str, str]:
    at = next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    return before[max(0, at - 90) : at + 60], after[max(0, at - 90) : at + 60]


def test_nothing_was_written_to_what_others_read(house: Surveyed) -> None:
    assert house.shared_events() == house.events


def test_no_address_of_the_api_answers_others_with_it(house: Surveyed) -> None:
    wrong = []
    own = {name for name in house.there if house.there[name] != house.here.get(name)}
    for user in (house.owner, house.two.only_left, house.two.only_right, house.two.nobody):
        client = house.two.client(user)
        for row in ROWS:
            if not any("{" + name + "}" in row.address for name in own):
                continue
            answer = asked(client, row, house.there, user)
            if answer.status_code not in (404, 403, 401) or KESTREL in text_in(answer):
                wrong.append((user.username, row.method, row.address, answer.status_code))
    assert wrong == []


def test_no_page_shows_it_to_others(house: Surveyed) -> None:
    wrong = []
    own = {name for name in house.there if house.there[name] != house.here.get(name)}
    for user in (house.owner, house.two.only_left, house.two.nobody):
        client = Client()
        client.force_login(user)
        for page in PAGES:
            if not any("{" + name + "}" in page for name in own) or "{secret}" in page:
                continue
            answer = client.get(page.format(**house.there))
            is_hidden = answer.status_code == 404 or page.startswith("/documents/")
            if not is_hidden or KESTREL in text_in(answer):
                wrong.append((user.username, page, answer.status_code))
        for page in _posts():
            if "{tree}" not in page:
                continue
            answer = client.post(
                page.format(**{**house.there, **NAMED}), {"node": house.there["node"]}
            )
            if answer.status_code not in (404, 405) or KESTREL in text_in(answer):
                wrong.append((user.username, page, answer.status_code))
    assert wrong == []


def test_no_export_holds_it(house: Surveyed) -> None:
    for user in (house.owner, house.two.only_left):
        client = house.two.client(user)
        for name in FORMATS:
            asks = f"export?format={name}&whole=1&notes=1&calls=full"
            answer = client.get(f"/api/trees/{house.two.left.tree.uid}/{asks}")
            assert KESTREL not in _unpacked(answer), name
            there = client.get(f"/api/trees/{house.tree.uid}/export?format={name}")
            assert there.status_code == 404


def _lines(house: Surveyed) -> Iterator[str]:
    far = {name: f"tree:{house.tree.uid} node:{value}" for name, value in house.there.items()}
    for lines in LINES.values():
        for line in lines:
            yield filled(line, far)
            yield filled(line, house.there)
    yield from (
        'find "kestrel"',
        'find "kestrel" in:grove',
        "find #kestrel",
        "list tags",
        "list #kestrel",
        "list trees",
        'list tree:"kestrel"',
        f"switch to tree:{house.tree.uid}",
        f"open tree:{house.tree.uid}",
        f"view tree:{house.tree.uid}",
        "digest",
        "since",
        "trail list",
        f"list {house.here['node']} links",
        f"graph {house.here['node']}",
        f"expand supported_by of {house.here['node']}",
    )


ASK = Callable[[Surveyed], Actor]


@pytest.mark.parametrize(
    "name", ["leftowner", "onlyleft", "agent of the maker", "agent of another"]
)
def test_no_line_answers_others_with_it(house: Surveyed, name: str) -> None:
    two = house.two
    if name.startswith("agent"):
        user = two.both if name.endswith("maker") else two.only_left
        actor = acting_as(two.left.actor(user), house.muse)
    else:
        actor = two.left.actor(User.objects.get(username=name))
    for line in _lines(house):
        point = transaction.savepoint()
        try:
            answer = str(execute_line(actor, two.left.tree, Request(line)).body["reply"])
        except CommandError as why:
            answer = f"{why.message} {why.hint}"
        transaction.savepoint_rollback(point)
        left = answer.lower().replace(line.lower(), "")
        assert "sleeps." not in left and "marked kestrel" not in left, (line, answer)
        if KESTREL not in line:
            assert KESTREL not in left, (line, answer)


def test_it_is_in_no_request_of_another_model(house: Surveyed) -> None:
    two = house.two
    assert isinstance(house.muse, Participant)
    for user in (two.only_left, two.both):
        client = two.client(user)
        for address in ("/api/workspaces/{agents}/context", "/api/workspaces/{agents}/status"):
            assert KESTREL not in text_in(client.get(address.format(**house.here)))


def test_its_maker_reads_all_of_it(house: Surveyed) -> None:
    client = house.two.client(house.two.both)
    rows = [f"/api/{row.address}" for row in ROWS if row.method == "GET"]
    shown = []
    for address in (*rows, *PAGES):
        if "{tree}" in address:
            answer = client.get(address.format(**{**house.there, "me": "both"}))
            assert answer.status_code < 500, address
            shown += [address] if KESTREL in text_in(answer) else []
    assert len(shown) > 30
    listed = client.get(f"/api/trees?grove={house.two.left.grove.uid}").json()["results"]
    assert house.tree.uid in {tree["id"] for tree in listed}
