"""Regions: drafts of the lines that a window shows, and what has to hold before one is written
(docs/model.md §9). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

PREFIX = "w"  # of the key of a region, before the number of its window
FORMATS = ("json", "python")  # kinds of checks that say whether a format is valid


def drafted(text: str, first: int, last: int, draft: str) -> str:
    """A text with the lines `first` to `last` (from 1) replaced by a draft."""
    lines = text.split("\n")
    return "\n".join([*lines[: first - 1], draft, *lines[last:]])


def shown(text: str, first: int, last: int) -> str:
    """The lines `first` to `last` (from 1) of a text."""
    return "\n".join(text.split("\n")[first - 1 : last])


@dataclass(frozen=True)
class CheckRun:
    """What a check says about a draft in its text: `said` in words, and whether the text without
    the draft `passed_before`."""

    name: str
    kind: str
    passed: bool
    said: str
    passed_before: bool


@dataclass(frozen=True)
class RegionDemand:
    """Something that has to hold before a draft is written."""

    says: str
    met: bool


def demands_of(runs: Sequence[CheckRun]) -> list[RegionDemand]:
    """What has to hold: each check passes, those of formats as such, and none that passed before
    fails."""
    every = [RegionDemand(_said(run), run.passed) for run in runs]
    broken = [run.name for run in runs if run.passed_before and not run.passed]
    tail = f": {', '.join(broken)}" if broken else ""
    return [*every, RegionDemand(f"no check that passed before fails{tail}", not broken)]


def _said(run: CheckRun) -> str:
    what = "format valid" if run.kind in FORMATS else "check passes"
    return f"{what}: {run.name} {run.said}".rstrip()
