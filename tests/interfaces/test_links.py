"""Links and their types over the API, and the parts of a workspace."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, User
from loom.trees.commands import node_writer, trees
from loom.trees.models import Tree
from loom.trees.queries import lookup
from tests.conftest import join

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]


def first_ref(actor: Actor, tree: Tree, line: str) -> str:
    """The local id of what a line made."""
    return str(execute_line(actor, tree, Request(line)).body["refs"][0])


@pytest.fixture
def two(actor: Actor, tree: Tree) -> tuple[str, str]:
    """Two nodes, the first linked to the second."""
    a, b = (first_ref(actor, tree, f'respond root "{text}"') for text in "ab")
    execute_line(actor, tree, Request(f'link {a} to {b} as:supports note:"n" confidence:0.5'))
    return a, b


def test_a_link_is_reported_as_it_is_stored_from_both_of_its_ends(
    api: Client, owner: User, actor: Actor, tree: Tree, two: tuple[str, str]
) -> None:
    a, b = two
    c = first_ref(actor, tree, 'respond root "c"')
    client = api(owner)
    (link,) = client.get(f"/api/links?tree={tree.uid}").json()["results"]
    fields = {name: link[name] for name in ("type", "source", "target", "note", "confidence")}
    assert fields == {
        "type": "supports", "source": a, "target": b, "note": "n", "confidence": 0.5
    }  # fmt: skip
    for node, count in ((a, 1), (b.upper(), 1), (c, 0)):
        assert client.get(f"/api/links?tree={tree.uid}&node={node}").json()["count"] == count
    assert client.get(f"/api/links?tree={tree.uid}&node=z9z9").status_code == 404
    assert client.get(f"/api/links?tree={tree.uid}&offset=1").json() == {"count": 1, "results": []}
    execute_line(actor, tree, Request(f"unlink {a} to {b}"))
    assert client.get(f"/api/links?tree={tree.uid}").json()["count"] == 0


def test_a_link_into_a_tree_one_may_not_see_is_not_told(
    api: Client, owner: User, reader: User, actor: Actor, tree: Tree, two: tuple[str, str]
) -> None:
    elsewhere = Grove.objects.create(name="Elsewhere")
    join(elsewhere, owner, "owner")
    other = trees.new_tree(get_actor(owner, elsewhere), title="Hidden")
    execute_line(actor, tree, Request(f"link {two[0]} to tree:{other.uid}"))
    everything = api(owner).get(f"/api/links?tree={tree.uid}").json()["results"]
    assert [entry["target"] for entry in everything] == [two[1], f"tree:{other.uid}"]
    seen = api(reader).get(f"/api/links?tree={tree.uid}").json()
    assert (seen["count"], [entry["target"] for entry in seen["results"]]) == (1, [two[1]])


def test_a_link_to_an_erased_tree_is_reported_as_broken(
    api: Client, owner: User, actor: Actor, tree: Tree
) -> None:
    a = first_ref(actor, tree, 'respond root "a"')
    other = trees.new_tree(actor, title="Old")
    for end in (f"tree:{other.uid}", f"tree:{other.uid} node:{lookup.root_of(other).local_id}"):
        execute_line(actor, tree, Request(f"link {a} to {end} as:quotes"))
    trees.change_tree(actor, other, {"archived": True})
    trees.erase(actor, Tree.objects.get(pk=other.pk), "Old")
    listed = execute_line(actor, tree, Request(f"list {a} links")).body
    assert listed["reply"] == f"[{a}] → 2 links:" + "\n  ──[quotes]──→ erased" * 2
    assert listed["refs"] == []
    told = api(owner).get(f"/api/links?tree={tree.uid}&node={a}").json()["results"]
    assert [entry["target"] for entry in told] == ["erased", "erased"]


def test_every_type_is_reported_with_its_reverse(api: Client, owner: User) -> None:
    listed = api(owner).get("/api/link-types").json()["results"]
    types: dict[str, Any] = {kind["name"]: kind for kind in listed}
    assert types["supports"] == {
        "name": "supports", "reverse": "supported_by", "symmetric": False, "group": "evidence",
        "colour": "", "archetypes": ["reader", "writer", "editor", "auditor"], "archived": False,
    }  # fmt: skip
    assert types["related"]["symmetric"]


def test_parts_of_a_workspace_are_those_of_the_whole(
    api: Client, owner: User, actor: Actor, tree: Tree, two: tuple[str, str]
) -> None:
    execute_line(actor, tree, Request('find "a"'))
    workspace = node_writer.workspace_of(actor.participant, tree)
    address, client = f"/api/workspaces/{workspace.uid}", api(owner)
    whole = client.get(address).json()
    assert whole["outline"]["hits"] == [two[0]]
    for part in ("outline", "status"):
        assert client.get(f"{address}/{part}").json() == whole[part]
