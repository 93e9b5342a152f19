"""Siblings are in one order everywhere: that in which they were begun, however they end."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from loom.access import Actor, get_actor, workspace_of
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, Participant, User
from loom.reading.queries.margins import margins_of
from loom.transfer.selection import ExportSelection, select
from loom.transfer.writers import heddle as heddle_writer
from loom.trees.models import Node, Tree
from loom.trees.queries import event_log, lookup
from loom.trees.queries.around import Spot
from loom.trees.queries.outline import outline
from loom.trees.queries.trees import skeleton
from loom.turns import generation_lifecycle
from loom.turns.models import Generation
from tests.patience import PATIENCE_S
from tests.web.conftest import Visitor

ROOT = Path(__file__).parents[2]
# From stdin the columns before the candidates came, the events since, and the columns now: the
# words of the siblings as the page keeps them, as its outline and as its map draw them.
DRAWN = """
import { readFileSync } from "node:fs";
const from = (name) => import(`${process.argv[1]}/${name}.js`);
const { TreeStore } = await from("tree/store");
const { rowsOf } = await from("tree/outline");
const { layout } = await from("map/layout");
const { parentsOf, slotsShown, swapsOf } = await from("map/scene");
const { storeAt } = await from("tree/past");
const { before, events, now } = JSON.parse(readFileSync(0, "utf8"));
const kept = new TreeStore(before);
for (const event of events) kept.apply(event);
const mapped = (store, foldFrom) => {
  const slots = slotsShown(store, null);
  const { kept, rows } = layout(parentsOf(store, slots), foldFrom, swapsOf(store, slots));
  return [...kept.slice(rows[1], rows[2])].map((place) => store.ids[slots[place]]);
};
const fresh = new TreeStore(now);
const was = storeAt(fresh, { seq: 1, last: fresh.ids.at(-1), flags: [] });
const found = [kept, fresh, was].flatMap((store) => [
  store.childrenOf(0).map((slot) => store.ids[slot]),
  rowsOf(store, () => false).map((row) => store.ids[row.slot]),
  mapped(store), mapped(store, 0),
]);
console.log(JSON.stringify(found));
"""


def begun(actor: Actor, tree: Tree) -> list[str]:
    """Two candidates are asked for, one text is typed, one more is asked for; they end the other
    way round, while another text is typed. The ids of the five in the order of their beginning."""

    def say(line: str) -> Any:
        return execute_line(actor, tree, Request(line)).body

    one, two = say("continue from root n:2")["generations"]
    typed = say('respond root "typed"')["refs"][0]
    (three,) = say("continue from root n:1")["generations"]
    late = _ended(three, "three"), _ended(two, "two")
    last = say('respond root "typed last"')["refs"][0]
    return [_ended(one, "one"), late[1], typed, late[0], last]


def _ended(uid: str, text: str) -> str:
    lease = Generation.objects.get(uid=uid).lease
    node = generation_lifecycle.end_generation(
        uid, lease=lease, text=text, chunk=1, finish="complete"
    )
    assert node is not None
    return node.local_id


def test_an_export_in_our_own_format_keeps_the_order(
    owner: User, grove: Grove, tree: Tree, muse: Participant
) -> None:
    actor = get_actor(owner, grove)
    expected = begun(actor, tree)
    whole = json.loads(b"".join(heddle_writer.pieces(actor, tree)))
    listed = [node["id"] for node in whole["nodes"]]
    assert [local_id for local_id in listed if local_id in expected] == expected
    assert listed[0] == lookup.root_of(tree).local_id


def test_siblings_are_in_one_order_everywhere(
    owner: User, grove: Grove, tree: Tree, muse: Participant, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    before = skeleton(actor, tree)
    expected = begun(actor, tree)
    root = lookup.root_of(tree)
    nodes = {node.local_id: node for node in Node.objects.filter(tree=tree)}
    assert sorted(expected, key=lambda name: nodes[name].pk) != expected
    names = {node.pk: node.local_id for node in nodes.values()}

    listed = execute_line(actor, tree, Request("list root continuations")).body["refs"]
    drawn = outline(actor, tree, workspace_of(actor.participant, tree), root).lines
    page = visitor(owner).get(f"/trees/{tree.uid}/weave?node={root.local_id}").content.decode()
    cards = re.findall(r'<article class="card[^>]*data-id="(\w+)"', page)
    spots = [Spot(node.pk, node.slot_id) for node in nodes.values() if node.depth]
    margins = margins_of(tree, spots)
    exported = select(ExportSelection(actor, tree, None)).below[root.pk]
    moment = event_log.moment(actor, tree, skeleton(actor, tree)["seq"])
    seen = event_log.past_path(actor, tree, None, at=moment, node=root).below
    orders = {
        "list": listed,
        "outline": [line.row.local_id for line in drawn[1:]],
        "wheel": cards,
        "numbers": sorted(expected, key=lambda name: margins[nodes[name].pk].place),
        "export": [names[slot] for slot in exported],
        "past": [row.local_id for row in seen],
    }
    assert orders == dict.fromkeys(orders, expected)
    for place, name in enumerate(expected[1:-1], 1):
        beside = margins[nodes[name].pk]
        assert (beside.before, beside.after) == (expected[place - 1], expected[place + 1])

    events = event_log.events_since(actor, f"tree:{tree.uid}", since=before["seq"])["events"]
    for order in _in_the_page({"before": before, "events": events, "now": skeleton(actor, tree)}):
        assert order == expected


def _in_the_page(columns: object) -> list[list[str]]:
    node = shutil.which("node")
    assert node, "Node.js is needed, as for script/build.mjs"
    ran = subprocess.run(
        [node, "--input-type=module", "-e", DRAWN, str(ROOT / "static/src/js")],
        input=json.dumps(columns),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    orders: list[list[str]] = json.loads(ran.stdout)
    assert len(orders) == 12
    return orders


def test_a_candidate_keeps_its_key_when_it_ends(
    owner: User, grove: Grove, tree: Tree, muse: Participant, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    root = lookup.root_of(tree).local_id
    asked = execute_line(actor, tree, Request("continue from root n:3")).body["generations"]
    client = visitor(owner)

    def keys() -> list[tuple[str, bool]]:
        page = client.get(f"/trees/{tree.uid}/weave?node={root}").content.decode()
        cards = re.findall(r'<article class="card([^>]*)>', page)
        return [(re.findall(r'data-key="(\d)"', card)[0], "coming" in card) for card in cards]

    assert keys() == [("1", True), ("2", True), ("3", True)]
    third = _ended(asked[2], "third")
    assert keys() == [("1", True), ("2", True), ("3", False)]
    first = _ended(asked[0], "first")
    second = _ended(asked[1], "second")
    assert keys() == [("1", False), ("2", False), ("3", False)]
    listed = execute_line(actor, tree, Request("list root continuations")).body["refs"]
    assert listed == [first, second, third]


@pytest.mark.parametrize("after", [None, 0, 7])
def test_a_candidate_of_old_is_where_it_was_added(after: int | None) -> None:
    from loom.language.ids import place_asked, place_of

    place = place_asked(after, 5)
    assert (place is None) == (after is None)
    if place is not None:
        assert place_of(after or 0, None) < place < place_of((after or 0) + 1, None)
