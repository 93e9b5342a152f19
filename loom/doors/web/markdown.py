"""Text of nodes as safe HTML. The only place that turns text into markup.

Raw HTML is off in the parser, and what comes out passes an allow-list without images:
a remote image would tell its server who reads what. Code is coloured by classes alone.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from loom.doors.web import colours

# Longer texts are shown plain: parsing megabytes would hold up everybody.
MAX_RENDERED = 40_000

# A table is as wide as its head in every row, however short the row: so wide heads above
# many rows would make of a text the square of it. Such texts are shown without tables.
MAX_CELLS = 20_000

_TAGS = set(
    "p br hr strong em s code pre span blockquote ul ol li h3 h4 h5 h6 a"
    " table thead tbody tr th td".split()
)
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "pre": {"tabindex"}}


class _Renderer(RendererHTML):
    """Draws an image as its words, and headings below those of the page; colours so much
    code of a text, and shows the rest plain."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        env["coloured"] = env.get("coloured", 0) + len(tokens[idx].content)
        if env["coloured"] > colours.MAX_COLOURED:
            options = OptionsDict({**options, "highlight": None})  # type: ignore[typeddict-item]
        return super().fence(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        words = tokens[idx].content or str(tokens[idx].attrs.get("src", ""))
        return escape(f"[image: {words}]")

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<h{_level(tokens[idx])}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"</h{_level(tokens[idx])}>\n"


def _level(token: Token) -> int:
    return min(int(token.tag[1]) + 2, 6)


def _coloured(code: str, language: str, _attributes: str) -> str:
    return colours.coloured(code, language)


def _parser(*rules: str) -> MarkdownIt:
    return MarkdownIt(
        "commonmark",
        {"html": False, "breaks": True, "linkify": False, "highlight": _coloured},
        renderer_cls=_Renderer,
    ).enable([*rules, "strikethrough"])


_with_tables, _without_tables = _parser("table"), _parser()


def _parser_for(text: str) -> MarkdownIt:
    lines = text.split("\n")
    cells = max(line.count("|") + 1 for line in lines) * len(lines)
    return _with_tables if cells <= MAX_CELLS else _without_tables


@lru_cache(maxsize=512)
def _rendered(text: str) -> str:
    return nh3.clean(
        # Wide code scrolls, which must go by keys too. No other <pre> can be there.
        _parser_for(text).render(text).replace("<pre>", '<pre tabindex="0">'),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        allowed_classes={"span": set(colours.CLASSES)},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )


def rendered(text: str) -> SafeString:
    """The text as HTML: Markdown without raw HTML and images; plain above MAX_RENDERED."""
    if len(text) > MAX_RENDERED:
        return plain(text)
    return mark_safe(_rendered(text))  # noqa: S308  (it has passed the allow-list)


def plain(text: str) -> SafeString:
    """The text as it is, every blank and line kept by the style sheet."""
    return mark_safe(f'<span class="plain">{escape(text)}</span>')  # noqa: S308  (escaped)
