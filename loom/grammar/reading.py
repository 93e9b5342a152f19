"""One line read by one form: each token finds its part, or the reason why it does not.

Rules that turn other wordings into these belong before this, between tokens and forms.
"""

import re

from loom.grammar.bad import short, unread
from loom.grammar.filling import Filling
from loom.grammar.forms import Form, Part
from loom.grammar.gathering import Gathered, allows, demand_ref
from loom.grammar.naming import ref_of, slice_of
from loom.grammar.refs import read_ref, says_tree, tree_of
from loom.grammar.shapes import PREFIXES, SLICES, WORDS, Ref
from loom.grammar.tokens import Token, elements
from loom.grammar.values import read_value

_TYPE = re.compile(r"[^\W\d](?:[^\W\d]|-)*")
_WORD = re.compile(r"[^\s,:§#\[\]]+")
_WINDOW = re.compile(r"#[0-9]+")
REF_WORDS = frozenset({*WORDS, "all"})


def is_type(word: str) -> bool:
    """Whether a word is a TYPE where a TYPE or a REF may stand."""
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
            raise unread(f"{part.key}: has no value.", "write it without a blank after the colon")
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
            raise unread("because: stands twice.", "give one reason")
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
        """A TYPE or a free word, where one may stand; a ref that may stand there goes first
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
        if token.mixed or (quoted is not None and token.head != "#") or not _has_letter(name):
            raise unread(f"{short(token.raw)} is no tag.", 'write #name or #"two words"')
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
