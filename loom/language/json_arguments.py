"""JSON on a line: the object that follows the words of a command, in one canonical form. Pure."""

import json
import re
from typing import Any

from loom.language.refs import ParseError, short, unread

# What a line may have before its object: anything but a brace outside of quotes.
_BEFORE = re.compile(r'(?:[^"{]++|"(?:[^"\\]++|\\.)*")*', re.DOTALL)
# Characters that JSON may have as they are, but lines may not, or may not keep.
_UNKEPT = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HINT = 'write an object on the same line, such as {"city": "Bern"}'


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number, strict=False)


def as_json(value: Any) -> str:
    """A value as JSON on one line, in the form in which lines are stored."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNKEPT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def object_in(text: str) -> str:
    """The canonical form of a JSON object. Raises ParseError for anything else."""
    canonical, end = _read(text, 0)
    if text[end:].strip():
        raise unread(f"{short(text[end:].strip())} follows the JSON.", _HINT)
    return canonical


def split_at_object(arguments: str) -> tuple[str, str | None, str]:
    """What a line has before its JSON object, the object in its canonical form (None: there is
    none), and what follows it. Raises ParseError if the object cannot be read."""
    match = _BEFORE.match(arguments)
    at = match.end() if match else 0
    if arguments[at : at + 1] != "{":
        return arguments, None, ""
    canonical, end = _read(arguments, at)
    return arguments[:at], canonical, arguments[end:]


def _read(text: str, at: int) -> tuple[str, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
        if not isinstance(value, dict):
            raise unread(f"{short(text)} is no JSON object.", _HINT)
        return as_json(value), end
    except json.JSONDecodeError as bad:
        why = f"{bad.msg} at character {bad.pos - at + 1}"
    except RecursionError:
        raise ParseError("LIMIT_EXCEEDED", "The JSON is nested too deeply.", _HINT) from None
    except ValueError as bad:  # a number with thousands of digits, or one that is none
        why = str(bad)[:80]
    raise unread(f"The JSON cannot be read: {why}.", _HINT)
