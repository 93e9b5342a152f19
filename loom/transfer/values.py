"""Values of a file, built event by event within bounds, and cleaned of keys."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from loom.transfer.records import Report

Event = tuple[str, Any]
MAX_DEPTH = 64
FIELD = 256 * 1024  # characters that one field of a node may bring along
_STARTS = ("start_map", "start_array")
_ENDS = ("end_map", "end_array")
_SECRET_NAME = re.compile(
    r"api.?key|secret|passw|credential|authorization|bearer|(access|auth|refresh|private).?(token|key)"
    r"|^(key|token|pwd|auth|cookie|organi[sz]ation)$",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"\b(sk|pk|rk)-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{20,}|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{30,}|\bBearer\s+[A-Za-z0-9._~+/-]{16,}|-----BEGIN [A-Z ]*PRIVATE KEY"
)


class TooMuch(Exception):
    """A value is too large or nested too deep to be kept; it was read to its end."""


def value_of(first: Event, events: Iterator[Event], *, most: int = FIELD) -> Any:
    """The value that begins with `first`, of at most `most` characters and 64 levels."""
    event, value = first
    if event not in _STARTS:
        if value.__class__ is str and len(value) > most:
            raise TooMuch
        return _plain(value)
    top: Any = {} if event == "start_map" else []
    stack, key, left = [top], "", most
    while stack:
        event, value = next(events)
        left -= len(value) + 1 if value.__class__ is str else 1
        if left < 0 or len(stack) > MAX_DEPTH:
            _pass_over(events, len(stack) + _step(event))
            raise TooMuch
        if event == "map_key":
            key = value
        elif event in _ENDS:
            stack.pop()
        else:
            made: Any = {} if event == "start_map" else [] if event == "start_array" else None
            made = _plain(value) if made is None else made
            _put(stack[-1], key, made)
            if event in _STARTS:
                stack.append(made)
    return top


def skip(first: Event, events: Iterator[Event]) -> None:
    """Reads a value to its end and keeps nothing."""
    _pass_over(events, _step(first[0]))


def _put(inside: Any, key: str, made: Any) -> None:
    if isinstance(inside, dict):
        inside[key] = made
    else:
        inside.append(made)


def _step(event: str) -> int:
    return 1 if event in _STARTS else -1 if event in _ENDS else 0


def _pass_over(events: Iterator[Event], depth: int) -> None:
    while depth > 0:
        depth += _step(next(events)[0])


def _plain(value: Any) -> Any:
    """Numbers that JSON can hold; one beyond all bounds is kept as it is written."""
    if not isinstance(value, Decimal):
        return value
    number = float(value)
    return str(value) if number in (float("inf"), float("-inf")) else number


def without_secrets(name: str, value: Any, report: Report) -> tuple[bool, Any]:
    """Whether anything is left of a field, and what: keys are dropped and reported by name."""
    if _SECRET_NAME.search(name.rpartition(".")[2]) or (
        isinstance(value, str) and _SECRET.search(value)
    ):
        if value in (None, "", [], {}):
            return True, value
        report.dropped[name] += 1
        return False, None
    if isinstance(value, dict):
        pairs = ((key, without_secrets(f"{name}.{key}", one, report)) for key, one in value.items())
        return True, {key: one for key, (is_left, one) in pairs if is_left}
    if isinstance(value, list):
        every = (without_secrets(name, one, report) for one in value)
        return True, [one for is_left, one in every if is_left]
    return True, value


def kept(name: str, first: Event, events: Iterator[Event], report: Report, *, most: int) -> Any:
    """A field's value without keys; TooMuch, with a warning, where it is too large to keep."""
    try:
        return value_of(first, events, most=most)
    except TooMuch:
        report.dropped[name] += 1
        report.warn(f"{name[:80]} is too large or nested too deep to be kept, and was left out.")
        raise


def text_of(value: Any, most: int) -> str:
    """A short text of a field; "" where it is none."""
    return value[:most] if isinstance(value, str) else ""


def drained(events: Iterator[Event]) -> None:
    """Reads on to the end: what stands behind a value may be wrong, too."""
    for _ in events:
        pass
