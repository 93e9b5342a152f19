"""Arguments of a tool checked against its JSON schema, and the schema in brief.

A schema comes from outside, and so may be made to take for ever: it is read with a limit of steps,
its patterns by RE2, and it refers to nothing but itself. What is not understood is not checked;
the server checks its arguments in any case.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import re2

if TYPE_CHECKING:
    from jsonschema import ValidationError

MOST_STEPS = 20_000  # keywords of a schema that are looked at for one call
MOST_ARGUMENTS = 16 * 1024  # characters of JSON
MOST_SCHEMA = 32 * 1024
BRIEF = 240  # characters of a schema in brief
MOST_NAMED = 12  # arguments that it names


class _TooMuchError(Exception):
    """The schema takes more steps than it may."""


class _Steps:
    """How many steps of one check are left."""

    def __init__(self) -> None:
        self.left = MOST_STEPS


Errors = Iterator["ValidationError"]
Keyword = Callable[[Any, Any, Any, Any], Errors | None]


def _counted(keyword: Keyword, steps: _Steps) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        steps.left -= 1
        if steps.left < 0:
            raise _TooMuchError
        return keyword(validator, value, instance, schema) or ()

    return check


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Errors:
    """`pattern`, in linear time; one that RE2 does not know is not checked."""
    if not isinstance(instance, str) or not isinstance(pattern, str):
        return
    try:
        match = re2.search(pattern, instance)
    except re2.error:
        return
    if not match:
        from jsonschema import ValidationError

        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _unchecked(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
    yield from ()


# Those that read patterns of their own or compare each value with each other one.
_UNCHECKED = ("patternProperties", "uniqueItems", "unevaluatedProperties", "unevaluatedItems")


def why_wrong(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What is wrong with the arguments, in a sentence; "" if nothing is, or if the schema cannot be
    used for checking. The first call loads what checks: 50 ms of a start otherwise (measured)."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend
    from referencing import Registry

    steps = _Steps()
    keywords: dict[str, Any] = {
        **Draft202012Validator.VALIDATORS,
        "pattern": _pattern,
        **dict.fromkeys(_UNCHECKED, _unchecked),
    }
    if schema.get("patternProperties"):  # whatever it allows is no additional property
        keywords["additionalProperties"] = _unchecked
    counted = {name: _counted(keyword, steps) for name, keyword in keywords.items()}
    kind = extend(Draft202012Validator, validators=counted)
    try:
        validator = kind(dict(schema), registry=Registry())
        error = next(iter(validator.iter_errors(dict(arguments))), None)
    except Exception:  # too many steps, or a schema that is none: the checker breaks in any way
        return ""
    if error is None:
        return ""
    place = ".".join(str(part) for part in error.absolute_path)
    reason = error.message if len(error.message) <= BRIEF else f"{error.message[:BRIEF]}…"
    return f"{place}: {reason}" if place else reason


def brief(schema: Mapping[str, Any]) -> str:
    """`{"city": string, "days"?: integer}`: the arguments that a schema names."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "{}"
    required = schema.get("required")
    needed = set(filter(_is_text, required)) if isinstance(required, list) else set()
    # What is required comes first.
    names = sorted(map(str, properties), key=lambda name: name not in needed)
    shown = [
        f"{json.dumps(name, ensure_ascii=False)}{'' if name in needed else '?'}: "
        f"{_kind_of(properties.get(name))}"
        for name in names[:MOST_NAMED]
    ]
    if len(names) > MOST_NAMED:
        shown.append("…")
    text = ", ".join(shown)
    return f"{{{text}}}" if len(text) <= BRIEF else f"{{{text[:BRIEF]}…}}"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _kind_of(schema: object) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return "|".join(json.dumps(choice, ensure_ascii=False)[:40] for choice in choices[:6])
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(str(choice)[:20] for choice in kind[:4])
    return str(kind)[:20] if kind else "any"


def object_of(text: str) -> dict[str, Any]:
    """The arguments in a line's JSON. ValueError if they are no object."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("the arguments are no object")
    return cast("dict[str, Any]", value)
