"""What other features ask about documents (`loom.trees.grove_texts`)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from operator import attrgetter

from django.db.models import F, Q, QuerySet

from loom.access import Actor
from loom.documents import access as document_access
from loom.documents import log as document_log
from loom.documents import queries, summaries
from loom.documents import rules as documents
from loom.documents.access import documents_for, linked_to
from loom.documents.actions import make_document
from loom.documents.commands.writing import Kind
from loom.documents.effects import DocumentSeen
from loom.documents.models import Document, DocumentEmbed, Revision, read_whole
from loom.documents.queries import embedded, revision_seen, source_of
from loom.engine.context import Context
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import Ref, Slice
from loom.people.models import Grove, User
from loom.people.names import as_sent
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.edits import Edit
from loom.text.front_matter import body_start, title_key
from loom.text.lore import LoreEntry
from loom.trees.grove_texts import (
    ChangedText,
    EditsOf,
    GroveTexts,
    TextPart,
    WindowSource,
    have_texts,
)
from loom.trees.models import GroveText, Node, Tree
from loom.trees.queries import lookup
from loom.workspace.window_rules import difference_named

MOST_EMBEDDING = 20  # documents that embed one node
MOST_AUGMENTS = 200  # augments of a grove that are read


def keys_of(items: Iterable[int]) -> list[int]:
    """The row ids of those of the items that are documents."""
    return [key for item in items if (key := ids.document_id(item)) is not None]


def _rows(items: Iterable[int]) -> QuerySet[Document]:
    return Document.objects.filter(pk__in=keys_of(items))


class Documents(GroveTexts):
    """Documents as other features ask about them."""

    # which there are, and what they are called

    def get(self, context: Context, ref: Ref) -> Document:
        """The document that a ref names by id or title."""
        return queries.get_document(context, ref)

    def named(self, actor: Actor, tree: Tree | None, ref: Ref) -> GroveText | None:
        """The document that a ref names by id or title."""
        try:
            return queries.document_of(actor, tree, ref)
        except CommandError:
            return None

    def titled_among(
        self, actor: Actor, tree: Tree | None, titles: Iterable[str]
    ) -> dict[str, int]:
        """The item of each of these titles that the actor may read in the tree."""
        keys = {title: title_key(title) for title in titles}
        rows = documents_for(actor, tree).filter(title_key__in=set(keys.values()))
        items = {row.title_key: row.item_id for row in rows}
        return {title: items[key] for title, key in keys.items() if key in items}

    def open(self, user: User, uid: str) -> tuple[Actor, GroveText]:
        """A document of one of the user's groves."""
        return document_access.get_document(user, uid)

    def find(self, actor: Actor, uid: str) -> GroveText | None:
        """The document of this id, if the actor may read it."""
        return documents_for(actor).select_related("grove").filter(uid=uid).first()

    def seen(self, actor: Actor, tree: Tree | None, items: Iterable[int]) -> dict[int, GroveText]:
        """Those that the actor may read in the tree."""
        asked = keys_of(items)
        if not asked:
            return {}
        rows = documents_for(actor, tree).select_related("grove").filter(pk__in=asked)
        return {row.item_id: row for row in rows}

    def every(self, actor: Actor, most: int) -> list[GroveText]:
        """The documents of the grove that the actor may read."""
        return list(documents_for(actor)[:most])

    def linked(self, actor: Actor, tree: Tree) -> list[GroveText]:
        """Those that are linked to the tree or to a node of it."""
        return list(linked_to(tree, documents_for(actor, tree)).select_related("grove"))

    def is_linked(self, tree: Tree) -> bool:
        """Whether any is linked to the tree or to a node of it."""
        return linked_to(tree, Document.objects.all()).exists()

    def mentioning(self, actor: Actor, node: Node) -> list[GroveText]:
        """Those that embed a version of the node. Three queries, and four for each candidate, at
        most 20."""
        among = documents_for(actor, node.tree).order_by()
        names = lookup.rows().filter(slot=node.slot_id).values_list("pk", "local_id")
        versions = dict(names)
        named = DocumentEmbed.objects.filter(name__in=versions.values(), document__in=among)
        embedding = named.order_by("document").values_list("document", flat=True).distinct()
        rows = Revision.objects.filter(number=F("document__revision"))
        rows = rows.filter(document__in=list(embedding[:MOST_EMBEDDING]))
        revisions = list(rows.select_related("document__grove", "content").order_by())
        seen: list[GroveText] = []
        for row in sorted(revisions, key=attrgetter("document_id")):
            written = documents.embeds_of(row.text)
            ends = embedded(actor, row.document, written).values()
            if any(isinstance(end, int) and end in versions for end in ends):
                seen.append(row.document)
        return seen

    def linked_items(
        self, actor: Actor, text: GroveText, kind: str, here: Tree | None
    ) -> list[int]:
        """The items at the other ends of its links of one type, that it embeds, or that are its
        annotations."""
        if kind == "annotations":
            notes = queries.notes_on(actor, _document(text), here)
            return [ids.of_node(annotation.note.pk) for annotation in notes]
        links = queries.links_of_document(actor, _document(text), here)
        own = queries.derived_links(actor, _document(text), kind, here)
        return [link.item for link in (*links, *own) if link.type == kind and link.item]

    def parts_within(self, text: GroveText) -> list[Slice]:
        """Its sections that lie in no other."""
        return [
            Slice("section", name=section.id)
            for section in queries.outermost_sections(_document(text))
        ]

    def names(self, items: Iterable[int]) -> dict[int, str]:
        """`doc:ID` of each; one query, none if no item is a document."""
        if not (keys := keys_of(items)):
            return {}
        rows = Document.objects.filter(pk__in=keys).values_list("pk", "uid")
        return {ids.of_document(key): f"doc:{uid}" for key, uid in rows}

    def titles(self, items: Iterable[int]) -> dict[int, str]:
        """The title of each."""
        if not (keys := keys_of(items)):
            return {}
        rows = Document.objects.filter(pk__in=keys).values_list("pk", "title")
        return {ids.of_document(key): title for key, title in rows}

    def versions(self, items: Iterable[int]) -> dict[int, str]:
        """The number of the newest revision of each."""
        if not (keys := keys_of(items)):
            return {}
        rows = Document.objects.filter(pk__in=keys).values_list("pk", "revision")
        return {ids.of_document(key): str(revision) for key, revision in rows}

    def item_of(self, grove: int, uid: str) -> int | None:
        """The item of the grove's document with this id."""
        rows = Document.objects.filter(grove=grove, uid=uid).values_list("pk", flat=True)
        key = rows.first()
        return None if key is None else ids.of_document(key)

    # what they say

    def part_of(self, text: GroveText, part: Slice | None = None) -> TextPart:
        """The newest revision, or a part of it."""
        return queries.text_of(_document(text), part)

    def source(self, item: int, version: str) -> WindowSource | None:
        """The revision of that number."""
        rows = Revision.objects.filter(document=-item, number=int(version))
        revision = rows.select_related("content").first()
        return None if revision is None else source_of(revision)

    def whole(self, item: int) -> TextPart | None:
        """The newest revision, whoever may read it."""
        document = _rows([item]).select_related("grove").first()
        return None if document is None else queries.text_of(document)

    def current(self, item: int) -> str | None:
        """The text with what was typed and is not settled yet."""
        document = _rows([item]).first()
        return None if document is None else queries.current(document)

    def settled(self, context: Context, item: int) -> str | None:
        """The text of the newest revision, which is made first of what was typed; in a dry run,
        the text with what was typed."""
        document = _rows([item]).select_related("grove").first()
        if document is None:
            return None
        if document.head == document.settled or context.world.is_dry:
            return queries.current(document)
        with context.grove_stream() as writer:
            return document_log.settled_now(writer, document, at=context.now).text

    def current_of(self, items: Iterable[int]) -> dict[int, str]:
        """Two queries for all that are settled, and two for each other one."""
        documents = list(_rows(items))
        settled = [document.pk for document in documents if document.head == document.settled]
        rows = Revision.objects.filter(document__in=settled, number=F("document__revision"))
        newest = list(rows.select_related("content").order_by())
        read_whole(row.content for row in newest)
        texts = {row.document_id: row.text for row in newest}
        texts |= {
            document.pk: queries.current(document)
            for document in documents
            if document.pk not in texts
        }
        return {ids.of_document(key): text for key, text in texts.items()}

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
        """The documents with the words in their title or text, best first."""
        rows = documents_for(actor, tree)
        rows = linked_to(tree, rows) if linked and tree is not None else rows
        rows = rows if among is None else rows.filter(pk__in=keys_of(among))
        return list[TextPart](queries.matching(rows, query, limit=limit))

    def changes(self, actor: Actor, tree: Tree, since: datetime) -> list[ChangedText]:
        """What others wrote: the newest revisions with their differences."""
        return changes_since(actor, tree, since)

    def augments(self, grove: int) -> list[tuple[str, str, str]]:
        """The augments of a grove; one query."""
        return list(_AUGMENTS.all(grove=grove))

    def lore(self, actor: Actor, tree: Tree) -> tuple[LoreEntry, ...]:
        """The lore of a tree."""
        return queries.lore_of(actor, tree)

    # what a workspace has seen

    def seen_version(self, context: Context, text: GroveText) -> int:
        """The revision that the workspace was last shown."""
        return revision_seen(context.workspace, _document(text))

    def note_seen(self, context: Context, item: int, version: str) -> None:
        """The workspace has seen a revision."""
        context.add(DocumentSeen(-item, int(version)))

    # what is written

    def make(self, actor: Actor, *, title: str, kind: str, text: str) -> GroveText | None:
        """A new document."""
        known: Kind = "augment" if kind == "augment" else "note"
        return make_document(actor, title=title, kind=known, text=text)

    def titled(self, grove: Grove, title: str) -> GroveText | None:
        """The document of the grove with this title."""
        return Document.objects.filter(grove=grove, title_key=title_key(title)).first()

    def edit(self, context: Context, item: int, edits_of: EditsOf) -> None:
        """Writes a document, in the stream of its grove."""
        document = _rows([item]).select_related("grove").get()

        def change(now: str, _: Revision) -> Sequence[Edit]:
            return [Edit(*edit) for edit in edits_of(now)]

        by = context.actor.participant
        with context.grove_stream() as writer:
            document_log.write(writer, document, change, by=by, at=context.now)

    # summaries

    def lacks_summary(self, actor: Actor, item: int, *, again: bool) -> GroveText | None:
        """The document, if a summary of its newest revision should be made now."""
        document = documents_for(actor).filter(pk__in=keys_of([item])).first()
        if document is None or not summaries.is_lacking(document, again=again):
            return None
        return document

    def to_summarise(self, actor: Actor, item: int) -> tuple[str, str] | None:
        """(title, text without front matter), if the actor may read it."""
        document = documents_for(actor).filter(pk__in=keys_of([item])).first()
        if document is None:
            return None
        text = queries.newest(document).text
        return document.title, text[body_start(text) :]

    def keep_summary(self, item: int, version: int, summary: str) -> str | None:
        """Stores the summary of a revision."""
        rows = _rows([item])
        rows.update(summary=summary, summary_revision=version)
        return rows.values_list("uid", flat=True).first()

    def forget_summaries(self, items: Iterable[int]) -> None:
        """Removes the summaries of documents."""
        _rows(items).update(summary="", summary_revision=0)

    def home_of(self, actor: Actor, text: GroveText) -> Tree | None:
        """A tree that it is linked to, else any of its grove."""
        return summaries.home_of(actor, _document(text))


