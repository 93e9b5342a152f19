"""The embedder that an endpoint of a provider is: OpenAI's `embeddings`, which other servers speak
as well."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loom.embedding.embedders import MOST_READ, Embedder, EmbedderFailed, offers_embedder
from loom.meaning import embedder_settings
from loom.meaning.models import EmbedderSettings
from loom.participants.endpoint_calls import EndpointFailed, EndpointRequest, ask_endpoint
from loom.people.models import Grove

if TYPE_CHECKING:  # NumPy is loaded with the first vector
    from loom.embedding.vectors import Floats

CHARACTERS = 3  # of a token at least, in a guess before the endpoint has counted
BATCH = 64  # texts of a call: the smallest limit of usual servers is 96
QUERY_S, BATCH_S = 8.0, 60.0  # seconds that a question may take, and a batch
MOST_DIMENSIONS = 8_192
LARGEST = 1e6  # number of a vector; NaN is not smaller either


@offers_embedder
def endpoint_of(grove: Grove) -> Embedder | None:
    """The endpoint that the owners of a grove chose; None if they chose none. One query."""
    rows = EmbedderSettings.objects.select_related("payer__grove").exclude(model="")
    row = rows.filter(grove=grove).first()
    return EndpointEmbedder(row) if row is not None else None


class EndpointEmbedder:
    """An endpoint that makes vectors, and is paid for by who chose it."""

    batch = BATCH

    def __init__(self, row: EmbedderSettings) -> None:
        self.row = row
        self.name = row.name
        self.dimensions = row.dimensions

    def vectors(self, texts: Sequence[str]) -> "Floats":
        """One vector of length 1 a row, in one call for each BATCH texts."""
        import numpy as np

        some = [text[:MOST_READ] for text in texts]
        parts = [self._made(some[at : at + BATCH]) for at in range(0, len(some), BATCH)]
        joined: Floats = np.vstack(parts)
        return joined

    def _made(self, texts: Sequence[str]) -> "Floats":
        import numpy as np

        from loom.embedding.vectors import unit

        guess = sum(len(text) // CHARACTERS + 1 for text in texts)
        day = embedder_settings.reserve(self.row, guess)
        read = 0
        try:
            answer = self._asked(texts)
            rows = vectors_in(answer, len(texts))
            read = tokens_in(answer) or guess
        finally:
            embedder_settings.settle(self.row, day, reserved=guess, tokens=read)
        embedder_settings.demand_dimensions(self.row, len(rows[0]))
        return unit(np.array(rows, np.float32))

    def _asked(self, texts: Sequence[str]) -> Any:
        """The answer of the endpoint. EmbedderFailed with a sentence without the key."""
        key, allow = embedder_settings.connection_to(self.row)
        # Some servers refuse an empty text.
        body = {"model": self.row.model, "input": [text or " " for text in texts]}
        total_s = QUERY_S if len(texts) == 1 else BATCH_S
        url = f"{self.row.base_url}/embeddings"
        try:
            return ask_endpoint(EndpointRequest(url, key, body, allow, total_s))
        except EndpointFailed as failed:
            raise EmbedderFailed(str(failed)) from None


def vectors_in(answer: Any, count: int) -> list[list[float]]:
    """The vectors of an answer, in the order of the texts. EmbedderFailed if they are not `count`
    lists of finite numbers of one length."""
    listed = answer.get("data") if isinstance(answer, dict) else None
    rows: dict[int, list[float]] = {}
    for place, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("embedding"), list):
            at = entry.get("index", place)
            rows[at if isinstance(at, int) else place] = entry["embedding"]
    vectors = [rows[at] for at in range(count) if at in rows]
    lengths = {len(row) for row in vectors}
    are_numbers = all(
        isinstance(value, int | float) and -LARGEST < value < LARGEST
        for row in vectors
        for value in row
    )
    is_usual = len(lengths) == 1 and 0 < min(lengths) <= MOST_DIMENSIONS
    if len(vectors) != count or not is_usual or not are_numbers:
        raise EmbedderFailed("The endpoint did not answer with a vector for each text.")
    return vectors


def tokens_in(answer: Any) -> int:
    """The tokens that the endpoint says it has read; 0 if it says nothing."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    counts = usage if isinstance(usage, dict) else {}
    read = counts.get("total_tokens", counts.get("prompt_tokens"))
    return read if isinstance(read, int) and 0 <= read < 10**9 else 0
