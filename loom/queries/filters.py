"""What a search over a grove lets through besides its words: kind, tag, author, day, archive."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from django.utils.dateparse import parse_date, parse_datetime

from loom.models import Mark, Node, Tree
from loom.queries.rows import in_chunks
from loom.rules import addresses

Kind = Literal["", "text", "annotation", "tree"]
Sort = Literal["best", "newest", "oldest"]


@dataclass(frozen=True)
class Filters:
    """Empty values let everything through. `tag` is a name, `author` a participant's uid,
    `since` the earliest instant of writing; `archived` True: only the archive, False: without."""

    type: Kind = ""
    tag: str = ""
    author: str = ""
    since: datetime | None = None
    archived: bool | None = None
    sort: Sort = "best"


EVERYTHING = Filters()


def parse_since(value: str) -> datetime | None:
    """A day or an instant, UTC where it names no zone; None for anything else."""
    try:
        at, day = parse_datetime(value), parse_date(value)
    except ValueError:
        return None
    if day is not None:
        at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Passing:
    """What passed, by row id, with the instant it was made."""

    nodes: dict[int, datetime | None]
    trees: dict[int, datetime | None]
    is_newest: bool

    def rank(self, key: int, *, is_node: bool) -> float:
        """A number that sorts by time, as it was asked for."""
        at = (self.nodes if is_node else self.trees)[key]
        seconds = at.timestamp() if at else 0.0
        return -seconds if self.is_newest else seconds


def passing(only: Filters, nodes: Iterable[int], trees: Iterable[int]) -> Passing:
    """Which of these nodes and trees pass. Nothing is asked where everything does."""
    if only == Filters(archived=only.archived):
        return Passing(dict.fromkeys(nodes), dict.fromkeys(trees), True)
    newest = only.sort != "oldest"
    found_nodes = {} if only.type == "tree" else _nodes(only, list(nodes))
    found_trees = {} if only.type in ("text", "annotation") else _trees(only, list(trees))
    return Passing(found_nodes, found_trees, newest)


def _nodes(only: Filters, ids: list[int]) -> dict[int, datetime | None]:
    found: dict[int, datetime | None] = {}
    for chunk in in_chunks((key, 1) for key in ids):
        rows = Node.objects.filter(pk__in=chunk)
        if only.type:
            rows = rows.filter(kind=only.type)
        if only.author:
            rows = rows.filter(author__uid=only.author)
        if only.since:
            rows = rows.filter(created_at__gte=only.since)
        made = dict(rows.values_list("pk", "created_at"))
        if only.tag:
            tagged = _tagged(only.tag, {addresses.of_node(key) for key in made})
            made = {key: at for key, at in made.items() if addresses.of_node(key) in tagged}
        found |= made
    return found


def _trees(only: Filters, ids: list[int]) -> dict[int, datetime | None]:
    rows = Tree.objects.filter(pk__in=ids)
    if only.author:
        rows = rows.filter(maker__uid=only.author)
    if only.since:
        rows = rows.filter(created_at__gte=only.since)
    made = dict(rows.values_list("pk", "created_at"))
    if only.tag:
        tagged = _tagged(only.tag, {addresses.of_tree(key) for key in made})
        made = {key: at for key, at in made.items() if addresses.of_tree(key) in tagged}
    return dict(made)


def _tagged(name: str, items: set[str]) -> set[str]:
    rows = Mark.objects.filter(kind="tag", item__in=items, removed_at__isnull=True)
    return {item for item, label in rows.values_list("item", "label") if is_tag(label, name)}


def is_tag(label: str, name: str) -> bool:
    """Whether a tag is meant by a name: their case does not matter."""
    return label.casefold() == name.casefold()


def bearing(tag: str, trees: Iterable[int]) -> set[str]:
    """The addresses of all nodes and trees that bear a tag, in these trees."""
    rows = Mark.objects.filter(tree__in=list(trees), kind="tag", removed_at__isnull=True)
    if tag.isascii():  # SQLite folds no other letters
        rows = rows.filter(label__iexact=tag)
    return {item for item, label in rows.values_list("item", "label") if is_tag(label, tag)}
