"""What happens to the outside tools of a grove."""

from loom.engine.event_kinds import Body, Payload, adds_to


@adds_to("grove.changed")
class ToolServersOfGrove(Payload):
    """The servers whose tools agents may be allowed, after one of them or what is allowed was
    changed."""

    tool_servers: list[Body] | None = None
