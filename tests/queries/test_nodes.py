"""Nodes as the API shows them."""

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from loom.access import Actor
from loom.engine.items import make_items
from loom.language import ids
from loom.links.commands.counting import recount
from loom.links.models import Link
from loom.notes.models import Mark
from loom.people.models import User
from loom.reading.queries.node_bodies import node_bodies
from loom.text import hashes
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import path_of, rows_of
from loom.trees.queries.node_bodies import event_body
from tests.conftest import join
from tests.machines.replay import events_of
from tests.queries.growing import add, chain, flag, fresh, version


def _body(actor: Actor, node: Node, **options: bool) -> dict[str, Any]:
    return node_bodies(actor, node.tree, rows_of([node.pk]), **options)[0]


def _mark(actor: Actor, node: Node, kind: str, label: str) -> Mark:
    make_items([node.pk])
    return Mark.objects.create(
        tree=node.tree,
        kind=kind,
        label=label,
        item_id=ids.of_node(node.pk),
        participant=actor.participant,
        at=timezone.now(),
    )


def _link(actor: Actor, source: Node, target: int) -> Link:
    make_items([source.pk, target])
    link = Link.objects.create(
        tree=source.tree,
        source_id=ids.of_node(source.pk),
        target_id=target,
        by=actor.participant,
        at=timezone.now(),
    )
    recount()
    return link


