"""One line of a reply, parsed with the forms of its verb: its command in any wording, or a near
miss."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loom.language.arguments import WORD, MarkedArguments
from loom.language.back_references import in_arguments
from loom.language.form_matching import is_ref
from loom.language.forms import (
    CLOSER,
    ArgBinding,
    Form,
    FormPart,
    RefBinding,
    allows,
    syntax,
    write,
)
from loom.language.json_arguments import object_in, split_at_object
from loom.language.refs import (
    BLANK,
    MAX_BLANKS,
    REF_WORDS,
    LineTooLongError,
    ParseError,
    Ref,
    Token,
    first_word,
    is_type,
    read_ref,
    ref_of,
    refuse_controls,
    says_tree,
    short,
    tokens_of,
    tree_of,
    unread,
    without_arrow,
)
from loom.language.synonyms import OTHER_TYPES, TYPES
from loom.language.verbs import Verbs
from loom.language.wording import no_reading, several_readings, variants

MAX_LINE_BYTES = 64 * 1024
NODE = "node:"  # printed before an id without a digit, which would otherwise be taken for a word


# One line parsed with one form: each token gets a part, or a reason why there is none.


@dataclass(frozen=True)
class Line:
    """One command: its verb, the form that was used, and a value for every part. `makes_window`
    says whether the answer is a result window: such a line changes nothing, not even the view."""

    verb: str
    form: int
    values: Mapping[str, object]
    because: str = ""
    canonical: str = ""
    makes_window: bool = False


class ArgumentReader(MarkedArguments):
    """The tokens after the verb, taken from left to right. Methods raise ParseError; `at` then
    says how far the form was followed."""

    def __init__(self, form: Form, tokens: list[Token]) -> None:
        self.form = form
        self.plan = form.plan
        self.tokens = tokens
        self.at = 0
        self.because: str | None = None
        self.wants_block = False
        self._parts = ArgBinding(form)
        self._refs = RefBinding()
        self._collecting: FormPart | None = None  # a led part that takes several refs
        self._list: FormPart | None = None  # an option's list that the next token may go on

    def values(self) -> dict[str, object]:
        """Every part's value; if that of a block is missing, `wants_block` is set."""
        while self.at < len(self.tokens):
            self._take(self.tokens[self.at])
        self._refs.settle()
        self._refs.into(self._parts.values, self.plan.many)
        self.wants_block = self._parts.settle() or self.wants_block
        if self.plan.json is not None:
            name = self.plan.json.name
            self._parts.values[name] = object_in(str(self._parts.values[name]))
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
        """Takes a TYPE or a free word, if one is allowed; a ref that is allowed there has
        precedence unless the word is a TYPE."""
        if is_type(token.raw):
            return self._parts.place(("type", "word"), token.raw)
        if self._parts.reach(lambda part: part.kind == "ref") is not None:
            return False
        if WORD.fullmatch(token.raw) is None:
            return False
        is_bare = self._parts.reach(lambda part: part.bare) is not None
        return self._parts.place(("quoted",) if is_bare else ("word",), token.raw)

    def _take_ref(self, token: Token) -> None:
        if ref_of(token) is None:
            raise self._parts.unexpected(token)
        ref, after = read_ref(self.tokens, self.at)
        self._refs.add(self._part_for(ref, token), ref)
        self.at = after

    def _part_for(self, ref: Ref, token: Token) -> FormPart:
        if self._collecting is not None and allows(self._collecting, ref):
            return self._collecting
        part = self._parts.reach(lambda part: part.kind in ("ref", "range") and allows(part, ref))
        part = part or self._parts.reach(lambda part: part.kind in ("ref", "range"))
        if part is None:
            raise self._parts.unexpected(token)
        self._parts.fill(part)
        return part


# The line as parsed by the first form of a verb that can, with the block below it.


def canonical_line(body: str, below: str | None, verbs: Verbs) -> Line:
    """The line, written as in the tables. Raises ParseError."""
    verb, arguments = verbs.split(body)
    tokens = _tokens_with_json(arguments, verbs.forms[verb])
    failures: list[tuple[tuple[bool, int, int, int], ParseError]] = []
    for number, form in enumerate(verbs.forms[verb]):
        reading = ArgumentReader(form, tokens)
        try:
            values = _with_block(reading, below, verbs)
        except ParseError as bad:
            likeness = (
                bad.code != "INVALID_SYNTAX",
                reading.at,
                _own_options(form, tokens),
                _own_words(form, tokens),
            )
            failures.append((likeness, bad))
            continue
        because = reading.because or ""
        canonical = write(verb, form, values, because)
        _demand_size(canonical.partition("\n")[0])
        return Line(verb, number, values, because, canonical, form.makes_window)
    raise _best(failures)


