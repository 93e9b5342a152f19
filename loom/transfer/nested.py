"""Walking a file of nested `children` event by event: no recursion, no whole file in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ijson.common import ObjectBuilder

Event = tuple[str, Any]
MAX_VALUE_EVENTS = 200_000  # of one field that is not `children`


@dataclass
class Frame:
    """An object that may be a node: its number, the number above, its fields so far."""

    number: int
    parent: int
    fields: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    in_children: bool = False


class Value:
    """One field's value, built until its own end. None of it is kept when not wanted."""

    def __init__(self, wanted: bool) -> None:
        self.builder = ObjectBuilder() if wanted else None
        self.depth = 0
        self.events = 0

    def take(self, event: str, value: Any) -> bool:
        """Takes an event; True when the value is complete."""
        self.events += 1
        if self.builder is not None:
            if self.events > MAX_VALUE_EVENTS:
                self.builder = None
            else:
                self.builder.event(event, value)
        if event in ("start_map", "start_array"):
            self.depth += 1
        elif event in ("end_map", "end_array"):
            self.depth -= 1
        return self.depth == 0

    @property
    def value(self) -> Any:
        """The value; None where it was not wanted, or too large."""
        return self.builder.value if self.builder is not None else None


def walk(
    events: Iterator[Event],
    *,
    wanted: Callable[[int, str], bool],
    roots: tuple[str, ...] = ("root",),
) -> Iterator[Frame]:
    """Each object of the tree as it ends, children before parents; the outermost one last.

    Number 0 is the outermost object; an object under one of its keys `roots` is a node
    below it, as those in `children` are. `wanted(depth, key)` says which fields are kept.
    """
    stack: list[Frame] = []
    value: Value | None = None
    count = 0
    for event, data in events:
        top = stack[-1] if stack else None
        if value is not None:
            if value.take(event, data):
                assert top is not None
                if value.builder is not None:
                    top.fields[top.key] = value.value
                value = None
            continue
        if event == "start_map" and (top is None or top.in_children or _is_root(stack, roots)):
            stack.append(Frame(count, top.number if top else -1))
            count += 1
        elif event == "end_map" and top is not None:
            yield stack.pop()
        elif event == "map_key" and top is not None:
            top.key = str(data)
        elif (
            event == "start_array"
            and top is not None
            and top.key == "children"
            and not top.in_children
        ):
            top.in_children = True
        elif event == "end_array" and top is not None and top.in_children:
            top.in_children = False
        elif top is not None and not top.in_children:
            value = Value(wanted(len(stack), top.key))
            if value.take(event, data):
                if value.builder is not None:
                    top.fields[top.key] = value.value
                value = None
        else:
            raise ValueError("a node must be an object")


def _is_root(stack: list[Frame], roots: tuple[str, ...]) -> bool:
    return len(stack) == 1 and stack[0].key in roots
