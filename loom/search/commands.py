"""Finding things: the outline of a tree, and search."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

from django.db.models import F

from loom.access import Actor, demand
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError
from loom.language.refs import Ref, document_named, tree_named
from loom.language.slices import parse_ref
from loom.language.verbs import Phrases, Verb
from loom.notes.commands.annotations import ANNOTATION_FORMS
from loom.notes.queries import marks_shown
from loom.people.names import as_sent
from loom.permissions import CROSS_TREE, LOOM, READ_DOCUMENTS
from loom.search import queries as search
from loom.search.blending import says_enough
from loom.search.filters import EVERYTHING, By, Filters, parse_since
from loom.search.nearest import prepare
from loom.text.counts import counted
from loom.text.shortening import excerpt, summary_or_excerpt
from loom.trees.effects import OutlineChanged
from loom.trees.grove_texts import TextPart, WindowSource, grove_texts, is_text
from loom.trees.models import Node, Tree
from loom.trees.named_items import get_node, touched, tree_of
from loom.trees.queries import lookup
from loom.trees.queries.lookup import NodeRow, withheld
from loom.trees.queries.outline import drawn, outline, outline_of
from loom.trees.queries.places import places_of
from loom.turns.models import Turn
from loom.workspace.commands.windows import place_window, title_of, token_change, within_limit
from loom.workspace.models import Window
from loom.workspace.queries.windows import source_of
from loom.workspace.window_rules import Lines, total_of

MAX_DEPTH = 50
MAX_LINES = 400


class TreeArgs(Args):
    """Where the outline starts, how deep it goes, and whether it shows summaries."""

    ref: Annotated[RefField | None, Written("ref", lead="from")] = None
    depth: Annotated[
        int, Written("option", key="depth", value="int", minimum=0, maximum=MAX_DEPTH)
    ] = 5
    summary: Annotated[bool, Written("flag")] = False


describe_verb(
    Verb(
        "tree",
        past="looked at the tree",
        example="Show the tree: → tree",
        taught="tree [from REF] [depth:5] [summary] — the outline of what is below",
        is_harmless=True,
        takes_each=True,
        phrases=(
            Phrases(
                "outline|show tree|show outline|view tree|view outline|see tree|see outline"
                "|draw tree|draw outline|display tree|display outline|print tree|give me tree"
                "|give me outline|map|show map|let me see tree|print outline"
                "|let me see outline|show whole tree|list tree|structure|show structure"
                "|view structure"
            ),
        ),
        swaps=(
            ("with summaries", "summary"),
            ("to depth", "depth"),
            ("levels deep", "depth"),
            ("levels", "depth"),
            ("level", "depth"),
            ("deep", "depth"),
        ),
        dropped=("at beginning below of out starting under whole"),
        options={"levels": "depth", "max_depth": "depth"},
    )
)


@command("tree", group="Look", klass="look", permissions={LOOM})
def tree(context: Context, args: TreeArgs) -> Reply:
    """Shows what is below a node as an outline; `*` is your position."""
    start = _start(context, args.ref)
    listing = outline(
        context.actor, start.tree, context.workspace, start, depth=args.depth, limit=MAX_LINES
    )
    gone = withheld(context.actor, [line.row.id for line in listing.lines])
    marks = marks_shown({line.row.id: line.row.slot_id for line in listing.lines})

    def words(row: NodeRow) -> str:
        if row.id in gone or not row.text:
            return ""
        excerpt_shown = summary_or_excerpt(row.summary, row.text, 30 if args.summary else 8)
        return f"{excerpt_shown} · {marks[row.id]}" if row.id in marks else excerpt_shown

    lines = drawn(listing.lines, context.here.slot_id, words)
    if listing.is_cut:
        lines.append(f"… more than {MAX_LINES} lines; → tree from REF shows one part")
    home = "" if start.tree == context.tree else f"tree:{start.tree.uid} node:"
    refs = tuple(f"{home}{line.row.local_id}" for line in listing.lines)
    return Reply("\n".join(lines), refs=refs, items=touched(start))


def _start(context: Context, ref: Ref | None) -> Node:
    if ref is None:  # of the tree of the position, which `switch` may have changed
        here = context.here
        return here if here.parent_slot_id is None else lookup.root_of(here.tree)
    if ref.kind == "tree":
        own = tree_of(context, ref)
        return lookup.root_of(own)
    return get_node(context, ref)


MOST_BESIDE = 300  # characters on each side of a hit
MOST_ANSWERED = 16_000  # characters of an answer
MOST_NAMES = 10  # that the refusal of an unknown author lists
KINDS = ("text", "annotation", *ANNOTATION_FORMS)


class FindArgs(Args):
    """What to look for, where, and how many hits."""

    query: Annotated[str, Written("quoted")]
    where: Annotated[str, Written("option", key="in", value="ref", choices=("tree", "grove"))] = (
        "tree"
    )
    max: Annotated[int, Written("option", key="max", value="int", minimum=1, maximum=50)] = 5
    context: Annotated[
        int, Written("option", key="context", value="int", minimum=0, maximum=20)
    ] = 3


class FindWith(FindArgs):
    """Words, if any, and what else a hit must be: its tag, author, kind, time and marks."""

    query: Annotated[str, Written("quoted")] = ""
    tag: Annotated[str, Written("option", key="tag", value="quoted")] = ""
    by: Annotated[str, Written("option", key="by", value="quoted")] = ""
    kind: Annotated[str, Written("option", key="kind", value="choice", choices=KINDS)] = ""
    since: Annotated[str, Written("option", key="since", value="quoted", shown='"2026-01-31"')] = ""
    before: Annotated[
        str, Written("option", key="before", value="quoted", shown='"2026-01-31"')
    ] = ""
    leaf: Annotated[bool, Written("flag")] = False
    bookmarked: Annotated[bool, Written("flag")] = False


describe_verb(
    Verb(
        "find",
        past="searched",
        example='Find a word: → find "lamp"',
        taught=(
            'find "words" [in:grove|REF] [open]; find [tag:"x"] [by:"name"] [kind:note] '
            '[since:"2026-01-31"] [leaf] [bookmarked] — searches; open makes windows'
        ),
        is_harmless=True,
        phrases=(
            Phrases(
                "find|look for|where is|where does it say|which nodes mention"
                "|which nodes contain|grep|locate|search tree for|search this tree for"
                "|show nodes that mention|find nodes that mention|find nodes that contain"
                "|find nodes with|find all nodes with|what mentions|who mentions|search for"
                "|where does|find nodes",
                needs="text",
            ),
            Phrases(
                "search grove for|search whole grove for|search everywhere for",
                before="in:grove",
                needs="text",
            ),
            Phrases("search|search tree|search nodes for|find mentions of", needs="text"),
            Phrases("find all mentions of|find passages that say|find passages with", needs="text"),
            Phrases("which contains|which mentions|which passages mention", needs="text"),
            Phrases("clear find|clear search|clear hits|clear marks", before="clear"),
        ),
        swaps=(
            ("in this tree", "in:tree"),
            ("in the tree", "in:tree"),
            ("in the grove", "in:grove"),
            ("in the whole grove", "in:grove"),
            ("in all trees", "in:grove"),
            ("everywhere", "in:grove"),
            ("at most", "max"),
            ("up to", "max"),
            ("and open them", "open"),
        ),
        dropped=(
            "all containing every for hits mentioned mentioning nodes occur occurrence"
            " occurrences occurs of phrase text with word words"
        ),
        keys={"under": "in", "below": "in", "within": "in", "inside": "in"},
        options={"limit": "max", "top": "max"},
        notes={
            "search": "! this is what the tree holds; "
            'search "words" searches the web, where you may'
        },
    )
)


@contextlib.contextmanager
def prepared(actor: Actor, tree: Tree, args: FindArgs) -> Iterator[None]:
    """Prepares the question before the line takes its locks: another feature may have to ask an
    endpoint for it."""
    if says_enough(args.query):
        prepare(args.query, tree.grove)
    yield


@command("find", group="Look", klass="look", permissions={LOOM}, ahead=prepared)
def find(context: Context, args: FindArgs) -> Reply:
    """Searches for text, anywhere in a word and in every script; best matches first."""
    return answered(context, args, EVERYTHING)


@command("find", group="Look", klass="look", permissions={LOOM}, ahead=prepared)
def find_with(context: Context, args: FindWith) -> Reply:
    """Finds what has a tag, an author, a kind, a time or a bookmark, or where a branch ends; the
    newest first. With words: only where they stand."""
    return answered(context, args, _filters(context, args))


def _filters(context: Context, args: FindWith) -> Filters:
    only = Filters(
        type=args.kind if args.kind in ("text", "annotation") else "",  # type: ignore[arg-type]
        form="" if args.kind in ("text", "annotation") else args.kind,
        tag=args.tag.removeprefix("#"),
        author=_author(context, args.by) if args.by else "",
        since=_time("since", args.since),
        before=_time("before", args.before),
        is_leaf=args.leaf,
        is_bookmarked=args.bookmarked,
    )
    if only == EVERYTHING:
        hint = 'write → find "words", or a filter such as tag:"name", by:"name" or leaf'
        raise CommandError("INVALID_SYNTAX", "find needs words or a filter.", hint=hint)
    return only


def _author(context: Context, name: str) -> str:
    """The uid of the participant of the grove with that name."""
    people = context.actor.grove.participants
    named = people.filter(name__iexact=name).order_by(F("archived_at").desc(nulls_first=True))
    uid = named.values_list("uid", flat=True).first()
    if uid is None:
        names = list(people.order_by("pk").values_list("name", flat=True)[:MOST_NAMES])
        hint = f"some of those who are here: {', '.join(map(as_sent, names))}"
        raise CommandError("NOT_FOUND", f"Nobody here is called {excerpt(name)}.", hint=hint)
    return uid


def _time(key: str, given: str) -> datetime | None:
    at = parse_since(given) if given else None
    if given and at is None:
        reason = f"{key}: takes a date, not {excerpt(given)}."
        raise CommandError("INVALID_SYNTAX", reason, hint=f'write {key}:"2026-01-31"')
    return at


def answered(context: Context, args: FindArgs, only: Filters, by: By = "") -> Reply:
    """The reply to a search with filters: its hits, which are marked in the outline."""
    if isinstance(args.where, Ref) and args.where.kind == "document":
        if only != EVERYTHING:
            reason = "These filters are for texts and annotations, not for lines of a document."
            raise CommandError("INVALID_SYNTAX", reason, hint='write → find "words" in:doc:"name"')
        return _in_document(context, args.where, args)
    result = _without_request(context, _search_result(context, args, only, by))
    _mark(context, args.query, result)
    has_documents = only == EVERYTHING and by != "meaning"
    documents = _documents(context, args) if has_documents else []
    looked_for = f" for {excerpt(args.query)}" if args.query.strip() else ""
    many = counted(result.total - result.near + len(documents), "hit")
    lines = [f"{'' if result.is_all else 'more than '}{many}{looked_for}"]
    if result.near:
        lines[0] += f" · {counted(result.near, 'text')} near in meaning"
    ids = [hit.node.id for hit in result.hits if hit.node is not None]
    places = places_of(ids, context.workspace)
    with_words = next(
        (at for at, hit in enumerate(result.hits) if hit.is_near), len(result.hits)
    )  # the documents follow these: they have the words, too
    shown: list[str] = []
    refs: list[str] = []
    for hit in result.hits:
        where = places[hit.node.id] if hit.node is not None else []
        shown.append(" · ".join([_hit(context.tree, hit, args.context), *where]))
        refs.append(_ref(context.tree, hit))
    shown[with_words:with_words] = [
        _document_hit(document, args.query, args.context) for document in documents
    ]
    refs[with_words:with_words] = [f"doc:{document.of.uid}" for document in documents]
    lines += shown
    if only != EVERYTHING and result.total > len(result.hits):
        left = result.total - len(result.hits)
        lines.append(f"… {left:,} more; ask with max: up to 50, or with another filter")
    lines = _bounded(lines)
    elsewhere = dict.fromkeys(hit.tree for hit in result.hits if hit.tree != context.tree)
    items = touched(*elsewhere, *(document.of for document in documents))
    return Reply("\n".join(lines), refs=tuple(refs), items=items)


def _bounded(lines: list[str]) -> list[str]:
    """The lines that fit into MOST_ANSWERED characters, and a line that says how many do not."""
    room = MOST_ANSWERED
    for at, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            left = counted(len(lines) - at, "more hit")
            return [*lines[:at], f"… {left} left out; ask with a smaller max: or context:"]
    return lines


def _documents(context: Context, args: FindArgs) -> list[TextPart]:
    """The documents that contain the words and that the actor may read, of the tree or the
    grove."""
    if args.where not in ("tree", "grove") or READ_DOCUMENTS not in context.actor.permissions:
        return []
    linked = args.where == "tree"
    return grove_texts().matching(
        context.actor, context.tree, args.query, limit=args.max, linked=linked
    )


def _document_hit(shown: TextPart, query: str, around: int) -> str:
    """`● doc:"notes" §motive "…words around the hit…"`."""
    at = shown.text.casefold().find(query.casefold().strip())
    if at < 0 or len(shown.text.casefold()) != len(shown.text):
        return f"● {document_named(shown.of.title)}"
    line = shown.text.count("\n", 0, at)
    place = f"{document_named(shown.of.title)} {shown.part_at(line)}"
    return f"● {place} {_passage(shown.text, at, around)}"


def _in_document(context: Context, ref: Ref, args: FindArgs) -> Reply:
    """The lines of one document that have the words."""
    demand(context.actor, {READ_DOCUMENTS}, "find in a document")
    document = grove_texts().get(context, ref)
    text = grove_texts().part_of(document).text
    texts, lines_found = text.split("\n"), _lines_with(text, args.query)
    lines = [f"{counted(len(lines_found), 'line')} with {excerpt(args.query)}"]
    for number in lines_found[: args.max]:
        lines.append(f"● lines:{number} {excerpt(texts[number - 1])}")
    ref_ = f"doc:{document.uid}"
    return Reply("\n".join(lines), refs=(ref_,), items=touched(document))


class FindOpen(FindArgs):
    """What to look for, and how many lines to show around each hit."""

    query: Annotated[str, Written("quoted")]
    open: Annotated[str, Written("word", lead="open")]
    keep: Annotated[bool, Written("flag")] = False


class OpenQuery(FindArgs):
    """What to look for and open; `keep`: until the windows are hidden."""

    keep: Annotated[bool, Written("flag")] = False


@command(
    "find",
    group="Look",
    klass="look ✓",
    permissions={LOOM},
    stream="workspace",
    opens_windows=True,
    ahead=prepared,
)
def find_open(context: Context, args: FindOpen) -> Reply:
    """Opens windows on the best matches, with lines around them."""
    return _opened(context, args)


@command(
    "open",
    group="Keep",
    klass="look ✓",
    permissions={LOOM},
    stream="workspace",
    opens_windows=True,
    ahead=prepared,
)
def open_query(context: Context, args: OpenQuery) -> Reply:
    """Opens windows on the best matches, with lines around them, as `find … open` does."""
    return _opened(context, args)


def _opened(context: Context, args: FindOpen | OpenQuery) -> Reply:
    """Opens windows on the lines around the hits; one that already shows such a line is
    enlarged."""
    if isinstance(args.where, Ref) and args.where.kind == "document":
        hits, total = _places_in(context, args.where, args)
    else:
        result = _without_request(context, _search_result(context, args))
        _mark(context, args.query, result)
        nodes = [hit for hit in result.hits if hit.node is not None]
        others = _document_places(context, args)
        hits = sorted([*_places(context, nodes), *others], key=lambda hit: -hit.score)[: args.max]
        total = result.total + len(others)
    opened: dict[int, tuple[Window, float]] = {}
    for hit in hits:
        first, last = hit.line - args.context, hit.line + args.context
        lines = Lines(max(first, 1), min(last, total_of(hit.source.text)))
        marked = (args.query, hit.score)
        window = place_window(context, hit.source, lines, keep=args.keep, hit=marked)
        opened.setdefault(window.number, (window, hit.score))
        if is_text(hit.source.item):
            grove_texts().note_seen(context, hit.source.item, hit.source.version)
    words = [f"✓ opened {len(hits)} of {counted(total, 'hit')} for {excerpt(args.query)}"]
    words += [
        f"  {title_of(context, opened_window)} · ● {score:.2f}"
        for opened_window, score in opened.values()
    ]
    limited = within_limit(context, [opened_window for opened_window, _ in opened.values()])
    items = tuple(dict.fromkeys(hit.source.item for hit in hits))
    text = "\n".join(words) + limited + token_change(context)
    return Reply(text, refs=tuple(hit.ref for hit in hits), items=items)


class _Place(NamedTuple):
    """A hit that can be opened: its text, line, score and name."""

    source: WindowSource
    line: int
    score: float
    ref: str


def _places(context: Context, hits: Sequence[search.Hit]) -> list[_Place]:
    """The hits in nodes; one query."""
    keys = [hit.node.id for hit in hits if hit.node is not None]
    nodes = {row.pk: row for row in lookup.rows().filter(pk__in=keys)}
    return [
        _Place(
            source_of(nodes[hit.node.id]),
            hit.node.text.count("\n", 0, hit.at) + 1,
            hit.score,
            _ref(context.tree, hit),
        )
        for hit in hits
        if hit.node is not None
    ]


def _document_places(context: Context, args: FindArgs) -> list[_Place]:
    """The first hit in each document that has the words."""
    return [
        _Place(document.source, line, 1.0, f"doc:{document.of.uid}")
        for document in _documents(context, args)
        for line in _lines_with(document.text, args.query)[:1]
    ]


def _places_in(context: Context, ref: Ref, args: FindArgs) -> tuple[list[_Place], int]:
    """The lines of one document that have the words, and how many there are."""
    demand(context.actor, {READ_DOCUMENTS}, "find in a document")
    document = grove_texts().get(context, ref)
    shown = grove_texts().part_of(document)
    lines, source = _lines_with(shown.text, args.query), shown.source
    hits = [_Place(source, line, 1.0, f"doc:{document.uid}") for line in lines[: args.max]]
    return hits, len(lines)


def _lines_with(text: str, query: str) -> list[int]:
    """The numbers of the lines that have the words."""
    wanted = query.casefold().strip()
    return [at for at, line in enumerate(text.split("\n"), 1) if wanted in line.casefold()]


def _without_request(context: Context, result: search.SearchResult) -> search.SearchResult:
    """The hits of a turn, without the request that started it: the agent is sent that anyway, and
    looks for something else."""
    if not context.turn:
        return result
    asked = Turn.objects.filter(uid=context.turn).values_list("input_node_id", flat=True).first()
    hits = [hit for hit in result.hits if hit.node is None or hit.node.id != asked]
    near = sum(hit.is_near for hit in result.hits) - sum(hit.is_near for hit in hits)
    left = len(result.hits) - len(hits)
    return result._replace(hits=hits, total=result.total - left, near=result.near - near)


def _ref(here: Tree, hit: search.Hit) -> str:
    if hit.node is None:
        return f"tree:{hit.tree.uid}"
    home = "" if hit.tree == here else f"tree:{hit.tree.uid} node:"
    return f"{home}{hit.node.local_id}"


def _mark(context: Context, query: str, result: search.SearchResult) -> None:
    """Marks the hits of this tree in the outline, in place of those marked before."""
    hits = [hit.node.local_id for hit in result.hits if hit.node and hit.tree == context.tree]
    scores = {hit.node.local_id: hit.score for hit in result.hits if hit.node}
    marked = {"query": query, "hits": hits, "scores": {hit: scores[hit] for hit in hits}}
    context.add(OutlineChanged({**outline_of(context.workspace), **marked}))


def _search_result(
    context: Context, args: FindArgs, only: Filters = EVERYTHING, by: By = ""
) -> search.SearchResult:
    if args.where == "grove":
        demand(context.actor, {CROSS_TREE}, "find in:grove")
        return search.find_in_grove(context.actor, args.query, limit=args.max, only=only, by=by)
    if args.where == "tree":
        here = (context.actor, context.tree, context.workspace, args.query)
        return search.find_in_tree(*here, limit=args.max, only=only, by=by)
    ref = parse_ref(args.where) if isinstance(args.where, str) else args.where
    below = _start(context, ref)
    return search.find_in_tree(
        context.actor,
        below.tree,
        context.workspace,
        args.query,
        below=below,
        limit=args.max,
        only=only,
        by=by,
    )


def _hit(here: Tree, hit: search.Hit, around: int) -> str:
    """`● 0.81 [b3k9] "…words around the hit…"`."""
    if hit.node is None:
        return f"● {hit.score:.2f} {tree_named(hit.tree.title)}"
    where = "" if hit.tree.pk == here.pk else f" in {tree_named(hit.tree.title)}"
    return (
        f"● {hit.score:.2f} [{hit.node.local_id}]{where} {_passage(hit.node.text, hit.at, around)}"
    )


def _passage(text: str, at: int, around: int) -> str:
    """The words around a place in a text, `around` of them on each side, but at most MOST_BESIDE
    characters: a word has no bound, such as in a text without blanks."""
    start, end = max(at - MOST_BESIDE, 0), at + MOST_BESIDE
    before, after = text[start:at].split(), text[at:end].split()
    kept_before, kept_after = before[len(before) - around :] if around else [], after[: around + 1]
    head = "…" if len(before) > len(kept_before) or text[:start].strip() else ""
    tail = "…" if len(after) > len(kept_after) or text[end:].strip() else ""
    joint = "" if at and not text[at - 1].isspace() else " "
    words = " ".join(kept_before) + (joint if kept_before else "") + " ".join(kept_after)
    return f'"{head}{words}{tail}"'
