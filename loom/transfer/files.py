"""Foreign files: checked first, then parsed event by event within limits."""

import mmap
import re
from array import array
from bisect import bisect_left
from codecs import utf_8_decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any

import ijson

from loom.errors import CommandError
from loom.transfer.records import (
    MAX_TEXT_BYTES,
    Report,
    is_secret_name,
    too_long,
    unreadable,
)

Event = tuple[str, Any]
MAX_DEPTH = 64
FIELD = 256 * 1024  # characters that one field of a node can have
MAX_PART = 32 * 1024 * 1024  # characters of one tree of several, which is held in memory
_INFINITE = float("inf")
_STARTS = ("start_map", "start_array")
_ENDS = ("end_map", "end_array")
_SECRET = re.compile(
    r"\b(sk|pk|rk)-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{20,}|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,}|\bBearer\s+[A-Za-z0-9._~+/-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY"
)


class TooMuch(Exception):
    """A value is too large or nested too deeply to keep; it was read to its end."""


def value_of(  # noqa: PLR0912 (one loop without calls)
    first: Event,
    events: Iterator[Event],
    *,
    most: int = FIELD,
    weight: int = 1,
    depth: int = MAX_DEPTH,
) -> Any:
    """The value that starts with `first`, with at most `most` characters and `depth` levels; a
    value that is not text counts as `weight` characters."""
    event, value = first
    if event not in _STARTS:
        if value.__class__ is str and len(value) > most:
            raise TooMuch
        return _plain(value)
    # One loop without function calls: an archive of 500 MB has 40 million events.
    top: Any = {} if event == "start_map" else []
    inside, is_map, key, left = top, event == "start_map", "", most
    above: list[Any] = []
    for event, value in events:
        left -= weight
        if event == "map_key":
            key = value
            left -= len(value)
        elif event in _ENDS:
            if not above:
                return top
            inside = above.pop()
            is_map = inside.__class__ is dict
        else:
            item = value
            if event == "string":
                left -= len(value)
            elif event in _STARTS:
                item = {} if event == "start_map" else []
            elif value.__class__ is Decimal:
                item = _plain(value)
            if is_map:
                inside[key] = item
            else:
                inside.append(item)
            if event in _STARTS:
                above.append(inside)
                inside, is_map = item, event == "start_map"
        if left < 0 or len(above) >= depth:
            _pass_over(events, len(above) + 1)
            raise TooMuch
    return top


def skip(first: Event, events: Iterator[Event]) -> None:
    """Reads a value to its end and discards it."""
    _pass_over(events, _step(first[0]))


def _step(event: str) -> int:
    return 1 if event in _STARTS else -1 if event in _ENDS else 0


def _pass_over(events: Iterator[Event], depth: int) -> None:
    while depth > 0:
        depth += _step(next(events)[0])


def _plain(value: Any) -> Any:
    """Numbers that JSON can represent; one that is out of range is kept as written."""
    if not isinstance(value, Decimal):
        return value
    number = float(value)
    return str(value) if number in (_INFINITE, -_INFINITE) else number


def without_secrets(name: str, value: Any, report: Report, level: int = 0) -> tuple[bool, Any]:
    """The field without keys, and whether anything is left: keys are removed and reported by name,
    and so is what is nested deeper than 64 levels."""
    if level > MAX_DEPTH:
        report.dropped[name[:80]] += 1
        return False, None
    if is_secret_name(name) or (isinstance(value, str) and _SECRET.search(value)):
        if value in (None, "", [], {}):
            return True, value
        report.dropped[name] += 1
        return False, None
    if isinstance(value, dict):
        pairs = (
            (key, without_secrets(f"{name}.{key}"[-200:], entry, report, level + 1))
            for key, entry in value.items()
        )
        return True, {key: entry for key, (is_left, entry) in pairs if is_left}
    if isinstance(value, list):
        every = (without_secrets(name, entry, report, level + 1) for entry in value)
        return True, [entry for is_left, entry in every if is_left]
    if value in (_INFINITE, -_INFINITE):
        return True, str(value)
    return True, value


def kept(name: str, first: Event, events: Iterator[Event], report: Report, *, most: int) -> Any:
    """A field's value without keys; TooMuch, with a warning, if it is too large to keep."""
    try:
        return value_of(first, events, most=most)
    except TooMuch:
        report.dropped[name] += 1
        report.warn(f"{name[:80]} is too large or nested too deep to be kept, and was left out.")
        raise


def text_of(value: Any, most: int) -> str:
    """A short text of a field; "" if it is not a text."""
    return value[:most] if isinstance(value, str) else ""


def drained(events: Iterator[Event]) -> None:
    """Reads on to the end: what follows a value may be invalid, too."""
    for _ in events:
        pass


# Walking nested `children` event by event: no recursion, and no whole file in memory.


@dataclass
class FileObject:
    """An object of the tree: its number in reading order, the number above, and its fields."""

    number: int
    parent: int
    fields: dict[str, Any] = field(default_factory=dict)
    in_children: bool = False


