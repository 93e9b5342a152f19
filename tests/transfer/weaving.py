"""Writes files of Tapestry Loom, version 0, as the archives of rkyv 0.8 that they are."""

import struct
from dataclasses import dataclass, field


@dataclass
class Knot:
    """A node. `tokens` are texts with their data, instead of `text`."""

    key: int
    text: bytes = b""
    above: int | None = None
    below: list[int] = field(default_factory=list)
    model: str | None = None
    is_marked: bool = False
    meta: dict[str, str] = field(default_factory=dict)
    tokens: list[tuple[bytes, dict[str, str]]] | None = None


class _Writer:
    def __init__(self, version: int) -> None:
        self.out = bytearray(b"VersionedTapestryWeave__" + struct.pack("<Q", version))

    def put(self, data: bytes) -> int:
        """Writes at an aligned place, which it returns."""
        self.out += bytes(-len(self.out) % 16)
        self.out += data
        return len(self.out) - len(data)


def _pointer(at: int, target: int) -> bytes:
    return struct.pack("<i", target - at)


def _text(out: _Writer, text: str, at: int) -> bytes:
    """The eight bytes of a text at the place `at`."""
    raw = text.encode()
    if len(raw) <= 8:
        return raw + b"\xff" * (8 - len(raw))
    size = (len(raw) & 0x3F) | 0x80 | ((len(raw) >> 6) << 8)
    return struct.pack("<I", size) + _pointer(at, out.put(raw))


def _fixed(out: _Writer, place: int, at: int, data: bytes) -> None:
    out.out[place + at : place + at + len(data)] = data


def _vector(out: _Writer, place: int, at: int, raw: bytes, count: int) -> None:
    target = out.put(raw)
    _fixed(out, place, at, _pointer(place + at, target) + struct.pack("<I", count))


def _ids(out: _Writer, place: int, at: int, ids: list[int]) -> None:
    target = out.put(b"".join(local_id.to_bytes(16, "little") for local_id in ids))
    head = struct.pack("<iII", 0, len(ids), 0) + _pointer(place + at + 12, target)
    _fixed(out, place, at, head)


def _texts(out: _Writer, place: int, at: int, texts: dict[str, str]) -> None:
    target = out.put(bytes(16 * len(texts)))
    for number, pair in enumerate(texts.items()):
        for side, text in enumerate(pair):
            spot = target + 16 * number + 8 * side
            _fixed(out, spot, 0, _text(out, text, spot))
    head = struct.pack("<iII", 0, len(texts), 0) + _pointer(place + at + 12, target)
    _fixed(out, place, at, head)


def _content(out: _Writer, place: int, knot: Knot) -> None:
    if knot.tokens is None:
        _vector(out, place, 4, knot.text, len(knot.text))
    else:
        _fixed(out, place, 0, b"\x01")
        target = out.put(bytes(24 * len(knot.tokens)))
        head = _pointer(place + 4, target) + struct.pack("<I", len(knot.tokens))
        _fixed(out, place, 4, head)
        for number, (raw, texts) in enumerate(knot.tokens):
            _vector(out, target + 24 * number, 0, raw, len(raw))
            _texts(out, target + 24 * number, 8, texts)
    _texts(out, place, 12, knot.meta)
    if knot.model is not None:
        _fixed(out, place, 28, b"\x01")
        _fixed(out, place, 32, _text(out, knot.model, place + 32))
        _texts(out, place, 40, {"color": "red"})


def weave(knots: list[Knot], *, version: int = 0, meta: dict[str, str] | None = None) -> bytes:
    """A file with these nodes."""
    out = _Writer(version)
    buckets = out.put(bytes(144 * len(knots)) + b"\x01" * len(knots) + b"\xff" * 16)
    control = buckets + 144 * len(knots)
    for number, knot in enumerate(knots):
        bucket = control - 144 * (number + 1)
        place = bucket + 16
        _fixed(out, bucket, 0, knot.key.to_bytes(16, "little"))
        _fixed(out, place, 0, knot.key.to_bytes(16, "little"))
        if knot.above is not None:
            _fixed(out, place, 16, b"\x01")
            _fixed(out, place, 32, knot.above.to_bytes(16, "little"))
        _ids(out, place, 48, knot.below)
        _fixed(out, place, 65, bytes([knot.is_marked]))
        _content(out, place + 68, knot)
    root = out.put(bytes(112))
    tops = [knot.key for knot in knots if knot.above is None]
    tail = len(out.out)
    _fixed(out, root, 0, _pointer(root, control) + struct.pack("<II", len(knots), len(knots)))
    _ids(out, root, 12, tops)
    _texts(out, root, 88, meta or {})
    # The root object is the last of a file, so it is written again behind what it points at.
    again = out.put(bytes(112))
    for at in (0, 24, 100):
        if at < 112:
            target = root + at + struct.unpack_from("<i", out.out, root + at)[0]
            _fixed(out, again, at, _pointer(again + at, target))
    for at, size in ((4, 8), (16, 8), (92, 8)):
        _fixed(out, again, at, bytes(out.out[root + at : root + at + size]))
    assert tail <= again
    return bytes(out.out)
