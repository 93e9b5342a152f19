"""About: the version of Heddle, its licence, and the software that it is built with."""

from importlib.metadata import PackageNotFoundError, version

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from loom.site.page_requests import PersonRequest, person

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
    context = {"version": settings.VERSION, "parts": parts}
    return render(request, "pages/house/about.html", context)


def _version(package: str) -> str:
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""
