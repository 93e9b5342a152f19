"""TODO."""

import math
import re
from collections.abc import Mapping

from loom.grammar.forms import Form, Part, plain, syntax
from loom.grammar.refs import ParseError, Place, Ref, Token, elements, ref_of, short, unread
from loom.grammar.slices import slice_of

_INT = re.compile(r"-?[0-9]{1,15}")
_FLOAT = re.compile(r"-?[0-9]{1,16}(?:\.[0-9]{1,25})?(?:e[+-]?[0-9]{1,3})?")
_WORD = re.compile(r"[^\s,:§#\[\]]+")


def read_value(part: Part, token: Token) -> object:
    """The value of an option without its refs: number, text, words or place. Raises ParseError."""
    if part.value in ("int", "float", "number"):
        return _number(part, token)
    if part.value == "quoted":
        if token.quoted is None or token.head:
            raise unread(f"{part.key}: takes a quoted text.", f'write {part.key}:"…"')
        return token.quoted
    if part.value == "words":
        return tuple(_word(part, element) for element in elements(token.raw))
    if part.value == "place":
        return _place(part, token)
    word = _word(part, token)
    if part.value == "choice" and word not in part.choices:
        raise _no_choice(part, word)
    return word


def _no_choice(part: Part, word: str) -> ParseError:
    return unread(
        f"{part.key} cannot be {short(word)}.", f"use {part.key}:" + " or ".join(part.choices)
    )


def _word(part: Part, token: Token) -> str:
    if token.quoted is not None or token.mixed or not _WORD.fullmatch(token.head):
        raise unread(f"{part.key}: takes a word, not {short(token.raw)}.", f"write {part.key}:word")
    return token.head


def _number(part: Part, token: Token) -> int | float:
    written = token.raw.lower()
    if _INT.fullmatch(written):
        number: int | float = int(written)
    elif part.value != "int" and _FLOAT.fullmatch(written):
        number = float(written)
    else:
        kind = "a whole number" if part.value == "int" else "a number"
        raise unread(f"{part.key} is {kind}, not {short(token.raw)}.", _sample(part))
    if part.value == "float":
        number = float(number)
    _demand_bounds(part, number)
    return number


def _sample(part: Part) -> str:
    sample = 1 if part.minimum is None else part.minimum
    return f"write {part.key}:{plain(sample)}"


def _demand_bounds(part: Part, number: int | float) -> None:
    low, high = part.minimum, part.maximum
    if low is not None and (number < low or (part.exclusive and number == low)):
        bound = "more than" if part.exclusive else "at least"
        raise unread(
            f"{part.key} must be {bound} {plain(low)}.", f"use {part.key}:{plain(low)} or more"
        )
    if high is not None and (number > high or (part.exclusive and number == high)):
        bound = "less than" if part.exclusive else "at most"
        raise ParseError(
            "LIMIT_EXCEEDED",
            f"{part.key} must be {bound} {plain(high)}.",
            f"use {part.key}:{plain(high)} or less",
        )
    if not math.isfinite(number):
        raise ParseError("LIMIT_EXCEEDED", f"{part.key} is too large.", "use a smaller number")


def _place(part: Part, token: Token) -> Place:
    section = slice_of(token) if token.head[:1] == "§" else None
    if section is not None:
        return Place("section", name=section.name)
    word = token.raw.lower()
    if word == "start":
        return Place("start")
    if word == "end":
        return Place("end")
    number = word.removeprefix("line:")
    if number != word and _INT.fullmatch(number) and int(number) >= 1:
        return Place("line", line=int(number))
    raise unread(
        f"{short(token.raw)} is not a place.", f"write {part.key}:line:12, {part.key}:§word or so"
    )


def read_ref_value(part: Part, token: Token) -> Ref:
    """The ref that an option's value begins with. Raises ParseError."""
    ref = ref_of(token)
    if ref is None:
        raise unread(
            f"{part.key}: takes a reference, not {short(token.raw)}.",
            f"write {part.key}: and an id, such as {part.key}:a7x2",
        )
    return ref


def demand_values(form: Form, values: Mapping[str, object]) -> None:
    """Raises ParseError for typed values that no line of this form could have: a number out of its
    bounds, a ref of another kind, a part without the one that it needs."""
    for part in form.parts:
        value = values.get(part.name, part.absent)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, int | float) and part.kind == "option":
                _demand_bounds(part, one)
            if isinstance(one, Ref) and not part.takes(one.kind):
                raise unread(f"{form.verb} takes no {one.kind} here.", f"write → {syntax(form)}")
        needed = next((one for one in form.parts if one.name == part.needs), None)
        is_given = value != part.absent
        if needed is not None and is_given and values.get(needed.name) == needed.absent:
            raise unread(f"{part.key}: must follow what it applies to.", f"write → {syntax(form)}")
