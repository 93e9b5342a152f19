"""Bodies that programs send compressed, read with a limit on what they unpack to. Pure."""

import zlib

GZIP, ZLIB, RAW = 31, 15, -15  # the formats, as zlib counts them
FORMATS = {"gzip": (GZIP,), "x-gzip": (GZIP,), "deflate": (ZLIB, RAW)}
MOST_ENCODINGS = 2  # of one body, one over the other
MOST_MEMBERS = 64  # of one encoding: all that is behind a member is copied once for each


class UnpackedTooLongError(Exception):
    """What a body unpacks to is over its limit."""


def unpacked(raw: bytes, encoding: str, *, most: int) -> bytes | None:
    """The body that `raw` is in this `Content-Encoding`; None if it cannot be read: another
    encoding, bytes that are not in it, or over MOST_MEMBERS. Raises UnpackedTooLongError over
    `most` bytes, of which no more than that is unpacked."""
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > MOST_ENCODINGS or not all(name in FORMATS for name in names):
        return None
    for name in reversed(names):  # the last one was applied last
        whole = None
        for way in FORMATS[name]:
            whole = _inflated(raw, way, most) if whole is None else whole
        if whole is None:
            return None
        raw = whole
    return raw


def _inflated(raw: bytes, way: int, most: int) -> bytes | None:
    """All members of a compressed body, one behind the other."""
    pieces: list[bytes] = []
    size = 0
    while raw:
        if len(pieces) == MOST_MEMBERS:
            return None
        member = zlib.decompressobj(way)
        try:
            piece = member.decompress(raw, most - size + 1)
        except zlib.error:
            return None
        size += len(piece)
        if size > most:
            raise UnpackedTooLongError
        if not member.eof:
            return None
        pieces.append(piece)
        raw = member.unused_data
    return b"".join(pieces)
