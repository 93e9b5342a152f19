"""How values are stored in SQLite: instants as numbers, JSON without blanks.

Django writes an instant as a text of 26 bytes, which every row and many an index has. Here it is
the number of microseconds since 1970, in 8. It can go when Django stores numbers itself.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.backends.sqlite3 import base  # first: its operations import it
from django.utils.dateparse import parse_datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Of a text as Django writes it: to the second, and the rest.
FROM_TEXT = """strftime('%%s', substr({0}, 1, 19)) * 1000000
    + COALESCE(NULLIF(substr({0}, 21, 6), ''), 0)"""
_TO_SECOND = "datetime({} / 1000000, 'unixepoch')"


def stored_instant(at: datetime) -> int:
    """The number that is stored."""
    return (at.astimezone(UTC) - _EPOCH) // _MICROSECOND


def read_instant(stored: bytes) -> datetime | None:
    """The instant of a column, as SQLite gives it."""
    if b"-" in stored[1:]:  # Django's text, in a database of the build before that is taken over
        return parse_datetime(stored.decode())
    return _EPOCH + int(stored) * _MICROSECOND


def instant_text(stored: int) -> str:
    """An instant as in the API: RFC 3339 in UTC with microseconds."""
    return f"{_EPOCH + stored * _MICROSECOND:%Y-%m-%dT%H:%M:%S.%fZ}".rjust(27, "0")


class DatabaseOperations(base.DatabaseOperations):
    """Django's own, but for instants and JSON. A lookup of a part of an instant, such as its day,
    is given it as the text that Django's functions read, to the second."""

    def adapt_datetimefield_value(self, value: datetime | None) -> Any:
        """The number that is stored."""
        return None if value is None else stored_instant(value)

    def convert_datetimefield_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The instant that is read. Of an expression it is a number, of a function a text."""
        if isinstance(value, int):
            return _EPOCH + value * _MICROSECOND
        return super().convert_datetimefield_value(value, expression, connection)

    def adapt_json_value(self, value: Any, encoder: Any) -> str:
        """The text that is stored: letters as they are, unless one is half of a pair."""
        text = json.dumps(value, cls=encoder, separators=(",", ":"), ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, cls=encoder, separators=(",", ":"))
        return text

    def datetime_cast_date_sql(self, sql: str, params: Any, tzname: str | None) -> Any:
        """The day of an instant."""
        return super().datetime_cast_date_sql(_TO_SECOND.format(sql), params, tzname)

    def datetime_cast_time_sql(self, sql: str, params: Any, tzname: str | None) -> Any:
        """The time of day of an instant."""
        return super().datetime_cast_time_sql(_TO_SECOND.format(sql), params, tzname)

    def datetime_extract_sql(self, lookup_type: str, sql: str, params: Any, tzname: Any) -> Any:
        """A part of an instant, such as its hour."""
        return super().datetime_extract_sql(lookup_type, _TO_SECOND.format(sql), params, tzname)

    def datetime_trunc_sql(self, lookup_type: str, sql: str, params: Any, tzname: Any) -> Any:
        """An instant without what is smaller than a unit, as a text."""
        return super().datetime_trunc_sql(lookup_type, _TO_SECOND.format(sql), params, tzname)
