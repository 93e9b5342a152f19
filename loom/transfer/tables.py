"""A tree as tables, for data frames: what each holds, and its rows, read a page at a time.

Six of them, one for each grain, joined by ids: places (`nodes`), wordings (`versions`), exchanges
with models (`calls`), candidates and what became of them (`choices`), `events` and `links`.
docs/formats.md describes the columns for people.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.models import Count, F, Max, Q, QuerySet

from loom.access import Actor
from loom.engine.models import Event, Stream
from loom.errors import not_found
from loom.language.ids import home_of
from loom.links.models import Link
from loom.links.queries import with_seen_ends, written
from loom.links.vocabulary import vocabulary_of
from loom.text.hashes import instant
from loom.trees.models import Node, Tree
from loom.trees.queries.event_log import hydrated, is_hidden
from loom.trees.queries.lookup import nodes_in
from loom.trees.queries.main_line import main_line_of
from loom.trees.queries.node_bodies import without_text
from loom.trees.queries.places import in_chunks, path_ids
from loom.turns.models import Call, Generation

Cell = Literal["text", "integer", "real", "truth", "time", "json"]
Row = tuple[Any, ...]
PAGE = 1000  # rows read at once; fewer where their texts are long


@dataclass(frozen=True)
class Extent:
    """What a set of tables holds: all that was there when it was begun. `last` is the row id of
    the newest node, `head` the seq of the newest event."""

    actor: Actor
    tree: Tree
    last: int
    head: int


@dataclass(frozen=True)
class Table:
    """One table: its columns with their types, and its rows in order, as values of Python."""

    name: str
    says: str
    columns: tuple[tuple[str, Cell], ...]
    read: Callable[[Extent], Iterator[list[Row]]]


def extent_of(actor: Actor, tree: Tree) -> Extent:
    """What there is of the tree at this moment. Two queries."""
    head = Stream.objects.filter(name=f"tree:{tree.uid}").values_list("head", flat=True).first()
    last = nodes_in(tree.pk).order_by("-pk").values_list("pk", flat=True).first()
    return Extent(actor, tree, last or 0, head or 0)


def table_named(name: str) -> Table:
    """The table; NOT_FOUND, with the names that exist."""
    if name not in TABLES:
        raise not_found("This table", f"They are {', '.join(TABLES)}.")
    return TABLES[name]


def as_lines(table: Table, extent: Extent) -> Iterator[bytes]:
    """The table as JSON, one row a line, in pieces."""
    for rows in table.read(extent):
        yield b"".join(_line(table, row) for row in rows)


def _line(table: Table, row: Row) -> bytes:
    body = {
        name: instant(value) if isinstance(value, datetime) else value
        for (name, _), value in zip(table.columns, row, strict=True)
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


# The rows.


def _nodes(extent: Extent) -> Iterator[list[Row]]:
    """One row for each place: the first version names it."""
    first = _nodes_of(extent).filter(slot_id__gte=F("id"))
    columns = """local_id parent_slot__local_id kind depth author__uid author__name created_at
        pruned excluded sandbox resolved_at""".split()
    after = 0
    while keys := _slots_after(extent, after):
        after = keys[-1]
        versions = Node.objects.filter(slot__in=keys, id__lte=extent.last).order_by()
        counts = dict(versions.values_list("slot").annotate(Count("id")))
        open_ones = versions.filter(version_pruned=False).values_list("slot")
        newest = dict(open_ones.annotate(Max("id")))
        texts = Node.objects.filter(parent_slot__in=keys, kind="text", slot_id__gte=F("id"))
        below = texts.filter(id__lte=extent.last).order_by().values_list("parent_slot")
        children = dict(below.annotate(Count("id")))
        current = [newest.get(key, key) for key in keys]
        names = dict(Node.objects.filter(pk__in=current).values_list("pk", "local_id"))
        by_key = {row[0]: row[1:] for row in first.filter(pk__in=keys).values_list("pk", *columns)}
        yield [
            (
                *by_key[key],
                counts.get(key, 1),
                names[newest.get(key, key)],
                children.get(key, 0),
            )
            for key in keys
        ]


_VERSION = """local_id slot__local_id parent_slot__local_id kind form text length author__uid
    author__name author__kind created_at edited_from__local_id version_pruned finish
    generation_uid call_uid summary hash""".split()


def _versions(extent: Extent) -> Iterator[list[Row]]:
    """One row for each wording, with its text."""
    rows = _nodes_of(extent)
    sized = rows.order_by("id").values_list("id", "length").iterator()
    # The ids of the tree are read whole, as numbers: no cursor stays open between two pieces.
    for keys in in_chunks(list(sized), count=PAGE):
        by_key = {row[0]: row[1:] for row in rows.filter(pk__in=keys).values_list("pk", *_VERSION)}
        yield [tuple(_empty_as_none(by_key[key])) for key in keys]


def _calls(extent: Extent) -> Iterator[list[Row]]:
    """One row for each exchange with a provider, without its texts."""
    rows = Call.objects.filter(tree=extent.tree)
    columns = """uid origin purpose provider participant__uid participant__name
        participant__model_ref turn__uid status bytes sha256 started_at first_at sealed_at usage
        note""".split()
    for page in _paged(rows):
        keys = [row.pk for row in page]
        generations = Generation.objects.filter(call__in=keys).order_by()
        sums = {  # all candidates of a call have its tokens
            usage["call"]: (usage["into"], usage["out"], usage["cached"])
            for usage in generations.values("call").annotate(
                into=Max("tokens_in"), out=Max("tokens_out"), cached=Max("tokens_cached")
            )
        }
        calls = rows.filter(pk__in=keys).order_by("pk").values_list("pk", *columns)
        unknown = None, None, None
        yield [(*_empty_as_none(row[1:]), *sums.get(row[0], unknown)) for row in calls]


def _choices(extent: Extent) -> Iterator[list[Row]]:
    """One row for each candidate that a model gave: with which others it stood, and what became
    of it."""
    rows = Generation.objects.filter(tree=extent.tree, turn=None, round=0, about=None)
    rows = rows.filter(ended_at__isnull=False)
    rows = rows.filter(Q(node=None) | Q(node__lte=extent.last))
    line = main_line_of(extent.tree).end
    main = {key for _, key in path_ids(extent.actor, extent.tree, None, line)}
    columns = """batch index point__local_id node__local_id participant__uid participant__name
        participant__model_ref call__uid temperature finish tokens_in tokens_out created_at
        ended_at""".split()
    for page in _paged(rows):
        keys = [row.pk for row in page]
        node_ids = {row.pk: row.node_id for row in page if row.node_id is not None}
        nodes = Node.objects.filter(pk__in=node_ids.values()).order_by()
        states = {
            pk: (slot, pruned or own)
            for pk, slot, pruned, own in nodes.values_list("pk", "slot", "pruned", "version_pruned")
        }
        slots = [slot for slot, _ in states.values()]
        below = Node.objects.filter(parent_slot__in=slots, kind="text", slot_id__gte=F("id"))
        below = below.filter(id__lte=extent.last).order_by()
        going_on = dict(below.values_list("parent_slot").annotate(Count("id")))
        by_key = {row[0]: row[1:] for row in rows.filter(pk__in=keys).values_list("pk", *columns)}
        batch = []
        for key in keys:
            slot, is_pruned = states.get(node_ids.get(key, 0), (0, False))
            became = (
                (is_pruned, going_on.get(slot, 0), node_ids[key] in main)
                if slot
                else (None, None, None)
            )
            batch.append((*_empty_as_none(by_key[key]), *became))
        yield batch


def _events(extent: Extent) -> Iterator[list[Row]]:
    """One row for each event of the tree's log, as the reader may see it; of texts only their
    beginning, since `versions` has them."""
    name = f"tree:{extent.tree.uid}"
    stream = Stream.objects.filter(name=name).values_list("id", flat=True).first()
    rows = Event.objects.filter(stream=stream, seq__lte=extent.head).order_by("seq")
    after = 0
    while True:
        columns = ("seq", "kind", "actor", "origin", "at", "payload")
        page = list(rows.filter(seq__gt=after).values_list(*columns)[:PAGE])
        if not page:
            return
        after = page[-1][0]
        page = _with_beginnings(extent.tree, page)
        yield [
            (row[0], "hidden", None, None, None, None)
            if is_hidden(row[1], extent.actor.role)
            else tuple(_empty_as_none(row))
            for row in page
        ]


def _with_beginnings(tree: Tree, page: list[Row]) -> list[Row]:
    """The events with what the log does not repeat, but of texts only the beginning."""
    bodies = [{"kind": row[1], "payload": row[5]} for row in page]
    payloads = [body["payload"] for body in hydrated(f"tree:{tree.uid}", bodies)]
    return [
        (*row[:5], {**payload, "node": without_text(payload["node"])})
        if row[1] == "node.added"
        else (*row[:5], payload)
        for row, payload in zip(page, payloads, strict=True)
    ]


def _links(extent: Extent) -> Iterator[list[Row]]:
    """One row for each link that stands in the tree, if the reader may see both its ends."""
    rows = Link.objects.filter(tree=extent.tree, removed_at=None).select_related("by")
    types = vocabulary_of(extent.tree.grove)
    for page in _paged(rows):
        kept = [
            row
            for row in with_seen_ends(extent.actor, extent.tree, page)
            if _is_known(row.source_id, extent.last) and _is_known(row.target_id, extent.last)
        ]
        ends = {end for row in kept for end in (row.source_id, row.target_id)}
        names = written(ends, extent.tree.pk)
        yield [
            (
                row.uid,
                types.read(row.type, outward=True),
                names[row.source_id],
                names[row.target_id],
                row.note or None,
                row.words or None,
                row.confidence,
                row.by.uid,
                row.by.name,
                row.at,
            )
            for row in kept
        ]


def _is_known(item: int, last: int) -> bool:
    """Whether an item is in the tables, or lies outside of the tree."""
    return item < 0 or home_of(item) != home_of(last) or item <= last


def _nodes_of(extent: Extent) -> "QuerySet[Node]":
    return nodes_in(extent.tree.pk, last=extent.last)


def _slots_after(extent: Extent, after: int) -> list[int]:
    """The next PAGE slots, in order. Not by `_paged`: with two lower bounds SQLite reads all."""
    rows = nodes_in(extent.tree.pk, after=after, last=extent.last).filter(slot_id__gte=F("id"))
    return list(rows.order_by("pk").values_list("pk", flat=True)[:PAGE])


def _paged(rows: "QuerySet[Any]") -> Iterator[list[Any]]:
    after = 0
    while page := list(rows.filter(pk__gt=after).order_by("pk")[:PAGE]):
        after = page[-1].pk
        yield page


def _empty_as_none(row: Row) -> Iterator[Any]:
    return (None if value == "" else value for value in row)


def _columns(described: str) -> tuple[tuple[str, Cell], ...]:
    """Columns from `name:type` words; without a type: text."""
    columns: list[tuple[str, Any]] = []
    for word in described.split():
        name, _, kind = word.partition(":")
        columns.append((name, kind or "text"))
    return tuple(columns)


_TABLES = (
    Table(
        "nodes",
        "One row for each place of the tree; `current` is its newest version that is not pruned.",
        _columns(
            """node parent kind depth:integer author author_name created_at:time pruned:truth
            excluded:truth sandbox:truth resolved_at:time versions:integer current
            children:integer"""
        ),
        _nodes,
    ),
    Table(
        "versions",
        "One row for each wording of a place, with its text.",
        _columns(
            """version node parent kind form text length:integer author author_name author_kind
            created_at:time edited_from pruned:truth finish generation call summary hash"""
        ),
        _versions,
    ),
    Table(
        "calls",
        "One row for each exchange with a provider, without what was said.",
        _columns(
            """call origin purpose provider participant participant_name model turn status:integer
            bytes sha256 started_at:time first_at:time sealed_at:time usage:json note
            tokens_in:integer tokens_out:integer tokens_cached:integer"""
        ),
        _calls,
    ),
    Table(
        "choices",
        "One row for each candidate of a model: `batch` is the same for all of one line, "
        "`continued` counts the texts below it.",
        _columns(
            """batch index:integer point node participant participant_name model call
            temperature:real finish tokens_in:integer tokens_out:integer created_at:time
            ended_at:time pruned:truth continued:integer on_main_line:truth"""
        ),
        _choices,
    ),
    Table(
        "events",
        "One row for each event of the log; of texts only their beginning.",
        _columns("seq:integer kind actor origin at:time payload:json"),
        _events,
    ),
    Table(
        "links",
        "One row for each link that stands.",
        _columns("link type source target note words confidence:real by by_name at:time"),
        _links,
    ),
)
TABLES: dict[str, Table] = {table.name: table for table in _TABLES}
