"""The addresses of ratings."""

from django.urls import URLPattern, path

from loom.ratings import api as endpoints
from loom.ratings import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [path("groves/<uid:uid>/ratings", views.ratings_page)]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("trees/<id:uid>/ratings", endpoints.ratings),
        path("groves/<id:uid>/acceptance", endpoints.acceptance),
    ]
