"""The addresses of the main line, the manuscript and its book."""

from django.urls import URLPattern, path

from loom.manuscript import api as endpoints
from loom.manuscript import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [
        path("trees/<uid:uid>/manuscript", views.manuscript_page),
        path("trees/<uid:uid>/manuscript/text", views.reading_page),
    ]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("trees/<id:uid>/main-line", endpoints.main_line),
        path("trees/<id:uid>/manuscript", endpoints.manuscript),
        path("trees/<id:uid>/book", endpoints.book),
    ]
