"""A tree from afar: its largest branches, made once of what does not change."""

import json
from typing import Any

import pytest
from django.core.cache import cache

from loom.access import Actor
from loom.people.models import Participant, User
from loom.trees.models import Tree
from loom.trees.queries import overview, skeleton_tiles
from loom.trees.queries.lookup import root_of
from tests.queries.growing import add, chain, plant, version


def _told(actor: Actor, tree: Tree) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(overview.overview_of(actor, tree))
    return shown


def test_branches_have_their_sizes_and_runs_are_one_place(
    actor: Actor, tree: Tree, muse: Participant
) -> None:
    first, fork = chain(tree, actor.participant, "first", "fork")
    for text in ("left", "right"):
        below = add(tree, muse, text, fork)
        for number in range(3):
            below = add(tree, muse, f"{text} {number}", below)
    version(actor.participant, first, "first again")
    add(tree, actor.participant, "a note", fork, kind="annotation", form="note")
    told = _told(actor, tree)
    assert told["ids"][1] == first.local_id
    assert told["sizes"] == [11, 10, 4, 4]
    assert told["rows"] == [1, 2, 4, 4]
    assert told["parents"] == [-1, 0, 1, 1]
    names = [told["participants"][at]["id"] for at in told["authors"]]
    assert names[1:] == [actor.participant.uid, muse.uid, muse.uid]


def test_small_branches_are_left_out_but_counted(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "MOST", 10)
    (first,) = chain(tree, actor.participant, "first")
    for _ in range(30):
        add(tree, actor.participant, "a leaf", first)
    told = _told(actor, tree)
    assert told["ids"] == [root_of(tree).local_id, first.local_id]
    assert told["sizes"] == [32, 31]


def test_what_is_full_is_read_once(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeleton_tiles, "TILE", 8)
    cache.clear()
    plant(tree, actor.participant, [-1] * 18)
    before = _told(actor, tree)
    read: list[int] = []
    monkeypatch.setattr(skeleton_tiles, "tile_of", lambda *given: read.append(given[2]))
    chain(tree, actor.participant, "one more")
    assert _told(actor, tree) == before
    assert read == []


def test_only_members_see_it(
    owner: User, reader: User, outsider: User, tree: Tree, actor: Actor, api: Any
) -> None:
    chain(tree, actor.participant, "first")
    address = f"/api/trees/{tree.uid}/overview"
    assert api(reader).get(address).json() == api(owner).get(address).json()
    assert api(outsider).get(address).status_code == 404
