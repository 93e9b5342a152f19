"""What format a file has: found out by its content, never by its name."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ijson

from loom.transfer.files import Event, Source, readable_json
from loom.transfer.inputs import Input, Part
from loom.transfer.records import unreadable

_ENTRIES = 3  # of a container below the outermost one that are looked at
_KEYS = 200  # of the outermost object
_DEPTH = 6
_EVERY = 100  # events after which the rules are tried
_SHORT = 200


@dataclass(frozen=True)
class Format:
    """A format: its name in the API, its name for people, how it is recognised in a sketch of a
    file, and how the trees of a file are found. `is_exact`: a file with broken characters is
    refused, not mended. `together` reads several files of the format
    as one family."""

    name: str
    title: str
    is_this: Callable[[Any], bool]
    each: Callable[[Input], Iterator[Part]]
    is_exact: bool = False
    together: Callable[[list[Input]], Iterator[Part]] | None = None


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
        made: Any = {} if event == "start_map" else [] if event == "start_array" else value
        if made.__class__ is str:
            made = made[:_SHORT]
        is_kept = self._put(made)
        if event in ("start_map", "start_array"):
            self._stack.append(made if is_kept else None)
            self._keys.append("")

    def _put(self, made: Any) -> bool:
        if not self._stack:
            self.top = made
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
            inside[key] = made
            return True
        if len(inside) >= most:
            return False
        inside.append(made)
        return True


def first_bytes(file: Input, count: int = 4096) -> bytes:
    """The beginning of a file, without a byte order mark."""
    with Source(file.path, file.tell) as source:
        return source.read(count)


_JSON = re.compile(rb"\s*(?:\{\s*(?:[\"}]|\Z)|\[\s*(?:[\"{\[\]0-9-]|true|false|null|\Z))")


def looks_like_json(start: bytes) -> bool:
    """Whether a file starts as an object or a list of JSON does."""
    return _JSON.match(start) is not None


def json_format(file: Input, formats: tuple[Format, ...]) -> Format:
    """The format of a file of JSON, or of JSON Lines by its first line."""
    found: list[Format] = []

    def is_enough(sketch: Any) -> bool:
        found[:] = [one for one in formats if one.is_this(sketch)][:1]
        return bool(found)

    with Source(file.path, file.tell, file.broken) as source, readable_json():
        sketch = shape_of(_events(source), is_enough)
    if found or is_enough(sketch):
        return found[0]
    raise unreadable("The file is JSON in an unknown format.")


def _events(source: Source) -> Iterator[Event]:
    yield from ijson.basic_parse(source, multiple_values=True)
