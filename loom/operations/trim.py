"""Trimming by the rules of all features: for how long an operator keeps what, and the work."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from loom.engine.trim_rules import OldRows, TrimRule, trim_rules
from loom.errors import CommandError, not_found
from loom.operations.models import TrimSetting

MOST_DAYS = 36_500
EXAMPLE_DAYS = 90  # of what a page says that it would free, where a rule keeps for ever
REST_S = 0.02  # between two batches, in which others write


@dataclass(frozen=True)
class RuleState:
    """A rule, and for how many days an operator keeps its rows; 0: for ever."""

    rule: TrimRule
    days: int

    def before(self, now: datetime) -> datetime:
        """What is older goes, or would go after EXAMPLE_DAYS."""
        return now - timedelta(days=self.days or EXAMPLE_DAYS)


def states() -> list[RuleState]:
    """The rules with the operator's choices. One query."""
    chosen = dict(TrimSetting.objects.values_list("name", "days"))
    return [RuleState(rule, chosen.get(name, rule.days)) for name, rule in trim_rules().items()]


def choose(name: str, days: int) -> TrimRule:
    """Stores for how many days the rows of a rule are kept; 0: for ever."""
    rule = trim_rules().get(name)
    if rule is None:
        raise not_found("This rule")
    if days and not rule.least <= days <= MOST_DAYS:
        raise CommandError(
            "INVALID_SYNTAX",
            f"days must be from {rule.least} to {MOST_DAYS}, or 0.",
            hint="0 keeps it for ever",
        )
    TrimSetting.objects.update_or_create(name=name, defaults={"days": days})
    return rule


def counted(now: datetime) -> dict[str, OldRows]:
    """What each rule would free now, by its name; where it keeps for ever, if it kept for
    EXAMPLE_DAYS. Reads whole tables."""
    return {state.rule.name: state.rule.count(state.before(now)) for state in states()}


def trim(*, seconds: float) -> dict[str, int]:
    """Trims by all rules until it is done or has taken so long; the number of rows by rule."""
    until = time.monotonic() + seconds
    gone: dict[str, int] = {}
    for name, many in _batches(timezone.now()):
        gone[name] = gone.get(name, 0) + many
        if time.monotonic() >= until:
            break
        time.sleep(REST_S)
    return gone


def _batches(now: datetime) -> Iterator[tuple[str, int]]:
    for state in states():
        if state.days:
            for many in state.rule.trim(state.before(now)):
                yield state.rule.name, many
