"""What a line does besides writing its stream: effects, which the engine stores with its step."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import pytest

from loom.access import Actor
from loom.engine import effects
from loom.engine.context import Request
from loom.engine.effects import Effect, Effects, ItemsRead, stores
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.engine.storing import Storing
from loom.engine.views import Moved
from loom.errors import CommandError
from loom.trees.commands import node_writer
from loom.trees.models import Tree
from loom.workspace.effects import TaskAdded, TaskChanged, TaskEffect, WindowEffect
from loom.workspace.models import Task


def test_effects_are_found_by_their_class_and_dropped_from_the_end() -> None:
    done = Effects()
    done.add(ItemsRead((1, 2)))
    done.add(TaskAdded(Task(number=1)))
    done.add(TaskChanged(Task(number=2)))
    assert [effect.task.number for effect in done.of(TaskEffect)] == [1, 2]
    assert done.of(WindowEffect) == [] and done.last(Moved) is None
    done.add(ItemsRead((2, 3)))
    assert list(done.items_read) == [1, 2, 3]
    done.rewind(1)
    assert len(done) == 1
    assert list(done.items_read) == [1, 2]


def test_a_class_is_stored_in_one_way() -> None:
    with pytest.raises(ValueError, match=r"TaskEffect is already stored by loom\.workspace"):
        stores(TaskEffect)(lambda storing, effects: None)


def test_effects_of_one_class_are_stored_together_where_the_first_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @dataclass(frozen=True)
    class First(Effect):
        number: int

    class Second(First):
        """Stored as First is."""

    @dataclass(frozen=True)
    class Other(Effect):
        number: int

    stored: list[tuple[str, int]] = []
    monkeypatch.setattr(effects, "_stores", {})
    monkeypatch.setattr(effects, "_hooks", [lambda _: stored.append(("each line", 0))])
    stores(First)(lambda _, some: stored.append(("first", sum(effect.number for effect in some))))
    stores(Other)(lambda _, some: stored.append(("other", len(some))))
    line = Effects([Other(1), ItemsRead((7,)), First(1), Second(2)])
    effects.store_all(cast("Storing", SimpleNamespace(context=SimpleNamespace(effects=line))))
    assert stored == [("each line", 0), ("other", 1), ("first", 3)]


def test_a_refused_line_stores_no_effect(actor: Actor, tree: Tree) -> None:
    execute_line(actor, tree, Request('todo add "one"'))
    own = node_writer.workspace_of(actor.participant, tree)
    events = Event.objects.filter(stream__name=f"workspace:{own.uid}").count()
    with pytest.raises(CommandError):  # the second task is not there, after the first was checked
        execute_line(actor, tree, Request("todo done t1 t2"))
    assert Task.objects.get().state == "unchecked"
    assert Event.objects.filter(stream__name=f"workspace:{own.uid}").count() == events
    assert Step.objects.get(seq=2).outcome == "NOT_FOUND"
