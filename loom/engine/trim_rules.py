"""Rules by which old rows are trimmed: what is kept for how many days, and how it goes in batches.
A feature registers a rule beside what it is about; an operator says how long, and the worker trims.

No rule takes a text of a tree or document, a version of it, or who wrote it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

BATCH = 500  # rows of a transaction: others wait for some milliseconds


@dataclass(frozen=True)
class OldRows:
    """What trimming would free: rows and their bytes, without those of indexes."""

    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class TrimRule:
    """One kind of rows. `says` is translated on pages. `days` is how long they are kept unless an
    operator says otherwise, 0: for ever; `least` the fewest days that can be set. `count` is what
    would go that is older than a moment, for which all of it may be read. `trim` takes what is
    older and yields the number of rows of each batch, which has a transaction of its own.
    """

    name: str
    says: str
    days: int
    least: int
    count: Callable[[datetime], OldRows]
    trim: Callable[[datetime], Iterator[int]]


_rules: dict[str, TrimRule] = {}


def trims(rule: TrimRule) -> TrimRule:
    """Registers a rule."""
    _rules[rule.name] = rule
    return rule


def trim_rules() -> dict[str, TrimRule]:
    """The rules by their names, in the order of registration."""
    return dict(_rules)
