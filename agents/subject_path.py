"""The path that a subject reads: which texts of it are sent, with their sources and steering."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from agents import images
from agents.agent_prompt import is_sent, sent_of
from agents.context.agent_request import first_sentence
from agents.context.subject_request import JOINT, Messages, Piece, Steering, summary_messages
from loom import access
from loom.access import Actor, documents_for
from loom.models import ORDINAL_BITS, Generation, Tree, Workspace
from loom.queries.documents import lore_of, newest
from loom.queries.lookup import below_pruned, path_of
from loom.queries.node_rows import NodeRow, fetch, listed, rows_of
from loom.queries.trees import size_of
from loom.rules import identity
from loom.rules.documents import body_start
from loom.rules.errors import CommandError, not_found
from loom.rules.node_text import described
from loom.rules.permissions import GENERATE


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
    say = partial(images.said, reader=generation.participant)
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
    named = [(node, role, identity.node_id(item)) for node, role, item in fetch(sql)]
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
    return [*shown, f"({size_of(actor, tree).branches} branches in all)"]
