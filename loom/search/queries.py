"""Search in a tree or grove: text anywhere in a word, with filters; the same on both databases."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Literal, NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.expressions import RawSQL
from django.utils.dateparse import parse_date, parse_datetime

from loom.access import Actor
from loom.errors import CommandError
from loom.language import ids as item_ids
from loom.language.ids import ORDINAL_BITS
from loom.notes.models import Mark
from loom.search.index import (
    MAX_CANDIDATES,
    IndexedVersion,
    Match,
    Scope,
    candidates,
    fold,
    match,
    slots_below,
)
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup, places
from loom.trees.queries.lookup import NodeRow, fetch, listed, rows_of, selected_versions
from loom.trees.queries.places import in_chunks
from loom.workspace.models import Workspace

Kind = Literal["", "text", "annotation", "tree", "document"]
Sort = Literal["best", "newest", "oldest"]


@dataclass(frozen=True)
class Filters:
    """Empty values filter nothing. `tag` is a name, `author` a participant's uid, `since` the
    earliest time of writing and `before` the one from which on nothing is shown; `form` that of an
    annotation; `archived` True: only archived trees, False: none of them. Marks of a text count
    for all its wordings."""

    type: Kind = ""
    tag: str = ""
    author: str = ""
    since: datetime | None = None
    archived: bool | None = None
    sort: Sort = "best"
    before: datetime | None = None
    form: str = ""
    is_leaf: bool = False
    is_bookmarked: bool = False

    @property
    def is_of_nodes(self) -> bool:
        """Whether no tree passes."""
        return bool(self.type in ("text", "annotation") or self.form or self.is_leaf)


EVERYTHING = Filters()


def parse_since(value: str) -> datetime | None:
    """A date or time, in UTC if it names no zone; None for anything else."""
    try:
        at, day = parse_datetime(value), parse_date(value)
    except ValueError:
        return None
    if day is not None:
        at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Filtered:
    """What passed the filters, by row id, with its time of creation."""

    nodes: dict[int, datetime | None]
    trees: dict[int, datetime | None]
    is_newest: bool

    def rank(self, key: int, *, is_node: bool) -> float:
        """A number that sorts by time, in the order asked for."""
        at = (self.nodes if is_node else self.trees)[key]
        seconds = at.timestamp() if at else 0.0
        return -seconds if self.is_newest else seconds


def filtered(only: Filters, nodes: Iterable[int], trees: Iterable[int]) -> Filtered:
    """Which of these nodes and trees pass the filters. No query if there are none."""
    if only == Filters(archived=only.archived):
        return Filtered(dict.fromkeys(nodes), dict.fromkeys(trees), True)
    newest = only.sort != "oldest"
    found_nodes = {} if only.type == "tree" else _nodes(only, list(nodes))
    found_trees = {} if only.is_of_nodes else _trees(only, list(trees))
    return Filtered(found_nodes, found_trees, newest)


def _nodes(only: Filters, ids: list[int]) -> dict[int, datetime | None]:
    found: dict[int, datetime | None] = {}
    for chunk in in_chunks((key, 1) for key in ids):
        homes = {key >> ORDINAL_BITS for key in chunk}
        rows = _passing(only, Node.objects.filter(pk__in=chunk), homes)
        found |= dict(rows.values_list("pk", "created_at"))
    return found


def _passing(only: Filters, rows: QuerySet[Node], trees: Iterable[int]) -> QuerySet[Node]:
    """Those of the versions, in these trees, that pass the filters. A mark is looked for on all
    versions of the slot: a new wording keeps those of the one before."""
    if only.type:
        rows = rows.filter(kind=only.type)
    if only.form:
        rows = rows.filter(kind="annotation", form=only.form)
    if only.author:
        rows = rows.filter(author__uid=only.author)
    if only.since:
        rows = rows.filter(created_at__gte=only.since)
    if only.before:
        rows = rows.filter(created_at__lt=only.before)
    if only.is_leaf:
        below = Node.objects.filter(parent_slot=OuterRef("slot"), slot=F("pk"), pruned=False)
        rows = rows.filter(~Exists(below.filter(kind="text")), kind="text")
    marks = Mark.objects.filter(tree__in=list(trees), removed_at__isnull=True).order_by()
    marks = marks.filter(item__node__isnull=False)
    if only.is_bookmarked:
        bookmarked = marks.filter(kind="bookmark")
        rows = rows.filter(slot__in=bookmarked.values("item__node__slot"))
    if only.tag:
        tagged = marks.filter(kind="tag")
        labels = tagged.values_list("label", flat=True).distinct()
        named = [label for label in labels if is_tag(label, only.tag)]
        rows = rows.filter(slot__in=tagged.filter(label__in=named).values("item__node__slot"))
    return rows


def _trees(only: Filters, ids: list[int]) -> dict[int, datetime | None]:
    rows = Tree.objects.filter(pk__in=ids)
    if only.author:
        rows = rows.filter(maker__uid=only.author)
    if only.since:
        rows = rows.filter(created_at__gte=only.since)
    if only.before:
        rows = rows.filter(created_at__lt=only.before)
    if only.is_bookmarked:
        marks = Mark.objects.filter(kind="bookmark", removed_at__isnull=True, item__node=None)
        rows = rows.filter(pk__in=marks.filter(item_id__gt=0).values("tree"))
    made = dict(rows.values_list("pk", "created_at"))
    if only.tag:
        tagged = _tagged(only.tag, {item_ids.of_tree(key) for key in made})
        made = {key: at for key, at in made.items() if item_ids.of_tree(key) in tagged}
    return dict(made)


def _tagged(name: str, items: set[int]) -> set[int]:
    rows = Mark.objects.filter(kind="tag", item__in=items, removed_at__isnull=True)
    return {item for item, label in rows.values_list("item", "label") if is_tag(label, name)}


def is_tag(label: str, name: str) -> bool:
    """The condition that a mark is the tag with that name, in any case."""
    return label.casefold() == name.casefold()


def bearing(tag: str, trees: Iterable[int]) -> set[int]:
    """The items of all nodes and trees that have a tag, in these trees."""
    rows = Mark.objects.filter(tree__in=list(trees), kind="tag", removed_at__isnull=True)
    if tag.isascii():  # SQLite folds only ASCII letters
        rows = rows.filter(label__iexact=tag)
    return {item for item, label in rows.values_list("item", "label") if is_tag(label, tag)}


# Search: text anywhere in a word and in every script, with the same results on both databases.


MAX_QUERY = 500
MAX_READ = 50_000_000  # characters that one search reads, the newest texts first


class Hit(NamedTuple):
    """A matching node, or (node None) a tree with a matching title. `score` is relative to the
    best hit, which has 1.00; `at` and `times` are as in search_index.Match."""

    tree: Tree
    node: NodeRow | None
    score: float
    at: int
    times: int


class SearchResult(NamedTuple):
    """The best hits, best first; `total` of all matches, and `every`: the row ids of all matching
    nodes, best first."""

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
    only: Filters = EVERYTHING,
) -> SearchResult:
    """Matching texts and annotations of one tree, and nodes with a tag of that name; or only texts
    at or below one of its nodes. Without a query what passes the filters `only`, the newest
    first."""
    if query.strip() or only == EVERYTHING:
        _demand_query(query)
    scope = Scope((tree.pk,), below.slot_id if below is not None else None)
    if not query.strip():
        passing = _without_words(actor, only, scope, {tree.pk: workspace}, [tree])
        kept = filtered(only, passing, ())
        return _best(passing, {}, {tree.pk: tree}, limit, times=kept)
    matches = _node_matches(actor, query, scope, {tree.pk: workspace}, [tree])
    if below is None:
        tagged, _ = _tag_matches(actor, query, {tree.pk: workspace}, {tree.pk: tree})
        matches = {**tagged, **matches}
    passed = filtered(only, matches, ()).nodes
    matches = {key: one for key, one in matches.items() if key in passed}
    return _best(matches, {}, {tree.pk: tree}, limit)


def _without_words(
    actor: Actor,
    only: Filters,
    scope: Scope,
    workspaces: dict[int, Workspace | None],
    trees: Iterable[Tree],
) -> dict[int, Match]:
    """The newest MAX_CANDIDATES versions that pass the filters: those selected and not hidden. All
    match equally."""
    rows = Node.objects.filter(tree__in=scope.trees, kind__in=("text", "annotation"))
    rows = _passing(only, rows.filter(version_pruned=False, depth__gt=0), scope.trees)
    if scope.below is not None:
        rows = rows.filter(slot__in=RawSQL(slots_below(), [scope.below]))  # noqa: S611
    newest = rows.order_by("-pk").values_list("id", "slot_id", "length")[:MAX_CANDIDATES]
    every = [IndexedVersion(*row) for row in newest]
    alike = Match(0, 1, 1.0)
    return {one.id: alike for one in _seen(actor, every, workspaces, trees)}


def find_in_grove(
    actor: Actor, query: str, *, limit: int = 5, offset: int = 0, only: Filters = EVERYTHING
) -> SearchResult:
    """Texts, annotations, titles and tags of all trees of the actor's grove that pass the filters
    `only`; without a query everything that has its tag. The hits after the first `offset`."""
    if query.strip() or only == Filters(archived=only.archived, sort=only.sort):
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
        tagged = _tag_matches(actor, query, workspaces, by_id)
        matches, titles = {**tagged[0], **matches}, {**tagged[1], **titles}
    elif only.tag:
        matches, titles = _bearers(actor, only.tag, workspaces, by_id)
    else:
        scope, alike = Scope(tuple(by_id)), Match(0, 1, 1.0)
        matches = _without_words(actor, only, scope, workspaces, by_id.values())
        titles = dict.fromkeys(by_id, alike)
    kept = filtered(only, matches, titles)
    matches = {key: one for key, one in matches.items() if key in kept.nodes}
    titles = {key: one for key, one in titles.items() if key in kept.trees}
    times = None if only.sort == "best" else kept
    return _best(matches, titles, by_id, limit, times=times, offset=offset)


def _tag_matches(
    actor: Actor, query: str, workspaces: dict[int, Workspace | None], trees: dict[int, Tree]
) -> tuple[dict[int, Match], dict[int, Match]]:
    """The items with a tag whose name matches the query, with or without its `#`."""
    folded = fold(query.strip().removeprefix("#"))
    rows = Mark.objects.filter(tree__in=list(trees), kind="tag", removed_at__isnull=True)
    labels = rows.order_by().values_list("label", flat=True).distinct()
    nodes: dict[int, Match] = {}
    titles: dict[int, Match] = {}
    for label in labels if folded else []:
        found = match(folded, label)
        if found is not None:
            alike = Match(0, found.times, found.score)
            bearers = _bearers(actor, label, workspaces, trees)
            nodes |= dict.fromkeys(bearers[0], alike)
            titles |= dict.fromkeys(bearers[1], alike)
    return nodes, titles


def _bearers(
    actor: Actor, tag: str, workspaces: dict[int, Workspace | None], trees: dict[int, Tree]
) -> tuple[dict[int, Match], dict[int, Match]]:
    """Everything with the tag: selected nodes that are not hidden, and trees. All match equally."""
    found = bearing(tag, trees)
    ids = [key for item in found if (key := item_ids.node_id(item)) is not None]
    slots = Node.objects.filter(pk__in=ids).values("slot")  # a tag stays on later wordings
    rows = Node.objects.filter(slot__in=slots, kind__in=("text", "annotation"))
    rows = rows.filter(version_pruned=False)
    every = [IndexedVersion(*row) for row in rows.values_list("id", "slot_id", "length")]
    alike = Match(0, 1, 1.0)
    nodes = {one.id: alike for one in _seen(actor, every, workspaces, trees.values())}
    titles = {key: alike for item in found if (key := item_ids.tree_id(item)) in trees}
    return nodes, {key: one for key, one in titles.items() if key is not None}


def _demand_query(query: str) -> None:
    if not query.strip() or "\0" in query:
        raise CommandError("INVALID_SYNTAX", "The query is empty.", hint="write some text")
    if len(query) > MAX_QUERY:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"The query has {len(query)} characters; the maximum is {MAX_QUERY}.",
            hint="look for a shorter passage",
        )


def _node_matches(
    actor: Actor,
    query: str,
    scope: Scope,
    workspaces: dict[int, Workspace | None],
    trees: Iterable[Tree],
) -> dict[int, Match]:
    """Matches by node id: only selected versions that are not hidden."""
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
    found: list[IndexedVersion],
    workspaces: dict[int, Workspace | None],
    trees: Iterable[Tree],
) -> list[IndexedVersion]:
    """Those whose version is selected for the reader, and whose slot is not hidden; for a model
    also without the excluded ones."""
    of_tree: dict[int, list[IndexedVersion]] = {}
    for one in found:
        of_tree.setdefault(one.id >> ORDINAL_BITS, []).append(one)
    seen = []
    for tree in trees:
        here = of_tree.get(tree.pk, [])
        if not here:
            continue
        hidden = places.hidden_among(one.slot_id for one in here)
        selected = selected_versions((one.slot_id for one in here), workspaces.get(tree.pk))
        seen += [
            one for one in here if one.slot_id not in hidden and selected[one.slot_id][0] == one.id
        ]
    gone = lookup.withheld(actor, [one.id for one in seen])
    return [one for one in seen if one.id not in gone]


def _texts(found: list[IndexedVersion]) -> Iterator[tuple[int, str]]:
    """(id, text) of the candidates, in chunks of bounded size, MAX_READ characters in all."""
    read = accumulate(one.length for one in found)
    within = [
        (one.id, one.length) for one, sum_ in zip(found, read, strict=True) if sum_ < MAX_READ
    ]
    for ids in in_chunks(within):
        yield from fetch(f"SELECT id, text FROM trees_node WHERE id IN ({listed(ids)})")


def _best(
    nodes: dict[int, Match],
    titles: dict[int, Match],
    trees: dict[int, Tree],
    limit: int,
    *,
    times: Filtered | None = None,
    offset: int = 0,
) -> SearchResult:
    """Best first, ties in order of creation; titles before nodes with the same score. By `times`
    instead: in order of time. Of these those after `offset`."""
    every = [(-one.score, key, one) for key, one in titles.items()]
    every += [(-one.score, key, one) for key, one in nodes.items()]
    every.sort(key=lambda item: item[:2])
    if not every:
        return SearchResult([], 0)
    best = every[0][2].score
    if times is not None:
        every.sort(key=lambda item: times.rank(item[1], is_node=item[1] in nodes))
    shown = every[offset : offset + limit]
    rows = {row.id: row for row in rows_of([key for _, key, _ in shown if key in nodes])}
    hits = []
    for _, key, one in shown:
        row = rows.get(key)
        tree = trees[key if row is None else key >> ORDINAL_BITS]
        hits.append(Hit(tree, row, round(one.score / best, 2), one.at, one.times))
    return SearchResult(hits, len(every), tuple(key for _, key, _ in every if key in nodes))
