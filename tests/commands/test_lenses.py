"""Editing through windows: the lens laws, true line numbers, and several edits of one text."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.models import Step
from loom.people.models import User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.commands.test_window_forms import View, newest
from tests.thorough import tries

pytestmark = pytest.mark.django_db(transaction=True)
LINE = st.text(alphabet="ab §#→\\\"'\té漢", max_size=6)
TEXTS = st.lists(LINE, min_size=1, max_size=9).map("\n".join)
LAWS = settings(
    max_examples=tries(20), deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)


@pytest.fixture
def view(actor: Actor, owner: User, api: Callable[..., APIClient]) -> View:
    """In a tree of buffer mode, where an edit is a version."""
    tree = trees.new_tree(actor, title="Lenses", mode="buffer")
    return View(actor, tree, api(owner))


def line(verb: str, text: str) -> str:
    return f'{verb} "' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def post(view: View, command: str) -> tuple[int, str]:
    """The status and the reply of a line over the API."""
    url = f"/api/trees/{view.tree.uid}/commands"
    answer = view.client.post(url, {"line": command}, format="json")
    return answer.status_code, str(answer.json()["reply"])


def opened(view: View, text: str, first: int, last: int) -> tuple[str, int]:
    """A new node with a window on those lines: its id and the window's number."""
    post(view, "close all")
    post(view, line("respond root", text))
    node = newest()
    _, reply = post(view, f"open {node} lines:{first}-{last}")
    return node, int(reply.split("#")[1].split()[0])


def shown(view: View, number: int) -> str:
    return str(view.windows()[number]["text"])


def whole() -> list[str]:
    return Node.objects.latest("id").text.split("\n")


@LAWS
@given(data=st.data())
def test_slices_of_windows_are_lenses(view: View, data: st.DataObject) -> None:
    text = data.draw(TEXTS.filter(bool))
    lines = text.split("\n")
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    one, two = data.draw(TEXTS), data.draw(TEXTS)
    node, number = opened(view, text, first, last)
    assert shown(view, number) == "\n".join(lines[first - 1 : last])
    # GetPut: to put what was got changes nothing.
    status, _ = post(view, line(f"edit #{number}", shown(view, number)))
    assert (status, newest()) == (409, node)
    # PutGet: what was put can be got again, also when the length changes.
    expected = [*lines[: first - 1], *one.split("\n"), *lines[last:]]
    status, reply = post(view, line(f"edit #{number}", one))
    if status != 200:  # no change, or nothing would be left
        assert "\n".join(expected) in (text, "")
        return
    assert (whole(), shown(view, number)) == (expected, one)
    window = view.windows()[number]
    assert window["lines"] == [first, first + one.count("\n")]
    assert f"#{number} now {first}" in reply and not window["stale"]
    # PutPut: of two puts the last one counts.
    status, _ = post(view, line(f"edit #{number}", two))
    expected = [*lines[: first - 1], *two.split("\n"), *lines[last:]]
    assert status == 200 or one == two or not "\n".join(expected)
    if status == 200:
        assert (whole(), shown(view, number)) == (expected, two)


@LAWS
@given(sizes=st.lists(st.integers(0, 4), min_size=3, max_size=3), order=st.permutations([0, 1, 2]))
def test_windows_on_one_text_keep_their_own_lines(
    view: View, sizes: list[int], order: list[int]
) -> None:
    """Whatever the order and length of edits through several windows, each changes its own lines,
    and the others show what they did."""
    post(view, "close all")
    post(view, line("respond root", "\n".join(f"line {n}" for n in range(1, 13))))
    node, numbers = newest(), []
    for first in (2, 6, 10):
        reply = post(view, f"open {node} lines:{first}-{first + 1}")[1]
        numbers.append(int(reply.split("#")[1].split()[0]))
    put = ["\n".join(f"new {at}.{n}" for n in range(size + 1)) for at, size in enumerate(sizes)]
    for at in order:
        status, reply = post(view, line(f"edit #{numbers[at]}", put[at]))
        assert status == 200
        now = view.windows()[numbers[at]]["lines"]
        assert reply.split("; ")[1].split("\n")[0] == (
            f"#{numbers[at]} now {now[0]}–{now[1]}"
            if now[1] > now[0]
            else f"#{numbers[at]} now {now[0]}"
        )
    assert [shown(view, number) for number in numbers] == put
    assert not any(window["stale"] for window in view.windows().values())
    rest = [text for text in whole() if text.startswith("line")]
    assert rest == [f"line {n}" for n in (1, 4, 5, 8, 9, 12)]


def test_replies_give_true_line_numbers(view: View) -> None:
    node, number = opened(view, "\n".join(f"line {n}" for n in range(1, 41)), 10, 30)
    reply = post(view, f'edit #{number} replace:"line 12" with:"a\\nb\\nc"')[1]
    assert reply.startswith(
        f"✓ created version [{newest()}] from [{node}], lines 12–14; #{number} now 10–32\n"
    )
    assert whole()[11:14] == ["a", "b", "c"]
    outside = post(view, f'edit #{number} replace:"line 5" with:"x"')
    assert outside[0] == 409 and "occurs 0 times" in outside[1]
    assert post(view, f'edit #{number} lines:33 "x"')[0] == 409  # a line around it
    reply = post(view, f'edit #{number} lines:10 "ten"')[1]
    assert f"line 10; #{number} now 10–32" in reply


def test_every_write_names_its_window_line_and_author(view: View) -> None:
    node, number = opened(view, "a\nb\nc", 2, 2)
    post(view, line(f"edit #{number}", "B"))
    version = Node.objects.latest("id")
    step = Step.objects.get(canonical__startswith="→ edit")
    assert step.canonical == f'→ edit #{number} "B"'
    assert (step.actor, version.author, version.edited_from) == (
        view.actor.participant,
        view.actor.participant,
        Node.objects.get(local_id=node),
    )


def test_a_window_that_is_behind_overwrites_nothing(view: View) -> None:
    node, number = opened(view, "a\nb\nc", 2, 2)
    post(view, f'edit {node} replace:"a" with:"A"')
    status, reply = post(view, line(f"edit #{number}", "B"))
    assert (status, f"→ refresh #{number}" in reply) == (409, True)
    post(view, f"refresh #{number}")
    assert post(view, line(f"edit #{number}", "B"))[0] == 200
    assert whole() == ["A", "B", "c"]


def test_a_suggestion_through_a_window_is_of_its_lines(view: View) -> None:
    _, number = opened(view, "a\nb\nc", 2, 3)
    post(view, line(f"suggest #{number}", "B\nb\nc"))
    assert whole() == ["a", "B", "b", "c"]
    assert Node.objects.latest("id").form == "diff"
    assert post(view, f"accept {newest()}")[0] == 200
    assert view.windows()[number]["stale"]


def test_a_fork_through_a_window_is_what_it_shows_then(
    actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    view = View(actor, tree, api(owner))  # in dialogue mode
    node, number = opened(view, "a\nb\nc", 2, 2)
    assert f"; #{number} now 2–3" in post(view, line(f"edit #{number}", "x\ny"))[1]
    assert whole() == ["a", "x", "y", "c"]
    assert f"[{newest()}]" in view.windows()[number]["ref"]
    assert Node.objects.get(local_id=node).text == "a\nb\nc"
