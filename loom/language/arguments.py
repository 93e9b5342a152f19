"""Arguments of a line that a mark identifies: options with their values, texts, tags."""

import math
import re
from collections.abc import Mapping

from loom.language.forms import ArgBinding, Form, FormPart, FormPlan, RefBinding, described, syntax
from loom.language.refs import (
    PREFIXES,
    SLICES,
    DocumentPlace,
    ParseError,
    Ref,
    Token,
    demand_ref,
    elements,
    is_type,
    misread,
    plain,
    read_ref,
    ref_of,
    short,
    tokens_of,
    unread,
)
from loom.language.slices import slice_of

_INT = re.compile(r"-?[0-9]{1,15}")
_FLOAT = re.compile(r"-?[0-9]{1,16}(?:\.[0-9]{1,25})?(?:e[+-]?[0-9]{1,3})?")
WORD = re.compile(r"(?!['‘‚“„«‹])[^\s,:§#\[\]]+")  # no quote of another kind
_NEAR_FLOAT = re.compile(r"(\.[0-9]+)|([0-9]{1,3}(?:\.[0-9]+)?)%")
_WINDOW = re.compile(r"#[0-9]+")


class MarkedArguments:
    """The arguments of a line other than the words and refs in fixed places of its form: options,
    texts, tags and slices, and what follows a word such as `from`."""

    form: Form
    plan: FormPlan
    tokens: list[Token]
    at: int
    because: str | None
    wants_block: bool
    _parts: ArgBinding
    _refs: RefBinding
    _collecting: FormPart | None
    _list: FormPart | None

    def _take_ref(self, token: Token) -> None:
        raise NotImplementedError

    # options

    def _take_keyed(self, token: Token, key: str) -> None:
        part = self.plan.options.get(key)
        if part is not None:
            self._take_option(part, token.after(len(key) + 1))
        elif key == "because":
            self._take_because(token.after(len(key) + 1))
        elif key in PREFIXES:
            self._take_ref(token)
        elif key in SLICES:
            self._take_slice(token)
        elif len(token.head) == len(key) + 1 and ref_of(Token(key, key)) is not None:
            raise self._parts.unexpected(token)  # `annotate a7x2: odd`
        else:
            known = ", ".join(f"{name}:" for name in (*self.plan.options, "because"))
            raise unread(f"{self.form.verb} has no option {short(key)}:.", f"it takes {known}")

    def _take_option(self, part: FormPart, value: Token) -> None:
        if not value.raw:
            raise unread(f"{part.key}: has no value.", "write it without a space after the colon")
        self._parts.claim(part, f"{part.key}:")
        if part.value == "refs":
            self._take_elements(part, value)
        elif part.value == "ref" and value.raw not in part.choices:
            ref, used = read_ref([value, *self.tokens[self.at + 1 : self.at + 2]], 0)
            self._refs.add(part, ref)
            self.at += used
        else:
            self._parts.values[part.name] = read_value(part, value)
            self.at += 1

    def _take_elements(self, part: FormPart, value: Token) -> None:
        for element in elements(value.raw):
            self._refs.add(part, demand_ref(element))
        self.at += 1
        self._list = part

    def _list_goes_on(self, part: FormPart, token: Token) -> bool:
        """Whether the token still belongs to a list: `from:a7x2 lines:3-9,b3k9` is two refs."""
        self._list = None
        comma = "," in token.raw
        first = elements(token.raw)[0] if comma else token
        if not self._refs.goes_on(first):
            return False
        if first is not token and len(first.raw) < len(token.raw):
            rest = token.raw[len(first.raw) + 1 :]
            self._take_elements(part, Token(rest, rest, None, mixed=True))
        else:
            self.at += 1
            self._list = part
        return True

    def _take_because(self, value: Token) -> None:
        if self.because is not None:
            raise unread("because: is given twice.", "give one reason")
        if value.quoted is None or value.head:
            raise unread("because: takes a quoted text.", 'write because:"…"')
        self.because = value.quoted
        self.at += 1

    # after a word

    def _take_led(self, part: FormPart) -> None:
        if part is not self._collecting:
            self._parts.claim(part, part.lead)
        self.at += 1
        after = self.tokens[self.at] if self.at < len(self.tokens) else None
        if part.kind == "content" and (after is None or after.head or after.quoted is None):
            self.wants_block = True
        elif after is None:
            raise self._parts.missing(part)
        elif part.kind in ("ref", "range"):
            self._collecting = part if part.many else None
            ref, self.at = read_ref(self.tokens, self.at)
            self._refs.add(part, ref)
        else:
            self._parts.values[part.name] = self._led_value(part, after)
            self.at += 1

    def _led_value(self, part: FormPart, after: Token) -> str:
        if part.kind in ("quoted", "content"):
            if after.quoted is None or after.head:
                raise self._parts.missing(part)
            return after.quoted
        if not is_type(after.raw) if part.kind == "type" else not WORD.fullmatch(after.raw):
            raise self._parts.unexpected(after)
        return after.raw

    # texts, tags, slices

    def _take_text(self, token: Token) -> None:
        if token.quoted is None or not self._parts.place(("quoted", "content"), token.quoted):
            raise self._parts.unexpected(token)
        self.at += 1

    def _take_hash(self, token: Token) -> None:
        if _WINDOW.fullmatch(token.raw):
            self._take_ref(token)
            return
        quoted = token.quoted
        name = token.head[1:] if quoted is None else quoted
        is_wrong = token.mixed or (quoted is not None and token.head != "#")
        if is_wrong or not _has_letter(name) or (quoted is None and name[-1] in ".,;:!?"):
            raise misread(f"{short(token.raw)} is not a tag.", 'write #name or #"two words"')
        if not self._parts.place(("tags",), name):
            raise self._parts.unexpected(token)
        self.at += 1

    def _take_slice(self, token: Token) -> None:
        part = slice_of(token)
        if part is not None:
            self._refs.attach(part)
        self.at += 1


