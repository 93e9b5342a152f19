"""The forms of the settings that say how one person likes the page."""

from typing import Any

from django.utils.translation import gettext, gettext_noop

from loom.commands import people
from loom.doors.web.fields import number_of, word_of
from loom.doors.web.gate import PersonRequest
from loom.rules import keys
from loom.rules.preferences import CHOICES

LOOK = ("prose", "size", "width", "nodes")
LABELS = {
    "serif": gettext_noop("with serifs"),
    "sans": gettext_noop("without serifs"),
    "small": gettext_noop("small"),
    "medium": gettext_noop("medium"),
    "large": gettext_noop("large"),
    "larger": gettext_noop("larger"),
    "narrow": gettext_noop("narrow"),
    "wide": gettext_noop("wide"),
    "full": gettext_noop("with id, age and marks"),
    "quiet": gettext_noop("id and age when pointed at"),
    "plain": gettext_noop("text alone"),
    "ask": gettext_noop("what I chose last"),
    "version": gettext_noop("a version: what follows stays"),
    "fork": gettext_noop("a fork: a new branch beside it"),
}


def choices() -> dict[str, list[tuple[str, str]]]:
    """The values of each choice with their words, in order."""
    return {
        name: [(value, gettext(LABELS[value])) for value in values]
        for name, values in CHOICES.items()
    }


def look(request: PersonRequest) -> str:
    """Fonts, sizes and nodes."""
    people.prefer(request.user, {name: word_of(request, name) for name in LOOK})
    return gettext("Saved.")


def writing(request: PersonRequest) -> str:
    """What edits mean, how warm models are asked, how much an error says."""
    given: dict[str, Any] = {
        "edits": word_of(request, "edits"),
        "temperature": number_of(request, "temperature"),
        "verbose": word_of(request, "verbose") == "1",
    }
    people.prefer(request.user, given)
    return gettext("Saved.")


def rebind(request: PersonRequest) -> str:
    """The keys; `reset` puts all back."""
    if word_of(request, "reset"):
        people.prefer(request.user, {"keys": {}})
        return gettext("All keys are as at first.")
    given = {action.id: word_of(request, action.id) for action in keys.ACTIONS}
    people.prefer(request.user, {"keys": given})
    return gettext("The keys are saved.")
