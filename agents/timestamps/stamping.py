"""Which texts are stamped: of what was written since the last time, each version that no other was
built upon. The hash of a version covers all that it was built upon, so one stamp speaks for a whole
conversation."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from agents.timestamps import authorities
from agents.timestamps.models import StampProgress, TimeStamp
from agents.timestamps.versions import Version, built_upon, versions_between
from loom.engine.changed_trees import ChangedTrees
from loom.language.ids import ids_in
from loom.reading.queries.verify import evidence
from loom.text.hashes import canonical, sha256
from loom.trees.models import Node, Tree
from loom.trees.queries.node_bodies import proof_of

SETTLED = timedelta(seconds=60)  # what is younger may get something below it that speaks for it
BEFORE = timedelta(hours=1)  # what is older when a tree is first looked at is not stamped
MOST_BEFORE = 5_000
changed_trees = ChangedTrees("timestamps")


def waiting() -> list[str]:
    """The uids of trees with texts that may need a stamp, among those that a look concerns, in the
    order of ids."""
    known = StampProgress.objects.filter(tree=OuterRef("pk"), seen_at__gte=OuterRef("touched_at"))
    rows = Tree.objects.filter(changed_trees.looked_at())
    rows = rows.filter(~Exists(known), erasing_at__isnull=True)
    return list(rows.order_by("id").values_list("uid", flat=True))


def stamp_tree(uid: str) -> int | None:
    """Has the texts of a tree stamped that need it, and returns how many stamps were made; None if
    some are too young, or the tree is gone. Safe to run twice, also at once.

    Raises NotStamped if no authority gives a stamp. Those that were made before are stored, and the
    reason is in `StampProgress.error`.
    """
    tree = Tree.objects.filter(uid=uid, erasing_at__isnull=True).first()
    if tree is None or not settings.TIMESTAMPS:
        return None
    progress = StampProgress.objects.filter(tree=tree).first() or _first_look(tree)
    looked_at, stamped = tree.touched_at, 0
    try:
        while versions := _next_versions(tree, progress.last):
            stamped += _stamp(versions)
            progress.last = versions[-1].id
            StampProgress.objects.filter(pk=progress.pk).update(last=progress.last)
    except authorities.NotStamped as refused:
        StampProgress.objects.filter(pk=progress.pk).update(error=str(refused)[:300])
        raise
    newest = ids_in(tree.pk)[1]
    if Node.objects.filter(pk__gt=progress.last, pk__lte=newest).exists():
        return None
    StampProgress.objects.filter(pk=progress.pk).update(seen_at=looked_at, error="")
    return stamped


def _first_look(tree: Tree) -> StampProgress:
    begins = {"last": _begins_behind(tree)}
    return StampProgress.objects.get_or_create(tree=tree, defaults=begins)[0]


def _begins_behind(tree: Tree) -> int:
    """The id behind which the versions of a tree are stamped that nobody has looked at yet: of the
    newest `MOST_BEFORE`, those that were written lately."""
    since = timezone.now() - BEFORE
    rows = Node.objects.filter(pk__range=ids_in(tree.pk)).order_by("-pk")
    first = ids_in(tree.pk)[1]
    for key, at in rows.values_list("pk", "created_at")[:MOST_BEFORE]:
        if at < since:
            return key
        first = key
    return first - 1


def _next_versions(tree: Tree, last: int) -> list[Version]:
    """The next versions behind an id, up to the first that is too young."""
    until = timezone.now() - SETTLED
    versions = []
    for version in versions_between(last + 1, ids_in(tree.pk)[1]):
        if version.created_at > until:
            break
        versions.append(version)
    return versions


def _stamp(versions: Sequence[Version]) -> int:
    """Has those of the versions stamped that no other of them was built upon."""
    covered = {key for keys in built_upon(versions).values() for key in keys}
    newest = [version.id for version in versions if version.id not in covered]
    done = set(TimeStamp.objects.filter(node__in=newest).values_list("node_id", flat=True))
    stamped = 0
    for key, message in _messages(key for key in newest if key not in done):
        stamp = authorities.stamp(message)
        stamped += _store(key, stamp, versions)
    return stamped


def _messages(keys: Iterable[int]) -> Iterable[tuple[int, bytes]]:
    """The bytes whose SHA-256 is the hash of each version. One that does not give its hash is left
    out: verification tells of it."""
    rows = Node.objects.filter(pk__in=list(keys)).order_by("pk")
    for chunk in evidence(list(rows.values_list("pk", "length"))):
        for piece in chunk:
            if piece.row is None:
                continue
            proof = proof_of(piece.row, piece.row.more, piece.edited_hash)
            if sha256(proof) == piece.row.hash:
                yield piece.id, canonical(proof)


def _store(key: int, stamp: authorities.Stamp, versions: Sequence[Version]) -> int:
    """Stores the stamp of a version; 0 if another worker was first, or the version is gone."""
    try:
        with transaction.atomic():
            TimeStamp.objects.create(
                node_id=key,
                authority=stamp.authority,
                at=stamp.at,
                answer=stamp.answer,
                first=versions[0].id,
                last=versions[-1].id,
            )
    except IntegrityError:
        return 0
    return 1
