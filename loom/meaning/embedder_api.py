"""The embedder of a grove in the API, and how far its trees are indexed."""

from typing import Any

from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.meaning import embedder_settings as commands
from loom.meaning.embedder_settings import NewEmbedder, embedder_body
from loom.meaning.index_progress import IndexProgress, progress_of
from loom.site import api_requests as requests
from loom.site.api_requests import read, user_of
from loom.site.responses import Returned
from loom.site.schema import operation


class EmbedderSent(requests.Body):
    """An endpoint that makes vectors: its model, its address, its key (none: the stored one), and
    the price of a million tokens."""

    model: str = Field(min_length=1, max_length=100)
    base_url: str = Field(min_length=1, max_length=500)
    api_key: str | None = Field(None, max_length=500)
    allow_private: bool = False
    price_usd: float = Field(0, ge=0, le=1000)


class IndexingChanged(requests.Body):
    """Whether vectors are made."""

    is_stopped: bool


class IndexedTree(Returned):
    """A tree that is not indexed up to its last change."""

    tree: str
    percent: int
    error: str


class EmbedderOf(Returned):
    """The embedder of a grove: `name` is that of its vectors ("": nothing is installed), `model` is
    "" for the embedded one; what an endpoint has read and cost; and how far the trees are indexed
    that the caller may see. `pause` says why the embedder is not asked at the moment."""

    name: str
    model: str
    base_url: str
    has_key: bool
    allow_private: bool
    price_usd: float
    tokens: int
    spent_usd: float
    is_stopped: bool
    indexed: int
    trees: int
    texts: int
    waiting: list[IndexedTree]
    pause: str


@operation("GET", "groves embedder", "The embedder of a grove", answers=EmbedderOf)
@operation(
    "PUT",
    "groves embedder_set",
    "Have an endpoint make vectors, for owners",
    body=EmbedderSent,
    answers=EmbedderOf,
)
@operation(
    "PATCH",
    "groves embedder_stop",
    "Stop or go on making vectors, for owners",
    body=IndexingChanged,
    answers=EmbedderOf,
)
@operation(
    "DELETE",
    "groves embedder_removed",
    "Go back to the embedded embedder, for owners",
    answers=EmbedderOf,
)
@api_view(["GET", "PUT", "PATCH", "DELETE"])
def embedder(request: Request, uid: str) -> Response:
    """The embedder of a grove and its progress; setting, stopping or removing it."""
    actor, _ = access.get_grove(user_of(request), uid)
    if request.method != "GET":
        access.demand_role(actor, "owner")
    if request.method == "PUT":
        commands.set_embedder(actor, NewEmbedder(**read(request, EmbedderSent).model_dump()))
    elif request.method == "PATCH":
        is_stopped = read(request, IndexingChanged).is_stopped
        (commands.stop_indexing if is_stopped else commands.resume_indexing)(actor)
    elif request.method == "DELETE":
        commands.remove_embedder(actor)
    return Response(_body(progress_of(actor)))


def _body(known: IndexProgress) -> dict[str, Any]:
    return {
        "name": known.embedder,
        **embedder_body(known.settings),
        "indexed": known.indexed,
        "trees": known.trees,
        "texts": known.texts,
        "waiting": [
            {"tree": behind.tree.uid, "percent": behind.percent, "error": behind.error}
            for behind in known.waiting
        ],
        "pause": known.pause,
    }
