"""Search in big trees: each way to the candidates finds what a plain look through all texts finds,
hides what is hidden, and reads no more than it needs."""

import random
from collections.abc import Iterator

import pytest
from django.db import connection

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.search import collecting
from loom.search.filters import EVERYTHING, Filters
from loom.search.queries import find_in_grove, find_in_tree
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from loom.trees.queries import places
from tests.planner import count_rows
from tests.queries.growing import add, flag, plant, version
from tests.queries.plans import recorded
from tests.rows_read import work_done

# (constants, as if the tree were big): words that are common, words that are rare, few nodes.
WAYS = {
    "around samples": {"SMALL": 5, "SAMPLES": 12, "IS_COMMON": -1, "BLOCK": 4, "FEW": 2},
    "by the index": {"SMALL": 5, "SAMPLES": 12, "IS_COMMON": 2, "FEW": 2, "MOST_SCANNED": 1},
    "all of a small tree": {"SMALL": 1000, "FEW": 2},
    "the few of a branch": {"FEW": 1000},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ways to the candidates, one after the other."""
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(collecting, name, value)
    if request.param == "by the index" and connection.vendor != "postgresql":
        monkeypatch.setattr(collecting, "MOST_SCANNED", 40_000)
    return str(request.param)


def grown(tree: Tree, author: Participant, seed: int) -> list[Node]:
    """A tree of texts, wordings and notes, with branches that are pruned at random."""
    dice = random.Random(seed)
    nodes: list[Node] = []
    for number in range(40):
        words = " ".join(dice.choices(["river", "tower", "lamp", "bread"], k=3)) + f" {number}"
        parent = dice.choice(nodes) if nodes and dice.random() < 0.85 else None
        drawn = dice.random()
        if parent is not None and drawn < 0.15:
            nodes.append(version(author, parent, words))
        elif parent is not None and drawn < 0.3:
            nodes.append(add(tree, author, words, parent, kind="annotation", form="note"))
        elif parent is None or parent.kind == "text":
            nodes.append(add(tree, author, words, parent))
    for node in dice.sample(nodes, 6):
        if node.pk == node.slot_id:
            flag(node, pruned=True)
    return nodes


def plainly(tree: Tree, query: str, below: Node | None, only: Filters = EVERYTHING) -> set[int]:
    """What should be found, by looking at every node and at all that is above it."""
    nodes = {node.pk: node for node in Node.objects.filter(tree=tree)}
    newest: dict[int, int] = {}
    for pk in sorted(nodes):
        if not nodes[pk].version_pruned:
            newest[nodes[pk].slot_id] = pk
    keys = set()
    for key in newest.values():
        node = nodes[key]
        above, slot = [], nodes[node.slot_id]
        while True:
            above.append(slot)
            if slot.parent_slot_id is None:
                break
            slot = nodes[slot.parent_slot_id]
        is_inside = below is None or below.slot_id in {node.pk for node in above}
        is_kind = (not only.type or node.kind == only.type) and only.form in ("", node.form)
        is_late = only.since is None or node.created_at >= only.since
        is_hidden = any(node.pruned for node in above) or not node.depth
        if is_inside and is_kind and is_late and not is_hidden and query in node.text:
            keys.add(key)
    return keys


@pytest.mark.parametrize("seed", range(3))
def test_each_way_finds_what_a_plain_look_finds(
    actor: Actor, tree: Tree, way: str, seed: int
) -> None:
    nodes = grown(tree, actor.participant, seed)
    texts = [node for node in nodes if node.kind == "text"]
    for query in ("river", "lamp bread", "ow"):
        for below in (None, *random.Random(seed).sample(texts, 6)):
            hits = find_in_tree(actor, tree, None, query, below=below, limit=100)
            assert set(hits.every) == plainly(tree, query, below), (way, query, below)
            assert hits.is_all
    middle = nodes[len(nodes) // 2].created_at
    kinds = (Filters(type="annotation"), Filters(form="note"), Filters(type="text"))
    for only in (*kinds, Filters(since=middle)):
        hits = find_in_tree(actor, tree, None, "tower", only=only, limit=100)
        assert set(hits.every) == plainly(tree, "tower", None, only), (way, only)
    other = trees.new_tree(actor, title="Another")
    add(other, actor.participant, "a river elsewhere", None)
    assert len(find_in_tree(actor, other, None, "river").every) == 1


@pytest.mark.parametrize("seed", range(4))
def test_what_stands_is_what_no_pruned_slot_is_above(actor: Actor, tree: Tree, seed: int) -> None:
    nodes = grown(tree, actor.participant, seed)
    slots = {node.slot_id for node in nodes}
    assert places.standing_among(slots) == slots - places.hidden_among(slots)
    for below in (node for node in nodes if node.pk == node.slot_id):
        expected = {Node.objects.get(pk=key).slot_id for key in plainly(tree, "", below)}
        assert places.standing_among(slots, below=below) == expected


@pytest.fixture
def big(actor: Actor, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bounds that a test can reach."""
    bounds = {"SMALL": 200, "SAMPLES": 60, "BLOCK": 50, "MOST_SCANNED": 400, "ENOUGH": 60}
    for name, value in {**bounds, "FEW": 40, "MOST_LOOKED_AT": 200}.items():
        monkeypatch.setattr(collecting, name, value)
    yield


def bushy(actor: Actor, count: int, *, pruned: bool) -> tuple[Tree, Node]:
    """A tree with two branches of equal size, the second of them pruned if asked; and the first."""
    tree = trees.new_tree(actor, title=f"{count} texts")
    above = [-1, -1, *[place % 2 if place < 6 else place - 4 for place in range(count)]]
    nodes = plant(tree, actor.participant, above, pruned={1} if pruned else ())
    return tree, nodes[0]


@pytest.mark.parametrize("query", ["text", "text 500", "qwertz"])
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("is_below", [False, True])
def test_a_search_reads_no_more_in_a_bigger_tree(
    actor: Actor, big: None, query: str, pruned: bool, is_below: bool
) -> None:
    works = []
    for count in (1_000, 4_000):
        tree, branch = bushy(actor, count, pruned=pruned)
        count_rows()
        below = branch if is_below else None
        find_in_tree(actor, tree, None, query, below=below)
        with work_done() as work:
            find_in_tree(actor, tree, None, query, below=below)
        works.append(work)
    works[1].demand_no_more(works[0], rows=60, steps=2)


def test_the_plans_of_every_way_scan_nothing(actor: Actor, big: None) -> None:
    tree, branch = bushy(actor, 1_000, pruned=True)
    since = branch.created_at
    filters = [EVERYTHING, Filters(author=actor.participant.uid), Filters(since=since)]
    filters += [Filters(type="annotation"), Filters(is_bookmarked=True), Filters(is_leaf=True)]
    with recorded() as queries:
        for query in ("text", "text 17", "xt"):
            for only in filters:
                for below in (None, branch):
                    find_in_tree(actor, tree, None, query, below=below, only=only)
                find_in_grove(actor, query, only=only)
    assert len(queries.sent) > 15
    queries.demand_no_faults()


@pytest.mark.postgres
def test_a_search_walks_up_without_joining_the_whole_table(actor: Actor, big: None) -> None:
    """By the plans that PostgreSQL prefers for hundreds of nodes of a table of thousands."""
    tree, branch = bushy(actor, 4_000, pruned=True)
    count_rows()
    with recorded() as queries:
        find_in_tree(actor, tree, None, "text")
        find_in_tree(actor, tree, None, "text", below=branch)
        places.hidden_among(tree.nodes.values_list("pk", flat=True)[:400])
    walks = {sql: params for sql, params in queries.sent.items() if "RECURSIVE up" in sql}
    assert len(walks) > 2
    for sql, params in walks.items():
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {sql}", params)
            plan = "\n".join(row[0] for row in cursor.fetchall())
        assert "Hash Join" not in plan and "Merge Join" not in plan, plan


def test_a_common_word_among_few_notes_costs_little_more_than_among_all_texts(
    actor: Actor, big: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "IS_COMMON", 0.2)
    tree, _ = bushy(actor, 3_000, pruned=False)
    texts = list(tree.nodes.filter(kind="text", depth__gt=0).order_by("pk"))
    for node in texts[::20]:
        add(tree, actor.participant, "text of a note", node, kind="annotation", form="note")
    count_rows()
    works = []
    for asked in (EVERYTHING, Filters(form="note")):
        find_in_tree(actor, tree, None, "text", only=asked)
        with work_done() as work:
            hits = find_in_tree(actor, tree, None, "text", only=asked)
        assert hits.total >= 60
        works.append(work)
    works[1].demand_no_more(works[0], rows=60, steps=2)


def test_common_words_say_that_there_may_be_more(actor: Actor, big: None) -> None:
    tree, _ = bushy(actor, 1_000, pruned=False)
    result = find_in_tree(actor, tree, None, "text")
    assert result.total >= 60
    assert not result.is_all


def test_nothing_of_a_pruned_branch_is_found_or_counted(actor: Actor, big: None) -> None:
    tree, _ = bushy(actor, 1_000, pruned=True)
    shown = find_in_tree(actor, tree, None, "text", limit=100)
    slots = {hit.node.slot_id for hit in shown.hits if hit.node}
    assert slots
    assert not places.hidden_among(slots)
    assert len(shown.every) == shown.total == len(set(shown.every))
    assert not places.hidden_among(
        Node.objects.filter(pk__in=shown.every).values_list("slot_id", flat=True)
    )


def test_a_tag_and_a_bookmark_are_both_demanded(actor: Actor, tree: Tree, way: str) -> None:
    def say(line: str) -> None:
        execute_line(actor, tree, Request(line))

    nodes = [add(tree, actor.participant, f"river {number}", None) for number in range(12)]
    for node in nodes[:6]:
        say(f"tag {node.local_id} #keep")
    for node in nodes[4:9]:
        say(f"bookmark {node.local_id}")
    both = Filters(tag="keep", is_bookmarked=True)
    for query in ("river", ""):
        hits = find_in_tree(actor, tree, None, query, only=both, limit=100)
        assert set(hits.every) == {node.pk for node in nodes[4:6]}
        hits = find_in_tree(actor, tree, None, query, only=Filters(tag="KEEP"), limit=100)
        assert set(hits.every) == {node.pk for node in nodes[:6]}


def test_a_word_that_is_in_many_trees_is_found_with_as_many_queries(actor: Actor) -> None:
    statements = []
    for count in (3, 60):
        for number in range(count):
            tree = trees.new_tree(actor, title=f"Tree {number} of {count}")
            first = add(tree, actor.participant, "lanterns", None)
            flag(add(tree, actor.participant, "lanterns", first), pruned=number % 3 == 0)
            execute_line(actor, tree, Request(f'edit {first.local_id} "lanterns, too" as:version'))
        find_in_grove(actor, "lanterns")
        with work_done() as work:
            shown = find_in_grove(actor, "lanterns", limit=50)
        assert len(shown.every) > count
        statements.append(work.statements)
    assert statements[1] <= statements[0], statements
