"""Pages about the program itself: what it is, the guide, and what it says without a network."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from loom.doors.web import guide as guide_text
from loom.doors.web.gate import PersonRequest, person

# What the page stands on, with the licence of each.
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
    """Version, licence, and what it stands on."""
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
    """Five minutes to a first tree: docs/guide.md, with its pictures in both themes."""
    return render(request, "pages/house/guide.html", {"guide": guide_text.rendered()})


@require_GET
def offline(request: HttpRequest) -> HttpResponse:
    """What the browser shows where it cannot reach Heddle: the same for everybody."""
    return render(request, "pages/house/offline.html")


@require_GET
@cache_control(no_cache=True)
def worker(request: HttpRequest) -> HttpResponse:
    """The script that keeps the offline page. It stands at the top, for that is what it rules."""
    built = Path(settings.BASE_DIR) / "static" / "dist" / "offline.js"
    return HttpResponse(built.read_bytes(), content_type="text/javascript; charset=utf-8")
