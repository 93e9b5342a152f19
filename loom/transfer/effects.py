"""What happens to imports."""

from pydantic import Field

from loom.engine.event_kinds import Body, Payload, event


@event("import.finished", stream="tree")
class ImportFinished(Payload):
    """A tree was read from a file, with a report of what had no place."""

    import_id: str = Field(alias="import")
    tree: str
    report: Body
