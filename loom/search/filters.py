"""What a search is narrowed to: kind, tag, author, time, bookmarks; and which texts pass."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from django.db.models import QuerySet
from django.utils.dateparse import parse_date, parse_datetime

from loom.language import ids as item_ids
from loom.language.ids import ORDINAL_BITS
from loom.notes.models import Mark
from loom.notes.queries import tags_named
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import fetch, seen_below, within
from loom.trees.queries.places import in_chunks

Kind = Literal["", "text", "annotation", "tree", "document"]
Sort = Literal["best", "newest", "oldest"]
By = Literal["", "words", "meaning"]


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
    def forms(self) -> tuple[str, ...]:
        """The forms of annotations that pass. A suggestion may give the new text, or words."""
        return ("suggestion", "diff") if self.form == "suggestion" else (self.form,)

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
    found_nodes = {} if only.type == "tree" else passing_nodes(only, list(nodes))
    found_trees = {} if only.is_of_nodes else _trees(only, list(trees))
    return Filtered(found_nodes, found_trees, newest)


def passing_nodes(only: Filters, ids: list[int]) -> dict[int, datetime | None]:
    """Which of these nodes pass, with their times."""
    times: dict[int, datetime | None] = {}
    if only.is_leaf:
        ids = sorted(leaves_among(ids))
    for chunk in in_chunks((key, 1) for key in ids):
        homes = {key >> ORDINAL_BITS for key in chunk}
        rows = _passing(only, Node.objects.filter(pk__in=chunk), homes)
        times |= dict(rows.values_list("pk", "created_at"))
    return times


# Compared as a value: PostgreSQL would join with an index of all slots.
_LEAVES = """SELECT n.id FROM trees_node n WHERE {those} AND n.kind = 'text' AND (
        SELECT b.id FROM trees_node b WHERE {below} LIMIT 1
    ) IS NULL"""


def leaves_among(ids: list[int]) -> set[int]:
    """Those of the nodes that are texts without a text below, other than pruned ones; one query."""
    those, given = within("n.id", ids)
    sql = _LEAVES.format(those=those, below=seen_below("n.slot_id", "b"))
    return {key for (key,) in fetch(sql, [given])}


def _passing(only: Filters, rows: QuerySet[Node], trees: Iterable[int]) -> QuerySet[Node]:
    """Those of the versions, in these trees, that pass the filters. A mark is looked for on all
    versions of the slot: a new wording keeps those of the one before."""
    if only.type:
        rows = rows.filter(kind=only.type)
    if only.form:
        rows = rows.filter(kind="annotation", form__in=only.forms)
    if only.author:
        rows = rows.filter(author__uid=only.author)
    if only.since:
        rows = rows.filter(created_at__gte=only.since)
    if only.before:
        rows = rows.filter(created_at__lt=only.before)
    if only.is_bookmarked:
        bookmarked = marked_with(replace(only, tag=""), trees)
        rows = rows.filter(slot__in=bookmarked.values("item__node__slot"))
    if only.tag:
        tagged = marked_with(replace(only, is_bookmarked=False), trees)
        rows = rows.filter(slot__in=tagged.values("item__node__slot"))
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
    times = dict(rows.values_list("pk", "created_at"))
    if only.tag:
        tagged = _tagged(only.tag, {item_ids.of_tree(key) for key in times})
        times = {key: at for key, at in times.items() if item_ids.of_tree(key) in tagged}
    return dict(times)


def _tagged(name: str, items: set[int]) -> set[int]:
    return set(tags_named(name).filter(item__in=items).values_list("item", flat=True))


def bearing(tag: str, trees: Iterable[int]) -> set[int]:
    """The items of all nodes and trees that have a tag, in these trees."""
    return set(tags_named(tag).filter(tree__in=list(trees)).values_list("item", flat=True))


def marked_with(only: Filters, trees: Iterable[int]) -> QuerySet[Mark]:
    """The bookmarks, or the tags of that name, on nodes of these trees."""
    bookmarks = Mark.objects.filter(kind="bookmark", removed_at__isnull=True)
    marks = bookmarks if only.is_bookmarked else tags_named(only.tag)
    return marks.filter(tree__in=list(trees), item__node__isnull=False).order_by()
