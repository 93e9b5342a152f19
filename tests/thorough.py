"""How many generated examples and how long texts a run tries: few in each check, so that it ends in
minutes, all of them with `HEDDLE_THOROUGH=1`.

The examples of a check are drawn afresh each time, so those that one leaves out another has.
"""

import os

THOROUGH = os.environ.get("HEDDLE_THOROUGH", "") == "1"
FEWEST = 5


def tries(all_of_them: int) -> int:
    """How many of so many examples this run tries: a quarter, at least five."""
    if THOROUGH:
        return all_of_them
    return min(all_of_them, max(FEWEST, all_of_them // 4))
