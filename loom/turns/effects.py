"""What happens to turns, generations and summaries."""

from loom.engine.event_kinds import Body, Payload, adds_to, event


@event("turn.started", "turn.ended", stream="tree")
class TurnChanged(Payload):
    """An agent began to take part, or its turn has ended."""

    turn: Body


@event("generation.started", "generation.ended", stream="tree")
class GenerationChanged(Payload):
    """A model was asked for a text, or has ended it."""

    generation: Body


@event("call.sealed", stream="tree")
class CallSealed(Payload):
    """The answer of a provider is kept as evidence; these nodes came from it. Readers get `sha256`
    and `bytes` from the call."""

    call: str
    sha256: str = ""
    bytes: str = ""
    nodes: list[str]


@event("node.summarised", stream="tree")
class NodeSummarised(Payload):
    """A node or a document has a summary, which a call (its id) made."""

    node: str = ""
    document: str | None = ""
    call: str | None


@adds_to("tree.changed")
class TreeSummarised(Payload):
    """The summary of the whole tree."""

    summary: str = ""
