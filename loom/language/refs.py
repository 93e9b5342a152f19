"""The tokens of a line, and refs: every address that can be written, as a value, parsed and
printed. Nothing is looked up. Slices of a text are parsed in slices. Pure.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

# Errors.

Code = Literal["INVALID_SYNTAX", "LIMIT_EXCEEDED", "NOT_FOUND", "REJECTED"]
SHOWN = 40


class ParseError(Exception):
    """A text that cannot be run: code, one plain sentence, what to do, and likely verbs."""

    def __init__(
        self,
        code: Code,
        message: str,
        hint: str,
        candidates: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.hint = hint
        self.candidates = candidates


class MisreadError(ParseError):
    """A word or quote that may stand for another one: a line to write may be found."""


class AmbiguousError(ParseError):
    """A line that can be parsed in several ways."""


class LineTooLongError(ParseError):
    """A line that has too many bytes to be read."""


def unread(message: str, hint: str) -> ParseError:
    """The INVALID_SYNTAX error that this package raises most."""
    return ParseError("INVALID_SYNTAX", message, hint)


def misread(message: str, hint: str) -> MisreadError:
    """The INVALID_SYNTAX error for a word or quote that may stand for another one."""
    return MisreadError("INVALID_SYNTAX", message, hint)


def short(text: str) -> str:
    """`text` cut so that it can be repeated in a sentence, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def refuse_controls(text: str) -> None:
    """Raises ParseError for U+0000 and lone surrogates, which no text may contain."""
    if "\0" in text:
        raise unread("The text contains U+0000.", "leave it out")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise unread("The text contains a lone surrogate.", "send valid Unicode") from None


# A line split at its blanks, with quotes kept whole. The pieces are not interpreted here.

# Possessive throughout: a quote that never closes must not be tried twice.
_QUOTE = r'"(?:[^"\\]++|\\.)*"'
_RAW = re.compile(rf'(?:[^ \t"]++|{_QUOTE})+', re.DOTALL)
_ELEMENT = re.compile(rf'(?:[^,"]++|{_QUOTE})+', re.DOTALL)
_WHOLE_QUOTE = re.compile(_QUOTE, re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\n])')
_BLANKS = re.compile(r"[ \t]*+")
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n"}
# What a line begins with.

ARROWS = ("→", "->")
BLANK = " \t"
MAX_BLANKS = 2
_WORD = re.compile(r"[^ \t]+")


class Token(NamedTuple):
    """A piece without blanks outside quotes. `head` is what comes before the quote (all of it if
    there is none), `quoted` the text of the one quote that ends it. A `mixed` one has quotes
    elsewhere, which only lists do.
    """

    raw: str
    head: str
    quoted: str | None = None
    mixed: bool = False

    def after(self, length: int) -> "Token":
        """The token without its first `length` characters, which must be part of the head."""
        return Token(self.raw[length:], self.head[length:], self.quoted, self.mixed)


def tokens_of(line: str) -> list[Token]:
    """The pieces of one line, in order. Raises ParseError if a quote is not closed."""
    if '"' not in line:
        return [token_of(word) for word in line.replace("\t", " ").split(" ") if word]
    tokens: list[Token] = []
    at, end = _after_blanks(line, 0), len(line)
    while at < end:
        match = _RAW.match(line, at)
        at = match.end() if match else at
        if match is None or line[at : at + 1] == '"':
            raise misread(
                f"The quote that begins with {short(line[at : at + 80])} is not closed.",
                'close it with " on its line; inside, write \\" for a quote, \\n for a new line;'
                " or put the text in the lines below, closed by ←",
            )
        tokens.append(token_of(match[0]))
        at = _after_blanks(line, at)
    return tokens


def _after_blanks(line: str, at: int) -> int:
    match = _BLANKS.match(line, at)
    return match.end() if match else at


def token_of(raw: str) -> Token:
    """A piece with its quote, if it has one, read. A document or tree may be in brackets, as nodes
    are shown."""
    if raw[:1] == "[" and _IN_BRACKETS.fullmatch(raw):
        raw = raw[1:-1]
    start = raw.find('"')
    if start < 0:
        return Token(raw, raw)
    if _WHOLE_QUOTE.fullmatch(raw, start):
        return Token(raw, raw[:start], unescape(raw[start + 1 : -1]))
    return Token(raw, raw[:start], None, mixed=True)


def elements(raw: str) -> list[Token]:
    """The elements of a list, cut at commas outside quotes. Raises ParseError on an empty one."""
    tokens: list[Token] = []
    at = 0
    while True:
        match = _ELEMENT.match(raw, at)
        if match is None:
            raise unread(f"The list {short(raw)} has an empty element.", "write a,b without spaces")
        tokens.append(token_of(match[0]))
        at = match.end() + 1
        if at > len(raw):
            return tokens


def unescape(inner: str) -> str:
    """The text inside a quote: `\\"`, `\\\\` and `\\n` are read, any other backslash stays."""
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], inner)


def quote(text: str) -> str:
    """`text` as a quote on one line; `unescape` reverses it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def plain(number: float) -> str:
    """A number in its shortest form that can be parsed again: `1`, `0.7`, `65536`."""
    return repr(number).removesuffix(".0")


def without_arrow(body: str) -> str:
    """A line without the arrow that it may begin with."""
    for arrow in ARROWS:
        if body.startswith(arrow):
            return body[len(arrow) :].lstrip(BLANK)
    return body


def first_word(body: str) -> str:
    """The text before the first blank."""
    match = _WORD.match(body)
    return match[0] if match else ""


# Names of things as lines are given them: in quotes, so that what is printed can be read again.

_BREAKS = re.compile(r"[^\S \n]")
_PLAIN_TAG = re.compile(r"[\w-]+")


def label_named(label: str) -> str:
    """A title or label in quotes on one line."""
    return quote(_BREAKS.sub(" ", label))


def tree_named(title: str) -> str:
    """`tree:"title"`."""
    return f"tree:{label_named(title)}"


def document_named(title: str) -> str:
    """`doc:"title"`."""
    return f"doc:{label_named(title)}"


def trail_named(name: str) -> str:
    """`trail:"name"`."""
    return f"trail:{label_named(name)}"


def tag_named(name: str) -> str:
    """`#name`, in quotes where it is more than a word."""
    return f"#{name if _PLAIN_TAG.fullmatch(name) else quote(name)}"


# Refs as values, and how they are written.

Kind = Literal[
    "node",
    "here",
    "root",
    "parent",
    "document",
    "tree",
    "branch",
    "range",
    "window",
    "task",
    "stash",
    "focus",
    "trail",
    "agent",
    "augment",
    "pipe",
    "turn",
    "step",
]
SliceKind = Literal["lines", "para", "section", "part", "head", "tail"]
WORDS: dict[str, Kind] = {"here": "here", "root": "root", "parent": "parent", "focus": "focus"}
REF_WORDS = frozenset({*WORDS, "all"})
PREFIXES: dict[str, Kind] = {
    "doc": "document",
    "tree": "tree",
    "branch": "branch",
    "node": "node",
    "stash": "stash",
    "trail": "trail",
    "agent": "agent",
    "augment": "augment",
    "pipe": "pipe",
    "turn": "turn",
    "step": "step",
}
WRITTEN = {kind: prefix for prefix, kind in PREFIXES.items()}
# How help writes a ref of a kind.
SHOWN_REFS = {
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
SLICES: dict[str, SliceKind] = {
    "lines": "lines",
    "para": "para",
    "section": "section",
    "part": "part",
    "head": "head",
    "tail": "tail",
}
IN_TREES = frozenset({"node", "root", "branch", "range"})
_DIGIT = re.compile(r"[0-9]")
_PLAIN = re.compile(r"[\w-]+")
_AUGMENT = re.compile(r"[\w./*-]+")
_TYPE = re.compile(r"[^\W\d](?:[^\W\d]|-)*")


@dataclass(frozen=True)
class Slice:
    """A part of an item's text. Lines, paragraphs and parts `first` to `last`, both
    included, from 1; a section by `name`; the first or last `last` lines (head, tail)."""

    kind: SliceKind
    first: int = 0
    last: int = 0
    name: str = ""


@dataclass(frozen=True)
class Ref:
    """The target that a line names. `id` is in lower case: a local id, a number, or an opaque id,
    which may turn out to be a name if the item has one; `end` is the second id of a range. A tree
    itself has only `tree_id` or `tree_name`; a node of another tree has them too.
    """

    kind: Kind
    id: str = ""
    name: str = ""
    prime: bool = False
    end: str = ""
    tree_id: str = ""
    tree_name: str = ""
    slice: Slice | None = None


@dataclass(frozen=True)
class DocumentPlace:
    """A place in a document: its start or end, before a line, or a section."""

    kind: Literal["start", "end", "line", "section"]
    line: int = 0
    name: str = ""


def print_ref(ref: Ref) -> str:
    """The canonical spelling; `parse_ref` reverses it."""
    whole = _print_whole(ref)
    return whole if ref.slice is None else f"{whole} {print_slice(ref.slice)}"


def _print_whole(ref: Ref) -> str:
    if ref.kind == "tree":
        return _print_tree(ref)
    local = _print_local(ref)
    if ref.tree_id or ref.tree_name:
        return f"{_print_tree(ref)} {local if ref.kind == 'branch' else 'node:' + local}"
    # No node has an id without a digit, and it would be parsed as a TYPE or a flag.
    bare = ref.kind in ("node", "range") and not _DIGIT.search(local)
    return f"node:{local}" if bare else local


def _print_tree(ref: Ref) -> str:
    return f"tree:{quote(ref.tree_name) if ref.tree_name else ref.tree_id}"


def _print_local(ref: Ref) -> str:
    if ref.kind == "node":
        return f"{ref.id}'" if ref.prime else ref.id
    if ref.kind in WORDS:
        return ref.kind
    if ref.kind == "range":
        return f"{ref.id}-{ref.end}"
    if ref.kind in ("window", "task"):
        return f"{'#' if ref.kind == 'window' else 't'}{ref.id}"
    if ref.kind == "augment" and _AUGMENT.fullmatch(ref.name):
        return f"augment:{ref.name}"
    return f"{WRITTEN[ref.kind]}:{quote(ref.name) if ref.name else ref.id}"


def print_slice(part: Slice) -> str:
    """`lines:3-9`, `para:2`, `§motive`, `head:200`."""
    if part.kind == "section":
        return f"§{part.name if _PLAIN.fullmatch(part.name) else quote(part.name)}"
    if part.kind in ("head", "tail") or part.first == part.last:
        return f"{part.kind}:{part.last}"
    return f"{part.kind}:{part.first}-{part.last}"


def print_place(place: DocumentPlace) -> str:
    """`start`, `end`, `line:12`, `§motive`."""
    if place.kind == "section":
        return print_slice(Slice("section", name=place.name))
    return f"line:{place.line}" if place.kind == "line" else place.kind


# The ref in one token.

MAX_DIGITS = 9  # longer numbers name nothing, and do not fit in a column
_ID = re.compile(r"[a-z0-9]+")
_BARE = re.compile(r"([a-z0-9]+)(?:-([a-z0-9]+)|('))?")
_NUMBER = re.compile(r"[0-9]+")
_IN_BRACKETS = re.compile(r"\[(?:doc|tree):[A-Za-z0-9]+\]", re.IGNORECASE)
_TASK = re.compile(r"t[0-9]+")


def ref_of(token: Token) -> Ref | None:
    """The ref in a token; None if it does not have the form of one. Raises ParseError for a wrong
    form such as `doc:""`."""
    head = token.head
    if ":" in head:
        prefix, _, word = head.partition(":")
        kind = PREFIXES.get(prefix.lower())
        return None if kind is None else _prefixed(kind, word, token)
    if token.quoted is not None or token.mixed:
        return None
    return _bare(head)


def _bare(written: str) -> Ref | None:
    word = written.lower()
    if word[:1] == "#":
        return Ref("window", id=_number(word[1:], written)) if _is_number(word[1:]) else None
    if word[:1] == "[" and word[-1:] == "]":
        inside = None if word[1:2] == "[" else _bare(written[1:-1])
        return inside if inside is not None and inside.kind in ("node", *WORDS) else None
    match = _BARE.fullmatch(word) if written.isascii() else None
    if match is None or word == "all":
        return None
    first, end, prime = match.groups()
    if end is not None:
        return Ref("range", id=first, end=end)
    if prime:
        return None if first in WORDS or _TASK.fullmatch(first) else Ref("node", first, prime=True)
    if first in WORDS:
        return Ref(WORDS[first])
    if _TASK.fullmatch(first):
        return Ref("task", id=_number(first[1:], written))
    return Ref("node", first)


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


def _number(digits: str, written: str) -> str:
    number = digits.lstrip("0") or "0"
    if len(number) > MAX_DIGITS:
        raise ParseError(
            "NOT_FOUND",
            f"{short(written)} does not exist.",
            "numbers of windows, tasks and steps are shorter",
        )
    return number


def _prefixed(kind: Kind, word: str, token: Token) -> Ref:
    name = token.quoted or ""
    if token.mixed or (word and token.quoted is not None) or not (word or name):
        raise misread(
            f"{short(token.raw)} is not a reference.", f'write {WRITTEN[kind]}:"name" or an id'
        )
    if kind in ("node", "branch", "turn", "step"):
        return _by_id(kind, word, token)
    if kind in ("stash", "augment"):
        return Ref(kind, name=name or word)
    named = name or ("" if word.isascii() and _ID.fullmatch(word.lower()) else word)
    id_ = "" if named else word.lower()
    return Ref(kind, tree_id=id_, tree_name=named) if kind == "tree" else Ref(kind, id_, named)


def _by_id(kind: Kind, word: str, token: Token) -> Ref:
    if kind == "step" and _is_number(word):
        return Ref(kind, id=_number(word, token.raw))
    if kind in ("branch", "turn") and word.isascii() and _ID.fullmatch(word.lower()):
        return Ref(kind, id=word.lower())
    if kind == "node":
        ref = _bare(word)
        if ref is not None and ref.kind in ("node", "range", "here", "root", "parent"):
            return ref
    raise misread(f"{short(token.raw)} is not an id.", f"write {WRITTEN[kind]}: and an id")


def is_type(word: str) -> bool:
    """Whether a word is a TYPE, where a TYPE or a REF is allowed."""
    return _TYPE.fullmatch(word) is not None and word.lower() not in REF_WORDS


# An address of several tokens, such as one in another tree.


def read_ref(tokens: list[Token], at: int) -> tuple[Ref, int]:
    """The ref at a place among tokens (`tree:… node:…` is one), and the place after it."""
    if at >= len(tokens):
        raise unread("A reference is missing.", "name an item, such as a7x2 or here")
    ref = ref_of(tokens[at])
    if ref is None:
        raise no_ref(tokens[at])
    if ref.kind == "tree" and at + 1 < len(tokens) and continues_tree(tokens[at + 1]):
        return in_tree(demand_ref(tokens[at + 1]), ref), at + 2
    return ref, at + 1


def no_ref(token: Token) -> ParseError:
    """The refusal of a token that is not a reference."""
    return misread(
        f"{short(token.raw)} is not a reference.", 'name an item, such as a7x2, here or doc:"name"'
    )


def demand_ref(token: Token) -> Ref:
    """The ref in one token. Raises ParseError if it is not one."""
    ref = ref_of(token)
    if ref is None:
        raise no_ref(token)
    return ref


def continues_tree(token: Token) -> bool:
    """Whether a token after `tree:…` names something in that tree."""
    return token.head[:7].lower().startswith(("node:", "branch:"))


def says_tree(tokens: list[Token], at: int) -> bool:
    """Whether `in tree:…` is at a place and names the tree of the ref before it."""
    return (
        tokens[at].raw == "in"
        and at + 1 < len(tokens)
        and tokens[at + 1].head[:5].lower() == "tree:"
        and not (at + 2 < len(tokens) and continues_tree(tokens[at + 2]))
    )


def tree_of(token: Token) -> Ref:
    """The tree that a token names. Raises ParseError for anything else."""
    ref = demand_ref(token)
    if ref.kind != "tree":
        raise unread(f"{short(token.raw)} is not a tree.", 'name one as tree:"title" or tree:ID')
    return ref


def in_tree(ref: Ref, tree: Ref) -> Ref:
    """The ref, in another tree. Raises ParseError if that makes no sense."""
    if ref.kind not in IN_TREES or ref.tree_id or ref.tree_name:
        raise unread(
            f"{short(print_ref(ref))} can't be in {short(print_ref(tree))}.",
            'write tree:"name" node:a7x2',
        )
    return replace(ref, tree_id=tree.tree_id, tree_name=tree.tree_name)
