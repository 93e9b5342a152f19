"""Verbs that nobody can use in a grove at the moment, whatever their permissions."""

from collections.abc import Callable

from loom.access import Actor

Unusable = Callable[[Actor], frozenset[str]]

_tests: list[Unusable] = []


def cannot_be_used(test: Unusable) -> Unusable:
    """Registers a test that returns such verbs of its feature."""
    _tests.append(test)
    return test


def unusable(actor: Actor) -> frozenset[str]:
    """The verbs that nobody can use in the actor's grove."""
    return frozenset().union(*(test(actor) for test in _tests))
