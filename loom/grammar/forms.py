"""How a command is written: a verb, its parts, and the values of its options."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

from loom.grammar.refs import Place, Ref, print_place, print_ref, ref_of, slice_of
from loom.grammar.tokens import ParseError, Token, elements, quote, short, unread

PartKind = Literal[
    "word", "ref", "range", "type", "content", "quoted", "tags", "option", "flag", "choice"
]
ValueKind = Literal[
    "int", "float", "word", "words", "choice", "quoted", "ref", "refs", "number", "place"
]

_REFS = {
    "window": "#n",
    "task": "tn",
    "agent": 'agent:"name"',
    "trail": 'trail:"name"',
    "pipe": 'pipe:"name"',
    "document": 'doc:"name"',
    "stash": 'stash:"label"',
    "tree": 'tree:"name"',
    "range": "RANGE",
    "turn": "turn:ID",
    "step": "step:n",
}
_VALUES: dict[ValueKind, str] = {
    "int": "n",
    "float": "x",
    "number": "x",
    "word": "TYPE",
    "words": "a,b",
    "quoted": '"…"',
    "ref": "REF",
    "refs": "a,b",
    "place": "LOC",
}


@dataclass(frozen=True)
class Part:
    """One argument: `name` is its key in the values read.

    * `lead`: the literal word before it (`from`, `to`); of a `word` the literal itself
      (empty: any word); of a `flag` its spelling, where it differs from the name.
    * `key` and `value`: of an option. `refs`: the kinds a ref may have, all if empty, except
      those in `but`, which another form of the verb takes.
    * `needs`: the name of a part without which this one is not allowed.
    * `shown`: what help writes for the value, where the kind does not say.
    """

    name: str
    kind: PartKind
    optional: bool = False
    lead: str = ""
    key: str = ""
    value: ValueKind = "word"
    default: object = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive: bool = False
    choices: tuple[str, ...] = ()
    many: bool = False
    refs: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    needs: str = ""
    shown: str = ""

    def takes(self, kind: str) -> bool:
        """Whether a ref of this kind may be in the part."""
        return kind not in self.but and (not self.refs or kind in self.refs)

    @property
    def word(self) -> str:
        """The spelling of a flag or literal word."""
        return self.lead or self.name.replace("_", "-")

    @property
    def absent(self) -> object:
        """The value where the part is left out; it is not printed."""
        return False if self.kind == "flag" and self.default is None else self.default


@dataclass(frozen=True)
class Plan:
    """A form sorted by how its parts are found on a line."""

    options: dict[str, Part]
    words: dict[str, Part]
    leads: dict[str, Part]
    order: tuple[Part, ...]
    required: tuple[Part, ...]
    absent: dict[str, object]
    block: Part | None
    many: frozenset[str]


@dataclass(frozen=True)
class Form:
    """One way to write a verb. Parts are in the order in which they are printed."""

    verb: str
    parts: tuple[Part, ...]

    @cached_property
    def plan(self) -> Plan:
        """The parts, sorted once."""
        options = {part.key: part for part in self.parts if part.kind == "option"}
        words = {word: part for part in self.parts for word in _words(part)}
        free = [part for part in self.parts if part.kind not in ("option", "flag", "choice")]
        free = [part for part in free if part.kind != "word" or not part.lead]
        return Plan(
            options=options,
            words=words,
            leads={part.lead: part for part in free if part.lead},
            order=tuple(part for part in free if not part.lead),
            required=tuple(p for p in self.parts if not p.optional and p.kind != "flag"),
            absent={part.name: part.absent for part in self.parts},
            block=next((part for part in self.parts if part.kind == "content"), None),
            many=frozenset(p.name for p in self.parts if is_many(p)),
        )


def is_many(part: Part) -> bool:
    """Whether the value is a tuple."""
    return part.many or part.kind == "tags" or part.value in ("refs", "words")


def _words(part: Part) -> tuple[str, ...]:
    if part.kind == "choice":
        return part.choices
    if part.kind == "flag" or (part.kind == "word" and part.lead):
        return (part.word,)
    return ()


def syntax(form: Form) -> str:
    """The form as help prints it: `continue [from REF] [n:1≤10] [using agent:"name"…]`."""
    inner = {part.needs: part for part in form.parts if part.needs}
    shown = [form.verb]
    for part in form.parts:
        if part.needs:
            continue
        text = _part(part)
        if part.name in inner:
            text += f" [{_part(inner[part.name])}]"
        shown.append(f"[{text}]" if part.optional or part.kind == "flag" else text)
    return " ".join(shown)


def _part(part: Part) -> str:
    if part.kind == "option":
        return f"{part.key}:{_value(part)}"
    if part.kind in ("flag", "choice"):
        return "|".join(_words(part))
    text = part.shown or _argument(part)
    if part.kind != "word" and part.lead:
        text = f"{part.lead} {text}"
    return f"{text}…" if is_many(part) else text


def _argument(part: Part) -> str:
    if part.kind == "ref":
        return "|".join(_REFS.get(kind, "REF") for kind in part.refs) or "REF"
    if part.kind == "type":
        return "|".join((*part.choices, "TYPE"))
    if part.kind == "word":
        return part.lead or part.name
    return {"range": "RANGE", "content": "CONTENT", "tags": "#name"}.get(
        part.kind, f'"{part.name}"'
    )


def _value(part: Part) -> str:
    if part.value == "choice":
        return "|".join(part.choices)
    if part.value in ("int", "float", "number") and part.default is not None:
        limit = "" if part.maximum is None else f"≤{repr(part.maximum).removesuffix('.0')}"
        return f"{part.default}{limit}"
    text = part.shown or "|".join((*part.choices, _VALUES[part.value]))
    return f"{text}={part.default}" if part.value == "word" and part.default else text


# What follows the colon of an option, read and printed.


_INT = re.compile(r"-?[0-9]{1,15}")
_FLOAT = re.compile(r"-?[0-9]{1,16}(?:\.[0-9]{1,25})?(?:e[+-]?[0-9]{1,3})?")
_WORD = re.compile(r"[^\s,:§#\[\]]+")


def plain(number: float) -> str:
    """A number as short as it can be read back: `1`, `0.7`, `65536`."""
    return repr(number).removesuffix(".0")


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


def print_value(part: Part, value: object) -> str:
    """The value as it is written after the colon."""
    if isinstance(value, tuple):
        return ",".join(print_value(part, one) for one in value)
    if isinstance(value, Ref):
        return print_ref(value)
    if isinstance(value, Place):
        return print_place(value)
    if isinstance(value, float):
        return plain(value)
    if part.value == "quoted":
        return quote(cast("str", value))
    return str(value)
