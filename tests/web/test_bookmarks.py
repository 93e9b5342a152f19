"""The bookmarks of a tree, page by page."""

import re

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.reading.pages import panels
from loom.trees.models import Tree
from tests.two_groves import TwoGroves
from tests.web.conftest import Visitor


def test_older_bookmarks_come_when_they_are_asked_for(
    reader: User, actor: Actor, tree: Tree, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panels, "BOOKMARKS", 3)
    for number in range(8):
        execute_line(actor, tree, Request(f'respond root "text {number}"'))
        execute_line(actor, tree, Request(f'bookmark "mark {number}"'))
    client, address = visitor(reader), f"/trees/{tree.uid}/bookmarks"
    seen: list[list[str]] = []
    while address:
        part = client.get(address).content.decode()
        seen.append(re.findall(r"mark \d", part))
        assert part.count("<ul") == (len(seen) == 1)
        more = re.search(r'data-more="([^"]+)"', part)
        address = more[1] if more else ""
    assert [len(part) for part in seen] == [3, 3, 2]
    told = [label for part in seen for label in part]
    assert told == [f"mark {number}" for number in reversed(range(8))]


def test_a_bookmark_of_another_tree_leads_nowhere(two_groves: TwoGroves, visitor: Visitor) -> None:
    left, right = two_groves.left, two_groves.right
    right.run(two_groves.both, f"bookmark {right.text.local_id}")
    mark = right.tree.marks.get(kind="bookmark").uid
    client = visitor(two_groves.both)
    assert client.get(f"/trees/{right.tree.uid}/bookmarks?before={mark}").status_code == 200
    assert client.get(f"/trees/{left.tree.uid}/bookmarks?before={mark}").status_code == 404
    stranger = visitor(two_groves.only_left)
    assert stranger.get(f"/trees/{right.tree.uid}/bookmarks?before={mark}").status_code == 404
