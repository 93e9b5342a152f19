"""What the API answers about drafts, for the OpenAPI schema."""

from typing import Literal

from pydantic import BaseModel


class Draft(BaseModel):
    """Uncommitted text at a slot; `at` names its state, null where it was ended."""

    slot: str
    kind: Literal["buffer", "edit", "note"]
    text: str
    at: str | None


class Drafts(BaseModel):
    """A person's drafts in a tree."""

    count: int
    results: list[Draft]
