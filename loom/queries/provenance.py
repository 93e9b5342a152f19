"""Where a node came from: its hash and what it is taken of, its call, and what it rests on."""

from dataclasses import dataclass
from typing import Any

from loom.access import Actor, may_read_call
from loom.models import Generation, Node, Tree, Workspace
from loom.queries.calls import CallSeen, call_of, seen
from loom.queries.evidence import chain_of
from loom.queries.nodes import node_bodies
from loom.queries.rows import row_of, rows_of
from loom.queries.verify import verify_node
from loom.rules.hashes import instant

ABOVE = 200  # of the versions above, the nearest ones
SAID = {
    "valid": "Everything fits: the hashes, the versions they were built upon, and the bytes of "
    "each answer.",
    "incomplete": "What is here fits, but it cannot all be proved: the answer of a call is not "
    "sealed, was put together from parts, or is not here.",
    "invalid": "Something does not fit: it was changed after it was written.",
}

UNVOUCHED = "came from a file: nobody but the file vouches for their hashes, authors and times."


@dataclass(frozen=True)
class Rest:
    """One version that a node rests on; `call` where a model wrote it."""

    id: str
    by: str
    at: str
    hash: str
    call: str


@dataclass(frozen=True)
class Provenance:
    """All there is to say of one node's origin. `call` is None where no model wrote it, or
    (`is_call_away`) where its call is not here; `above` goes from the root downwards."""

    node: dict[str, Any]
    generation: Generation | None
    call: CallSeen | None
    is_call_away: bool
    above: tuple[Rest, ...]
    left_out: int
    report: dict[str, Any]
    sentences: tuple[str, ...]

    def body(self) -> dict[str, Any]:
        """As the API gives it."""
        generation = self.generation
        return {
            "node": self.node["id"],
            "hash": self.node["hash"],
            "proof": self.node["proof"],
            "finish": self.node["finish"],
            "above": [vars(one) for one in self.above],
            "left_out": self.left_out,
            "generation": generation.uid if generation else None,
            "note": generation.note if generation else "",
            "ended_at": _told(generation.ended_at) if generation else None,
            "call": self.call.body() if self.call else None,
            "verify": {**self.report, "said": list(self.sentences)},
        }


def provenance_of(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> Provenance:
    """The provenance of a node for a reader; reads the stored answers of the calls above."""
    call = call_of(node)
    chain = [key for key, _ in chain_of([node.pk]) if key != node.pk]
    report = verify_node(actor, tree, workspace, node)
    return Provenance(
        node=node_bodies(actor, tree, [row_of(node)])[0],
        generation=Generation.objects.filter(tree=tree, uid=node.generation_uid).first(),
        call=seen(call, is_open=may_read_call(actor, call)) if call else None,
        is_call_away=bool(node.call_uid) and call is None,
        above=tuple(
            Rest(row.local_id, row.author_name, row.at, row.hash, row.call_uid)
            for row in rows_of(chain[-ABOVE:])
        ),
        left_out=max(0, len(chain) - ABOVE),
        report=report,
        sentences=_sentences(report),
    )


def _sentences(report: dict[str, Any]) -> tuple[str, ...]:
    broken = [f"[{one['node']}]: {one['reason']}" for one in report["broken"]]
    later = report["later_versions"]
    more = [f"Later versions were written since: {', '.join(later)}."] if later else []
    number = report["imported"]
    said = [f"{number:,} of {report['checked']:,} {UNVOUCHED}"] if number else []
    return (SAID[report["status"]], *said, *broken, *more)


def _told(at: Any) -> str | None:
    return instant(at) if at else None
