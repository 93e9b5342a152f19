"""The story of a tree: the texts of its main line, its chapters in their order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loom.access import Actor
from loom.manuscript.models import ManuscriptVersion
from loom.manuscript.rules import Chapter, Piece, Story, in_order, story_of
from loom.notes.models import Mark
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import rows_of
from loom.trees.queries.main_line import MainLine, main_line_of
from loom.trees.queries.places import path_ids

AT_ONCE = 500  # texts that are read with one query
USUAL_LANGUAGE = "und"  # not known


@dataclass(frozen=True)
class Manuscript:
    """The story with its chapters in the order of the manuscript, and what was set for it. `number`
    is that of its current version, 0 before the first."""

    tree: Tree
    line: MainLine
    story: Story
    chapters: list[Chapter]
    body: Mapping[str, Any]
    number: int

    @property
    def title(self) -> str:
        """The title of the book; that of the tree, if none was set."""
        return str(self.body.get("title") or " ".join(self.tree.title.split()))

    @property
    def author(self) -> str:
        """The author on the title page, or empty."""
        return str(self.body.get("author", ""))

    @property
    def language(self) -> str:
        """The tag of the language; `und` if none was set."""
        return str(self.body.get("language") or USUAL_LANGUAGE)

    @property
    def target(self) -> int:
        """The words that the book shall have, 0 if none were set."""
        return int(self.body.get("target", 0))

    def of(self, chapter: Chapter) -> tuple[int, str]:
        """(target in words, note) of a chapter; 0 and empty if none were set."""
        return _card(self.body, chapter.key)


def _card(body: Mapping[str, Any], key: str) -> tuple[int, str]:
    kept = body.get("chapters", {}).get(key, {})
    return int(kept.get("target", 0)), str(kept.get("note", ""))


def card_of(version: ManuscriptVersion | None, key: str) -> tuple[int, str]:
    """(target in words, note) of a chapter by its key, as `Manuscript.of`; no query, and the story
    is not read."""
    return _card(version.body, key) if version is not None else (0, "")


def current_version(tree: Tree) -> ManuscriptVersion | None:
    """The current version of a tree's manuscript; one query."""
    return ManuscriptVersion.objects.filter(tree=tree).order_by("-number").first()


def versions_of_order(tree: Tree, *, most: int = 50) -> list[ManuscriptVersion]:
    """The versions that changed the order, the newest first."""
    versions = ManuscriptVersion.objects.filter(tree=tree, what="order").select_related("by")
    return list(versions.order_by("-number")[:most])


def manuscript_of(actor: Actor, tree: Tree) -> Manuscript:
    """The manuscript. Reads each text of the main line once, 500 with one query."""
    line = main_line_of(tree)
    story = story_of(_pieces(actor, tree, line), joint="" if tree.mode == "buffer" else "\n\n")
    version = current_version(tree)
    body: dict[str, Any] = version.body if version is not None else {}
    chapters = in_order(story.chapters, body.get("order", ()))
    return Manuscript(tree, line, story, chapters, body, version.number if version else 0)


def _pieces(actor: Actor, tree: Tree, line: MainLine) -> list[Piece]:
    path = path_ids(actor, tree, None, line.end)
    labels = _labels(tree)
    pieces: list[Piece] = []
    for first in range(0, len(path), AT_ONCE):
        part = path[first : first + AT_ONCE]
        names = _first_ids(part)
        for row in rows_of([key for _, key in part]):
            if row.text and not row.is_ask:
                label = labels.get(row.id) or labels.get(row.slot_id, "")
                slot = names.get(row.slot_id, row.local_id)
                pieces.append(Piece(slot, row.local_id, row.text, row.author_name, label))
    return pieces


def _first_ids(part: Sequence[tuple[int, int]]) -> dict[int, str]:
    """The local ids of slots whose current version is not the first."""
    others = [slot for slot, key in part if slot != key]
    return dict(Node.objects.filter(pk__in=others).values_list("pk", "local_id"))


def _labels(tree: Tree) -> dict[int, str]:
    """The labels of bookmarks by row id; the oldest of each."""
    marks = Mark.objects.filter(tree=tree, kind="bookmark", removed_at__isnull=True)
    labels: dict[int, str] = {}
    for item, label in marks.exclude(label="").order_by("id").values_list("item_id", "label"):
        labels.setdefault(item, label)
    return labels
