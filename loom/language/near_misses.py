"""Lines that look like commands but are not, or cannot be parsed; and the line to write instead."""

import json
import re
from collections.abc import Sequence
from typing import Literal

from loom.errors import require
from loom.language.form_matching import is_ref
from loom.language.forms import syntax
from loom.language.hints import BELOW, ELSE, MOST, lines_meant
from loom.language.lines import (
    LIKE,
    MAY_BE_LIKE,
    NODE,
    PUNCTUATION,
    Like,
    Line,
    LineReader,
    ParsedCommand,
    canonical_line,
    makes_window,
    names_something,
    read,
)
from loom.language.refs import (
    BLANK,
    AmbiguousError,
    MisreadError,
    ParseError,
    first_word,
    quote,
    short,
    tokens_of,
    unread,
    without_arrow,
)
from loom.language.synonyms import ENDS
from loom.language.verbs import Verbs
from loom.language.wording import plain_quotes, suggestions

_FEW_WORDS = 6
_AGAIN = "if it is text, send it again as it is"
AS_TEXT = f"{_AGAIN}, or write \\→ there"
_RESULT = re.compile(r"[ \t]{0,2}[✓✗✔✘](?:[ \t]|$)")
_DETAIL = re.compile(r"(?:  |\t)[ \t]*\S")
_CALL_MARK = re.compile(r"[ \t]*(?:[-*][ \t])?`{0,3}[ \t]*(?:[\[{]|<(?:tool|function)[a-z_]*\b)")
_TOOL = re.compile(r"<(?:tool|function)[a-z_]*(?:=([\w.-]+))?[^>]*>")
_NAMES = ("command", "tool", "tool_name", "name", "function", "action", "cmd", "verb", "method")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "kwargs")
_WHOLE = ("line", "command_line", "text_command")
MOST_OF_CALL = 4000  # characters of a call in JSON that are read
Awaits = Literal["quote", "closer"]


