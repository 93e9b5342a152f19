"""How commands are written: verbs, their forms, the parts of a form that a line has filled, and
the canonical line."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

from loom.language.refs import (
    SHOWN_REFS,
    DocumentPlace,
    ParseError,
    Ref,
    Slice,
    Token,
    continues_tree,
    demand_ref,
    in_tree,
    misread,
    plain,
    print_place,
    print_ref,
    print_slice,
    quote,
    short,
    tag_named,
    unread,
)
from loom.language.slices import slice_of, with_slice

PartKind = Literal[
    "word", "ref", "range", "type", "content", "quoted", "tags", "option", "flag", "choice"
]
ValueKind = Literal[
    "int", "float", "word", "words", "choice", "quoted", "ref", "refs", "number", "place", "json"
]


@dataclass(frozen=True)
class FormPart:
    """One argument: `name` is its key in the values read.

    * `lead`: the literal word before it (`from`, `to`); of a `word` the literal itself
      (empty: any word); of a `flag` its spelling, where it differs from the name.
    * `key` and `value`: of an option. `refs`: the kinds a ref may have, all if empty, except
      those in `but`, which another form of the verb takes.
    * `needs`: the name of a part without which this one is not allowed.
    * `shown`: what help writes for the value, where the kind does not say.
    * `strict`: of a ref with a `lead`: other wordings of a line have to say the lead, too.
    * `bare`: a quoted text that may also stand without quotes, if it is one word. A content whose
      `value` is json is a JSON object on the line instead of a text.
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
    bare: bool = False
    strict: bool = False

    def takes(self, kind: str) -> bool:
        """Whether a ref of this kind is allowed in the part."""
        return kind not in self.but and (not self.refs or kind in self.refs)

    @property
    def word(self) -> str:
        """The spelling of a flag or literal word."""
        return self.lead or self.name.replace("_", "-")

    @property
    def absent(self) -> object:
        """The value if the part is left out; it is not printed."""
        return False if self.kind == "flag" and self.default is None else self.default


@dataclass(frozen=True)
class FormPlan:
    """The parts of a form, sorted by how they are found on a line."""

    options: dict[str, FormPart]
    words: dict[str, FormPart]
    leads: dict[str, FormPart]
    order: tuple[FormPart, ...]
    required: tuple[FormPart, ...]
    absent: dict[str, object]
    block: FormPart | None
    many: frozenset[str]
    json: FormPart | None = None


@dataclass(frozen=True)
class Form:
    """One way to write a verb. Parts are in the order in which they are printed. `makes_window`
    says whether its answer is a result window, so that the line only looks."""

    verb: str
    parts: tuple[FormPart, ...]
    makes_window: bool = False

    @cached_property
    def plan(self) -> FormPlan:
        """The parts, sorted once."""
        options = {part.key: part for part in self.parts if part.kind == "option"}
        words = {word: part for part in self.parts for word in _words(part)}
        free = [part for part in self.parts if part.kind not in ("option", "flag", "choice")]
        free = [part for part in free if part.kind != "word" or not part.lead]
        return FormPlan(
            options=options,
            words=words,
            leads={part.lead: part for part in free if part.lead},
            order=tuple(part for part in free if not part.lead),
            required=tuple(p for p in self.parts if not p.optional and p.kind != "flag"),
            absent={part.name: part.absent for part in self.parts},
            block=next((p for p in self.parts if p.kind == "content" and p.value != "json"), None),
            json=next((part for part in self.parts if part.value == "json"), None),
            many=frozenset(p.name for p in self.parts if is_many(p)),
        )


def is_many(part: FormPart) -> bool:
    """Whether the value is a tuple."""
    return part.many or part.kind == "tags" or part.value in ("refs", "words")


def _words(part: FormPart) -> tuple[str, ...]:
    if part.kind == "choice":
        return part.choices
    if part.kind == "flag" or (part.kind == "word" and part.lead):
        return (part.word,)
    return ()


# How help prints a form.

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


def _part(part: FormPart) -> str:
    if part.kind == "option":
        return f"{part.key}:{_value(part)}"
    if part.kind in ("flag", "choice"):
        return "|".join(_words(part))
    text = part.shown or _argument(part)
    if part.kind != "word" and part.lead:
        text = f"{part.lead} {text}"
    return f"{text}…" if is_many(part) else text


