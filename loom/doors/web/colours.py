"""Code with its parts marked by class: eight kinds, whose colours the style sheet has.

No style is written into the page, and what cannot be read as code stays plain text.
"""

from django.utils.html import escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

# Above this, reading code could hold up everybody: some grammars are slow on odd texts.
MAX_COLOURED = 20_000

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
    """The code as escaped HTML with spans; plain for a language that is not known."""
    lexer = _lexer(language)
    if lexer is None or len(code) > MAX_COLOURED:
        return str(escape(code))
    parts: list[tuple[str, str]] = []
    # Not get_tokens: it would change line ends and blanks.
    for _, kind, text in lexer.get_tokens_unprocessed(code):
        name = _class_of(kind)
        if parts and parts[-1][0] == name:
            parts[-1] = (name, parts[-1][1] + text)
        else:
            parts.append((name, text))
    return "".join(
        f'<span class="{name}">{escape(text)}</span>' if name else str(escape(text))
        for name, text in parts
    )


def _lexer(language: str) -> Lexer | None:
    words = language.lower().split()
    name = words[0] if words else ""
    if name not in LANGUAGES:
        return None
    try:
        return get_lexer_by_name(_ALIASES.get(name, name))
    except ClassNotFound:
        return None


def _class_of(kind: _TokenType) -> str:
    return next((name for parent, name in _CLASSES if kind in parent), "")
