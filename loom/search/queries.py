"""Search in a tree or grove: text anywhere in a word, with filters; the same on both databases."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from django.db import connection

from loom.access import Actor, grove_trees
from loom.errors import CommandError
from loom.language import ids as item_ids
from loom.language.ids import ORDINAL_BITS
from loom.notes.models import Mark
from loom.search.blending import Asked, blended
from loom.search.collecting import (
    ENOUGH,
    MARKED,
    Collected,
    NodeSearch,
    ReaderWorkspaces,
    of_slots,
    visible,
)
from loom.search.filters import (
    EVERYTHING,
    By,
    Filtered,
    Filters,
    bearing,
    filtered,
    leaves_among,
    marked_with,
    passing_nodes,
)
from loom.search.index import IndexedVersion, Match, NodeCondition, Scope, fold, match
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.lookup import NodeRow, rows_of

MAX_QUERY = 500


class Hit(NamedTuple):
    """A matching node, or (node None) a tree with a matching title. `score` is relative to the
    best hit, which has 1.00; `at` and `times` are as in search.index.Match, and `times` is 0 for a
    text that is near in meaning and has none of the words."""

    tree: Tree
    node: NodeRow | None
    score: float
    at: int
    times: int

    @property
    def is_near(self) -> bool:
        """Whether it is a hit by its meaning alone."""
        return self.times == 0


class SearchResult(NamedTuple):
    """The best hits, best first; `total` of all matches that were looked at, and `every`: the row
    ids of all these nodes, best first. `is_all` unless there may be more matches. `near`: how many
    match by their meaning alone."""

    hits: list[Hit]
    total: int
    every: tuple[int, ...] = ()
    is_all: bool = True
    near: int = 0


def find_in_tree(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    query: str,
    *,
    below: Node | None = None,
    limit: int = 5,
    only: Filters = EVERYTHING,
    by: By = "",
) -> SearchResult:
    """Matching texts and annotations of one tree, and nodes with a tag of that name; or only texts
    at or below one of its nodes. Without a query what passes the filters `only`, the newest
    first. `by`: by words or by meaning alone, else by both."""
    if query.strip() or only == EVERYTHING:
        _demand_query(query)
    workspaces = ReaderWorkspaces(actor, {tree.pk: workspace})
    trees = {tree.pk: tree}
    asked = Asked(actor, query, tree.grove, (tree.pk,), workspaces, only, below, by)
    if by == "meaning" and query.strip():
        return _best(*blended(asked, {}, {}), trees, limit)
    collected = _collected(actor, query, Scope((tree.pk,)), workspaces, only, below=below)
    matches = collected.matches
    if not query.strip():
        kept = filtered(replace(only, sort="newest"), matches, ())
        return _best(matches, {}, trees, limit, times=kept, is_all=collected.is_all)
    if below is None:
        tagged, _ = _tag_matches(actor, query, workspaces, trees)
        passed = filtered(only, tagged, ()).nodes
        matches = {**{key: matched for key, matched in tagged.items() if key in passed}, **matches}
    return _best(*blended(asked, matches, {}), trees, limit, is_all=collected.is_all)


def _collected(
    actor: Actor,
    query: str,
    scope: Scope,
    workspaces: ReaderWorkspaces,
    only: Filters,
    *,
    below: Node | None = None,
) -> Collected:
    """The newest matching versions that pass the filters, that are selected and not hidden."""
    if only.type == "tree" or not scope.trees:
        return Collected({}, is_all=True)
    where = _columns(only)
    if only.is_bookmarked or only.tag:
        marked = marked_with(only, scope.trees).order_by()
        slots = marked.values_list("item__node__slot", flat=True).distinct()
        where = where.and_(of_slots([slot for slot in slots if slot is not None]))._replace(by="")
    scope = scope._replace(where=where)
    rest = replace(only, type="", form="", author="", since=None, before=None)
    rest = replace(rest, is_bookmarked=False, tag=only.tag if only.is_bookmarked else "")
    passes = None
    if rest.is_leaf or rest.tag:

        def passes(ids: list[int]) -> set[int]:
            return set(passing_nodes(rest, ids)) if rest.tag else leaves_among(ids)

    few = _few(only)
    return NodeSearch(actor, query, scope, workspaces, below, few=few, passes=passes).run()


_BY_UID = "(SELECT p.id FROM people_participant p WHERE p.uid = %s)"


def _columns(only: Filters) -> NodeCondition:
    """The filters that are columns of a version."""
    where = NodeCondition()
    if only.form:
        forms = ", ".join(["%s"] * len(only.forms))
        condition = f"n.kind = 'annotation' AND n.form IN ({forms})"
        where = where.and_(NodeCondition(condition, only.forms))
    if only.type in ("text", "annotation"):
        where = where.and_(NodeCondition(f"n.kind = '{only.type}'"))
    if only.author:
        # The sum keeps its index out of questions that name rows: `_few` asks by it.
        where = where.and_(NodeCondition(f"n.author_id + 0 = {_BY_UID}", (only.author,)))
    for since, at in ((">=", only.since), ("<", only.before)):
        if at is not None:
            value = connection.ops.adapt_datetimefield_value(at)
            where = where.and_(NodeCondition(f"n.created_at {since} %s", (value,)))
    return where


def _few(only: Filters) -> list[NodeCondition]:
    """The indexes by which the filters that have one are looked up."""
    conditions = []
    if only.is_bookmarked or only.tag:
        conditions.append(NodeCondition(by=MARKED))
    if only.form or only.type == "annotation":
        # Within one form it is in the order of ids.
        is_by_age = bool(only.form) and len(only.forms) == 1
        conditions.append(NodeCondition(by="node_annotations", is_by_age=is_by_age))
    if only.author:
        conditions.append(
            NodeCondition(f"n.author_id = {_BY_UID}", (only.author,), "node_by_author")
        )
    if only.since or only.before:
        conditions.append(NodeCondition(by="node_by_time"))
    return conditions


def find_in_grove(
    actor: Actor,
    query: str,
    *,
    limit: int = 5,
    offset: int = 0,
    only: Filters = EVERYTHING,
    by: By = "",
) -> SearchResult:
    """Texts, annotations, titles and tags of all trees of the actor's grove that pass the filters
    `only`; without a query everything that has its tag. The hits after the first `offset`. `by`: by
    words or by meaning alone, else by both."""
    if query.strip() or only == Filters(archived=only.archived, sort=only.sort):
        _demand_query(query)
    trees = grove_trees(actor).order_by()
    if only.archived is not None:
        trees = trees.filter(archived_at__isnull=not only.archived)
    named = dict(trees.values_list("pk", "title"))  # 5,000 objects would take half a second
    workspaces = ReaderWorkspaces(actor)
    scope = Scope(tuple(named))
    titles: dict[int, Match] = {}
    asked = Asked(actor, query, actor.grove, scope.trees, workspaces, only, None, by)
    if by == "meaning" and query.strip():
        return _best(*blended(asked, {}, {}), {}, limit, offset=offset)
    if not query.strip() and only.tag:
        matches, titles = _bearers(actor, only.tag, workspaces, named)
        passed = filtered(only, matches, ()).nodes
        collected = Collected({key: matches[key] for key in passed}, is_all=True)
    else:
        collected = _collected(actor, query, scope, workspaces, only)
    matches = collected.matches
    if query.strip():
        folded = fold(query)
        titles = {key: matched for key, title in named.items() if (matched := match(folded, title))}
        tagged = _tag_matches(actor, query, workspaces, named)
        passed = filtered(only, tagged[0], ()).nodes
        matches = {
            **{key: matched for key, matched in tagged[0].items() if key in passed},
            **matches,
        }
        titles = {**tagged[1], **titles}
    elif not only.tag:
        titles = dict.fromkeys(named, Match(0, 1, 1.0))
    times = None
    if only.sort == "best":
        passed_trees = filtered(only, (), titles).trees
    else:
        times = filtered(only, matches, titles)
        passed_trees = times.trees
    titles = {key: matched for key, matched in titles.items() if key in passed_trees}
    is_all = collected.is_all
    if only.sort == "best":
        matches, titles = blended(asked, matches, titles)
    return _best(matches, titles, {}, limit, times=times, offset=offset, is_all=is_all)


def _tag_matches(
    actor: Actor, query: str, workspaces: ReaderWorkspaces, trees: Mapping[int, object]
) -> tuple[dict[int, Match], dict[int, Match]]:
    """The items with a tag whose name matches the query, with or without its `#`."""
    folded = fold(query.strip().removeprefix("#"))
    rows = Mark.objects.filter(tree__in=list(trees), kind="tag", removed_at__isnull=True)
    labels = rows.order_by().values_list("label", flat=True).distinct()
    nodes: dict[int, Match] = {}
    titles: dict[int, Match] = {}
    for label in labels if folded else []:
        matched = match(folded, label)
        if matched is not None:
            alike = Match(0, matched.times, matched.score)
            bearers = _bearers(actor, label, workspaces, trees)
            nodes |= dict.fromkeys(bearers[0], alike)
            titles |= dict.fromkeys(bearers[1], alike)
    return nodes, titles


def _bearers(
    actor: Actor, tag: str, workspaces: ReaderWorkspaces, trees: Mapping[int, object]
) -> tuple[dict[int, Match], dict[int, Match]]:
    """Everything with the tag: selected nodes that are not hidden, and trees. All match equally.
    Of more than ENOUGH nodes the newest."""
    items = bearing(tag, trees)
    ids = [key for item in items if (key := item_ids.node_id(item)) is not None]
    slots = Node.objects.filter(pk__in=ids).values("slot")  # a tag stays on later wordings
    rows = Node.objects.filter(slot__in=slots, kind__in=("text", "annotation"))
    rows = rows.filter(version_pruned=False).order_by("-id")
    every = [
        IndexedVersion(*row) for row in rows.values_list("id", "slot_id", "length")[: 2 * ENOUGH]
    ]
    alike = Match(0, 1, 1.0)
    nodes = {node.id: alike for node in visible(actor, every, workspaces)}
    titles = {key: alike for item in items if (key := item_ids.tree_id(item)) in trees}
    return nodes, {key: matched for key, matched in titles.items() if key is not None}


def _demand_query(query: str) -> None:
    if not query.strip() or "\0" in query:
        raise CommandError("INVALID_SYNTAX", "The query is empty.", hint="write some text")
    if len(query) > MAX_QUERY:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"The query has {len(query)} characters; the maximum is {MAX_QUERY}.",
            hint="look for a shorter passage",
        )


def _best(
    nodes: dict[int, Match],
    titles: dict[int, Match],
    trees: Mapping[int, Tree],
    limit: int,
    *,
    times: Filtered | None = None,
    offset: int = 0,
    is_all: bool = True,
) -> SearchResult:
    """Best first, ties in order of creation; titles before nodes with the same score. By `times`
    instead: in order of time. Of these those after `offset`; trees that are not given are
    fetched."""
    every = [(-matched.score, key, matched) for key, matched in titles.items()]
    every += [(-matched.score, key, matched) for key, matched in nodes.items()]
    every.sort(key=lambda item: item[:2])
    if not every:
        return SearchResult([], 0, is_all=is_all)
    best = every[0][2].score
    if times is not None:
        every.sort(key=lambda item: times.rank(item[1], is_node=item[1] in nodes))
    shown = every[offset : offset + limit]
    rows = {row.id: row for row in rows_of([key for _, key, _ in shown if key in nodes])}
    homes = {key >> ORDINAL_BITS if key in rows else key for _, key, _ in shown}
    trees = trees or Tree.objects.select_related("grove").in_bulk(homes)
    hits = []
    for _, key, matched in shown:
        row = rows.get(key)
        tree = trees[key if row is None else key >> ORDINAL_BITS]
        hits.append(Hit(tree, row, round(matched.score / best, 2), matched.at, matched.times))
    near = sum(matched.times == 0 for _, _, matched in every)
    nodes_found = tuple(key for _, key, _ in every if key in nodes)
    return SearchResult(hits, len(every), nodes_found, is_all, near)
