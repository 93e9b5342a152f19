"""Pauses of outside services that fail, kept in the cache so that all workers see them: a service
that is away is asked once after each pause, not by everything that waits for it. While the cache is
away, no pause is known. A service is known by a name such as `embedder:api.example.org:small`."""

import time

from loom.engine import optional_cache

FIRST_S, LONGEST_S = 30, 3600
FORGET_S = 2 * LONGEST_S  # seconds after which a failure no longer counts


def _key(name: str) -> str:
    return f"away:{name}"


def failed(name: str, reason: str) -> float:
    """Notes a failure and returns the pause in seconds: `FIRST_S`, doubled by each failure in a row
    up to `LONGEST_S`."""
    failures = (optional_cache.get(_key(name)) or (0, 0.0, ""))[0] + 1
    pause_s = float(min(LONGEST_S, FIRST_S * 2 ** min(failures - 1, 10)))
    optional_cache.keep(_key(name), (failures, time.time() + pause_s, reason), FORGET_S)
    return pause_s


def worked(name: str) -> None:
    """Ends the pauses: the next failure is the first again."""
    optional_cache.forget([_key(name)])


def pause(name: str) -> tuple[float, str]:
    """The seconds until a service may be asked again, and why it failed; (0.0, "") if it may be
    asked now."""
    _, until, reason = optional_cache.get(_key(name)) or (0, 0.0, "")
    left_s = float(until - time.time())
    return (left_s, reason) if left_s > 0 else (0.0, "")