def _tokens_with_json(arguments: str, forms: Sequence[Form]) -> list[Token]:
    """The tokens of a line; the JSON object of a verb that takes one is a quoted text."""
    if "{" not in arguments or not any(form.plan.json for form in forms):
        return tokens_of(arguments)
    before, given, after = split_at_object(arguments)
    own = [] if given is None else [Token(given, "", given)]
    return [*tokens_of(before), *own, *tokens_of(after)]


def _own_words(form: Form, tokens: Sequence[Token]) -> int:
    """How many of a line's words and options are required by the form, minus those that are not."""
    words = {token.raw.partition(":")[0].lower() for token in tokens}
    own = [part.key if part.kind == "option" else part.lead for part in form.plan.required]
    return sum(1 if word in words else -1 for word in own if word)


def _own_options(form: Form, tokens: Sequence[Token]) -> int:
    """How many of a line's options the form has."""
    options = form.plan.options
    return sum(token.head.partition(":")[0].lower() in options for token in tokens)


def _best(failures: list[tuple[tuple[bool, int, int, int], ParseError]]) -> ParseError:
    """The error if no form can parse a line: a limit, else of the form that was followed furthest,
    else of the form whose options and words the line has; if there are several, of the last form,
    which is the common one."""
    return max(reversed(failures), key=lambda failure: failure[0])[1]


def _demand_size(line: str) -> None:
    if len(line) * 4 > MAX_LINE_BYTES and len(line.encode()) > MAX_LINE_BYTES:
        raise LineTooLongError(
            "LIMIT_EXCEEDED",
            "A line is at most 64 KiB without its block.",
            "write long text in the lines below and end it with ←",
        )


def _with_block(reading: ArgumentReader, below: str | None, verbs: Verbs) -> dict[str, object]:
    """The values of a line together with its block, if it needs one."""
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


def _with_closing_feed(below: str) -> str:
    """The lines below one that ended in CRLF: the last line end of the content belongs to `←` as a
    whole."""
    closer = CLOSER.search(below) if "←" in below else None
    if closer is None or not below[: closer.start()].endswith("\r\n"):
        return below
    return f"{below[: closer.start() - 2]}\n{below[closer.start() :]}"


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


# A line in any wording.


def read(text: str, verbs: Verbs, *, is_whole: bool = True) -> Line:
    """The command in `text`: one line, with an optional arrow, and its block below it. The first
    form of the verb that parses it is used. Other wordings are accepted if the rules turn them
    into exactly one line. Raises ParseError: INVALID_SYNTAX, LIMIT_EXCEEDED for a line over 64 KiB
    (its block not counted) or a number over its maximum, NOT_FOUND for a number that no window,
    task or step can have.
    """
    refuse_controls(text)
    line, newline, rest = text.partition("\n")
    _demand_size(line)
    body = verbs.body(line)
    below = (_with_closing_feed(rest) if line.endswith("\r") else rest) if newline else None
    try:
        line_read = canonical_line(body, below, verbs)
    except ParseError as bad:
        if bad.code != "INVALID_SYNTAX":
            raise
        try:
            return in_other_words(body, below, verbs, bad)
        except ParseError as worse:
            if not is_whole:
                raise worse from None
            from loom.language.near_misses import with_suggestion  # it reads lines itself

            raise with_suggestion(worse, body, below, verbs) from None
    is_nobody = NODE in line_read.canonical and NODE not in line.lower()
    if is_nobody or _is_other_type(line_read, verbs) or _ends_in_punctuation(line_read):
        return in_other_words(body, below, verbs, line_read)
    return line_read


def _is_other_type(line: Line, verbs: Verbs) -> bool:
    """Whether a line was parsed with another word for a type: `list a7x2 children`."""
    kind = str(line.values.get("type", "")).lower() if verbs.of(line.verb).takes_type else ""
    return kind in OTHER_TYPES or TYPES.get(kind, kind) != kind


def _ends_in_punctuation(line: Line) -> bool:
    """Whether the type of a link was parsed with the full stop at the end of the line."""
    return str(line.values.get("type", "")).endswith((".", ";", "!"))


