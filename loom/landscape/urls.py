"""The addresses of maps by meaning."""

from django.urls import URLPattern, path

from loom.landscape import api as endpoints
from loom.landscape import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [
        path("trees/<uid:uid>/landscape", views.tree_page),
        path("groves/<uid:uid>/landscape", views.grove_page),
    ]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("trees/<id:uid>/landscape", endpoints.of_tree),
        path("groves/<id:uid>/landscape", endpoints.of_grove),
        path("trees/<id:uid>/landscape/stop", endpoints.stop_of_tree),
        path("groves/<id:uid>/landscape/stop", endpoints.stop_of_grove),
        path("trees/<id:uid>/landscape/titles", endpoints.titles),
        path("groves/<id:uid>/landscape/titles", endpoints.titles_of_grove),
        path("trees/<id:uid>/landscape/points", endpoints.points_of_tree),
        path("groves/<id:uid>/landscape/points", endpoints.points_of_grove),
    ]
