"""One file as readers see it, the trees in it, and the entries of its containers one by one."""

from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ijson

from loom.transfer.archive_images import Shelf
from loom.transfer.files import (
    MAX_DEPTH,
    MAX_PART,
    Event,
    Source,
    Tell,
    TooMuch,
    demand_readable,
    drained,
    parsed,
    readable_json,
    value_of,
)
from loom.transfer.records import CallRecord, Head, Record, Report, unreadable

Put = Callable[[Record | CallRecord], None]
Read = Callable[[Put, Report], Head]
WHOLE = 1024 * 1024  # characters that one field of the whole tree can have


@dataclass
class Part:
    """One tree of a file, before it is read: what a list of them shows, and how to read it.
    `at` is RFC 3339, `count` the number of messages; "" and 0 where they are unknown.
    `asks` are the ways to split a text, of which somebody has to choose one before it is read;
    `shelf` has the images of its archive."""

    title: str
    at: str
    count: int
    read: Read
    asks: tuple[str, ...] = ()
    shelf: Shelf | None = None


@dataclass
class Input:
    """A file in the folder of imports. `name` is what its sender called it; `options` are the
    answers to what was asked about it."""

    path: Path
    name: str
    tell: Tell
    options: Mapping[str, str] = field(default_factory=dict)
    broken: "array[int]" = field(default_factory=lambda: array("q"))

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
            report.warn(
                f"{len(self.broken):,} characters were not valid Unicode; \ufffd is in their place."
            )

    def events(self) -> Iterator[Event]:
        """The events of the JSON of the file, read as a stream."""
        with Source(self.path, self.tell, self.broken) as source:
            yield from parsed(source)

    def values(self) -> Iterator[Any]:
        """The values of a file of JSON Lines, or of a list, one at a time. Each has at most 32
        million bytes; how deep they are nested is for the reader to bound."""
        with Source(self.path, self.tell, self.broken) as source:
            is_list = source.read(1024).lstrip()[:1] == b"["
            source.seek(0)
            with readable_json():
                # Built by the parser, which is five times as fast as by its events.
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
        with Source(self.path, self.tell, self.broken) as source:
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
