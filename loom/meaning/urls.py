"""The addresses of the embedder of a grove."""

from django.urls import URLPattern, path

from loom.meaning.embedder_api import embedder
from loom.meaning.embedder_pages import embedder_page


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [path("groves/<uid:uid>/embedder", embedder_page)]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [path("groves/<id:uid>/embedder", embedder)]
