"""The export formats: what each can contain, and what an export of a tree leaves out."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from django.db.models import F
from django.db.models.lookups import Exact
from django.utils.translation import gettext_noop

from loom.access import Actor
from loom.errors import CommandError, not_found
from loom.links.models import Link
from loom.text.images import IMAGE_SIGN, hashes_in
from loom.transfer.large_trees import counts_of_tree
from loom.transfer.selection import (
    IDS_AT_ONCE,
    ExportSelection,
    Selection,
    batched,
    select,
)
from loom.transfer.writers import archive, books, chats, looms, parquet, preferences
from loom.transfer.writers import heddle as heddle_writer
from loom.transfer.writers import text as text_writer
from loom.trees import feature_parts
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup, outline, places
from loom.trees.queries.main_line import main_line_of

Scope = Literal["tree", "path", "both"]
Writer = Callable[[ExportSelection], Iterator[bytes]]
PIECE = 64 * 1024  # bytes of one piece
LARGE = 20_000  # nodes of a whole tree, above which the database counts for a preview
MOST_OTHERS = 10_000  # texts on other branches that a preview counts
_VISIBLE = Node.objects.filter(kind="text", slot__gte=F("id"), pruned=False)
ALL = (
    "authors",
    "times",
    "versions",
    "pruned",
    "sandbox",
    "notes",
    "bookmarks",
    "tags",
    "links",
    "excluded",
    "proofs",
    "calls",
    "images",
    "thoughts",
    "description",
    "context",
    "steering",
    "documents",
)


@dataclass(frozen=True)
class ExportFormat:
    """One format: the extension and media type of its file, its writer, and in words which of
    `ALL` it contains and which of notes, authors and calls are optional."""

    name: str
    label: str
    ending: str
    media: str
    scope: Scope
    write: Writer
    holds: str
    options: str = ""

    def pieces(self, wanted: ExportSelection) -> Iterator[bytes]:
        """The file, in pieces of a useful size: each one is passed between threads."""
        pieces = self.write(wanted)
        return pieces if self.name == "heddle" else _gathered(pieces)


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= PIECE:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _heddle(wanted: ExportSelection) -> Iterator[bytes]:
    return heddle_writer.pieces(wanted.actor, wanted.tree, calls=wanted.calls)


def _text(wanted: ExportSelection) -> Iterator[bytes]:
    if wanted.end is None:
        return text_writer.tree_as_text(wanted.actor, wanted.tree, wanted.workspace)
    return text_writer.as_text(wanted.actor, wanted.tree, wanted.workspace, wanted.end)


def _markdown(wanted: ExportSelection) -> Iterator[bytes]:
    if wanted.end is None:
        yield from text_writer.tree_as_markdown(
            wanted.actor, wanted.tree, wanted.workspace, authors=wanted.authors
        )
    else:
        yield from text_writer.as_markdown(
            wanted.actor, wanted.tree, wanted.workspace, wanted.end, authors=wanted.authors
        )
    if wanted.notes or wanted.calls:
        selection = select(wanted)
        if wanted.notes:
            yield from archive.notes(wanted, selection)
        if wanted.calls:
            ids = [selection.chosen[step.slot] for step in selection.steps()]
            yield from archive.provenance(wanted, ids)


_JSON, _LINES = "application/json", "application/jsonl"
_EPUB = "application/epub+zip"
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_HTML = "text/html; charset=utf-8"
_TEXT, _MD = "text/plain; charset=utf-8", "text/markdown; charset=utf-8"
_ZIP = "application/zip"
_EVERY = " ".join(ALL)
_TREE = " ".join(option for option in ALL if option != "documents")
_BOOK, _READABLE = "authors notes excluded", "notes authors"
_TABLE = (
    ExportFormat("heddle", "Heddle JSON", "json", _JSON, "tree", _heddle, _TREE, "calls"),
    ExportFormat("zip", "ZIP", "zip", _ZIP, "tree", archive.archive, _EVERY, "calls"),
    ExportFormat(
        "html",
        gettext_noop("Web page"),
        "html",
        _HTML,
        "both",
        text_writer.html,
        f"{_BOOK} times images description",
        _READABLE,
    ),
    ExportFormat(
        "markdown",
        "Markdown",
        "md",
        _MD,
        "both",
        _markdown,
        f"{_BOOK} times calls",
        f"{_READABLE} calls",
    ),
    ExportFormat("text", gettext_noop("Plain text"), "txt", _TEXT, "both", _text, "excluded"),
    ExportFormat("epub", "EPUB", "epub", _EPUB, "path", books.epub, f"{_BOOK} images", _READABLE),
    ExportFormat("docx", "Word", "docx", _DOCX, "path", books.docx, f"{_BOOK} images", _READABLE),
    ExportFormat(
        "pyloom",
        "pyloom",
        "json",
        _JSON,
        "both",
        looms.pyloom,
        "models times bookmarks tags excluded",
    ),
    ExportFormat(
        "loomsidian",
        "Loomsidian",
        "json",
        _JSON,
        "both",
        looms.loomsidian,
        "times bookmarks excluded",
    ),
    ExportFormat(
        "exoloom",
        "Exoloom",
        "json",
        _JSON,
        "both",
        looms.exoloom,
        "authors times bookmarks pruned excluded description",
        "authors",
    ),
    ExportFormat(
        "miniloom",
        "MiniLoom",
        "json",
        _JSON,
        "both",
        looms.miniloom,
        "models times excluded",
    ),
    ExportFormat(
        "sillytavern",
        "SillyTavern",
        "jsonl",
        _LINES,
        "path",
        chats.sillytavern,
        "authors times excluded swipes",
        "authors",
    ),
    ExportFormat(
        "jsonl",
        "Chat JSONL",
        "jsonl",
        _LINES,
        "both",
        chats.jsonl,
        "authors context",
        "authors",
    ),
    ExportFormat(
        "preferences",
        "Preference pairs",
        "jsonl",
        _LINES,
        "both",
        preferences.preferences,
        "authors pruned context",
        "authors",
    ),
    ExportFormat(
        "parquet",
        "Parquet tables",
        "parquet.zip",
        _ZIP,
        "tree",
        parquet.pieces,
        "authors times versions pruned sandbox notes links excluded thoughts proofs other",
    ),
)
FORMATS: dict[str, ExportFormat] = {export_format.name: export_format for export_format in _TABLE}
OWN = ("heddle", "zip")  # formats with the parts of features, which can be imported again
BY_PATH = ("markdown", "text", "epub", "docx", "sillytavern")  # formats that default to the path
# Authors are only written on request: training tools refuse unknown fields.
NAMELESS = ("jsonl", "preferences")


def format_named(name: str) -> ExportFormat:
    """The format; INVALID_SYNTAX if there is none of that name."""
    if name not in FORMATS:
        raise CommandError(
            "INVALID_SYNTAX", "This format does not exist.", hint=" or ".join(FORMATS)
        )
    return FORMATS[name]


def asked(
    actor: Actor, tree: Tree, params: Mapping[str, str], *, of_page: bool = False
) -> tuple[ExportFormat, ExportSelection]:
    """The format and what to write, from the parameters of an address: `format`, `node` or
    `whole`, `notes`, `authors`, `calls`. A page requests previews of any combination: there the
    scope is that of the format."""
    format = format_named(params.get("format", "heddle"))
    named, is_whole = params.get("node", ""), params.get("whole") in ("1", "true")
    if of_page and format.scope != "both":
        named, is_whole = (named, False) if format.scope == "path" else ("", False)
    if named and (is_whole or format.scope == "tree"):
        hint = "leave out whole" if is_whole else "leave out node"
        raise CommandError(
            "INVALID_SYNTAX", "node= can't be combined with the export of a whole tree.", hint=hint
        )
    if is_whole and format.scope == "path":
        raise CommandError(
            "INVALID_SYNTAX", "This format holds one path.", hint="leave out whole, or name a node"
        )
    if (calls := params.get("calls", "")) not in ("", "none", "full"):
        raise CommandError("INVALID_SYNTAX", "calls is none or full.", hint="calls=full")
    workspace = Workspace.objects.filter(participant=actor.participant, tree=tree).first()
    end = None
    if named or (format.name in BY_PATH and not is_whole):
        end = _end(tree, named)
    wanted = ExportSelection(
        actor,
        tree,
        workspace,
        end,
        notes=params.get("notes") in ("1", "true"),
        authors=params.get("authors", "0" if format.name in NAMELESS else "1") in ("1", "true"),
        calls=calls == "full" or (not calls and format.scope == "tree"),
    )
    return format, wanted


def _end(tree: Tree, named: str) -> Node:
    """The text that the path leads to: the one that was named, else the end of the main line."""
    if not named:
        return main_line_of(tree).end
    node = lookup.find_named(tree, named)
    if node is None:
        raise not_found(f"[{named[:20]}]")
    return node


# What an export of this tree leaves out.


@dataclass(frozen=True)
class Loss:
    """A kind of data that the file will not contain: the number, a sentence for people, and whether
    there are more than were counted."""

    what: str
    count: int
    says: str
    is_cut: bool = False


@dataclass(frozen=True)
class Preview:
    """What an export contains and leaves out; `is_rough`: pruned parts are counted too. `warnings`
    are sentences about names that stay in the file although they were not asked for."""

    nodes: int
    characters: int
    losses: tuple[Loss, ...]
    is_rough: bool = False
    warnings: tuple[str, ...] = ()


_SAYS = {
    "other": ("text on another branch", "texts on other branches"),
    "versions": (
        "other version of a text (the current version is written)",
        "other versions of texts (the current version of each is written)",
    ),
    "pruned": ("pruned text, with what is below it", "pruned texts, with what is below them"),
    "sandbox": ("sandbox", "sandboxes"),
    "excluded": (
        "text that is excluded from what models are sent",
        "texts that are excluded from what models are sent",
    ),
    "authors": ("name of an author", "names of authors"),
    "times": ("time of writing", "times of writing"),
    "notes": ("annotation", "annotations"),
    "bookmarks": ("bookmark", "bookmarks"),
    "tags": ("tag", "tags"),
    "links": ("link", "links"),
    "images": ("image (the text says what it shows)", "images (texts say what they show)"),
    "calls": (
        "call: what a model was asked and answered",
        "calls: what models were asked and answered",
    ),
    "thoughts": ("thought of a model", "thoughts of models"),
    "description": ("description of the tree", "descriptions"),
    "context": ("system context of the tree", "system contexts"),
    "steering": (
        "text that models are also sent: the memory or the author's note",
        "texts that models are also sent: the memory and the author's note",
    ),
    "documents": ("linked document", "linked documents"),
    "proofs": (
        "hash that proves who wrote what and when",
        "hashes that prove who wrote what and when",
    ),
}


def preview(wanted: ExportSelection, format: ExportFormat) -> Preview:
    """What this export contains and leaves out. Only counts; of a whole tree of more than LARGE
    nodes with what is in pruned parts."""
    tree, kept = wanted.tree, _kept(wanted, format)
    is_cut = is_rough = False
    if wanted.end is None and outline.size_of(wanted.actor, tree).nodes > LARGE:
        counts, is_rough = counts_of_tree(tree) + _counts_beside(wanted), True
    else:
        selection = select(wanted)
        counts = _counts(wanted, selection) + _counts_beside(wanted)
        if wanted.end is not None:
            counts["other"], is_cut = _others(wanted, selection)
            if "swipes" in kept:
                counts["other"] -= _beside(selection)
    if "models" in kept:  # names of models, not of people
        counts["authors"] = counts["people"]
    losses = tuple(
        _loss(what, counts[what], is_cut=is_cut and what == "other")
        for what in _SAYS
        if what not in kept and counts[what] > 0
    )
    if format.name in OWN:
        of_parts = feature_parts.losses(wanted.actor, tree)
        losses += tuple(Loss(loss.what, loss.count, loss.says) for loss in of_parts)
    return Preview(
        counts["nodes"], counts["characters"], losses, is_rough, _names_in(wanted, format)
    )


NAMES_OF_AUTHORS = gettext_noop("This format always holds the names of authors.")
NAMES_OF_MODELS = gettext_noop("This format always holds the names of models.")
NAMES_IN_CALLS = gettext_noop("What models were sent and answered may hold names.")


def _names_in(wanted: ExportSelection, format: ExportFormat) -> tuple[str, ...]:
    """What the file has of names if it is asked for without them."""
    if wanted.authors:
        return ()
    holds = format.holds.split()
    if "authors" in holds and "authors" not in format.options.split():
        return (NAMES_OF_AUTHORS,)
    if "models" in holds:
        return (NAMES_OF_MODELS,)
    return (NAMES_IN_CALLS,) if "calls" in holds and wanted.calls else ()


def _loss(what: str, count: int, *, is_cut: bool) -> Loss:
    singular, more = _SAYS[what]
    says = f"{count:,} {singular if count == 1 else more}"
    return Loss(what, count, f"more than {says}" if is_cut else says, is_cut)


def _kept(wanted: ExportSelection, format: ExportFormat) -> set[str]:
    """What the format contains, given the options."""
    kept = set(format.holds.split())
    kept -= {option for option in format.options.split() if not getattr(wanted, option)}
    if format.name == "markdown" and wanted.calls:
        kept.add("proofs")
    if wanted.tree.mode == "buffer" and format.name in ("markdown", "epub", "docx", "html"):
        kept -= {"authors", "times"}  # its texts are written as one
    if not wanted.authors and format.name == "html":
        kept.discard("times")
    return kept


def _counts_beside(wanted: ExportSelection) -> Counter[str]:
    """What belongs to the tree and is no node of it."""
    tree = wanted.tree
    return Counter(
        description=int(bool(tree.description)),
        context=int(bool(tree.system_context)),
        steering=bool(tree.memory) + bool(tree.author_note),
        documents=len(grove_texts().linked(wanted.actor, tree)),
    )


def _counts(wanted: ExportSelection, selection: Selection) -> Counter[str]:
    """The numbers of things that a format may have no place for, on the path or in the tree, with
    those of `nodes` that have a text and of its `characters`."""
    tree = wanted.tree
    marks = selection.marks().values()
    written = [selection.lengths[selection.chosen[step.slot]] for step in selection.steps()]
    counts = Counter(
        nodes=sum(size > 0 for size in written),
        characters=sum(written),
        times=len(selection.chosen),
        proofs=len(selection.chosen),
        versions=sum(len(keys) - 1 for keys in selection.versions.values()),
        bookmarks=sum(len(mark.bookmarks) for mark in marks),
        tags=sum(len(mark.tags) for mark in marks),
    )
    authors: set[tuple[int, str]] = set()
    calls: set[str] = set()
    for slots in batched(selection.chosen, IDS_AT_ONCE):
        rows = Node.objects.filter(slot__in=slots).order_by()
        authors.update(rows.values_list("author", "author__kind").distinct())
        calls.update(rows.exclude(call_uid="").values_list("call_uid", flat=True).distinct())
        counts["excluded"] += rows.filter(excluded=True).count()
        below = Node.objects.filter(parent_slot__in=slots, pruned=False, slot__gte=F("id"))
        counts["notes"] += below.filter(kind="annotation").count()
        counts["thoughts"] += below.filter(kind="thought").count()
        here = Exact(lookup.compared("tree"), tree.pk)
        links = Link.objects.filter(here, removed_at=None, source__in=slots)
        counts["links"] += links.count()
    counts["authors"], counts["calls"] = len(authors), len(calls)
    counts["people"] = sum(kind == "human" for _, kind in authors)
    named = {
        sha for slots in batched(selection.chosen.values(), IDS_AT_ONCE) for sha in _images(slots)
    }
    counts["images"] = len(named)
    if wanted.end is None:
        texts = lookup.nodes_in(tree.pk).filter(kind="text")
        counts["pruned"] = texts.filter(pruned=True, sandbox=False).count()
        counts["sandbox"] = texts.filter(sandbox=True, pruned=False).count()
    return counts


def _images(keys: list[int]) -> Iterator[str]:
    rows = Node.objects.filter(pk__in=keys, text__contains=IMAGE_SIGN)
    for text in rows.values_list("text", flat=True).iterator(chunk_size=100):
        yield from hashes_in(text)


def _others(wanted: ExportSelection, selection: Selection) -> tuple[int, bool]:
    """The number of visible texts that are not on the path, and whether more were not counted
    (`MOST_OTHERS`)."""
    tree, chosen = wanted.tree, selection.chosen.keys()
    most = MOST_OTHERS + len(chosen)
    slots = places.slots_from(lookup.root_of(tree).pk, most=most)
    others = {*slots} - chosen
    for sandbox in _VISIBLE.filter(tree=tree, sandbox=True).values_list("pk", flat=True):
        others.difference_update(places.slots_from(sandbox, most=most))
    return min(len(others), MOST_OTHERS), len(slots) == most


def _beside(selection: Selection) -> int:
    """The number of visible texts that are beside one of the path."""
    texts = _VISIBLE.filter(sandbox=False, parent_slot__isnull=False)
    every = sum(
        texts.filter(parent_slot__in=above).count()
        for above in batched(selection.below, IDS_AT_ONCE)
    )
    on_path = sum(
        texts.filter(pk__in=slots).count() for slots in batched(selection.chosen, IDS_AT_ONCE)
    )
    return every - on_path
