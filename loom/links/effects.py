"""What happens to links."""

from loom.engine.event_kinds import Body, Payload, event


@event("link.added", "link.removed", stream=("tree", "grove"))
class LinkChanged(Payload):
    """Two items were linked, or a link was removed."""

    link: Body


@event("type.added", stream="grove")
class TypeAdded(Payload):
    """A grove has a link type of its own."""

    type: Body


@event("type.changed", stream="grove")
class TypeChanged(Payload):
    """A link type of the grove is another one now; `was`: its name before."""

    type: Body
    was: str


@event("trail.changed", stream="grove")
class TrailChanged(Payload):
    """A trail was saved, annotated, shared or made private; a private one is not named."""

    trail: str
    shared: bool
    name: str = ""
