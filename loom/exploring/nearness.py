"""How near texts are: by meaning where the grove has an embedder, else by the pieces in common."""

from collections.abc import Sequence

from loom.embedding.embedders import EmbedderFailed, local_embedder_of
from loom.people.models import Grove


def nearness_of(grove: Grove, texts: Sequence[str]) -> list[list[float]]:
    """How near each two texts are, from 0 to 1."""
    from loom.embedding.variety import nearness  # NumPy is loaded when it is needed

    embedder = local_embedder_of(grove)
    try:
        vectors = embedder.vectors(texts) if embedder is not None and texts else None
    except EmbedderFailed:
        vectors = None
    near: list[list[float]] = nearness(texts, vectors).tolist()
    return near
