"""A worker killed in the middle of an import: nobody sees half a tree, and the next worker makes a
whole one."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import httpx
import pytest

from tests.kills.heddle import Heddle, until
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.kill
NODES = 20_000
HALF = "SELECT COUNT(*) FROM trees_node WHERE text LIKE 'killed text %'"
TREES = "SELECT COUNT(DISTINCT tree_id) FROM trees_node WHERE text LIKE 'killed text %'"


def _count(heddle: Heddle, what: str) -> int:
    address = f"file:{heddle.data / 'heddle.sqlite3'}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE_S)) as reader:
        return int(reader.execute(what).fetchone()[0])


def test_an_import_is_whole_or_not_there(heddle: Heddle, client: httpx.Client) -> None:
    before = client.get("/trees").json()["count"]
    children = [{"text": f"killed text {number} " * 20, "children": []} for number in range(NODES)]
    file = json.dumps({"text": "top", "children": children}).encode()
    uid = client.post("/import", files={"file": ("killed.json", file)}).json()["id"]
    until(lambda: _count(heddle, HALF), what="the first nodes")
    heddle.kill("celery")
    state = client.get(f"/imports/{uid}").json()
    assert (state["status"], state["tree"]) == ("running", None)
    assert 0 < _count(heddle, HALF) < NODES
    assert client.get("/trees").json()["count"] == before

    def done() -> dict[str, Any] | None:
        body = client.get(f"/imports/{uid}").json()
        assert body["status"] != "failed", body
        return dict(body) if body["status"] == "done" else None

    tree = until(done, what="the whole tree")["tree"]
    assert client.get("/trees").json()["count"] == before + 1
    assert client.get(f"/trees/{tree}").json()["node_count"] == NODES + 2
    until(lambda: _count(heddle, TREES) == 1, what="the half tree gone")
    assert _count(heddle, HALF) == NODES
