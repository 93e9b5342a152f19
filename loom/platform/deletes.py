"""Rows deleted by one statement, without loading them.

Uses `_raw_delete` of Django 5.2. The public `delete` first looks for rows that refer to them, table
by table, and loads them where there may be any. It can go when the database itself deletes what
refers to a row (`db_on_delete`, of a later Django).
"""

from typing import Any

from django.db.models import QuerySet


def delete_without_loading(rows: QuerySet[Any]) -> None:
    """Deletes the rows. Nothing else may refer to them: that is not looked for."""
    rows._raw_delete(rows.db)
