"""The addresses of the embedder of a grove, and of requests for probabilities of tokens."""

from django.urls import URLPattern, path

from loom.meaning.embedder_api import embedder
from loom.meaning.embedder_pages import embedder_page
from loom.meaning.token_api import next_tokens, score


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [path("groves/<uid:uid>/embedder", embedder_page)]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("groves/<id:uid>/embedder", embedder),
        path("trees/<id:uid>/nodes/<id:local_id>/next-tokens", next_tokens),
        path("trees/<id:uid>/nodes/<id:local_id>/score", score),
    ]
