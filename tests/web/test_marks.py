"""The bookmarks and tags of a tree, sent at once for map and outline."""

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.trees.models import Node, Tree
from tests.web.conftest import Visitor


def test_bookmarks_and_tags_of_nodes_are_reported(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    about_tree = f"tag tree:{tree.uid} #x"
    for line in ('respond "One."', 'bookmark here "one"', "tag here #draft", about_tree):
        execute_line(actor, tree, Request(line=line))
    node = Node.objects.get(tree=tree, text="One.").local_id
    told = visitor(owner).get(f"/trees/{tree.uid}/marks").json()["marks"]
    assert [mark[1:] for mark in told] == [["bookmark", "one", node], ["tag", "draft", node]]
    execute_line(actor, tree, Request(line="unbookmark here"))
    assert len(visitor(owner).get(f"/trees/{tree.uid}/marks").json()["marks"]) == 1


def test_they_are_nobody_elses_business(outsider: User, tree: Tree, visitor: Visitor) -> None:
    assert visitor(outsider).get(f"/trees/{tree.uid}/marks").status_code == 404
    assert visitor().get(f"/trees/{tree.uid}/marks").status_code == 302
