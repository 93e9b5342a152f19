"""What a line does in its workspace: windows, tasks, loaded augments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loom.engine.effects import Effect, after_each_line, stores
from loom.engine.event_kinds import Body, Payload, adds_to, event
from loom.engine.items import make_items
from loom.engine.models import Step
from loom.engine.storing import Storing
from loom.engine.views import ViewEffect
from loom.language.lines import makes_window
from loom.text.tokens import count
from loom.trees.models import Workspace
from loom.workspace.models import Task, Window
from loom.workspace.queries.shown_windows import window_brief
from loom.workspace.queries.windows import opened_by
from loom.workspace.queries.workspace_bodies import task_brief

# Windows. A command changes the row of a window and adds the effect once; it is stored at the end.


@event("window.opened", "window.changed", "window.closed", stream="workspace")
class WindowsOfView(Payload):
    """Windows that were opened, changed (also hidden or shown) or closed."""

    windows: list[Body]
    revision: int


class WindowEffect(Effect):
    """Something that happened to windows."""


@dataclass(frozen=True)
class WindowOpened(WindowEffect):
    """A window that the line opened. Its number is that of its step."""

    window: Window


@dataclass(frozen=True)
class WindowChanged(WindowEffect):
    """A window that the line changed, hid, showed or closed."""

    window: Window


@dataclass(frozen=True)
class WindowsEvicted(WindowEffect):
    """Windows (their numbers) that the line has hidden to stay within a limit. It is a step of its
    own, so that the log says why."""

    line: str
    because: str


def windows_of_line(effects: Sequence[WindowEffect]) -> list[Window]:
    """The windows that a line opened or changed, in that order."""
    return [effect.window for effect in effects if isinstance(effect, WindowOpened | WindowChanged)]


@stores(WindowEffect)
def _store_windows(storing: Storing, effects: list[WindowEffect]) -> None:
    """Stores the windows and writes an event for each."""
    # A stash can only take over a label once the one it replaces is closed.
    for window in sorted(windows_of_line(effects), key=lambda row: (row.pk is None, row.number)):
        is_new = window.pk is None
        make_items([window.item_id] if window.item_id is not None else [])
        if is_new:
            is_first = window.number == storing.step.seq
            window.step = storing.step if is_first else _step_of(storing, window)
        window.save()
        kind = "opened" if is_new else "closed" if window.is_closed else "changed"
        storing.announce(f"window.{kind}", {"windows": [window_brief(window)]})
    for effect in effects:
        if isinstance(effect, WindowsEvicted):
            told = {"canonical": effect.line, "line": effect.line, "because": effect.because}
            storing.add_step(**told, message="✓", evicts=True)


def _step_of(storing: Storing, window: Window) -> Step:
    """The step of one of several windows that a line opened, as if it had been opened on its
    own. One that was opened along a link has its type, and led to the item."""
    line = f"→ open {opened_by(window, storing.context.tree)}"
    items = [window.item_id] if window.item_id is not None else []
    values = {"canonical": line, "line": line, "message": f"✓ opened #{window.number}"}
    if window.via:
        return storing.add_step(**values, led_to=items, link_type=window.via)
    return storing.add_step(**values, items=items)


@after_each_line
def _keep_result(storing: Storing) -> None:
    """In a turn the result of a look command is a window too; the event of its line names it."""
    if storing.context.turn and makes_window(storing.attempt.line):
        Window.objects.create(
            workspace=storing.workspace,
            number=storing.step.seq,
            kind="result",
            step=storing.step,
            turn_uid=storing.context.turn,
            opened_at=storing.context.now,
        )


# Tasks.


@event("task.added", "task.changed", stream="workspace")
class TasksOfView(Payload):
    """Tasks that were added, changed, moved or removed."""

    tasks: list[Body]
    revision: int


@dataclass(frozen=True)
class TaskEffect(Effect):
    """A task whose row the line has added or changed."""

    task: Task


class TaskAdded(TaskEffect):
    """A task that the line added."""


class TaskChanged(TaskEffect):
    """A task that the line changed, moved or removed."""


@stores(TaskEffect)
def _store_tasks(storing: Storing, effects: list[TaskEffect]) -> None:
    """Stores the tasks and writes an event for those added and one for those changed."""
    for effect in effects:
        effect.task.save()
    for kind, name in ((TaskAdded, "task.added"), (TaskChanged, "task.changed")):
        bodies = [task_brief(effect.task) for effect in effects if isinstance(effect, kind)]
        if bodies:
            storing.announce(name, {"tasks": bodies})


# Augments, the scratchpad and settings.


@adds_to("view.changed")
class LoadedInView(Payload):
    """The augments that are loaded, how many tokens the scratchpad has, the settings of the
    windows."""

    augments: Body = {}
    scratchpad: int = 0
    settings: Body = {}


@dataclass(frozen=True)
class AugmentsChosen(ViewEffect):
    """The augments (ids of documents) that are loaded and pinned after the line."""

    loaded: tuple[str, ...]
    pinned: tuple[str, ...]

    @classmethod
    def change(cls, workspace: Workspace, effects: Sequence["AugmentsChosen"]) -> dict[str, Any]:
        """The loaded augments, if they have changed."""
        chosen = {"loaded": list(effects[-1].loaded), "pinned": list(effects[-1].pinned)}
        if chosen == workspace.augments:
            return {}
        workspace.augments = chosen
        return {"augments": chosen}


@dataclass(frozen=True)
class ScratchpadChanged(ViewEffect):
    """The text of the scratchpad after the line. Its event says how many tokens it has."""

    text: str

    @classmethod
    def change(cls, workspace: Workspace, effects: Sequence["ScratchpadChanged"]) -> dict[str, Any]:
        """The new text, if it has changed."""
        text = effects[-1].text
        if text == workspace.scratchpad:
            return {}
        workspace.scratchpad = text
        return {"scratchpad": count(text)}


# What people keep for themselves or for their grove.


@event("preset.saved", stream="grove")
class PresetSaved(Payload):
    """Settings of generation are kept under a name, for all members."""

    preset: Body


@event("preset.removed", stream="grove")
class PresetRemoved(Payload):
    """A preset of the grove was removed."""

    preset: str
    name: str


@event("settings.pinned", stream="tree")
class SettingsPinned(Payload):
    """Settings of generation hold from a node on."""

    node: str
    settings: Body | None
