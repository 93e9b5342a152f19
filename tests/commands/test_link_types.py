"""Link types are rows of a grove: made, renamed, archived; archetypes decide who sees them."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.engine.models import Event
from loom.links.link_types import GROUPS, STANDARD
from loom.links.models import Link, LinkType
from loom.people.commands import groves
from loom.people.models import Grove, User
from loom.trees.models import Tree
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]
TYPES = "/api/link-types"


@pytest.fixture
def ask(owner: User, tree: Tree) -> Callable[..., Any]:
    """`ask("link a7x2 to b3k9")`: the body of the answer to the owner's line over the API."""

    def run_line(line: str, by: User = owner) -> Any:
        client = APIClient()
        client.force_login(by)
        return client.post(f"/api/trees/{tree.uid}/commands", {"line": line}, format="json").json()

    return run_line


def _client(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def test_a_new_grove_begins_with_the_standard_list_as_rows(owner: User) -> None:
    grove = groves.make_grove(owner, "New")
    assert [row.name for row in LinkType.objects.filter(grove=grove)] == [
        kind.name for kind in STANDARD.types
    ]
    assert grove.link_types_digest == STANDARD.digest


def test_a_type_is_added_used_renamed_and_archived(
    ask: Any, write: Write, owner: User, grove: Grove
) -> None:
    a, b = write("a"), write("b")
    refused = ask(f"link {a} to {b} as:answers")
    assert refused["code"] == "INVALID_SYNTAX" and "supports" in refused["hint"]
    sent = {"grove": grove.uid, "name": "answers", "reverse": "answered_by", "colour": "teal"}
    assert _client(owner).post(TYPES, sent, format="json").status_code == 201
    assert ask(f"link {a} to {b} as:answers")["reply"] == f"✓ linked [{a}] ──[answers]──→ [{b}]"
    assert f"──[answered_by]──→ [{a}]" in ask(f"list {b} links")["reply"]
    change = {"grove": grove.uid, "type": "answers", "name": "replies", "reverse": "replied_by"}
    assert _client(owner).patch(TYPES, change, format="json").json()["name"] == "replies"
    assert f"──[replied_by]──→ [{a}]" in ask(f"list {b} replied_by")["reply"]
    assert Link.objects.get().type == "answers"  # what is stored stays
    assert ask(f"list {b} answered_by")["code"] == "INVALID_SYNTAX"
    gone = {"grove": grove.uid, "type": "replies", "archived": True}
    assert _client(owner).patch(TYPES, gone, format="json").json()["archived"] is True
    archived = ask(f"link {b} to {a} as:replies")
    assert archived["code"] == "INVALID_SYNTAX" and "archived" in archived["message"]
    assert f"──[replied_by]──→ [{a}]" in ask(f"list {b} links")["reply"]
    assert ask(f"unlink {a} to {b} as:replies")["ok"] is True
    kinds = Event.objects.filter(stream__name=f"grove:{grove.uid}").values_list("kind", flat=True)
    assert [kind for kind in kinds if kind.startswith("type.")] == [
        "type.added",
        "type.changed",
        "type.changed",
    ]


def test_types_are_added_changed_and_archived_by_line(
    ask: Any, write: Write, owner: User, writer: User, grove: Grove
) -> None:
    a, b = write("a"), write("b")
    added = ask('linktype add "pays" reverse:paid_by group:evidence colour:teal')
    assert added["reply"] == "✓ added the link type pays/paid_by"
    assert ask(f"link {a} to {b} as:pays")["ok"]
    assert "pays/paid_by" in ask("linktype list")["reply"].partition("evidence: ")[2]
    changed = ask('linktype change "pays" name:settles reverse:settled_by')
    assert changed["reply"] == "✓ changed the link type settles/settled_by"
    assert f"──[settled_by]──→ [{a}]" in ask(f"list {b} links")["reply"]
    assert ask('linktype archive "settles"')["reply"].endswith("(archived)")
    assert ask(f"link {b} to {a} as:settles")["code"] == "INVALID_SYNTAX"
    assert "settles/settled_by (archived)" in ask("linktype")["reply"]
    assert ask('linktype restore "settles"')["ok"] and ask(f"link {b} to {a} as:settles")["ok"]
    assert ask('linktype add "pays" group:nonsense')["code"] == "INVALID_SYNTAX"
    assert ask('linktype archive "nothing"')["code"] == "NOT_FOUND"
    client, tree = _client(writer), Tree.objects.get()
    for line, code in (
        ('linktype add "owes"', ""),
        ('linktype archive "owes"', "PERMISSION_DENIED"),
    ):
        sent = {"line": line}
        answer = client.post(f"/api/trees/{tree.uid}/commands", sent, format="json").json()
        assert answer.get("code", "") == code
    row = LinkType.objects.get(grove=grove, name="settles")
    assert (row.group, row.colour, row.archived_at) == ("evidence", "teal", None)


@pytest.mark.parametrize(
    ("name", "code"),
    [("list", 400), ("here", 400), ("annotations", 400), ("v2", 400), ("supported_by", 409)],
)
def test_a_word_that_is_taken_is_no_new_type(
    owner: User, grove: Grove, name: str, code: int
) -> None:
    sent = {"grove": grove.uid, "name": name}
    refused = _client(owner).post(TYPES, sent, format="json")
    assert refused.status_code == code and refused.json()["hint"]


def test_two_archetypes_list_different_links_of_one_item(
    ask: Any, write: Write, owner: User, writer: User, reader: User, grove: Grove
) -> None:
    a, b, c = write("a"), write("b"), write("c")
    ask(f"link {b} to {a} as:refutes")
    ask(f"link {c} to {a} as:related")
    members = f"/api/groves/{grove.uid}/members"
    seen: dict[str, set[str]] = {}
    for name in ("auditor", "reader", "editor", "writer", "reader", "auditor"):  # in any order
        sent = {"user": writer.username, "archetype": name}
        assert _client(owner).patch(members, sent, format="json").json()["archetype"] == name
        got = set(ask(f"list {a} links", by=writer)["refs"])
        assert seen.setdefault(name, got) == got
    assert seen["reader"] == {c} and seen["auditor"] == {b, c}
    assert seen["reader"] < seen["writer"] <= seen["editor"]
    _client(owner).patch(members, {"user": writer.username, "archetype": "reader"}, format="json")
    assert ask(f"list {a}", by=writer)["reply"] == f"[{a}] links: related 1"
    assert ask(f"list {a} refuted_by", by=writer)["code"] == "INVALID_SYNTAX"
    assert ask(f"link {c} to {b} as:refutes", by=writer)["code"] == "INVALID_SYNTAX"
    listed = _client(writer).get(f"/api/links?tree={_tree(a)}&node={a}").json()["results"]
    assert [portal["type"] for portal in listed] == ["related"]


def _tree(local_id: str) -> str:
    return str(Tree.objects.get(nodes__local_id=local_id).uid)


def test_a_reverse_is_answered_with_the_line_to_write(ask: Any, write: Write) -> None:
    a, b = write("a"), write("b")
    refused = ask(f"link {a} to {b} as:tested_by")
    assert refused["code"] == "INVALID_SYNTAX"
    assert refused["hint"] == f"→ link {b} to {a} as:tests"
    assert ask(refused["hint"])["reply"] == f"✓ linked [{b}] ──[tests]──→ [{a}]"
    assert f"──[tested_by]──→ [{b}]" in ask(f"list {a} links")["reply"]


def test_a_menu_has_the_types_by_group_and_first_those_that_one_uses_most(
    ask: Any, write: Write, owner: User, writer: User
) -> None:
    a, b, c = write("a"), write("b"), write("c")
    for pair in (f"{a} to {b}", f"{b} to {c}", f"{a} to {c}"):
        ask(f"link {pair} as:quotes")
    ask(f"link {a} to {b} as:requires")

    def listed(user: User) -> list[tuple[str, str]]:
        every = _client(user).get(TYPES).json()["results"]
        return [(side["group"], side["name"]) for side in every]

    mine = listed(owner)
    assert list(dict.fromkeys(group for group, _ in mine)) == list(GROUPS)
    assert [name for group, name in mine if group == "evidence"] == [
        "quotes",
        *[
            kind.name
            for kind in STANDARD.types
            if kind.group == "evidence" and kind.name != "quotes"
        ],
    ]
    assert next(name for group, name in mine if group == "structural") == "requires"
    # Somebody else's is by their own links.
    assert next(name for group, name in listed(writer) if group == "structural") == "contains"


def test_the_types_of_a_grove_are_its_members_alone(two_groves: TwoGroves) -> None:
    world = two_groves
    owner = User.objects.get(username="rightowner")
    sent = {"grove": world.right.grove.uid, "name": "secretly"}
    assert world.client(owner).post(TYPES, sent, format="json").status_code == 201
    there = f"{TYPES}?grove={world.right.grove.uid}"
    assert world.client(world.only_left).get(there).status_code == 404
    names = [kind["name"] for kind in world.client(world.both).get(there).json()["results"]]
    assert "secretly" in names
    here = world.client(world.both).get(f"{TYPES}?grove={world.left.grove.uid}").json()["results"]
    assert "secretly" not in [kind["name"] for kind in here]


def test_the_page_adds_renames_and_archives(owner: User, reader: User, grove: Grove) -> None:
    page = f"/groves/{grove.uid}/link-types"
    client = _client(owner)
    client.post(page, {"name": "answers", "reverse": "answered_by", "group": "semantic"})
    assert "answered_by" in client.get(page).content.decode()
    form = {"type": "answers", "name": "replies", "archetypes": ["editor"], "group": "temporal"}
    client.post(page, form)
    row = LinkType.objects.get(grove=grove, key="answers")
    assert (row.name, row.reverse, row.group) == ("replies", "answered_by", "temporal")
    assert row.archetypes == ["editor"]
    client.post(page, {"type": "uses", "archive": "1"})
    assert LinkType.objects.get(grove=grove, key="uses").archived_at is not None
    client.post(page, {"type": "uses", "archive": "0"})
    assert LinkType.objects.get(grove=grove, key="uses").archived_at is None
    assert "No" not in _client(reader).get(page).reason_phrase
    assert 'name="name"' not in _client(reader).get(page).content.decode()
