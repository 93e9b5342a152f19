"""Lists in pages: `{count, results}` by `limit` and `offset`."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from loom.doors.api.asking import a_number
from loom.doors.api.reading import number

USUAL, MOST = 100, 1000
PAGES = (
    a_number("limit", f"At most {MOST}; {USUAL} where it is left out.", least=1, most=MOST),
    a_number("offset", "How many to pass over."),
)


def paged(
    request: Request, rows: "QuerySet[Any]", body: Callable[[Any], dict[str, Any]]
) -> Response:
    """One page of the rows, each as `body` shows it."""
    limit = number(request, "limit", default=USUAL, least=1, most=MOST)
    offset = number(request, "offset", default=0)
    page = [body(row) for row in rows[offset : offset + limit]]
    return Response({"count": rows.count(), "results": page})
