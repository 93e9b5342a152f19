"""Pure: what somebody tends to choose, learned from their own choices, and how good that is.

A choice among several texts is one observation (the first of a set, after Luce), not several pairs.
The order in which texts were shown is part of what is fitted, so that what was shown first is not
taken for what is liked; it is no part of what is predicted.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loom.embedding.vectors import Floats

MOST_READ = 4_000  # characters of a text that are measured
DIMENSIONS = 16  # of the vectors, after the axes along which they differ most
LATER = 0.35  # the share of choices, the later ones, that are predicted and never learned from
LEAST = 20  # choices before anything is fitted
STRICT = 0.01  # how likely luck may be for a claim to be made
STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0)
_MARKS = re.compile(r"^(?:#{1,6} |[-*] |\d{1,3}[.)] |```|> )|\*\*", re.MULTILINE)
_SAID = re.compile(r"[\"“”„«»]|^\s{0,3}[–—-]\s", re.MULTILINE)
TRAITS = ("length", "dialogue", "markdown", "sentences")
MOST_AUTHORS = 8  # who wrote the texts: the most frequent ones
LEAST_BY = 10  # choices in which an author must be for them to count


def traits_of(text: str) -> list[float]:
    """What can be said of a text in words: its length, the dialogue in it, Markdown, and how long
    its sentences are; each on a scale that grows slowly."""
    part = text[:MOST_READ]
    words = max(1, len(part.split()))
    ends = max(1, len(re.findall(r"[.!?…。！？]", part)))
    return [
        math.log1p(words),
        math.log1p(100 * len(_SAID.findall(part)) / words),
        math.log1p(100 * len(_MARKS.findall(part)) / words),
        math.log1p(words / ends),
    ]


@dataclass(frozen=True)
class ChoiceMade:
    """One choice: the traits of the texts as they were shown, in order, their vectors, the place of
    the one that was taken, and the uid of each text's author, where known. `is_fair`: they were not
    in the order of this taste."""

    traits: Floats
    vectors: Floats | None
    taken: int
    is_fair: bool = True
    authors: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many texts there were."""
        return len(self.traits)


