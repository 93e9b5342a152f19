"""What a probe of an endpoint looks for, in its order; and what of it changes a request."""

from typing import Final

CHECKS: Final = (
    "chat",
    "completion",
    "streaming",
    "n",
    "logprobs",
    "system",
    "prefill",
    "usage",
    "grammar",
)
# Of these a participant's capabilities say how it is asked.
REMEMBERED: Final = ("prefill", "grammar")
