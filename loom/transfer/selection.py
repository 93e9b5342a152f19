"""What an export writes: the slots of a tree or of one path, in order, and their texts as a
stream.

Only the structure is kept in memory, as ids; texts are read a page at a time and never twice.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from markdown_it import MarkdownIt
from markdown_it.token import Token

from loom.access import Actor
from loom.language import ids
from loom.language.ids import place_of
from loom.links.written_portals import OpenedPortals
from loom.notes.models import Mark
from loom.text.images import IMAGE_SIGN, WEB, described, described_image
from loom.text.markdown_blocks import with_shown_definitions
from loom.trees.models import Node, Tree, VersionChoice, Workspace
from loom.trees.queries.lookup import NodeRow, nodes_in, rows_of
from loom.trees.queries.places import path_ids

NODES_AT_ONCE = 500
CHARACTERS_AT_ONCE = 1_000_000
IDS_AT_ONCE = 5000  # values of one query; SQLite allows 32,766
T = TypeVar("T")


def batched(values: Iterable[T], count: int) -> Iterator[list[T]]:
    """The values in lists of at most `count`."""
    rest = iter(values)
    while batch := list(islice(rest, count)):
        yield batch


@dataclass(frozen=True)
class ExportSelection:
    """What to export: the path to `end`, or every branch (None)."""

    actor: Actor
    tree: Tree
    workspace: Workspace | None
    end: Node | None = None
    notes: bool = False
    authors: bool = True
    calls: bool = False
    images: bool = False  # as the tree names them; otherwise `[image: what it shows]`


@dataclass(frozen=True)
class WalkStep:
    """One slot of a walk through the tree: number `place` of `of` below `above` (0: none). `depth`
    counts from the first slot written; `below` is the number of slots written below it.
    """

    slot: int
    above: int
    depth: int
    place: int
    of: int
    below: int


@dataclass
class Marked:
    """The bookmarks (their labels) and tags of one slot."""

    bookmarks: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)


@dataclass
class Selection:
    """The slots to be written, siblings in their order. In each slot one version is written:
    the one that the workspace chose, otherwise the newest that is not pruned."""

    wanted: ExportSelection
    below: dict[int, list[int]] = field(default_factory=dict)
    chosen: dict[int, int] = field(default_factory=dict)  # slot → row id of its version
    versions: dict[int, list[int]] = field(default_factory=dict)  # slot → all, where several
    lengths: dict[int, int] = field(default_factory=dict)  # row id → code points
    pruned: set[int] = field(default_factory=set)  # the slots that are pruned themselves
    sandboxes: int = 0
    last: int = 0  # the newest row when the export began

    @property
    def tree(self) -> Tree:
        """The tree that is exported."""
        return self.wanted.tree

    def steps(self) -> Iterator[WalkStep]:
        """The slots, each before what is below it."""
        ahead = [self._step(slot, 0, 0, 1, 1) for slot in self.below.get(0, [])]
        while ahead:
            step = ahead.pop()
            yield step
            slots = self.below.get(step.slot, [])
            steps = [
                self._step(child, step.slot, step.depth + 1, place, len(slots))
                for place, child in enumerate(slots, 1)
            ]
            ahead.extend(reversed(steps))

    def _step(self, slot: int, above: int, depth: int, place: int, of: int) -> WalkStep:
        return WalkStep(slot, above, depth, place, of, len(self.below.get(slot, ())))

    def read(self) -> Iterator[tuple[WalkStep, NodeRow]]:
        """The steps in order, each with the version of its slot."""
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[tuple[WalkStep, NodeRow]]]:
        """The steps with their versions, in pages of at most 500 texts and about a million
        characters."""
        for page in self._pages():
            rows = {
                row.slot_id: row for row in rows_of([self.chosen[walked.slot] for walked in page])
            }
            steps = [(step, rows[step.slot]) for step in page if step.slot in rows]
            if not self.wanted.images:
                steps = [
                    (
                        step,
                        row._replace(text=described(row.text)) if IMAGE_SIGN in row.text else row,
                    )
                    for step, row in steps
                ]
            yield steps

    def _pages(self) -> Iterator[list[WalkStep]]:
        page: list[WalkStep] = []
        size = 0
        for step in self.steps():
            length = self.lengths[self.chosen[step.slot]]
            if page and (len(page) == NODES_AT_ONCE or size + length > CHARACTERS_AT_ONCE):
                yield page
                page, size = [], 0
            page.append(step)
            size += length
        if page:
            yield page

    def marks(self) -> dict[int, Marked]:
        """The bookmarks and tags by slot; on whichever version of it they are."""
        rows = Mark.objects.filter(
            tree=self.tree, removed_at=None, kind__in=("bookmark", "tag"), item_id__lte=self.last
        )
        rows = rows.filter(item_id__gt=ids.of_tree(self.tree.pk)).order_by("pk")
        marks = list(rows.values_list("item_id", "kind", "label"))
        slots: dict[int, int] = {}
        for items in batched(dict.fromkeys(item for item, _, _ in marks), IDS_AT_ONCE):
            slots.update(Node.objects.filter(pk__in=items).values_list("pk", "slot_id"))
        marked: dict[int, Marked] = {}
        for item, kind, label in marks:
            if (slot := slots.get(item)) in self.chosen:
                marks_of_slot = marked.setdefault(slot, Marked())
                names = marks_of_slot.bookmarks if kind == "bookmark" else marks_of_slot.tags
                if label not in names:
                    names.append(label)
        return marked

    def local_id(self, slot: int) -> str:
        """The local id of the version that is written."""
        return Node.objects.values_list("local_id", flat=True).get(pk=self.chosen[slot])

    def position(self) -> int | None:
        """The slot at which the reader is, if it is written; otherwise the nearest above."""
        node = self.wanted.end
        if node is None and self.wanted.workspace is not None:
            node = self.wanted.workspace.position
        at = node.slot_id if node is not None and node.tree_id == self.tree.pk else None
        while at is not None and at not in self.chosen:
            at = Node.objects.filter(pk=at).values_list("parent_slot_id", flat=True).first()
        return at


_COLUMNS = (
    "id",
    "slot_id",
    "parent_slot_id",
    "length",
    "version_pruned",
    "pruned",
    "sandbox",
    "place",
)


def select(wanted: ExportSelection, *, pruned: bool = False) -> Selection:
    """The texts that are visible to the actor: none of a sandbox, pruned ones only if asked for.
    A path holds every text on it.

    Memory grows with the number of nodes, not with their texts.
    """
    selection = Selection(wanted)
    rows = nodes_in(wanted.tree.pk).filter(kind="text").order_by("id")
    if wanted.end is None:
        _shape(selection, rows.values_list(*_COLUMNS).iterator(chunk_size=5000), pruned)
        _choose(selection, wanted.workspace)
        _reachable(selection)
        return selection
    path = dict(path_ids(wanted.actor, wanted.tree, wanted.workspace, wanted.end))
    for slots in batched(path, IDS_AT_ONCE):
        _shape(
            selection, rows.filter(slot__in=slots).values_list(*_COLUMNS), pruned=True, path=True
        )
    selection.chosen.update({slot: key for slot, key in path.items() if slot in selection.chosen})
    return selection


def _shape(selection: Selection, rows: Iterable[Any], pruned: bool, path: bool = False) -> None:
    left: set[int] = set()
    gone: set[int] = set()  # versions that are pruned
    placed: dict[int, dict[int, int]] = {}  # places by the slot above, where they are not by id
    for key, slot, above, length, is_gone, is_pruned, is_sandbox, place in rows:
        selection.last = max(selection.last, key)
        if key == slot:
            if (is_pruned and not pruned) or (is_sandbox and not path):
                selection.sandboxes += is_sandbox
                left.add(slot)
                continue
            if is_pruned:
                selection.pruned.add(slot)
            selection.below.setdefault(above or 0, []).append(slot)
            if place is not None:
                placed.setdefault(above or 0, {})[slot] = place
            selection.chosen[slot] = key
        elif slot in left:
            continue
        else:
            selection.versions.setdefault(slot, [slot]).append(key)
            if not is_gone or selection.chosen[slot] in gone:
                selection.chosen[slot] = key
        selection.lengths[key] = length
        if is_gone:
            gone.add(key)
    for above, places in placed.items():
        beside = selection.below[above]
        selection.below[above] = sorted(beside, key=partial(_placed, places))


def _placed(places: dict[int, int], slot: int) -> int:
    return place_of(slot, places.get(slot))


def _choose(selection: Selection, workspace: Workspace | None) -> None:
    if workspace is None:
        return
    chosen = VersionChoice.objects.filter(workspace=workspace, node__version_pruned=False)
    for slot, key in chosen.values_list("slot_id", "node_id"):
        if slot in selection.chosen and key in selection.lengths:
            selection.chosen[slot] = key


def _reachable(selection: Selection) -> None:
    """Leaves out what is below a slot that was left out."""
    seen = {step.slot for step in selection.steps()}
    if len(seen) < len(selection.chosen):
        selection.chosen = {slot: key for slot, key in selection.chosen.items() if slot in seen}
        selection.versions = {
            slot: keys for slot, keys in selection.versions.items() if slot in seen
        }
        selection.pruned &= seen


def siblings(selection: Selection, slots: list[int], *, most: int) -> dict[int, list[int]]:
    """For each slot of a path, the row ids of at most `most` visible texts beside it and of its
    own, in their order."""
    above = Node.objects.filter(pk__in=slots).values_list("pk", "parent_slot_id")
    parents = {slot: parent for slot, parent in above if parent is not None}
    rows = Node.objects.filter(parent_slot__in=parents.values(), kind="text", version_pruned=False)
    beside: dict[int, dict[int, int]] = {}
    kept = rows.filter(slot__pruned=False, slot__sandbox=False)
    columns = kept.values_list("id", "slot_id", "parent_slot_id", "slot__place")
    found_rows = sorted(columns, key=lambda row: (place_of(row[1], row[3]), row[0]))
    for key, slot, parent, _ in found_rows:
        around = beside.setdefault(parent, {})
        if slot in around or slot in selection.chosen or len(around) < most:
            around[slot] = selection.chosen.get(slot, key)
    return {
        slot: list(beside[parent].values()) for slot, parent in parents.items() if parent in beside
    }


LEVELS = 5  # replies to replies that are written


def notes_of(tree: Tree, slots: list[int]) -> dict[int, list[tuple[int, NodeRow]]]:
    """The visible annotations of each slot with their replies, as (level from 0, row), each before
    its replies; the newest version of each that is not pruned."""
    below: dict[int, list[NodeRow]] = {}
    ahead = slots
    for _ in range(LEVELS):
        annotations = _annotations(ahead)
        for row in annotations:
            below.setdefault(row.parent_slot_id or 0, []).append(row)
        ahead = [row.slot_id for row in annotations]
        if not ahead:
            break
    return {slot: list(_threaded(below, slot, 0)) for slot in slots if slot in below}


def _annotations(slots: list[int]) -> list[NodeRow]:
    rows = Node.objects.filter(kind="annotation", version_pruned=False)
    rows = rows.filter(parent_slot__in=slots, slot__pruned=False, slot__sandbox=False)
    newest = dict(rows.order_by("id").values_list("slot_id", "id"))
    return rows_of(list(newest.values()))


def _threaded(
    below: dict[int, list[NodeRow]], slot: int, level: int
) -> Iterator[tuple[int, NodeRow]]:
    for row in below.get(slot, []):
        yield level, row
        yield from _threaded(below, row.slot_id, level + 1)


# A path as chapters of paragraphs: its texts are parsed as Markdown once, and each book format
# makes its own elements from them.


CHAPTER = 300_000  # characters after which a new part of a chapter begins
DEEPEST = 8  # levels of a list
PART = 40_000  # characters that are read as Markdown at once
_MARKDOWN = with_shown_definitions(MarkdownIt("commonmark", {"html": False, "breaks": True}))
_MARKDOWN.enable(["strikethrough", "table"]).disable(["html_block", "html_inline"])


@dataclass
class TextRun:
    """A piece of a paragraph with its style: any of strong, em, s, code; `href` of a link. With
    an `image`, its hash, the text is what it shows."""

    text: str
    styles: tuple[str, ...] = ()
    href: str = ""
    image: str = ""

    @property
    def is_web(self) -> bool:
        """Whether it leads to a page or a mailbox."""
        return self.href.startswith(WEB)


@dataclass
class Paragraph:
    """One paragraph: `kind` is p, h1 … h6, li, quote, pre, hr, by, note or table. An item of a
    list has a `sign`, "-" or its number, unless it goes on; `starts` if a list begins with it."""

    kind: str
    runs: list[TextRun] = field(default_factory=list)
    level: int = 0
    sign: str = ""
    starts: bool = False
    rows: list[list[list[TextRun]]] = field(default_factory=list)


def chapters(
    wanted: ExportSelection, selection: Selection
) -> Iterator[tuple[str, list[Paragraph]]]:
    """(title, paragraphs) of the path: a new one at each bookmark with a label, and where a part
    becomes long; in a dialogue with what the portals of the texts lead to."""
    portals = OpenedPortals(wanted.actor, wanted.tree, authors=wanted.authors, feet=False)
    marks = selection.marks()
    title, texts, content, size = "", "", list[Paragraph](), 0
    is_buffer = wanted.tree.mode == "buffer"
    for page in selection.pages():
        notes = notes_of(wanted.tree, [step.slot for step, _ in page]) if wanted.notes else {}
        for step, row in page:
            if row.is_ask:  # no part of the story of a buffer
                continue
            label = next(filter(None, marks.get(step.slot, Marked()).bookmarks), "")
            if label or size > CHAPTER:
                content += paragraphs(texts)
                if content or title:
                    yield title, content
                title, texts, content, size = label, "", [], 0
            if is_buffer and not notes.get(step.slot):
                texts += row.text
            else:
                content += [*paragraphs(texts), *_paragraphs_of(wanted, row, portals)]
                content += _notes(wanted, notes.get(step.slot, []))
                texts = ""
            size += row.length
    content += paragraphs(texts)
    if content or title:
        yield title, content


def _paragraphs_of(
    wanted: ExportSelection, row: NodeRow, portals: OpenedPortals
) -> Iterator[Paragraph]:
    if wanted.tree.mode != "dialogue":
        yield from paragraphs(row.text)
        return
    if row.text:
        kind = "Model" if row.author_kind == "model" else "Person"
        yield Paragraph("by", [TextRun(row.author_name if wanted.authors else kind)])
    yield from paragraphs(portals.text(row.text))


def _notes(wanted: ExportSelection, notes: list[tuple[int, NodeRow]]) -> Iterator[Paragraph]:
    for level, row in notes:
        form = row.form or "note"
        head = f"{form} · {row.author_name}: " if wanted.authors else f"{form}: "
        yield Paragraph("note", [TextRun(head, ("strong",)), TextRun(row.text)], level)


def paragraphs(text: str) -> Iterator[Paragraph]:
    """The paragraphs of a Markdown text. A long one is cut at blank lines; what is still long is
    taken as it is."""
    while len(text) > PART:
        cut = text.rfind("\n\n", 0, PART) + 2
        if cut < 2:
            end = text.find("\n\n")
            cut = end + 2 if end >= 0 else len(text)
            yield Paragraph("p", [TextRun(text[:cut].strip("\n"))])
        else:
            yield from _parsed(text[:cut])
        text = text[cut:]
    yield from _parsed(text)


def _parsed(text: str) -> Iterator[Paragraph]:
    stack: list[str] = []
    depth, sign, starts = -1, "", False
    rows: list[list[list[TextRun]]] | None = None
    for token in _MARKDOWN.parse(text):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            depth, starts = depth + 1, True
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            depth -= 1
        elif token.type in ("blockquote_open", "list_item_open", "heading_open"):
            stack.append({"blockquote": "quote"}.get(token.tag, token.tag))
            sign = (token.info or "-") if token.tag == "li" else sign
        elif token.type in ("blockquote_close", "list_item_close", "heading_close"):
            stack.pop()
        elif token.type == "table_open":
            rows = []
        elif token.type == "tr_open" and rows is not None:
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(list(_runs(token)))
        elif token.type == "table_close":
            yield Paragraph("table", rows=rows or [])
            rows = None
        elif token.type == "inline":
            kind = stack[-1] if stack else "p"
            yield Paragraph(kind, list(_runs(token)), min(max(depth, 0), DEEPEST), sign, starts)
            sign, starts = "", False
        elif token.type in ("fence", "code_block"):
            yield Paragraph("pre", [TextRun(token.content.rstrip("\n"), ("code",))])
        elif token.type == "hr":
            yield Paragraph("hr")


def _runs(token: Token) -> Iterator[TextRun]:
    styles: list[str] = []
    href = ""
    for child in token.children or []:
        if child.type == "link_open":
            href = str(child.attrs.get("href", ""))
        elif child.type == "link_close":
            href = ""
        elif child.type == "image":
            source = str(child.attrs.get("src", ""))
            sha256 = source.removeprefix("image:") if source.startswith("image:") else ""
            shown = child.content if sha256 else described_image(child.content)
            yield TextRun(shown, tuple(styles), href, sha256)
        elif child.nesting == 1:
            styles.append(child.tag)
        elif child.nesting == -1:
            styles.remove(child.tag)
        elif child.type in ("softbreak", "hardbreak"):
            yield TextRun("\n", tuple(styles), href)
        elif child.content:
            style = (*styles, "code") if child.type == "code_inline" else tuple(styles)
            yield TextRun(child.content, style, href)
