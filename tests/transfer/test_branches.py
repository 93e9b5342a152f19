"""A whole tree as text and Markdown: every branch that is seen, once, in order."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.trees.commands import trees
from loom.trees.models import Tree

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]


def grow(actor: Actor, mode: str) -> tuple[Tree, list[str]]:
    """One. → Two, which goes on as Three and Four; Hidden is pruned."""
    tree = trees.new_tree(actor, title="T", mode=mode)
    ids: list[str] = []
    for line in ('root "One."', '{0} "Two."', '{1} "Three."', '{1} "Four."', '{1} "Hidden."'):
        answer = execute_line(actor, tree, Request(f"respond {line.format(*ids)}"))
        ids.append(answer.body["refs"][0])
    execute_line(actor, tree, Request(f"prune {ids[4]}"))
    execute_line(actor, tree, Request(f'edit {ids[1]} "Second." as:version'))
    return tree, ids


def read(client: APIClient, tree: Tree, query: str) -> str:
    answer = client.get(f"/api/trees/{tree.uid}/export?{query}")
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def test_every_branch_of_a_dialogue_is_in_the_text(api: Client, owner: User, actor: Actor) -> None:
    tree, ids = grow(actor, "dialogue")
    version = tree.nodes.get(text="Second.").local_id
    assert read(api(owner), tree, "format=text&whole=1") == (
        f"One.\n\nSecond.\n\n--- 1 of 2 below [{version}] ---\n\nThree."
        f"\n\n--- 2 of 2 below [{version}] ---\n\nFour."
    )
    shown = read(api(owner), tree, "format=markdown&whole=1")
    assert shown.startswith(f"# T\n\n**Owner** · `{ids[0]}` · ")
    assert f"## 2 of 2 below [{version}]\n\n**Owner** · `{ids[3]}`" in shown
    assert "Hidden" not in shown


def test_a_buffer_goes_on_without_a_gap_to_its_fork(
    api: Client, reader: User, actor: Actor
) -> None:
    tree, _ = grow(actor, "buffer")
    assert read(api(reader), tree, "format=text&whole=1").startswith("One.Second.\n\n--- 1 of 2")


def test_a_whole_tree_has_no_end(api: Client, owner: User, outsider: User, actor: Actor) -> None:
    tree, ids = grow(actor, "dialogue")
    address = f"/api/trees/{tree.uid}/export?format=text&whole=1"
    assert api(owner).get(f"{address}&node={ids[0]}").json()["code"] == "INVALID_SYNTAX"
    assert api(outsider).get(address).status_code == 404
