"""A line read by the forms of its verb, and written in its canonical form."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from loom.grammar.forms import Filling, Form, Part, Verbs, first_word, syntax, without_arrow
from loom.grammar.option_values import print_value, read_value
from loom.grammar.refs import (
    PREFIXES,
    SLICES,
    WORDS,
    ParseError,
    Ref,
    Slice,
    Token,
    continues_tree,
    demand_ref,
    elements,
    in_tree,
    misread,
    print_ref,
    print_slice,
    quote,
    read_ref,
    ref_of,
    says_tree,
    short,
    slice_of,
    tokens_of,
    tree_of,
    unread,
    with_slice,
)

# The refs of one line, each with its part, and the slices and trees that belong to them.


class Gathered:
    """Refs in the order of the line. Every method raises Bad."""

    def __init__(self) -> None:
        self._refs: list[tuple[Part, Ref]] = []
        self._pending: list[Slice | Ref] = []  # slices and trees that come before any ref

    def add(self, part: Part, ref: Ref) -> None:
        """Keeps a ref as (one of) the value of a part."""
        if not allows(part, ref):
            raise misread(
                f"{short(print_ref(ref))} can't be used here.", f"this takes {wanted(part)}"
            )
        self._refs.append((part, ref))

    def attach(self, extra: Slice | Ref) -> None:
        """Gives the last ref its slice or its tree; before any ref, the only one gets it."""
        if not self._refs:
            self._pending.append(extra)
            return
        part, ref = self._refs[-1]
        joined = with_slice(ref, extra) if isinstance(extra, Slice) else in_tree(ref, extra)
        self._refs[-1] = (part, joined)

    def goes_on(self, token: Token) -> bool:
        """Whether a token belongs to the last ref, which it then has changed: a slice, or
        the node of a tree."""
        last = self._refs[-1][1]
        if last.kind == "tree" and continues_tree(token):
            self._refs[-1] = (self._refs[-1][0], in_tree(demand_ref(token), last))
            return True
        extra = slice_of(token)
        if extra is not None:
            self.attach(extra)
        return extra is not None

    def settle(self) -> None:
        """At the end of the line: a slice before the only ref belongs to that."""
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


def allows(part: Part, ref: Ref) -> bool:
    """Whether a ref of this kind may be in a part."""
    if part.kind == "range":
        return ref.kind == "range"
    return part.takes(ref.kind)


def wanted(part: Part) -> str:
    """What a part takes, for a hint."""
    return (
        "a range, such as r2d4-a7x2"
        if part.kind == "range"
        else " or ".join(part.refs) or "another item"
    )


# One line read by one form: each token finds its part, or the reason why it does not.

_TYPE = re.compile(r"[^\W\d](?:[^\W\d]|-)*")
_WORD = re.compile(r"[^\s,:§#\[\]]+")
_WINDOW = re.compile(r"#[0-9]+")
REF_WORDS = frozenset({*WORDS, "all"})


def is_type(word: str) -> bool:
    """Whether a word is a TYPE where a TYPE or a REF is allowed."""
    return _TYPE.fullmatch(word) is not None and word.lower() not in REF_WORDS


class Reading:
    """The tokens after the verb, taken from left to right. Methods raise Bad; `at` then
    says how far the form was followed."""

    def __init__(self, form: Form, tokens: list[Token]) -> None:
        self.form = form
        self.plan = form.plan
        self.tokens = tokens
        self.at = 0
        self.because: str | None = None
        self.wants_block = False
        self._parts = Filling(form)
        self._refs = Gathered()
        self._collecting: Part | None = None  # a led part that takes several refs
        self._list: Part | None = None  # an option's list that the next token may go on

    def values(self) -> dict[str, object]:
        """Every part's value; that of a block is missing, then `wants_block` is set."""
        while self.at < len(self.tokens):
            self._take(self.tokens[self.at])
        self._refs.settle()
        self._refs.into(self._parts.values, self.plan.many)
        self.wants_block = self._parts.settle() or self.wants_block
        return self._parts.values

    def _take(self, token: Token) -> None:
        if self._list is not None and self._list_goes_on(self._list, token):
            return
        head = token.head
        if not head:
            self._take_text(token)
        elif head[0] == "§":
            self._take_slice(token)
        elif head[0] == "#":
            self._take_hash(token)
        elif ":" in head:
            self._take_keyed(token, head.partition(":")[0].lower())
        elif token.quoted is not None or token.mixed:
            raise self._parts.unexpected(token)
        else:
            self._take_word(token)

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
        else:
            known = ", ".join(f"{one}:" for one in (*self.plan.options, "because"))
            raise unread(f"{self.form.verb} has no option {short(key)}:.", f"it takes {known}")

    def _take_option(self, part: Part, value: Token) -> None:
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

    def _take_elements(self, part: Part, value: Token) -> None:
        for element in elements(value.raw):
            self._refs.add(part, demand_ref(element))
        self.at += 1
        self._list = part

    def _list_goes_on(self, part: Part, token: Token) -> bool:
        """Whether the token is still of a list: `from:a7x2 lines:3-9,b3k9` is two refs."""
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

    # words

    def _take_word(self, token: Token) -> None:
        word = token.raw.lower()
        part = self.plan.words.get(word)
        if part is not None:
            self._parts.claim(part, word)
            self._parts.values[part.name] = True if part.kind == "flag" else word
            self.at += 1
        elif word == "in" and says_tree(self.tokens, self.at):
            self._refs.attach(tree_of(self.tokens[self.at + 1]))
            self.at += 2
        elif word in self.plan.leads:
            self._take_led(self.plan.leads[word])
        elif self._takes_as_word(token):
            self.at += 1
        else:
            self._take_ref(token)

    def _takes_as_word(self, token: Token) -> bool:
        """A TYPE or a free word, where one is allowed; a ref that is allowed there goes first
        unless the word is a TYPE."""
        if is_type(token.raw):
            return self._parts.place(("type", "word"), token.raw)
        return (
            self._parts.reach(lambda part: part.kind == "ref") is None
            and _WORD.fullmatch(token.raw) is not None
            and self._parts.place(("word",), token.raw)
        )

    def _take_led(self, part: Part) -> None:
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

    def _led_value(self, part: Part, after: Token) -> str:
        if part.kind in ("quoted", "content"):
            if after.quoted is None or after.head:
                raise self._parts.missing(part)
            return after.quoted
        if not is_type(after.raw) if part.kind == "type" else not _WORD.fullmatch(after.raw):
            raise self._parts.unexpected(after)
        return after.raw

    # texts, tags, refs

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

    def _take_ref(self, token: Token) -> None:
        if ref_of(token) is None:
            raise self._parts.unexpected(token)
        ref, after = read_ref(self.tokens, self.at)
        self._refs.add(self._part_for(ref, token), ref)
        self.at = after

    def _part_for(self, ref: Ref, token: Token) -> Part:
        if self._collecting is not None and allows(self._collecting, ref):
            return self._collecting
        found = self._parts.reach(lambda part: part.kind in ("ref", "range") and allows(part, ref))
        found = found or self._parts.reach(lambda part: part.kind in ("ref", "range"))
        if found is None:
            raise self._parts.unexpected(token)
        self._parts.fill(found)
        return found


