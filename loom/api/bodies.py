"""Request bodies: read within bounds, then checked by one frozen model each."""

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import IO, Annotated, Any, TypeVar

from django.utils.dateparse import parse_datetime
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails, from_json, to_json
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from loom.rules.errors import CommandError

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 64


class BoundedJSON(BaseParser):
    """JSON of at most 8 MiB and 64 levels, UTF-8, finite numbers, whole characters."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value. LIMIT_EXCEEDED (413) over the bounds, INVALID_SYNTAX for the rest."""
        raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"A body has at most {MAX_BYTES:,} bytes.",
                hint="send less at once",
                status=413,
            )
        return read_json(raw)


def read_json(raw: bytes) -> Any:
    """The value of JSON bytes within the bounds. The parser itself refuses what is no UTF-8,
    half a character, a constant such as NaN, and more than 200 levels."""
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise _too_deep() from None
        raise CommandError(
            "INVALID_SYNTAX", f"The body is not JSON: {error}.", hint="send JSON in UTF-8"
        ) from None
    is_deep = raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
    if is_deep or b"\\u0000" in raw or b"Infinity" in to_json(value, inf_nan_mode="constants"):
        _demand_storable(value)
    return value


def _too_deep() -> CommandError:
    said = f"A body has at most {MAX_DEPTH} levels."
    return CommandError("LIMIT_EXCEEDED", said, hint="flatten it", status=413)


def _demand_storable(value: Any) -> None:
    """Refuses U+0000, also in keys, infinite numbers, and more than MAX_DEPTH levels."""
    level, depth = [value], 0
    while level:
        below: list[Any] = []
        for one in level:
            if isinstance(one, list | dict):
                if depth == MAX_DEPTH:
                    raise _too_deep()
                below.extend(one)
                if isinstance(one, dict):
                    below.extend(one.values())
            elif isinstance(one, str) and "\0" in one:
                raise CommandError("INVALID_SYNTAX", "A text contains U+0000.", hint="remove it")
            elif isinstance(one, float) and not isfinite(one):
                raise CommandError(
                    "INVALID_SYNTAX", "A number is too large.", hint="send a smaller one"
                )
        level, depth = below, depth + 1


class Body(BaseModel):
    """Base of all bodies: nothing is converted, stripped or ignored. The schema describes
    them as they are read: what has a default may be left out."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_mode_override="validation"
    )


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


class Part(Body):
    """Base of bodies of which any field may be left out; what is not sent stays as it is.

    Defaults only make fields optional and are never read: `sent` is what counts.
    """

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    @property
    def sent(self) -> dict[str, Any]:
        """The fields that were sent, by name."""
        return self.model_dump(exclude_unset=True)


B = TypeVar("B", bound=Body)


def read(request: Request, model: type[B]) -> B:
    """The request's body as `model`. INVALID_SYNTAX with a plain sentence where it is not."""
    given = request.data
    if not isinstance(given, dict):
        raise CommandError(
            "INVALID_SYNTAX", "The body must be an object.", hint='such as {"name": …}'
        )
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False)[0], model) from None


# What pydantic finds → the sentence returned. {field} is where, the rest comes from its context.
_SAID = {
    "missing": "{field} is missing",
    "extra_forbidden": "there is no field {field} here",
    "string_type": "{field} must be a text",
    "int_type": "{field} must be a whole number",
    "float_type": "{field} must be a number",
    "bool_type": "{field} must be true or false",
    "list_type": "{field} must be a list",
    "dict_type": "{field} must be an object",
    "literal_error": "{field} must be {expected}",
    "string_too_short": "{field} must not be empty",
    "string_too_long": "{field} has at most {max_length} characters",
    "too_long": "{field} has at most {max_length} entries",
    "greater_than_equal": "{field} must be at least {ge:g}",
    "less_than_equal": "{field} must be at most {le:g}",
}
_OVER = {"string_too_long": 413, "too_long": 413, "less_than_equal": 429}


def _refusal(found: ErrorDetails, model: type[Body]) -> CommandError:
    kind = found["type"]
    field = ".".join(str(part) for part in found["loc"]) or "the body"
    said = _SAID.get(kind, "{field}: " + _plain(found["msg"])).format(
        field=field, **found.get("ctx", {})
    )
    sentence = said[0].upper() + said[1:] + "."
    names = (one.alias or name for name, one in model.model_fields.items())
    hint = f"fields: {', '.join(names)}"
    if kind in _OVER:
        return CommandError("LIMIT_EXCEEDED", sentence, hint=hint, status=_OVER[kind])
    return CommandError("INVALID_SYNTAX", sentence, hint=hint)


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").replace("{", "(").replace("}", ")")


# What several bodies are made of. A body lies beside the one view that reads it.


MAX_TEXT = 1_000_000
Word = Annotated[str, Field(min_length=1, max_length=80)]


def _instant(value: Any) -> datetime:
    found = parse_datetime(value) if isinstance(value, str) else None
    if found is None or found.tzinfo is None:
        raise ValueError("must be a time with its zone, such as 2026-11-21T02:07:00Z")
    return found


Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class LinkNamed(Body):
    """The id of an invitation or a public link."""

    id: str = Field(min_length=1, max_length=32)
