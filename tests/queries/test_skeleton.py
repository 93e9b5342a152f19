"""A tree without its texts."""

from loom.access import Actor
from loom.people.models import Participant
from loom.trees.models import Tree
from loom.trees.queries.trees import page, skeleton
from tests.queries.growing import add, chain, flag, version


def test_the_columns_give_the_tree_back(actor: Actor, tree: Tree, muse: Participant) -> None:
    a, b = chain(tree, actor.participant, "a", "b→")
    c = add(tree, muse, "from the model", a)
    b2 = version(actor.participant, b, "b second")
    note = add(tree, actor.participant, "note", b2, kind="annotation", form="note")
    flag(b, excluded=True)
    flag(c, pruned=True)
    flag(b2, version_pruned=True)
    columns = skeleton(actor, tree)
    assert columns["ids"][1:] == [node.local_id for node in (a, b, c, b2, note)]
    assert columns["parents"] == [None, 0, 1, 1, 1, 2]
    assert columns["slots"] == [0, 1, 2, 3, 2, 5]
    assert columns["kinds"] == ["text"] * 5 + ["annotation"]
    assert columns["lengths"] == [0, 1, 2, 14, 8, 4]
    assert columns["flags"] == [0, 0, 2, 1, 2 + 8, 0]
    assert columns["authors"] == [0, 0, 0, 1, 0, 0]
    assert [participant["id"] for participant in columns["participants"]] == [
        actor.participant.uid,
        muse.uid,
    ]
    assert columns["seq"] == 7


def test_another_tree_is_not_in_it(actor: Actor, tree: Tree, buffer: Tree) -> None:
    chain(tree, actor.participant, "a")
    assert len(skeleton(actor, buffer)["ids"]) == 1
    assert page(actor, buffer)["count"] == 1


def test_pages_follow_each_other_to_the_end(actor: Actor, tree: Tree) -> None:
    nodes = chain(tree, actor.participant, "a", "b", "c", "dd")
    first = page(actor, tree, limit=2)
    assert first["count"] == 5
    assert [row["id"] for row in first["results"]][1] == nodes[0].local_id
    assert first["results"][0]["parent"] is None
    second = page(actor, tree, after=first["next"], limit=2)
    third = page(actor, tree, after=second["next"], limit=2)
    assert third["next"] is None
    assert third["results"] == [
        {
            "id": nodes[3].local_id,
            "kind": "text",
            "parent": nodes[2].local_id,
            "slot": nodes[3].local_id,
            "author": actor.participant.uid,
            "pruned": False,
            "excluded": False,
            "length": 2,
        }
    ]
    assert page(actor, tree, after=2**40)["results"] == []
