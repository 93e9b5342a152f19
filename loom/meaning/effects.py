"""What happens to the embedder of a grove."""

from loom.engine.event_kinds import Body, Payload, adds_to


@adds_to("grove.changed")
class EmbedderOfGrove(Payload):
    """Its embedder, if that was changed."""

    embedder: Body | None = None
