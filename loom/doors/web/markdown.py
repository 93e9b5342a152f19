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

from loom.doors.web import colours

# Longer texts are shown plain: parsing megabytes would hold up everybody.
MAX_RENDERED = 40_000

_TAGS = set(
    "p br hr strong em s code pre span blockquote ul ol li h3 h4 h5 h6 a"
    " table thead tbody tr th td".split()
)
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "pre": {"tabindex"}}


class _Renderer(RendererHTML):
    """Draws an image as its words, and headings below those of the page."""

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


_parser = MarkdownIt(
    "commonmark",
    {"html": False, "breaks": True, "linkify": False, "highlight": _coloured},
    renderer_cls=_Renderer,
).enable(["table", "strikethrough"])


@lru_cache(maxsize=512)
def _rendered(text: str) -> str:
    return nh3.clean(
        # Wide code scrolls, which must go by keys too. No other <pre> can be there.
        _parser.render(text).replace("<pre>", '<pre tabindex="0">'),
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
