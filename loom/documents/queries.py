"""Documents as a reader may see them: lists, texts and sections, revisions and what changed
between them.

Code that sends texts to models uses `document_of`, which finds the document of a ref, and
`text_of`, which returns its newest revision or the part that a slice names.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from django.db.models import F, Q, QuerySet

from loom import access
from loom.access import Actor
from loom.documents import access as document_access
from loom.documents import rules as documents
from loom.documents.access import documents_for
from loom.documents.models import (
    Document,
    DocumentClient,
    DocumentState,
    DocumentUpdate,
    DocumentView,
    Revision,
    read_whole,
)
from loom.documents.rules import Section, unpacked
from loom.documents.shared_text import EMPTY, SharedText
from loom.engine.context import Context
from loom.engine.models import Step
from loom.errors import not_found
from loom.language import ids as item_ids
from loom.language.refs import ParseError, Ref, Slice, document_named, tree_named
from loom.language.slices import PART_LINES, headings_in, parse_ref
from loom.links.models import Link
from loom.links.vocabulary import keys_for, vocabulary_of
from loom.permissions import READ_DOCUMENTS
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text import edits as text_edits
from loom.text.changes import merged
from loom.text.edits import Edit, kept
from loom.text.front_matter import MAX_TITLE, front_matter, title_key
from loom.text.lore import FENCE, LoreEntry, entry_of
from loom.text.shortening import excerpt
from loom.trees.grove_texts import TextPart, WindowSource
from loom.trees.models import Node, NodeSource, Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import withheld

MOST_SUGGESTED = 50
MOST_ANNOTATIONS = 100
MOST_PARTS = 30  # parts of a long document that a refusal lists
CHUNK = 500  # updates that are read at once
WITHHELD = "(left out of what models are sent)"


def newest(document: Document) -> Revision:
    """The newest revision, with its text."""
    return revision_of(document, document.revision)


MOST_REVISIONS = 2**31 - 1  # the largest number that the column holds


def revision_of(document: Document, number: int) -> Revision:
    """The revision of that number, with its text. NOT_FOUND if there is none."""
    row = None
    if 0 < number <= MOST_REVISIONS:
        row = _REVISION.first(document=document.pk, number=number)
    if row is None:
        raise not_found(f"Revision {number}", f"there are 1 to {document.revision}")
    row.document = document
    return row


_REVISION = PreparedQuery(
    lambda: Revision.objects.select_related("content", "by").filter(
        document=Given("document"), number=Given("number")
    )
)


def updates_after(document_id: int, seq: int) -> Iterator[tuple[int, bytes]]:
    """The updates of the log after a seq, in order, each with its seq. The stored state replaces
    all updates that it contains: from the start, and where they have been deleted or one that is
    empty keeps their authors."""
    states = DocumentState.objects.filter(document=document_id)
    rows = DocumentUpdate.objects.filter(document=document_id).order_by("seq")
    asks_state = seq == 0
    while True:
        page = list(rows.filter(seq__gt=seq).values_list("seq", "update")[:CHUNK])
        if asks_state or not page or page[0][0] != seq + 1 or bytes(page[0][1]) == EMPTY:
            asks_state = False
            state = states.filter(seq__gt=seq).first()
            if state is not None:
                seq = state.seq
                yield seq, bytes(state.state)
                continue
        if not page:
            return
        for number, update in page:
            yield number, bytes(update)
            seq = number


def heads(ids: Sequence[int]) -> dict[int, int]:
    """The last seq of the log of each document; one query."""
    return dict(Document.objects.filter(pk__in=ids).values_list("pk", "head"))


def document_of(actor: Actor, tree: Tree | None, ref: Ref) -> Document:
    """The document that a ref names by id or title, as seen from a tree. NOT_FOUND if there is
    none, or none that the actor may read."""
    rows = documents_for(actor, tree).select_related("grove", "maker")
    word = ref.name or ref.id
    by_title = Q(title_key=title_key(word))
    rows_found = list(rows.filter(by_title if ref.name else Q(uid=ref.id) | by_title)[:2])
    if not rows_found:
        raise not_found(document_named(word), _known(actor, tree))
    chosen = next((document for document in rows_found if document.uid == ref.id), rows_found[0])
    chosen.grove = actor.grove
    return chosen


def writers_of(document: Document, clients: Iterable[int]) -> dict[int, str]:
    """Whose letters those of these client ids of Yjs are: the participant's public id. A client
    that has signed nothing, or signed before clients were stored, is left out."""
    rows = DocumentClient.objects.filter(document=document, client__in=list(clients))
    return dict(rows.values_list("client", "participant__uid"))


def get_document(context: Context, ref: Ref) -> Document:
    """The document that `ref` names. NOT_FOUND for one that the caller may not read here."""
    return document_of(context.actor, context.tree, ref)


def _known(actor: Actor, tree: Tree | None) -> str:
    titles = documents_for(actor, tree).values_list("title", flat=True)[:5]
    named = " or ".join(document_named(title) for title in titles)
    return named or '→ write doc:"name" new makes one'


@dataclass(frozen=True, kw_only=True)
class DocumentShown(TextPart):
    """A document, or the requested part of it, in its newest revision."""

    document: Document
    revision: Revision

    @cached_property
    def sections(self) -> list[Section]:
        """The headings of the whole document."""
        return sections_in(self.revision)

    @property
    def has_sections(self) -> bool:
        """Whether there are headings."""
        return bool(self.sections)

    @property
    def parts(self) -> str:
        """The sections with their lines, or the parts of a hundred lines."""
        return parts_named(self)

    def part_at(self, line: int) -> str:
        """The section of a line (from 0), or its number."""
        above = [section for section in self.sections if section.line <= line]
        return f"§{above[-1].id}" if above else super().part_at(line)


def _shown(
    document: Document, revision: Revision, *, text: str, first: int, last: int, clipped: str = ""
) -> DocumentShown:
    return DocumentShown(
        of=document,
        source=source_of(revision),
        author=revision.by,
        text=text,
        first=first,
        last=last,
        clipped=clipped,
        document=document,
        revision=revision,
    )


def source_of(revision: Revision) -> WindowSource:
    """A revision as the source of windows."""
    return WindowSource(
        item_ids.of_document(revision.document_id), str(revision.number), revision.text
    )


def sections_in(revision: Revision) -> list[Section]:
    """The sections of a revision. Only the newest has them stored; if another one was made while
    this one was read, its headings take their ids from there."""
    if revision.sections or not headings_in(revision.text, most=1):
        return unpacked(revision.sections)
    later = Revision.objects.filter(document=revision.document_id).order_by("-number")[0]
    return documents.sections_of(revision.text, unpacked(later.sections))


def text_of(document: Document, part: Slice | None = None) -> DocumentShown:
    """The newest text of a document that the caller may read, or a part of it. Raises ParseError
    for a section that does not exist, or that several headings name."""
    revision = newest(document)
    whole = revision.text
    if part is None:
        last = whole.count("\n") + 1
        return _shown(document, revision, text=whole, first=1, last=last)
    part_shown = documents.cut(whole, sections_in(revision), part)
    first, last, clipped = part_shown.first, part_shown.last, part_shown.clipped
    return _shown(document, revision, text=part_shown.text, first=first, last=last, clipped=clipped)


def current(document: Document) -> str:
    """The text at this moment, including what was typed and is not settled yet."""
    if document.head == document.settled:
        return newest(document).text
    return SharedText(update for _, update in updates_after(document.pk, 0)).text


def as_file(document: Document) -> tuple[str, str]:
    """The name of a Markdown file for the document, and its text."""
    name = "".join(letter if letter.isalnum() else "-" for letter in document.title).strip("-")[:60]
    safe = name if name.isascii() and name else document.uid
    return f"{safe}.md", newest(document).text


def parts_named(shown: DocumentShown) -> str:
    """The sections of a document with their lines, or its parts of a hundred lines: what can be
    opened on its own."""
    text = shown.revision.text
    if not shown.sections:
        return f"part:1 to part:{-(-(text.count(chr(10)) + 1) // PART_LINES)}"
    lines = documents.spans_of(text, shown.sections, most=MOST_PARTS)
    named = [
        f"§{section.id} ({first}–{last})"
        for section, (first, last) in zip(shown.sections, lines, strict=False)
    ]
    more = len(shown.sections) - MOST_PARTS
    return ", ".join([*named, *([f"{more} more"] if more > 0 else [])])


def revision_seen(workspace: Workspace, document: Document) -> int:
    """The revision that the workspace was last shown; 0: none."""
    rows = DocumentView.objects.filter(workspace=workspace.pk, document=document)
    return rows.values_list("revision", flat=True).first() or 0


def matching(among: QuerySet[Document], query: str, *, limit: int) -> list[DocumentShown]:
    """The documents with the query in their title or text, best first; one query. Texts are
    searched one by one, because a grove has few documents."""
    wanted = query.casefold().strip()
    scored: list[tuple[int, DocumentShown]] = []
    rows = Revision.objects.filter(number=F("document__revision"))
    rows = rows.filter(document__in=among.order_by()).select_related("by")
    for row in rows.select_related("document__grove", "content").order_by().iterator(CHUNK):
        text = row.text
        times = text.casefold().count(wanted) + 10 * (wanted in row.document.title.casefold())
        if times:
            last = text.count("\n") + 1
            scored.append((times, _shown(row.document, row, text=text, first=1, last=last)))
    scored.sort(key=lambda entry_scored: -entry_scored[0])
    return [shown for _, shown in scored[:limit]]


MOST_LORE = 500  # documents of a tree that are searched for keys


def lore_of(actor: Actor, tree: Tree) -> tuple[LoreEntry, ...]:
    """The lore entries of a tree: the documents that are linked to it or to one of its nodes, that
    the actor may read, and whose front matter names keys. One query."""
    entries = (entry_of(uid, title, text) for uid, title, text in lore_texts(actor, tree))
    return tuple(entry for entry in entries if entry is not None)


def lore_texts(actor: Actor, tree: Tree) -> list[tuple[str, str, str]]:
    """(id, title, text) of the documents that are linked to a tree or to one of its nodes, that the
    actor may read, and that begin with front matter. One query."""
    if READ_DOCUMENTS not in actor.permissions:
        return []
    first, last = item_ids.ids_in(tree.pk)
    return list(_LORE.all(grove=actor.grove.pk, first=first, last=last))


def _lore() -> QuerySet[Revision, tuple[str, str, str]]:
    """Those linked to the items from `first` to `last`, which who reads documents at all may
    read with cross_tree and without."""
    of_grove = Document.objects.filter(grove=Given("grove"))
    among = document_access.linked_to((Given("first"), Given("last")), of_grove).order_by()
    rows = Revision.objects.filter(number=F("document__revision"), document__in=among)
    rows = rows.filter(content__text__startswith=FENCE).order_by()
    return rows.values_list("document__uid", "document__title", "content__text")[:MOST_LORE]


# Prepared, since a first word waits for it: building its SQL takes ten times as long as running it.
_LORE = PreparedQuery(_lore)


def revisions(document: Document) -> QuerySet[Revision]:
    """The revisions of a document, newest first, without their texts."""
    rows = Revision.objects.filter(document=document).select_related("by", "content")
    return rows.defer("content__text", "content__edits", "sections").order_by("-number")


@dataclass(frozen=True)
class WroteRevision:
    """The step that wrote a revision, by its id and number: of a workspace of a tree, or, of an
    action, of the grove (both "")."""

    uid: str
    seq: int
    workspace: str
    tree: str


def steps_of(actor: Actor, rows: Iterable[Revision]) -> dict[int, WroteRevision]:
    """Which steps wrote the revisions, by the row ids of the steps; only those of trees that the
    actor may read. At most two queries."""
    keys = {row.step_id for row in rows if row.step_id is not None}
    if not keys:
        return {}
    named = ("pk", "uid", "seq", "workspace__uid", "workspace__tree", "workspace__tree__uid")
    steps = list(Step.objects.filter(pk__in=keys).order_by().values_list(*named))
    trees = {tree for *_, tree, _ in steps if tree is not None}
    seen = set(access.trees_for(actor).filter(pk__in=trees).values_list("pk", flat=True))
    return {
        pk: WroteRevision(uid, seq, workspace or "", of or "")
        for pk, uid, seq, workspace, tree, of in steps
        if tree is None or tree in seen
    }


# What changed between two revisions, word by word.


@dataclass(frozen=True)
class DifferencePiece:
    """A piece of two texts: the same in both (`kind` same), or only in one (old, new)."""

    kind: str
    text: str


def difference(before: str, after: str) -> list[DifferencePiece]:
    """Both texts in pieces, in order."""
    return pieces_of(before, text_edits.difference(before, after))


def pieces_of(before: str, edits: Sequence[Edit]) -> list[DifferencePiece]:
    """A text and what edits make of it, in pieces, in order."""
    pieces: list[DifferencePiece] = []
    at = 0
    for edit in edits:
        pieces += _piece("same", before[at : edit.start])
        pieces += _piece("old", before[edit.start : edit.end])
        pieces += _piece("new", edit.text)
        at = edit.end
    return [*pieces, *_piece("same", before[at:])]


def _piece(kind: str, text: str) -> list[DifferencePiece]:
    return [DifferencePiece(kind, text)] if text else []


# Suggestions for a document.


@dataclass(frozen=True)
class OpenSuggestion:
    """An undecided suggestion, and the text that accepting it now would make; None: somebody has
    changed the same passage since it was made."""

    node: Node
    text: str | None


def open_suggestions(actor: Actor, document: Document, text: str) -> list[OpenSuggestion]:
    """The undecided suggestions for a document with this text, oldest first, from trees that the
    actor can see. Each was made on a revision; what was written since stays as it is. At most five
    queries: only the texts that are shown are read, and those they were made on."""
    rows = NodeSource.objects.filter(item=item_ids.of_document(document.pk), role="primary")
    suggestions = Node.objects.filter(pk__in=rows.values("node"), kind="annotation", form="diff")
    suggestions = suggestions.filter(
        resolved_at=None, pruned=False, tree__in=access.trees_for(actor)
    )
    oldest = list(suggestions.order_by("created_at").values_list("pk", flat=True)[:MOST_SUGGESTED])
    shown = Node.objects.filter(pk__in=oldest).select_related("author", "tree")
    made_on = {
        node: int(version)
        for node, version in rows.filter(node__in=oldest).values_list("node", "version_seen")
        if version.isdecimal()
    }
    bases = _texts_of(document, set(made_on.values()))
    return [
        OpenSuggestion(node, merged(bases.get(made_on.get(node.pk, 0), text), text, node.text))
        for node in shown.order_by("created_at")
    ]


@dataclass(frozen=True)
class DocumentAnnotation:
    """A comment on a document with its replies, oldest first. `words`: those that it is about, as
    they were; empty: the whole document. `place`: where they stand now (code points), if any of
    them are left."""

    note: Node
    replies: tuple[Node, ...]
    words: str
    place: tuple[int, int] | None


_AT = re.compile(r"(\d+)(?::(\d+)-(\d+))?")  # what a comment has seen: a revision, and where in it


def annotations_on(actor: Actor, document: Document, text: str) -> list[DocumentAnnotation]:
    """The comments on a document with this text: those that are not resolved, oldest first, and
    then the newest of the others; from trees that the actor can see. At most five queries: only
    revisions on which shown comments were made are read."""
    rows = NodeSource.objects.filter(item=item_ids.of_document(document.pk), role="primary")
    notes = Node.objects.filter(pk__in=rows.values("node"), kind="annotation", pruned=False)
    notes = notes.exclude(form="diff").filter(tree__in=access.trees_for(actor))
    in_order = notes.order_by(F("resolved_at").desc(nulls_first=True), "pk")
    slots = list(in_order.values_list("pk", flat=True)[:MOST_ANNOTATIONS])
    if not slots:
        return []
    seen = dict(rows.filter(node__in=slots).values_list("node", "version_seen"))
    shown = Node.objects.filter(Q(slot__in=slots) | Q(parent_slot__in=slots), kind="annotation")
    shown = shown.filter(slot__pruned=False, version_pruned=False)
    newest_of: dict[int, Node] = {}
    for node in shown.select_related("author", "tree", "slot").order_by("pk"):
        newest_of[node.slot_id] = node
    replies: dict[int, list[Node]] = defaultdict(list)
    for node in newest_of.values():
        replies[node.parent_slot_id or 0].append(node)
    places = {slot: match for slot in slots if (match := _AT.fullmatch(seen.get(slot, "")))}
    bases = _texts_of(document, {int(match[1]) for match in places.values() if match[2]})
    edits = {number: text_edits.difference(base, text) for number, base in bases.items()}
    annotations = []
    for slot in slots:
        if slot not in newest_of:
            continue
        words, place = "", None
        match = places.get(slot)
        if match and match[2] and int(match[1]) in bases:
            start, end = int(match[2]), int(match[3])
            words = bases[int(match[1])][start:end]
            place = kept(edits[int(match[1])], start, end)
        annotations.append(DocumentAnnotation(newest_of[slot], tuple(replies[slot]), words, place))
    return annotations


def notes_on(actor: Actor, document: Document, here: Tree | None) -> list[DocumentAnnotation]:
    """The comments on the newest text of a document, from the trees that the actor may reach from
    one; from all that they can see if it is None."""
    every = annotations_on(actor, document, current(document))
    if here is None:
        return every
    reached = {
        tree: access.may_reach(actor, tree, here=here)
        for tree in {annotation.note.tree_id for annotation in every}
    }
    return [annotation for annotation in every if reached[annotation.note.tree_id]]


def _texts_of(document: Document, numbers: set[int]) -> dict[int, str]:
    """The texts of these revisions, by number. Two queries; none for no number."""
    if not numbers:
        return {}
    rows = Revision.objects.filter(document=document, number__in=numbers)
    revisions = list(rows.select_related("content"))
    read_whole(row.content for row in revisions)
    return {row.number: row.content.whole for row in revisions}


# Links and embeds of a document.


@dataclass(frozen=True)
class LinkSeen:
    """A link as seen from a document: its type, the other end as a line names it, and as it is
    shown, and the id of its item."""

    type: str
    ref: str
    shown: str
    uid: str
    item: int


def links_of_document(actor: Actor, document: Document, here: Tree | None) -> list[LinkSeen]:
    """The links of a document, oldest first; ends that the actor may not see are left out. At
    most seven queries."""
    own = item_ids.of_document(document.pk)
    rows = Link.objects.filter(Q(source=own) | Q(target=own), removed_at__isnull=True)
    rows_found = [
        (link, link.target_id if link.source_id == own else link.source_id)
        for link in rows.filter(type__in=keys_for(actor, document.grove)).order_by("id")
    ]
    ends = {far for _, far in rows_found}
    trees = {
        tree_row.pk: tree_row
        for tree_row in access.trees_for(actor).filter(pk__in=map(item_ids.home_of, ends))
    }
    nodes = Node.objects.in_bulk(
        [key for end in ends if (key := item_ids.node_id(end)) is not None]
    )
    linked = documents_for(actor, here).in_bulk(
        [key for end in ends if (key := item_ids.document_id(end)) is not None]
    )
    gone = withheld(actor, [key for key, row in nodes.items() if row.tree_id in trees])
    seen = []
    types = vocabulary_of(document.grove)
    for link, far in rows_found:
        kind = types.read(link.type, outward=link.source_id == own)
        node, tree = nodes.get(far), trees.get(item_ids.home_of(far))
        other = linked.get(item_ids.document_id(far) or 0)
        if other is not None:
            seen.append(
                LinkSeen(kind, f"doc:{other.uid}", document_named(other.title), link.uid, far)
            )
        elif tree is not None and node is not None:
            away = "" if here is not None and tree.pk == here.pk else f"tree:{tree.uid} node:"
            place = f" in {tree_named(tree.title)}" if away else ""
            words = WITHHELD if node.pk in gone else excerpt(node.text, 12)
            shown = f"[{node.local_id}]{place} {words}"
            seen.append(LinkSeen(kind, f"{away}{node.local_id}", shown, link.uid, far))
        elif tree is not None:
            seen.append(LinkSeen(kind, f"tree:{tree.uid}", tree_named(tree.title), link.uid, far))
    known = {mention.ref for mention in seen}
    written = documents.embeds_of(newest(document).text)
    mentions = _mentions(actor, embedded(actor, document, written).values(), here)
    return [*seen, *(mention for mention in mentions if mention.ref not in known)]


def derived_links(actor: Actor, document: Document, kind: str, here: Tree | None) -> list[LinkSeen]:
    """What a document has of a type without a stored link: it contains its sections (without those
    that lie in others; their `item` is 0, as they are no items), and an augment requires those that
    its front matter names. At most three queries."""
    if kind == "contains":
        return [
            LinkSeen(kind, f"doc:{document.uid} §{section.id}", _section_shown(section), "", 0)
            for section in outermost_sections(document)
        ]
    if kind == "requires" and document.kind == "augment":
        named = front_matter(newest(document).text).get("requires", ())
        rows = documents_for(actor, here).filter(
            kind="augment", title_key__in=[title_key(name) for name in named]
        )
        return [
            LinkSeen(kind, f"doc:{row.uid}", row.shown, "", item_ids.of_document(row.pk))
            for row in rows.order_by("title_key")
        ]
    return []


def outermost_sections(document: Document) -> list[Section]:
    """The sections of a document that lie in no other. One query."""
    outermost: list[Section] = []
    for section in sections_in(newest(document)):
        if not outermost or section.level <= outermost[-1].level:
            outermost.append(section)
    return outermost


def _section_shown(section: Section) -> str:
    return f"§{section.id} {section.text}"


def _mentions(actor: Actor, ends: Iterable[Tree | int], here: Tree | None) -> Iterator[LinkSeen]:
    """Embeds as links, which are not stored. Two queries."""
    every = list(ends)
    nodes = (
        lookup.rows().select_related("tree").in_bulk([key for key in every if isinstance(key, int)])
    )
    gone = withheld(actor, nodes)
    for end in every:
        node = nodes.get(end) if isinstance(end, int) else None
        if isinstance(end, Tree):
            item = item_ids.of_tree(end.pk)
            yield LinkSeen("mentions", f"tree:{end.uid}", tree_named(end.title), "", item)
        elif node is not None:
            is_here = here is not None and node.tree_id == here.pk
            ref = f"{'' if is_here else f'tree:{node.tree.uid} node:'}{node.local_id}"
            place = "" if is_here else f" in {tree_named(node.tree.title)}"
            words = WITHHELD if node.pk in gone else excerpt(node.text, 12)
            item = item_ids.of_node(node.pk)
            yield LinkSeen("mentions", ref, f"[{node.local_id}]{place} {words}", "", item)


def embedded(actor: Actor, document: Document, written: Iterable[str]) -> dict[str, Tree | int]:
    """The target of each embed of a document, if the actor may see it: a tree, or the row id of a
    node. At most four queries."""
    refs = {}
    for row in written:
        with suppress(ParseError):
            refs[row] = parse_ref(row)
    trees = _trees_named(actor, document, refs.values())
    named: dict[str, Tree | int] = dict(_nodes_named(actor, document, refs, trees))
    for row, ref in refs.items():
        tree = trees.get(_tree_named(ref)) if ref.kind == "tree" else None
        if tree is not None:
            named[row] = tree
    return named


def _trees(actor: Actor, document: Document) -> "QuerySet[Tree]":
    return access.trees_for(actor).filter(grove=document.grove)


def _tree_named(ref: Ref) -> str:
    return ref.tree_id or ref.tree_name.casefold()


def _trees_named(actor: Actor, document: Document, refs: Iterable[Ref]) -> dict[str, Tree]:
    """The trees that the references name, by id or title in any case; one query."""
    named = Q()
    for ref in refs:
        if ref.tree_id:
            named |= Q(uid=ref.tree_id)
        elif ref.tree_name:
            named |= Q(title__iexact=ref.tree_name)
    if not named:
        return {}
    rows = _trees(actor, document).filter(named).order_by("-id")
    return {name: row for row in rows for name in (row.uid, row.title.casefold())}


def _nodes_named(
    actor: Actor, document: Document, refs: dict[str, Ref], trees: dict[str, Tree]
) -> dict[str, int]:
    """The row ids of the nodes that the references mean: in a tree that is linked to the document,
    or the only node of that name. Two queries."""
    meant = {name: ref for name, ref in refs.items() if ref.kind == "node"}
    if not meant:
        return {}
    near = set(trees_linked(actor, document).values_list("pk", flat=True))
    ids = {ref.id for ref in meant.values()}
    rows = Node.objects.filter(local_id__in=ids, tree__in=_trees(actor, document)).order_by("id")
    there: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, local_id, home in rows.values_list("pk", "local_id", "tree"):
        there[local_id].append((key, home))
    nodes = {}
    for name, ref in meant.items():
        tree = trees.get(_tree_named(ref))
        if tree is None and _tree_named(ref):
            continue
        known = [(key, home) for key, home in there[ref.id] if tree is None or home == tree.pk]
        close = [key for key, home in known if home in near]
        if close or len(known) == 1:
            nodes[name] = close[0] if close else known[0][0]
    return nodes


def free_title(actor: Actor, base: str) -> str:
    """The title, or the title with the first number, that no document of the grove has. One
    query."""
    base = base[: MAX_TITLE - 5].strip()
    rows = Document.objects.filter(grove=actor.grove, title_key__startswith=title_key(base))
    taken = set(rows.values_list("title_key", flat=True))
    titles = (base, *(f"{base} {number}" for number in range(2, len(taken) + 3)))
    return next(title for title in titles if title_key(title) not in taken)


def trees_linked(actor: Actor, document: Document) -> QuerySet[Tree]:
    """The trees that are linked to the document, or whose nodes are."""
    own = item_ids.of_document(document.pk)
    links = Link.objects.filter(Q(source=own) | Q(target=own), removed_at__isnull=True)
    ends = {end for pair in links.values_list("source", "target") for end in pair}
    homes = {item_ids.home_of(end) for end in ends} - {0}
    return access.trees_for(actor).filter(pk__in=homes, grove=document.grove).order_by("pk")
