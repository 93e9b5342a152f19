"""Embedders: what turns texts into vectors. One is embedded; others can be registered."""

import json
import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from loom.people.models import Grove

if TYPE_CHECKING:  # NumPy is loaded when a vector is made: most processes never make one
    from loom.embedding.vectors import Floats

MOST_READ = 8_000  # characters of a text that an embedder is given


class Embedder(Protocol):
    """Turns texts into vectors. `name` is stored with each vector: another name, other vectors."""

    name: str
    dimensions: int
    batch: int  # texts that are given at once

    def vectors(self, texts: Sequence[str]) -> "Floats":
        """One vector of length 1 a row. Raises EmbedderFailed if it cannot be had now."""


class EmbedderFailed(Exception):
    """An embedder did not answer; the message says why, in a sentence for people."""


class _Table:
    """The embedded embedder: the mean of the vectors of the tokens, from the table in the package
    wordllama, of which no code is imported. The table is mapped, not read: processes share it."""

    name = "wordllama-256"
    dimensions = 256
    batch = 500

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one core, and safe to fork
        from tokenizers import Tokenizer

        self._tokens = Tokenizer.from_file(
            str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
        )
        self._rows = _mapped(folder / "weights" / "l2_supercat_256.safetensors")

    def vectors(self, texts: Sequence[str]) -> "Floats":
        """One vector of length 1 a row; of zeros for a text without letters. About 10 kB of text
        a ms."""
        import numpy as np

        from loom.embedding.vectors import unit

        given = [text[:MOST_READ] for text in texts]
        encodings = self._tokens.encode_batch_fast(given, add_special_tokens=False)
        means = np.zeros((len(given), self.dimensions), np.float32)
        for at, encoding in enumerate(encodings):
            if encoding.ids:
                means[at] = self._rows[encoding.ids].mean(axis=0, dtype=np.float32)
        return unit(means)


def _mapped(file: Path) -> Any:
    """The one table of a safetensors file: a header of JSON after its length, then the numbers."""
    import numpy as np

    with file.open("rb") as opened:
        size = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(size))
    about = header["embedding.weight"]
    first = 8 + size + about["data_offsets"][0]
    return np.memmap(file, np.float16, "r", first, tuple(about["shape"]))


@cache
def embedded() -> Embedder | None:
    """The embedded embedder; None if its package is not installed. Loads in 0.3 s, once a
    process."""
    spec = find_spec("wordllama")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    is_whole = folder is not None and (folder / "weights").is_dir()
    return _Table(folder) if folder is not None and is_whole else None


Chosen = Callable[[Grove], Embedder | None]
_others: list[Chosen] = []


def offers_embedder(chosen: Chosen) -> Chosen:
    """Registers what may name another embedder for a grove; None: the embedded one."""
    _others.append(chosen)
    return chosen


def is_remote(embedder: Embedder) -> bool:
    """Whether an embedder is an endpoint, which takes time and may cost money: it is asked for
    texts that are kept and for questions, never for what is only looked at."""
    return ":" in embedder.name


def local_embedder_of(grove: Grove) -> Embedder | None:
    """The embedder of a grove, or the embedded one if that is an endpoint."""
    chosen = embedder_of(grove)
    return embedded() if chosen is not None and is_remote(chosen) else chosen


def embedder_of(grove: Grove) -> Embedder | None:
    """The embedder of a grove: one that was chosen for it, else the embedded one, else None."""
    for chosen in _others:
        other = chosen(grove)
        if other is not None:
            return other
    return embedded()
