"""What prompts are made from, read from rows to plain values: the OUTLINE, PATH and last actions
of an agent; the path of a subject with its sources and steering; and the images for a model that
sees."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import chain

from PIL import Image as Pillow

from agents.context.subject_request import JOINT, Messages, Piece, Steering, summary_messages
from agents.context.values import Action, Near, Twig, first_sentence
from agents.providers.attempt import Picture
from loom import access
from loom.access import Actor, documents_for
from loom.models import (
    ORDINAL_BITS,
    Generation,
    Image,
    Mark,
    Node,
    Participant,
    Step,
    Tree,
    Workspace,
)
from loom.models.base import Given, Prepared
from loom.queries import workspaces
from loom.queries.documents import lore_of, newest
from loom.queries.lookup import (
    GONE,
    PRUNED,
    NodeRow,
    below_pruned,
    fetch,
    listed,
    path_of,
    rows_of,
    withheld_from_models,
)
from loom.queries.node_context import Spot, margins_of
from loom.queries.outline import LINES, outline_left, outline_of, size_of
from loom.rules import node_values
from loom.rules.documents import body_start
from loom.rules.errors import CommandError, not_found
from loom.rules.limits import GENERATE
from loom.rules.node_values import age, described, excerpt, hashes_in
from loom.transfer.images import bytes_of, smaller

SUMMARY_WORDS = 30  # words of a summary there
EXCERPT_WORDS = 8  # of a node there, and of a text in the news


def twigs(
    actor: Actor, tree: Tree, workspace: Workspace, path: Sequence[NodeRow], *, limit: int = LINES
) -> tuple[Twig, ...]:
    """The outline of a tree as far as the workspace unfolds it, and from there down to the end
    of `path`, the position, with its siblings; and to the best hits of the last search."""
    state = outline_of(workspace)
    lines = outline_left(actor, tree, workspace, path, limit=limit)
    here = path[-1].slot_id if path else 0
    hits = {hit: state["scores"].get(hit, 1.0) for hit in state["hits"]}
    withheld = withheld_from_models(line.row.id for line in lines)
    return tuple(
        Twig(
            line.row.local_id,
            _words_of(line.row) if line.row.text and line.row.id not in withheld else "",
            line.level,
            line.is_last,
            line.children,
            line.shown,
            is_here=line.row.slot_id == here and not line.left_out,
            score=hits.get(line.row.local_id) if not line.left_out else None,
            left_out=line.left_out,
        )
        for line in lines
    )


def _words_of(row: NodeRow) -> str:
    summary = row.more.summary
    return excerpt(summary, SUMMARY_WORDS) if summary else excerpt(row.text, EXCERPT_WORDS)


# -- PATH, MEMORY and news


def near(
    tree: Tree, rows: Sequence[NodeRow], now: datetime, *, last: int = 12, prose: bool = False
) -> tuple[Near, ...]:
    """What may have changed about the `last` nodes of a path, and about those with a mark; with
    the ids of the nodes between that have no line. `prose`: with their first words."""
    marked = _marked(tree)
    chosen = {row.id for at, row in enumerate(rows) if at >= len(rows) - last or row.id in marked}
    margins = margins_of(tree, [Spot(row.id, row.slot_id) for row in rows if row.id in chosen])
    withheld = withheld_from_models(chosen) if prose else set()
    lines: list[Near] = []
    skipped: list[str] = []
    for row in rows:
        if row.id not in chosen:
            skipped.append(row.local_id)
            continue
        margin = margins[row.id]
        lines.append(
            Near(
                row.local_id,
                row.author_name,
                row.author_kind,
                age(now, row.created_at),
                margin.children,
                len(margin.notes),
                bool(margin.bookmarks),
                tuple(margin.tags),
                sum(one.many for one in margin.links),
                excerpt(row.text, EXCERPT_WORDS)
                if prose and row.text and row.id not in withheld
                else "",
                tuple(skipped),
            )
        )
        skipped = []
    return tuple(lines)


def _marked(tree: Tree) -> set[int | None]:
    """The nodes of a tree that hold a bookmark or a tag."""
    return {node_values.node_id(item) for (item,) in _MARKED.all(tree=tree.pk)}


_MARKED = Prepared(
    lambda: (
        Mark.objects.filter(
            tree=Given("tree"), kind__in=("bookmark", "tag"), removed_at__isnull=True
        )
        .order_by()
        .values_list("item")
    )
)


def actions(workspace: Workspace, most: int = 10) -> tuple[Action, ...]:
    """The last lines that were run in a workspace, oldest first, without thoughts."""
    if not workspace.pk:  # it is not stored yet
        return ()
    steps = _last(most).all(of=workspace.pk)
    items = workspaces.items_of(steps)
    every = chain.from_iterable(items.values())
    keys = {key for one in every if (key := node_values.node_id(one))}
    names = dict(Node.objects.filter(pk__in=keys).values_list("id", "local_id"))
    return tuple(_action(step, items[step.pk], names) for step in reversed(steps))


@cache
def _last(most: int) -> Prepared[Step]:
    return Prepared(
        lambda: (
            Step.objects.filter(workspace=Given("of"))
            .exclude(canonical__startswith="→ think")
            .order_by("-seq")[:most]
        )
    )


def _action(step: Step, items: list[int], names: dict[int, str]) -> Action:
    said = (step.canonical or step.line).removeprefix("→").split()
    nodes = (names.get(node_values.node_id(one) or 0) for one in items)
    first = next((one for one in nodes if one), "")
    verb = said[0] if step.canonical and said else "an unread line"
    return Action(verb, (first,) if first else (), step.outcome)


# -- the path of a subject: which texts of it are sent


def sent_of(path: Sequence[NodeRow]) -> list[NodeRow]:
    """The nodes of a path that are sent to models: what hangs below a pruned one is as hidden
    as that is."""
    return [
        row
        for row in visible_of(path)
        if row.text != "" and not row.flags & GONE and row.kind == "text"
    ]


def visible_of(path: Sequence[NodeRow]) -> Sequence[NodeRow]:
    """The nodes of a path down to the first pruned one."""
    end = next((at for at, row in enumerate(path) if row.flags & PRUNED), None)
    return path[:end]


def is_sent(row: NodeRow) -> bool:
    """Whether a node of a path is sent to models at all."""
    return bool(sent_of([row]))


def steering_of(asker: Actor, tree: Tree) -> Steering:
    """What the tree adds for subjects, with the lore that the person who asks may read."""
    is_person = asker.participant == asker.person
    person = asker if is_person else access.get_actor(asker.user, tree.grove)
    return Steering(
        memory=tree.memory,
        note=tree.author_note,
        depth=tree.note_depth,
        lore=lore_of(person, tree),
        scan=tree.lore_scan,
        budget=tree.lore_budget,
    )


def pieces_of(
    generation: Generation, asker: Actor, workspace: Workspace | None
) -> tuple[Piece, ...]:
    """The path to the generation's point as the asker reads it in their workspace, without what is
    never sent: empty, excluded and pruned nodes, and what is not text."""
    rows = path_of(asker, generation.tree, workspace, generation.point)
    sent = sent_of(rows)
    reader = access.acting_as(asker, generation.participant)
    sources = _sources_of(reader, [row.id for row in sent])
    say = partial(said, reader=generation.participant)
    return tuple(_piece(row, sources.get(row.id, ()), say) for row in sent)


def asker_of(generation: Generation) -> Actor:
    """Who asked, if they still may: rights are read again for every call. In a turn its agent
    asks, with what its inviter may do too."""
    if generation.turn is not None:
        actor = access.acting_in(generation.turn)
        access.demand(actor, {GENERATE}, "continue")
        return actor
    user = generation.asked_by.user
    if user is None:
        raise CommandError(
            "PERMISSION_DENIED",
            "Only members can ask for continuations.",
            hint="ask an owner of the grove to invite you",
        )
    actor = access.get_actor(user, generation.tree.grove)
    access.demand(actor, {GENERATE}, "continue")
    return actor


def _piece(
    row: NodeRow,
    sources: Iterable[tuple[str, NodeRow]] = (),
    say: Callable[[str], str] = described,
) -> Piece:
    by_role: dict[str, list[Piece]] = {"context": [], "instruction": []}
    for role, source in sources:
        by_role[role].append(_piece(source, (), say))
    return Piece(
        row.id,
        say(row.text),
        row.author_kind == "human",
        context=tuple(by_role["context"]),
        instruction=tuple(by_role["instruction"]),
    )


def _sources_of(reader: Actor, nodes: Sequence[int]) -> dict[int, list[tuple[str, NodeRow]]]:
    """(role, node) of the context and instruction sources of nodes, in their order; without
    what is never sent, and without text that the model or who asked it may not see."""
    if not nodes:
        return {}
    sql = f"""SELECT node_id, role, item_id FROM loom_nodesource WHERE node_id IN ({listed(nodes)})
        AND role IN ('context', 'instruction') ORDER BY node_id, id"""  # noqa: S608 (row ids)
    named = [(node, role, node_values.node_id(item)) for node, role, item in fetch(sql)]
    if not named:
        return {}
    found = _readable(reader, [item for _, _, item in named if item is not None])
    sources: dict[int, list[tuple[str, NodeRow]]] = {}
    for node, role, item in named:
        row = found.get(item) if item is not None else None
        if row is not None and is_sent(row):
            sources.setdefault(node, []).append((role, row))
    return sources


def _readable(reader: Actor, ids: Sequence[int]) -> dict[int, NodeRow]:
    """Those of the nodes that lie in trees the reader may see, and below nothing pruned
    there; by id. Two queries for each tree they lie in, and two more."""
    homes: dict[int, set[int]] = {}
    for one in ids:
        homes.setdefault(one >> ORDINAL_BITS, set()).add(one)
    seen = access.trees_for(reader).filter(pk__in=homes) if homes else ()
    found = {}
    for tree in seen:
        rows = rows_of(sorted(homes[tree.pk]))
        hidden = below_pruned(tree.pk, [row.slot_id for row in rows])
        found.update({row.id: row for row in rows if row.slot_id not in hidden})
    return found


# What the summary of a node or a tree is made of.


SHORT_ABOVE = 200  # characters of a text above, below which the one above that is read too
LONGEST = 12_000  # characters that are read of one text
PARTS = 40  # of a tree: those on the longest way, and where it branches


def summarised(generation: Generation) -> Messages:
    """The request for the summary of a generation's point, from what models are sent."""
    tree, point = generation.tree, generation.point
    if "document" in generation.settings:
        return _document_summarised(generation)
    rows = sent_of(path_of(asker_of(generation), tree, None, point))
    if point.parent_slot_id is None:
        before = [tree.title, tree.description]
        return summary_messages(before, JOINT.join(_parts_of(generation)), of="tree")
    if not rows or rows[-1].id != point.pk:
        raise CommandError("REJECTED", f"[{point.local_id}] is not sent to models.", hint="")
    above = rows[-3:-1]
    if above and len(above[-1].text) >= SHORT_ABOVE:
        above = above[-1:]
    before = [tree.title, *(described(one.text)[-LONGEST:] for one in above)]
    return summary_messages(before, described(rows[-1].text)[:LONGEST], of="text")


