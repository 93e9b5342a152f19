"""The kinds of events. Each is registered by the feature that writes it, with the kind of stream
that it belongs to and what it says; no other kind can be written.

    @event("bookmark.moved", stream="tree")
    class BookmarkMoved(Payload):
        \"\"\"A bookmark lies on another node.\"\"\"

        mark: Body
        node: str
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, create_model

StreamKind = Literal["tree", "grove", "workspace"]
Body = dict[str, Any]  # an item as the API shows it, see its schema


class Payload(BaseModel):
    """What the events of a kind say. A key that may be left out has a default."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


P = TypeVar("P", bound=type[Payload])


@dataclass(frozen=True)
class EventKind:
    """A kind of event: its name, the kinds of streams that it is written to, and what it says."""

    name: str
    streams: tuple[StreamKind, ...]
    payload: type[Payload]


_kinds: dict[str, EventKind] = {}
_additions: dict[str, list[type[Payload]]] = {}  # by the name of the kind


def event(*names: str, stream: StreamKind | tuple[StreamKind, ...]) -> Callable[[P], P]:
    """Registers kinds of events that say what the class declares."""
    streams = (stream,) if isinstance(stream, str) else stream

    def register(payload: P) -> P:
        for name in names:
            if name in _kinds:
                raise ValueError(f"there are two kinds of event {name!r}")
            _kinds[name] = EventKind(name, streams, payload)
        _model_of.cache_clear()
        return payload

    return register


Complete = Callable[[str, list[Body]], list[Body]]
_completions: dict[str, Complete] = {}


def completes(name: str) -> Callable[[Complete], Complete]:
    """Registers how stored events of a kind get what the log does not repeat: from the stream's
    name and their payloads, to the payloads that readers get. It may make one query, and leaves
    alone what is whole, such as events of an earlier build."""

    def register(complete: Complete) -> Complete:
        _completions[name] = complete
        return complete

    return register


def completions() -> dict[str, Complete]:
    """The functions by the names of their kinds."""
    return _completions


def adds_to(name: str) -> Callable[[P], P]:
    """Registers what a feature adds to the events of another one. All of its keys may be left
    out."""

    def register(payload: P) -> P:
        _additions.setdefault(name, []).append(payload)
        _model_of.cache_clear()
        return payload

    return register


def kinds() -> Mapping[str, EventKind]:
    """Every kind of event, by name."""
    return dict(_kinds)


def kinds_of(stream: StreamKind) -> frozenset[str]:
    """The kinds of events that a kind of stream has."""
    return frozenset(name for name, kind in _kinds.items() if stream in kind.streams)


def demand_kind(name: str, stream: str) -> None:
    """Raises ValueError if a stream of this kind (`tree`) has no such events."""
    kind = _kinds.get(name)
    if kind is None or stream not in kind.streams:
        raise ValueError(f"{name!r} is no event of a {stream}; it is registered with @event")


@cache
def _model_of(name: str) -> type[BaseModel]:
    return create_model(name, __base__=(_kinds[name].payload, *_additions.get(name, ())))


def demand_payload(name: str, payload: Mapping[str, Any]) -> None:
    """Raises pydantic's ValidationError if events of this kind do not say that. For tests: it costs
    as much as many an event."""
    _model_of(name).model_validate(payload)
