"""Pure: a layout in two dimensions in which texts that are alike stand near each other.

The main axes of the vectors (PCA) are where it begins; then the nearest neighbours of each text
attract it and all others repel it (t-SNE). The repulsion is computed on a grid by FFT
(Linderman and others, 2019), so that a step costs about the same for each text however many there
are. It has no dice but a fixed seed: the same vectors give the same layout.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Whole = NDArray[np.int64]
Coordinates = NDArray[np.uint16]
Tell = Callable[[float], None]  # is told the share that is done; may raise to stop

AXES = 32  # of the vectors, the longest, by which texts are compared
EXACT = 6_000  # texts up to which each is compared with each
EARLY, LATE = 150, 350  # steps: first groups are formed, then they spread
EARLY_PULL = 12.0
FEW = 600  # texts up to which each repels each, without a grid
LARGEST_GRID, CELL = 512, 0.3  # cells of a side at most; the side of a cell where that suffices
SEED = 7
CHUNK = 1_024  # rows of a product that are held at once
EDGE = 4_096  # of 65,536: the margin that is left for what is placed later


def principal(vectors: Floats, axes: int = AXES) -> Floats:
    """The vectors (n, d) along their `axes` longest axes, longest first, about their mean."""
    middle = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    moved = vectors - middle
    _, turned = np.linalg.eigh(moved.T @ moved)
    chosen = turned[:, ::-1][:, : min(axes, len(vectors))].astype(np.float32)
    # An axis has no direction of its own: its largest part is made positive.
    signs = np.sign(chosen[np.abs(chosen).argmax(axis=0), np.arange(chosen.shape[1])])
    projected: Floats = moved @ (chosen * np.where(signs == 0, 1, signs).astype(np.float32))
    return projected


def _untold(share: float) -> None:
    """Tells nobody."""


def neighbours(points: Floats, k: int, tell: Tell = _untold) -> Whole:
    """The `k` nearest other points of each (n, k), not in order. Exact up to EXACT points; beyond,
    those among the points of the nearest groups."""
    if len(points) <= EXACT:
        return _nearest_in(points, np.arange(len(points)), np.arange(len(points)), k)
    centres, group = _groups(points)
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(len(centres) + 1))
    squares = (centres**2).sum(axis=1)
    apart = squares[None, :] - 2 * centres @ centres.T
    near = np.argsort(apart, axis=1, kind="stable")
    nearest = np.empty((len(points), k), np.int64)
    for number in range(len(centres)):
        members = order[ends[number] : ends[number + 1]]
        if not len(members):
            continue
        parts, held = [], 0
        for at, other in enumerate(near[number]):
            if at >= 6 and held > 4 * k:
                break
            part = order[ends[other] : ends[other + 1]]
            parts.append(part)
            held += len(part)
        nearest[members] = _nearest_in(points, members, np.concatenate(parts), k)
        tell((number + 1) / len(centres))
    return nearest


def _nearest_in(points: Floats, asked: Whole, among: Whole, k: int) -> Whole:
    """The `k` nearest of `among` for each of `asked`, without itself."""
    others = points[among]
    squares = (others**2).sum(axis=1)
    nearest_of = np.empty((len(asked), k), np.int64)
    for first in range(0, len(asked), CHUNK):
        some = asked[first : first + CHUNK]
        apart = squares[None, :] - 2 * points[some] @ others.T
        apart[some[:, None] == among[None, :]] = np.inf
        nearest = np.argpartition(apart, k - 1, axis=1)[:, :k]
        nearest_of[first : first + CHUNK] = among[nearest]
    return nearest_of


def _groups(points: Floats) -> tuple[Floats, Whole]:
    """About √n groups: their middles, and the group of each point (k-means on a sample)."""
    dice = np.random.default_rng(SEED)
    count = int(len(points) ** 0.5)
    sample = points[dice.permutation(len(points))[: 40 * count]]
    centres = sample[:count].copy()
    for _ in range(6):
        group = _closest(sample, centres)
        sizes = np.bincount(group, minlength=count)
        sums = np.stack(
            [
                np.bincount(group, weights=sample[:, axis], minlength=count)
                for axis in range(sample.shape[1])
            ],
            axis=1,
        )
        full = sizes > 0
        centres[full] = (sums[full] / sizes[full, None]).astype(np.float32)
    return centres, _closest(points, centres)


def _closest(points: Floats, centres: Floats) -> Whole:
    squares = (centres**2).sum(axis=1)
    closest = np.empty(len(points), np.int64)
    for first in range(0, len(points), 8 * CHUNK):
        some = points[first : first + 8 * CHUNK]
        closest[first : first + 8 * CHUNK] = (squares[None, :] - 2 * some @ centres.T).argmin(
            axis=1
        )
    return closest


def lay_out(vectors: Floats, tell: Tell = _untold) -> Floats:
    """Places (n, 2) for vectors of length 1 (n, d), about the origin; texts that are alike stand
    near each other. `tell` is called with the share that is done after each step."""
    n = len(vectors)
    if n < 4:
        return np.array([(at - (n - 1) / 2, 0) for at in range(n)], np.float32).reshape(n, 2)
    points = principal(vectors)
    k = min(15, max(3, n // 4), n - 1)
    near = neighbours(points, k, lambda share: tell(0.1 * share))
    tell(0.1)
    start = points[:, :2] if points.shape[1] > 1 else np.repeat(points, 2, axis=1)
    spread = float(start.std(axis=0).max()) or 1.0
    dice = np.random.default_rng(SEED)
    # Equal texts begin a little apart, since nothing could part them later.
    places = start / spread * 1e-2 + dice.normal(0, 1e-4, (n, 2))
    return _settle(places.astype(np.float32), near, tell)


def _settle(places: Floats, near: Whole, tell: Tell) -> Floats:
    n, k = near.shape
    into = near.ravel()
    order = np.argsort(into, kind="stable")
    pulled, firsts = np.unique(into[order], return_index=True)
    gains = np.ones_like(places)
    speed = np.zeros_like(places)
    for step in range(EARLY + LATE):
        early = step < EARLY
        pull = EARLY_PULL if early else 1.0
        rate, drag = max(50.0, n / pull), 0.5 if early else 0.8
        apart = places[:, None, :] - places[near]
        apart /= (1 + (apart**2).sum(axis=2, keepdims=True)) * (2 * n * k)
        force = apart.sum(axis=1)
        force[pulled] -= np.add.reduceat(apart.reshape(-1, 2)[order], firsts, axis=0)
        force = 4 * (pull * force - _repulsion(places))
        same = (force > 0) == (speed > 0)
        gains = np.maximum(np.where(same, gains * 0.8, gains + 0.2), 0.01)
        speed = (drag * speed - rate * gains * force).astype(np.float32)
        # No step is longer than the map: few texts would otherwise fly apart.
        longest = float(np.abs(speed).max())
        if longest > 5:
            speed *= 5 / longest
        places = places + speed
        places -= places.mean(axis=0)
        tell(0.1 + 0.9 * (step + 1) / (EARLY + LATE))
    return places


def _repulsion(places: Floats) -> Floats:
    """The normalised repulsion of all points on each (n, 2)."""
    if len(places) <= FEW:
        return _repulsion_of_few(places)
    low = places.min(axis=0)
    extent = max(float((places.max(axis=0) - low).max()), 1e-6)
    size = 64
    while size < LARGEST_GRID and extent / (size - 3) > CELL:
        size *= 2
    # Of few widths, so that the kernel of the step before can mostly be used again.
    cell = 1.05 ** float(np.ceil(np.log(extent / (size - 3)) / np.log(1.05)))
    at = (places - low) / cell + 1
    corner = at.astype(np.int64)
    share = at - corner
    (x, y), (fx, fy) = corner.T, share.T
    base = x * size + y
    cells = [base, base + size, base + 1, base + size + 1]
    weights = [(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy]
    grid = np.bincount(
        np.concatenate(cells), weights=np.concatenate(weights), minlength=size * size
    )
    charge = np.fft.rfft2(grid.reshape(size, size).astype(np.float32), s=(2 * size, 2 * size))
    fields = np.fft.irfft2(charge[None] * _kernel(size, cell), s=(2 * size, 2 * size))
    flat = fields[:, :size, :size].reshape(3, -1).astype(np.float32)
    felt = sum(weight * flat[:, where] for weight, where in zip(weights, cells, strict=True))
    total = max(float(felt[0].sum(dtype=np.float64)) - len(places), 1e-6)
    push: Floats = (felt[1:].T / total).astype(np.float32)
    return push


def _repulsion_of_few(places: Floats) -> Floats:
    dx = places[:, None, 0] - places[None, :, 0]
    dy = places[:, None, 1] - places[None, :, 1]
    near = 1 / (1 + dx**2 + dy**2)
    total = max(float(near.sum(dtype=np.float64)) - len(places), 1e-6)
    near *= near
    push = np.stack([(near * dx).sum(axis=1), (near * dy).sum(axis=1)], axis=1) / total
    return np.asarray(push, np.float32)


@lru_cache(maxsize=2)
def _kernel(size: int, cell: float) -> Any:
    """What one point does to the others on a grid that is repeated: how near it is (for the sum),
    and its push along x and y; as spectra."""
    along = np.arange(2 * size, dtype=np.float32)
    along = np.where(along < size, along, along - 2 * size) * np.float32(cell)
    dx, dy = along[:, None], along[None, :]
    near = 1 / (1 + dx**2 + dy**2)
    return np.fft.rfft2(np.stack([near, near**2 * dx, near**2 * dy]))


# Places as whole numbers, and those of new texts.


def to_whole(places: Floats) -> Coordinates:
    """The places (n, 2) in a square of 65,536 with a margin; what lies far off stands at the
    edge."""
    if not len(places):
        return np.zeros((0, 2), np.uint16)
    places = _turned(places)
    low, high = np.quantile(places, [0.001, 0.999], axis=0)
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-6)
    whole = 32_768 + (places - middle) / half * (32_768 - EDGE)
    return _clipped(whole)


def _turned(places: Floats) -> Floats:
    """The places turned so that the map is wider than high, as screens and pages are."""
    moved = places - places.mean(axis=0)
    _, axes = np.linalg.eigh(moved.T @ moved)
    axes = axes[:, ::-1]
    signs = np.sign((moved @ axes) ** 3).sum(axis=0)  # more texts at the right and below
    turned: Floats = (moved @ (axes * np.where(signs < 0, -1, 1))).astype(np.float32)
    return turned


def _clipped(places: NDArray[Any]) -> Coordinates:
    whole: Coordinates = np.clip(np.rint(places), 1, 65_535).astype(np.uint16)
    return whole


ASKED = 6  # of the nearest texts say where a new one is placed
SHARP = 0.03  # cosine by which a text is e times as far
GOLDEN = 2.399963  # the golden angle: steps of it never meet


def place_new(new: Floats, old: Iterable[tuple[Floats, Coordinates]], keys: Whole) -> Coordinates:
    """Places (m, 2) for new vectors (m, d) among old ones, which come in parts: vectors (n, d) and
    their places (n, 2). The mean of the nearest, the nearer the more. `keys` (m) part equal texts
    a little, the same each time."""
    scores = np.full((len(new), ASKED), -np.inf, np.float32)
    spots = np.full((len(new), ASKED, 2), 32_768, np.float32)
    for vectors, places in old:
        k = min(ASKED, len(vectors))
        if not k:
            continue
        cosines = new @ vectors.T
        best = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        scores = np.concatenate([scores, np.take_along_axis(cosines, best, axis=1)], axis=1)
        spots = np.concatenate([spots, places[best].astype(np.float32)], axis=1)
        kept = np.argsort(-scores, axis=1, kind="stable")[:, :ASKED]
        scores = np.take_along_axis(scores, kept, axis=1)
        spots = np.take_along_axis(spots, kept[:, :, None], axis=1)
    first = np.where(np.isfinite(scores[:, :1]), scores[:, :1], 0)
    weights = np.exp((np.maximum(scores, -2) - first) / SHARP)
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    spots_of_new = (weights[:, :, None] * spots).sum(axis=1)
    turn, away = (keys * GOLDEN) % (2 * np.pi), 60 + keys * 7919 % 240
    spots_of_new = spots_of_new + np.stack([np.cos(turn) * away, np.sin(turn) * away], axis=1)
    return _clipped(spots_of_new)