class MissReader(LineReader):
    """A reader of lines that also finds near misses."""

    def may_become_command(self, line: str) -> bool:
        """Whether a line that is still arriving, and is no command yet, may become one or
        something that looks like one."""
        body = line.lstrip(BLANK)
        return (
            body in ("-", "=")
            or LIKE.match(line) is not None
            or MAY_BE_LIKE.fullmatch(line) is not None
        )

    def wants_block(self, line: str) -> bool:
        """Whether a line that is not a command on its own is one with the lines below it."""
        return self.read(line + "\n").line is not None

    def awaited(self, line: str) -> Awaits | None:
        """The line that ends the text of a command that cannot be parsed, so that what may have
        been its block or the rest of its quote does not run. None if the line is complete."""
        body = without_arrow(line.strip(" \t\r"))
        verb = self.verbs.verb_of(first_word(body))
        try:
            tokens = tokens_of(body)
        except ParseError:
            return "quote"
        if any(token.quoted is not None and not token.head for token in tokens):
            return None
        if body.endswith(":"):
            return "closer"
        if verb and not any(form.plan.block for form in self.verbs.forms[verb]):
            return None
        return "closer"

    def examined(self, like: Like, line: str, number: int) -> ParsedCommand | None:
        """A line that may look like a command: a look that runs, a near miss, or None if it is
        only text."""
        parsed = self.read(like.text, number)
        is_read = parsed.line is not None and not names_nobody(parsed.line, like.text)
        if is_read and makes_window(parsed.line) and not like.indented:
            return parsed
        if not is_read and not self._is_meant(like.text):
            return None
        return self.near_miss(line, number, parsed)

    def _is_meant(self, text: str) -> bool:
        """Whether text that cannot be parsed was meant as a command."""
        words = without_arrow(text).split()
        word = words[0].strip("*_`" + PUNCTUATION)
        names = names_something(words[1:12])
        if self.verbs.verb_of(word) is not None:
            return names or len(words) <= _FEW_WORDS
        return names

    def near_miss(
        self, line: str, number: int, parsed: ParsedCommand, *, in_text: bool = False
    ) -> ParsedCommand:
        """The answer to what looks like a command: the line to write, or why it is none. One that
        stands `in_text` and does more than look is probably only mentioned: no line is proposed
        for it."""
        is_look = parsed.line is not None and makes_window(parsed.line)
        if in_text and not is_look:
            hint = "if it was meant to run, write it alone on its line"
        elif parsed.line is not None:
            first, block, _ = parsed.line.canonical.partition("\n")
            below = ", its text below it, closed by ←" if block else ""
            hint = f"write {first} alone on its line{below}"
        elif self.wants_block(parsed.text):
            hint = f"write {parsed.text} alone on its line, its text below it, closed by ←"
        else:
            hint = f"{require(parsed.bad, 'why it was not read').hint}, alone on its line"
        message = f'line {number}: "{short(line)}" looks like a command.'
        return ParsedCommand(
            line, bad=unread(message, f"{hint}; {AS_TEXT}"), number=number, near=True
        )

    def inner_command(self, text: str, number: int) -> ParsedCommand:
        """The longest command that a text inside a sentence begins with."""
        words = text.split()
        for count in range(len(words), 0, -1):
            parsed = self.read("→ " + " ".join(words[:count]).rstrip(PUNCTUATION + '"|)'), number)
            if parsed.line is not None and not names_nobody(parsed.line, text):
                return parsed
        return parsed

    def tool_call(self, text: str, number: int) -> ParsedCommand | None:
        """The near miss that a call in JSON or in a tag is, as other programs take them; `text`
        begins with its line. None for any other text."""
        if _CALL_MARK.match(text) is None:
            return None
        line = text.partition("\n")[0]
        tag = _TOOL.search(line)
        start = text.find("{")
        value = _json_at(text, start) if start >= 0 else None
        words = _words_of_call(value, tag[1] or "" if tag else "")
        verb = self.verbs.verb_of(first_word(words))
        if verb is None and tag is None:
            return None
        read_as = self.read(f"→ {words}") if verb is not None else None
        if read_as is None:
            hint = "write a command alone on its line, such as → view here; → help lists them"
        elif read_as.line is not None and not names_nobody(read_as.line, words):
            hint = f"write {read_as.line.canonical.partition(chr(10))[0]} alone on its line"
        else:
            form = self.verbs.forms[require(verb, "the verb")][-1]
            hint = f"write → {syntax(form)} alone on its line"
        message = f'line {number}: "{short(line)}" is no command: commands are lines after →.'
        return ParsedCommand(
            line, bad=unread(message, f"{hint}; {_AGAIN}"), number=number, near=True
        )

    def fenced(self, line: str) -> str | None:
        """The command that a line of code may be; None if it does not begin like one."""
        body = line.strip(" \t\r")
        if not body.startswith(("→", "->")):
            like = self.like(line)
            if like is None:
                return None
            body = like.text
        return body if self.verbs.verb_of(first_word(without_arrow(body))) is not None else None

    def in_fence(self, body: str, line: str, number: int) -> ParsedCommand | None:
        """The near miss that a line of code is: only one that can be read counts."""
        parsed = self.read(body, number)
        is_read = parsed.line is not None and not names_nobody(parsed.line, body)
        return self.near_miss(line, number, parsed, in_text=True) if is_read else None


def _json_at(text: str, start: int) -> object:
    """The JSON value that begins there; None if there is none."""
    try:
        return json.JSONDecoder().raw_decode(text[start : start + MOST_OF_CALL])[0]
    except (ValueError, RecursionError):
        return None


def _words_of_call(value: object, name: str) -> str:
    """A call in JSON as the words of a command: its name and its arguments, ids before texts."""
    if not isinstance(value, dict):
        return name
    inner = value.get("function")
    if isinstance(inner, dict):
        value = inner
    key = next((label for label in _NAMES if isinstance(value.get(label), str)), "")
    name = name or str(value.get(key, ""))
    given = next((value[argument] for argument in _ARGUMENTS if argument in value), None)
    if isinstance(given, str) and given.startswith("{"):
        given = _json_at(given, 0)
    if given is None:
        given = {
            label: given_value
            for label, given_value in value.items()
            if label not in (key, "id", "type")
        }
    for whole in _WHOLE:
        if isinstance(given, dict) and isinstance(given.get(whole), str):
            return without_arrow(str(given[whole]).strip())
    values = list(given.items()) if isinstance(given, dict) else [("", given)]
    words = [_argument(label, argument) for label, argument in values]
    return without_arrow(" ".join([name, *sorted(words, key=_is_text)]).strip())


