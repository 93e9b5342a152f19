"""Kinds of sockets, `/ws/KIND/ID`. A feature names the module of its own (`add_sockets`), which web
processes load; the module registers its consumer and who may open one (`serves`)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from loom.access import Actor
from loom.people.models import User

Opener = Callable[[User, str], tuple[Actor, Any]]


@dataclass(frozen=True)
class SocketKind:
    """One kind: how its item is fetched for somebody, the ASGI application, the name of an item's
    stream, and what ends with the process."""

    opens: Opener
    application: Any
    stream: Callable[[Any], str]
    close: Callable[[], Awaitable[None]]


_modules: list[str] = []
_kinds: dict[str, SocketKind] = {}


def add_sockets(module: str) -> None:
    """Registers a module that `serves` a kind of sockets."""
    if module not in _modules:
        _modules.append(module)


def serves(kind: str, socket: SocketKind) -> None:
    """Registers a kind of sockets."""
    _kinds[kind] = socket


def kinds() -> dict[str, SocketKind]:
    """All registered kinds by name; loads their modules."""
    for name in _modules:
        import_module(name)
    return _kinds