def nodes(
    events: Iterator[Event], report: Report, outermost: FileObject | None = None
) -> Iterator[FileObject]:
    """The nodes of a tree whose outermost object (or list of `outermost`) has just started, each
    when it ends: children before parents, the outermost last. Numbers are in reading order."""
    stack = [outermost or FileObject(0, -1)]
    count = 1
    while stack:
        top = stack[-1]
        if top is outermost and not top.in_children:
            yield stack.pop()
            return
        event, name = next(events)
        if top.in_children:
            if event == "start_map":
                stack.append(FileObject(count, top.number))
                count += 1
            elif event == "end_array":
                top.in_children = False
            else:
                raise unreadable(f"A child of node {top.number:,} is not a node.")
        elif event == "end_map":
            yield stack.pop()
        else:
            _field(top, name, events, report)


def _field(top: FileObject, name: str, events: Iterator[Event], report: Report) -> None:
    first = next(events)
    if name == "children":
        if first[0] not in ("start_array", "null"):
            raise unreadable(f"The children of node {top.number:,} are not a list.")
        top.in_children = first[0] == "start_array"
        return
    if name == "masked_head" and first[0] == "start_map":
        top.fields[name] = _masked(first, events)
        return
    most = MAX_TEXT_BYTES + 1 if name == "text" else FIELD
    try:
        top.fields[name] = kept(name, first, events, report, most=most)
    except TooMuch:
        if name == "text":
            raise too_long(f"The text of node {top.number:,}") from None


def _masked(first: Event, events: Iterator[Event]) -> Any:
    """The nodes inside a compound node, which are not lost if they are too many."""
    try:
        return value_of(first, events, most=MAX_PART, weight=16, depth=16 * MAX_DEPTH)
    except TooMuch:
        raise unreadable(
            "A compound node of the file is too large.", "save it again without a hoisted node"
        ) from None


# Checks a file's bytes before anything is parsed: UTF-8, no lone surrogates, and which format it
# is, by content, never by the file's name.


MAX_FILE = 512 * 1024 * 1024
BOM = b"\xef\xbb\xbf"
_PIECE = 1024 * 1024
_WINDOW = 8 * _PIECE
_LONGEST = 6 * MAX_TEXT_BYTES  # a text of 4 MiB in which every byte is written as an escape
_LOW = re.compile(rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}")
# No backtracking: digits are counted from where they start, and a string that never ends takes the
# rest of the file with it.
_DIGITS = re.compile(rb"(?<![0-9])[0-9]{4000}")
_NUMBER = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*(?:"|\\?\Z)|(?<![0-9])([0-9]{4000})', re.DOTALL)
_BROKEN = re.compile(rb"\\u(?:[dD]([89a-fA-F])[0-9a-fA-F]{2}|0000)")
_MOST_BROKEN = 100_000
REPLACED = rb"\ufffd"
_BACKSLASH = 92
Tell = Callable[[int], None]


class SourceFile:
    """The file as a reader sees it: without a byte order mark, and with U+FFFD for the escapes at
    `broken`; `tell` is called with the position."""

    def __init__(self, path: Path, tell: Tell, broken: "array[int] | None" = None) -> None:
        self._file = path.open("rb")
        self._tell = tell
        self.most: int | None = None  # bytes that may be read until this is set again
        self._broken = broken if broken is not None else array("q")
        self._first = len(BOM) if self._file.read(len(BOM)) == BOM else 0
        self.seek(0)

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        start = self._file.tell()
        self._tell(start)
        piece = self._file.read(size)
        if self.most is not None:
            self.most -= len(piece)
            if self.most < 0:
                raise TooMuch
        return piece if not self._broken else self._mended(piece, start)

    def _mended(self, piece: bytes, start: int) -> bytes:
        first_place = bisect_left(self._broken, start - len(REPLACED) + 1)
        mended = bytearray(piece)
        for at in self._broken[first_place:]:
            if at >= start + len(piece):
                break
            first, last = max(at, start), min(at + len(REPLACED), start + len(piece))
            mended[first - start : last - start] = REPLACED[first - at : last - at]
        return bytes(mended)

    def seek(self, offset: int) -> None:
        """Moves to a position, counted from behind the byte order mark."""
        self._file.seek(offset + self._first)

    def __enter__(self) -> "SourceFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def demand_readable(path: Path, tell: Tell) -> "array[int]":
    """Raises for a file that is empty or too large, that is not UTF-8, or contains U+0000 or a
    text that is too long for a node. Returns the positions of lone surrogates and of U+0000 that
    are written as escapes, for `SourceFile` to replace."""
    size = path.stat().st_size
    if size > MAX_FILE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"The file has {size:,} bytes; the maximum is {MAX_FILE:,}.",
            hint="export a part of the tree",
            is_size=True,
        )
    if size == 0:
        raise unreadable("The file is empty.")
    _demand_utf8(path, tell)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        broken = _broken(data, tell)
        _demand_short_numbers(data)
    return broken


