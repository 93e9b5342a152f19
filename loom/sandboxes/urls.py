"""The addresses of sandboxes."""

from django.urls import URLPattern, path

from loom.sandboxes import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [path("trees/<uid:uid>/sandbox", views.sandbox_page)]


def api() -> list[URLPattern]:
    """None: `POST …/commands` runs its lines."""
    return []
