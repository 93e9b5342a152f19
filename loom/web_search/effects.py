"""What happens to the service with which a grove searches the web."""

from loom.engine.event_kinds import Body, Payload, adds_to


@adds_to("grove.changed")
class SearchOfGrove(Payload):
    """The service, None if there is none."""

    search: Body | None = None
