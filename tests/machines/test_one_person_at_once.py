"""One person in several places at once: two tabs, a page that moves while a line runs, an agent's
workspace that somebody steers. Every kind of line, in real threads; nothing is refused that would
not be refused alone, and nothing is lost."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement, count
from threading import Barrier

import pytest
from django.db import connection

from loom.access import Actor, get_actor
from loom.documents import actions as document_actions
from loom.documents.models import Document
from loom.documents.queries import text_of
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.errors import CommandError
from loom.people.models import User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree, Workspace
from tests.machines.replay import replayed, stored

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 20


def run(actor: Actor, tree: Tree, line: str) -> str:
    """The outcome of a line: "ok", or the code and message of its refusal."""
    try:
        execute_line(actor, tree, Request(line))
    except CommandError as refused:
        return f"{refused.code} {refused.message}"
    return "ok"


def at_once(*loops: Callable[[], list[str]]) -> list[list[str]]:
    """What each loop returns; they begin together, each in its own thread."""
    barrier = Barrier(len(loops))

    def begin(loop: Callable[[], list[str]]) -> list[str]:
        barrier.wait()
        try:
            return loop()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(loops)) as pool:
        return [future.result() for future in [pool.submit(begin, loop) for loop in loops]]


numbers = count()


def saying(actor: Actor, tree: Tree, lines: Sequence[str]) -> Callable[[], list[str]]:
    """A loop that says the lines in turn, TIMES in all; `{n}` is another number each time."""
    own_lines = [lines[n % len(lines)].replace("{n}", str(next(numbers))) for n in range(TIMES)]
    return lambda: [run(actor, tree, line) for line in own_lines]


@pytest.fixture
def house(actor: Actor) -> Tree:
    """A tree with a path of two nodes and a document."""
    tree = trees.new_tree(actor, title="Marie")
    first = execute_line(actor, tree, Request('respond root "a lamp"')).body["refs"][0]
    execute_line(actor, tree, Request(f'respond {first} "a door"'))
    execute_line(actor, tree, Request(f"switch to {first}"))
    document_actions.make_document(actor, title="Notes", text="one\ntwo")
    return tree


def lines_of(tree: Tree) -> dict[str, list[str]]:
    """Lines of each kind, none of which would be refused alone."""
    first, second = (
        Node.objects.filter(tree=tree, kind="text")
        .order_by("pk")
        .values_list("local_id", flat=True)
    )[1:3]
    return {
        "look": [f"view {first}", 'find "lamp"', "tree", f"list {first}", 'view doc:"Notes"'],
        "move": [f"switch to {second}", f"switch to {first}", "switch to root"],
        "write": [f'respond {first} "text {{n}}"', f'annotate {second} "note {{n}}"'],
        "private": [f"open {first}", 'todo add "task {n}"', 'stash "s{n}" "a"', 'think "hm {n}"'],
        "grove": ['write doc:"Notes" append "line {n}"'],
    }


KINDS = ("look", "move", "write", "private", "grove")


def _demand_whole(tree: Tree, answers: Sequence[list[str]], *, texts: int) -> None:
    """Nothing was refused, every text is there, events replay to the rows, and the steps of each
    workspace are numbered without gaps."""
    assert {outcome for outcomes in answers for outcome in outcomes} == {"ok"}
    assert Node.objects.filter(tree=tree, text__startswith="text ").count() == texts
    assert replayed(tree) == stored(tree)
    for workspace in Workspace.objects.filter(tree=tree):
        steps = Step.objects.filter(workspace=workspace).order_by("seq")
        seqs = list(steps.values_list("seq", flat=True))
        assert seqs == list(range(1, workspace.steps_made + 1))
        revisions = Event.objects.filter(stream__name=f"workspace:{workspace.uid}")
        written = [event.payload["revision"] for event in revisions.order_by("seq")]
        assert written == sorted(set(written))


@pytest.mark.parametrize("kinds", list(combinations_with_replacement(KINDS, 2)), ids="-".join)
def test_two_loops_of_one_person(actor: Actor, house: Tree, kinds: tuple[str, str]) -> None:
    lines = lines_of(house)
    answers = at_once(*(saying(actor, house, lines[kind]) for kind in kinds))
    _demand_whole(house, answers, texts=kinds.count("write") * TIMES // 2)
    notes = text_of(Document.objects.get(title="Notes")).text
    assert notes.count("line ") == kinds.count("grove") * TIMES


def test_three_loops_of_one_person(actor: Actor, house: Tree) -> None:
    lines = lines_of(house)
    mixed = [of_kind[0] for of_kind in lines.values()]
    loops = [mixed, lines["move"], lines["look"]]
    answers = at_once(*(saying(actor, house, loop) for loop in loops))
    _demand_whole(house, answers, texts=TIMES // len(mixed))


def test_two_members_with_two_loops_each(actor: Actor, writer: User, house: Tree) -> None:
    lines = lines_of(house)
    other = get_actor(writer, actor.grove)
    execute_line(other, house, Request("tree"))
    loops = [(who, kind) for who in (actor, other) for kind in ("write", "move")]
    answers = at_once(*(saying(who, house, lines[kind]) for who, kind in loops))
    _demand_whole(house, answers, texts=TIMES)


def test_a_first_line_may_come_from_two_places(actor: Actor, writer: User, house: Tree) -> None:
    other = get_actor(writer, actor.grove)  # has no workspace in the tree yet
    answers = at_once(*(saying(other, house, ["switch to root", "tree"]) for _ in range(3)))
    _demand_whole(house, answers, texts=0)
    assert Workspace.objects.filter(tree=house, participant=other.participant).count() == 1
