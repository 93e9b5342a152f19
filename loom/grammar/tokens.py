"""A line cut into tokens, and ParseError: why a text could not be read. Pure."""

import re
from typing import Literal, NamedTuple

Code = Literal["INVALID_SYNTAX", "LIMIT_EXCEEDED", "NOT_FOUND", "REJECTED"]

SHOWN = 40


class ParseError(Exception):
    """A text that is not run: code, one plain sentence, what to do, and likely verbs."""

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
    """A word or quote where another one may have been meant: a line to write may be found."""


class AmbiguousError(ParseError):
    """A line that can be read in several ways."""


def unread(message: str, hint: str) -> ParseError:
    """The INVALID_SYNTAX that most refusals of this package are."""
    return ParseError("INVALID_SYNTAX", message, hint)


def misread(message: str, hint: str) -> MisreadError:
    """The INVALID_SYNTAX of a word or quote that may stand for another one."""
    return MisreadError("INVALID_SYNTAX", message, hint)


def short(text: str) -> str:
    """`text` cut so that it can be repeated in a sentence, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


# A line cut at its blanks, quotes kept whole. What the pieces mean is not known here.


# Possessive throughout: a quote that never closes must not be tried twice.
_QUOTE = r'"(?:[^"\\]++|\\.)*+"'
_RAW = re.compile(rf'(?:[^ \t"]++|{_QUOTE})++', re.DOTALL)
_ELEMENT = re.compile(rf'(?:[^,"]++|{_QUOTE})++', re.DOTALL)
_WHOLE_QUOTE = re.compile(_QUOTE, re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\n])')
_BLANKS = re.compile(r"[ \t]*+")
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n"}


class Token(NamedTuple):
    """A piece without blanks outside quotes.

    `head` is what comes before the quote (all of it where there is none), `quoted` the
    text of the one quote that ends it. A `mixed` one has quotes elsewhere: only lists do.
    """

    raw: str
    head: str
    quoted: str | None = None
    mixed: bool = False

    def after(self, length: int) -> "Token":
        """The same without its first `length` characters, which must be of the head."""
        return Token(self.raw[length:], self.head[length:], self.quoted, self.mixed)


def tokens_of(line: str) -> list[Token]:
    """The pieces of one line, in order. Raises ParseError where a quote is not closed."""
    if '"' not in line:
        return [Token(word, word) for word in line.replace("\t", " ").split(" ") if word]
    found: list[Token] = []
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
        found.append(token_of(match[0]))
        at = _after_blanks(line, at)
    return found


def _after_blanks(line: str, at: int) -> int:
    match = _BLANKS.match(line, at)
    return match.end() if match else at


def token_of(raw: str) -> Token:
    """A piece with its quote, if it has one, read."""
    start = raw.find('"')
    if start < 0:
        return Token(raw, raw)
    if _WHOLE_QUOTE.fullmatch(raw, start):
        return Token(raw, raw[:start], unescape(raw[start + 1 : -1]))
    return Token(raw, raw[:start], None, mixed=True)


def elements(raw: str) -> list[Token]:
    """The elements of a list, cut at commas outside quotes. Raises ParseError on an empty one."""
    found: list[Token] = []
    at = 0
    while True:
        match = _ELEMENT.match(raw, at)
        if match is None:
            raise unread(f"The list {short(raw)} has an empty element.", "write a,b without spaces")
        found.append(token_of(match[0]))
        at = match.end() + 1
        if at > len(raw):
            return found


def unescape(inner: str) -> str:
    """The text inside a quote: `\\"`, `\\\\` and `\\n` are read, any other backslash stays."""
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], inner)


def quote(text: str) -> str:
    """`text` as a quote on one line; `unescape` gives it back."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