def _document_summarised(generation: Generation) -> Messages:
    """The same for a document, as far as whoever asked may read it."""
    papers = documents_for(asker_of(generation)).filter(pk=generation.settings["document"])
    paper = papers.first()
    if paper is None:
        raise not_found("This document")
    text = newest(paper).content.text
    return summary_messages(
        [paper.title], described(text[body_start(text) :])[:LONGEST], of="document"
    )


def _parts_of(generation: Generation) -> list[str]:
    """The beginnings of a tree's texts down to its newest leaf, and how many branches it has."""
    actor, tree = asker_of(generation), generation.tree
    leaf = tree.nodes.filter(kind="text", slot__pruned=False).order_by("-depth", "-id").first()
    rows = sent_of(path_of(actor, tree, None, leaf)) if leaf is not None else []
    step = max(1, len(rows) // PARTS)
    shown = [row.more.summary or first_sentence(described(row.text)) for row in rows[::step]]
    many = size_of(actor, tree).branches
    return [*shown, f"({many:,} branch{'' if many == 1 else 'es'} in all)"]


# -- images: which of a path a model that sees is sent, and in what size


SEES = "images"  # what a probe remembers of a model that sees
MOST_IMAGES = 20  # of a path, the last ones
IMAGE_SIDE = 1568  # pixels: providers make larger ones smaller themselves
MOST_IMAGE_BYTES = 3_500_000  # of one: base64 makes it a third longer, and 5 MB are taken
MOST_IMAGE_BYTES_AT_ONCE = 20_000_000


def sees(participant: Participant) -> bool:
    """Whether images are sent to this model: by a chat, and only where a probe or an owner says
    that it sees."""
    return SEES in participant.capabilities and participant.endpoint == "chat"


def said(text: str, reader: Participant) -> str:
    """The text as the reader is sent it: images by name where it sees, in words for all others."""
    return text if sees(reader) else described(text)


def pictures(actor: Actor, tree: Tree, texts: Iterable[str]) -> Mapping[str, Picture]:
    """The images that texts name, by hash, of trees that the actor reads; the last ones where
    there are too many or they are too large together. Missing and broken ones are left out."""
    named = list(dict.fromkeys(sha for text in reversed([*texts]) for sha in hashes_in(text)[::-1]))
    if not named:
        return {}
    reach = access.trees_for(actor).values("pk")
    rows = Image.objects.filter(sha256__in=named[: 5 * MOST_IMAGES], tree__erasing_at=None)
    rows = rows.filter(tree=tree) | rows.filter(tree__in=reach)
    known = {row.sha256: row for row in rows}
    found: dict[str, Picture] = {}
    left = MOST_IMAGE_BYTES_AT_ONCE
    for sha256 in named:
        picture = _sent_image(known[sha256]) if sha256 in known else None
        left -= len(picture.data) if picture else 0
        if left < 0 or len(found) == MOST_IMAGES:
            break
        if picture is not None:
            found[sha256] = picture
    return found


def _sent_image(image: Image) -> Picture | None:
    """The image as it is, or made smaller; None where its file is gone or broken."""
    try:
        raw = bytes_of(image)
        if max(image.width, image.height) > IMAGE_SIDE or len(raw) > MOST_IMAGE_BYTES:
            return Picture("image/jpeg", b64encode(smaller(raw, IMAGE_SIDE)).decode())
    except (CommandError, OSError, ValueError, SyntaxError, Pillow.DecompressionBombError):
        return None
    return Picture(image.media_type, b64encode(raw).decode())
