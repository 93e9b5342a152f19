"""A piece of evidence as a record, with the fields that files of an export have."""

from loom.claims.models import Cite
from loom.text.hashes import instant

TITLE = 80  # characters of the claim


def record_of_cite(cite: Cite, source: str) -> dict[str, str]:
    """The record of a cite, whose item is named `source`. Reads its claim, its giver and what it
    undercuts."""
    claim = cite.claim
    version = f" revision {cite.version}" if cite.version else ""
    related = [f"undercuts {cite.undercuts.uid}"] if cite.undercuts is not None else []
    if cite.is_taken_back:
        related.append(f"taken back by {cite.by.name}")
    elif cite.answered_by is not None:
        related.append(f"addressed by {cite.answered_by.name}: {cite.answer}")
    return {
        "title": claim.node.text[:TITLE],
        "claim": claim.node.local_id,
        "side": cite.side,
        "strength": f"{cite.strength}, {cite.reason}",
        "source": f"{source}{version} {cite.part}".strip(),
        "time": instant(cite.at),
        "content": cite.words or cite.why,
        "proof_status": f"{claim.state} at {claim.level}" if claim.level else claim.state,
        "related": "; ".join(related),
    }
