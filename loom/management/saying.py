"""A line given in the shell: by whom, in which tree."""

from dataclasses import replace

from loom import access
from loom.access import Actor
from loom.commands import growth, people
from loom.commands.execute import Answer, Request, execute
from loom.models import Participant, Tree, User
from loom.rules.permissions import LETTERS
from loom.rules.refusals import Refused, not_found

AGENT = "agent:"


def say(line: str, *, tree: str, by: str, at: str = "", dry_run: bool = False) -> Answer:
    """What a line answers in the tree of that id or title ("" for the one written in last).

    `by` is a user's name ("" for who set Heddle up), or an agent's, which may then do what
    both it and the first owner of its grove may. Raises Refused.
    """
    if by.startswith(AGENT):
        found = _tree(tree, None)
        actor = _agent(by.removeprefix(AGENT), found)
    else:
        user = _person(by)
        found = _tree(tree, user)
        actor = access.get_actor(user, found.grove)
    workspace = growth.workspace_of(actor.participant, found)
    return execute(actor, found, Request(line, at=at, dry_run=dry_run), workspace)


def _person(name: str) -> User:
    user = people.find_user(name) if name else User.objects.filter(is_operator=True).first()
    if user is None:
        raise not_found(f"The user {name!r}", 'name one with --as, or an agent as agent:"name"')
    return user


def _tree(named: str, user: User | None) -> Tree:
    rows = access.visible_trees(user) if user else Tree.objects.filter(erasing_at__isnull=True)
    rows = rows.select_related("grove").distinct()
    if not named:
        found = list(rows.order_by("-touched_at")[:1])
    else:
        found = list(rows.filter(uid=named)) or list(rows.filter(title__iexact=named)[:4])
    if len(found) > 1:
        ids = ", ".join(one.uid for one in found)
        raise Refused("INVALID_SYNTAX", "Several trees have this title.", hint=f"--tree {ids}")
    if not found:
        raise not_found("This tree", "name one by its id or title with --tree")
    return found[0]


def _agent(name: str, tree: Tree) -> Actor:
    rows = Participant.objects.filter(grove=tree.grove, kind="model", archived_at__isnull=True)
    agent = rows.filter(name__iexact=name.strip('"')).first()
    owner = tree.grove.memberships.filter(role="owner").order_by("pk").first()
    if agent is None or owner is None:
        raise not_found(f"The agent {name}", "the grove's page of participants lists them")
    person = access.get_actor(owner.user, tree.grove)
    own = frozenset(LETTERS[one] for one in agent.permissions)
    return replace(person, participant=agent, letters=person.letters & own)
