"""Pure: vectors of texts, one a row."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def unit(vectors: Floats) -> Floats:
    """The vectors, one a row, with length 1; a vector of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled
