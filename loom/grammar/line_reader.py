"""One line read by one form: refs are bound to parts, arguments to values."""

import re
from collections.abc import Callable

from loom.grammar.forms import Form, Part, read_value, syntax
from loom.grammar.refs import (
    PREFIXES,
    SLICES,
    WORDS,
    Ref,
    Slice,
    continues_tree,
    in_tree,
    no_ref,
    print_ref,
    print_slice,
    read_ref,
    ref_of,
    says_tree,
    slice_of,
    tree_of,
    with_slice,
)
from loom.grammar.tokens import ParseError, Token, elements, misread, short, unread


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


def demand_ref(token: Token) -> Ref:
    """The ref that one token is. Raises ParseError where it is none."""
    ref = ref_of(token)
    if ref is None:
        raise no_ref(token)
    return ref


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
