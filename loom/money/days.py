"""The day by which money is counted."""

from datetime import UTC, date, datetime


def today() -> date:
    """The current day (UTC), for counting money."""
    return datetime.now(UTC).date()
