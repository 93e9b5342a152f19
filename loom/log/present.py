"""Who has which stream open now, for lists of trees: told by each live feed, kept in the
cache, soon forgotten. No right hangs on it, and without the broker nobody is seen."""

import logging
from collections.abc import Iterable

from django.core.cache import cache

log = logging.getLogger("heddle.present")

KEPT_S = 50  # a feed tells again sooner than that


def tell(stream: str, participants: Iterable[str]) -> None:
    """Notes the uids of all participants who have the stream open, in whatever process."""
    here = sorted(set(participants))
    try:
        if here:
            cache.set(_key(stream), here, KEPT_S)
        else:
            cache.delete(_key(stream))
    except Exception as error:  # the broker may be down: a list without faces is no harm
        log.warning("could not tell who is in %s: %s", stream, error)


def present(streams: Iterable[str]) -> dict[str, list[str]]:
    """The uids of those who have each stream open; a stream of nobody is left out."""
    keys = {_key(stream): stream for stream in streams}
    try:
        found = cache.get_many(list(keys))
    except Exception as error:
        log.warning("could not see who is here: %s", error)
        return {}
    return {keys[key]: list(here) for key, here in found.items()}


def _key(stream: str) -> str:
    return f"present:{stream}"
