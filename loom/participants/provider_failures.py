"""Why a provider gave no answer, in words: stored in English, shown as the reader reads."""

import math
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext


def gettext_noop(text: str) -> str:
    """Marks a text for the catalogues. Django's own reads the settings, which a program without a
    database has not."""
    return text


TRY_AGAIN = gettext_noop("Try again.")
START_IT = gettext_noop("Start it, or continue with another participant.")
WAIT = gettext_noop("Wait %(time)s, then try again.")
# By the kind of failure: what happened, and what to do about it.
FAILURES: dict[str, tuple[str, str]] = {
    "auth": (
        gettext_noop("The provider refused the key"),
        gettext_noop("An owner has to enter a valid key."),
    ),
    "rate": (
        gettext_noop("The provider is rate limiting requests"),
        gettext_noop("Wait, then try again."),
    ),
    "credit": (
        gettext_noop("The provider's account has no credit left"),
        gettext_noop("Add credit at the provider, or continue with another participant."),
    ),
    "context": (
        gettext_noop("The text is too long for the model"),
        gettext_noop("Continue from a shorter path."),
    ),
    "not_found": (
        gettext_noop("The provider does not have this model"),
        gettext_noop("An owner has to correct the model's name."),
    ),
    "invalid": (
        gettext_noop("The provider refused the request"),
        gettext_noop("An owner has to check the participant's settings."),
    ),
    "server": (gettext_noop("The provider failed"), TRY_AGAIN),
    "network": (gettext_noop("The provider could not be reached"), TRY_AGAIN),
    "timeout": (gettext_noop("The provider timed out"), TRY_AGAIN),
    "empty": (gettext_noop("The model returned no text"), TRY_AGAIN),
    "filtered": (
        gettext_noop("The provider's filter stopped the answer"),
        gettext_noop("Change the text and try again."),
    ),
}


def time_to_wait(seconds: float) -> str:
    """A time to wait in words."""
    if seconds < 100:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min"


def failure_shown(error: Mapping[str, Any]) -> tuple[str, str]:
    """The sentence and the hint of a stored failure in the reader's language. What the provider
    itself said stays as it is, and so does an error that is no failure of a provider."""
    message, hint = str(error.get("message") or ""), str(error.get("hint") or "")
    if error.get("reason") in FAILURES:
        sentence, advice = FAILURES[error["reason"]]
        _, colon, said = message.partition(": ")
        message = gettext(sentence) + (f": {said}" if colon else ".")
        if seconds := error.get("retry_after_s"):
            return message, gettext(WAIT) % {"time": time_to_wait(seconds)}
        hint = advice
    return message, gettext(hint) if hint else ""
