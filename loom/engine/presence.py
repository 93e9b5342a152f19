"""Who has which stream open now, in any process."""

import logging
import time
from collections.abc import Iterable, Mapping

from django.core.cache import cache as django_cache

# Who has which stream open now, for lists of trees: each live feed reports it, and the cache keeps
# it for a short time. No permission depends on it; without the broker the lists are empty.


present_log = logging.getLogger("heddle.present")

KEPT_S = 50  # seconds; feeds report more often than that


def set_present(stream: str, participants: Iterable[str]) -> None:
    """Stores the uids of all participants who have the stream open, in any process."""
    here = sorted(set(participants))
    try:
        if here:
            django_cache.set(_key(stream), here, KEPT_S)
        else:
            django_cache.delete(_key(stream))
    except Exception as error:  # the broker may be down: a list without names does no harm
        present_log.warning("could not report who is in %s: %s", stream, error)


def present(streams: Iterable[str]) -> dict[str, list[str]]:
    """The uids of those who have each stream open; streams that nobody has open are left out."""
    keys = {_key(stream): stream for stream in streams}
    try:
        cached = django_cache.get_many(list(keys))
    except Exception as error:
        present_log.warning("could not see who is here: %s", error)
        return {}
    return {keys[key]: list(here) for key, here in cached.items()}


def _key(stream: str) -> str:
    return f"present:{stream}"


LEFT_S = 60.0  # seconds for which it is stored who left


def tell_places(stream: str, places: Mapping[str, str]) -> None:
    """Stores the node (local id) on the pages of each participant, by uid, and when those who have
    left since were last seen. Replaces what was stored before."""
    try:
        before, left = _places(stream)
        now = time.time()
        left = {uid: at for uid, at in left.items() if now - at < LEFT_S and uid not in places}
        left |= {uid: now for uid in before if uid not in places}
        django_cache.set(f"places:{stream}", [dict(places), left], LEFT_S)
    except Exception as error:  # without the broker nobody is seen, which is no harm
        present_log.warning("could not store who is where in %s: %s", stream, error)


def places(stream: str) -> tuple[dict[str, str], dict[str, float]]:
    """(the node of each participant who has a page open, by uid; when those who left in the last
    minute did so, in seconds since 1970)."""
    try:
        return _places(stream)
    except Exception as error:
        present_log.warning("could not see who is where: %s", error)
        return {}, {}


def _places(stream: str) -> tuple[dict[str, str], dict[str, float]]:
    here, left = django_cache.get(f"places:{stream}") or ({}, {})
    return here, left
