"""What the search of a tree sends its page."""

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.trees.models import Tree
from tests.two_groves import TwoGroves
from tests.web.conftest import Visitor


def test_the_best_are_listed_in_words_and_all_are_lit(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    ids = [
        execute_line(actor, tree, Request(f'respond root "needle {n}"')).body["refs"][0]
        for n in range(23)
    ]
    execute_line(actor, tree, Request('respond root "hay"'))
    pruned = execute_line(actor, tree, Request('respond root "needle pruned"')).body["refs"][0]
    execute_line(actor, tree, Request(f"prune {pruned}"))
    body = visitor(owner).get(f"/trees/{tree.uid}/search?q=needle").json()
    assert len(body["hits"]) == 20
    assert body["total"] == 23
    assert sorted(body["lit"]) == sorted(ids)
    none = visitor(owner).get(f"/trees/{tree.uid}/search?q=nowhere").json()
    assert none == {"hits": [], "lit": [], "total": 0}


def test_the_command_bar_leads_only_to_what_its_person_may_see(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    left.run(two_groves.only_left, f"tag tree:{left.tree.uid} #aviary")

    def search(user: User, query: str) -> list[str]:
        answer = two_groves.client(user).get("/palette", {"q": query})
        return [tree["uid"] for tree in answer.json()["trees"]]

    assert search(two_groves.only_left, "kestrel") == []
    assert search(two_groves.only_right, "KESTREL") == [right.tree.uid]
    assert search(two_groves.both, "kestrel") == [right.tree.uid]
    assert search(two_groves.only_left, "aviar") == [left.tree.uid]
    assert search(two_groves.only_right, "aviar") == []
    places = two_groves.client(two_groves.only_left).get("/palette").json()["places"]
    assert not [place for place in places if right.grove.uid in place["href"]]
    assert [place for place in places if place["href"] == f"/groves/{left.grove.uid}/people"]
    assert {"/mentions", "/guide", "/settings"} <= {place["href"] for place in places}
    assert two_groves.client(two_groves.nobody).get("/palette").json()["trees"] == []