@dataclass(frozen=True)
class Measure:
    """How often something put the text that was taken first, of `n` later choices."""

    hits: int
    n: int

    @property
    def share(self) -> float:
        """The share of hits."""
        return self.hits / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of 95 % around the share, after Wilson."""
        if not self.n:
            return 0.0, 1.0
        z, n, p = 1.96, self.n, self.share
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class TasteFigures:
    """How good a taste is on later choices: what it put first, how often it ranked the taken text
    above another (`auc`), and what chance, the longest text and the first shown one do there.
    `better` are those that it beats beyond luck."""

    n: int
    taste: Measure
    auc: float
    chance: float
    longest: Measure
    first: Measure
    better: tuple[str, ...]

    @property
    def is_better(self) -> bool:
        """Whether it is better than all of them, so that something may be claimed."""
        return set(self.better) == {"chance", "longest", "first"}


@dataclass(frozen=True)
class Taste:
    """What was learned: the axes of the vectors, the authors that count (uids), the mean and scale
    of the features, and their weights: traits first, then authors, then axes."""

    axes: Floats | None
    mean: Floats
    scale: Floats
    weights: Floats
    authors: tuple[str, ...] = ()

    def scores(self, traits: Floats, vectors: Floats | None, authors: Sequence[str] = ()) -> Floats:
        """How much each text is liked; only differences mean something."""
        features = _features(traits, vectors, authors, _Kinds(self.axes, self.authors))
        values = (features - self.mean) / self.scale
        liked: Floats = (values @ self.weights).astype(np.float32)
        return liked

    def leanings(self) -> list[tuple[str, float]]:
        """The traits by how much they count, strongest first: the name, and the weight, positive
        where more of it is liked. `author:uid` is that somebody wrote the text; `meaning` stands
        for all axes of the vectors together."""
        names = [*TRAITS, *(f"author:{uid}" for uid in self.authors)]
        named = list(zip(names, map(float, self.weights), strict=False))
        rest = self.weights[len(names) :]
        if len(rest):
            named.append(("meaning", float(np.linalg.norm(rest))))
        return sorted(named, key=lambda pair: -abs(pair[1]))


@dataclass(frozen=True)
class _Kinds:
    """Which features there are besides the traits."""

    axes: Floats | None
    authors: tuple[str, ...]


def _features(
    traits: Floats, vectors: Floats | None, authors: Sequence[str], kinds: _Kinds
) -> Floats:
    parts = [traits]
    if kinds.authors:
        by = np.zeros((len(traits), len(kinds.authors)), np.float32)
        for at, uid in enumerate(authors[: len(traits)]):
            if uid in kinds.authors:
                by[at, kinds.authors.index(uid)] = 1.0
        parts.append(by)
    if kinds.axes is not None:
        if vectors is None:
            vectors = np.zeros((len(traits), kinds.axes.shape[1]), np.float32)
        parts.append(vectors @ kinds.axes.T)
    joined: Floats = np.hstack(parts)
    return joined


def _authors(choices: Sequence[ChoiceMade]) -> tuple[str, ...]:
    """The authors that can count: those who wrote some but not all texts of enough choices. The
    most frequent come first."""
    counts = Counter(
        uid
        for choice in choices
        if len(set(choice.authors)) > 1
        for uid in sorted(set(choice.authors))
    )
    return tuple(uid for uid, n in counts.most_common(MOST_AUTHORS) if n >= LEAST_BY)


def _axes(choices: Sequence[ChoiceMade]) -> Floats | None:
    """The axes along which the vectors differ most; None where a choice has no vectors."""
    if any(choice.vectors is None for choice in choices):
        return None
    every = np.vstack([choice.vectors for choice in choices if choice.vectors is not None])
    _, _, axes = np.linalg.svd(every - every.mean(axis=0), full_matrices=False)
    kept: Floats = axes[:DIMENSIONS].astype(np.float32)
    return kept


def _fitted(choices: Sequence[ChoiceMade], kinds: _Kinds, strength: float) -> Taste:
    """The weights that make the choices likeliest, held near zero by `strength`."""
    sets = [
        _features(choice.traits, choice.vectors, choice.authors, kinds).astype(np.float64)
        for choice in choices
    ]
    every = np.vstack(sets)
    mean, scale = every.mean(axis=0), np.maximum(every.std(axis=0), 1e-6)
    # The place counts while fitting, so that the first shown is not taken for the liked.
    places = [np.log1p(np.arange(len(values)))[:, None] for values in sets]
    scaled = [
        np.hstack([(values - mean) / scale, place])
        for values, place in zip(sets, places, strict=True)
    ]
    weights = np.zeros(scaled[0].shape[1])
    for _ in range(30):  # Newton's steps
        slope = -strength * weights
        curve = strength * np.eye(len(weights))
        for values, choice in zip(scaled, choices, strict=True):
            chances = _soft(values @ weights)
            expected = chances @ values
            slope += values[choice.taken] - expected
            curve += (values * chances[:, None]).T @ values - np.outer(expected, expected)
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-6:
            break
    return Taste(
        kinds.axes,
        mean.astype(np.float32),
        scale.astype(np.float32),
        weights[:-1].astype(np.float32),
        kinds.authors,
    )


def _soft(values: np.ndarray) -> np.ndarray:
    raised = np.exp(values - values.max())
    return np.asarray(raised / raised.sum())


def _likelihood(taste: Taste, choices: Sequence[ChoiceMade]) -> float:
    total = 0.0
    for choice in choices:
        scores = taste.scores(choice.traits, choice.vectors, choice.authors).astype(np.float64)
        total += float(np.log(max(1e-12, _soft(scores)[choice.taken])))
    return total


def learned(choices: Sequence[ChoiceMade]) -> Taste | None:
    """The taste in these choices, oldest first; None for too few. How strongly the weights are held
    is decided on the last third of them."""
    if len(choices) < LEAST:
        return None
    kinds = _Kinds(_axes(choices), _authors(choices))
    split = len(choices) * 2 // 3
    early, late = choices[:split], choices[split:]
    best = max(
        STRENGTHS,
        key=lambda strength: (_likelihood(_fitted(early, kinds, strength), late), strength),
    )
    return _fitted(choices, kinds, best)


def measured(choices: Sequence[ChoiceMade]) -> TasteFigures | None:
    """How good the taste in the earlier choices is on the later fair ones; None for too few."""
    split = round(len(choices) * (1 - LATER))
    early, late = choices[:split], [choice for choice in choices[split:] if choice.is_fair]
    taste = learned(early)
    if taste is None or len(late) < 5:
        return None
    ranked = [taste.scores(choice.traits, choice.vectors, choice.authors) for choice in late]
    hit = [
        int(np.argmax(scores)) == choice.taken for scores, choice in zip(ranked, late, strict=True)
    ]
    length = TRAITS.index("length")
    long = [int(np.argmax(choice.traits[:, length])) == choice.taken for choice in late]
    first = [choice.taken == 0 for choice in late]
    chance = sum(1 / choice.size for choice in late)
    pairs = [
        (float(scores[choice.taken] > other) + 0.5 * float(scores[choice.taken] == other))
        for scores, choice in zip(ranked, late, strict=True)
        for place, other in enumerate(scores)
        if place != choice.taken
    ]
    better = [
        name for name, rival in (("longest", long), ("first", first)) if _beats(hit, rival) < STRICT
    ]
    if _above_chance(sum(hit), [1 / choice.size for choice in late]) < STRICT:
        better.insert(0, "chance")
    n = len(late)
    return TasteFigures(
        n,
        Measure(sum(hit), n),
        sum(pairs) / len(pairs) if pairs else 0.5,
        chance / n,
        Measure(sum(long), n),
        Measure(sum(first), n),
        tuple(better),
    )


def _beats(hit: Sequence[bool], rival: Sequence[bool]) -> float:
    """How likely luck alone makes one win so many of the choices in which the two differ."""
    won = sum(mine and not theirs for mine, theirs in zip(hit, rival, strict=True))
    lost = sum(theirs and not mine for mine, theirs in zip(hit, rival, strict=True))
    n = won + lost
    return sum(math.comb(n, k) for k in range(won, n + 1)) / 2**n if n else 1.0


def _above_chance(hits: int, chances: Sequence[float]) -> float:
    """How likely luck alone makes so many hits or more, with these chances of each."""
    spread = [1.0]
    for chance in chances:
        spread = [
            (spread[at] if at < len(spread) else 0.0) * (1 - chance)
            + (spread[at - 1] * chance if at else 0.0)
            for at in range(len(spread) + 1)
        ]
    return sum(spread[hits:])
