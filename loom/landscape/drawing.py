"""The worker's side of maps by meaning: a map is drawn from the stored vectors, and new texts find
their place without moving the old ones. Asking and stopping are here as well. Nothing here changes
a tree: a map follows from texts, as their vectors do."""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from time import monotonic

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from loom.access import Actor
from loom.embedding.vectors import Floats, unit
from loom.engine import jobs
from loom.landscape import layout, places
from loom.landscape.models import Landscape, LandscapeBlock
from loom.language.ids import ORDINAL_BITS, ids_in
from loom.meaning import indexing
from loom.meaning.models import VectorBlock, VectorState
from loom.meaning.node_tokens import mean_surprise
from loom.meaning.queries import demand_embedder
from loom.meaning.rules import row_type
from loom.people.models import Grove
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import fetch

log = logging.getLogger("heddle.landscape")
DRAW = "loom.landscape.tasks.draw"
PLACE = "loom.landscape.tasks.place"
QUEUE = "transfer"  # long work of workers
MOST = 200_000  # texts of a map, the newest
AT_ONCE = 1_000  # new texts that are placed together
LOST_S = 120  # seconds of silence after which a worker is taken to be lost
TOLD_S = 1.0
_ORDINAL = (1 << ORDINAL_BITS) - 1


# Asking and stopping.


def ask(actor: Actor, grove: Grove, tree: Tree | None) -> Landscape:
    """Asks for the map of a tree, or of a grove, to be drawn, or drawn anew; changes nothing while
    it is being drawn. UNAVAILABLE without an embedder."""
    embedder = demand_embedder(grove)
    own = Landscape.objects.filter(grove=grove, tree=tree, embedder=embedder.name)
    with transaction.atomic():
        row = own.select_for_update().first()
        if row is None:
            try:
                with transaction.atomic():
                    row = Landscape.objects.create(
                        grove=grove, tree=tree, embedder=embedder.name, asked_by=actor.participant
                    )
            except IntegrityError:  # somebody else was first
                return own.get()
        elif row.is_open:
            return row
        else:
            now = timezone.now()
            own.update(
                status="waiting",
                done=0,
                said="",
                stop_asked=False,
                asked_by=actor.participant,
                asked_at=now,
                moved_at=now,
            )
        jobs.enqueue(DRAW, [row.uid], queue=QUEUE)
    row.refresh_from_db()
    return row


def stop(row: Landscape) -> Landscape:
    """Asks the worker to stop; what was drawn before stays. One that waits has stopped at once."""
    own = Landscape.objects.filter(pk=row.pk)
    if not own.filter(status="waiting").update(status="stopped", stop_asked=True):
        own.filter(status="running").update(stop_asked=True)
    row.refresh_from_db()
    return row


def forgotten() -> list[str]:
    """The uids of maps that wait for a worker, or whose worker was lost."""
    silent = timezone.now() - timedelta(seconds=LOST_S)
    waits = Q(status="waiting", moved_at__lt=timezone.now() - timedelta(seconds=10))
    lost = Q(status="running", moved_at__lt=silent)
    return list(Landscape.objects.filter(waits | lost).values_list("uid", flat=True)[:50])


# Drawing.


class DrawingStopped(Exception):
    """Somebody stopped the drawing, or another worker has taken it over."""


class _Progress:
    """Tells how far a drawing has come, about once a second, and whether it shall stop."""

    def __init__(self, row: Landscape, begun: datetime) -> None:
        self.row, self.begun, self.told = row, begun, 0.0

    def __call__(self, share: float) -> None:
        """Says that this share is done. Raises DrawingStopped."""
        now = monotonic()
        if now - self.told < TOLD_S:
            return
        self.told = now
        own = Landscape.objects.filter(pk=self.row.pk, status="running", asked_at=self.begun)
        if not own.filter(stop_asked=False).update(done=int(1000 * share), moved_at=timezone.now()):
            raise DrawingStopped

    def part(self, first: float, last: float) -> Callable[[float], None]:
        """Tells of a part of the whole."""
        return lambda share: self(first + (last - first) * share)


def draw(uid: str) -> None:
    """Draws the map that was asked for. Safe to run twice: one that another worker is drawing is
    left alone. The map of before is shown until the new one is whole."""
    row = _taken(uid)
    if row is None:
        return
    tell = _Progress(row, row.asked_at)
    try:
        _draw(row, tell)
    except DrawingStopped:
        Landscape.objects.filter(pk=row.pk, asked_at=row.asked_at, stop_asked=True).update(
            status="stopped", moved_at=timezone.now()
        )
    except Exception as failure:
        log.exception("the map %s could not be drawn", uid)
        Landscape.objects.filter(pk=row.pk).update(
            status="failed", said=type(failure).__name__, moved_at=timezone.now()
        )


