"""What the worker's sweeper looks for every few seconds: work that a process has left unfinished. A
feature registers its part beside the code that does the work."""

from collections.abc import Callable

Sweep = Callable[[], object]
_sweeps: list[Sweep] = []

FORGOTTEN_S = 10  # seconds after which work that is waiting is taken to be forgotten


def sweeps(sweep: Sweep) -> Sweep:
    """Registers a part of each round; it must be safe to run twice and at the same time."""
    if sweep not in _sweeps:
        _sweeps.append(sweep)
    return sweep


def every() -> tuple[Sweep, ...]:
    """The parts of a round, in the order of registration."""
    return tuple(_sweeps)
