"""What a reply prints as a name can be written in a line, whatever the name."""

import re
from collections.abc import Callable

import pytest

from loom.access import Actor
from loom.errors import CommandError
from loom.trees.commands import trees
from tests.commands.conftest import Say

Write = Callable[..., str]
pytestmark = pytest.mark.django_db

ODD = 'A "quoted" back\\slash'
NAME = '"A \\"quoted\\" back\\\\slash"'


def hint_of(say: Say, line: str) -> str:
    with pytest.raises(CommandError) as refused:
        say(line)
    return refused.value.hint


def test_the_hint_for_a_node_of_another_tree_can_be_written(
    say: Say, write: Write, actor: Actor
) -> None:
    other = trees.new_tree(actor, title=ODD)
    node = write("whale", into=other)
    hint = hint_of(say, f"view {node}")
    assert hint == f"add in tree:{NAME}"
    assert "whale" in say(f"view {node} {hint.removeprefix('add ')}").reply


def test_a_title_that_names_several_trees_or_none_here_is_given_as_an_id(
    say: Say, write: Write, actor: Actor
) -> None:
    first, second = (trees.new_tree(actor, title=title) for title in ("Dup", "dup"))
    for tree in (first, second):
        node = write("whale", into=tree)
        hint = hint_of(say, f"view {node}")
        assert hint == f"add in tree:{tree.uid}"
        assert "whale" in say(f"view {node} {hint.removeprefix('add ')}").reply


def test_names_in_replies_are_escaped(say: Say, write: Write, actor: Actor) -> None:
    node, other = write("A text."), trees.new_tree(actor, title=ODD)
    far = write("Far whale.", into=other)
    say(f"link {node} to tree:{other.uid} node:{far}")
    say(f'write doc:{NAME} new "words of a document"')
    say(f"link {node} to doc:{NAME}")
    replies = [
        say(line).reply
        for line in (
            f"list {node} links",
            "list trees",
            'find "whale" in:grove',
            'find "words of a document" in:grove',
            f"link {node} to doc:{NAME} as:supports",
            f'stash {NAME} "x"',
            "memory stashed",
            f"recall {NAME}",
            f"bookmark {node} {NAME}",
            "list bookmarks",
            f"view {node}",
            "digest",
        )
    ]
    replies += [hint_of(say, 'view doc:"nope"')]

    assert all(NAME in reply for reply in replies)
    assert not [reply for reply in replies if re.search(r'"A "quoted', reply)]
    say(f'tag {node} #"two words"')
    assert '#"two words"' in say(f"view {node}").reply
