"""The work of a function, counted instead of timed."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(function: Callable[[], object]) -> int:
    """How many lines of Python the function ran, in all that it called."""
    count = 0

    def trace(_frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


class Scanned(str):
    """A text that counts the characters that are looked at when it is split, searched or
    replaced; `total` is that of all such texts."""

    total = 0

    def __str__(self) -> str:
        return self

    def _note(self) -> None:
        Scanned.total += len(self)

    def split(self, *args: Any, **kwargs: Any) -> list[str]:
        self._note()
        return super().split(*args, **kwargs)

    def replace(self, *args: Any) -> "Scanned":
        self._note()
        return Scanned(super().replace(*args))

    def find(self, *args: Any) -> int:
        self._note()
        return super().find(*args)

    def count(self, *args: Any) -> int:
        self._note()
        return super().count(*args)


def scanned(function: Callable[[], object]) -> int:
    """How many characters of texts that are `Scanned` the function has looked at."""
    Scanned.total = 0
    function()
    return Scanned.total
