"""The checks of a grove that judge an exploration. Without the feature claims there are none."""

from collections.abc import Callable
from dataclasses import dataclass

from django.apps import apps

from loom.people.models import Grove
from loom.trees.models import Tree


@dataclass(frozen=True)
class GroveCheck:
    """A check that a program runs: `run` returns whether a text passes, and what is said of it."""

    name: str
    run: Callable[[str], tuple[bool, str]]


def checks_of(grove: Grove, tree: Tree, name: str = "") -> list[GroveCheck]:
    """The checks that apply in a tree, or the one with this name, without those of a judge."""
    if not apps.is_installed("loom.claims"):
        return []
    from loom.claims.models import Check
    from loom.claims.queries.checks import applying
    from loom.claims.rules import checks

    def _run(check: Check) -> Callable[[str], tuple[bool, str]]:
        def _said(text: str) -> tuple[bool, str]:
            outcome = checks.run(check.kind, check.parameters, text)
            return outcome.passed, outcome.said

        return _said

    wanted = name.casefold().strip()
    return [
        GroveCheck(check.name, _run(check))
        for check in applying(grove, tree)
        if check.kind != "judge" and wanted in ("", check.name_key)
    ]
