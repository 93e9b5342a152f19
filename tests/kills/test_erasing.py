"""A worker killed in the middle of erasing: the tree is gone from the first moment on, and
the next worker ends what was begun."""

import json
import sqlite3
from contextlib import closing

import httpx
import pytest

from tests.kills.heddle import Heddle, until
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.kill
NODES = 12_000


def _count(heddle: Heddle, what: str) -> int:
    address = f"file:{heddle.data / 'heddle.sqlite3'}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE_S)) as reader:
        return int(reader.execute(what).fetchone()[0])


def _import(client: httpx.Client) -> str:
    """A tree of many nodes, and its id."""
    children = [{"text": f"text {number} " * 20, "children": []} for number in range(NODES)]
    file = json.dumps({"text": "top", "children": children}).encode()
    uid = client.post("/import", files={"file": ("wide.json", file)}).json()["id"]

    def ready() -> str | None:
        state = client.get(f"/imports/{uid}").json()
        assert state["status"] != "failed", state
        return state["tree"] if state["status"] == "done" else None

    return str(until(ready, what="the import"))


def test_erasing_goes_on_after_the_worker_was_killed(heddle: Heddle, client: httpx.Client) -> None:
    tree = _import(client)
    row = _count(heddle, f"SELECT id FROM trees_tree WHERE uid = '{tree}'")
    left = f"SELECT COUNT(*) FROM trees_node WHERE tree_id = {row}"
    title = client.get(f"/trees/{tree}").json()["title"]
    client.patch(f"/trees/{tree}", json={"archived": True})
    assert client.request("DELETE", f"/trees/{tree}", json={"title": title}).status_code == 200
    assert client.get(f"/trees/{tree}").status_code == 404
    until(lambda: _count(heddle, left) < NODES, what="the first nodes gone")
    heddle.kill("celery")
    assert _count(heddle, left) > 0
    assert client.get(f"/trees/{tree}").status_code == 404
    gone = f"SELECT COUNT(*) = 0 FROM trees_tree WHERE uid = '{tree}'"
    until(lambda: _count(heddle, gone), what="the rest gone")
    assert _count(heddle, left) == 0
    grove = client.get("/groves").json()["results"][0]["id"]
    events = client.get(f"/groves/{grove}/events").json()["events"]
    erased = [event["payload"]["tree"] for event in events if event["kind"] == "tree.erased"]
    assert erased == [tree]
