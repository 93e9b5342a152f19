"""What happens to checks and claims."""

from typing import Any

from loom.access import in_hidden_tree
from loom.claims.models import Check, Cite
from loom.engine.event_kinds import Body, Payload, completes, event
from loom.links.commands.links import keeps_links
from loom.links.models import Link
from loom.links.queries import written


@event("check.changed", stream=("tree", "grove"))
class CheckChanged(Payload):
    """A check of the grove was declared or changed; in a tree, an item was checked: `results`."""

    check: Body = {}
    item: str = ""
    results: list[Body] = []


@completes("check.changed")
def _without_hidden_checks(stream: str, payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a check of a tree that is hidden from somebody, all members read only that it is there.
    One query, none for results."""
    bodies = [payload["check"] for payload in payloads if payload.get("check")]
    scopes = [body["id"] for body in bodies if str(body["scope"]).startswith("tree:")]
    rows = Check.objects.filter(in_hidden_tree(), uid__in=scopes).order_by() if scopes else None
    unsaid = set(rows.values_list("uid", flat=True)) if rows is not None else set()
    return [
        {**payload, "check": {name: payload["check"][name] for name in ("id", "grove", "archived")}}
        if payload.get("check", {}).get("id") in unsaid
        else payload
        for payload in payloads
    ]


@event("pipe.saved", stream="grove")
class PipeSavedEvent(Payload):
    """A pipe was saved for the grove, or archived."""

    pipe: Body


@event("token.changed", stream=("tree", "grove"))
class TokenChanged(Payload):
    """A token of an item, such as a task (`token`), has another state or a note."""

    item: str
    key: str
    token: str
    state: str
    notes: list[str]


@event("claim.changed", stream="tree")
class ClaimChanged(Payload):
    """A claim was opened, or its state or evidence has changed."""

    claim: Body


@event("commitment.added", stream="tree")
class CommitmentAdded(Payload):
    """A claim (its local id) was committed."""

    claim: str
    commitment: Body


@event("commitment.vetoed", stream="tree")
class CommitmentVetoed(Payload):
    """A person objected to the last commitment of a claim."""

    claim: str
    commitment: Body


@completes("commitment.added")
@completes("commitment.vetoed")
def _without_record(stream: str, payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The record is read with its claim: earlier builds logged it, with evidence that not all who
    read the tree may see."""
    return [{**body, "commitment": _unrecorded(body["commitment"])} for body in payloads]


def _unrecorded(commitment: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in commitment.items() if name != "record"}


@keeps_links
def _answers_cite(link: Link) -> str:
    """How the evidence that a claim has by a link is answered; "" if no claim stands on it, as
    such a link is never removed. Evidence for a claim is answered by evidence against it, and that
    by an `address`; a link alone counts as neither."""
    cite = Cite.objects.filter(link=link).select_related("claim__node").first()
    if cite is None:
        return ""
    claim = cite.claim.node.local_id
    if cite.side == "for":
        return f'→ cite REF against {claim} "why" answers it'
    item = written({cite.item}, cite.claim.tree_id)[cite.item]
    return f'→ address {item} in {claim} "how" answers it'