def _has_letter(name: str) -> bool:
    return any(letter.isalpha() for letter in name)


# The line that the first form of a verb makes of it, with the block below it.

MAX_LINE_BYTES = 64 * 1024


@dataclass(frozen=True)
class Line:
    """One command: its verb, which of the verb's forms, a value for every part."""

    verb: str
    form: int
    values: Mapping[str, object]
    because: str = ""
    canonical: str = ""


def canonical_line(body: str, below: str | None, verbs: Verbs) -> Line:
    """The line as the tables write it. Raises ParseError."""
    verb, arguments = verbs.split(body)
    tokens = tokens_of(arguments)
    failures: list[tuple[tuple[bool, int, int], ParseError]] = []
    for number, form in enumerate(verbs.forms[verb]):
        reading = Reading(form, tokens)
        try:
            values = _with_block(reading, below, verbs)
        except ParseError as bad:
            likeness = (bad.code != "INVALID_SYNTAX", reading.at, _own_words(form, tokens))
            failures.append((likeness, bad))
            continue
        because = reading.because or ""
        canonical = write(verb, form, values, because)
        demand_size(canonical.partition("\n")[0])
        return Line(verb, number, values, because, canonical)
    raise _best(failures)


def _own_words(form: Form, tokens: Sequence[Token]) -> int:
    """How many words and options that a form must have are in a line, less those that are not."""
    said = {token.raw.partition(":")[0].lower() for token in tokens}
    own = [part.key if part.kind == "option" else part.lead for part in form.plan.required]
    return sum(1 if word in said else -1 for word in own if word)


