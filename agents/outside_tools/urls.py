"""The addresses of outside tools."""

from django.urls import URLPattern, path

from agents.outside_tools import api as views
from agents.outside_tools import pages as page_views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [
        path("groves/<uid:uid>/tools", page_views.tools_page),
        path("groves/<uid:uid>/tools/<uid:server>", page_views.change),
    ]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("groves/<id:uid>/tool-servers", views.servers),
        path("tool-servers/<id:uid>", views.server),
        path("tool-servers/<id:uid>/tools", views.tools),
        path("tool-servers/<id:uid>/tools/<id:tool>", views.tool),
        path("turns/<id:uid>/tools", views.decide),
    ]
