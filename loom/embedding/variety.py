"""Pure: how candidates differ. Near-duplicates, an order in which neighbours are near, and how many
different answers they are."""

from collections.abc import Sequence

import numpy as np

from loom.embedding.pieces import SAME_PIECES, pieces_of
from loom.embedding.vectors import Floats

SAME_MEANING = 0.97  # cosine from which on they are


def shared(texts: Sequence[str]) -> Floats:
    """The share of pieces that each two texts have in common (Jaccard), 1 on the diagonal."""
    pieces = [pieces_of(text) for text in texts]
    shares = np.ones((len(texts), len(texts)), np.float32)
    for row, own in enumerate(pieces):
        for column in range(row):
            both = len(own & pieces[column])
            shares[row, column] = shares[column, row] = both / (
                len(own) + len(pieces[column]) - both
            )
    return shares


def nearness(texts: Sequence[str], vectors: Floats | None) -> Floats:
    """How near each two texts are, from 0 to 1: by meaning, or without vectors by the pieces that
    they share."""
    if vectors is None:
        return shared(texts)
    cosines: Floats = np.clip(vectors @ vectors.T, 0.0, 1.0).astype(np.float32)
    np.fill_diagonal(cosines, 1.0)
    return cosines


def alike(texts: Sequence[str], vectors: Floats | None) -> list[list[int]]:
    """Groups of near-duplicates, each in the order of the texts; the first of each stands for the
    group. A text is compared with those that stand for one, so that no chain of small steps joins
    what differs."""
    common = shared(texts)
    near = nearness(texts, vectors) if vectors is not None else common
    groups: list[list[int]] = []
    for at in range(len(texts)):
        for group in groups:
            first = group[0]
            if common[at, first] >= SAME_PIECES or (
                vectors is not None and near[at, first] >= SAME_MEANING
            ):
                group.append(at)
                break
        else:
            groups.append([at])
    return groups


def in_order(near: Floats) -> list[int]:
    """The places of texts in an order in which neighbours are near: from the first text always on
    to the nearest that is left."""
    if not len(near):
        return []
    order, left = [0], set(range(1, len(near)))
    while left:
        row = near[order[-1]]
        following = min(left, key=lambda at: (-float(row[at]), at))
        order.append(following)
        left.remove(following)
    return order


def how_many(near: Floats) -> float:
    """How many different texts they are worth: the Vendi score, the exponential of the entropy of
    the eigenvalues of the matrix of nearness. 1 for equal texts, n for n that share nothing."""
    if not len(near):
        return 0.0
    values = np.linalg.eigvalsh(near.astype(np.float64) / len(near))
    values = values[values > 1e-12]
    return float(np.exp(-(values * np.log(values)).sum()))
