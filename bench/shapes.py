"""Trees of many shapes as files of Heddle's own, for measuring the page with them.

In each, place 1 hangs below the root, places 2 and 3 below 1, and BELOW nodes below 2.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORDS = "the river came down from the hills and nobody asked where it had been before".split()
PEOPLE = (("Ada", "human"), ("Ben", "human"), ("Iris", "model"))
BELOW = 2_000
FIRST = 4 + BELOW
LEAST = FIRST + 1  # nodes of the smallest tree
FAN = 20_000
Parents = list[int]


def bushy(count: int, dice: random.Random) -> Parents:
    """Everything below anything."""
    below = [dice.randrange(4, place) if place > 4 else 2 for place in range(4, FIRST)]
    return [-1, 0, 1, 1, *below, *_random(count, dice)]


def chain(count: int, dice: random.Random) -> Parents:
    """The BELOW nodes in one chain, the rest bushy."""
    return [-1, 0, 1, 1, 2, *range(4, FIRST - 1), *_random(count, dice)]


def fan(count: int, dice: random.Random) -> Parents:
    """A fifth of all nodes directly below the root."""
    wide = min(FAN, count // 5)
    below = [dice.randrange(4, place) if place > 4 else 2 for place in range(4, FIRST)]
    rest = [dice.randrange(FIRST, place) for place in range(FIRST + wide, count)]
    return [-1, 0, 1, 1, *below, *[0] * wide, *rest]


def deep(count: int, dice: random.Random) -> Parents:
    """One chain of all the rest."""
    return [-1, 0, 1, 1, 2, *range(4, FIRST - 1), 3, *range(FIRST, count - 1)]


def comb(count: int, dice: random.Random) -> Parents:
    """One chain with another leaf at each step."""
    rest = [place - 1 - place % 2 for place in range(FIRST + 1, count)]
    return [-1, 0, 1, 1, 2, *range(4, FIRST - 1), 3, *rest]


def loom(count: int, dice: random.Random) -> Parents:
    """As people write with models: candidates at each step, one of them is gone on from, and now
    and then somebody goes back and takes another."""
    rest: list[int] = [0]
    tip = FIRST
    while FIRST + len(rest) < count:
        many = min(dice.randint(1, 5), count - FIRST - len(rest))
        first = FIRST + len(rest)
        rest += [tip] * many
        tip = dice.randrange(first, first + many)
        if dice.random() < 0.02:
            tip = dice.randrange(FIRST, FIRST + len(rest))
    return [-1, 0, 1, 1, 2, *range(4, FIRST - 1), *rest]


def _random(count: int, dice: random.Random) -> Parents:
    return [0, *(dice.randrange(FIRST, place) for place in range(FIRST + 1, count))]


SHAPES: dict[str, Callable[[int, random.Random], Parents]] = {
    "bushy": bushy,
    "chain": chain,
    "fan": fan,
    "deep": deep,
    "comb": comb,
    "loom": loom,
}


def name_of(place: int) -> str:
    """The local id of a place."""
    letters, digits = "abcdefghjkmnpqrstvwxyz", "23456789"
    a, place = letters[place % 22], place // 22
    b, place = digits[place % 8], place // 8
    c, place = letters[place % 22], place // 22
    return a + b + c + digits[place % 8] + (letters[place // 8] + "2" if place >= 8 else "")


def deepest(parents: Parents) -> int:
    """The place that is farthest from the root."""
    depths = [0] * len(parents)
    for place, parent in enumerate(parents):
        depths[place] = depths[parent] + 1 if parent >= 0 else 0
    return max(range(len(parents)), key=depths.__getitem__)


def _nodes(parents: Parents, dice: random.Random) -> Iterator[dict[str, Any]]:
    inner = set(parents)  # a pruned leaf hides nothing else
    for place, parent in enumerate(parents):
        name = name_of(place)
        yield {
            "id": name,
            "slot": name,
            "kind": "text",
            "author": PEOPLE[place % 3][0],
            "created_at": "2026-11-21T02:07:00.000000Z",
            "text": " ".join(dice.choices(WORDS, k=55)) if place else "",
            **({"parent": name_of(parent)} if place else {}),
            **({"flags": ["pruned"]} if place not in inner and place % 97 == 0 else {}),
        }


def write(file: Path, shape: str, count: int) -> Parents:
    """Writes a tree of a shape as a file to bring in; the parents of its places. A tree has LEAST
    nodes or more."""
    if count < LEAST:
        raise ValueError(f"a tree has at least {LEAST:,} nodes here")
    dice = random.Random(7)
    parents = SHAPES[shape](count, dice)
    assert all(0 <= above < place for place, above in enumerate(parents) if place)
    assert len(parents) == count
    marks = [
        {"kind": kind, "label": "far", "item": name_of(place), "by": "Ada"}
        for kind, (first, step) in {"bookmark": (5, 500), "tag": (7, 300)}.items()
        for place in range(first, count, step)
    ]
    body = {
        "heddle": 1,
        "tree": {"title": f"{shape}, {count:,} nodes", "mode": "dialogue"},
        "participants": [{"name": name, "kind": kind} for name, kind in PEOPLE],
        "nodes": list(_nodes(parents, dice)),
        "marks": marks,
        "links": [],
    }
    file.write_text(json.dumps(body))
    return parents