def _best(failures: list[tuple[tuple[bool, int, int], ParseError]]) -> ParseError:
    """What to say where no form reads a line: a limit, else what was followed furthest, else the
    form whose words it has, and of several the last form, which is the common one."""
    return max(reversed(failures), key=lambda failure: failure[0])[1]


def demand_size(line: str) -> None:
    if len(line) * 4 > MAX_LINE_BYTES and len(line.encode()) > MAX_LINE_BYTES:
        raise ParseError(
            "LIMIT_EXCEEDED",
            "A line is at most 64 KiB without its block.",
            "write long text in the lines below and end it with ←",
        )


CLOSER = re.compile(r"^←[ \t\r]*+$", re.MULTILINE)


def _with_block(reading: Reading, below: str | None, verbs: Verbs) -> dict[str, object]:
    """The values of a line together with its block, if it wants one."""
    values = reading.values()
    block = reading.plan.block
    if reading.wants_block and block is not None:
        if below is None:
            raise _no_content(reading.form)
        values[block.name], below = _cut(below)
    if below and below.strip(" \t\r\n"):
        raise _too_much(below, verbs)
    return values


def _cut(below: str) -> tuple[str, str]:
    """The content of a block, and what follows the line that closes it."""
    closer = CLOSER.search(below) if "←" in below else None
    if closer is None:
        return below, ""
    return below[: max(0, closer.start() - 1)], below[closer.end() :]


def _no_content(form: Form) -> ParseError:
    return unread(
        f"{form.verb} needs a text.",
        f'write → {syntax(form)}, the text in "quotes" or in the lines below, ended by ←',
    )


def _too_much(below: str, verbs: Verbs) -> ParseError:
    first = next(line for line in below.split("\n") if line.strip(" \t\r")).strip(" \t\r")
    if verbs.verb_of(first_word(without_arrow(first))) is not None:
        return unread("This is more than one command.", "give one at a time")
    return unread(
        f"{short(first)} does not belong to a command.",
        "only a command that lacks its text reads the lines below it, up to ←",
    )


# How a line is written: the one form of it that is stored, and read back.

LONG = 120  # characters of content that still fit in a quote
_PLAIN_TAG = re.compile(r"[\w-]+")


def write(verb: str, form: Form, values: Mapping[str, object], because: str = "") -> str:
    """The canonical line of a form's values, with its arrow, and its block if it has one."""
    assert form.verb == verb
    return write_line(form, values, because=because)


def write_line(form: Form, values: Mapping[str, object], *, because: str) -> str:
    """The canonical line with its arrow; defaults left out, long content as a block."""
    pieces = ["→ " + form.verb]
    block: str | None = None
    for part in form.parts:
        value = values.get(part.name, part.absent)
        if part.kind == "content" and isinstance(value, str) and _is_block(value):
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


def _is_written(part: Part, value: object) -> bool:
    if part.optional or part.kind == "flag":
        return value is not None and value != part.absent
    return value is not None


def _written(part: Part, value: object) -> list[str]:
    if part.kind == "option":
        return [f"{part.key}:{print_value(part, value)}"]
    if part.kind == "flag":
        return [part.word]
    lead = [part.lead] if part.lead and part.kind != "word" else []
    if isinstance(value, tuple):
        return [*lead, *(_one(part, one) for one in cast("Sequence[object]", value))]
    return [*lead, _one(part, value)]


def _one(part: Part, value: object) -> str:
    if isinstance(value, Ref):
        return print_ref(value)
    text = str(value)
    if part.kind == "tags":
        return f"#{text if _PLAIN_TAG.fullmatch(text) else quote(text)}"
    return quote(text) if part.kind in ("quoted", "content") else text
