"""Pure: the titles that a model gives to the regions of a map: read from its answer, and found
again for the regions that a reader sees."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loom.landscape.regions import MapRegion

MOST_WORDS = 7
MOST_CHARACTERS = 60
# How far the top of a region may lie from that of the one that was titled, by level: what a reader
# sees, and new texts, move it a little.
FAR = (6_000, 3_000, 1_500)
_LINE = re.compile(r"[\s*#-]{0,8}(\d{1,3})\s{0,3}[:.)–-]\s{0,3}(\S.*)")


@dataclass(frozen=True)
class RegionTitle:
    """A title for the region of this level whose top lies there."""

    level: int
    x: int
    y: int
    title: str


def read_titles(answer: str, count: int) -> dict[int, str]:
    """The titles of an answer by the number of their region, from 0: one line each, `3: Sea`."""
    titles: dict[int, str] = {}
    for line in answer.splitlines()[: 4 * count]:
        match = _LINE.match(line[:400])
        if match is None or not 1 <= int(match[1]) <= count:
            continue
        words = match[2].strip(" \t*_\"'“”„«».").split()
        title = " ".join(words[:MOST_WORDS])[:MOST_CHARACTERS].strip()
        if title:
            titles.setdefault(int(match[1]) - 1, title)
    return titles


def give_titles(regions: Sequence[MapRegion], titles: Iterable[RegionTitle]) -> None:
    """Gives each title to the nearest region of its level that has none, if one is near enough."""
    titles = list(titles)
    pairs = sorted(
        ((region.x - given_title.x) ** 2 + (region.y - given_title.y) ** 2, number, at)
        for number, given_title in enumerate(titles)
        for at, region in enumerate(regions)
        if region.level == given_title.level
    )
    given: set[int] = set()
    for apart, number, at in pairs:
        far = FAR[min(titles[number].level, len(FAR) - 1)]
        if apart <= far * far and number not in given and not regions[at].title:
            regions[at].title = titles[number].title
            given.add(number)