def _has_letter(name: str) -> bool:
    return any(letter.isalpha() for letter in name)


# What follows the colon of an option.


def read_value(part: FormPart, token: Token) -> object:
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


def _no_choice(part: FormPart, word: str) -> ParseError:
    return unread(
        f"{part.key} cannot be {short(word)}.", f"use {part.key}:" + " or ".join(part.choices)
    )


def _word(part: FormPart, token: Token) -> str:
    if token.quoted is not None or token.mixed or not WORD.fullmatch(token.head):
        raise unread(f"{part.key}: takes a word, not {short(token.raw)}.", f"write {part.key}:word")
    return token.head


def _number(part: FormPart, token: Token) -> int | float:
    written = token.raw.lower()
    if _INT.fullmatch(written):
        number: int | float = int(written)
    elif part.value != "int" and _FLOAT.fullmatch(written):
        number = float(written)
    else:
        kind = "a whole number" if part.value == "int" else "a number"
        raise unread(f"{part.key} is {kind}, not {short(token.raw)}.", _number_meant(part, written))
    if part.value == "float":
        number = float(number)
    _demand_bounds(part, number)
    return number


def _number_meant(part: FormPart, written: str) -> str:
    """The option as it was meant by `.5` or `50%`; else which numbers it takes: a number made up
    here would be sent as it is shown."""
    low, high = part.minimum, part.maximum
    match = _NEAR_FLOAT.fullmatch(written)
    if match is not None and part.value != "int":
        number = float(f"0{written}") if match[2] is None else float(match[2]) / 100
        if (low is None or number >= low) and (high is None or number <= high):
            return f"write {part.key}:{plain(number)}"
    kind = "a whole number" if part.value == "int" else "a number"
    least = "" if low is None else f" from {plain(low)}" + (" up" if high is None else "")
    most = "" if high is None else f" to {plain(high)}"
    return f"give {part.key}: {kind}{least}{most}"


def _demand_bounds(part: FormPart, number: int | float) -> None:
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


def _place(part: FormPart, token: Token) -> DocumentPlace:
    section = slice_of(token) if token.head[:1] == "§" else None
    if section is not None:
        return DocumentPlace("section", name=section.name)
    word = token.raw.lower()
    if word == "start":
        return DocumentPlace("start")
    if word == "end":
        return DocumentPlace("end")
    number = word.removeprefix("line:")
    if number != word and _INT.fullmatch(number) and int(number) >= 1:
        return DocumentPlace("line", line=int(number))
    raise unread(
        f"{short(token.raw)} is not a place.", f"write {part.key}:line:12, {part.key}:§word or so"
    )


def parse_place(text: str) -> DocumentPlace:
    """The place in a document that a text names. Raises ParseError."""
    tokens = tokens_of(text)
    if len(tokens) != 1:
        raise unread(f"{short(text)} is not a place.", "write line:12, §word, start or end")
    return _place(FormPart("at", "option", key="at", value="place"), tokens[0])


def _may_be(part: FormPart, text: str) -> bool:
    """Whether a line can have this text in a part that takes a word, a choice or a tag."""
    if part.kind == "choice" or (part.kind == "option" and part.value == "choice"):
        return text in part.choices
    if part.value == "json":
        return text.startswith("{")
    if part.kind == "type":
        return is_type(text)
    if part.kind == "tags":
        return _has_letter(text) and "\n" not in text
    if part.kind == "word" or (part.kind == "option" and part.value in ("word", "words")):
        return text == part.lead or WORD.fullmatch(text) is not None
    return True


def demand_values(form: Form, values: Mapping[str, object]) -> None:
    """Raises ParseError for typed values that no line of this form can have: a number out of
    bounds, a ref of another kind, or with a slice that is an option here, a part without the one
    that it needs."""
    for part in form.parts:
        value = values.get(part.name, part.absent)
        if value == () and part.many and not part.optional:
            raise unread(f"{form.verb} needs {described(part)}.", f"write → {syntax(form)}")
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, int | float) and part.kind == "option":
                _demand_bounds(part, item)
            if isinstance(item, Ref) and not part.takes(item.kind):
                raise unread(f"{form.verb} takes no {item.kind} here.", f"write → {syntax(form)}")
            if isinstance(item, Ref) and item.slice and item.slice.kind in form.plan.options:
                key = item.slice.kind
                raise unread(f"{key}: is an option of {form.verb}.", f"give {key} apart")
            if isinstance(item, str) and item != part.absent and not _may_be(part, item):
                raise unread(
                    f"{part.key or part.name} cannot be {short(item)}.", f"write → {syntax(form)}"
                )
        needed = next((other for other in form.parts if other.name == part.needs), None)
        is_given = value != part.absent
        if needed is not None and is_given and values.get(needed.name) == needed.absent:
            raise unread(f"{part.key}: must follow what it applies to.", f"write → {syntax(form)}")
