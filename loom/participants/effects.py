"""What happens to the models of a grove."""

from loom.engine.event_kinds import Body, Payload, event


@event("participant.added", "participant.changed", stream="grove")
class ParticipantChanged(Payload):
    """A model was added to a grove, or its settings were changed."""

    participant: Body
