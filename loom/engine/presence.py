"""Who has which stream open now, and where in it, in any process: for lists of trees and for what
models are told. No permission depends on it.

Each live feed reports it to the cache, which keeps it for a while. What a process reported counts
only as long as that process renews its lease, so that a killed one takes its people with it.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from loom.engine import optional_cache

LEASE_S = 8  # seconds for which a process counts as alive after it has said so
RENEWED_S = 2.5
KEPT_S = 60  # seconds; feeds report more often than that
LEFT_S = 60.0  # seconds for which it is stored who left

Place = tuple[str, str]  # the local id of a node, and the process that has the page
Left = dict[str, float]  # when somebody was last seen, by uid


def renew(process: str) -> None:
    """Says that a process is alive. Without the broker nobody is seen, which is no harm."""
    optional_cache.keep(_lease(process), 1, LEASE_S)


def report(stream: str, here: Mapping[str, Place]) -> None:
    """Stores where everybody is who has the stream open, by uid, and when those who have left
    since were last seen. Replaces what was stored before."""
    before, left = optional_cache.get(_key(stream)) or ({}, {})
    now = time.time()
    left = {uid: at for uid, at in left.items() if now - at < LEFT_S and uid not in here}
    left |= {uid: now for uid in before if uid not in here}
    optional_cache.keep(_key(stream), [dict(here), left], KEPT_S)


def present(streams: Iterable[str]) -> dict[str, list[str]]:
    """The uids of those who have each stream open; streams that nobody has open are left out."""
    return {stream: sorted(here) for stream, (here, _) in _reported(streams).items() if here}


def places(stream: str) -> tuple[dict[str, str], Left]:
    """(the node of each participant who has a page open, by uid; when those who left in the last
    minute did so, in seconds since 1970)."""
    here, left = _reported([stream]).get(stream, ({}, {}))
    return {uid: node for uid, (node, _) in here.items()}, left


def _reported(streams: Iterable[str]) -> dict[str, tuple[dict[str, Place], Left]]:
    """What was reported of each stream by processes that are alive."""
    keys = {_key(stream): stream for stream in streams}
    cached: Mapping[str, Any] = optional_cache.get_many(list(keys))
    alive = _alive({process for here, _ in cached.values() for _, process in here.values()})
    return {
        keys[key]: ({uid: place for uid, place in here.items() if place[1] in alive}, left)
        for key, (here, left) in cached.items()
    }


def _alive(processes: Collection[str]) -> set[str]:
    if not processes:
        return set()
    leases = optional_cache.get_many([_lease(process) for process in processes])
    return {process for process in processes if _lease(process) in leases}


def _key(stream: str) -> str:
    return f"places:{stream}"


def _lease(process: str) -> str:
    return f"process:{process}"
