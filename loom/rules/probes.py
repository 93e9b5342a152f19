"""What a probe of an endpoint looks for, in its order; and what of it changes a request."""

from typing import Final

# Ways to have a chat go on with a text, the best first: bench/prose.py.
WAYS: Final = ("prefill", "continue_final", "few_shot", "instruction")

CHECKS: Final = (
    "chat",
    "completion",
    "streaming",
    "n",
    "logprobs",
    "system",
    *WAYS,
    "usage",
    "grammar",
)
# Of these a participant's capabilities say how it is asked.
REMEMBERED: Final = (*WAYS, "grammar")
