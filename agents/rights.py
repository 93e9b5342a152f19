"""Whether a turn may go on: asked anew before each call of a model."""

from loom import access
from loom.access import Actor
from loom.rules.permissions import Letter

AWARE: frozenset[Letter] = frozenset({"A"})
ASKING: frozenset[Letter] = frozenset({"G"})


def demand_turn(actor: Actor) -> None:
    """Refuses PERMISSION_DENIED where an agent in a turn may not go on: it needs to be
    loom-aware, and whoever asked it the right to generate, which the agent needs not."""
    access.demand(actor, AWARE, "a turn")
    access.demand(access.get_actor(actor.user, actor.grove), ASKING, "asking for a turn")
