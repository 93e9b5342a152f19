"""The addresses of time stamps."""

from django.urls import URLPattern, path

from agents.timestamps import api as views
from agents.timestamps.pages import timestamp_part


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [path("trees/<uid:uid>/nodes/<str:local_id>/timestamp", timestamp_part)]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("trees/<id:uid>/nodes/<id:local_id>/timestamp", views.timestamp),
        path("trees/<id:uid>/nodes/<id:local_id>/timestamp/answer", views.timestamp_answer),
    ]
