"""The skeleton of a big tree in tiles is the skeleton."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from loom.trees.queries import skeleton_tiles
from loom.trees.queries.trees import skeleton
from tests.patience import PATIENCE_S
from tests.queries.growing import add, chain, flag, plant, version
from tests.queries.plans import recorded
from tests.rows_read import work_done

ROOT = Path(__file__).resolve().parents[2]
JOIN = """
import { readFileSync } from "node:fs";
const { joined } = await import(process.argv[1]);
const { head, tiles } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(joined(head, tiles)));
"""


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeleton_tiles, "TILE", 4)
    monkeypatch.setattr(skeleton_tiles, "TILED", 4)


def _joined(head: dict[str, Any], tiles: list[dict[str, Any]]) -> dict[str, Any]:
    node = shutil.which("node")
    assert node, "Node.js is needed, as for script/build.mjs"
    ran = subprocess.run(
        [node, "--input-type=module", "-e", JOIN, str(ROOT / "static/src/js/tree/tiles.js")],
        input=json.dumps({"head": head, "tiles": tiles}),
        capture_output=True, text=True, check=True, timeout=PATIENCE_S,
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def _read(client: Any, tree: Tree) -> dict[str, Any]:
    address = f"/api/trees/{tree.uid}/skeleton"
    head = client.get(f"{address}?tiles=1").json()
    tiles = [client.get(f"{address}/{at}").json() for at in range(head["tiles"])]
    return _joined(head, tiles)


def test_the_tiles_joined_are_the_skeleton(
    actor: Actor, tree: Tree, muse: Participant, owner: User, api: Any
) -> None:
    a, b = chain(tree, actor.participant, "a text", "b→")
    c = add(tree, muse, "from the model", a)
    b2 = version(actor.participant, b, "b second")
    add(tree, actor.participant, "note", b2, kind="annotation", form="note")
    late = add(tree, muse, "late", a)
    Node.objects.filter(pk=late.pk).update(place=1)  # before those that were added earlier
    for text in "defgh":
        add(tree, actor.participant, text, c)
    flag(b, excluded=True)
    flag(c, pruned=True)
    flag(b2, version_pruned=True)
    named = tree.nodes.get(text="d").local_id
    execute_line(actor, tree, Request(f"restore {c.local_id}"))
    execute_line(actor, tree, Request(f"split {a.local_id} at:1"))
    execute_line(actor, tree, Request(f"exclude {named}"))
    assert _read(api(owner), tree) == json.loads(json.dumps(skeleton(actor, tree)))


def test_a_tree_of_one_tile_comes_with_its_head(
    actor: Actor, tree: Tree, owner: User, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeleton_tiles, "TILE", 64)
    nodes = plant(tree, actor.participant, [-1, 0, 0, 1, 3, 1])
    flag(nodes[4], pruned=True)
    head = api(owner).get(f"/api/trees/{tree.uid}/skeleton?tiles=1").json()
    assert head["tiles"] == 1
    assert _joined(head, [head["tile"]]) == json.loads(json.dumps(skeleton(actor, tree)))


def test_gaps_between_ordinals_do_no_harm(actor: Actor, tree: Tree, owner: User, api: Any) -> None:
    nodes = plant(tree, actor.participant, [-1] * 12)
    Node.objects.filter(pk=nodes[4].pk)._raw_delete("default")
    assert _read(api(owner), tree) == json.loads(json.dumps(skeleton(actor, tree)))


def test_a_full_tile_is_kept_and_known_again(
    actor: Actor, tree: Tree, owner: User, api: Any
) -> None:
    plant(tree, actor.participant, [-1] * 12)
    address = f"/api/trees/{tree.uid}/skeleton"
    client = api(owner)
    full, last = (client.get(f"{address}/{at}") for at in (1, 3))
    assert cache.get(f"skeleton:{tree.uid}:1") is not None
    assert cache.get(f"skeleton:{tree.uid}:3") is None
    add(tree, actor.participant, "more", None)
    for at, before, status in ((1, full, 304), (3, last, 200)):
        again = client.get(f"{address}/{at}", headers={"If-None-Match": before["ETag"]})
        assert again.status_code == status


def test_tiles_are_shown_to_members_only(
    actor: Actor, tree: Tree, outsider: User, api: Any
) -> None:
    plant(tree, actor.participant, [-1] * 12)
    for rest in ("?tiles=1", "/0", "/1"):
        assert api(outsider).get(f"/api/trees/{tree.uid}/skeleton{rest}").status_code == 404


def test_the_head_reads_what_is_flagged_and_no_more(actor: Actor) -> None:
    works = []
    for size in (300, 3_000):
        tree = trees.new_tree(actor, title=f"{size} texts")
        plant(tree, actor.participant, [-1] * size, pruned=range(5))
        with work_done() as work:
            skeleton_tiles.head_of_tiles(actor, tree, 1)
        works.append(work)
    works[1].demand_no_more(works[0], rows=0)


def test_the_plans_of_tiles_scan_nothing(actor: Actor, tree: Tree) -> None:
    plant(tree, actor.participant, [-1] * 300, pruned=range(5))
    with recorded() as queries:
        skeleton_tiles.head_of_tiles(actor, tree, 1)
        skeleton_tiles.tile_of(actor, tree, 2)
    queries.demand_no_faults()
