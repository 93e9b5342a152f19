"""The guide as a page: the file docs/guide.md, with its pictures in both themes."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from loom.site.page_requests import PersonRequest, person


class _Renderer(RendererHTML):
    """Renders each picture twice, for the style sheet to choose, and links within the program."""

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        name = Path(str(tokens[idx].attrs["src"])).name.removesuffix("-light.png")
        return "".join(
            format_html(
                '<img class="only-{}" src="{}" alt="{}" loading="lazy">',
                theme,
                static(f"pictures/{name}-{theme}.png"),
                tokens[idx].content,
            )
            for theme in ("light", "dark")
        )

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        # The guide links to the API reference as a file; here it is the page of the API.
        target = str(tokens[idx].attrs["href"])
        return str(
            format_html('<a href="{}">', "/api/docs/" if target == "commands.md" else target)
        )


@lru_cache(maxsize=1)
def rendered() -> SafeString:
    """The guide as HTML."""
    text = (Path(settings.BASE_DIR) / "docs" / "guide.md").read_text()
    parser = MarkdownIt("commonmark", renderer_cls=_Renderer)
    markup = str(parser.render(text))
    return mark_safe(markup)  # noqa: S308  (a file of the program itself)


@require_GET
@person
def guide(request: PersonRequest) -> HttpResponse:
    """The guide: docs/guide.md, with its pictures in both themes."""
    return render(request, "pages/house/guide.html", {"guide": rendered()})
