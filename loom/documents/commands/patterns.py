"""Augments that are kept from a trail or a claim: a way that worked, or one that did not
(docs/model.md §5.1)."""

from collections.abc import Collection
from typing import Annotated

from django.apps import apps

from loom.access import demand_open, open_trees
from loom.documents.commands.augments import store
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.errors import not_found
from loom.language import ids
from loom.links.models import Trail
from loom.links.queries import written
from loom.links.trail_steps import steps_of
from loom.links.trails import UNAVAILABLE, get_trail
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS
from loom.text.counts import counted
from loom.text.shortening import plain
from loom.trees.models import Node
from loom.trees.named_items import get_node

MOST_CITES = 100


class StoreFrom(Args):
    """The name, with its group, and the trail or claim that it is kept from."""

    store: Annotated[str, Written("word", lead="store")]
    name: Annotated[str, Written("word", shown="group/name")]
    source: Annotated[RefField, Written("ref", lead="from", but=("document", "tree", "window"))]


@command(
    "augment",
    group="Keep",
    klass="write",
    permissions={LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS},
    stream="grove",
)
def augment_store_from(context: Context, args: StoreFrom) -> Reply:
    """Stores a trail or a claim as an augment, such as `patterns/x` or `antipatterns/y`: its steps
    with their notes, or its statement with what became of it; without the texts that it names."""
    if args.source.kind == "trail":
        trail = get_trail(context.actor, args.source.name or args.source.id)
        demand_open(context.tree, trail.tree)
        text = _of_trail(context, trail)
    else:
        node = get_node(context, args.source)
        demand_open(context.tree, node.tree)
        text = _of_claim(context, node)
    return store(context, args.name, text)


def _of_trail(context: Context, trail: Trail) -> str:
    """The steps by their link types, with reasons and notes. Members of the grove read it, who may
    not see all that the trail leads to: so no text of an item is in it."""
    steps = steps_of(trail)
    names = _names(context, {end for step in steps for end in step.to})
    lines = [f"# {plain(trail.name)}", "", f"{counted(len(steps), 'step')} of a trail.", ""]
    for number, step in enumerate(steps, 1):
        ends = ", ".join(f"[{names[end]}]" for end in step.to)
        because = f", because {plain(step.because)}" if step.because else ""
        lines.append(f"{number}. {step.type or 'look'} → {ends}{because}")
        lines += [f"   {line}" for line in step.note.split("\n") if line.strip()]
    return "\n".join(lines) + "\n"


def _names(context: Context, items: Collection[int]) -> dict[int, str]:
    """How the items are written in a document that all members of the grove read. Four queries."""
    seen = open_trees(context.tree.grove_id, map(ids.home_of, items))
    names = written(items, context.tree.pk)
    return {
        item: UNAVAILABLE if (home := ids.home_of(item)) and home not in seen else name
        for item, name in names.items()
    }


def _of_claim(context: Context, node: Node) -> str:
    if not apps.is_installed("loom.claims"):
        raise not_found("This claim")
    from loom.claims.models import Cite
    from loom.claims.queries.brief import state_named
    from loom.claims.queries.claims import claim_of, seen_cites

    claim = claim_of(node)
    rows = Cite.objects.filter(claim=claim).select_related("by", "undercuts").order_by("id")
    cites = seen_cites(context.actor, claim.tree, list(rows[:MOST_CITES]))
    names = _names(context, {cite.item for cite in cites})
    counts = f"{claim.strong} strong, {claim.moderate} moderate, {claim.weak} weak"
    lines = [f"# {plain(claim.node.text)}", ""]
    lines.append(f"A claim by {plain(claim.by.name)}: {state_named(claim)} ({counts}).")
    lines += [f"Test: {plain(claim.test)}"] if claim.test else []
    lines += [f"Conclusion: {plain(claim.conclusion)}"] if claim.conclusion else []
    lines += [f"Withdrawn: {plain(claim.why)}"] if claim.why else []
    lines += ["", "## Evidence", ""] if cites else []
    for cite in cites:
        why = f": {plain(cite.why)}" if cite.why else ""
        answer = f"; addressed: {plain(cite.answer)}" if cite.answer else ""
        how = f"{cite.side}, {cite.strength}, {cite.reason}"
        lines.append(f"* [{names[cite.item]}] {how}{why}{answer}")
    return "\n".join(lines) + "\n"
