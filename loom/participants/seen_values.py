"""What somebody saw of a participant before they changed it: a mark of each of its values, by which
a change leaves alone, or does not overwrite unseen, what somebody else has changed meanwhile."""

import json
from collections.abc import Mapping
from typing import Any

from loom.errors import CommandError
from loom.language.refs import short
from loom.participants.provider_kinds import WAYS
from loom.people.models import Participant
from loom.text.hashes import digest

# The fields that the form of a participant has.
SEEN = (
    *("name", "model_ref", "base_url", "auth", "endpoint", "capabilities", "persona"),
    *("temperature", "max_tokens", "stop", "context_limit", "archetype", "authority", "budget"),
    *("tool_filter", "provider_tools", "parallel", "prices", "permissions"),
)


class ChangedMeanwhile(CommandError):
    """Somebody else has given a `field` this value since it was seen."""

    def __init__(self, field: str, value: object) -> None:
        now = "" if value in (None, "", [], {}) else short(str(value))
        super().__init__(
            "CONFLICT",
            f"{field} has been changed by somebody else meanwhile; it is {now or 'empty'} now.",
            hint="Save again to replace it.",
        )
        self.field = field


def marks_of(participant: Participant) -> dict[str, str]:
    """A mark of each value, by the names of the fields."""
    return {name: mark_of_value(name, getattr(participant, name)) for name in SEEN}


def mark_of_value(name: str, value: Any) -> str:
    """A mark that is the same for the same value of a field."""
    return digest(json.dumps(_comparable(name, value), sort_keys=True))[:16]


def _comparable(name: str, value: Any) -> Any:
    """The value without what the form does not decide: the order of permissions, whether a number
    is written with a fraction, and what a probe has found."""
    if name == "capabilities":
        return [way for way in WAYS if way in value]
    if name == "permissions":
        return sorted(value)
    if name == "prices":
        return {key: float(price) for key, price in value.items()}
    return float(value) if isinstance(value, int | float) else value


def demand_as_seen(
    participant: Participant, *, seen: Mapping[str, str], given: Mapping[str, Any]
) -> None:
    """Refuses with CONFLICT the first of the `given` values whose field was changed, to another
    one, since it was `seen`."""
    for name in (name for name in given if name in seen):
        current = getattr(participant, name)
        known = (seen[name], mark_of_value(name, given[name]))
        if mark_of_value(name, current) not in known:
            raise ChangedMeanwhile(name, current)
