"""The addresses of comparisons."""

from django.urls import URLPattern, path

from loom.comparing import api as endpoints
from loom.comparing import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [path("trees/<uid:uid>/models", views.models_page)]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [path("trees/<id:uid>/models", endpoints.models_compared)]
