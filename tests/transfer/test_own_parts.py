"""What features keep for a tree, in Heddle's own files: main line, manuscript, ratings."""

import json
from collections.abc import Callable

import pytest

from loom.access import Actor, get_actor
from loom.claims.models import TokenState
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.language.ids import ids_in
from loom.manuscript.queries.story import manuscript_of
from loom.notes.models import Mark
from loom.people.models import User
from loom.sandboxes import portable
from loom.transfer.records import FACTS
from loom.transfer.writers import heddle as heddle_writer
from loom.transfer.writers import text
from loom.trees import feature_parts
from loom.trees.models import Node, Tree
from loom.trees.queries.main_line import main_line_of
from tests.transfer.conftest import Bring, tree_of

pytestmark = pytest.mark.django_db


def test_the_report_of_an_import_counts_the_parts_of_all_features() -> None:
    assert feature_parts.names() <= set(FACTS)


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
    row = bring(file)
    brought = tree_of(row)
    assert main_line_of(brought).end.local_id == first
    assert {"Main line: 1.", "Ratings: 1.", "Manuscript: 1."} <= set(row.report["says"]["came"])
    assert row.report["says"]["beside"] == []
    manuscript = manuscript_of(actor, brought)
    assert (manuscript.author, manuscript.language, manuscript.number) == ("Ada", "en", 1)
    assert manuscript.of(manuscript.chapters[0]) == (90, "")
    assert list(Mark.objects.filter(tree=brought).values_list("kind", flat=True)) == [
        "main",
        "plus",
    ]


TASKS = "- [ ] light\n- [ ] wake\n- [x] sleep"


def decided(tree: Tree) -> list[tuple[str, str, list[str]]]:
    """The stored states of the tasks of a tree."""
    rows = TokenState.objects.filter(item__range=ids_in(tree.pk)).order_by("item", "key")
    return [(row.key, row.state, row.data["notes"]) for row in rows]


def test_a_file_of_a_tree_keeps_the_states_of_its_tasks(
    say: Callable[[str], list[str]], tree: Tree, actor: Actor, bring: Bring
) -> None:
    node = say(f"respond root\n{TASKS}\n←")[0]
    other = say("respond root\n- [ ] hidden\n←")[0]
    for line in (
        f"todo check {node} token:1",
        f'todo archive {node} token:1 "in the cellar"',
        f'todo note {node} token:2 "at dawn"',
        f"todo check {other} token:1",
        f"prune {other}",
    ):
        say(line)
    file = b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk)))
    row = bring(file)
    brought = tree_of(row)
    assert decided(brought) == decided(tree)
    assert "Tasks: 3." in row.report["says"]["came"] and row.report["says"]["beside"] == []
    assert [key for key, *_ in decided(brought)] == ["1", "2", "1"]
    was, now = (TokenState.objects.filter(item__range=ids_in(each.pk)) for each in (tree, brought))
    assert list(was.values_list("at", flat=True)) == list(now.values_list("at", flat=True))


@pytest.mark.parametrize(
    "wrong",
    [
        5,
        [{"id": "a7x2"}],
        [{"id": "zzzz", "key": "1", "state": "checked"}],
        [{"id": "NODE", "key": "9", "state": "checked"}],
        [{"id": "NODE", "key": "1", "state": "done"}],
    ],
)
def test_what_is_no_task_is_left_out_of_an_import(
    say: Callable[[str], list[str]], tree: Tree, actor: Actor, bring: Bring, wrong: object
) -> None:
    node = say(f"respond root\n{TASKS}\n←")[0]
    file = b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk)))
    parts = json.loads(json.dumps(wrong).replace("NODE", node))
    row = bring(json.dumps({**json.loads(file), "tasks": parts}).encode())
    assert decided(tree_of(row)) == []
    (left_out,) = row.report["says"]["left_out"]
    assert "of tasks" in left_out


def test_of_the_states_of_tasks_only_those_that_cannot_be_read_are_left_out(
    say: Callable[[str], list[str]], tree: Tree, actor: Actor, bring: Bring
) -> None:
    node = say(f"respond root\n{TASKS}\n←")[0]
    file = b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk)))
    states = ("done", "checked")
    tasks = [{"id": node, "key": str(at), "state": state} for at, state in enumerate(states, 1)]
    row = bring(json.dumps({**json.loads(file), "tasks": tasks}).encode())
    assert decided(tree_of(row)) == [("2", "checked", [])]
    assert row.report["says"]["left_out"] == [
        "Left out: 1 state of tasks that cannot be read or are of no task."
    ]


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"manuscript": {"target": -1}}, "the manuscript, which cannot be read"),
        (
            {"manuscript": {"title": "T", "language": "!"}},
            "the language of the manuscript, '!', which is none",
        ),
        ({"sandboxes": 5}, "sandboxes, which cannot be read"),
        ({"sandboxes": [5, {"at": "zzzz"}]}, "2 sandboxes that cannot be read"),
        ({"claims": {}}, "the records of claims, which cannot be read"),
        ({"claims": [{"id": 5}]}, "1 record of claims that cannot be read or are of no claim"),
    ],
)
def test_a_part_that_cannot_be_read_is_named(
    tree: Tree, actor: Actor, bring: Bring, part: dict[str, object], says: str
) -> None:
    file = json.loads(b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk))))
    row = bring(json.dumps({**file, **part}).encode())
    assert tree_of(row)
    assert row.report["says"]["left_out"] == [f"Left out: {says}."]


def test_sandboxes_beyond_the_most_are_named(
    say: Callable[[str], list[str]],
    tree: Tree,
    actor: Actor,
    bring: Bring,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = json.loads(b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk))))
    monkeypatch.setattr(portable, "MOST_OPEN", 0)
    row = bring(json.dumps({**file, "sandboxes": [{}]}).encode())
    assert row.report["says"]["left_out"] == [
        "Left out: 1 sandbox: you have 0 open ones, which is the most."
    ]


def test_a_text_that_is_exported_shows_which_tasks_are_checked(
    say: Callable[[str], list[str]], tree: Tree, actor: Actor
) -> None:
    node = say(f"respond root\n{TASKS}\n←")[0]
    say(f"todo check {node} token:1")
    say(f"todo archive {node} token:1")
    say(f"todo uncheck {node} token:3")
    shown = "- [x] light\n- [ ] wake\n- [ ] sleep"
    at = Node.objects.get(tree=tree, local_id=node)
    for writer in (text.as_markdown, text.as_text):
        assert shown in b"".join(writer(actor, tree, None, at)).decode()
    for whole in (text.tree_as_markdown, text.tree_as_text):
        assert shown in b"".join(whole(actor, tree, None)).decode()


@pytest.mark.parametrize(
    "wrong", [5, [], {"order": 5}, {"order": ["x" * 50]}, {"target": -1}, {"more": 1}, {}]
)
def test_what_is_no_manuscript_is_left_out_of_an_import(
    tree: Tree, actor: Actor, bring: Bring, wrong: object
) -> None:
    file = json.loads(b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk))))
    brought = tree_of(bring(json.dumps({**file, "manuscript": wrong}).encode()))
    assert manuscript_of(actor, brought).number == 0
