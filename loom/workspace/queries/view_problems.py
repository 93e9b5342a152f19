"""Problems of a view (docs/model.md §14.3.13): windows that overlap or are behind, and what other
features find."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

from loom.access import Actor
from loom.trees.models import Workspace
from loom.workspace.queries.window_contents import WindowContent, contents_of, staleness
from loom.workspace.queries.windows import is_lens, visible

Problem = dict[str, Any]
Finding = Callable[[Actor, Workspace], Iterable[Problem]]
_finding: list[Finding] = []


def finds_problems(finding: Finding) -> Finding:
    """Registers what another feature finds wrong with a view."""
    _finding.append(finding)
    return finding


def problem(kind: str, says: str, windows: Iterable[int], items: Iterable[str]) -> Problem:
    """A problem as the API shows it: the numbers of its windows, and its items by name."""
    return {"kind": kind, "says": says, "windows": list(windows), "items": list(items)}


def verify_view(actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The report on the visible windows of a workspace, and on what features find in its tree as
    the actor may see it."""
    shown = contents_of(actor, workspace, visible(workspace))
    violations = [*_overlapping(shown), *_behind(shown)]
    violations += [violation for finding in _finding for violation in finding(actor, workspace)]
    return {"status": "invalid" if violations else "valid", "violations": violations}


def _overlapping(shown: list[WindowContent]) -> Iterator[dict[str, Any]]:
    lenses = [
        (window, window.lines)
        for window in shown
        if is_lens(window.window) and window.lines is not None
    ]
    for (lens, lines), (other, others) in combinations(lenses, 2):
        same = lens.window.item_id == other.window.item_id and lens.revision == other.revision
        if same and lines.overlaps(others):
            numbers = (lens.window.number, other.window.number)
            says = f"#{numbers[0]} and #{numbers[1]} hold the same lines of {lens.ref}."
            yield problem("OverlappingLenses", says, numbers, [lens.ref])


def _behind(shown: list[WindowContent]) -> Iterator[dict[str, Any]]:
    for window in shown:
        if window.is_stale:
            says = f"#{window.window.number} {window.name}: {staleness(window)}."
            yield problem("StaleLens", says, [window.window.number], [window.ref])
