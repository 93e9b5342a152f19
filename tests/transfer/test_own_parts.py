"""What features keep for a tree, in Heddle's own files: main line, manuscript, ratings."""

import json
from collections.abc import Callable

import pytest

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.manuscript.queries.story import manuscript_of
from loom.notes.models import Mark
from loom.people.models import User
from loom.transfer.writers import heddle as heddle_writer
from loom.trees.models import Tree
from loom.trees.queries.main_line import main_line_of
from tests.transfer.conftest import Bring, tree_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Callable[[str], list[str]]:
    """Runs a line; the nodes that it names."""

    def run(line: str) -> list[str]:
        refs: list[str] = execute_line(actor, tree, Request(line)).body["refs"]
        return refs

    return run


def test_a_file_of_a_tree_keeps_its_main_line_its_manuscript_and_ones_own_ratings(
    say: Callable[[str], list[str]], tree: Tree, actor: Actor, writer: User, bring: Bring
) -> None:
    first = say("respond root\n# One\n\nA lamp.\n←")[0]
    say('respond root "Another."')
    say(f"main {first}")
    say(f"rate {first} plus")
    other = get_actor(writer, tree.grove)
    execute_line(other, tree, Request(f"rate {first} minus"))
    say('chapter target "One" words:90')
    say('manuscript author:"Ada" language:"en"')
    file = b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk)))
    brought = tree_of(bring(file))
    assert main_line_of(brought).end.local_id == first
    manuscript = manuscript_of(actor, brought)
    assert (manuscript.author, manuscript.language, manuscript.number) == ("Ada", "en", 1)
    assert manuscript.of(manuscript.chapters[0]) == (90, "")
    assert list(Mark.objects.filter(tree=brought).values_list("kind", flat=True)) == [
        "main",
        "plus",
    ]


@pytest.mark.parametrize(
    "wrong", [5, [], {"order": 5}, {"order": ["x" * 50]}, {"target": -1}, {"more": 1}, {}]
)
def test_what_is_no_manuscript_is_left_out_of_an_import(
    tree: Tree, actor: Actor, bring: Bring, wrong: object
) -> None:
    file = json.loads(b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk))))
    brought = tree_of(bring(json.dumps({**file, "manuscript": wrong}).encode()))
    assert manuscript_of(actor, brought).number == 0
