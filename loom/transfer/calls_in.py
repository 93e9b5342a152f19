"""Calls from a file of our own: kept with their bytes, so that verifying looks at them."""

import base64
import binascii
import hashlib
import zlib
from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from loom.models import Call
from loom.transfer.growing import Beat, Growing
from loom.transfer.own_shapes import CallPart
from loom.transfer.records import CallRecord, unreadable

MAX_BODY = 64 * 1024 * 1024  # of an answer that was packed; more is no provider's answer
GZIP = 31  # zlib's word for a gzip header
_PIECE = 1 << 20


def is_sound(part: CallPart) -> bool:
    """Whether the answer's bytes give its SHA-256. INVALID_SYNTAX where they are no gzip, or
    grow beyond what anybody would unpack."""
    digest, size = hashlib.sha256(), 0
    try:
        packed = base64.b64decode(part.response, validate=True)
        unpacking = zlib.decompressobj(GZIP)
        while packed and not unpacking.eof:
            piece = unpacking.decompress(packed, _PIECE)
            packed = unpacking.unconsumed_tail
            size += len(piece)
            digest.update(piece)
            if size > MAX_BODY:
                raise unreadable(f"The answer of the call {part.id} is too large.")
        if part.response and (not unpacking.eof or unpacking.unused_data):
            raise ValueError
    except (binascii.Error, zlib.error, ValueError):
        raise unreadable(f"The answer of the call {part.id} cannot be unpacked.") from None
    return digest.hexdigest() == part.sha256


def add_calls(growing: Growing, given: Iterator[CallRecord], beat: Beat) -> None:
    """Writes the calls, each in a transaction of its own: one may be large."""
    for one in given:
        growing.authors.meet([(one.by, one.kind)])
        with transaction.atomic():
            beat()
            call = Call.objects.create(
                tree=growing.tree,
                participant=growing.authors.of(one.by, one.kind),
                origin=one.id,
                purpose=one.purpose,
                provider=one.provider,
                configuration=one.configuration,
                request=one.request,
                response=base64.b64decode(one.response),
                bytes=one.bytes,
                status=one.status,
                headers=one.headers,
                sha256=one.sha256,
                usage=one.usage,
                note=one.note,
                strategy=one.strategy,
                first_at=_at(one.first_at),
                sealed_at=_at(one.sealed_at),
            )
            # The moment of its making is set by itself, and here it is another.
            Call.objects.filter(pk=call.pk).update(started_at=_at(one.started_at))
        growing.report.kept["calls"] += 1


def _at(given: str) -> datetime | None:
    return datetime.fromisoformat(given) if given else None