def in_other_words(
    body: str, below: str | None, verbs: Verbs, otherwise: Line | ParseError
) -> Line:
    """The one line that the rules of wording make of a body. If they make none, `otherwise`: the
    error, or the result with a common word as an id."""
    try:
        tiers = variants(body, verbs)
    except ParseError as bad:
        raise (otherwise if isinstance(otherwise, ParseError) else bad) from None
    for wordings in tiers:
        line = _only_reading(wordings, below, verbs)
        if line is not None:
            return line
    if isinstance(otherwise, Line):
        return otherwise
    raise no_reading(otherwise, body, verbs)


def _only_reading(wordings: list[str], below: str | None, verbs: Verbs) -> Line | None:
    """The one line that these wordings stand for; None if there is none. Raises ParseError for
    several, and for one over a limit."""
    by_text: dict[str, Line] = {}
    over: list[ParseError] = []
    for wording in wordings:
        try:
            line = canonical_line(wording, below, verbs)
            by_text[line.canonical] = line
        except ParseError as bad:
            over += [bad] if bad.code != "INVALID_SYNTAX" else []
    if len(by_text) > 1:
        raise several_readings(tuple(by_text), tuple(line.verb for line in by_text.values()))
    if over:
        raise over[0]
    return next(iter(by_text.values()), None)


# `{1}`: what the first line of a reply made, among the arguments of a later one.

_STANDS_FOR = "z9z9z9{:02}"  # an id, so that the line can be read before its node is there
_STAND_IN = re.compile(r"z9z9z9([0-9]{2})")


def _with_stand_ins(text: str) -> str:
    if "{" not in text:
        return text
    line, newline, below = text.partition("\n")
    return in_arguments(line, _STANDS_FOR.format) + newline + below


def _without_stand_ins(text: str) -> str:
    return _STAND_IN.sub(lambda match: f"{{{int(match[1])}}}", text)


# Classification of one line of a reply: a command, something like one, or text.


@dataclass(frozen=True)
class ParsedCommand:
    """One parsed command with its block, or the reason why it is not run. Exactly one of `line`
    and `bad` is set. `number` is its line in the reply, from 1. `near` marks a near miss, which
    never runs. `note` is added to its reply.
    """

    text: str
    line: Line | None = None
    bad: ParseError | None = None
    number: int = 0
    near: bool = False
    note: str = ""


# Arrows that models write instead of →; those of two or three characters first.
ARROW_MARKS = "→>➜⇒➔➝➞➡➙➛⟶⟹⇨↦⮕"
_OTHERS = "-->|==>|=>|–>|—>|[➜⇒➔➝➞➡➙➛⟶⟹⇨↦⮕]\ufe0f?"
LIKE = re.compile(
    r"((?:[ \t]|[-*+•][ \t]|[0-9]{1,9}[.)][ \t])*)([*_]{0,3}+`{0,2}+)"
    rf"((?:{_OTHERS}|→|->))(.*)",
    re.DOTALL,
)
MAY_BE_LIKE = re.compile(
    r"(?:[ \t]|[-*+•][ \t]|[0-9]{1,9}[.)][ \t])*"
    r"(?:[-*+•]|[0-9]{1,9}[.)]?)?[*_]{0,3}`{0,2}[-=–—]{0,2}"
)
_INSIDE = re.compile(r"(?<![\\-])(→|->)[ \t]*+[*_`]{0,2}([A-Za-z]{2,14})(?![A-Za-z(])")
_CODE_END = re.compile(r"`|\*\*|__")
PUNCTUATION = ".,;:!?"
_SHOWN = 160  # characters after an arrow inside a sentence that may belong to its command


@dataclass(frozen=True)
class Like:
    """A whole line that would be a command if it were written plainly: `text` is that command.
    `indented` means that it is too far to the right and has no other mark."""

    text: str
    indented: bool


