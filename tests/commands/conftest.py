"""Fixtures that run lines in tests, and build trees in one line."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from loom.access import Actor, get_actor
from loom.engine.context import Answer, Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, User
from loom.trees.models import Tree

Say = Callable[..., Answer]
TOKENS = re.compile(
    r"  [+-][\d,]+ tokens( from the next turn on)? · (windows|outline|augments) [\d,]+ tokens"
)


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Say:
    """`say("respond root \\"a\\"")`: one line by the owner in the tree; or `by=`, `into=`."""

    def run_line(
        line: str, *, by: User | None = None, into: Tree | None = None, **sent: Any
    ) -> Answer:
        who = get_actor(by, (into or tree).grove) if by else actor
        return execute_line(who, into or tree, Request(line, **sent))

    return run_line


def untold(reply: str) -> str:
    """A reply without the line that says how many tokens it changed."""
    return "\n".join(line for line in reply.split("\n") if not TOKENS.fullmatch(line))


@pytest.fixture
def write(say: Say) -> Callable[..., str]:
    """Writes a text below a node (default: the root) and returns its local id."""

    def respond(text: str, below: str = "root", **more: Any) -> str:
        return str(say(f'respond {below} "{text}"', **more).body["refs"][0])

    return respond


@pytest.fixture
def other_actor(writer: User, grove: Grove) -> Actor:
    """The writer, as an actor."""
    return get_actor(writer, grove)
