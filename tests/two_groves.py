"""A world of two groves that share one member: the ground of every test of who may see what."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, Membership, Participant, User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree

SECRET = "The kestrel sleeps in the north tower."
PLAIN = "Who keeps the tower?"
TITLE = "Papers of the kestrel"


@dataclass
class Side:
    """One grove with its tree, and one text in it."""

    grove: Grove
    tree: Tree
    text: Node

    def actor(self, user: User) -> Actor:
        """The user as a member of this grove."""
        return get_actor(user, self.grove)

    def run(self, user: User, line: str) -> str:
        """The reply to a line that the user gives in the tree."""
        return str(execute_line(self.actor(user), self.tree, Request(line)).body["reply"])


@dataclass
class TwoGroves:
    """`left` and `right`, each with a tree; `both` belongs to both (and owns neither),
    `only_left` and `only_right` to one, `nobody` to none. The text of `right` is SECRET, its
    title TITLE. `client` signs a user in."""

    left: Side
    right: Side
    both: User
    only_left: User
    only_right: User
    nobody: User
    client: Callable[[User], APIClient]

    @property
    def far(self) -> str:
        """The text of the right grove, as a line in the left one names it."""
        return f"tree:{self.right.tree.uid} node:{self.right.text.local_id}"

    def agent(self, side: Side, **fields: object) -> Participant:
        """A loom-aware agent of one grove that may do everything."""
        usual: dict[str, object] = {
            "kind": "model",
            "name": "Marie",
            "model_ref": "openai:echo-1",
            "permissions": ["loom_aware", "loom_write", "loom_generate", "cross_tree"],
            "context_limit": 50_000,
        }
        return Participant.objects.create(grove=side.grove, **{**usual, **fields})


def _user(name: str) -> User:
    return User.objects.create(username=name)


def _join(grove: Grove, user: User, role: str) -> None:
    person = Participant.objects.create(
        grove=grove, kind="human", name=user.username.title(), user=user
    )
    Membership.objects.create(grove=grove, user=user, participant=person, role=role)


def _side(name: str, owner: User, title: str, text: str) -> Side:
    grove = Grove.objects.create(name=name)
    streams.open_stream(grove)
    _join(grove, owner, "owner")
    actor = get_actor(owner, grove)
    tree = trees.new_tree(actor, title=title)
    ref = execute_line(actor, tree, Request(f'respond root "{text}"')).body["refs"][0]
    return Side(grove, tree, Node.objects.get(tree=tree, local_id=ref))


@pytest.fixture
def two_groves(db: None) -> TwoGroves:
    """Two groves for one test."""
    return make_two_groves()


def make_two_groves() -> TwoGroves:
    """Two groves, a member of both, of the one, of the other, and of none."""
    left = _side("Left", _user("leftowner"), "The tower", PLAIN)
    right = _side("Right", _user("rightowner"), TITLE, SECRET)
    people = {name: _user(name) for name in ("both", "onlyleft", "onlyright", "nobody")}
    for side, names in ((left, ("both", "onlyleft")), (right, ("both", "onlyright"))):
        for name in names:
            _join(side.grove, people[name], "writer")

    def client(user: User) -> APIClient:
        client = APIClient()
        client.force_login(user)
        return client

    return TwoGroves(
        left,
        right,
        people["both"],
        people["onlyleft"],
        people["onlyright"],
        people["nobody"],
        client,
    )
