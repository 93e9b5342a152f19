"""Small printers that replies share: ages, first words, counts of words."""

from datetime import datetime

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
SUMMARY_WORDS = 30
SUMMARY_CHARACTERS = 300


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


def quote(text: str, words: int = SUMMARY_WORDS) -> str:
    """The first words in quotes, on one line; `…` says that there are more.

    A text of so few words is its own summary. Where words have no end, as in scripts
    without blanks, 300 characters count as enough.
    """
    head = text[: SUMMARY_CHARACTERS * 8]
    parts = head.split(None, words)
    line = " ".join(parts[:words])
    cut = len(parts) > words or (len(head) < len(text) and bool(text[len(head) :].strip()))
    if len(line) > SUMMARY_CHARACTERS:
        line, cut = line[:SUMMARY_CHARACTERS].rstrip(), True
    return f'"{line}…"' if cut else f'"{line}"'


def words(count: int) -> str:
    """`1 word`, `1,247 words`."""
    return f"{count:,} {'word' if count == 1 else 'words'}"
