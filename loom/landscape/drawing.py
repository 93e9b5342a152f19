"""The worker's side of a map by meaning: a whole map is drawn from the stored vectors. Nothing here
changes a tree: a map follows from texts, as their vectors do."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from time import monotonic

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from loom.landscape import layout
from loom.landscape.asking import LOST_S
from loom.landscape.blocks import blocks_of, rows_of, surprise_of
from loom.landscape.models import Landscape, LandscapeBlock
from loom.landscape.placing import wish
from loom.landscape.text_vectors import (
    last_indexed,
    newest_vectors,
)
from loom.meaning import indexing
from loom.meaning.models import VectorState
from loom.trees.models import Tree

log = logging.getLogger("heddle.landscape")
TOLD_S = 1.0


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


def _draw(row: Landscape, tell: _Progress) -> None:
    trees = list(row.trees().select_related("grove"))
    for at, tree in enumerate(trees):
        _index(tree, row.embedder)
        tell(0.1 * (at + 1) / max(1, len(trees)))
    ends = last_indexed([tree.pk for tree in trees], row.embedder)
    nodes, vectors = newest_vectors(list(ends), row.embedder)
    tell(0.15)
    drawn = layout.to_whole(layout.lay_out(vectors, tell.part(0.15, 0.9)))
    place_of = dict(zip(nodes.tolist(), drawn.tolist(), strict=True))
    tell(0.9)
    blocks: list[LandscapeBlock] = []
    for at, (tree_id, last) in enumerate(ends.items()):
        rows = rows_of(tree_id, 0, last, place_of)
        blocks += blocks_of(row, tree_id, rows, surprise_of(tree_id, rows, 0, last), 0)
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
