"""Log probabilities of tokens as endpoints send them: numbers, and what is none."""

import math
from typing import Any

LEAST_LOGPROB = -10_000.0  # lower ones, as llama.cpp's -3.4e38 for "never", count as this


def finite_logprob(value: Any) -> float | None:
    """The value as a number from LEAST_LOGPROB to its opposite, so that sums of them are finite
    too; None if it is none. Some servers send -9999 for none, which is taken as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None
    return min(max(number, LEAST_LOGPROB), -LEAST_LOGPROB) if math.isfinite(number) else None
