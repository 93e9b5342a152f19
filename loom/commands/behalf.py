"""Lines that a member gives in an agent's workspace: its view may change, the world may not."""

from loom.access import Actor, acting_as, demand
from loom.commands import registry
from loom.grammar.bad import Bad
from loom.grammar.lines import read
from loom.models import Participant
from loom.rules.refusals import Refused

VIEW_GROUPS = ("Look", "Move", "Keep")


def acting_for(member: Actor, agent: Participant, line: str) -> Actor:
    """The member acting as the agent, with what both may do; the step will name both.

    PERMISSION_DENIED without the right to write, and for a line that would change more than
    the agent's view. A line that cannot be read is left to whoever runs it.
    """
    demand(member, frozenset("W"), "a line in an agent's workspace")  # type: ignore[arg-type]
    try:
        said = read(line, registry.forms(), registry.aliases())
    except Bad:
        return acting_as(member, agent)
    found = registry.find(said.verb, said.form)
    if found.group not in VIEW_GROUPS or found.world:
        raise Refused(
            "PERMISSION_DENIED",
            f"In an agent's workspace {found.verb} is not for others: only its view is.",
            hint="give the line in the tree, as yourself",
        )
    return acting_as(member, agent)
