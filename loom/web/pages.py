"""Pages about the program itself: about, guide, offline, the scripts' catalogue, and error
pages."""

import gettext
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, to_locale
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from loom.rules.errors import CommandError
from loom.web.requests import PersonRequest, person, refusal

# Plural formulas repeat after 200 in all known languages.
COUNTED = 200


def script_catalogue() -> dict[str, Any]:
    """The translations by text; plural texts as lists, and under "" which form each of 0 to 199
    takes.

    Empty for English, whose texts the scripts contain.
    """
    language = get_language() or "en"
    return {} if language == "en" else _catalogue(to_locale(language), tuple(settings.LOCALE_PATHS))


@lru_cache(maxsize=64)
def _catalogue(locale: str, folders: tuple[Path, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for folder in folders:
        try:
            words = gettext.translation("djangojs", localedir=folder, languages=[locale])
        except OSError:
            continue
        found = {**_entries(words), **found}
    return found


def _entries(words: gettext.NullTranslations) -> dict[str, Any]:
    made: dict[str, Any] = {}
    entries: dict[Any, str] = getattr(words, "_catalog", {})
    for key, text in sorted(entries.items(), key=lambda one: str(one[0])):
        if isinstance(key, tuple):
            made.setdefault(key[0], []).append(text)
        elif key:
            made[key] = text
    plural = getattr(words, "plural", lambda n: int(n != 1))
    made[""] = "".join(str(plural(n)) for n in range(COUNTED))
    return made


# The guide as a page: the same file as on the web, with pictures for both themes.


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
        # The reference is a file beside the guide; in the program it is the page of the API.
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


# Pages for errors outside a view: unknown addresses, bad requests, internal errors.


def _answer(request: HttpRequest, refused: CommandError) -> HttpResponse:
    if request.path.startswith("/api/"):
        return JsonResponse(refused.body, status=refused.status)
    return refusal(request, refused)


def bad_request(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """400: a body or header that Django itself rejected."""
    return _answer(
        request,
        CommandError(
            "INVALID_SYNTAX", "The request could not be read.", hint="Go back and try again."
        ),
    )


def forbidden(request: HttpRequest, exception: Any = None, reason: str = "") -> HttpResponse:
    """403: usually a form that was opened before signing in or out."""
    return _answer(
        request,
        CommandError(
            "PERMISSION_DENIED",
            "This form was opened before you signed in or out, or was sent from another site.",
            hint="Reload the page and send it again.",
        ),
    )


def not_found(request: HttpRequest, exception: Any = None) -> HttpResponse:
    """404."""
    return _answer(
        request,
        CommandError(
            "NOT_FOUND", "There is no page at this address.", hint="Go back to your trees."
        ),
    )


def fault(request: HttpRequest) -> HttpResponse:
    """500: uses nothing that may be broken itself."""
    refused = CommandError(
        "UNAVAILABLE",
        "Something went wrong; nothing was changed.",
        hint="Try again. If the problem persists, contact the operator of this Heddle.",
        status=500,
    )
    return _answer(request, refused)


# Pages about the program itself: about, the guide, and the offline page.


# The software that Heddle is built with, and the licence of each.
PARTS = (
    ("Django", "django", "BSD-3-Clause", "https://www.djangoproject.com/"),
    ("Channels", "channels", "BSD-3-Clause", "https://channels.readthedocs.io/"),
    (
        "Django REST framework",
        "djangorestframework",
        "BSD-3-Clause",
        "https://www.django-rest-framework.org/",
    ),
    ("Celery", "celery", "BSD-3-Clause", "https://docs.celeryq.dev/"),
    ("LiteLLM", "litellm", "MIT", "https://docs.litellm.ai/"),
    ("xllamacpp", "xllamacpp", "Apache-2.0", "https://github.com/xorbitsai/xllamacpp"),
    ("CodeMirror", "", "MIT", "https://codemirror.net/"),
    ("htmx", "", "0BSD", "https://htmx.org/"),
    ("EB Garamond, Inter, JetBrains Mono", "", "OFL-1.1", "https://fontsource.org/"),
)


@require_GET
@person
def about(request: PersonRequest) -> HttpResponse:
    """Version, licence, and the software that Heddle is built with."""
    parts = [(name, _version(package), licence, link) for name, package, licence, link in PARTS]
    context = {"version": settings.SPECTACULAR_SETTINGS["VERSION"], "parts": parts}
    return render(request, "pages/house/about.html", context)


def _version(package: str) -> str:
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""


@require_GET
@person
def guide(request: PersonRequest) -> HttpResponse:
    """The guide: docs/guide.md, with its pictures in both themes."""
    return render(request, "pages/house/guide.html", {"guide": rendered()})


@require_GET
def offline(request: HttpRequest) -> HttpResponse:
    """The page that the browser shows when it cannot reach Heddle: the same for everybody."""
    return render(request, "pages/house/offline.html")


@require_GET
@cache_control(no_cache=True)
def worker(request: HttpRequest) -> HttpResponse:
    """The service worker that keeps the offline page. It is served at the root, because its scope
    is the folder it is served from."""
    built = Path(settings.BASE_DIR) / "static" / "dist" / "offline.js"
    return HttpResponse(built.read_bytes(), content_type="text/javascript; charset=utf-8")
