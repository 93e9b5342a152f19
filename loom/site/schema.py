"""The parts of the OpenAPI schema that all addresses share (bodies, forms, queries, pages, keys,
cookies, errors), and reading of queries and pages."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import QuerySet
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from loom.errors import CommandError, not_found
from loom.site.responses import Problem

F = TypeVar("F", bound=Callable[..., Any])
_METHODS = ("get", "post", "put", "patch", "delete")
_ERRORS = {
    "400": "INVALID_SYNTAX: the request could not be read, or a value is not valid.",
    "401": "UNAUTHENTICATED: no or invalid credentials.",
    "403": "PERMISSION_DENIED: visible, but a permission, a role or the CSRF token is missing.",
    "404": "NOT_FOUND: it does not exist, or the caller may not see it.",
    "413": "LIMIT_EXCEEDED: the body or a value in it is too large.",
    "429": "LIMIT_EXCEEDED: too much at once; Retry-After says how long to wait.",
    "default": "Any other error has the same body; `code` says what it is.",
}


class SchemaOnce(SchemaGenerator):
    """The schema, built once per process: it is the same for everybody, and takes half a second."""

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:
        """The whole schema; callers must not change it."""
        return _schema()


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return schema


def operation(
    method: str,
    name: str,
    summary: str,
    *,
    answers: Any,
    body: Any = None,
    status: int = 200,
    asks: Sequence[OpenApiParameter] = (),
    id: str = "",
) -> Callable[[F], F]:
    """Describes one method of an address; `name` is its group, a space, and its action, from which
    its id is made if no `id` is given."""
    group, _, action = name.partition(" ")
    described: Callable[[F], F] = extend_schema(
        methods=[method],
        operation_id=id or f"{group}_{action}",
        tags=[group],
        summary=summary,
        request=body,
        responses=answers if isinstance(answers, dict) else {status: answers},
        parameters=list(asks),
    )
    return described


def form(file: str, **fields: tuple[str, Sequence[str]]) -> dict[str, Any]:
    """The schema of a form with a file and text fields, each with its description and allowed
    values (none: any)."""
    described: dict[str, Any] = {
        "file": {"type": "string", "format": "binary", "description": file}
    }
    for name, (says, values) in fields.items():
        allowed = {"enum": ["", *values]} if values else {}
        described[name] = {"type": "string", **allowed, "description": says}
    body = {"type": "object", "required": ["file"], "properties": described}
    return {"multipart/form-data": body}


class Schema(AutoSchema):
    """Keeps the body of DELETE requests: erasing and removing need one."""

    def _get_request_body(self, direction: Any = "request") -> Any:
        if self.method != "DELETE":
            return super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        body = self.get_request_serializer()
        if body is None:
            return None
        schema, _ = self._get_request_for_media_type(body, direction)  # type: ignore[no-untyped-call]
        return {"content": {"application/json": {"schema": schema}}, "required": True}


class BearerInSchema(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """API keys."""

    target_class = "loom.site.api_requests.Bearer"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token in the header."""
        return {"type": "http", "scheme": "bearer"}


