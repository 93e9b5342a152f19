"""Texts of a grove that lie outside of its trees, which links, marks, windows and requests point at
like nodes: documents. What others ask about them is asked here. The feature that has such texts
answers (`have_texts`); without one there are none.

Their items have ids below 0 (`loom.language.ids`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from loom.access import Actor
from loom.errors import not_found
from loom.language import ids
from loom.language.refs import Ref, Slice, print_ref
from loom.people.models import Grove, Participant, User
from loom.text.lore import LoreEntry
from loom.trees.models import GroveText, Node, Tree

if TYPE_CHECKING:  # it imports what looks nodes up, which asks here
    from loom.engine.context import Context

# The edits that turn a text into another: places in code points, and what replaces them.
EditsOf = Callable[[str], Sequence[tuple[int, int, str]]]


@dataclass(frozen=True)
class WindowSource:
    """A version of a text whose lines windows show: its item, the identifier of the version (the
    hash of a node, the number of a revision), and the text."""

    item: int
    version: str
    text: str


@dataclass(frozen=True)
class TextPart:
    """A text of a grove in its newest version, or the part of it that a slice names: the lines
    `first` to `last` of `source`, counted from 1. `author` wrote that version."""

    of: GroveText
    source: WindowSource
    author: Participant
    text: str
    first: int
    last: int
    clipped: str = ""

    @property
    def has_sections(self) -> bool:
        """Whether parts of the text have names."""
        return False

    @property
    def parts(self) -> str:
        """What can be opened on its own, in words."""
        return ""

    def part_at(self, line: int) -> str:
        """What a reference adds to name the part in which a line (from 0) is."""
        return f"lines:{line + 1}"


@dataclass(frozen=True)
class ChangedText:
    """What others wrote in a text since a moment, in words, and when they wrote last."""

    of: GroveText
    at: datetime
    said: str


class GroveTexts:
    """The answers where no feature has such texts. A feature overrides all of them."""

    # which there are, and what they are called

    def get(self, context: "Context", ref: Ref) -> GroveText:
        """The text that a ref names. NOT_FOUND for one that the caller may not read here."""
        raise not_found(print_ref(ref))

    def named(self, actor: Actor, tree: Tree | None, ref: Ref) -> GroveText | None:
        """The text that a ref names, if there is one that the actor may read in the tree."""
        return None

    def titled_among(
        self, actor: Actor, tree: Tree | None, titles: Iterable[str]
    ) -> dict[str, int]:
        """The item of each of these titles that a text has which the actor may read in the tree;
        one query."""
        return {}

    def open(self, user: User, uid: str) -> tuple[Actor, GroveText]:
        """A text of one of the user's groves. NOT_FOUND if there is none."""
        raise not_found("This text")

    def find(self, actor: Actor, uid: str) -> GroveText | None:
        """The text of this id, if the actor may read it."""
        return None

    def seen(self, actor: Actor, tree: Tree | None, items: Iterable[int]) -> dict[int, GroveText]:
        """Those of the items that are texts which the actor may read in the tree, by item; one
        query, none if no item is one."""
        return {}

    def every(self, actor: Actor, most: int) -> list[GroveText]:
        """The texts of the grove that the actor may read, the last written first."""
        return []

    def linked(self, actor: Actor, tree: Tree) -> list[GroveText]:
        """Those that are linked to the tree or to a node of it and that the actor may read, the
        last written first."""
        return []

    def is_linked(self, tree: Tree) -> bool:
        """Whether any is linked to the tree or to a node of it."""
        return False

    def mentioning(self, actor: Actor, node: Node) -> list[GroveText]:
        """Those that embed a version of the node and that the actor may read."""
        return []

    def linked_items(
        self, actor: Actor, text: GroveText, kind: str, here: Tree | None
    ) -> list[int]:
        """The items at the other ends of a text's links of one type, that it embeds (`mentions`) or
        that are its `annotations`, as far as the actor may see them."""
        return []

    def parts_within(self, text: GroveText) -> list[Slice]:
        """The parts of a text that have names and lie in no other."""
        return []

    def names(self, items: Iterable[int]) -> dict[int, str]:
        """How events name those of the items that are texts (`doc:ID`), whoever may read them."""
        return {}

    def titles(self, items: Iterable[int]) -> dict[int, str]:
        """The titles of those of the items that are texts, whoever may read them."""
        return {}

    def versions(self, items: Iterable[int]) -> dict[int, str]:
        """The newest version of each of the items that is a text."""
        return {}

    def item_of(self, grove: int, uid: str) -> int | None:
        """The item of the grove's text (its row id) with this id."""
        return None

    # what they say

    def part_of(self, text: GroveText, part: Slice | None = None) -> TextPart:
        """The newest version, or a part of it. Raises ParseError for a part that there is not."""
        raise not_found("This text")

    def source(self, item: int, version: str) -> WindowSource | None:
        """A version of a text; None if it is gone."""
        return None

    def whole(self, item: int) -> TextPart | None:
        """The newest version of a text, whoever may read it; None if it is gone."""
        return None

    def current(self, item: int) -> str | None:
        """The text at this moment, with what was typed and is in no version yet."""
        return None

    def settled(self, context: "Context", item: int) -> str | None:
        """The text at this moment; what was typed and is in no version yet becomes one first, as
        far as the line may write."""
        return None

    def current_of(self, items: Iterable[int]) -> dict[int, str]:
        """Those of the items that are texts, at this moment, read together."""
        return {}

    def matching(
        self,
        actor: Actor,
        tree: Tree | None,
        query: str,
        *,
        limit: int,
        linked: bool = False,
        among: Iterable[int] | None = None,
    ) -> list[TextPart]:
        """The texts that the actor may read and that have the words, best first: with `linked` only
        those of the tree, with `among` only these items."""
        return []

    def changes(self, actor: Actor, tree: Tree, since: datetime) -> list[ChangedText]:
        """What others wrote since a moment."""
        return []

    def augments(self, grove: int) -> list[tuple[str, str, str]]:
        """(id, title, text) of a grove's texts (its row id) that prompts can load."""
        return []

    def lore(self, actor: Actor, tree: Tree) -> tuple[LoreEntry, ...]:
        """The lore of a tree, as far as the actor may read it."""
        return ()

    # what a workspace has seen

    def seen_version(self, context: "Context", text: GroveText) -> int:
        """The version that the workspace was last shown; 0: none."""
        return 0

    def note_seen(self, context: "Context", item: int, version: str) -> None:
        """The workspace has seen a version."""

    # what is written

    def make(self, actor: Actor, *, title: str, kind: str, text: str) -> GroveText | None:
        """A new text; None where there can be none."""
        return None

    def titled(self, grove: Grove, title: str) -> GroveText | None:
        """The text of the grove with this title, in any case."""
        return None

    def edit(self, context: "Context", item: int, edits_of: EditsOf) -> None:
        """Writes a text, in the grove's stream."""

    # summaries, which a model writes

    def lacks_summary(self, actor: Actor, item: int, *, again: bool) -> GroveText | None:
        """The text, if a summary of its newest version should be made now."""
        return None

    def to_summarise(self, actor: Actor, item: int) -> tuple[str, str] | None:
        """(title, text) that a summary is made from, if the actor may read it."""
        return None

    def keep_summary(self, item: int, version: int, summary: str) -> str | None:
        """Stores the summary of a version; returns the id of the text."""
        return None

    def forget_summaries(self, items: Iterable[int]) -> None:
        """Removes the summaries of texts."""

    def home_of(self, actor: Actor, text: GroveText) -> Tree | None:
        """The tree in which lines about the text run and its calls are kept."""
        return None


