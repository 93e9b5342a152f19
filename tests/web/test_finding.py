"""What the search of a tree tells its page."""

from loom.access import Actor
from loom.commands.execute import Request, execute_line
from loom.models import Tree, User
from tests.web.conftest import Visitor


def test_the_best_are_told_in_words_and_all_are_lit(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    made = [
        execute_line(actor, tree, Request(f'respond root "needle {n}"')).body["refs"][0]
        for n in range(23)
    ]
    execute_line(actor, tree, Request('respond root "hay"'))
    pruned = execute_line(actor, tree, Request('respond root "needle pruned"')).body["refs"][0]
    execute_line(actor, tree, Request(f"prune {pruned}"))
    found = visitor(owner).get(f"/trees/{tree.uid}/search?q=needle").json()
    assert len(found["hits"]) == 20
    assert found["total"] == 23
    assert sorted(found["lit"]) == sorted(made)
    none = visitor(owner).get(f"/trees/{tree.uid}/search?q=nowhere").json()
    assert none == {"hits": [], "lit": [], "total": 0}
