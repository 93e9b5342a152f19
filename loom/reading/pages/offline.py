"""The page that a browser shows while the server is away, and the worker that keeps it."""

from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET


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
