"""One file as readers see it, the trees in it, and the entries of its containers one by one; and
the detection of its format by its content, never by its name."""

import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ijson

from loom.text.counts import counted
from loom.transfer.files import (
    MAX_DEPTH,
    MAX_PART,
    Event,
    SourceFile,
    Tell,
    TooMuch,
    demand_readable,
    demand_shallow,
    drained,
    parsed,
    readable_json,
    value_of,
)
from loom.transfer.message_images import ArchiveImages
from loom.transfer.records import CallRecord, Head, NodeRecord, Report, unreadable

Put = Callable[[NodeRecord | CallRecord], None]
Read = Callable[[Put, Report], Head]
WHOLE = 1024 * 1024  # characters that one field of the whole tree can have


@dataclass
class TreeInFile:
    """One tree of a file, before it is read: what a list of them shows, and how to read it. `at`
    is RFC 3339, `count` the number of messages; "" and 0 if they are unknown. `asks` are the ways
    to split a text, one of which has to be chosen before it is read; `archive_images` has the
    images of its archive."""

    title: str
    at: str
    count: int
    read: Read
    asks: tuple[str, ...] = ()
    archive_images: ArchiveImages | None = None


@dataclass
class Input:
    """A file in the folder of imports. `name` is its original name; `options` are the choices that
    were made for it."""

    path: Path
    name: str
    tell: Tell
    options: Mapping[str, str] = field(default_factory=dict)
    broken: "array[int]" = field(default_factory=lambda: array("q"))
    _is_shallow: bool = False  # whether that was checked

    def check(self) -> None:
        """Raises for a file that cannot be read as text; see files.demand_readable."""
        self.broken = demand_readable(self.path, self.tell)

    def demand_exact(self) -> None:
        """Raises for a file with characters that would have to be replaced."""
        if self.broken:
            raise unreadable(
                f"Byte {self.broken[0]:,} of the file is a lone surrogate or U+0000.",
                "write valid Unicode",
            )

    def mended(self, report: Report) -> None:
        """Reports how many characters had to be replaced."""
        if self.broken:
            many = counted(len(self.broken), "character")
            report.warn(f"{many} not valid in Unicode became \ufffd.")

    def events(self) -> Iterator[Event]:
        """The events of the JSON of the file, read as a stream."""
        with SourceFile(self.path, self.tell, self.broken) as source:
            yield from parsed(source)

    def values(self) -> Iterator[Any]:
        """The values of a file of JSON Lines, or of a list, one at a time. Each has at most 32
        million bytes and 5,000 levels; the reader may allow fewer."""
        if not self._is_shallow:
            with SourceFile(self.path, lambda _: None) as source:
                demand_shallow(source)
            self._is_shallow = True
        with SourceFile(self.path, self.tell, self.broken) as source:
            is_list = source.read(1024).lstrip()[:1] == b"["
            source.seek(0)
            with readable_json():
                # Values built by the parser, which is five times as fast as its events.
                every = ijson.items(
                    source, "item" if is_list else "", multiple_values=True, use_float=True
                )
                try:
                    source.most = MAX_PART
                    for value in every:
                        yield value
                        source.most = MAX_PART
                except TooMuch:
                    raise unreadable("A part of the file is too large.", "split the file") from None

    def raw(self) -> bytes:
        """All bytes of the file, without a byte order mark."""
        with SourceFile(self.path, self.tell, self.broken) as source:
            return source.read()


def _whole(first: Event, events: Iterator[Event], *, depth: int = MAX_DEPTH) -> Any:
    try:
        return value_of(first, events, most=MAX_PART, weight=16, depth=depth)
    except TooMuch:
        raise unreadable(
            "A part of the file is too large or nested too deep.", "split the file"
        ) from None


def entries(
    events: Iterator[Event],
    at: tuple[str, ...],
    rest: dict[str, Any],
    report: Report,
    *,
    depth: int = MAX_DEPTH,
) -> Iterator[tuple[str, Any]]:
    """Each entry of the container at the path `at` of a file that is one object: its key ("" in a
    list) and its value of at most `depth` levels, one at a time. Everything else of the file is
    added to `rest`."""
    if next(events)[0] != "start_map":
        raise unreadable("The file is JSON, but not an object.")
    yield from _below(events, at, rest, report, depth=depth)
    drained(events)


def _below(
    events: Iterator[Event],
    at: tuple[str, ...],
    rest: dict[str, Any],
    report: Report,
    *,
    depth: int,
) -> Iterator[tuple[str, Any]]:
    for event, name in events:
        if event == "end_map":
            return
        first = next(events)
        if name != at[0]:
            _keep(name, first, events, rest, report)
        elif len(at) > 1 and first[0] == "start_map":
            yield from _below(events, at[1:], rest.setdefault(name, {}), report, depth=depth)
        elif len(at) == 1 and first[0] in ("start_map", "start_array"):
            yield from items(first, events, depth=depth)
        else:
            raise unreadable(f"{name[:60]!r} of the file is no object.")


