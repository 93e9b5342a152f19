"""Augments that are kept from a trail or a claim: a way that worked, or one that did not
(docs/model.md §5.1)."""

from typing import Annotated

from django.apps import apps

from loom.documents.commands.augments import store
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.errors import not_found
from loom.links.models import Trail
from loom.links.queries import written
from loom.links.trail_steps import steps_of
from loom.links.trails import get_trail
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
        text = _of_trail(context, get_trail(context.actor, args.source.name or args.source.id))
    else:
        text = _of_claim(context, get_node(context, args.source))
    return store(context, args.name, text)


def _of_trail(context: Context, trail: Trail) -> str:
    """The steps by their link types, with reasons and notes. Members of the grove read it, who may
    not see all that the trail leads to: so no text of an item is in it."""
    steps = steps_of(trail)
    names = written({end for step in steps for end in step.to}, context.tree.pk)
    lines = [f"# {plain(trail.name)}", "", f"{counted(len(steps), 'step')} of a trail.", ""]
    for number, step in enumerate(steps, 1):
        ends = ", ".join(f"[{names[end]}]" for end in step.to)
        because = f", because {plain(step.because)}" if step.because else ""
        lines.append(f"{number}. {step.type or 'look'} → {ends}{because}")
        lines += [f"   {line}" for line in step.note.split("\n") if line.strip()]
    return "\n".join(lines) + "\n"


def _of_claim(context: Context, node: Node) -> str:
    if not apps.is_installed("loom.claims"):
        raise not_found("This claim")
    from loom.claims.models import Cite
    from loom.claims.queries.brief import state_named
    from loom.claims.queries.claims import claim_of, seen_cites

    claim = claim_of(node)
    rows = Cite.objects.filter(claim=claim).select_related("by", "undercuts").order_by("id")
    cites = seen_cites(context.actor, claim.tree, list(rows[:MOST_CITES]))
    names = written({cite.item for cite in cites}, context.tree.pk)
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
