"""Vectors of the texts of a tree, made by a worker: in batches, each of which is stored before the
next begins, so that a worker that dies loses one batch. Safe to run twice, also at once."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Left

from loom.embedding.embedders import (
    MOST_READ,
    Embedder,
    EmbedderFailed,
    embedded,
    embedder_of,
    is_remote,
)
from loom.engine import backoff
from loom.engine.changed_trees import ChangedTrees
from loom.language.ids import ids_in
from loom.meaning.models import EmbedderSettings, TextVector, VectorBlock, VectorState
from loom.people.models import Grove
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import withheld_from_models

if TYPE_CHECKING:
    from loom.embedding.vectors import Floats

log = logging.getLogger("heddle.meaning")
KINDS = ("text", "annotation")
changed_trees = ChangedTrees("meaning")


def digest_of(text: str) -> str:
    """The SHA-256 of a text, by which its vector is known."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def waiting() -> list[str]:
    """The uids of trees with changes that are not indexed, among those that a look concerns, in the
    order of ids. Vectors of an older embedder of ours count for nothing; those of another one are
    deleted when a grove leaves it."""
    ours = embedded()
    known = VectorState.objects.filter(
        Q(embedder=ours.name if ours else "") | Q(embedder__contains=":"),
        tree=OuterRef("pk"),
        seen_at__gte=OuterRef("touched_at"),
    )
    rows = Tree.objects.filter(changed_trees.looked_at())
    stopped = EmbedderSettings.objects.filter(grove=OuterRef("grove"), is_stopped=True)
    rows = rows.filter(~Exists(known), ~Exists(stopped), erasing_at__isnull=True)
    return list(rows.order_by("id").values_list("uid", flat=True))


AfterIndexing = Callable[[str], object]
_after: list[AfterIndexing] = []


def after_indexing(run: AfterIndexing) -> AfterIndexing:
    """Registers what follows when a tree, by its uid, was indexed up to its last change."""
    if run not in _after:
        _after.append(run)
    return run


def was_indexed(uid: str) -> None:
    """Lets follow what is registered."""
    for run in _after:
        run(uid)


class NotIndexed(Exception):
    """The embedder gave no vectors; the message says why. `retry_s`: seconds after which the tree
    is tried again."""

    def __init__(self, reason: str, retry_s: float) -> None:
        super().__init__(reason)
        self.retry_s = retry_s


class _Paused(EmbedderFailed):
    """The embedder is not asked, because it has failed recently."""


def index_tree(uid: str) -> int | None:
    """Makes the vectors that a tree lacks, and returns how many versions were taken in; None if
    the tree has no embedder, is gone, or an owner has stopped it.

    Raises NotIndexed if the embedder fails or pauses. What was made before is stored, and the
    reason is in `VectorState.error`.
    """
    tree = Tree.objects.select_related("grove").filter(uid=uid, erasing_at=None).first()
    embedder = embedder_of(tree.grove) if tree is not None else None
    if tree is None or embedder is None:
        return None
    state, _ = VectorState.objects.get_or_create(tree=tree, embedder=embedder.name)
    _leave_others(tree, embedder)
    looked_at, done = tree.touched_at, 0
    try:
        while not is_stopped(tree.grove) and not tree_changed_embedder(tree, embedder):
            count = _next_batch(tree, embedder, state)
            if count is None:
                break
            done += count
        else:
            return None
    except EmbedderFailed as failure:
        VectorState.objects.filter(pk=state.pk).update(error=str(failure)[:200])
        pause_s, _ = backoff.pause(embedder.name)
        # A tree on which the embedder failed lets the others try first: its text may be the reason.
        retry_s = pause_s if isinstance(failure, _Paused) else 2 * pause_s
        raise NotIndexed(str(failure), retry_s) from failure
    VectorState.objects.filter(pk=state.pk).update(seen_at=looked_at, error="")
    return done


def is_stopped(grove: Grove) -> bool:
    """Whether an owner has stopped that vectors are made."""
    return EmbedderSettings.objects.filter(grove=grove, is_stopped=True).exists()


def tree_changed_embedder(tree: Tree, embedder: Embedder) -> bool:
    """Whether the grove of a tree has another embedder meanwhile."""
    now = embedder_of(tree.grove)
    return now is None or now.name != embedder.name


def _ask(embedder: Embedder, texts: Sequence[str]) -> "Floats":
    """The vectors of texts, unless the embedder failed so recently that it pauses."""
    pause_s, reason = backoff.pause(embedder.name)
    if pause_s:
        raise _Paused(reason)
    try:
        vectors = embedder.vectors(texts)
    except EmbedderFailed as failure:
        pause_s = backoff.failed(embedder.name, str(failure))
        log.warning("embedder %s failed, pauses for %d s: %s", embedder.name, pause_s, failure)
        raise
    backoff.worked(embedder.name)
    return vectors


def _leave_others(tree: Tree, embedder: Embedder) -> None:
    """Deletes the vectors of embedders that the grove no longer uses."""
    for model in (VectorState, VectorBlock, TextVector):
        model.objects.filter(~Q(embedder=embedder.name), tree=tree).delete()


def _next_batch(tree: Tree, embedder: Embedder, state: VectorState) -> int | None:
    """Takes in the next versions after `state.last`; None if there are no more, or if another
    worker is ahead. Nothing is locked while the embedder works."""
    first, last = ids_in(tree.pk)
    rows = Node.objects.filter(pk__gt=max(first, state.last), pk__lte=last).order_by("pk")
    versions = list(rows.values_list("pk", "kind", Left("text", MOST_READ))[: embedder.batch])
    if not versions:
        return None
    texts = {key: text for key, kind, text in versions if kind in KINDS and text.strip()}
    if is_remote(embedder):  # what models are not sent leaves the server to no endpoint either
        for key in withheld_from_models(list(texts)):
            texts.pop(key, None)
    vectors = _vectors(tree, embedder, texts)
    with transaction.atomic():
        held = VectorState.objects.filter(pk=state.pk, last=state.last)
        if not held.update(last=versions[-1][0], count=F("count") + len(texts)):
            return None
        _append(tree, embedder, list(texts), vectors)
    state.last = versions[-1][0]
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
        vectors = packed(_ask(embedder, list(lacking.values())))
        new = dict(zip(lacking, vectors, strict=True))
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
    from loom.meaning.rules import IN_BLOCK, block_of

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
        count = len(nodes[some])
        VectorBlock.objects.create(
            tree=tree, embedder=embedder.name, number=number, count=count, rows=rows
        )


def progress(trees: Iterable[Tree]) -> tuple[int, int]:
    """How many of these trees are indexed up to their last change, and how many there are."""
    keys = {tree.pk: tree.touched_at for tree in trees}
    rows = VectorState.objects.filter(tree__in=keys, seen_at__isnull=False)
    seen = rows.values_list("tree", "seen_at")
    return sum(at is not None and at >= keys[key] for key, at in seen), len(keys)