def _document(text: GroveText) -> Document:
    """The document that a text of the grove is."""
    if not isinstance(text, Document):
        raise TypeError(f"{text!r} is no document")
    return text


_AUGMENTS = PreparedQuery(
    lambda: (
        Revision.objects.filter(
            document__grove=Given("grove"),
            document__kind="augment",
            number=F("document__revision"),
        )
        .order_by()
        .values_list("document__uid", "document__title", "content__text")[:MOST_AUGMENTS]
    )
)


# What others wrote since a moment.


MOST_DOCUMENTS = 20  # whose revisions are read
MOST_REVISIONS = 50  # of a document, the newest ones
SHOWN_REVISIONS = 3  # of a document
MOST_COMPARED = 100_000  # characters of a text of which the differing words are shown


def changes_since(actor: Actor, tree: Tree, since: datetime) -> list[ChangedText]:
    """The newest revisions by others, with their differences. At most four queries."""
    rows = documents_for(actor, tree).filter(touched_at__gt=since)
    touched = {
        document.pk: document for document in rows.order_by("-touched_at", "-pk")[:MOST_DOCUMENTS]
    }
    if not touched:
        return []
    newest = Revision.objects.filter(document__in=touched, at__gt=since)
    newest = newest.filter(number__gt=F("document__revision") - MOST_REVISIONS)
    others = newest.exclude(by=actor.participant).order_by("-number")
    numbers_of: dict[int, list[int]] = defaultdict(list)
    for key, number in others.values_list("document", "number"):
        numbers_of[key].append(number)
    texts = _texts_of({key: numbers[:SHOWN_REVISIONS] for key, numbers in numbers_of.items()})
    changes = []
    for key, numbers in numbers_of.items():
        shown = [_revised(texts, key, number) for number in numbers[:SHOWN_REVISIONS]]
        left = len(numbers) - len(shown)
        sentence = "; ".join([*shown, *([f"and {left} before"] if left else [])])
        changes.append(ChangedText(touched[key], texts[key, numbers[0]].at, sentence))
    return changes


def _texts_of(numbers: dict[int, list[int]]) -> dict[tuple[int, int], Revision]:
    """The revisions with these numbers, and those before them, with their texts."""
    wanted = Q()
    for key, some in numbers.items():
        wanted |= Q(document=key, number__in={number - back for number in some for back in (0, 1)})
    rows = list(Revision.objects.filter(wanted).select_related("content", "by")) if wanted else []
    read_whole(row.content for row in rows if row.length <= MOST_COMPARED)
    return {(row.document_id, row.number): row for row in rows}


def _revised(texts: dict[tuple[int, int], Revision], key: int, number: int) -> str:
    """`revision 2 by Ada, line 3: - "stood" + "lay"`."""
    new, old = texts[key, number], texts.get((key, number - 1))
    by = f"revision {number} by {as_sent(new.by.name)}"
    if old is None:
        return f"new by {as_sent(new.by.name)}"
    if max(old.length, new.length) > MOST_COMPARED:
        return by
    return f"{by}, {difference_named(old.text, new.text)}"


have_texts(Documents())