def _argument(part: FormPart) -> str:
    if part.kind == "ref":
        return "|".join(SHOWN_REFS.get(kind, "REF") for kind in part.refs) or "REF"
    if part.kind == "type":
        return "|".join((*part.choices, "TYPE"))
    if part.kind == "word":
        return part.lead or part.name
    return {"range": "RANGE", "content": "CONTENT", "tags": "#name"}.get(
        part.kind, f'"{part.name}"'
    )


def _value(part: FormPart) -> str:
    if part.value == "choice":
        return "|".join(part.choices)
    if part.value in ("int", "float", "number") and part.default is not None:
        limit = "" if part.maximum is None else f"≤{repr(part.maximum).removesuffix('.0')}"
        return f"{part.default}{limit}"
    text = part.shown or "|".join((*part.choices, _VALUES[part.value]))
    return f"{text}={part.default}" if part.value == "word" and part.default else text


# The parts of a form that a line has given so far.


class ArgBinding:
    """The values of a form's parts so far; `given` names those that the line has."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.plan = form.plan
        self.values: dict[str, object] = dict(form.plan.absent)
        self.given: set[str] = set()
        self._several: dict[str, list[str]] = {}
        self._next = 0  # the first part in order that may still be filled

    def reach(self, fits: Callable[[FormPart], bool]) -> FormPart | None:
        """The next part in order that fits; required parts before it are not skipped."""
        for part in self.plan.order[self._next :]:
            if fits(part):
                return part
            if not part.optional and part.name not in self.given:
                return None
        return None

    def place(self, kinds: tuple[str, ...], value: str) -> bool:
        """Gives a text to the next part of one of these kinds; False if there is none."""
        part = self.reach(lambda part: part.kind in kinds)
        if part is None:
            return False
        if part.name in self.plan.many:
            self._several.setdefault(part.name, []).append(value)
        else:
            self.values[part.name] = value
        self.fill(part)
        return True

    def fill(self, part: FormPart) -> None:
        """Marks a part in order as given; one that takes several values may be given again."""
        self.given.add(part.name)
        self._next = self.plan.order.index(part) + (part.name not in self.plan.many)

    def claim(self, part: FormPart, written: str) -> None:
        """Marks an option, word or led part as given. Raises ParseError if it already was."""
        if part.name in self.given:
            if part.kind == "choice":
                choices = "|".join(part.choices)
                raise unread(f"Only one of {choices} can be given.", f"give one of {choices}")
            raise unread(f"{short(written)} is given twice.", "give one")
        self.given.add(part.name)

    def settle(self) -> bool:
        """At the end of the line: whether the content is still missing and must be a block. Raises
        ParseError if anything else is missing.
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

    def missing(self, part: FormPart) -> ParseError:
        """The refusal of a line that lacks a part."""
        hint = f"write → {syntax(self.form)}"
        if part.kind == "ref" and not part.refs:
            hint += "; REF is an id such as a7x2, or here"
        return unread(f"{self.form.verb} needs {described(part)}.", hint)

    def unexpected(self, token: Token) -> ParseError:
        """The refusal of a token that fits no part."""
        return misread(
            f"{short(token.raw)} is not an argument of {self.form.verb}.",
            f"write → {syntax(self.form)}",
        )


def described(part: FormPart) -> str:
    """What a form lacks without the part."""
    if part.kind == "option":
        return f"{part.key}:"
    if part.kind == "choice":
        return " or ".join(part.choices)
    if part.kind == "word":
        return part.lead or "a word"
    named = {"ref": "a reference", "range": "a range", "type": "a type", "tags": "a tag"}
    article = named.get(part.kind, "a text")
    return f"{article} after {part.lead}" if part.lead else article


# The refs of one line, each with its part, and the slices and trees that belong to them.


