"""The addresses of choices."""

from django.urls import URLPattern, path

from loom.choices import api as endpoints
from loom.choices import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [path("groves/<uid:uid>/choices", views.choices_page)]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("trees/<id:uid>/exposures", endpoints.exposures),
        path("groves/<id:uid>/choices", endpoints.choices),
        path("groves/<id:uid>/choices/export", endpoints.export),
    ]
