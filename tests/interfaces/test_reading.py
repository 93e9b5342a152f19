"""Reading a tree over the API."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from loom.access import Actor
from loom.people.models import User
from loom.text import hashes
from loom.trees.commands import node_writer
from loom.trees.models import Tree, VersionChoice
from loom.trees.queries.lookup import root_of
from tests.queries.growing import add, chain, flag, version
from tests.rows_read import work_done
from tests.triggers import triggers_aside

Client = Callable[..., APIClient]


def _get(client: APIClient, tree: Tree, rest: str, **options: Any) -> Any:
    answer = client.get(f"/api/trees/{tree.uid}/{rest}", **options)
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)


def _refused(client: APIClient, tree: Tree, rest: str) -> tuple[int, str]:
    answer = client.get(f"/api/trees/{tree.uid}/{rest}")
    body = json.loads(answer.content)
    assert body["ok"] is False and body["message"], body
    return answer.status_code, body["code"]


def test_a_node_is_shown_in_full(actor: Actor, tree: Tree, reader: User, api: Client) -> None:
    a, b = chain(tree, actor.participant, "  keep \r\n ü", "b")
    body = _get(api(reader), tree, f"nodes/{a.local_id.upper()}?descendants=1")
    assert body["text"] == "  keep \r\n ü"
    assert body["counts"] == {
        "children": 1,
        "annotations": 0,
        "links": 0,
        "versions": 1,
        "descendants": 1,
    }
    assert hashes.sha256(body["proof"]) == body["hash"]
    assert "descendants" not in _get(api(reader), tree, f"nodes/{b.local_id}")["counts"]


@pytest.mark.parametrize("method", ["patch", "put", "delete", "post"])
def test_a_node_is_never_written(
    actor: Actor, tree: Tree, owner: User, api: Client, method: str
) -> None:
    (a,) = chain(tree, actor.participant, "a")
    address = f"/api/trees/{tree.uid}/nodes/{a.local_id}"
    answer = getattr(api(owner), method)(address, {"text": "b"}, format="json")
    assert answer.status_code == 405
    assert answer.json()["code"] == "INVALID_SYNTAX"


def test_the_path_is_the_readers_own(
    actor: Actor, tree: Tree, owner: User, reader: User, api: Client
) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    second = version(actor.participant, a, "a second")
    workspace = node_writer.workspace_of(actor.participant, tree)
    VersionChoice.objects.create(workspace=workspace, slot=a, node=a)
    workspace.position = b
    workspace.save()
    own = _get(api(owner), tree, "path")
    assert [node["id"] for node in own["nodes"]][1:] == [a.local_id, b.local_id]
    assert own["nodes"][0]["parent"] is None
    other = _get(api(reader), tree, f"path?node={b.local_id}")
    assert [node["id"] for node in other["nodes"]][1:] == [second.local_id, b.local_id]
    assert other["versions"][a.local_id] == second.local_id
    assert other["versions"][b.local_id] == b.local_id
    assert len(_get(api(reader), tree, "path")["nodes"]) == 1


def test_a_pruned_node_is_read_only_when_named(
    actor: Actor, tree: Tree, owner: User, api: Client
) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    workspace = node_writer.workspace_of(actor.participant, tree)
    workspace.position = b
    workspace.save()
    flag(b, pruned=True)
    assert [node["id"] for node in _get(api(owner), tree, "path")["nodes"]][1:] == [a.local_id]
    named = _get(api(owner), tree, f"path?node={b.local_id}")["nodes"]
    assert [node["id"] for node in named][1:] == [a.local_id, b.local_id]
    assert named[-1]["pruned"]


def test_a_deep_path_is_read_in_pieces(
    actor: Actor, tree: Tree, owner: User, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = chain(tree, actor.participant, *(f"ü{number}" for number in range(7)))
    flag(nodes[2], pruned=True)
    whole = _get(api(owner), tree, f"path?node={nodes[-1].local_id}")
    assert [node["hidden"] for node in whole["nodes"]] == [False] * 4 + [True] * 4
    monkeypatch.setattr("loom.reading.api.nodes.DEEP", 3)
    monkeypatch.setattr("loom.reading.api.nodes._BATCH", 3)
    address = f"path?node={nodes[-1].local_id}"
    assert _get(api(owner), tree, address) == whole
    answer = api(owner).get(
        f"/api/trees/{tree.uid}/{address}", headers={"Accept-Encoding": "br, gzip"}
    )
    assert answer["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.content)) == whole


def test_a_path_is_read_from_its_end_in_parts(
    actor: Actor, tree: Tree, owner: User, api: Client
) -> None:
    nodes = chain(tree, actor.participant, *"abcdefg")
    flag(nodes[2], pruned=True)
    whole = _get(api(owner), tree, f"path?node={nodes[-1].local_id}")["nodes"]
    end, parts = nodes[-1].local_id, list[Any]()
    while end:
        part = _get(api(owner), tree, f"path?node={end}&limit=3")
        assert list(part["versions"].values()) == [node["id"] for node in part["nodes"]]
        parts = part["nodes"] + parts
        end = part["nodes"][0]["parent"]
    assert parts == whole
    assert _refused(api(owner), tree, "path?limit=1001") == (429, "LIMIT_EXCEEDED")


def test_a_part_of_a_path_reads_no_more_rows_of_a_longer_one(
    actor: Actor, tree: Tree, owner: User, api: Client
) -> None:
    nodes = chain(tree, actor.participant, *(f"{number}" for number in range(60)))
    client, work = api(owner), []
    for node in (nodes[10], nodes[10], nodes[-1]):  # once, so that caches are filled
        with work_done() as done:
            _get(client, tree, f"path?node={node.local_id}&limit=5")
        work.append(done)
    work[2].demand_no_more(work[1], rows=0)


def test_all_nodes_come_in_pages(actor: Actor, tree: Tree, reader: User, api: Client) -> None:
    chain(tree, actor.participant, "a", "b", "c")
    seen: list[str] = []
    address = "nodes?limit=3"
    while True:
        page = _get(api(reader), tree, address)
        seen += [row["id"] for row in page["results"]]
        if page["next"] is None:
            break
        address = f"nodes?limit=3&after={page['next']}"
    assert len(seen) == len(set(seen)) == page["count"] == 4


def test_the_skeleton_is_compressed_and_known_again(
    actor: Actor, tree: Tree, reader: User, api: Client
) -> None:
    chain(tree, actor.participant, "a")
    client, address = api(reader), f"/api/trees/{tree.uid}/skeleton"
    plain = _get(client, tree, "skeleton")
    answer = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert json.loads(gzip.decompress(answer.content)) == plain
    etag = answer["ETag"]
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304
    add(tree, actor.participant, "b", None)
    again = client.get(address, headers={"If-None-Match": etag})
    assert again.status_code == 200
    assert len(again.json()["ids"]) == 3


def test_events_are_read_from_a_cursor(actor: Actor, tree: Tree, reader: User, api: Client) -> None:
    chain(tree, actor.participant, "a", "b")
    body = _get(api(reader), tree, "events?since=1&limit=2")
    assert [event["seq"] for event in body["events"]] == [2, 3]
    assert body["head"] == 4


def test_a_tree_a_path_and_a_node_verify(
    actor: Actor, tree: Tree, reader: User, api: Client
) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    assert _get(api(reader), tree, "verify") == {
        "status": "valid",
        "checked": 3,
        "imported": 0,
        "calls": 0,
        "broken_calls": [],
        "broken": [],
        "later_versions": [],
    }
    with triggers_aside(connection):
        flag(a, text="A")  # type: ignore[arg-type]
    assert _get(api(reader), tree, f"verify?path={b.local_id}")["status"] == "invalid"
    assert _get(api(reader), tree, f"verify?node={b.local_id}")["status"] == "invalid"


@pytest.mark.parametrize(
    ("rest", "status", "code"),
    [
        ("nodes?limit=0", 400, "INVALID_SYNTAX"),
        ("nodes?limit=x", 400, "INVALID_SYNTAX"),
        ("nodes?limit=1001", 429, "LIMIT_EXCEEDED"),
        ("nodes?after=-1", 400, "INVALID_SYNTAX"),
        ("nodes?after=99999999999999999999999", 400, "INVALID_SYNTAX"),
        ("nodes?after=٣", 400, "INVALID_SYNTAX"),
        ("nodes/a2a2", 404, "NOT_FOUND"),
        ("nodes/%00", 404, "NOT_FOUND"),
        ("nodes/ünknown", 404, "NOT_FOUND"),
        ("path?node=a2a2", 404, "NOT_FOUND"),
        ("path?node=%00", 404, "NOT_FOUND"),
        ("events?since=now", 400, "INVALID_SYNTAX"),
        ("events?limit=1001", 429, "LIMIT_EXCEEDED"),
        ("verify?node=a2a2", 404, "NOT_FOUND"),
        ("verify?claim=a2a2", 404, "NOT_FOUND"),
    ],
)
def test_what_cannot_be_read_is_refused(
    tree: Tree, reader: User, api: Client, rest: str, status: int, code: str
) -> None:
    assert _refused(api(reader), tree, rest) == (status, code)


@pytest.mark.parametrize("rest", ["nodes", "nodes/a2a2", "path", "skeleton", "events", "verify"])
def test_outsiders_learn_nothing_and_strangers_are_asked_to_sign_in(
    tree: Tree, outsider: User, api: Client, rest: str
) -> None:
    assert _refused(api(outsider), tree, rest) == (404, "NOT_FOUND")
    assert _refused(api(), tree, rest) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize("uid", ["nothing", "%00", "ü", "a'b"])
def test_an_unknown_tree_is_not_found(reader: User, api: Client, uid: str) -> None:
    answer = api(reader).get(f"/api/trees/{uid}/nodes")
    assert answer.status_code == 404
    assert json.loads(answer.content)["code"] == "NOT_FOUND"


def test_many_descendants_are_counted_to_a_bound(
    actor: Actor, tree: Tree, reader: User, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loom.reading.queries.node_bodies.MOST_DESCENDANTS", 3)
    nodes = chain(tree, actor.participant, *"abcdef")
    for place, expected in ((0, (3, True)), (2, (3, None)), (4, (1, None))):
        asked = f"nodes/{nodes[place].local_id}?descendants=1"
        counts = _get(api(reader), tree, asked)["counts"]
        assert (counts["descendants"], counts.get("is_more")) == expected


@pytest.mark.django_db
def test_the_root_is_named_in_addresses_as_in_lines(api: Client, owner: User, tree: Tree) -> None:
    client, root = api(owner), root_of(tree).local_id
    home = f"/api/trees/{tree.uid}"
    for name in ("root", "Root"):
        assert client.get(f"{home}/nodes/{name}").json()["id"] == root
        assert client.get(f"{home}/export?format=text&node={name}").status_code == 200
    assert client.get(f"{home}/nodes/{name}/provenance").status_code == 200
    assert client.get(f"{home}/nodes/{name}/graph").status_code == 200
    assert client.get(f"{home}/nodes/rooted").status_code == 404
    workspace = client.get(f"/api/workspaces?tree={tree.uid}").json()["id"]
    sent = {"kind": "buffer", "text": "a"}
    kept = client.put(f"/api/workspaces/{workspace}/drafts/root", sent, format="json")
    assert kept.json()["slot"] == root
