"""The setting of a grove about money. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from loom.participants.prices import NANO
from loom.people.grove_settings import Setting, add_settings, value_of

DAILY_USD: Final = 1.0

add_settings(
    Setting(
        "daily_budget_usd",
        "number",
        DAILY_USD,
        "US dollars that each member may spend per day; 0: no limit",
        0,
        1e9,
    ),
)


def daily_limit(settings: Mapping[str, Any]) -> int:
    """The limit per day and member of a grove with these settings, in billionths of a dollar; 0
    means no limit."""
    return round(float(value_of(settings, "daily_budget_usd")) * NANO)
