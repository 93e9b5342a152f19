"""Forms of pages: Django's `Form`, with fields that keep a text as it was typed, and refuse what
cannot be stored with a plain sentence and a hint.

`MyForm.read(request)` returns the values by name, or raises CommandError for the first field that
is wrong. Who may, and what a value has to be, is decided by the command that gets them.
"""

import json
import math
import re
from typing import Any, Self

from django import forms
from django.http import HttpRequest

from loom.errors import CommandError
from loom.site.api_requests import MAX_DEPTH


class FieldRefused(forms.ValidationError):
    """Why a value was refused, and what to do about it. A field's name and the message are joined
    by a colon, unless the message `continues_name`."""

    def __init__(self, message: str, hint: str, *, continues_name: bool = False) -> None:
        super().__init__(message)
        self.hint = hint
        self.joint = " " if continues_name else ": "


class Text(forms.Field):
    """A text, with the CRLF that a form sends turned back into LF; nothing else is changed. `empty`
    stands for one that was left out or left empty."""

    def __init__(self, *, empty: Any = "") -> None:
        super().__init__(required=False)
        self.empty = empty

    def clean(self, value: Any) -> Any:
        """The value; FieldRefused if it cannot be stored, or is none of this kind."""
        text = self.shortened(str(value or "").replace("\r\n", "\n"))
        if "\0" in text:
            raise FieldRefused("U+0000 is not allowed.", "Remove it.")
        return self.of(text) if text else self.empty

    def shortened(self, text: str) -> str:
        """What counts of the text."""
        return text

    def of(self, text: str) -> Any:
        """The value that a text stands for."""
        return text


class Word(Text):
    """A text of one line, such as a name or a setting, without the white space around it."""

    def shortened(self, text: str) -> str:
        """Without the white space around it."""
        return text.strip()


class Number(Word):
    """A finite number, `between` a least and a greatest one; None, or `empty`, for an empty field.
    A refusal suggests the `usual` one."""

    def __init__(
        self,
        *,
        empty: Any = None,
        between: tuple[float, float] | None = None,
        usual: float | None = None,
    ) -> None:
        super().__init__(empty=empty)
        self.between = between
        self.usual = usual

    def of(self, text: str) -> float | int:
        """The number. FieldRefused if it is none, or not between the two."""
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise FieldRefused(f"{text[:40]!r} is not a number.", "Write digits.")
        if self.between and not self.between[0] <= number <= self.between[1]:
            low, high = self.between
            hint = "" if self.usual is None else f"Try {self.usual:,}."
            raise FieldRefused(f"must be between {low:,} and {high:,}.", hint, continues_name=True)
        return number


class Whole(Number):
    """A whole number; None, or `empty`, for an empty field."""

    def of(self, text: str) -> int:
        """The number. FieldRefused if it is none, or has a fraction."""
        number = super().of(text)
        if number != int(number):
            raise FieldRefused(f"{number} is not a whole number.", "Round it.")
        return int(number)


class Days(Word):
    """A number of days of at most five digits; None for anything else, which means without end."""

    def __init__(self) -> None:
        super().__init__(empty=None)

    def of(self, text: str) -> int | None:
        """The number."""
        return int(text) if text.isdecimal() and len(text) < 6 else None


class Seen(Word):
    """What the page showed, or marks of it, as a JSON object by field: what is sent as it was shown
    was not changed in it, and stays what somebody else may have made of it since. {} of a form
    without it."""

    def __init__(self) -> None:
        super().__init__(empty={})

    def of(self, text: str) -> dict[str, Any]:
        """The values by field. FieldRefused if it cannot be read."""
        try:
            seen = json.loads(text)
        except ValueError:
            seen = None
        if not isinstance(seen, dict):
            raise FieldRefused("This cannot be read.", "Open the page again.")
        return seen


class JsonList(Word):
    """A list written as JSON; [] for an empty field. A refusal shows the `example`."""

    def __init__(self, *, example: str) -> None:
        super().__init__(empty=[])
        self.example = example

    def of(self, text: str) -> list[Any]:
        """The list. FieldRefused if the text is none."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, list):
            raise FieldRefused("This is not a list in JSON.", f"Write {self.example}.")
        if _is_deep(value):
            raise FieldRefused(f"This has more than {MAX_DEPTH} levels.", "Flatten it.")
        return value


def _is_deep(value: list[Any]) -> bool:
    """Whether a value has more levels than a body of the API may have."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            part
            for outer in level
            for part in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(part, dict | list)
        ]
    return bool(level)


class Flag(forms.Field):
    """Whether a box is ticked, or a button was used: browsers leave the others out."""

    widget = forms.CheckboxInput

    def __init__(self) -> None:
        super().__init__(required=False)


class Words(forms.Field):
    """All values of a name, in order."""

    widget = forms.MultipleHiddenInput

    def __init__(self) -> None:
        super().__init__(required=False)

    def clean(self, value: Any) -> list[str]:
        """The values."""
        return list(value or ())


class PageForm(forms.Form):
    """A form of a page."""

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        """The form as it was sent."""
        return cls(request.POST)

    @classmethod
    def read(cls, request: HttpRequest) -> dict[str, Any]:
        """The values of the form by name. INVALID_SYNTAX for the first field that is wrong."""
        return cls.of(request).values

    def has(self, name: str) -> bool:
        """Whether the form was sent with this field, empty or not: its button was pressed."""
        return name in self.data

    @property
    def values(self) -> dict[str, Any]:
        """The values by name. INVALID_SYNTAX for the first field that is wrong."""
        for name, errors in self.errors.as_data().items():
            refused = errors[0]
            hint = getattr(refused, "hint", "")
            joint = getattr(refused, "joint", ": ")
            raise CommandError("INVALID_SYNTAX", f"{name}{joint}{refused.message}", hint=hint)
        return self.cleaned_data

    def wrong(self, name: str, message: str, *, hint: str) -> CommandError:
        """The error to raise for what is wrong with one field, which then shows it."""
        self.add_error(name, FieldRefused(message, hint))
        return CommandError("INVALID_SYNTAX", message, hint=hint)

    def show(self, refused: CommandError) -> None:
        """Puts the refusal of a command beside the field that its message begins with, if no field
        has been refused already."""
        name = re.split(r"[^a-z_]", refused.message, maxsplit=1)[0]
        if not self.errors and name in self.fields:
            words = refused.message.removeprefix(name).lstrip(": ")
            self.add_error(name, FieldRefused(words, refused.hint))

    def typed(self, *names: str) -> dict[str, str]:
        """What was typed in these fields, to show it again."""
        return {name: str(self.data.get(name, "")).strip() for name in names}
