"""Search: text anywhere in a word and in every script, one meaning on both databases."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from loom.access import Actor
from loom.models import ORDINAL_BITS, Node, Tree, Workspace
from loom.queries import hiding
from loom.queries.candidates import Candidate, Scope, candidates
from loom.queries.filters import EVERYTHING, Filters, Passing, bearing, passing
from loom.queries.ranking import Match, fold, match
from loom.queries.rows import NodeRow, fetch, in_chunks, listed, rows_of
from loom.queries.standing import standing_of
from loom.rules import addresses
from loom.rules.refusals import Refused

MAX_QUERY = 500
MAX_READ = 50_000_000  # characters that one search reads; what is newest is read first


class Hit(NamedTuple):
    """A node that matches, or (node None) a tree whose title does. `score` is relative to
    the best hit, which has 1.00; `at` and `times` as in ranking.Match."""

    tree: Tree
    node: NodeRow | None
    score: float
    at: int
    times: int


class Found(NamedTuple):
    """The best hits, best first; `total` of all that were found, and `every`: the row ids
    of all nodes among them, best first."""

    hits: list[Hit]
    total: int
    every: tuple[int, ...] = ()


def find_in_tree(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    query: str,
    *,
    below: Node | None = None,
    limit: int = 5,
) -> Found:
    """Texts and annotations of one tree, or of what hangs at or below a node of it."""
    _demand_query(query)
    scope = Scope((tree.pk,), below.slot_id if below is not None else None)
    matches = _node_matches(actor, query, scope, {tree.pk: workspace}, [tree])
    return _best(matches, {}, {tree.pk: tree}, limit)


def find_in_grove(actor: Actor, query: str, *, limit: int = 5, only: Filters = EVERYTHING) -> Found:
    """Texts, annotations and titles of all trees of the actor's grove, as far as `only` lets
    them through; without a query all that bear its tag."""
    if query.strip() or not only.tag:
        _demand_query(query)
    trees = Tree.objects.filter(grove=actor.grove, erasing_at__isnull=True).select_related("grove")
    if only.archived is not None:
        trees = trees.filter(archived_at__isnull=not only.archived)
    by_id = {tree.pk: tree for tree in trees}
    own = Workspace.objects.filter(participant=actor.participant, tree__in=by_id)
    workspaces: dict[int, Workspace | None] = {one.tree_id: one for one in own}
    if query.strip():
        matches = _node_matches(actor, query, Scope(tuple(by_id)), workspaces, by_id.values())
        folded = fold(query)
        titles = {key: found for key, tree in by_id.items() if (found := match(folded, tree.title))}
    else:
        matches, titles = _bearers(actor, only.tag, workspaces, by_id)
    kept = passing(only, matches, titles)
    matches = {key: one for key, one in matches.items() if key in kept.nodes}
    titles = {key: one for key, one in titles.items() if key in kept.trees}
    return _best(matches, titles, by_id, limit, None if only.sort == "best" else kept)


def _bearers(
    actor: Actor, tag: str, workspaces: dict[int, Workspace | None], trees: dict[int, Tree]
) -> tuple[dict[int, Match], dict[int, Match]]:
    """What bears a tag: nodes that stand and are not hidden, and trees. All match alike."""
    found = bearing(tag, trees)
    ids = [key for item in found if (key := addresses.node_id(item)) is not None]
    rows = Node.objects.filter(pk__in=ids, kind__in=("text", "annotation"), version_pruned=False)
    every = [Candidate(*row) for row in rows.values_list("id", "slot_id", "length")]
    alike = Match(0, 1, 1.0)
    nodes = {one.id: alike for one in _seen(actor, every, workspaces, trees.values())}
    titles = {key: alike for item in found if (key := addresses.tree_id(item)) in trees}
    return nodes, {key: one for key, one in titles.items() if key is not None}


def _demand_query(query: str) -> None:
    if not query.strip() or "\0" in query:
        raise Refused("INVALID_SYNTAX", "There is nothing to look for.", hint="name some text")
    if len(query) > MAX_QUERY:
        raise Refused(
            "LIMIT_EXCEEDED",
            f"The query has {len(query)} characters; at most {MAX_QUERY} are looked for.",
            hint="look for a shorter passage",
        )


def _node_matches(
    actor: Actor,
    query: str,
    scope: Scope,
    workspaces: dict[int, Workspace | None],
    trees: Iterable[Tree],
) -> dict[int, Match]:
    """Matches by node id: only versions that stand and are not hidden."""
    found = _seen(actor, candidates(query, scope), workspaces, trees)
    folded = fold(query)
    matches = {}
    for key, text in _texts(found):
        one = match(folded, text)
        if one is not None:
            matches[key] = one
    return matches


def _seen(
    actor: Actor,
    found: list[Candidate],
    workspaces: dict[int, Workspace | None],
    trees: Iterable[Tree],
) -> list[Candidate]:
    """Those whose version stands for the reader, and whose slot is not hidden; for a model
    without what is excluded."""
    of_tree: dict[int, list[Candidate]] = {}
    for one in found:
        of_tree.setdefault(one.id >> ORDINAL_BITS, []).append(one)
    seen = []
    for tree in trees:
        here = of_tree.get(tree.pk, [])
        if not here:
            continue
        hidden = hiding.hidden_slots(tree)
        standing = standing_of((one.slot_id for one in here), workspaces.get(tree.pk))
        seen += [
            one for one in here if one.slot_id not in hidden and standing[one.slot_id][0] == one.id
        ]
    gone = hiding.withheld(actor, [one.id for one in seen])
    return [one for one in seen if one.id not in gone]


def _texts(found: list[Candidate]) -> Iterator[tuple[int, str]]:
    """(id, text) of the candidates, in chunks of bounded size, MAX_READ characters in all."""
    read = accumulate(one.length for one in found)
    within = [
        (one.id, one.length) for one, sum_ in zip(found, read, strict=True) if sum_ < MAX_READ
    ]
    for ids in in_chunks(within):
        yield from fetch(f"SELECT id, text FROM loom_node WHERE id IN ({listed(ids)})")


def _best(
    nodes: dict[int, Match],
    titles: dict[int, Match],
    trees: dict[int, Tree],
    limit: int,
    times: Passing | None = None,
) -> Found:
    """Best first, ties in order of creation; titles before nodes of the same score. By
    `times`: in their order instead."""
    every = [(-one.score, key, one) for key, one in titles.items()]
    every += [(-one.score, key, one) for key, one in nodes.items()]
    every.sort(key=lambda item: item[:2])
    if not every:
        return Found([], 0)
    best = every[0][2].score
    if times is not None:
        every.sort(key=lambda item: times.rank(item[1], is_node=item[1] in nodes))
    rows = {row.id: row for row in rows_of([key for _, key, _ in every[:limit] if key in nodes])}
    hits = []
    for _, key, one in every[:limit]:
        row = rows.get(key)
        tree = trees[key if row is None else key >> ORDINAL_BITS]
        hits.append(Hit(tree, row, round(one.score / best, 2), one.at, one.times))
    return Found(hits, len(every), tuple(key for _, key, _ in every if key in nodes))
