"""An exploration that is kept as a document: the steps of a trail with what they led to
(docs/model.md §8)."""

from typing import Annotated

from loom.access import demand_open, open_trees
from loom.documents import log as document_log
from loom.documents.commands.writing import made_document
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.language import ids
from loom.links.markdown import trail_markdown
from loom.links.models import Trail
from loom.links.trail_steps import steps_of
from loom.links.trails import UNAVAILABLE, EndSeen, get_trail, stops_of
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS
from loom.trees.grove_texts import grove_texts
from loom.trees.queries.lookup import withheld_from_models


class WriteFrom(Args):
    """The name of the new document, and the trail."""

    ref: Annotated[RefField, Written("ref", refs=("document",))]
    source: Annotated[RefField, Written("ref", lead="from", refs=("trail",))]


@command(
    "write",
    group="Make",
    klass="write",
    permissions={LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS},
    stream="grove",
)
def write_from(context: Context, args: WriteFrom) -> Reply:
    """Makes a document of a trail, and links it to this tree: each step with its reason and note,
    and what it led to as nested quotes."""
    trail = get_trail(context.actor, args.source.name or args.source.id)
    demand_open(context.tree, trail.tree)
    text = text_of_trail(context, trail)
    with document_log.text_ahead(text):
        return made_document(context, args.ref.name or args.ref.id, text)


def text_of_trail(context: Context, trail: Trail) -> str:
    """The document. Every member of the grove can read it, agents too: so it quotes only texts of
    this tree that are sent to models, and documents that are linked to it, names what else all
    members may see, and of other groves, sandboxes and hidden trees nothing."""
    steps = steps_of(trail)
    stops = stops_of(context.actor, context.tree, steps)
    homes = {ids.home_of(item) for item in stops.by_item} - {0}
    own = open_trees(context.tree.grove_id, homes)
    for item, end in stops.by_item.items():
        if (home := ids.home_of(item)) and home not in own and not end.is_gone:
            gone = EndSeen(item, "", f"({UNAVAILABLE})", state=UNAVAILABLE)
            stops.by_item[item] = gone
    nodes = [end.node for end in stops.by_item.values() if end.node is not None]
    hidden = {node.pk for node in nodes if node.tree_id != context.tree.pk}
    open_here = {paper.item_id for paper in grove_texts().linked(context.actor, context.tree)}
    hidden |= stops.papers.keys() - open_here
    hidden |= withheld_from_models([node.pk for node in nodes if node.pk not in hidden])
    return trail_markdown(trail.name, steps, stops, hidden, is_live=True)
