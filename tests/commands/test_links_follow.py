"""Links belong to the place: later wordings have them, marked when the words changed; their lists
and counts are honest and cost the same however many there are."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.db.migrations import RunSQL
from django.test import Client
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.items import make_items
from loom.errors import CommandError
from loom.language import ids
from loom.links.commands.counting import recount
from loom.links.foot import portals_of
from loom.links.models import Link, LinkCount
from loom.people.models import User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say
from tests.rows_read import work_done
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def _foot(actor: Actor, local_id: str) -> dict[str, int]:
    node = Node.objects.get(local_id=local_id)
    portals = portals_of(actor, {node.pk: node.slot_id}).get(node.pk, ())
    return {portal.type: portal.many for portal in portals}


def test_a_later_wording_has_the_links_and_says_on_which_they_were_made(
    say: Say, write: Write, actor: Actor
) -> None:
    a, b = write("a"), write("b")
    say(f"link {a} to {b} as:supports")
    newer = say(f'edit {a} "a, better" as:version').body["refs"][0]
    assert say(f"list {newer} links").reply.endswith(
        f'──[supports]──→ [{b}] "b" · on [{a}], since changed'
    )
    assert say(f"list {a} links").reply.endswith(f'──[supports]──→ [{b}] "b"')
    assert f'[{a}] "a" · now [{newer}]' in say(f"list {b} supported_by").reply
    assert _foot(actor, newer) == _foot(actor, a) == {"supports": 1}
    assert "1 link" in say(f"view {newer}").reply


def test_the_words_that_a_link_stands_on_are_no_change_while_they_are_there(
    say: Say, write: Write
) -> None:
    a, b = write("the kestrel sleeps"), write("b")
    say(f'link {a} to {b} as:supports on:"kestrel"')
    kept = say(f'edit {a} "a kestrel wakes" as:version').body["refs"][0]
    assert "since changed" not in say(f"list {kept} links").reply
    lost = say(f'edit {kept} "an owl wakes" as:version').body["refs"][0]
    assert f"on [{a}], since changed" in say(f"list {lost} links").reply


def test_words_that_are_not_in_the_source_are_refused(
    write: Write, owner: User, tree: Tree
) -> None:
    a, b = write("a"), write("b")
    client = APIClient()
    client.force_login(owner)
    line = {"line": f'link {a} to {b} on:"kestrel"'}
    refused = client.post(f"/api/trees/{tree.uid}/commands", line, format="json").json()
    assert refused["code"] == "REJECTED" and "kestrel" in refused["message"]


def test_pruned_and_erased_ends_are_named_in_the_same_words(
    say: Say, write: Write, client: Client, owner: User, tree: Tree
) -> None:
    a, b = write("a"), write("b")
    say(f"link {a} to {b} as:supports")
    say(f"prune {b}")
    assert say(f"list {a} links").reply.endswith(f'[{b}] "b" · pruned')
    client.force_login(owner)
    opened = client.get(f"/trees/{tree.uid}/nodes/{a}/portal?type=supports").content.decode()
    assert '<span class="flag">pruned</span>' in opened


def test_the_foot_says_what_became_of_its_only_end_and_counts_what_list_shows(
    say: Say, write: Write, actor: Actor, tree: Tree, client: Client, owner: User
) -> None:
    other = trees.new_tree(actor, title="Doomed")
    a, b = write("a"), write("b")
    far = write("far words", into=other)
    near = write("near words", into=other)
    say(f"link {a} to tree:{other.uid} node:{far} as:extends")
    say(f"link {a} to {b} as:supports")
    say(f"link {near} to tree:{tree.uid} node:{a} as:uses", into=other)
    say(f"prune {b}")
    say(f"switch to {a}")
    foot = say("memory").reply
    assert f"▶ [supports] ──→ [{b}] · pruned" in foot and f"[extends] ──→ [{far}]" in foot
    trees.change_tree(actor, other, {"archived": True})
    trees.erase(actor, Tree.objects.get(pk=other.pk), "Doomed")
    assert set(say(f"list {a}").reply.partition(": ")[2].split(" · ")) == {
        "extends 1 (erased)",
        "supports 1 (pruned)",
    }
    assert say(f"list {a} extends").reply.endswith("1 [extends] link:\n  ──[extends]──→ erased")
    assert "→ 0 items\n  not opened: erased" in say(f"expand extends of {a}").reply
    say(f"switch to {a}")
    assert "▶ [extends] ──→ erased" in say("memory").reply
    client.force_login(owner)
    foot = client.get(f"/trees/{tree.uid}/nodes/{a}/portals").content.decode()
    assert "[extends] ──→ erased" in foot and f"[supports] ──→ [{b}] · pruned" in foot
    assert far not in foot
    counts = client.get(f"/api/trees/{tree.uid}/nodes/{a}").json()["counts"]
    assert counts["links"] == 2


def test_counts_follow_link_unlink_and_undo(say: Say, write: Write, actor: Actor) -> None:
    a, b, c = write("a"), write("b"), write("c")
    say(f"link {a} to {b} as:supports")
    say(f"link {a} to {c} as:supports")
    assert _foot(actor, a) == {"supports": 2}
    say(f"unlink {a} to {c} as:supports")
    node = Node.objects.get(local_id=a)
    (portal,) = portals_of(actor, {node.pk: node.slot_id})[node.pk]
    assert (portal.many, portal.only) == (1, b)  # the one that is left is named
    say("undo")
    assert _foot(actor, a) == {"supports": 2} and _foot(actor, c) == {"supported_by": 1}
    _demand_counted()


def _demand_counted() -> None:
    """The counts that were kept are those that all links give."""
    fields = ("slot", "type", "outward", "home", "count", "targets", "pruned")
    kept = set(LinkCount.objects.values_list(*fields))
    recount()
    assert {row for row in kept if row[4]} == set(LinkCount.objects.values_list(*fields))


def test_pruned_and_erased_ends_among_several_are_counted_in_the_same_words(
    say: Say, write: Write, actor: Actor, tree: Tree, client: Client, owner: User
) -> None:
    other = trees.new_tree(actor, title="Doomed")
    a, b, c = write("a"), write("b"), write("c")
    far = write("far words", into=other)
    for end in (b, c, f"tree:{other.uid} node:{far}"):
        say(f"link {a} to {end} as:supports")
    say(f'edit {c} "C" as:version')
    say(f"prune {b}")
    say(f"prune {c} version")
    say(f"switch to {a}")
    assert "▶ [supports] ──→ 3 nodes · 2 pruned" in say("memory").reply
    assert say(f"list {a}").reply.endswith("links: supports 3 (2 pruned)")
    _demand_counted()
    say(f"restore {c} version")
    assert "supports 3 (1 pruned)" in say(f"list {a}").reply
    say("undo")
    assert "supports 3 (2 pruned)" in say(f"list {a}").reply
    say(f"prune {c}")  # both for the wording and for the place: counted once
    assert "supports 3 (2 pruned)" in say(f"list {a}").reply
    say(f"unlink {a} to {b} as:supports")
    assert "supports 2 (1 pruned)" in say(f"list {a}").reply
    say("undo")
    trees.change_tree(actor, other, {"archived": True})
    trees.erase(actor, Tree.objects.get(pk=other.pk), "Doomed")
    assert "supports 3 (2 pruned, 1 erased)" in say(f"list {a}").reply
    client.force_login(owner)
    foot = client.get(f"/trees/{tree.uid}/nodes/{a}/portals").content.decode()
    assert "[supports] ──→ 3 nodes · 2 pruned · 1 erased" in foot
    page = client.get(f"/trees/{tree.uid}?node={a}").content.decode()
    assert "[supports] ──→ 3 nodes · 2 pruned · 1 erased" in page
    opened = client.get(f"/trees/{tree.uid}/nodes/{a}/portal?type=supports").content.decode()
    assert opened.count(">pruned</span>") == 2 and opened.count(">erased</span>") == 1
    assert "far words" not in opened
    # The graph names them in the same words.
    lines = say(f"graph {a}").reply.split("\n")
    assert any(line.endswith(f'──→ [{b}] · pruned "b"') for line in lines), lines
    assert any(line.endswith("──→ erased") for line in lines), lines
    body = client.get(f"/api/trees/{tree.uid}/nodes/{a}/graph").json()
    states = {entry["item"]: entry["state"] for entry in body["nodes"]}
    assert states == {a: "", b: "pruned", c: "pruned", "erased": "erased"}
    page = client.get(f"/trees/{tree.uid}/graph?node={a}").content.decode()
    rows = client.get(f"/api/links?tree={tree.uid}&node={a}").json()["results"]
    assert [row["target_state"] for row in rows] == ["pruned", "pruned", "erased"]
    assert '<span class="flag">erased</span>' in page and page.count(">pruned</span>") == 2


def test_a_link_is_one_whatever_the_wording_it_is_named_by(
    say: Say, write: Write, client: Client, owner: User, tree: Tree
) -> None:
    a, b = write("The lamp is lit."), write("b")
    say(f'link {a} to {b} as:supports on:"lit" confidence:0.7')
    newer = str(say(f'edit {a} "The lamp is out." as:version').body["refs"][0])
    with pytest.raises(CommandError, match="already have this link"):
        say(f"link {newer} to {b} as:supports")
    client.force_login(owner)
    opened = client.get(f"/trees/{tree.uid}/nodes/{newer}/portal?type=supports").content.decode()
    assert f"made on [{a}], changed since" in opened and "confidence 0.7" in opened
    assert say(f"unlink {newer} to {b}").reply == f"✓ unlinked [{newer}] ──[supports]──→ [{b}]"
    assert "supports" not in say(f"list {newer}").reply
    say("undo")
    assert "supports 1" in say(f"list {newer}").reply
    say(f"link {a} to {b} as:related")
    assert say(f"unlink {b} to {newer} as:related").reply  # symmetric, from the other side


def _many(actor: Actor, tree: Tree, node: Node, number: int) -> None:
    """Links that many texts support a node, as rows."""
    make_items([ids.of_tree(tree.pk)])
    rows = [
        Link(
            tree=tree,
            type="supports",
            source_id=ids.of_tree(tree.pk),
            target_id=node.pk,
            by=actor.participant,
            at=node.created_at,
            uid=f"{node.local_id}{at}",
        )
        for at in range(number)
    ]
    Link.objects.bulk_create(rows)
    recount()


def test_ten_thousand_links_do_not_slow_the_foot_or_a_list(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    a, b, c = write("a"), write("b"), write("c")
    few, many = Node.objects.get(local_id=a), Node.objects.get(local_id=b)
    say(f"link {a} to {c} as:refutes")
    say(f"link {b} to {c} as:refutes")
    _many(actor, tree, few, 10)
    _many(actor, tree, many, 10_000)
    for node in (few, many):  # once, so that both are warm
        portals_of(actor, {node.pk: node.slot_id})
    with work_done() as small:
        assert _foot(actor, a) == {"refutes": 1, "supported_by": 10}
    with work_done() as large:
        assert _foot(actor, b) == {"refutes": 1, "supported_by": 10_000}
    large.demand_no_more(small, rows=0)
    with work_done() as listed:
        reply = say(f"list {b} supported_by").reply
    assert listed.rows < 1000
    assert reply.startswith(f"[{b}] → 10,000 [supported_by] links:")
    assert reply.endswith(f" … (9,950 more: → list {b} supported_by after:50)")
    last = say(f"list {b} supported_by after:9990").reply
    assert last.count("\n") == 10 and "more:" not in last


def test_a_long_list_of_texts_says_how_many_are_left(say: Say, write: Write) -> None:
    a = write("a")
    for at in range(53):
        write(f"below {at}", a)
    reply = say(f"list {a} continuations").reply
    assert reply.startswith(f"[{a}] → 53 continuations:")
    assert reply.endswith(f"] (3 more: → list {a} continuations after:50)")
    assert "below 52" in say(f"list {a} continuations after:50").reply


def test_what_somebody_may_not_read_is_not_counted(two_groves: TwoGroves) -> None:
    world = two_groves
    mine = world.left.text
    line = Request(f"link {mine.local_id} to {world.far} as:supports")
    execute_line(world.left.actor(world.both), world.left.tree, line)
    assert _foot(world.left.actor(world.both), mine.local_id) == {"supports": 1}
    assert _foot(world.left.actor(world.only_left), mine.local_id) == {}
    page = f"/trees/{world.left.tree.uid}/nodes/{mine.local_id}/portals"
    assert "supports" in world.client(world.both).get(page).content.decode()
    assert "supports" not in world.client(world.only_left).get(page).content.decode()
    body = world.client(world.only_left).get(
        f"/api/trees/{world.left.tree.uid}/nodes/{mine.local_id}"
    )
    assert body.json()["counts"]["links"] == 0
    graph: Any = world.client(world.only_left).get(
        f"/api/trees/{world.left.tree.uid}/nodes/{mine.local_id}/graph"
    )
    assert graph.json()["links"] == []


def test_a_portal_counts_each_item_once_however_many_links_lead_there(
    say: Say, write: Write, actor: Actor, tree: Tree, client: Client, owner: User, writer: User
) -> None:
    a, b, c = write("a"), write("b"), write("c")
    claim = say(f'claim "It is so" cite:{a}').body["refs"][0]
    say(f"link {a} to {b} as:supports")
    say(f'cite {a} for {claim} "second"', by=writer)
    say(f"link {c} to {claim} as:supports")
    client.force_login(owner)

    def foot(node: str) -> str:
        return client.get(f"/trees/{tree.uid}/nodes/{node}/portals").content.decode()

    assert "──→ 2 nodes" in foot(a) and "──→ 2 nodes" in foot(claim)
    assert "──→ 2 nodes" in client.get(f"/trees/{tree.uid}?node={a}").content.decode()
    inside = client.get(f"/trees/{tree.uid}/nodes/{a}/portal?type=supports").content.decode()
    assert inside.count("<section") == 2 and inside.count(f">[{claim}]<") == 1
    assert "second" in inside and "more" not in inside
    assert client.get(f"/api/trees/{tree.uid}/nodes/{a}").json()["counts"]["links"] == 3
    say(f"unlink {c} to {claim} as:supports")
    assert f"──→ [{a}]" in foot(claim)  # the only one is named, whose links are two
    _demand_counted()
    say("undo")
    say(f"prune {a}")
    assert "──→ 2 nodes · 1 pruned" in foot(claim)
    _demand_counted()


def test_the_migration_that_adds_targets_counts_what_is_there(
    say: Say, write: Write, writer: User
) -> None:
    a, b, c = write("a"), write("b"), write("c")
    claim = say(f'claim "It is so" cite:{a}').body["refs"][0]
    for line in (f"link {a} to {b} as:supports", f"link {a} to {c} as:supports", f"prune {c}"):
        say(line)
    say(f"cite {a} for {claim}", by=writer)
    LinkCount.objects.update(targets=0, pruned=0)
    migration = import_module("loom.links.migrations.0002_targets").Migration
    with connection.cursor() as cursor:
        for operation in migration.operations:
            if isinstance(operation, RunSQL):
                cursor.execute(str(operation.sql))
    assert LinkCount.objects.filter(targets=3, pruned=1).count() == 1
    _demand_counted()
