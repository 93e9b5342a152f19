"""Claims as files of an export: evidence by claim, source and strength, and decisions with their
records (docs/model.md §13)."""

import json
from collections.abc import Iterator

from loom.access import Actor
from loom.claims.models import Cite, Claim, Commitment
from loom.claims.queries.claims import claims_in, recorded_body, seen_cites
from loom.claims.queries.records import record_of_cite
from loom.links.queries import written
from loom.trees.archive_files import adds_files
from loom.trees.models import Tree

SCHEMA = {
    "title": "first words of the claim",
    "claim": "local id of the claim",
    "side": "for, against or undercuts",
    "strength": "strong, moderate or weak, and by what",
    "source": "the item that is cited, with its version",
    "time": "RFC 3339, UTC",
    "content": "the exact words, or why it was given",
    "proof_status": "state of the claim, and its level",
    "related": "what the cite undercuts, or how it was addressed",
}


@adds_files
def files_of(actor: Actor, tree: Tree) -> Iterator[tuple[str, str]]:
    """(name, text) of each file, as far as the actor may see the evidence; none without claims.
    Reads one claim at a time."""
    sources: dict[str, list[str]] = {}
    by_strength: dict[str, list[str]] = {}
    # By key, as a cursor would not outlive the thread of one piece of a download.
    keys = list(claims_in(tree).order_by("pk").values_list("pk", flat=True))
    if keys:
        yield "evidence/schema.json", _json(SCHEMA)
    for key in keys:
        claim = claims_in(tree).filter(pk=key).first()
        if claim is None:
            continue
        rows = Cite.objects.filter(claim=claim).select_related("by", "undercuts", "answered_by")
        cites = seen_cites(actor, tree, list(rows.order_by("id")))
        names = written({cite.item for cite in cites}, tree.pk)
        own = claim.node.local_id
        for number, cite in enumerate(cites, start=1):
            source = _file_name(names[cite.item])
            name = f"evidence/claim/{own}/{number:03}-{cite.side}-{source}.md"
            yield name, _cite(claim, cite, names[cite.item])
            line = f"* {cite.strength} {cite.side} {own}: {name}"
            sources.setdefault(source, []).append(line)
            by_strength.setdefault(cite.strength, []).append(line)
        yield from _decisions(claim, cites)
    for folder, groups in (("source", sources), ("strength", by_strength)):
        for name, lines in sorted(groups.items()):
            yield f"evidence/{folder}/{name}.md", f"# {name}\n\n" + "\n".join(lines) + "\n"


def _cite(claim: Claim, cite: Cite, source: str) -> str:
    cite.claim = claim
    head = record_of_cite(cite, source)
    head.pop("content")  # which follows in whole
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    quote = "".join(f"> {line}\n" for line in cite.words.split("\n")) if cite.words else ""
    why = f"\n{cite.why}\n" if cite.why else ""
    return "---\n" + "\n".join(lines) + f"\n---\n\n{quote}{why}"


def _decisions(claim: Claim, cites: list[Cite]) -> Iterator[tuple[str, str]]:
    rows = Commitment.objects.filter(claim=claim).select_related("by", "approved_by", "vetoed_by")
    for number, commitment in enumerate(rows.order_by("id"), start=1):
        name = f"decisions/{claim.node.local_id}/{number:03}-{commitment.level}.json"
        yield name, _json(recorded_body(commitment, cites))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _file_name(item: str) -> str:
    return item.replace(" ", "-").replace(":", "-")