class CookieInSchema(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Signed-in browsers."""

    target_class = "loom.site.api_requests.Cookie"
    name = "cookie"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The session's cookie."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


def with_errors(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Adds to every operation the errors that all of them can return."""
    result["components"]["schemas"]["Problem"] = Problem.model_json_schema()
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for methods in result["paths"].values():
        for method in _METHODS:
            if method in methods:
                answers = methods[method]["responses"]
                for status, says in _ERRORS.items():
                    answers.setdefault(status, {"description": says, "content": content})
    return result


def short_names(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Names each schema without the `Schema` at the end of its class: `TreeSchema` is `Tree`."""
    components = result["components"]
    for name, schema in components["schemas"].items():
        if schema.get("title") == name:
            schema["title"] = _short(name)
    components["schemas"] = {_short(name): schema for name, schema in components["schemas"].items()}
    shortened: dict[str, Any] = _with_short_refs(result)
    return shortened


def _short(name: str) -> str:
    return name.removesuffix("Schema")


def _with_short_refs(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_short_refs(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _short(item) if key == "$ref" else _with_short_refs(item)
        for key, item in value.items()
    }


# Query parameters: reading them, and their schema.


def word(request: Request, name: str) -> str:
    """An id from the query; "" if it is left out. NOT_FOUND for an invalid id."""
    given = request.query_params.get(name, "")
    if given and not (given.isascii() and given.isalnum()):
        raise not_found(f"{name}={given[:40]!r}")
    return given


def needed(request: Request, name: str) -> str:
    """A required id from the query."""
    given = word(request, name)
    if not given:
        raise CommandError("INVALID_SYNTAX", f"{name} is missing.", hint=f"?{name}=ID")
    return given


def an_id(name: str, says: str, *, required: bool = False) -> OpenApiParameter:
    """The schema of an id in the query; what is not one is NOT_FOUND."""
    shape = {"type": "string", "pattern": "^[A-Za-z0-9]+$" if required else "^[A-Za-z0-9]*$"}
    return OpenApiParameter(name, shape, description=says, required=required)


def a_choice(name: str, says: str, allowed: Sequence[str]) -> OpenApiParameter:
    """The schema of one of some words in the query, which may be left out or empty."""
    return OpenApiParameter(name, {"type": "string", "enum": ["", *allowed]}, description=says)


def a_truth(name: str, says: str) -> OpenApiParameter:
    """The schema of a boolean in the query."""
    return OpenApiParameter(name, OpenApiTypes.BOOL, description=says, default=False)


DIGITS = 18  # of a number in the query
MOST = 10**DIGITS - 1


def a_number(
    name: str,
    says: str,
    *,
    least: int = 0,
    most: int | None = None,
    default: int | None = None,
) -> OpenApiParameter:
    """The schema of a whole number in the query, as `number` reads it."""
    bounds = {"type": "integer", "minimum": least, "maximum": MOST if most is None else most}
    return OpenApiParameter(name, bounds, description=says, default=default)


def cursor(most: int) -> tuple[OpenApiParameter, OpenApiParameter]:
    """The parameters of a feed of events, of which an answer has at most `most`."""
    return (
        a_number("since", "The last seq that is known."),
        a_number("limit", f"At most {most}.", least=1, most=most),
    )


def number(
    request: Request, name: str, *, default: int, least: int = 0, most: int | None = None
) -> int:
    """A whole number from the query: INVALID_SYNTAX if it is not one or below `least`,
    LIMIT_EXCEEDED above `most`."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdecimal()) or len(given) > DIGITS or int(given) < least:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{name} must be a whole number of at least {least}.",
            hint=f"{name}={default}",
        )
    if most is not None and int(given) > most:
        raise CommandError(
            "LIMIT_EXCEEDED", f"{name} must be at most {most}.", hint=f"{name}={most}"
        )
    return int(given)


def truth(request: Request, name: str) -> bool:
    """A boolean from the query: 1, true, 0, false, or nothing for false."""
    given = request.query_params.get(name, "0").lower()
    if given not in ("0", "1", "true", "false"):
        raise CommandError("INVALID_SYNTAX", f"{name} must be 1 or 0.", hint=f"{name}=1")
    return given in ("1", "true")


def one_of(request: Request, name: str, allowed: Sequence[str], default: str = "") -> Any:
    """One of some words from the query. INVALID_SYNTAX for any other."""
    value = request.query_params.get(name, default)
    if value not in allowed:
        raise CommandError(
            "INVALID_SYNTAX",
            f"There is no {name} {value[:40]!r}.",
            hint=f"{name}= " + ", ".join(word for word in allowed if word),
        )
    return value


# Lists in pages: `{count, results}` by `limit` and `offset`.


USUAL_ROWS, MOST_ROWS = 100, 1000
PAGES = (
    a_number(
        "limit", f"At most {MOST_ROWS}; {USUAL_ROWS} where it is left out.", least=1, most=MOST_ROWS
    ),
    a_number("offset", "How many to skip."),
)


def paged(
    request: Request, rows: "QuerySet[Any]", body: Callable[[Any], dict[str, Any]]
) -> Response:
    """One page of the rows, each converted by `body`."""
    return paged_at_once(request, rows, lambda page: [body(row) for row in page])


def paged_at_once(
    request: Request,
    rows: "QuerySet[Any] | list[Any]",
    bodies: Callable[[list[Any]], list[dict[str, Any]]],
) -> Response:
    """One page of the rows, converted together by `bodies`."""
    limit = number(request, "limit", default=USUAL_ROWS, least=1, most=MOST_ROWS)
    offset = number(request, "offset", default=0)
    page = bodies(list(rows[offset : offset + limit]))
    count = len(rows) if isinstance(rows, list) else rows.count()
    return Response({"count": count, "results": page})
