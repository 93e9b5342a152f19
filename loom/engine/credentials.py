"""What a turn was started with besides a membership, such as the key of a program: whether it is
still valid is asked before each of its lines and calls, and again under the lock. A feature with
such credentials registers its question."""

from collections.abc import Callable

Demand = Callable[[str], None]
_demands: list[Demand] = []


def demands_credential(demand: Demand) -> Demand:
    """Registers a question about a turn, named by its uid: it raises PERMISSION_DENIED if the turn
    may act no more."""
    if demand not in _demands:
        _demands.append(demand)
    return demand


def demand_valid(turn_uid: str) -> None:
    """Refuses, with PERMISSION_DENIED, a turn whose credential is over."""
    for demand in _demands:
        demand(turn_uid)
