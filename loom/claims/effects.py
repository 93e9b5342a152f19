"""What happens to checks."""

from loom.engine.event_kinds import Body, Payload, event


@event("check.changed", stream=("tree", "grove"))
class CheckChanged(Payload):
    """A check of the grove was declared or changed; in a tree, an item was checked: `results`."""

    check: Body = {}
    item: str = ""
    results: list[Body] = []
