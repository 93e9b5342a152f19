"""What another feature registers to find the texts nearest to a query, such as by their meaning.
Without such a feature a search is by words alone."""

from collections.abc import Callable, Collection, Sequence

from loom.errors import CommandError
from loom.people.models import Grove

# (query, grove, ids of trees of it, most, whether also those that are far away are wanted) →
# versions with their nearness, nearest first; no check of who may see them.
Nearest = Callable[[str, Grove, Collection[int], int, bool], Sequence[tuple[int, float]]]
_nearest: list[Nearest] = []


def finds_nearest(function: Nearest) -> Nearest:
    """Registers what finds the texts nearest to a query."""
    _nearest.append(function)
    return function


Prepares = Callable[[str, Grove], None]
_prepares: list[Prepares] = []


def prepares_nearest(function: Prepares) -> Prepares:
    """Registers what is done for a query before a line takes its locks."""
    _prepares.append(function)
    return function


def prepare(query: str, grove: Grove) -> None:
    """Does what may take long before a query is looked for."""
    for function in _prepares:
        function(query, grove)


def can_blend() -> bool:
    """Whether anything is registered that finds texts otherwise than by words."""
    return bool(_nearest)


def nearest(
    query: str, grove: Grove, trees: Collection[int], most: int, *, is_wide: bool
) -> list[tuple[int, float]]:
    """The versions nearest to a query, nearest first, at most `most`; `is_wide`: also those that
    are far away. UNAVAILABLE if that is asked for and nothing here can find them."""
    if not _nearest and is_wide:
        reason = "Finding by meaning is not installed here."
        raise CommandError("UNAVAILABLE", reason, hint='write → find "words"')
    return [near for function in _nearest for near in function(query, grove, trees, most, is_wide)]
