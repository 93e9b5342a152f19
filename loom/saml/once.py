"""What the organisation sends counts once: which messages have come is kept in the cache, and
without it nobody is let in or signed out."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.cache import cache

from loom.errors import CommandError
from loom.text.hashes import digest


@contextmanager
def kept() -> Iterator[None]:
    """UNAVAILABLE if the cache cannot be used inside."""
    try:
        yield
    except Exception as error:
        raise CommandError(
            "UNAVAILABLE",
            "Messages cannot be kept at the moment.",
            hint="Try again in a moment.",
            retryable=True,
        ) from error


def is_first(message: str, *, seconds: int) -> bool:
    """Whether the message with this id comes for the first time in so many seconds."""
    with kept():
        return bool(cache.add(f"saml:seen:{digest(message)}", 1, seconds))
