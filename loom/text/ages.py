"""How long ago something was, in words. Pure."""

from datetime import datetime

from loom.text.shortening import DAY_S, HOUR_S, MINUTE_S


def age(now: datetime, then: datetime) -> str:
    """`now`, `3m ago`, `2h ago`, `5d ago`."""
    seconds = int((now - then).total_seconds())
    if seconds < MINUTE_S:
        return "now"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S}m ago"
    if seconds < DAY_S:
        return f"{seconds // HOUR_S}h ago"
    return f"{seconds // DAY_S}d ago"
