"""What the fields of a participant may hold. Pure."""

from typing import Final

# Which link types somebody is shown (docs/model.md §8).
ARCHETYPES: Final = ("reader", "writer", "editor", "auditor")
# The context of a model, in tokens, if neither a person nor its provider specifies it.
DEFAULT_CONTEXT: Final = 32_768