class RefBinding:
    """Refs in the order of the line. Every method raises ParseError."""

    def __init__(self) -> None:
        self._refs: list[tuple[FormPart, Ref]] = []
        self._pending: list[Slice | Ref] = []  # slices and trees that come before any ref

    def add(self, part: FormPart, ref: Ref) -> None:
        """Adds a ref to the value of a part."""
        if not allows(part, ref):
            name = print_ref(ref).removeprefix("node:")
            raise misread(f"{short(name)} can't be used here.", f"this takes {wanted(part)}")
        self._refs.append((part, ref))

    def attach(self, extra: Slice | Ref) -> None:
        """Attaches a slice or a tree to the last ref; before any ref, to the only one."""
        if not self._refs:
            self._pending.append(extra)
            return
        part, ref = self._refs[-1]
        joined = with_slice(ref, extra) if isinstance(extra, Slice) else in_tree(ref, extra)
        self._refs[-1] = (part, joined)

    def goes_on(self, token: Token) -> bool:
        """Whether a token belonged to the last ref, and was added to it: a slice, or the node of a
        tree."""
        last = self._refs[-1][1]
        if last.kind == "tree" and continues_tree(token):
            self._refs[-1] = (self._refs[-1][0], in_tree(demand_ref(token), last))
            return True
        extra = slice_of(token)
        if extra is not None:
            self.attach(extra)
        return extra is not None

    def settle(self) -> None:
        """At the end of the line: attaches a slice that came before the only ref."""
        if self._pending and len(self._refs) != 1:
            first = self._pending[0]
            shown = print_slice(first) if isinstance(first, Slice) else f"in {print_ref(first)}"
            raise unread(
                f"It is not clear what {short(shown)} belongs to.",
                f"write it after its reference, such as here {short(shown)}",
            )
        for extra in self._pending:
            self.attach(extra)

    def into(self, values: dict[str, object], many: frozenset[str]) -> None:
        """Writes the refs into the values of a line; of parts that take several, as tuples."""
        several: dict[str, list[Ref]] = {}
        for part, ref in self._refs:
            if part.name in many:
                several.setdefault(part.name, []).append(ref)
            else:
                values[part.name] = ref
        values.update({name: tuple(refs) for name, refs in several.items()})


def allows(part: FormPart, ref: Ref) -> bool:
    """Whether a ref of this kind may be in a part."""
    if part.kind == "range":
        return ref.kind == "range"
    return part.takes(ref.kind)


def wanted(part: FormPart) -> str:
    """What a part takes, for a hint."""
    if part.kind == "range":
        return "a range, such as r2d4-a7x2"
    if part.refs == ("window",):
        return "windows by number, such as #4; → memory windows lists them"
    if part.refs == ("task",):
        return "tasks by number, such as t1; → todo lists them"
    return " or ".join(part.refs) or "another item"


# The canonical form of a line, which is stored and can be parsed again.

CLOSER = re.compile(r"^←[ \t\r]*+$", re.MULTILINE)
LONG = 120  # characters of content that still fit in a quote


def write(verb: str, form: Form, values: Mapping[str, object], because: str = "") -> str:
    """The canonical line of a form's values, with its arrow, and its block if it has one."""
    if form.verb != verb:
        raise ValueError(f"{verb} is not the verb of this form")
    return write_line(form, values, because=because)


def write_line(form: Form, values: Mapping[str, object], *, because: str) -> str:
    """The canonical line with its arrow; defaults left out, long content as a block."""
    pieces = ["→ " + form.verb]
    block: str | None = None
    for part in form.parts:
        value = values.get(part.name, part.absent)
        may_be_block = part.kind == "content" and part.value != "json"
        if may_be_block and isinstance(value, str) and _is_block(value):
            block = value
            pieces.append(part.lead)
        elif _is_written(part, value):
            pieces += _written(part, value)
    if because:
        pieces.append(f"because:{quote(because)}")
    line = " ".join(piece for piece in pieces if piece)
    return line if block is None else f"{line}\n{block}\n←"


def _is_block(content: str) -> bool:
    return ("\n" in content or len(content) > LONG) and not CLOSER.search(content)


def _is_written(part: FormPart, value: object) -> bool:
    if part.optional or part.kind == "flag":
        return value is not None and value != part.absent
    return value is not None


def _written(part: FormPart, value: object) -> list[str]:
    if part.kind == "option":
        return [f"{part.key}:{print_value(part, value)}"]
    if part.kind == "flag":
        return [part.word]
    lead = [part.lead] if part.lead and part.kind != "word" else []
    if isinstance(value, tuple):
        return [*lead, *(_print_item(part, item) for item in cast("Sequence[object]", value))]
    return [*lead, _print_item(part, value)]


def _print_item(part: FormPart, value: object) -> str:
    if isinstance(value, Ref):
        return print_ref(value)
    text = str(value)
    if part.value == "json":
        return text
    if part.kind == "tags":
        return tag_named(text)
    return quote(text) if part.kind in ("quoted", "content") else text


def print_value(part: FormPart, value: object) -> str:
    """The value as it is written after the colon."""
    if isinstance(value, tuple):
        return ",".join(print_value(part, item) for item in value)
    if isinstance(value, Ref):
        return print_ref(value)
    if isinstance(value, DocumentPlace):
        return print_place(value)
    if isinstance(value, float):
        return plain(value)
    if part.value == "quoted":
        return quote(cast("str", value))
    return str(value)
