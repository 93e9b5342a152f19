"""`find "…" by:meaning`, and `list REF similar`."""

import contextlib
from collections.abc import Iterator
from typing import Annotated, Literal

from loom.access import Actor
from loom.embedding.embedders import embedder_of
from loom.engine.arguments import Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.links.sides import links_of
from loom.meaning.queries import similar_to
from loom.permissions import LOOM
from loom.search.commands import FindArgs, answered
from loom.search.filters import EVERYTHING
from loom.search.nearest import prepare
from loom.text.counts import counted
from loom.text.shortening import excerpt
from loom.trees.lists import lists
from loom.trees.models import Node, Tree
from loom.trees.named_items import touched
from loom.trees.queries import lookup
from loom.trees.queries.lookup import withheld
from loom.workspace.queries.windows import WITHHELD

MOST_SIMILAR = 10
WORDS = 12  # of a text that is listed


class FindByMeaning(FindArgs):
    """What to look for, by its meaning alone or by its words alone, where, and how many hits."""

    by: Annotated[
        Literal["meaning", "words"],
        Written("option", key="by", value="choice", choices=("meaning", "words")),
    ]


@contextlib.contextmanager
def prepared_by(actor: Actor, tree: Tree, args: FindByMeaning) -> Iterator[None]:
    """Prepares what is asked by its meaning before the line takes its locks, also one word, which a
    search for both does not ask for."""
    if args.by == "meaning":
        prepare(args.query, tree.grove)
    yield


@command("find", group="Look", klass="look", permissions={LOOM}, ahead=prepared_by)
def find_by(context: Context, args: FindByMeaning) -> Reply:
    """Finds the texts that are nearest in meaning to what is asked, also where they share no word
    with it; or by words alone. Without `by:` a search does both."""
    return answered(context, args, EVERYTHING, by=args.by)


@lists("similar")
def list_similar(context: Context, node: Node) -> Reply:
    """The texts of the tree that are nearest in meaning to a node, and what was linked to it as
    similar. Without an embedder the links alone; UNAVAILABLE if there are none."""
    linked = {
        link.node.pk
        for link in links_of(context.actor, node, kind="similar", most=MOST_SIMILAR)
        if link.node is not None
    }
    is_on = embedder_of(node.tree.grove) is not None or not linked
    nearest = similar_to(context.actor, node, context.workspace, most=MOST_SIMILAR) if is_on else []
    scores = {similar.pk: score for similar, score in nearest}
    linked_only = lookup.rows().filter(pk__in=linked - scores.keys())
    shown = [*(similar for similar, _ in nearest), *linked_only]
    head = f"[{node.local_id}] → {counted(len(shown), 'similar text')}" if shown else ""
    lines = [f"{head}:" if head else f"[{node.local_id}] → no similar texts"]
    gone = withheld(context.actor, [similar.pk for similar in shown])
    for similar in shown:
        near = f"● {scores[similar.pk]:.2f} " if similar.pk in scores else "● "
        words = WITHHELD if similar.pk in gone else excerpt(similar.text, WORDS)
        mark = " · linked" if similar.pk in linked else ""
        lines.append(f"  {near}[{lookup.node_ref(similar, context.tree.pk)}] {words}{mark}")
    refs = tuple(lookup.node_ref(similar, context.tree.pk) for similar in shown)
    return Reply("\n".join(lines), refs=refs, items=touched(node))
