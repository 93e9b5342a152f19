"""Pure: the regions of a map, by the hills of its density, at several zooms."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

GRID = 128  # cells of a side
# From afar to near: how wide hills are smoothed (cells), and how many regions are named.
LEVELS = ((7.0, 8), (3.5, 24), (1.8, 60))
FEWEST = 4  # texts of a region
READ = 24  # texts of a region of the last level whose words are read


@dataclass
class MapRegion:
    """A hill of the map: its level from 0 (from afar), the place of its top, the texts on it
    (places among those given), the number of the region of the level before in which its top lies
    (-1: none), and its name."""

    level: int
    x: int
    y: int
    members: Whole
    within: int
    words: tuple[str, ...] = field(default=())
    title: str = ""  # by a model, if somebody asked for one

    @property
    def name(self) -> str:
        """Its title, else its words."""
        return self.title or " · ".join(self.words)


def find_regions(x: NDArray[np.uint16], y: NDArray[np.uint16]) -> list[MapRegion]:
    """The regions of these places, level by level, the largest of each first."""
    cells = (x.astype(np.int64) * GRID >> 16) * GRID + (y.astype(np.int64) * GRID >> 16)
    counts = np.bincount(cells, minlength=GRID * GRID).reshape(GRID, GRID).astype(np.float64)
    regions: list[MapRegion] = []
    owner_before = np.full(GRID * GRID, -1, np.int64)
    for level, (width, most) in enumerate(LEVELS):
        top_of = _climb(_smoothed(counts, width))
        here = top_of[cells]
        tops, masses = np.unique(here, return_counts=True)
        least = max(FEWEST, len(x) // 1_000)
        order = [at for at in np.lexsort((tops, -masses)) if masses[at] >= least][:most]
        owner = np.full(GRID * GRID, -1, np.int64)
        for at in order:
            top = int(tops[at])
            members = np.flatnonzero(here == top)
            # The top of a hill is where its texts are, not the middle of a cell.
            middle = (int(np.median(x[members])), int(np.median(y[members])))
            owner[top_of == top] = len(regions)
            regions.append(MapRegion(level, *middle, members, int(owner_before[top])))
        owner_before = owner
    return regions


def _smoothed(counts: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    apart = np.arange(GRID)[:, None] - np.arange(GRID)[None, :]
    weights = np.exp(-(apart**2) / (2 * width**2))
    smoothed: NDArray[np.float64] = weights @ counts @ weights.T
    return smoothed


def _climb(height: NDArray[np.float64]) -> Whole:
    """The top that is reached from each cell by going up to the highest neighbour."""
    padded = np.pad(height, 1, constant_values=-1.0)
    shifts = [(dx, dy) for dx in (0, -1, 1) for dy in (0, -1, 1)]
    around = np.stack([padded[1 + dx : GRID + 1 + dx, 1 + dy : GRID + 1 + dy] for dx, dy in shifts])
    best = around.argmax(axis=0)  # the cell itself is first, so that a plain stays where it is
    steps = np.array([dx * GRID + dy for dx, dy in shifts])
    at = np.arange(GRID * GRID) + steps[best].ravel()
    while True:
        further = at[at]
        if np.array_equal(further, at):
            return np.asarray(at, np.int64)
        at = further


def to_read(regions: Sequence[MapRegion], count: int) -> list[int]:
    """The texts (places) whose words name the regions: a bounded number, spread evenly."""
    if count <= READ * LEVELS[-1][1]:
        return list(range(count))
    chosen: set[int] = set()
    for region in regions:
        step = max(1, len(region.members) // READ)
        chosen.update(int(at) for at in region.members[::step][:READ])
    return sorted(chosen)