def items(
    first: Event, events: Iterator[Event], *, depth: int = MAX_DEPTH
) -> Iterator[tuple[str, Any]]:
    """The entries of a container that has just started, by key, or "" in a list. Each has at most
    32 million characters."""
    name = ""
    for event, value in events:
        if event in ("end_map", "end_array"):
            return
        if event == "map_key":
            name = value
            continue
        yield name, _whole((event, value), events, depth=depth)


def _keep(
    name: str, first: Event, events: Iterator[Event], rest: dict[str, Any], report: Report
) -> None:
    try:
        rest[name] = value_of(first, events, most=WHOLE)
    except TooMuch:
        report.dropped[name[:80]] += 1
        report.warn(f"{name[:80]} is too large or nested too deep to be kept, and was left out.")


# -- the format of a file


_ENTRIES = 3  # entries that are considered of a container below the outermost one
_KEYS = 200  # keys that are considered of the outermost object
_DEPTH = 6
_EVERY = 100  # events after which the rules are tried
_SHORT = 200


@dataclass(frozen=True)
class ImportFormat:
    """A format: its name in the API, its name for people, how it is recognised in a sketch of a
    file, and how the trees of a file are found. `is_exact`: a file with broken characters is
    refused, not mended. `together` reads several files of the format
    as one family."""

    name: str
    title: str
    is_this: Callable[[Any], bool]
    trees_in: Callable[[Input], Iterator[TreeInFile]]
    is_exact: bool = False
    together: Callable[[list[Input]], Iterator[TreeInFile]] | None = None


def shape_of(events: Iterator[Event], is_enough: Callable[[Any], bool]) -> Any:
    """The outline of a JSON value: of each container the first three entries, of the outermost
    object all keys, six levels, and the beginning of each text. Ends as soon as it is enough."""
    sketch = _Sketch()
    for count, event in enumerate(events):
        sketch.take(*event)
        if (sketch.is_at_top or count % _EVERY == 0) and is_enough(sketch.top):
            break
    return sketch.top


class _Sketch:
    def __init__(self) -> None:
        self.top: Any = None
        self._stack: list[Any] = []  # the open containers; None: one that is not kept
        self._keys: list[str] = []

    @property
    def is_at_top(self) -> bool:
        """Whether the outermost container is the only open one."""
        return len(self._stack) == 1

    def take(self, event: str, value: Any) -> None:
        """Adds an event."""
        if event == "map_key":
            self._keys[-1] = value
            if len(self._stack) == 1 and isinstance(self.top, dict) and len(self.top) < _KEYS:
                self.top.setdefault(value, None)
            return
        if event in ("end_map", "end_array"):
            self._stack.pop()
            self._keys.pop()
            return
        item: Any = {} if event == "start_map" else [] if event == "start_array" else value
        if item.__class__ is str:
            item = item[:_SHORT]
        is_kept = self._put(item)
        if event in ("start_map", "start_array"):
            self._stack.append(item if is_kept else None)
            self._keys.append("")

    def _put(self, item: Any) -> bool:
        if not self._stack:
            self.top = item
            return True
        inside = self._stack[-1]
        most = _KEYS if len(self._stack) == 1 and isinstance(inside, dict) else _ENTRIES
        most = 40 if isinstance(inside, dict) and len(self._stack) > 1 else most
        if inside is None or len(self._stack) > _DEPTH:
            return False
        key = self._keys[-1]
        if isinstance(inside, dict):
            if key not in inside and len(inside) >= most:
                return False
            inside[key] = item
            return True
        if len(inside) >= most:
            return False
        inside.append(item)
        return True


def first_bytes(file: Input, count: int = 4096) -> bytes:
    """The beginning of a file, without a byte order mark."""
    with SourceFile(file.path, file.tell) as source:
        return source.read(count)


_JSON = re.compile(rb"\s*(?:\{\s*(?:[\"}]|\Z)|\[\s*(?:[\"{\[\]0-9-]|true|false|null|\Z))")


def looks_like_json(start: bytes) -> bool:
    """Whether a file starts like a JSON object or list."""
    return _JSON.match(start) is not None


def json_format(file: Input, formats: tuple[ImportFormat, ...]) -> ImportFormat:
    """The format of a file of JSON, or of JSON Lines by its first line."""
    matching: list[ImportFormat] = []

    def is_enough(sketch: Any) -> bool:
        matching[:] = [entry for entry in formats if entry.is_this(sketch)][:1]
        return bool(matching)

    with SourceFile(file.path, file.tell, file.broken) as source, readable_json():
        sketch = shape_of(_events(source), is_enough)
    if matching or is_enough(sketch):
        return matching[0]
    raise unreadable("The file is JSON in an unknown format.")


def _events(source: SourceFile) -> Iterator[Event]:
    yield from ijson.basic_parse(source, multiple_values=True)