def _argument(key: str, value: object) -> str:
    if isinstance(value, list):
        return " ".join(_argument(key, item) for item in value)
    text = str(value)
    bare = is_ref(text) or (isinstance(value, str) and text.startswith(("#", "→")))
    if bare or isinstance(value, bool):
        return key if value is True else "" if value is False else text
    if isinstance(value, int | float):
        return f"{key}:{text}"
    is_option = key in ("as", "in", "replace", "with", "label", "note", "at", "from")
    shown = text if is_option and text.isalpha() and len(text) < 16 else quote(text)
    return f"{key}:{shown}" if is_option else shown


def _is_text(word: str) -> bool:
    return word[:1] == '"'


def names_nobody(line: Line, text: str) -> bool:
    """Whether a line was parsed with a common word as an id."""
    return NODE in line.canonical.partition("\n")[0] and NODE not in text.lower()


def is_result(line: str) -> bool:
    """Whether a line looks like the answer to a command, which only Heddle gives."""
    return _RESULT.match(line) is not None


def is_detail(line: str) -> bool:
    """Whether a line may be a detail below such an answer."""
    return _DETAIL.match(line) is not None


# The line to write instead of one that cannot be parsed.

# Suggestions parse a line again for each of its words, so long ones get none: without this bound
# a line of 64 KiB took more than five minutes.
MOST_SUGGESTED = 1000


def with_suggestion(bad: ParseError, body: str, below: str | None, verbs: Verbs) -> ParseError:
    """The refusal with the exact line to write, if one can be found."""
    if bad.code != "INVALID_SYNTAX" or isinstance(bad, AmbiguousError):
        return bad
    if len(body) > MOST_SUGGESTED:
        return bad
    if first_word(body).lower().strip(".!") in ENDS:
        return unread(bad.message, "a turn ends with a reply without commands: write your answer")
    head = body.rstrip().removesuffix("←").rstrip()
    if head != body.rstrip() and _takes_block(head, verbs):
        return unread(
            bad.message, f"write → {head}, the text in the lines below it, and ← alone on the last"
        )
    repeated = _with_repeated_keys(body, below, verbs)
    if repeated:
        return unread(bad.message, f"write {repeated}")
    meant = _in_words_meant(body, below, verbs)
    if meant:
        return unread(bad.message, f"write {meant}")
    quoted, has_choices = _with_quoted_values(body, below, verbs)
    if quoted:
        hint = f"{bad.hint}, or write {quoted}" if has_choices else f"write {quoted}"
        return unread(bad.message, hint)
    several = each_of(body, verbs)
    if several:
        return unread("A line names one item.", f"write {_each_on_its_line(several)}")
    if isinstance(bad, MisreadError) or verbs.verb_of(first_word(body)) is None:
        return _suggesting(bad, body, below, verbs)
    return bad


def _in_words_meant(body: str, below: str | None, verbs: Verbs) -> str:
    """The line, or the two of which one was meant, for a body in words of other programs."""
    lines: list[str] = []
    for line in lines_meant(plain_quotes(body, verbs), below, verbs):
        if line.startswith(ELSE) and lines:
            continue
        bare = line.removeprefix(ELSE)
        if bare.endswith(BELOW):
            lines += [f"→ {bare}"] if _takes_block(bare.removesuffix(BELOW), verbs) else []
            continue
        meant = [_suggested(part.strip(), None, verbs) for part in bare.split(" and → ")]
        if all(meant):
            lines.append(_each_on_its_line(meant))
    return ", or ".join(lines[:MOST])


