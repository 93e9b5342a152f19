"""What the query of an address says; numbers and truths are read in `reading`."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from loom.rules.refusals import Refused, not_found


def word(request: Request, name: str) -> str:
    """An id from the query; "" where it is left out. NOT_FOUND for what can be no id."""
    given = request.query_params.get(name, "")
    if given and not (given.isascii() and given.isalnum()):
        raise not_found(f"{name}={given[:40]!r}")
    return given


def needed(request: Request, name: str) -> str:
    """An id that may not be left out of the query."""
    given = word(request, name)
    if not given:
        raise Refused("INVALID_SYNTAX", f"{name} is missing.", hint=f"?{name}=ID")
    return given


def an_id(name: str, says: str, *, required: bool = False) -> OpenApiParameter:
    """An id in the query, for the schema."""
    return OpenApiParameter(name, OpenApiTypes.STR, description=says, required=required)


def a_truth(name: str, says: str) -> OpenApiParameter:
    """A yes or no in the query, for the schema."""
    return OpenApiParameter(name, OpenApiTypes.BOOL, description=says, default=False)


def a_number(name: str, says: str, *, least: int = 0, most: int | None = None) -> OpenApiParameter:
    """A whole number in the query, for the schema."""
    bounds = {"type": "integer", "minimum": least}
    if most is not None:
        bounds["maximum"] = most
    return OpenApiParameter(name, bounds, description=says)