def _demand_utf8(path: Path, tell: Tell) -> None:
    at, rest, run = 0, b"", 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            if b"\0" in piece:
                raise unreadable(
                    f"Byte {at + piece.index(0):,} of the file is U+0000.", "save it as UTF-8"
                )
            run = run + len(piece) if b'"' not in piece else len(piece) - piece.rindex(b'"')
            if run > _LONGEST:
                raise too_long("A text of the file")
            data = rest + piece
            try:
                _, used = utf_8_decode(data, "strict", len(piece) < _PIECE)
            except UnicodeDecodeError as error:
                where = at - len(rest) + error.start
                raise unreadable(
                    f"Byte {where:,} of the file is not UTF-8.", "save it as UTF-8"
                ) from None
            rest, at = data[used:], at + len(piece)
            tell(at)


def _broken(data: mmap.mmap, tell: Tell) -> "array[int]":
    """The positions of escaped lone surrogates, which the parser would turn into question marks,
    and of escaped U+0000. Raises where there are too many."""
    whole = 0
    positions = array("q")
    for match in _matches(data, _BROKEN, 5, tell):
        if not _is_escape(data, match.start()):
            continue
        if match[1] is not None and match[1] in b"89abAB":
            if _LOW.match(data, match.end()):
                whole = match.end()
                continue
        elif match[1] is not None and match.start() == whole:
            continue
        positions.append(match.start())
        if len(positions) > _MOST_BROKEN:
            raise _half(match.start())
    return positions


def _matches(
    data: mmap.mmap, pattern: "re.Pattern[bytes]", overlap: int, tell: Tell
) -> "Iterator[re.Match[bytes]]":
    """The matches of a pattern, of at most `overlap` bytes more than one. What was searched does
    not stay in memory."""
    for start in range(0, len(data), _WINDOW):
        end = min(start + _WINDOW, len(data))
        tell(start)
        for match in pattern.finditer(data, start, min(end + overlap, len(data))):
            if match.start() < end:
                yield match
        data.madvise(mmap.MADV_DONTNEED, start, end - start)


def _demand_short_numbers(data: mmap.mmap) -> None:
    """Raises for numbers of thousands of digits: they crash the parser, and the worker with it.
    Strings are recognized only where there are so many digits."""
    if next(_matches(data, _DIGITS, 4000, lambda _: None), None) is None:
        return
    for match in _NUMBER.finditer(data):
        if match[1] is not None:
            raise unreadable(
                f"Byte {match.start():,} of the file starts a number of thousands of digits.",
                "write it as a string",
            )


MOST_NESTED = 5_000  # levels; deeper than any chat with nested messages
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS = [-1 if byte in b"]}" else 1 for byte in range(256)]


def demand_shallow(source: "SourceFile | BytesIO") -> None:
    """Raises for JSON that is nested deeper than MOST_NESTED levels: the parser that builds values
    names the place of each by all the keys above it, so its time grows with the square of the
    depth. One pass over the bytes, about as long as that parser needs for a flat file."""
    level, rest = 0, b""
    while piece := source.read(_PIECE):
        data = rest + piece
        bare = _STRING.sub(b"", data)
        # A quote that is left starts a string that goes on in the next piece.
        start = bare.find(b'"')
        rest = data[len(data) - (len(bare) - start) :] if start >= 0 else b""
        brackets = (bare[:start] if start >= 0 else bare).translate(None, _NO_BRACKETS)
        steps = map(_LEVELS.__getitem__, brackets)
        levels = list(accumulate(steps, initial=level))
        if max(levels) > MOST_NESTED:
            raise unreadable(
                f"The file is nested more than {MOST_NESTED:,} levels deep.",
                "save it as a list of messages, or split it",
            )
        level = levels[-1]


def _is_escape(data: mmap.mmap, at: int) -> bool:
    """Whether the backslash starts an escape, and is not itself escaped."""
    first = at
    while first > 0 and data[first - 1] == _BACKSLASH:
        first -= 1
    return (at - first) % 2 == 0


def _half(at: int) -> CommandError:
    return unreadable(
        f"Byte {at:,} of the file is a lone surrogate.",
        "write valid Unicode",
    )


def parsed(source: SourceFile | BytesIO, *, is_lines: bool = False) -> Iterator[tuple[str, Any]]:
    """The events of the JSON, or of several values one after the other; INVALID_SYNTAX if it is
    invalid. U+0000 is found by `demand_readable`, and replaced by `SourceFile`."""
    with readable_json():
        yield from ijson.basic_parse(source, multiple_values=is_lines)


@contextmanager
def readable_json() -> Iterator[None]:
    """A parser's error as a sentence."""
    try:
        yield
    except ijson.IncompleteJSONError as error:
        raise unreadable(_syntax_message(error), "the file may have been cut off") from None
    except (ijson.JSONError, UnicodeError, ValueError, ArithmeticError) as error:
        raise unreadable(_syntax_message(error), "open it in an editor that checks JSON") from None


def _syntax_message(error: Exception) -> str:
    first = str(error).splitlines()[0] if str(error) else "it ends too early"
    return f"The file is not JSON: {first.removesuffix('.').removeprefix('parse error: ')[:200]}."
