"""New texts find their place on a map by meaning, near those most like them: no other moves."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import F, Max, Q

from loom.engine import jobs
from loom.landscape import layout
from loom.landscape.asking import QUEUE
from loom.landscape.blocks import append_rows, rows_of, surprise_of
from loom.landscape.models import Landscape, LandscapeBlock
from loom.landscape.text_vectors import last_indexed, new_vectors, placed_vectors
from loom.language.ids import ORDINAL_BITS
from loom.trees.models import Tree
from loom.trees.queries.lookup import nodes_in

PLACE = "loom.landscape.tasks.place"
AT_ONCE = 1_000  # new texts that are placed together
_ORDINAL = (1 << ORDINAL_BITS) - 1


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
        trees = list(row.trees().values_list("pk", flat=True))
        ends = last_indexed(trees, row.embedder)
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
    keys = nodes_in(tree, after=after, last=last).order_by("pk")
    those = list(keys.values_list("pk", flat=True)[:AT_ONCE])
    if not those:
        return last if last > after else None, 0
    end = those[-1]
    place_of: dict[int, Sequence[int]] = {}
    nodes, vectors = new_vectors(tree, row.embedder, after, end)
    if len(nodes):
        spots = layout.place_new(vectors, placed_vectors(row), nodes & _ORDINAL)
        place_of = dict(zip(nodes.tolist(), spots.tolist(), strict=True))
    rows = rows_of(tree, after, end, place_of)
    surprise = surprise_of(tree, rows, after, end)
    with transaction.atomic():
        own = Landscape.objects.filter(pk=row.pk, revision=row.revision, placed=row.placed)
        if not own.update(placed=F("placed") + len(place_of)):
            return None, 0
        newest = LandscapeBlock.objects.filter(landscape=row, tree=tree).order_by("-number").first()
        if newest is not None and newest.last > after:
            return None, 0
        append_rows(row, tree, rows, surprise, newest)
    row.placed += len(place_of)
    return end, len(place_of)
