"""The addresses of explorations."""

from django.urls import URLPattern, path

from loom.exploring import api as endpoints
from loom.exploring import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [
        path("trees/<uid:uid>/explorations", views.explorations_page),
        path("trees/<uid:uid>/explorations/cost", views.cost),
        path("explorations/<uid:uid>", views.exploration_page),
    ]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("trees/<id:uid>/explorations", endpoints.explorations),
        path("explorations/<id:uid>", endpoints.exploration),
        path("explorations/<id:uid>/stop", endpoints.stop),
    ]
