"""Fields of forms as text: nothing stripped, CRLF as LF, no U+0000."""

import math

from django.http import HttpRequest

from loom.rules.refusals import Refused


def text_of(request: HttpRequest, name: str) -> str:
    """The field as given; a form sends CRLF where LF was typed, and only this door knows."""
    value = request.POST.get(name, "").replace("\r\n", "\n")
    if "\0" in value:
        raise Refused("INVALID_SYNTAX", f"The field {name} holds U+0000.", hint="Take it out.")
    return value


def word_of(request: HttpRequest, name: str) -> str:
    """A field of one line that is a name or a setting: blank ends do not count."""
    return text_of(request, name).strip()


def number_of(request: HttpRequest, name: str) -> float | None:
    """A number, or None where the field is empty."""
    value = word_of(request, name)
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Refused("INVALID_SYNTAX", f"{name}: {value!r} is no number.", hint="Write digits.")
    return number


def whole_of(request: HttpRequest, name: str) -> int | None:
    """A whole number, or None where the field is empty."""
    number = number_of(request, name)
    if number is not None and number != int(number):
        raise Refused("INVALID_SYNTAX", f"{name}: {number} is no whole number.", hint="Round it.")
    return None if number is None else int(number)
