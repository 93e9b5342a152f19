"""Vectors of the texts of a tree, made by a worker: in batches, each of which is stored before the
next begins, so that a worker that dies loses one batch. Safe to run twice, also at once."""

import hashlib
import logging
from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Left

from loom.language.ids import ids_in
from loom.meaning.embedders import MOST_READ, Embedder, EmbedderFailed, embedded, embedder_of
from loom.meaning.models import TextVector, VectorBlock, VectorState
from loom.trees.models import Node, Tree

log = logging.getLogger("heddle.meaning")
KINDS = ("text", "annotation")
MOST_WAITING = 200  # trees that one look for waiting ones returns


def digest_of(text: str) -> str:
    """The SHA-256 of a text, by which its vector is known."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def waiting() -> list[str]:
    """The uids of trees with changes that are not indexed, those that wait longest first. Vectors
    of an older embedder of ours count for nothing; those of another one are deleted when a grove
    leaves it."""
    ours = embedded()
    known = VectorState.objects.filter(seen_at__gte=F("tree__touched_at"))
    known = known.filter(Q(embedder=ours.name if ours else "") | Q(embedder__contains=":"))
    rows = Tree.objects.filter(erasing_at__isnull=True).exclude(pk__in=known.values("tree"))
    return list(rows.order_by("touched_at", "id").values_list("uid", flat=True)[:MOST_WAITING])


def index_tree(uid: str) -> int:
    """Makes the vectors that a tree lacks, and returns how many versions were taken in. Does
    nothing without an embedder, or if the tree is gone."""
    tree = Tree.objects.select_related("grove").filter(uid=uid, erasing_at=None).first()
    embedder = embedder_of(tree.grove) if tree is not None else None
    if tree is None or embedder is None:
        return 0
    state, _ = VectorState.objects.get_or_create(tree=tree, embedder=embedder.name)
    _leave_others(tree, embedder)
    looked_at, done = tree.touched_at, 0
    try:
        while (count := _next_batch(tree, embedder, state)) is not None:
            done += count
    except EmbedderFailed as failed:
        log.warning("no vectors for tree %s: %s", tree.uid, failed)
        VectorState.objects.filter(pk=state.pk).update(error=str(failed)[:200])
        return done
    VectorState.objects.filter(pk=state.pk).update(seen_at=looked_at, error="")
    return done


def _leave_others(tree: Tree, embedder: Embedder) -> None:
    """Deletes the vectors of embedders that the grove no longer uses."""
    for model in (VectorState, VectorBlock, TextVector):
        model.objects.filter(~Q(embedder=embedder.name), tree=tree).delete()


def _next_batch(tree: Tree, embedder: Embedder, state: VectorState) -> int | None:
    """Takes in the next versions after `state.last`; None if there are no more, or if another
    worker is ahead. Nothing is locked while the embedder works."""
    first, last = ids_in(tree.pk)
    rows = Node.objects.filter(pk__gt=max(first, state.last), pk__lte=last).order_by("pk")
    found = list(rows.values_list("pk", "kind", Left("text", MOST_READ))[: embedder.batch])
    if not found:
        return None
    texts = {key: text for key, kind, text in found if kind in KINDS and text.strip()}
    vectors = _vectors(tree, embedder, texts)
    with transaction.atomic():
        held = VectorState.objects.filter(pk=state.pk, last=state.last)
        if not held.update(last=found[-1][0], count=F("count") + len(texts)):
            return None
        _append(tree, embedder, list(texts), vectors)
    state.last = found[-1][0]
    return len(texts)


def _vectors(tree: Tree, embedder: Embedder, texts: dict[int, str]) -> list[bytes]:
    """The packed vectors of the texts, in order: those that are known, and those that the embedder
    makes now, which are stored."""
    from loom.meaning.rules import packed

    digests = {key: digest_of(text) for key, text in texts.items()}
    own = TextVector.objects.filter(tree=tree, embedder=embedder.name)
    rows = own.filter(digest__in=set(digests.values())).values_list("digest", "vector")
    known = {digest: bytes(vector) for digest, vector in rows}
    lacking = {digests[key]: text for key, text in texts.items() if digests[key] not in known}
    if lacking:
        made = packed(embedder.vectors(list(lacking.values())))
        new = dict(zip(lacking, made, strict=True))
        TextVector.objects.bulk_create(
            [
                TextVector(tree=tree, embedder=embedder.name, digest=digest, vector=vector)
                for digest, vector in new.items()
            ],
            ignore_conflicts=True,
        )
        known |= new
    return [known[digests[key]] for key in texts]


def _append(tree: Tree, embedder: Embedder, nodes: Sequence[int], vectors: list[bytes]) -> None:
    """Adds versions with their vectors to the last block of the tree, and to new ones."""
    from loom.meaning.rules import IN_BLOCK, block_of, row_type

    if not nodes:
        return
    own = VectorBlock.objects.filter(tree=tree, embedder=embedder.name)
    last = own.order_by("-number").first()
    number, at = (last.number, 0) if last is not None else (0, 0)
    if last is not None and last.count < IN_BLOCK:
        at = min(IN_BLOCK - last.count, len(nodes))
        joined = bytes(last.rows) + block_of(nodes[:at], vectors[:at])
        own.filter(pk=last.pk).update(rows=joined, count=last.count + at)
    for first in range(at, len(nodes), IN_BLOCK):
        number += 1
        some = slice(first, first + IN_BLOCK)
        rows = block_of(nodes[some], vectors[some])
        count = len(rows) // row_type(embedder.dimensions).itemsize
        VectorBlock.objects.create(
            tree=tree, embedder=embedder.name, number=number, count=count, rows=rows
        )


def progress(trees: Iterable[Tree]) -> tuple[int, int]:
    """How many of these trees are indexed up to their last change, and how many there are."""
    keys = {tree.pk: tree.touched_at for tree in trees}
    rows = VectorState.objects.filter(tree__in=keys, seen_at__isnull=False)
    seen = rows.values_list("tree", "seen_at")
    return sum(at is not None and at >= keys[key] for key, at in seen), len(keys)