def _taken(uid: str) -> Landscape | None:
    now = timezone.now()
    lost = Q(status="running", moved_at__lt=now - timedelta(seconds=LOST_S))
    own = Landscape.objects.filter(uid=uid)
    if not own.filter(Q(status="waiting") | lost).update(status="running", done=0, moved_at=now):
        return None
    return own.select_related("grove", "tree").first()


def trees_of(row: Landscape) -> QuerySet[Tree]:
    """The trees whose texts are on a map, in the order of ids."""
    trees = Tree.objects.filter(grove=row.grove_id, erasing_at__isnull=True).order_by("pk")
    return trees if row.tree_id is None else trees.filter(pk=row.tree_id)


def _draw(row: Landscape, tell: _Progress) -> None:
    trees = list(trees_of(row).select_related("grove"))
    for at, tree in enumerate(trees):
        _index(tree, row.embedder)
        tell(0.1 * (at + 1) / max(1, len(trees)))
    ends = _indexed([tree.pk for tree in trees], row.embedder)
    nodes, vectors = _vectors(list(ends), row.embedder)
    tell(0.15)
    drawn = layout.to_whole(layout.lay_out(vectors, tell.part(0.15, 0.9)))
    place_of = dict(zip(nodes.tolist(), drawn.tolist(), strict=True))
    tell(0.9)
    blocks: list[LandscapeBlock] = []
    for at, (tree_id, last) in enumerate(ends.items()):
        rows = _rows(tree_id, 0, last, place_of)
        blocks += _blocks(row, tree_id, rows, _surprise(tree_id, rows, 0, last), 0)
        tell(0.9 + 0.09 * (at + 1) / len(ends))
    tell(0.99)
    with transaction.atomic():
        own = Landscape.objects.filter(
            pk=row.pk, status="running", asked_at=row.asked_at, stop_asked=False
        )
        now = timezone.now()
        if not own.update(
            status="done",
            done=1000,
            revision=F("revision") + 1,
            placed=0,
            titles=[],
            drawn_at=now,
            moved_at=now,
        ):
            raise DrawingStopped
        LandscapeBlock.objects.filter(landscape=row).delete()
        LandscapeBlock.objects.bulk_create(blocks, batch_size=20)
    for tree in trees:  # what was written meanwhile
        wish(tree.uid)


def _index(tree: Tree, embedder: str) -> None:
    """Makes the vectors that a tree lacks; without those that cannot be had now."""
    seen = VectorState.objects.filter(tree=tree, embedder=embedder, seen_at__gte=tree.touched_at)
    if seen.exists():
        return
    try:
        indexing.index_tree(tree.uid)
    except indexing.NotIndexed as refused:
        log.warning("tree %s is on its map as far as it is indexed: %s", tree.uid, refused)


def _indexed(trees: Sequence[int], embedder: str) -> dict[int, int]:
    """The last node of each tree whose vector is known or that has none, by tree."""
    rows = VectorState.objects.filter(tree__in=trees, embedder=embedder).order_by("tree_id")
    return dict(rows.values_list("tree_id", "last"))


def _vectors(trees: Sequence[int], embedder: str) -> tuple[layout.Whole, Floats]:
    """The newest MOST texts of these trees with their vectors of length 1. Texts without words
    have none."""
    rows = VectorBlock.objects.filter(tree__in=trees, embedder=embedder).order_by("-id")
    parts, held = [], 0
    for joined, count in rows.values_list("rows", "count").iterator(chunk_size=50):
        parts.append(bytes(joined))
        held += count
        if held >= MOST:
            break
    if not parts:
        return np.zeros(0, np.int64), np.zeros((0, 1), np.float32)
    nodes, vectors = _read(parts, held)
    texts = np.isin(nodes, _texts_of(nodes))
    nodes, vectors = nodes[texts], vectors[texts]
    order = np.argsort(nodes, kind="stable")[-MOST:]
    return nodes[order], vectors[order]


