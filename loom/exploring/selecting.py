"""Pure: which texts of a round are kept: the best, or those that differ most."""

from collections.abc import Sequence


def best(scores: Sequence[float | None], keep: int) -> list[int]:
    """The places of the best scores, best first; equal ones in their order. What has no score comes
    last."""
    order = sorted(range(len(scores)), key=lambda at: (-_number(scores[at]), at))
    return order[:keep]


def _number(score: float | None) -> float:
    return -1.0 if score is None else score


def most_different(near: Sequence[Sequence[float]], keep: int) -> list[int]:
    """The places of texts that differ most: from the first on, always the one whose nearest chosen
    one is the farthest. `near` is from 0 to 1."""
    if not len(near):
        return []
    chosen = [0]
    while len(chosen) < min(keep, len(near)):
        left = [at for at in range(len(near)) if at not in chosen]
        chosen.append(min(left, key=lambda at: (max(near[at][other] for other in chosen), at)))
    return chosen
