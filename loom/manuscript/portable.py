"""The manuscript of a tree in a file of Heddle's own format: its current state."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loom.access import Actor
from loom.engine import streams
from loom.manuscript.commands.chapters import LONGEST_NAME, LONGEST_NOTE, MOST_WORDS
from loom.manuscript.models import ManuscriptVersion
from loom.manuscript.queries.story import current_version
from loom.manuscript.rules import MOST_CHAPTERS, language_problem
from loom.people.models import Participant
from loom.trees.feature_parts import FeaturePart, StoredPart
from loom.trees.models import Tree

LONGEST_KEY = 40
UNREADABLE = StoredPart(left_out=("the manuscript, which cannot be read",))


class ChapterPart(BaseModel):
    """What was set for a chapter."""

    model_config = ConfigDict(extra="forbid")
    target: int = Field(0, ge=0, le=MOST_WORDS)
    note: str = Field("", max_length=LONGEST_NOTE)


class ManuscriptPart(BaseModel):
    """The current state of a manuscript; keys of chapters are those of the slots where they
    begin."""

    model_config = ConfigDict(extra="forbid")
    order: list[str] = Field(default_factory=list, max_length=MOST_CHAPTERS)
    chapters: dict[str, ChapterPart] = Field(default_factory=dict, max_length=MOST_CHAPTERS)
    title: str = Field("", max_length=LONGEST_NAME)
    author: str = Field("", max_length=LONGEST_NAME)
    language: str = Field("", max_length=LONGEST_NAME)
    target: int = Field(0, ge=0, le=MOST_WORDS)


def write(actor: Actor, tree: Tree) -> dict[str, Any] | None:
    """The current state of the tree's manuscript; None if nothing was decided about it."""
    version = current_version(tree)
    return dict(version.body) if version is not None and version.body else None


def read(tree: Tree, value: Any, by: Participant) -> StoredPart:
    """Stores the state of a file as the first version of a new tree's manuscript. A language that
    is none is left out, and so is a manuscript that cannot be read."""
    try:
        part = ManuscriptPart.model_validate(value)
    except ValidationError:
        return UNREADABLE
    if any(len(key) > LONGEST_KEY for key in (*part.order, *part.chapters)):
        return UNREADABLE
    left_out: tuple[str, ...] = ()
    if part.language and language_problem(part.language):
        left_out = (f"the language of the manuscript, {part.language[:40]!r}, which is none",)
        part.language = ""
    body = part.model_dump(exclude_defaults=True)
    if not body:
        return StoredPart(left_out=left_out)
    with transaction.atomic():
        writer = streams.lock(tree, actor=by.uid)
        ManuscriptVersion.objects.create(
            tree=tree, number=1, body=body, what="import", by=by, at=timezone.now()
        )
        writer.append("manuscript.changed", {"number": 1, "what": "import"})
        writer.flush()
    return StoredPart(1, left_out)


PART = FeaturePart(write, read)
