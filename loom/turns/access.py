"""Turns, generations and calls that somebody may see, and the agent of a turn."""

from django.contrib.auth.models import AnonymousUser

from loom.access import (
    Actor,
    acting_as,
    at_tree,
    by_uid,
    closed_steps,
    get_actor_in,
    is_sandbox_of_another,
    limited_to,
    of_grove,
)
from loom.engine import credentials
from loom.engine.models import Step
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.turns.models import Call, Generation, Turn

_CALL = by_uid(Call, "tree__grove", "participant", "turn")
_GENERATION = by_uid(Generation, "tree__grove", "participant", "point", "node")
_TURN = by_uid(
    Turn, "tree__grove", "participant", "invoked_by__user", "invoked_at", "answers_below", "node"
)


def acting_in(turn: Turn) -> Actor:
    """The agent of a turn, with the permissions that it and its inviter share at this moment.
    Checked again for every line and call, so that revoked permissions end immediately.
    PERMISSION_DENIED if the inviter is no longer a member, or the key with which a program started
    it is over.
    """
    credentials.demand_valid(turn.uid)
    user = turn.invoked_by.user
    agent = Participant.objects.get(pk=turn.participant_id)
    if user is not None:
        user.scope = turn.scope  # type: ignore[assignment]  # it was asked for with such a key
    try:
        inviter = get_actor_in(user if user is not None else AnonymousUser(), turn.tree_id)
    except CommandError:
        raise CommandError(
            "PERMISSION_DENIED",
            "The person who started this turn is no longer a member, or may not see this tree.",
            hint="start a turn yourself",
        ) from None
    actor = at_tree(acting_as(inviter, agent), turn.tree)
    asking = turn.asking_id
    while asking is not None:  # and of those who asked for it, of whom there are few
        above = Turn.objects.select_related("participant").get(pk=asking)
        credentials.demand_valid(above.uid)
        actor = limited_to(actor, above.participant)
        asking = above.asking_id
    return actor


def get_generation(user: User, uid: str) -> tuple[Actor, Generation]:
    """A generation in a tree the user may see."""
    return of_grove(user, _GENERATION, uid, "This generation")


def get_call(user: User, uid: str) -> tuple[Actor, Call]:
    """A call in a tree the user may see."""
    return of_grove(user, _CALL, uid, "This call")


def get_turn(user: User, uid: str) -> tuple[Actor, Turn]:
    """A turn in a tree the user may see."""
    return of_grove(user, _TURN, uid, "This turn")


def may_read_call(actor: Actor, call: Call) -> bool:
    """Whether the actor may see a call's texts (docs/model.md §7): the person who asked for it,
    owners, and members who may see every item in it. Others see its size and sections."""
    turn = call.turn
    is_promoted = turn is not None and turn.tree_id != call.tree_id
    if turn is not None and is_promoted and is_sandbox_of_another(turn.tree, actor.user):
        return False
    if actor.is_owner or call.generations.filter(asked_by=actor.participant).exists():
        return True
    if call.turn is None:  # it read a path of the tree, which every member may see
        return True
    return may_read_turn(actor, call.turn)


def may_read_turn(actor: Actor, turn: Turn) -> bool:
    """Whether the actor may see the requests and answers of a turn, by the same rule."""
    if actor.is_owner or turn.invoked_by_id == actor.participant.pk:
        return True
    return not closed_steps(actor, Step.objects.filter(turn_uid=turn.uid).defer("line"))
