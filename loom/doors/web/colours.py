"""Code with its parts marked by class: eight kinds, whose colours the style sheet has.

No style is written into the page, and what cannot be read as code stays plain text.

The grammars of some languages take the square of a text's length, or worse, where blanks or
short lines repeat. So code is read in pieces of bounded length, each from a fresh start, and
a piece with a long run of blanks is not read at all: the cost grows with the length alone.
"""

import re
from collections.abc import Iterator
from functools import cache

from django.utils.html import escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

MAX_COLOURED = 10_000  # characters of code that are coloured in one text
PIECE = 1_000  # characters that are read at once; what spans two pieces may be coloured wrongly
_BLANKS = re.compile(r"\s{41}")  # deeper than code is indented

# Languages that are read; one nobody knows is shown plain.
LANGUAGES = frozenset(
    "bash c cpp cs css diff docker go haskell html ini java javascript js json jsx kotlin lua"
    " make markdown md perl php py python r rb ruby rs rust sh sql swift toml ts tsx typescript"
    " xml yaml yml zsh".split()
)
_ALIASES = {"rs": "rust", "md": "markdown"}

# The first that holds a token's type gives its class.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Token.Comment, "c-note"),
    (Token.Keyword, "c-key"),
    (Token.Operator.Word, "c-key"),
    (Token.Literal.String, "c-text"),
    (Token.Literal.Number, "c-number"),
    (Token.Name.Function, "c-name"),
    (Token.Name.Class, "c-name"),
    (Token.Name.Tag, "c-name"),
    (Token.Name.Decorator, "c-name"),
    (Token.Name.Builtin, "c-built"),
    (Token.Name.Attribute, "c-built"),
    (Token.Generic.Inserted, "c-new"),
    (Token.Generic.Deleted, "c-gone"),
    (Token.Generic.Heading, "c-key"),
    (Token.Generic.Subheading, "c-key"),
)
CLASSES = frozenset(name for _, name in _CLASSES)


def coloured(code: str, language: str) -> str:
    """The code as escaped HTML with spans; plain for a language that is not known, and where
    it is long or holds long runs of blanks."""
    lexer = _lexer(language)
    if lexer is None or len(code) > MAX_COLOURED:
        return str(escape(code))
    parts: list[tuple[str, list[str]]] = []
    for piece in pieces(code):
        for name, text in _classed(piece, lexer):
            if parts and parts[-1][0] == name:
                parts[-1][1].append(text)
            else:
                parts.append((name, [text]))
    return "".join(_marked("".join(texts), name) for name, texts in parts)


def _marked(text: str, name: str) -> str:
    return f'<span class="{name}">{escape(text)}</span>' if name else str(escape(text))


def pieces(code: str) -> Iterator[str]:
    """The code cut at line ends, after a blank line where there is one in the second half of
    a piece. A piece has at most PIECE characters, unless it is one line."""
    lines: list[str] = []
    size = 0
    for line in code.splitlines(keepends=True):
        if lines and size + len(line) > PIECE:
            cut = _cut(lines)
            yield "".join(lines[:cut])
            lines = lines[cut:]
            size = sum(map(len, lines))
            if lines and size + len(line) > PIECE:
                yield "".join(lines)
                lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield "".join(lines)


def _cut(lines: list[str]) -> int:
    """After how many of the lines to cut."""
    blank = (at for at in range(len(lines) - 1, len(lines) // 2, -1) if not lines[at].strip())
    return next(blank, len(lines) - 1) + 1


def _classed(piece: str, lexer: Lexer) -> Iterator[tuple[str, str]]:
    """The class and the text of each part of a piece."""
    if len(piece) > PIECE or _BLANKS.search(piece):
        yield "", piece
        return
    # Not get_tokens: it would change line ends and blanks.
    for _, kind, text in lexer.get_tokens_unprocessed(piece):
        yield _class_of(kind), text


def _lexer(language: str) -> Lexer | None:
    words = language[:40].lower().split()
    return _lexer_named(words[0]) if words and words[0] in LANGUAGES else None


@cache
def _lexer_named(name: str) -> Lexer | None:
    try:
        return get_lexer_by_name(_ALIASES.get(name, name))
    except ClassNotFound:
        return None


@cache
def _class_of(kind: _TokenType) -> str:
    return next((name for parent, name in _CLASSES if kind in parent), "")
