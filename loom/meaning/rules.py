"""Pure: vectors as bytes, blocks of them, and nearness."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loom.embedding.vectors import Floats, unit

IN_BLOCK = 512
AT_ONCE = 4096  # rows that are multiplied at a time, so that they stay in the processor's cache


def packed(vectors: Floats) -> list[bytes]:
    """Each vector in signed bytes, scaled so that its largest number is 127: cosines change by
    less than 0.01."""
    most = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
    return [row.tobytes() for row in np.rint(vectors / most * 127).astype(np.int8)]


def unpacked(vectors: Sequence[bytes]) -> Floats:
    """Packed vectors with length 1, one a row."""
    joined = np.frombuffer(b"".join(vectors), np.int8).reshape(len(vectors), -1)
    return unit(joined.astype(np.float32))


@cache
def row_type(dimensions: int) -> np.dtype[Any]:
    """A row of a block: the id of a version, the length of its packed vector, and that vector."""
    return np.dtype([("node", "<i8"), ("length", "<f4"), ("vector", "i1", (dimensions,))])


def block_of(nodes: Sequence[int], vectors: Sequence[bytes]) -> bytes:
    """The rows of these versions with their packed vectors."""
    numbers = np.frombuffer(b"".join(vectors), np.int8).reshape(len(nodes), -1)
    rows = np.empty(len(nodes), row_type(numbers.shape[1]))
    rows["node"], rows["vector"] = nodes, numbers
    rows["length"] = np.maximum(np.linalg.norm(numbers.astype(np.float32), axis=1), 1e-6)
    return rows.tobytes()


def nearest(
    blocks: Iterable[bytes], wanted: Floats, most: int, *, least: float = -1.0
) -> list[tuple[int, float]]:
    """The versions whose vectors are nearest to a vector of length 1, with their cosines, nearest
    first: at most `most`, and none below `least`. One pass over the blocks."""
    kind = row_type(len(wanted))
    nodes: NDArray[np.int64] = np.empty(0, np.int64)
    scores: Floats = np.empty(0, np.float32)
    for joined in _joined(blocks, AT_ONCE * kind.itemsize):
        rows = np.frombuffer(joined, kind)
        cosines = (rows["vector"].astype(np.float32) @ wanted) / rows["length"]
        floor = max(least, float(scores[-1])) if len(scores) == most else least
        better = np.flatnonzero(cosines >= floor)
        nodes = np.concatenate([nodes, rows["node"][better]])
        scores = np.concatenate([scores, cosines[better]])
        order = np.lexsort((nodes, -scores))[:most]
        nodes, scores = nodes[order], scores[order]
    return [(int(node), float(score)) for node, score in zip(nodes, scores, strict=True)]


def _joined(blocks: Iterable[bytes], size: int) -> Iterable[bytes]:
    """The blocks in larger pieces of about `size` bytes."""
    parts: list[bytes] = []
    held = 0
    for block in blocks:
        parts.append(block)
        held += len(block)
        if held >= size:
            yield b"".join(parts)
            parts, held = [], 0
    if parts:
        yield b"".join(parts)
