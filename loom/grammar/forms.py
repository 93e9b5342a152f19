"""How commands are written: verbs, the forms of each, and the parts that a line has filled."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

from loom.grammar.refs import ParseError, Token, misread, short, unread

PartKind = Literal[
    "word", "ref", "range", "type", "content", "quoted", "tags", "option", "flag", "choice"
]
ValueKind = Literal[
    "int", "float", "word", "words", "choice", "quoted", "ref", "refs", "number", "place"
]


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


# How help prints a form.

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


# The verbs that are known, and how a line begins with one.

ARROWS = ("→", "->")
BLANK = " \t"
MAX_BLANKS = 2
MOST = 3
_LONGEST = 24
_WORD = re.compile(r"[^ \t]+")


class Verbs(NamedTuple):
    """The verbs that are known, each with its forms, and other words for them."""

    forms: Mapping[str, Sequence[Form]]
    aliases: Mapping[str, str]

    def verb_of(self, word: str) -> str | None:
        """The verb that a word is, or is another word for."""
        low = word.lower()
        verb = low if low in self.forms else self.aliases.get(low)
        return verb if verb in self.forms else None

    def body(self, line: str) -> str:
        """A line without the blanks and the arrow before it. Raises ParseError."""
        body = line.rstrip(" \t\r")
        blanks = len(body) - len(body.lstrip(BLANK))
        body = without_arrow(body[blanks:])
        if not body:
            raise unread("The command is missing.", "write one, such as → view here")
        if blanks > MAX_BLANKS:
            raise unread(
                "At most two spaces may come before a command.", "write it at the start of the line"
            )
        return body

    def split(self, body: str) -> tuple[str, str]:
        """The verb, and what follows it on its line. Raises ParseError."""
        word = first_word(body)
        verb = self.verb_of(word)
        if verb is None:
            raise self._unknown(word)
        return verb, body[len(word) :]

    def _unknown(self, word: str) -> ParseError:
        near = candidates(word, self.forms, self.aliases)
        hint = f"did you mean: {', '.join(near)}" if near else "→ help lists the commands"
        return ParseError("INVALID_SYNTAX", f"There is no command {short(word)}.", hint, near)


def without_arrow(body: str) -> str:
    """A line without the arrow that it may begin with."""
    for arrow in ARROWS:
        if body.startswith(arrow):
            return body[len(arrow) :].lstrip(BLANK)
    return body


def first_word(body: str) -> str:
    """What comes before the first blank."""
    match = _WORD.match(body)
    return match[0] if match else ""


def candidates(word: str, verbs: Iterable[str], aliases: Mapping[str, str]) -> tuple[str, ...]:
    """Up to three verbs, nearest first, that differ in few letters or begin alike."""
    word = word.lower()
    if not word or len(word) > _LONGEST:
        return ()
    far: dict[str, int] = {}
    for known, verb in [*((one, one) for one in verbs), *aliases.items()]:
        is_begun, most = len(word) > 1 and known.startswith(word), _near_enough(known)
        if not is_begun and abs(len(word) - len(known)) > most:
            continue  # so many edits are needed for the length alone
        distance = 1 if is_begun else edits(word, known)
        if distance <= most:
            far[verb] = min(distance, far.get(verb, distance))
    return tuple(sorted(far, key=lambda verb: (far[verb], verb))[:MOST])


def _near_enough(known: str) -> int:
    """1 edit in short words, 2 from five letters on, 3 from eight. Guess: feels right."""
    return 1 + (len(known) >= 5) + (len(known) >= 8)


@lru_cache(maxsize=10_000)  # the same few words are compared with the same verbs
def edits(one: str, other: str) -> int:
    """How many letters to add, drop, change or swap with the next make one of the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above = row, before
        row = [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, above[j - 2] + 1)
            row.append(best)
    return row[-1]


# The parts of a form that a line has given so far.


class Filling:
    """The values of a form's parts so far; `given` names those that the line has."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.plan = form.plan
        self.values: dict[str, object] = dict(form.plan.absent)
        self.given: set[str] = set()
        self._several: dict[str, list[str]] = {}
        self._next = 0  # the first part in order that may still be filled

    def reach(self, fits: Callable[[Part], bool]) -> Part | None:
        """The next part in order that fits; what must come before it is not passed over."""
        for part in self.plan.order[self._next :]:
            if fits(part):
                return part
            if not part.optional and part.name not in self.given:
                return None
        return None

    def place(self, kinds: tuple[str, ...], value: str) -> bool:
        """Gives a text to the next part of one of these kinds; False where there is none."""
        part = self.reach(lambda part: part.kind in kinds)
        if part is None:
            return False
        if part.name in self.plan.many:
            self._several.setdefault(part.name, []).append(value)
        else:
            self.values[part.name] = value
        self.fill(part)
        return True

    def fill(self, part: Part) -> None:
        """Marks a part of the order as given; one that takes several may be given again."""
        self.given.add(part.name)
        self._next = self.plan.order.index(part) + (part.name not in self.plan.many)

    def claim(self, part: Part, written: str) -> None:
        """Marks an option, word or led part as given. Raises ParseError the second time."""
        if part.name in self.given:
            also = f" of {'|'.join(part.choices)}" if part.kind == "choice" else ""
            raise unread(f"{short(written)} is given twice.", f"give one{also}")
        self.given.add(part.name)

    def settle(self) -> bool:
        """At the end of the line: whether the content is still missing and must be a block.

        Raises ParseError where anything else is missing.
        """
        self.values.update({name: tuple(texts) for name, texts in self._several.items()})
        wants_block = False
        for part in self.plan.required:
            if part.name not in self.given:
                if part.kind != "content" or part.lead:
                    raise self.missing(part)
                wants_block = True
        for part in self.form.parts:
            if part.needs and part.name in self.given and part.needs not in self.given:
                raise unread(
                    f"{part.key}: must follow what it applies to.",
                    f"write → {syntax(self.form)}",
                )
        return wants_block

    def missing(self, part: Part) -> ParseError:
        """The refusal of a line that lacks a part."""
        hint = f"write → {syntax(self.form)}"
        if part.kind == "ref" and not part.refs:
            hint += "; REF is an id such as a7x2, or here"
        return unread(f"{self.form.verb} needs {_described(part)}.", hint)

    def unexpected(self, token: Token) -> ParseError:
        """The refusal of a token that fits no part."""
        return misread(
            f"{short(token.raw)} is not an argument of {self.form.verb}.",
            f"write → {syntax(self.form)}",
        )


def _described(part: Part) -> str:
    if part.kind == "option":
        return f"{part.key}:"
    if part.kind == "choice":
        return " or ".join(part.choices)
    if part.kind == "word":
        return part.lead or "a word"
    named = {"ref": "a reference", "range": "a range", "type": "a type", "tags": "a tag"}
    article = named.get(part.kind, "a text")
    return f"{article} after {part.lead}" if part.lead else article
