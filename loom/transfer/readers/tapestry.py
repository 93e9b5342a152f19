"""Files of Tapestry Loom, version 0: an archive of rkyv 0.8, decoded within the bounds of the file.

Numbers are little-endian. A pointer is an i32 that counts from its own place, except that of a
text, which counts from the text. Layout of the parts: docs/formats.md.
"""

import json
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from loom.transfer.files import Tell, without_secrets
from loom.transfer.inputs import Input, Put
from loom.transfer.node_collector import NodeCollector, model_of, rest_of, time_of
from loom.transfer.readers.encodings import text_in, warn_of_replaced
from loom.transfer.records import Head, NodeRecord, Report, node_text, unreadable

MAGIC = b"VersionedTapestryWeave__"
_HEAD, _ROOT, _BUCKET = 32, 112, 144
_TOKENS = 256 * 1024
_WORK = 4  # multiple of the file's size that may be read before it counts as a loop


def read_tapestry(file: Input, put: Put, report: Report) -> Head:
    """The tree with authors, bookmarks, times, and the data of tokens."""
    with (
        file.path.open("rb") as opened,
        mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        if len(data) < _HEAD + _ROOT:
            raise unreadable("The file is cut off.", "save it again in Tapestry Loom")
        version = struct.unpack_from("<Q", data, len(MAGIC))[0]
        if version != 0:
            raise unreadable(
                f"The file has version {version:,} of the format of Tapestry Loom.",
                "version 0 is read; export it in another format",
            )
        try:
            return _Weave(data, put, report, file.tell).read()
        except (struct.error, IndexError, ValueError, OverflowError):
            raise unreadable(
                "The file is not a whole file of Tapestry Loom.", "save it again there"
            ) from None


@dataclass
class _Node:
    key: int
    parent: int | None
    children: list[int]
    is_marked: bool
    raw: bytes
    tokens: list[dict[str, Any]]
    meta: dict[str, str]
    model: str | None
    model_meta: dict[str, str] = field(default_factory=dict)


class _Archive:
    """Reads the parts of an archive. Raises ValueError for what is outside of the file, or where
    more is read than a file of this size can hold."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self._left = _WORK * len(data) + 65536

    def bytes_at(self, at: int, length: int) -> bytes:
        if at < _HEAD or length < 0 or at + length > len(self.data):
            raise ValueError
        self._left -= length + 1
        if self._left < 0:
            raise ValueError
        return self.data[at : at + length]

    def number(self, form: str, at: int) -> int:
        return int(struct.unpack(form, self.bytes_at(at, struct.calcsize(form)))[0])

    def pointer(self, at: int) -> int:
        return at + self.number("<i", at)

    def wide(self, at: int) -> int:
        return int.from_bytes(self.bytes_at(at, 16), "little")

    def vector(self, at: int) -> bytes:
        length = self.number("<I", at + 4)
        return self.bytes_at(self.pointer(at), length) if length else b""

    def text(self, at: int) -> str:
        first = self.bytes_at(at, 8)
        if first[0] & 0xC0 != 0x80:
            return _decoded(first.partition(b"\xff")[0])
        size = int.from_bytes(first[:4], "little")
        length = (size & 0x3F) | ((size >> 8) << 6)
        start = at + int.from_bytes(first[4:], "little", signed=True)
        return _decoded(self.bytes_at(start, length))

    def ids(self, at: int) -> list[int]:
        """An ordered set of ids."""
        length = self.number("<I", at + 4)
        start = self.pointer(at + 12) if length else 0
        return [self.wide(start + 16 * number) for number in range(self._sound(length, 16))]

    def texts(self, at: int) -> dict[str, str]:
        """An ordered map of texts."""
        length = self.number("<I", at + 4)
        start = self.pointer(at + 12) if length else 0
        places = (start + 16 * number for number in range(self._sound(length, 16)))
        return {self.text(place): self.text(place + 8) for place in places}

    def buckets(self, at: int) -> Iterator[int]:
        """Where the full buckets of a hash map are."""
        control, capacity = self.pointer(at), self.number("<I", at + 8)
        for number in range(self._sound(capacity, 1)):
            if self.bytes_at(control + number, 1)[0] < 0x80:
                yield control - _BUCKET * (number + 1)

    def _sound(self, count: int, size: int) -> int:
        if count * size > len(self.data):
            raise ValueError
        return count

    def node(self, at: int) -> _Node:
        """The node in a bucket."""
        place = at + 16
        is_below = self.bytes_at(place + 16, 1)[0] == 1
        content = place + 68
        kind = self.bytes_at(content, 1)[0]
        if kind > 1:
            raise ValueError
        pieces = list(self._tokens(content + 4)) if kind else []
        raw = b"".join(piece for piece, _ in pieces) if kind else self.vector(content + 4)
        has_model = self.bytes_at(content + 28, 1)[0] == 1
        return _Node(
            key=self.wide(at),
            parent=self.wide(place + 32) if is_below else None,
            children=self.ids(place + 48),
            is_marked=self.bytes_at(place + 65, 1)[0] == 1,
            raw=raw,
            tokens=[{"text": _decoded(piece), **what} for piece, what in pieces],
            meta=self.texts(content + 12),
            model=self.text(content + 32) if has_model else None,
            model_meta=self.texts(content + 40) if has_model else {},
        )

    def _tokens(self, at: int) -> Iterator[tuple[bytes, dict[str, str]]]:
        length = self.number("<I", at + 4)
        start = self.pointer(at) if length else 0
        for number in range(self._sound(length, 24)):
            place = start + 24 * number
            yield self.vector(place), self.texts(place + 8)


class _Weave:
    def __init__(self, data: mmap.mmap, put: Put, report: Report, tell: Tell) -> None:
        self.archive = _Archive(data)
        self.root = len(data) - _ROOT
        self.report, self.tell = report, tell
        self.collector = NodeCollector(put, report)
        self._replaced = 0

    def read(self) -> Head:
        """Reads all nodes, each below the one that its characters begin in."""
        places = {self.archive.wide(at): at for at in self.archive.buckets(self.root)}
        tops = [top for top in self.archive.ids(self.root + 12) if top in places]
        waiting = [(top, "", b"") for top in reversed(tops)]
        while waiting:
            key, above, rest = waiting.pop()
            place = places.pop(key, None)
            if place is None:
                continue  # the node has two parents and was already read below the other
            node = self.archive.node(place)
            left = self._take(node, above, rest)
            waiting.extend((child, str(key), left) for child in reversed(node.children))
            if self.collector.count % 100 == 0:
                self.tell(place)
        if places:
            self.report.dropped["nodes that no path leads to"] += len(places)
        warn_of_replaced(self._replaced, self.report)
        return self._head()

    def _take(self, node: _Node, above: str, rest: bytes) -> bytes:
        """Takes a node; returns the bytes of a character that ends in the nodes below."""
        raw = rest + node.raw
        cut = _cut(raw) if node.children else len(raw)
        text, replaced = text_in(raw[:cut], "utf-8")
        self._replaced += replaced
        record = NodeRecord(
            number=0,
            text=node_text(text, str(self.collector.count)),
            author="" if node.model is None else model_of(node.model),
            author_kind="human" if node.model is None else "model",
            at=time_of(node.key >> 80),
            source=str(node.key),
            bookmark="" if node.is_marked else None,
            imported=self._beside(node),
        )
        self.collector.add(str(node.key), above, record)
        return raw[cut:]

    def _beside(self, node: _Node) -> dict[str, Any]:
        given = {"metadata": node.meta, "model": node.model_meta}
        beside = rest_of(given, (), ("metadata", "model"), self.report)
        if node.tokens:
            _, tokens = without_secrets("tokens", node.tokens, self.report)
            if len(json.dumps(tokens)) <= _TOKENS:
                beside["tokens"] = tokens
                self.report.kept["texts with tokens"] += 1
            else:
                self.report.dropped["tokens"] += 1
        return beside

    def _head(self) -> Head:
        meta = self.archive.texts(self.root + 88)
        head = Head(plan=self.collector.plan(), title=meta.get("title", "")[:300])
        head.description = meta.get("notes", "")[:10_000]
        head.imported = rest_of({"metadata": meta}, (), ("metadata",), self.report)
        return head


def _decoded(raw: bytes) -> str:
    return text_in(raw, "utf-8")[0]


def _cut(raw: bytes) -> int:
    """Where the last character starts, if it is not whole; else the end."""
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return len(raw) - back if length > back else len(raw)
    return len(raw)
