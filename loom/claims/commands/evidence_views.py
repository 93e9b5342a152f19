"""One piece of evidence as a record: `view a7x2 in c4m2` (docs/model.md §10)."""

from typing import Annotated

from loom.access import Actor
from loom.claims.commands.claims import cited_item
from loom.claims.models import Cite
from loom.claims.queries.claims import claim_of
from loom.claims.queries.records import record_of_cite
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.errors import not_found
from loom.language import ids
from loom.language.refs import Ref
from loom.links.queries import written
from loom.permissions import LOOM
from loom.text.counts import counted
from loom.text.frames import escaped
from loom.trees.named_items import get_own_node

MOST_VIEWED = 20  # pieces of evidence of one item


class ViewEvidence(Args):
    """What is cited, and the claim."""

    ref: Annotated[RefField, Written("ref", but=("document", "window"))]
    claim: Annotated[RefField, Written("ref", lead="in", but=("tree", "document"), strict=True)]


@command("view", group="Look", klass="look", permissions={LOOM})
def view_evidence(context: Context, args: ViewEvidence) -> Reply:
    """Shows what an item is as evidence of a claim: `view a7x2 in c4m2`. Each time it was cited
    is a record of its own, with the fields of its file in an export."""
    return evidence_viewed(context, args.ref, args.claim)


def evidence_viewed(context: Context, ref: Ref, claim: Ref) -> Reply:
    """The records of an item that the caller may read in a claim of the tree. NOT_FOUND if it is
    no evidence there."""
    stored_claim = claim_of(get_own_node(context, claim))
    cited = cited_item(context, ref)
    rows = Cite.objects.filter(claim=stored_claim, item=cited.item)
    # All are read; the database would carry their texts through a sorter.
    named = rows.select_related("claim__node", "by", "answered_by", "undercuts").order_by()
    cites = sorted(named, key=lambda cite: cite.pk, reverse=True)
    name = stored_claim.node.local_id
    if not cites:
        raise not_found(
            f"{cited.shown} as evidence of [{name}]", f"→ list {name} evidence shows what is"
        )
    source = written([cited.item], context.tree.pk)[cited.item]
    lines = [f"{cited.shown} in [{name}]: {counted(len(cites), 'record')}"]
    for cite in cites[:MOST_VIEWED]:
        lines += ["", *record_lines(context.actor, cite, source)]
    if len(cites) > MOST_VIEWED:
        lines.append(f"… {len(cites) - MOST_VIEWED} older ones")
    items = (ids.of_node(stored_claim.pk), cited.item)
    return Reply("\n".join(lines), refs=(name, cited.ref), items=items)


def record_lines(actor: Actor, cite: Cite, source: str) -> list[str]:
    """`strength: strong, by check`: the fields of a record, a line each; what has several lines is
    below its name. For a model, what looks like a frame is escaped."""
    is_model = actor.participant.kind == "model"
    lines = []
    for field, value in record_of_cite(cite, source).items():
        text = escaped(value) if is_model else value
        lines.append(f"{field}:\n{text}" if "\n" in text else f"{field}: {text}".rstrip())
    return lines
