"""Any order of windows opened, hidden, shown and closed keeps the laws of docs/model.md §3."""

import pytest
from django.db import transaction
from django.db.models import QuerySet
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from loom.access import Actor
from loom.engine import views
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node
from loom.turns import turn_lifecycle
from loom.workspace.models import Window
from loom.workspace.queries.window_contents import contents_of
from tests.commands.conftest import untold
from tests.thorough import tries

pytestmark = pytest.mark.django_db(transaction=True)
LINES = 12
NUMBERS = st.integers(1, 40)
SPANS = st.tuples(st.integers(1, LINES), st.integers(0, 4))


class Windows(RuleBasedStateMachine):
    """A person's windows on two texts, beside a model of what may be seen."""

    def __init__(self, actor: Actor) -> None:
        super().__init__()
        self.actor = actor
        self.tree = trees.new_tree(self.actor, title="Windows")
        self.ids = []
        for name in "ab":
            text = "\n".join(f"{name}{n}" for n in range(1, LINES + 1))
            answer = execute_line(self.actor, self.tree, Request(f"respond root\n{text}\n←"))
            self.ids += answer.body["refs"]
        self.texts = {
            node.pk: node.text.split("\n")
            for node in Node.objects.filter(tree=self.tree, text__gt="")
        }
        self.view = node_writer.workspace_of(self.actor.participant, self.tree)

    def say(self, line: str, turn: str = "") -> str:
        """The reply, or the code of the refusal."""
        try:
            return untold(execute_line(self.actor, self.tree, Request(line, turn=turn)).reply)
        except CommandError as refused:
            return refused.code

    @rule(which=st.integers(0, 1), span=SPANS, keep=st.booleans(), turn=st.sampled_from(["", "t"]))
    def open(self, which: int, span: tuple[int, int], keep: bool, turn: str) -> None:
        first, more = span
        line = f"open {self.ids[which]} lines:{first}-{min(first + more, LINES)}"
        line += " keep" if keep else ""
        told = self.say(line, turn)
        assert told.startswith("✓ opened #")
        number = told.split()[2]
        rows = self.states()
        assert self.say(line, turn).split()[2] == number  # opening twice is opening once
        assert self.states() == rows

    @rule(number=NUMBERS, turn=st.sampled_from(["", "t"]))
    def hide_and_show(self, number: int, turn: str) -> None:
        seen = self.shown().get(number)
        if seen is None:
            return
        assert self.say(f"hide #{number}", turn) == f"✓ hidden #{number}"
        assert number not in self.shown()
        assert self.say(f"show #{number}", turn) == f"✓ shown #{number}"
        assert self.shown()[number] == seen

    @rule(number=NUMBERS, verb=st.sampled_from(["hide", "show", "close"]))
    def change(self, number: int, verb: str) -> None:
        closed = self.rows().filter(number=number).values_list("is_closed", flat=True)
        expected = {(): "NOT_FOUND", (True,): "REJECTED", (False,): "✓"}[tuple(closed)]
        assert self.say(f"{verb} #{number}").startswith(expected)

    @rule(mentions=st.lists(NUMBERS, max_size=3))
    def end_turn(self, mentions: list[int]) -> None:
        rows = self.rows().filter(is_closed=False)
        before = {row.number: row for row in rows}
        answer = " ".join(f"#{mention}" for mention in mentions)
        with transaction.atomic():
            view = views.locked(self.view)
            turn_lifecycle.hide_windows(view, answer, actor=self.actor.participant)
        for row in rows.all():
            was = before[row.number]
            if was.is_kept:
                assert row.is_visible == was.is_visible
            else:
                stays = was.is_extended or row.number in mentions
                assert row.is_visible == (was.is_visible and stays)

    def rows(self) -> QuerySet[Window]:
        """The windows of this machine."""
        return Window.objects.filter(workspace=self.view)

    def states(self) -> list[tuple[object, ...]]:
        """What a second opening leaves as it is."""
        names = ("number", "first", "last", "is_visible", "is_kept", "is_closed", "label")
        return list(self.rows().values_list(*names))

    def shown(self) -> dict[int, str]:
        """The texts of the visible windows."""
        rows = self.rows().filter(is_visible=True)
        return {
            content.window.number: content.text
            for content in contents_of(self.actor, self.view, rows)
        }

    @invariant()
    def no_line_is_in_two_windows(self) -> None:
        held = [
            (row.item_id, line)
            for row in self.rows().filter(is_visible=True)
            for line in range(row.first, row.last + 1)
        ]
        assert len(held) == len(set(held))

    @invariant()
    def a_window_shows_its_lines(self) -> None:
        shown = self.shown()
        for row in self.rows().filter(is_visible=True):
            lines = self.texts[row.item_id or 0][row.first - 1 : row.last]
            assert shown[row.number] == "\n".join(lines)

    @invariant()
    def what_is_closed_is_not_visible(self) -> None:
        assert not self.rows().filter(is_closed=True, is_visible=True).exists()


def test_any_order_of_lines_and_turns_keeps_the_laws(actor: Actor) -> None:
    run_state_machine_as_test(
        lambda: Windows(actor),  # type: ignore[arg-type]
        settings=settings(
            max_examples=tries(15),
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
