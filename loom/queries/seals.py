"""Whether the sealed answers of calls still are what was received (docs/model.md §11)."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable
from typing import Literal

from django.db.models import Q

from loom.models import Call, Tree

Verdict = Literal["sealed", "open", "broken"]
_PIECE = 1 << 20


def verdicts_of(tree: Tree, uids: Iterable[str]) -> dict[str, Verdict]:
    """For each call: sealed (exact and unchanged), open (not sealed yet, reassembled, or not
    here, as after an import), or broken. Reads one stored answer at a time."""
    verdicts: dict[str, Verdict] = dict.fromkeys(uids, "open")
    wanted = Q(uid__in=verdicts) | Q(origin__in=verdicts)
    calls = Call.objects.filter(wanted, tree=tree, sealed_at__isnull=False)
    columns = calls.values_list("uid", "origin", "bytes", "sha256", "response")
    for own, origin, how, sha256, response in columns.iterator(chunk_size=8):
        uid = origin or own
        if digest_of(bytes(response)) != sha256:
            verdicts[uid] = "broken"
        elif how == "exact":
            verdicts[uid] = "sealed"
    return verdicts


def digest_of(stored: bytes) -> str | None:
    """The hex SHA-256 of the body that `stored` is the gzip of; None where it is no gzip."""
    digest = hashlib.sha256()
    if not stored:
        return digest.hexdigest()
    try:
        with gzip.open(io.BytesIO(stored)) as body:
            while piece := body.read(_PIECE):
                digest.update(piece)
    except (OSError, EOFError, zlib.error):
        return None
    return digest.hexdigest()
