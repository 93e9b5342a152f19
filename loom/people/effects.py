"""What happens in a grove: the events of its settings, members and invitations."""

from loom.engine.event_kinds import Body, Payload, event


@event("grove.created", stream="grove")
class GroveCreated(Payload):
    """A grove was made."""

    grove: str
    name: str


@event("grove.changed", stream="grove")
class GroveChanged(Payload):
    """A grove was renamed or its settings were changed."""

    grove: str
    name: str
    settings: Body


@event("member.added", stream="grove")
class MemberAdded(Payload):
    """Somebody became a member, perhaps by an invitation (its id)."""

    member: Body
    invitation: str = ""


@event("member.changed", "member.removed", stream="grove")
class MemberChanged(Payload):
    """A member has another name or role, or is no longer one."""

    member: Body


@event("invitation.added", "invitation.removed", stream="grove")
class InvitationChanged(Payload):
    """An invitation was made or taken back."""

    invitation: Body
