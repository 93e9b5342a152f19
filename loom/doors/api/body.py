"""Bodies: read within bounds before anything believes them, then checked by a model."""

import json
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from loom.rules.refusals import Refused

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 64

# What is left of JSON without its strings: +1 where a level opens, -1 where one closes.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[{]}")))
# Only these escapes can bring U+0000 or half a character: UTF-8 itself holds no lone
# surrogate, and JSON no raw control character.
_SUSPECT = re.compile(r"\\u(?:0000|d[89a-f])", re.IGNORECASE)


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
            raise Refused(
                "LIMIT_EXCEEDED",
                f"A body has at most {MAX_BYTES:,} bytes.",
                hint="send less at once",
                status=413,
            )
        return read_json(raw)


def read_json(raw: bytes) -> Any:
    """The value of JSON bytes within the bounds."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unread(f"byte {error.start} is not UTF-8") from None
    _demand_shallow(raw)
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except ValueError as error:
        raise _unread(str(error)) from None
    if _SUSPECT.search(text):
        _demand_whole(value)
    return value


def _unread(why: str) -> Refused:
    return Refused("INVALID_SYNTAX", f"The body is not JSON: {why}.", hint="send JSON in UTF-8")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def depth_of(raw: bytes) -> int:
    """How many levels of lists and objects JSON has; one pass, whatever the bytes are.

    Exact for JSON. Of anything else it says how deep the parser comes before it gives up.
    """
    if b"\\" in raw:  # outside strings JSON has no backslash
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(raw.split(b'"')[::2])
    steps = outside.translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(steps).cast("b")), default=0)


def _demand_shallow(raw: bytes) -> None:
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and depth_of(raw) > MAX_DEPTH:
        raise Refused(
            "LIMIT_EXCEEDED",
            f"A body has at most {MAX_DEPTH} levels.",
            hint="flatten it",
            status=413,
        )


def _demand_whole(value: Any) -> None:
    """Refuses U+0000 and lone surrogates anywhere, also in keys."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            demand_whole_text(one)
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one.keys())
            waiting.extend(one.values())


def demand_whole_text(text: str) -> None:
    """Refuses a text with U+0000 or half a character."""
    if "\0" in text:
        raise Refused("INVALID_SYNTAX", "A text holds U+0000.", hint="take it out")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(
            "INVALID_SYNTAX",
            "A text holds half a character (a lone surrogate).",
            hint="send whole characters",
        ) from None


class Body(BaseModel):
    """Base of all bodies: nothing is converted, stripped or ignored."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Part(Body):
    """Base of bodies of which any field may be left out; what is not sent stays as it is.

    Defaults only make fields optional and are never read: `sent` is what counts.
    """

    @property
    def sent(self) -> dict[str, Any]:
        """The fields that were sent, by name."""
        return self.model_dump(exclude_unset=True)


B = TypeVar("B", bound=Body)


def read(request: Request, model: type[B]) -> B:
    """The request's body as `model`. INVALID_SYNTAX with a plain sentence where it is not."""
    given = request.data
    if not isinstance(given, dict):
        raise Refused("INVALID_SYNTAX", "The body must be an object.", hint='such as {"name": …}')
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False)[0], model) from None


# What pydantic finds → what is said. {field} is where, the rest comes from its context.
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


def _refusal(found: ErrorDetails, model: type[Body]) -> Refused:
    kind = found["type"]
    field = ".".join(str(part) for part in found["loc"]) or "the body"
    said = _SAID.get(kind, "{field}: " + _plain(found["msg"])).format(
        field=field, **found.get("ctx", {})
    )
    sentence = said[0].upper() + said[1:] + "."
    names = (one.alias or name for name, one in model.model_fields.items())
    hint = f"fields: {', '.join(names)}"
    if kind in _OVER:
        return Refused("LIMIT_EXCEEDED", sentence, hint=hint, status=_OVER[kind])
    return Refused("INVALID_SYNTAX", sentence, hint=hint)


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").replace("{", "(").replace("}", ")")
