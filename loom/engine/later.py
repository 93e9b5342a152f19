"""Answers that arrive after their line has run (`Verb.answers_later`): each feature with such lines
says whether a turn still waits for one of them."""

from collections.abc import Callable

OpenIn = Callable[[str], bool]

_tests: list[OpenIn] = []


def answers_later(test: OpenIn) -> OpenIn:
    """Registers what says whether a turn, by its uid, waits for an answer of the feature."""
    _tests.append(test)
    return test


def is_open_in(turn_uid: str) -> bool:
    """Whether a turn waits for the answer of one of its lines."""
    return any(test(turn_uid) for test in _tests)
