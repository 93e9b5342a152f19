"""What happens to the manuscript of a tree."""

from loom.engine.event_kinds import Payload, event


@event("manuscript.changed", stream="tree")
class ManuscriptChanged(Payload):
    """The manuscript has another state: its number, and `what` was changed: order, chapters, title,
    author, language or target."""

    number: int
    what: str