class LineReader:
    """Classifies one line of a reply."""

    def __init__(self, verbs: Verbs) -> None:
        self.verbs = verbs

    def is_command(self, line: str) -> bool:
        """Whether a line begins a command. A tab before it makes it code, as in Markdown."""
        body = line.lstrip(" ")
        if len(line) - len(body) > MAX_BLANKS:
            return False
        if body.startswith("->"):
            return self.verbs.verb_of(first_word(without_arrow(body)).rstrip("\r")) is not None
        return body.startswith("→")

    def read(self, text: str, number: int = 0) -> ParsedCommand:
        """The command in the text; `number` is its line in the reply. A `{1}` in it stands for an
        id that is not known yet."""
        bare = _with_stand_ins(text)
        try:
            line = read(bare, self.verbs)
        except ParseError as bad:
            if bare is not text:
                shown = (_without_stand_ins(bad.message), _without_stand_ins(bad.hint))
                bad = ParseError(bad.code, *shown, bad.candidates)
            return ParsedCommand(text, bad=named_line(bad, text, number), number=number)
        if bare is not text:
            line = replace(line, canonical=_without_stand_ins(line.canonical))
        return ParsedCommand(text, line=line, number=number, note=note_of(text, line, self.verbs))

    def read_all(self, text: str, number: int = 0) -> list[ParsedCommand]:
        """The commands of a line: several if it names several items and its verb takes one."""
        parsed = self.read(text, number)
        if parsed.line is not None or '"' in text:
            return [parsed]
        from loom.language.near_misses import each_of  # it reads lines itself

        several = each_of(text, self.verbs)
        if not several or not self._takes_each(several[0]):
            return [parsed]
        return [self.read(line, number) for line in several]

    def _takes_each(self, canonical: str) -> bool:
        return self.verbs.of(first_word(without_arrow(canonical))).takes_each

    def like(self, line: str) -> Like | None:
        """The command that a whole line would be without its marks, or with the right arrow."""
        match = LIKE.match(line)
        if match is None:
            return None
        marks, wrap, _, body = match.groups()
        body = body.strip(" \t\r")
        if wrap:
            body = body.rstrip(PUNCTUATION)
            body = body.removesuffix(wrap[::-1]) if body.endswith(wrap[::-1]) else ""
            if "`" in body if "`" in wrap else wrap in body:
                return None
        if not body.strip(BLANK):
            return None
        is_plain = not wrap and not marks.strip(BLANK)
        is_far = len(marks) > MAX_BLANKS or "\t" in marks
        return Like(f"→ {body.strip(BLANK)}", is_plain and is_far)

    def inside(self, line: str) -> str | None:
        """The beginning of a command inside a sentence, up to where it must have ended."""
        if "→" not in line and "->" not in line:
            return None
        if line.lstrip(" \t-*+•0123456789.)").startswith(">"):
            return None
        for match in _INSIDE.finditer(line):
            verb = match[2] if match[1] == "->" else match[2].lower()
            if self.verbs.verb_of(verb) is None or verb != verb.lower():
                continue
            tail = line[match.start(2) : match.start(2) + _SHOWN]
            end = _CODE_END.search(tail)
            is_code = end is not None and tail[end.start()] == "`"
            text = tail[: end.start()] if end and (is_code or end.start() > len(verb)) else tail
            words = text.split()
            if names_something(words[1:4]) or (is_code and len(words) == 1):
                return text
        return None


def is_undecided(rest: str) -> bool:
    """Whether the part of a line that has arrived may be the beginning of a mark, an arrow, the
    end of a block or an answer. Its next character decides."""
    body = rest.strip(BLANK)
    return body in ("=", "←", *"✓✗✔✘") or MAY_BE_LIKE.fullmatch(rest) is not None


def names_something(words: Sequence[str]) -> bool:
    """Whether one of the words is an id, a tag or the like, which do not occur in ordinary text."""
    return any(
        is_id(word) or (word[:1] == "#" and word[1:2].isalnum()) or word[:1] == '"'
        for word in words
    )


def is_id(word: str) -> bool:
    """Whether a word is an id or another address, ignoring punctuation and marks around it."""
    bare = word.strip('*_`()"' + PUNCTUATION)
    return bare.lower() not in REF_WORDS and is_ref(bare)


def makes_window(line: Line | None) -> bool:
    """Whether there is a line and it only looks: its answer is a result window."""
    return line is not None and line.makes_window


def note_of(text: str, line: Line, verbs: Verbs) -> str:
    """A note for the reply to a line in other words."""
    return verbs.of(line.verb).notes.get(first_word(without_arrow(text.strip())).lower(), "")


def named_line(bad: ParseError, text: str, number: int) -> ParseError:
    """The refusal with its line: `line 3: "…": There is no command tga.`"""
    if not number:
        return bad
    where = f'line {number}: "{short(text.partition(chr(10))[0])}"'
    return ParseError(bad.code, f"{where}: {bad.message}", bad.hint, bad.candidates)
