"""Nothing of a tree that is hidden from a member of its grove is in an answer to them: every
address of the API, every page and every line, for one from whom it is hidden by name, and for one
by their role. A member of two groves, who may see it by name, is shown it.

Each text and title of the hidden tree holds the word KESTREL.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from loom.access import get_actor, get_actor_in
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Membership, Participant, User
from loom.transfer.exporting import FORMATS
from loom.trees.commands import rights, trees
from loom.trees.models import Tree
from tests.interfaces import world
from tests.interfaces.matrix import LINES, ROWS, filled
from tests.interfaces.test_two_groves import KESTREL, NAMED, _posts, asked, text_in
from tests.kept import kept
from tests.queries.test_equal_counts import PAGES
from tests.two_groves import TwoGroves, make_two_groves

pytestmark = pytest.mark.django_db
Names = dict[str, str]
OF_TREE = (
    *("tree", "node", "note", "suggestion", "marked", "gone", "tasks", "claim", "workspace"),
    *("agents", "exploration", "image", "call", "generation", "turn", "end", "near", "noted"),
    "linked",
)
HIDDEN_FROM = ("byname", "onlyleft")


class House:
    """The left grove with the names of things in a tree that everybody sees (`here`) and in one
    that is hidden (`there`): from `byname`, a reader, and from all writers but `both`."""

    def __init__(self, two: TwoGroves) -> None:
        self.two = two
        side = two.left
        owner = User.objects.get(username="leftowner")
        reader = User.objects.create(username="byname")
        person = Participant.objects.create(
            grove=side.grove, kind="human", name="Byname", user=reader
        )
        Membership.objects.create(grove=side.grove, user=reader, participant=person, role="reader")
        self.owner = side.actor(owner)
        muse = two.agent(side, name="Muse")
        self.here = {**world.furnish(self.owner, side.tree, muse), "secret": "none"}
        self.here |= world.ends_of(self.here["node"], self.here["marked"])
        self.hidden = trees.new_tree(self.owner, title="Papers of the kestrel")
        for line in ('allow "byname" hidden', "allow writers hidden", 'allow "Both" write'):
            self.say(line)
        self.there = {**self.here, **self._fill(muse)}
        self._tie()
        for user in (reader, two.only_left):
            user.set_password(f"{user.username}-password")
            user.save()

    def say(self, line: str, tree: Tree | None = None) -> str:
        """The first ref in the reply to a line of the owner in the hidden tree."""
        refs = execute_line(self.owner, tree or self.hidden, Request(line)).body["refs"]
        return str(refs[0]) if refs else ""

    def _fill(self, muse: Participant) -> Names:
        """One of everything that a tree has."""
        opening, to = f"opening {KESTREL}", "@Byname @Onlyleft"
        filled_in = world.fill_tree(
            self.owner, self.hidden, muse, KESTREL, opening=opening, at="root", to=to
        )
        self.say(f"view {filled_in['node']}")
        self.say(f'trail save "way {KESTREL}"')
        self.say(f'trail share "way {KESTREL}"')
        return filled_in

    def _tie(self) -> None:
        """What the owner leaves in the tree that everybody sees, and in documents, about it."""
        far = f"tree:{self.hidden.uid} node:{self.there['node']}"
        text = self.here["node"]
        for line in (
            f"link {text} to {far} as:supports",
            f'link doc:"Notes" to {far}',
            f"link {text} to tree:{self.hidden.uid}",
            f'respond {text} "Go on." from:{far}',
            f"open {far}",
            f'stash "far" content-of:{far}',
        ):
            self.say(line, self.two.left.tree)
        self.say(f"link {self.there['node']} to tree:{self.here['tree']} node:{text}")
        portal = f"![[tree:{self.hidden.uid} node:{self.there['node']}]]"
        self.say(f'write doc:"Notes" append\n{portal}\n←', self.two.left.tree)

    @property
    def mixed(self) -> Names:
        """Things of the hidden tree below addresses of the other."""
        return {**self.there, "tree": self.here["tree"], "workspace": self.here["workspace"]}


@pytest.fixture(name="house", scope="module")
def _house(django_db_setup: None, django_db_blocker: Any) -> Iterator[House]:
    """The grove with its hidden tree."""
    with kept(lambda: House(make_two_groves()), blocker=django_db_blocker) as house:
        yield house


def _user(name: str) -> User:
    return User.objects.get(username=name)


def _is_of_tree(address: str) -> bool:
    """Whether an address names something of a tree."""
    return any("{" + name + "}" in address for name in OF_TREE)


@pytest.mark.parametrize("name", HIDDEN_FROM)
def test_no_address_of_the_api_answers_with_a_hidden_tree(house: House, name: str) -> None:
    user = _user(name)
    client = house.two.client(user)
    like = {"byname": "reader", "onlyleft": "writer"}[name]
    wrong = []
    for names in ("here", "there", "mixed"):
        for row in ROWS:
            answer = asked(client, row, getattr(house, names), user)
            expected = {row.status(like)}
            if names == "there" and _is_of_tree(row.address):
                expected = {404}
            elif names == "mixed" or (names == "there" and _is_of_tree(row.body)):
                expected = {200, 201, 202, 400, 403, 404, 409, 503}
            if answer.status_code not in expected or KESTREL in text_in(answer):
                seen = (row.method, row.address, answer.status_code, text_in(answer)[-300:])
                wrong.append((names, *seen))
    assert wrong == [], "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", HIDDEN_FROM)
def test_no_page_holds_a_hidden_tree(house: House, name: str) -> None:
    client = house.two.client(_user(name))
    wrong = []
    for names in ("here", "there", "mixed"):
        for page in PAGES:
            if "{secret}" in page or "{gateway_session}" in page:
                continue
            answer = client.get(page.format(**getattr(house, names)))
            expected = {200, 302, 403} if names == "here" else {200, 302, 403, 404}
            if names == "there" and "{tree}" in page:
                expected = {404}
            if answer.status_code not in expected or KESTREL in text_in(answer):
                wrong.append((names, page, answer.status_code, text_in(answer)[-300:]))
    assert wrong == [], "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", HIDDEN_FROM)
def test_nothing_is_posted_to_the_pages_of_a_hidden_tree(house: House, name: str) -> None:
    client = Client()
    client.force_login(_user(name))
    wrong, tried = [], 0
    for page in _posts():
        if "{tree}" not in page and "{exploration}" not in page:
            continue
        for body in ({}, {"node": house.there["node"], "line": 'respond root "a"', "tags": "a"}):
            answer = client.post(page.format(**{**house.there, **NAMED}), body)
            tried += 1
            if answer.status_code not in (404, 405) or KESTREL in text_in(answer):
                wrong.append((page, answer.status_code, text_in(answer)[-300:]))
    assert wrong == [], "\n".join(map(str, wrong))
    assert tried > 60


@pytest.mark.parametrize("name", HIDDEN_FROM)
def test_a_line_about_a_hidden_tree_is_answered_as_if_there_was_none(
    house: House, name: str
) -> None:
    here, uid = house.two.left.tree, house.hidden.uid
    actor = get_actor(_user(name), here.grove)
    far = {key: f"tree:{uid} node:{value}" for key, value in house.there.items()}
    every = [line for lines in LINES.values() for line in lines]
    asked_for = [filled(line, names) for line in every for names in (far, house.there, house.here)]
    asked_for += [f"view {house.here['node']} with:notes,links", "list trees", "list tags in:grove"]
    for line in (*asked_for, "list tags", 'find "kestrel" in:grove', "list bookmarks in:grove"):
        point = transaction.savepoint()
        try:
            answer = execute_line(actor, here, Request(line)).body
        except CommandError as why:
            answer = {"ok": False, "code": why.code, "reply": f"{why.message} {why.hint}"}
        transaction.savepoint_rollback(point)
        told = str(answer).lower().replace("find kestrel", "").replace("“kestrel”", "")
        assert KESTREL not in told.replace('"kestrel"', ""), (line, answer)
        assert answer["ok"] is False or uid not in line, (line, answer)


@pytest.mark.parametrize("name", HIDDEN_FROM)
def test_no_line_is_run_in_a_hidden_tree(house: House, name: str) -> None:
    client = house.two.client(_user(name))
    with pytest.raises(CommandError) as why:
        execute_line(get_actor(_user(name), house.hidden.grove), house.hidden, Request("view root"))
    assert why.value.code == "NOT_FOUND"
    for lines in LINES.values():
        for line in lines:
            body = {"line": filled(line, house.there)}
            answer = client.post(f"/api/trees/{house.hidden.uid}/commands", body, format="json")
            assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), line
            assert KESTREL not in text_in(answer), line


@pytest.mark.parametrize("name", HIDDEN_FROM)
def test_no_export_holds_a_hidden_tree(house: House, name: str) -> None:
    client = house.two.client(_user(name))
    for kind in FORMATS:
        asks = f"export?format={kind}&whole=1&notes=1&calls=full"
        assert KESTREL not in text_in(client.get(f"/api/trees/{house.here['tree']}/{asks}")), asks
        there = client.get(f"/api/trees/{house.hidden.uid}/{asks}")
        assert there.status_code == 404 and KESTREL not in text_in(there)


def test_who_may_see_it_by_name_is_shown_it_and_owners_always_are(house: House) -> None:
    for user, least in ((house.two.both, 15), (_user("leftowner"), 25)):
        client = house.two.client(user)
        held = 0
        for row in ROWS:
            if row.method == "GET":
                held += KESTREL in text_in(asked(client, row, house.there, user))
        assert held > least, user
        shown = [p for p in PAGES if KESTREL in text_in(client.get(p.format(**house.there)))]
        assert len(shown) > 20, user
    assert get_actor_in(house.two.both, house.hidden.pk).role == "writer"
    # The rights of one grove say nothing about another.
    theirs = house.two.client(house.two.both).get(f"/api/trees/{house.two.right.tree.uid}")
    assert theirs.status_code == 200


def test_a_tree_that_is_shown_again_is_there_again(house: House) -> None:
    client = house.two.client(_user("byname"))
    point = transaction.savepoint()
    house.say('allow "byname" usual')
    assert client.get(f"/api/trees/{house.hidden.uid}").status_code == 200
    house.say("undo")
    assert client.get(f"/api/trees/{house.hidden.uid}").status_code == 404
    house.say("redo")
    assert client.get(f"/api/trees/{house.hidden.uid}").status_code == 200
    transaction.savepoint_rollback(point)
    assert rights.right_of(Membership.objects.get(user=_user("byname")), house.hidden) == "hidden"
