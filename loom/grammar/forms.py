"""How a command is written: a verb and its parts, in the words of the tables of
docs/model.md §5.1."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
    * `key` and `value`: of an option. `refs`: the kinds a ref may have, all if empty.
    * `needs`: the name of a part without which this one may not stand.
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
    needs: str = ""
    shown: str = ""

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
    """One way to write a verb. Parts stand in the order in which they are printed."""

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
