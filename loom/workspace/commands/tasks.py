"""The task list of a workspace: `todo` (docs/model.md §5.1 and §9)."""

from collections.abc import Sequence
from typing import Annotated, Literal

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError, not_found
from loom.language.refs import Ref
from loom.language.verbs import Phrases, Verb
from loom.people.names import skeleton
from loom.permissions import LOOM
from loom.workspace.effects import TaskAdded, TaskChanged
from loom.workspace.models import Task
from loom.workspace.near_misses import TODO_HINTS
from loom.workspace.queries import tasks as task_list
from loom.workspace.queries import workspace_bodies

MOST_TASKS = 200  # per workspace, not counting archived ones
LONGEST = 2000  # characters of a task, and of a note

# State machine: state → word → state. `note` is allowed in every state.
MACHINE: dict[str, dict[str, str]] = {
    "unchecked": {"toggle": "checked", "done": "checked", "archive": "archived"},
    "checked": {"toggle": "unchecked", "done": "checked", "archive": "archived"},
    "archived": {"archive": "archived"},
}
WORDS = {"toggle": "toggled", "done": "done", "archive": "archived", "remove": "removed"}


def after(task: Task, word: str) -> str:
    """The state of a task after a word. REJECTED if its state does not allow the word."""
    state = MACHINE[task.state].get(word)
    if state is None:
        raise CommandError(
            "REJECTED",
            f"t{task.number} is archived; an archived task can't be changed.",
            hint=f'→ todo add "…" makes a new one, → todo note t{task.number} "…" adds a note',
        )
    return state


class TaskListArgs(Args):
    """The word `list`, which is optional."""

    list: Annotated[bool, Written("flag")] = False


describe_verb(
    Verb(
        "todo",
        hints=TODO_HINTS,
        taught='todo add "…", done|toggle|remove tn, note tn "…" — your tasks',
        phrases=(
            Phrases(
                "tick|tick off|check off|[x]|mark * done|mark * as done|complete", before="done"
            ),
            Phrases("untick|uncheck|[]|mark * undone|mark * as undone", before="toggle"),
            Phrases("add todo|add task|remember to", before="add", needs="text"),
        ),
        dropped=("and task tasks todo"),
    )
)


@command("todo", group="Keep", klass="look", permissions={LOOM})
def todo(context: Context, args: TaskListArgs) -> Reply:
    """Lists your tasks, the archived ones last."""
    rows = workspace_bodies.listed_tasks(context.workspace)
    lines = [line for task in rows for line in workspace_bodies.task_lines(task)]
    return Reply("\n".join(lines) or 'there are no tasks; → todo add "…" adds one')


class Add(Args):
    """The texts of new tasks, and the place where they go (1: at the top)."""

    add: Annotated[str, Written("word", lead="add")]
    texts: Annotated[tuple[str, ...], Written("quoted", many=True, shown='"…"')]
    at: Annotated[int | None, Written("option", key="at", value="int", minimum=1)] = None


@command("todo", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def todo_add(context: Context, args: Add) -> Reply:
    """Adds tasks at the end of your list, or at a place in it."""
    for text in args.texts:
        _demand_text(text, "task")
    rows = task_list.current_tasks(context.workspace)
    if len(rows) + len(args.texts) > MOST_TASKS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"At most {MOST_TASKS} tasks can be open.",
            hint="→ todo archive t1 puts one away",
        )
    number = workspace_bodies.last_task_number(context.workspace)
    tasks = [
        Task(workspace=context.workspace, number=number + at, text=text, made_at=context.now)
        for at, text in enumerate(args.texts, start=1)
    ]
    place = len(rows) if args.at is None else min(args.at - 1, len(rows))
    _set_order(context, [*rows[:place], *tasks, *rows[place:]], tasks)
    return Reply(f"✓ added {_numbered(tasks)}")


def _set_order(context: Context, rows: Sequence[Task], new: Sequence[Task]) -> None:
    """Numbers the places; tasks that moved are stored with the step of the line."""
    for place, task in enumerate(rows, start=1):
        if task.place != place or task in new:
            task.place = place
            context.add(TaskAdded(task) if task in new else TaskChanged(task))


class TaskChangeArgs(Args):
    """The word and the tasks."""

    to: Annotated[
        Literal["toggle", "done", "archive", "remove"],
        Written("choice", choices=("toggle", "done", "archive", "remove")),
    ]
    tasks: Annotated[tuple[RefField, ...], Written("ref", many=True, refs=("task",))]


@command(
    "todo",
    group="Keep",
    klass="write",
    permissions={LOOM},
    stream="workspace",
    takes_away=lambda values: values.get("to") == "remove",
)
def todo_change(context: Context, args: TaskChangeArgs) -> Reply:
    """Checks or unchecks tasks (`toggle`), checks them (`done`), archives or removes them."""
    rows = [get_task(context, ref) for ref in dict.fromkeys(args.tasks)]
    for task in rows:
        if args.to == "remove":
            task.is_removed = True
        else:
            task.state = after(task, args.to)
        context.add(TaskChanged(task))
    if args.to == "toggle":
        return Reply(
            "✓ " + " · ".join(f"t{task.number} {workspace_bodies.task_mark(task)}" for task in rows)
        )
    return Reply(f"✓ {WORDS[args.to]} {_numbered(rows)}")


class TaskNoteArgs(Args):
    """A task, and a note about it."""

    note: Annotated[str, Written("word", lead="note")]
    task: Annotated[RefField, Written("ref", refs=("task",))]
    text: Annotated[str, Written("quoted", shown='"…"')]


@command("todo", group="Keep", klass="write", permissions={LOOM}, stream="workspace")
def todo_note(context: Context, args: TaskNoteArgs) -> Reply:
    """Adds a note to a task, in any state."""
    _demand_text(args.text, "note")
    task = get_task(context, args.task)
    if len(task.notes) >= workspace_bodies.MOST_NOTES:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A task has at most {workspace_bodies.MOST_NOTES} notes.",
            hint='add a task of its own: → todo add "…"',
        )
    task.notes = [*task.notes, args.text]
    context.add(TaskChanged(task))
    return Reply(f"✓ noted on t{task.number}")


class TaskClearArgs(Args):
    """The word `clear`."""

    clear: Annotated[str, Written("word", lead="clear")]


@command(
    "todo",
    group="Keep",
    klass="write",
    permissions={LOOM},
    stream="workspace",
    takes_away=lambda _values: True,
)
def todo_clear(context: Context, args: TaskClearArgs) -> Reply:
    """Removes all tasks from your list."""
    rows = sorted(workspace_bodies.task_rows(context.workspace), key=lambda task: task.number)
    if not rows:
        raise CommandError("REJECTED", "There are no tasks.", hint='→ todo add "…" adds one')
    for task in rows:
        task.is_removed = True
        context.add(TaskChanged(task))
    return Reply(f"✓ removed {_numbered(rows)}")


def get_task(context: Context, ref: Ref) -> Task:
    """The task of the workspace that a ref names. NOT_FOUND if there is none."""
    rows = workspace_bodies.task_rows(context.workspace).filter(number=int(ref.id))[:1]
    if not rows:
        raise not_found(f"t{ref.id}", "→ todo list lists your tasks")
    return rows[0]


def _demand_text(text: str, what: str) -> None:
    if len(text) > LONGEST or not skeleton(text):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A {what} has 1 to {LONGEST:,} characters, and something to be seen.",
            hint="say it in a sentence",
        )


def _numbered(rows: Sequence[Task]) -> str:
    return " ".join(f"t{task.number}" for task in rows)


MOST_STEPS = 500
