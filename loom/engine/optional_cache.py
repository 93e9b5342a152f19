"""Values that are kept in the cache only to be faster, or because nothing is lost without them:
while the broker is away nothing is kept, and nobody is refused for it. Who has to know that the
cache is away, to refuse or to count nothing, asks Django's own cache, and catches what it raises
(`tests/house/test_cache.py` lists them)."""

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.core.cache import cache

from loom.platform.broker import BrokerAwayError

log = logging.getLogger("heddle.cache")


def get(key: str) -> Any:
    """The value of a key; None if there is none, or the cache is away."""
    try:
        return cache.get(key)
    except Exception as error:
        _note(error)
        return None


def get_many(keys: Collection[str]) -> dict[str, Any]:
    """The values that there are, by key; none while the cache is away."""
    try:
        values: dict[str, Any] = cache.get_many(keys)
    except Exception as error:
        _note(error)
        return {}
    return values


def keep(key: str, value: object, seconds: float | None) -> None:
    """Keeps a value for so long; None: until it is deleted."""
    try:
        cache.set(key, value, seconds)
    except Exception as error:
        _note(error)


def keep_many(values: Mapping[str, object], seconds: float | None) -> None:
    """Keeps values by their keys."""
    if not values:
        return
    try:
        cache.set_many(dict(values), seconds)
    except Exception as error:
        _note(error)


def forget(keys: Iterable[str]) -> None:
    """Deletes the values of these keys."""
    try:
        cache.delete_many(list(keys))
    except Exception as error:
        _note(error)


def _note(error: Exception) -> None:
    if not isinstance(error, BrokerAwayError):  # which was noted when it went away
        log.warning("the cache is away: %s", error)