def _with_quoted_values(body: str, below: str | None, verbs: Verbs) -> tuple[str, bool]:
    """The line with the quotes that its options need: `find by:Ada`; "" if it needs none. And
    whether such an option takes one of a few words, too, so that it may be misspelt."""
    verb = verbs.verb_of(first_word(body))
    parts = [part for form in verbs.forms.get(verb or "", ()) for part in form.parts]
    keys = {part.key for part in parts if part.kind == "option" and part.value == "quoted"}
    words: list[str] = []
    quoted: set[str] = set()
    try:
        tokens = tokens_of(body)
    except ParseError:
        return "", False
    for token in tokens:
        key, _, value = token.raw.partition(":")
        if value and key.lower() in {*keys, "because"} and '"' not in value:
            quoted.add(key.lower())
            words.append(f"{key}:{quote(value)}")
        else:
            words.append(token.raw)
    line = _suggested(" ".join(words), below, verbs) if quoted else ""
    return line, quoted == {part.key for part in parts if part.key in quoted and part.choices}


_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
_AND_NEXT = r"[ \t]*(?:,|\band\b)?[ \t]*(?:\1:)?"
_LISTED = re.compile(
    rf"(?:(?<![^\s])([a-z]+):|(?<=\busing )){_QUOTED}(?:{_AND_NEXT}{_QUOTED})+", re.I
)


def _with_repeated_keys(body: str, below: str | None, verbs: Verbs) -> str:
    """The line with a key for each of several names, which are only separated in the text:
    `using agent:"Ada" agent:"Bo"`; "" if it is none."""

    def each(listed: re.Match[str]) -> str:
        key = listed[1] or "agent"
        return " ".join(f"{key}:{name}" for name in re.findall(_QUOTED, listed[0]))

    line = _LISTED.sub(each, body)
    return _suggested(line, below, verbs) if line != body else ""


def _takes_block(head: str, verbs: Verbs) -> bool:
    try:
        canonical_line(head, "a text\n←", verbs)
    except ParseError:
        return False
    return True


def _suggesting(bad: ParseError, body: str, below: str | None, verbs: Verbs) -> ParseError:
    try:
        return _first_readable(bad, body, below, verbs)
    except ParseError:  # a quote is not closed
        return bad


def _first_readable(bad: ParseError, body: str, below: str | None, verbs: Verbs) -> ParseError:
    for texts in suggestions(body, verbs):
        lines = [_suggested(text, below, verbs) for text in texts]
        if all(lines):
            return ParseError(
                bad.code, bad.message, f"write {_each_on_its_line(lines)}", bad.candidates
            )
    return bad


def _each_on_its_line(lines: Sequence[str]) -> str:
    shown = " and ".join(line.partition("\n")[0] for line in lines)
    return f"{shown}, each on its line" if len(lines) > 1 else shown


def _suggested(text: str, below: str | None, verbs: Verbs) -> str:
    """The canonical line of a text; "" if there is none, or it takes a common word as an id
    or several texts as one."""
    try:
        line = read(f"→ {text}" if below is None else f"→ {text}\n{below}", verbs, is_whole=False)
    except ParseError:
        return ""
    if _JOINED.search(line.canonical):
        return ""
    return "" if NODE in line.canonical and NODE not in text.lower() else line.canonical


# Two quoted texts that were taken for one.
_JOINED = re.compile(r'\\"[ \t]*[,;][ \t]*\\"')


# Several items on one line.

_ITEM = r"\[?(?:node:)?[a-z][0-9][a-z][0-9][a-z0-9]{0,4}\]?(?![A-Za-z0-9:\"])"
_AND = r"(?:[ \t]*,[ \t]*(?:and[ \t]+)?|[ \t]+(?:(?:and|&)[ \t]+)?)"
_ITEMS = re.compile(rf"(?:both[ \t]+)?(?<![A-Za-z0-9:\"])({_ITEM}(?:{_AND}{_ITEM}){{1,9}})", re.I)


def each_of(text: str, verbs: Verbs) -> tuple[str, ...]:
    """The canonical lines for a line that names several items; none if its verb cannot be parsed
    with each of them alone. `view a7x2 and b3k9` is two lines."""
    line = text.partition("\n")[0].partition('"')[0]
    match = _ITEMS.search(line)
    if match is None:
        return ()
    lines: list[str] = []
    for item in re.findall(_ITEM, match[1], re.I):
        try:
            line_read = read(
                line[: match.start()] + item + text[match.end() :], verbs, is_whole=False
            )
        except ParseError:
            return ()
        lines.append(line_read.canonical)
    return tuple(lines)
