"""Pure: means and shares with their intervals of 95 %."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z = 1.96


@dataclass(frozen=True)
class ModelFigure:
    """A value of `n` texts with its interval; None where there are none, or (of the interval) too
    few to tell."""

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def body(self) -> dict[str, float | int | None]:
        """As JSON."""
        return {"n": self.n, "value": self.value, "low": self.low, "high": self.high}


def mean(values: Sequence[float]) -> ModelFigure:
    """The mean, with the interval of a mean of so many values."""
    n = len(values)
    if not n:
        return ModelFigure(0, None)
    middle = sum(values) / n
    if n < 2:
        return ModelFigure(n, middle)
    spread = math.sqrt(sum((value - middle) ** 2 for value in values) / (n - 1))
    half = Z * spread / math.sqrt(n)
    return ModelFigure(n, middle, middle - half, middle + half)


def share(hits: int, n: int) -> ModelFigure:
    """The share of hits, with the interval after Wilson."""
    if not n:
        return ModelFigure(0, None)
    p = hits / n
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return ModelFigure(n, p, max(0.0, middle - half), min(1.0, middle + half))