_NONE = GroveTexts()
_answering: list[GroveTexts] = []


def have_texts(answers: GroveTexts) -> None:
    """Registers the answers of the feature that has texts outside of trees."""
    _answering[:] = [answers]


def grove_texts() -> GroveTexts:
    """Whoever answers for the texts outside of trees."""
    return _answering[0] if _answering else _NONE


AfterWriting = Callable[[GroveText], None]

_written: list[AfterWriting] = []


def after_writing(hook: AfterWriting) -> AfterWriting:
    """Registers what a feature does when a version of a text was stored, in that transaction."""
    _written.append(hook)
    return hook


def note_written(text: GroveText) -> None:
    """Tells features that a version of a text, which has its grove at hand, was stored."""
    for hook in _written:
        hook(text)


AfterRewriting = Callable[[GroveText, str, str], None]

_rewritten: list[AfterRewriting] = []


def after_rewriting(hook: AfterRewriting) -> AfterRewriting:
    """Registers what a feature does when a text gets another version, given the text before and
    after, in that transaction and under the lock of its grove: it is short, or rare."""
    _rewritten.append(hook)
    return hook


def note_rewritten(text: GroveText, before: str, after: str) -> None:
    """Tells features that a version of a text was stored after another one."""
    for hook in _rewritten:
        hook(text, before, after)


def is_text(item: int) -> bool:
    """Whether an item is a text outside of trees."""
    return ids.document_id(item) is not None