def test_the_body_has_every_field_of_the_contract(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a\r\n ü")
    body = _body(actor, a, descendants=True)
    assert set(body) >= set(
        """id tree kind form text content author parent slot versions edited_from sources
        created_at pruned excluded hidden sandbox resolved finish generation call summary counts
        bookmarks tags hash proof""".split()
    )
    assert body["text"] == "a\r\n ü"
    assert body["content"] == [{"type": "text", "text": "a\r\n ü"}]
    assert body["author"] == {
        "id": actor.participant.uid,
        "name": actor.participant.name,
        "kind": "human",
    }
    assert body["tree"] == tree.uid
    assert body["versions"] == [a.local_id]
    assert body["counts"] == {
        "children": 0,
        "annotations": 0,
        "links": 0,
        "versions": 1,
        "descendants": 0,
    }
    assert body["created_at"] == hashes.instant(a.created_at)
    assert (body["call"], body["generation"], body["edited_from"]) == (None, None, None)


def test_the_proof_gives_the_hash(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    second = version(actor.participant, b, "b second")
    for node in (a, b, second):
        body = _body(actor, node)
        assert hashes.sha256(body["proof"]) == body["hash"]
    assert _body(actor, second)["proof"]["edited_from"] == b.hash
    assert _body(actor, second)["proof"]["parent"] == a.hash


def test_the_root_has_no_parent(actor: Actor, tree: Tree) -> None:
    body = node_bodies(actor, tree, path_of(actor, tree, None))[0]
    assert body["parent"] is None
    assert body["proof"]["parent"] is None
    assert body["text"] == ""


def test_parent_and_slot_name_first_versions(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    a2 = version(actor.participant, a, "a second")
    b2 = version(actor.participant, b, "b second")
    body = _body(actor, b2)
    assert body["parent"] == a.local_id
    assert body["slot"] == b.local_id
    assert body["versions"] == [b.local_id, b2.local_id]
    assert body["edited_from"] == b.local_id
    assert _body(actor, a2)["counts"]["children"] == 1
    assert _body(actor, a2)["counts"]["versions"] == 2


def test_only_what_is_seen_below_is_counted(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    c = add(tree, actor.participant, "c", a)
    note = add(tree, actor.participant, "note", a, kind="annotation", form="note")
    version(actor.participant, note, "note, better")
    version(actor.participant, b, "b second")
    counts = _body(actor, a, descendants=True)["counts"]
    assert (counts["children"], counts["annotations"], counts["descendants"]) == (2, 1, 2)
    flag(c, pruned=True)
    flag(note, pruned=True)
    counts = _body(actor, a, descendants=True)["counts"]
    assert (counts["children"], counts["annotations"], counts["descendants"]) == (1, 0, 1)


def test_pruned_is_the_slot_or_the_version_hidden_is_above(actor: Actor, tree: Tree) -> None:
    a, b, c = chain(tree, actor.participant, "a", "b", "c")
    version(actor.participant, c, "c second")
    flag(b, pruned=True)
    flag(c, version_pruned=True)
    bodies = node_bodies(actor, tree, path_of(actor, tree, None, fresh(c)))
    assert [(body["pruned"], body["hidden"]) for body in bodies] == [
        (False, False),
        (False, False),
        (True, False),
        (True, True),
    ]
    assert not _body(actor, a)["hidden"]


def test_sources_are_written_as_references(actor: Actor, tree: Tree, buffer: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    (far,) = chain(buffer, actor.participant, "far")
    sources = (
        (ids.of_node(a.pk), "context", a.hash),
        (ids.of_node(far.pk), "instruction", far.hash),
        (ids.of_tree(buffer.pk), "primary", ""),
        (1, "context", ""),
    )
    merged = add(tree, actor.participant, "merged", b, sources=sources)
    assert _body(actor, merged)["sources"] == [
        {"item": a.local_id, "role": "context"},
        {"item": f"tree:{buffer.uid} node:{far.local_id}", "role": "instruction"},
        {"item": f"tree:{buffer.uid}", "role": "primary"},
        {"item": "erased", "role": "context"},
    ]


def test_marks_that_were_taken_off_are_not_shown(actor: Actor, tree: Tree) -> None:
    (a,) = chain(tree, actor.participant, "a")
    _mark(actor, a, "bookmark", "key point")
    _mark(actor, a, "tag", "Idea")
    _mark(actor, a, "read", "")
    gone = _mark(actor, a, "tag", "Old")
    gone.removed_at = timezone.now()
    gone.save()
    body = _body(actor, a)
    assert body["bookmarks"] == [{"label": "key point", "participant": actor.participant.uid}]
    assert body["tags"] == ["Idea"]


def test_links_count_where_the_other_end_may_be_seen(
    actor: Actor, tree: Tree, buffer: Tree, outsider: User
) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    (far,) = chain(buffer, actor.participant, "far")
    _link(actor, a, ids.of_node(b.pk))
    _link(actor, a, ids.of_node(far.pk))
    _link(actor, b, ids.of_tree(tree.pk))
    removed = _link(actor, a, ids.of_tree(tree.pk))
    removed.removed_at = timezone.now()
    removed.save()
    recount()
    assert _body(actor, a)["counts"]["links"] == 2
    assert _body(actor, b)["counts"]["links"] == 2
    assert _body(actor, far)["counts"]["links"] == 1
    elsewhere = outsider.memberships.get().grove
    Tree.objects.filter(pk=buffer.pk).update(grove=elsewhere)
    assert _body(actor, a)["counts"]["links"] == 1
    join(elsewhere, actor.user, "reader")
    assert _body(actor, a)["counts"]["links"] == 2


def test_a_batch_costs_as_many_queries_as_one_node(actor: Actor, tree: Tree) -> None:
    nodes = chain(tree, actor.participant, *(f"text {i}" for i in range(12)))
    for node in nodes:
        _mark(actor, node, "tag", "x")
        version(actor.participant, node, node.text + "!")
    _link(actor, nodes[0], ids.of_node(nodes[1].pk))
    flag(nodes[11], pruned=True)
    with CaptureQueriesContext(connection) as captured:
        node_bodies(actor, tree, path_of(actor, tree, None, fresh(nodes[0])))
    with CaptureQueriesContext(connection) as many:
        node_bodies(actor, tree, path_of(actor, tree, None, fresh(nodes[10])))
    assert len(many) <= len(captured) + 1  # one more node is read with `fresh` in each


def test_the_event_of_a_node_is_its_body_without_counts(actor: Actor, tree: Tree) -> None:
    a, b = chain(tree, actor.participant, "a", "b")
    source = ((ids.of_node(a.pk), "context", a.hash),)
    second = add(
        tree, actor.participant, "b second", a, slot=b, edited_from=b, sources=source, form="x"
    )
    (event,) = [
        event
        for event in events_of(tree)
        if event["payload"].get("node", {}).get("id") == second.local_id
    ]
    payload = event["payload"]["node"]
    body = _body(actor, second)
    del body["counts"]
    assert payload == body
    assert event_body(fresh(b)) == {
        **{key: value for key, value in _body(actor, b).items() if key != "counts"}
    }
