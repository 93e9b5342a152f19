"""The graph around a node: local, honest about what it leaves out, and closed to strangers."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from loom.access import Actor
from loom.documents.actions import make_document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.links.queries import HUB
from loom.people.models import User
from loom.trees.models import Tree
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db
Say = Callable[[str], str]


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Say:
    def run_line(line: str) -> str:
        body = execute_line(actor, tree, Request(line)).body
        return str(body["refs"][0]) if body["refs"] else ""

    return run_line


def graph(client: Client, tree: Tree, **asked: str) -> tuple[dict[str, Any], str]:
    """What the page says and the data that it draws."""
    page = client.get(f"/trees/{tree.uid}/graph", asked).content.decode()
    data = re.search(r'<script id="graph-data" type="application/json">(.*?)</script>', page)
    assert data is not None
    return json.loads(data[1]), page


def test_a_graph_holds_what_is_one_or_two_links_away_and_a_list_says_the_same(
    say: Say, actor: Actor, tree: Tree, owner: User, client: Client
) -> None:
    client.force_login(owner)
    a, b, c, d = (say(f'respond root "{name}"') for name in ("lamp", "oil", "debt", "will"))
    for source, target, kind in ((a, b, "uses"), (b, c, "supports"), (c, d, "supports")):
        say(f"link {source} to {target} as:{kind}")
    paper = make_document(actor, title="Notes", text="# Notes\n")
    say(f"link {a} to doc:{paper.uid} as:evidence")
    data, page = graph(client, tree, node=a)
    items = {entry["item"]: entry["depth"] for entry in data["nodes"]}
    assert items == {a: 0, b: 1, f"doc:{paper.uid}": 1, c: 2}
    assert re.findall(r'<li data-item="([^"]*)"', page) == [a, b, c, f"doc:{paper.uid}"]
    assert "supported by “oil”</span>" in page  # in the row of what it leads to
    assert "supports “debt”" not in page
    assert page.count("Notes") < 4 and "Graph around “lamp”</h1>" in page
    data, _ = graph(client, tree, node=a, depth="1")
    assert len(data["nodes"]) == 3
    data, _ = graph(client, tree, node=a, types="uses")
    assert [entry["item"] for entry in data["nodes"]] == [a, b]
    # It is shown where it stops, and nothing behind it is.
    data, page = graph(client, tree, node=a, stop=b)
    assert c not in {entry["item"] for entry in data["nodes"]}
    assert [entry["stop"] for entry in data["nodes"] if entry["item"] == b] == [True]
    assert client.get(f"/trees/{tree.uid}/graph?node=zzzz").status_code == 404
    # The verb gives the same as data.
    line = f"graph {a} depth:2 stop:{b}"
    reply = str(execute_line(actor, tree, Request(line)).body["reply"])
    assert f"not passed through: [{b}]" in reply and c not in reply and '"oil"' in reply


def test_a_hub_is_shown_and_passed_through_only_when_asked(
    say: Say, actor: Actor, tree: Tree, owner: User, client: Client
) -> None:
    client.force_login(owner)
    a, hub = say('respond root "a"'), say('respond root "hub"')
    say(f"link {a} to {hub} as:uses")
    for number in range(HUB):
        far = say(f'respond root "far {number}"')
        say(f"link {far} to {hub} as:uses")
    data, page = graph(client, tree, node=a)
    assert [entry["item"] for entry in data["nodes"]] == [a, hub]
    assert f'data-through="{hub}"' in page
    data, _ = graph(client, tree, node=a, through=hub)
    assert len(data["nodes"]) == HUB + 2
    reply = str(execute_line(actor, tree, Request(f"graph {a}")).body["reply"])
    assert f"not passed through: [{hub}]" in reply
    assert (
        client.get(f"/api/trees/{tree.uid}/nodes/{a}/graph", {"through": hub, "depth": "2"})
        .json()["nodes"][-1]["words"]
        .startswith("far")
    )


def test_nobody_sees_in_a_graph_what_they_may_not_read(two_groves: TwoGroves) -> None:
    left, near = two_groves.left, two_groves.left.text.local_id
    left.run(two_groves.both, f"link {near} to {two_groves.far} as:supports")
    for user, many in ((two_groves.both, 2), (two_groves.only_left, 1)):
        data, page = graph(two_groves.client(user), left.tree, node=near)
        assert len(data["nodes"]) == many
        assert (SECRET[:20] in page) == (many == 2)
    stranger = two_groves.client(two_groves.only_right)
    assert stranger.get(f"/trees/{left.tree.uid}/graph?node={near}").status_code == 404
