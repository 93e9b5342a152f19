"""How the OpenAPI schema describes what all addresses share: bodies, keys, cookies, errors."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, extend_schema

from loom.api.responses import Problem

F = TypeVar("F", bound=Callable[..., Any])
_METHODS = ("get", "post", "put", "patch", "delete")
_ERRORS = {
    "400": "INVALID_SYNTAX: the request could not be read, or holds no such value.",
    "401": "UNAUTHENTICATED: no or bad credentials.",
    "403": "PERMISSION_DENIED: seen, but a permission, a role or the CSRF token is missing.",
    "404": "NOT_FOUND: it does not exist, or the caller may not see it.",
    "413": "LIMIT_EXCEEDED: the body or a value in it is too big.",
    "429": "LIMIT_EXCEEDED: too much at once; Retry-After says how long to wait.",
    "default": "Any other error has the same body; `code` says what it is.",
}


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
    """Describes one method of an address; `name` is its group, a space, and its action, which
    make its id where it has no `id` of another form."""
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


class Schema(AutoSchema):
    """Drops no body: erasing and removing say in theirs what is meant."""

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

    target_class = "loom.api.auth.Bearer"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """A bearer token in the header."""
        return {"type": "http", "scheme": "bearer"}


class CookieInSchema(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Signed-in browsers."""

    target_class = "loom.api.auth.Cookie"
    name = "cookie"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """The session's cookie."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


def with_errors(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Adds to every operation the errors that every operation may answer."""
    result["components"]["schemas"]["Problem"] = Problem.model_json_schema()
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for methods in result["paths"].values():
        for method in _METHODS:
            if method in methods:
                answers = methods[method]["responses"]
                for status, says in _ERRORS.items():
                    answers.setdefault(status, {"description": says, "content": content})
    return result
