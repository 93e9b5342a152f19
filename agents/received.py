"""What an attempt has received, as its call is sealed with it."""

from agents.providers.attempt import ProviderAttempt
from loom.turns.generation_lifecycle import Received


def received_of(attempt: ProviderAttempt) -> Received:
    """The answer without keys, its status, headers, usage and times."""
    body, is_exact = attempt.received
    return Received(
        body=body,
        status=attempt.status,
        headers=attempt.headers,
        usage=attempt.usage,
        exact=is_exact,
        started_at=attempt.started_at,
        first_at=attempt.first_at,
    )