def _read(parts: list[bytes], count: int) -> tuple[layout.Whole, Floats]:
    """The nodes and the vectors of blocks, without those of zeros."""
    joined = b"".join(parts)
    kind = row_type(len(joined) // count - 12)
    rows = np.frombuffer(joined, kind)
    has = rows["vector"].any(axis=1)
    return rows["node"][has].astype(np.int64), unit(rows["vector"][has].astype(np.float32))


def _texts_of(nodes: layout.Whole) -> layout.Whole:
    """Those of the nodes that are no annotations."""
    notes: list[int] = []
    for tree in np.unique(nodes >> ORDINAL_BITS).tolist():
        rows = Node.objects.filter(tree=tree, kind="annotation").order_by()
        notes += rows.values_list("pk", flat=True)
    return np.setdiff1d(nodes, np.array(notes, np.int64))


_NODES = """SELECT id, slot_id, parent_slot_id, author_id, {time}, local_id FROM trees_node
    WHERE id BETWEEN %s AND %s ORDER BY id"""
_SECONDS = {
    "sqlite": "CAST(strftime('%%s', created_at) AS INTEGER)",
    "postgresql": "CAST(EXTRACT(EPOCH FROM created_at) AS BIGINT)",
}
MOST_READ = 20_000  # nodes of a query


def _rows(tree: int, after: int, last: int, place_of: dict[int, Sequence[int]]) -> places.Rows:
    """The nodes of a tree after the id `after` up to `last`, with their places."""
    from django.db import connection

    first, end = ids_in(tree)
    sql = _NODES.format(time=_SECONDS[connection.vendor])
    parts = []
    at = max(first, after + 1)
    while at <= min(last, end):
        nodes = fetch(sql, [at, min(last, at + MOST_READ - 1)])
        at += MOST_READ
        rows = np.zeros(len(nodes), places.ROW)
        none = (0, 0)
        for number, (key, slot, up, author, time, name) in enumerate(nodes):
            x, y = place_of.get(key, none)
            rows[number] = (
                key & _ORDINAL,
                slot & _ORDINAL,
                (up or 0) & _ORDINAL,
                author,
                max(0, time),
                name.encode(),
                x,
                y,
            )
        parts.append(rows)
    return np.concatenate(parts) if parts else np.zeros(0, places.ROW)


def _surprise(tree: int, rows: places.Rows, after: int, last: int) -> bytes:
    """A byte of surprise for each of these rows, which are the nodes after the id `after`."""
    surprise = mean_surprise(tree, after, last)
    return places.surprise_bytes(rows, {key & _ORDINAL: bits for key, bits in surprise.items()})


def _blocks(
    row: Landscape, tree: int, rows: places.Rows, surprise: bytes, number: int
) -> Iterator[LandscapeBlock]:
    """The blocks of these rows, of which the first has this number."""
    for first in range(0, len(rows), places.IN_BLOCK):
        some = rows[first : first + places.IN_BLOCK]
        yield LandscapeBlock(
            landscape=row,
            tree_id=tree,
            number=number + first // places.IN_BLOCK,
            count=len(some),
            last=(tree << ORDINAL_BITS) + int(some["ordinal"][-1]),
            rows=some.tobytes(),
            surprise=surprise[first : first + places.IN_BLOCK],
        )


def _append(
    row: Landscape,
    tree: int,
    rows: places.Rows,
    surprise: bytes,
    newest: LandscapeBlock | None,
) -> None:
    """Adds rows to the newest block of a tree, and to new ones."""
    at = 0 if newest is None else min(places.IN_BLOCK - newest.count, len(rows))
    if newest is not None and at > 0:
        LandscapeBlock.objects.filter(pk=newest.pk).update(
            rows=bytes(newest.rows) + rows[:at].tobytes(),
            surprise=bytes(newest.surprise).ljust(newest.count, b"\0") + surprise[:at],
            count=newest.count + at,
            last=(tree << ORDINAL_BITS) + int(rows["ordinal"][at - 1]),
        )
    number = 0 if newest is None else newest.number + 1
    LandscapeBlock.objects.bulk_create(_blocks(row, tree, rows[at:], surprise[at:], number))


# New texts.


def wish(tree_uid: str) -> None:
    """Has the new texts of a tree placed on the maps that it is on."""
    tree = Tree.objects.filter(uid=tree_uid).values_list("pk", "grove_id").first()
    if tree is None:
        return
    rows = Landscape.objects.filter(Q(tree=tree[0]) | Q(grove=tree[1], tree__isnull=True))
    for uid in rows.filter(revision__gt=0).values_list("uid", flat=True):
        jobs.enqueue(PLACE, [uid], queue=QUEUE)


def place(uid: str) -> int:
    """Places the texts that were written since a map was drawn, and returns how many: near the
    texts that are most like them. No other text moves. Safe to run twice, also at once."""
    row = Landscape.objects.filter(uid=uid, revision__gt=0).first()
    count = 0
    if row is not None:
        trees = list(trees_of(row).values_list("pk", flat=True))
        ends = _indexed(trees, row.embedder)
        done = _placed_up_to(row)
        for tree, last in ends.items():
            while (after := done.get(tree, 0)) < last:
                now_last, here = _place_some(row, tree, after, last)
                if now_last is None:
                    return count
                done[tree] = now_last
                count += here
    return count


def _placed_up_to(row: Landscape) -> dict[int, int]:
    rows = LandscapeBlock.objects.filter(landscape=row).order_by()
    return dict(rows.values("tree_id").annotate(end=Max("last")).values_list("tree_id", "end"))


def _place_some(row: Landscape, tree: int, after: int, last: int) -> tuple[int | None, int]:
    """Places up to AT_ONCE nodes of a tree after the id `after`; returns the last one (None: the
    map has changed meanwhile) and how many have got a place."""
    keys = Node.objects.filter(tree=tree, pk__gt=after, pk__lte=last).order_by("pk")
    those = list(keys.values_list("pk", flat=True)[:AT_ONCE])
    if not those:
        return last if last > after else None, 0
    end = those[-1]
    place_of: dict[int, Sequence[int]] = {}
    nodes, vectors = _new_vectors(tree, row.embedder, after, end)
    if len(nodes):
        spots = layout.place_new(vectors, _old(row), nodes & _ORDINAL)
        place_of = dict(zip(nodes.tolist(), spots.tolist(), strict=True))
    rows = _rows(tree, after, end, place_of)
    surprise = _surprise(tree, rows, after, end)
    with transaction.atomic():
        own = Landscape.objects.filter(pk=row.pk, revision=row.revision, placed=row.placed)
        if not own.update(placed=F("placed") + len(place_of)):
            return None, 0
        newest = LandscapeBlock.objects.filter(landscape=row, tree=tree).order_by("-number").first()
        if newest is not None and newest.last > after:
            return None, 0
        _append(row, tree, rows, surprise, newest)
    row.placed += len(place_of)
    return end, len(place_of)


def _new_vectors(tree: int, embedder: str, after: int, end: int) -> tuple[layout.Whole, Floats]:
    """The texts of a tree after the id `after` up to `end` with their vectors: read from the last
    block on, since new ones are there."""
    rows = VectorBlock.objects.filter(tree=tree, embedder=embedder).order_by("-number")
    parts, count = [], 0
    for joined, held in rows.values_list("rows", "count").iterator(chunk_size=4):
        parts.append(bytes(joined))
        count += held
        if held and int.from_bytes(parts[-1][:8], "little") <= after:
            break
    if not parts:
        return np.zeros(0, np.int64), np.zeros((0, 1), np.float32)
    nodes, vectors = _read(parts, count)
    wanted = (nodes > after) & (nodes <= end)
    nodes, vectors = nodes[wanted], vectors[wanted]
    texts = np.isin(nodes, _texts_of(nodes))
    nodes, vectors = nodes[texts], vectors[texts]
    order = np.argsort(nodes, kind="stable")
    return nodes[order], vectors[order]


def _old(row: Landscape) -> Iterator[tuple[Floats, layout.Coordinates]]:
    """The texts that have a place, in parts: their vectors and places."""
    trees = LandscapeBlock.objects.filter(landscape=row).order_by("tree_id")
    for tree in list(trees.values_list("tree_id", flat=True).distinct()):
        parts = LandscapeBlock.objects.filter(landscape=row, tree=tree).order_by("number")
        rows = places.unpacked([bytes(block) for block in parts.values_list("rows", flat=True)])
        rows = rows[rows["x"] > 0]
        keys = rows["ordinal"].astype(np.int64) + (tree << ORDINAL_BITS)
        blocks = VectorBlock.objects.filter(tree=tree, embedder=row.embedder).order_by("number")
        for joined, count in blocks.values_list("rows", "count").iterator(chunk_size=20):
            nodes, vectors = _read([bytes(joined)], count)
            at = np.minimum(np.searchsorted(keys, nodes), max(0, len(keys) - 1))
            known = keys[at] == nodes if len(keys) else np.zeros(len(nodes), np.bool_)
            if known.any():
                yield vectors[known], np.stack([rows["x"], rows["y"]], axis=1)[at[known]]
