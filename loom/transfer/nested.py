"""Walking nested `children` event by event: no recursion, and no whole file in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from loom.transfer.records import MAX_TEXT_BYTES, Report, too_long, unreadable
from loom.transfer.values import FIELD, Event, TooMuch, kept


@dataclass
class Frame:
    """An object of the tree: its number in reading order, the number above, its fields."""

    number: int
    parent: int
    fields: dict[str, Any] = field(default_factory=dict)
    in_children: bool = False


def nodes(events: Iterator[Event], report: Report) -> Iterator[Frame]:
    """The nodes of a tree whose outermost object has just begun, each as it ends: children
    before parents, the outermost last. Numbers are in reading order."""
    stack = [Frame(0, -1)]
    count = 1
    while stack:
        top = stack[-1]
        event, name = next(events)
        if top.in_children:
            if event == "start_map":
                stack.append(Frame(count, top.number))
                count += 1
            elif event == "end_array":
                top.in_children = False
            else:
                raise unreadable(f"Among the children of node {top.number:,} is no node.")
        elif event == "end_map":
            yield stack.pop()
        else:
            _field(top, name, events, report)


def _field(top: Frame, name: str, events: Iterator[Event], report: Report) -> None:
    first = next(events)
    if name == "children":
        if first[0] not in ("start_array", "null"):
            raise unreadable(f"The children of node {top.number:,} are no list.")
        top.in_children = first[0] == "start_array"
        return
    most = MAX_TEXT_BYTES + 1 if name == "text" else FIELD
    try:
        top.fields[name] = kept(name, first, events, report, most=most)
    except TooMuch:
        if name == "text":
            raise too_long(f"The text of node {top.number:,}") from None
