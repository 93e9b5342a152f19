"""Verbs that somebody cannot use at the moment, whatever their permissions, and why."""

from collections.abc import Callable

from loom.access import Actor

Unusable = Callable[[Actor], dict[str, str]]

_tests: list[Unusable] = []


def cannot_be_used(test: Unusable) -> Unusable:
    """Registers a test that returns such verbs of its feature, each with the reason."""
    _tests.append(test)
    return test


def unusable(actor: Actor) -> dict[str, str]:
    """The verbs that the actor cannot use, each with the reason."""
    return {verb: why for test in _tests for verb, why in test(actor).items()}
