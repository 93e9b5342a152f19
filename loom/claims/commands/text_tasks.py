"""Tasks that are written in texts: checking them by a line, for everybody (docs/model.md §9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from loom.claims.commands import checks as check_commands
from loom.claims.models import TokenState
from loom.claims.queries.inline_tokens import states_of
from loom.claims.rules.carried_tasks import carried_tasks, tasks_of
from loom.claims.rules.inline_tokens import MACHINES, InlineToken, below, tokens_in
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.registry import command
from loom.engine.undo import Own, conflict, undoes
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.permissions import LOOM, WRITE
from loom.trees.commands.node_writer import demand_visible
from loom.trees.grove_texts import after_rewriting, grove_texts, is_text
from loom.trees.models import GroveText, Node
from loom.trees.named_items import get_own_node

MAX_NOTE = 500
BATCH = 500  # nodes whose states are read together
ACTS = ("check", "uncheck", "toggle", "archive", "note")


class TaskOfNode(Args):
    """What to do, the text, the key of the task in it, and a note."""

    act: Annotated[
        Literal["check", "uncheck", "toggle", "archive", "note"], Written("choice", choices=ACTS)
    ]
    ref: Annotated[RefField, Written("ref", but=("document", "task"))]
    token: Annotated[str, Written("option", key="token", value="word", shown="KEY")]
    note: Annotated[str, Written("quoted")] = ""


@dataclass(frozen=True)
class TaskInText:
    """A task in its text: the tokens of the text, its state and notes."""

    tokens: list[InlineToken]
    task: InlineToken
    state: str
    notes: tuple[str, ...]
    item: int
    name: str


def _place(
    text: str, key: str, item: int, name: str, *, stable: bool, shown: str = ""
) -> TaskInText:
    tokens = tokens_in(text, stable=stable)
    task = next((token for token in tokens if token.key == key and token.kind == "task"), None)
    if task is None:
        tasks = ", ".join(token.key for token in tokens if token.kind == "task")
        raise not_found(
            f"A task {key} of {shown or name}", f"its tasks: {tasks}" if tasks else "it has none"
        )
    state, notes = states_of(item, tokens)[task.key]
    return TaskInText(tokens, task, state, notes, item, name)


def _after(place: TaskInText, args: TaskOfNode) -> str:
    """The state after the act. REJECTED if the machine has no such transition."""
    after = MACHINES["task"].transitions.get((place.state, args.act))
    if after is None:
        why = (
            "Cannot modify archived task."
            if place.state == "archived"
            else f"The task is {place.state}; {args.act} does not change it."
        )
        allowed = ", ".join(MACHINES["task"].inputs(place.state))
        raise CommandError("REJECTED", why, hint=f"allowed now: {allowed}")
    if args.act == "note" and not args.note.strip():
        raise CommandError("INVALID_SYNTAX", "The note is empty.", hint='add "a note"')
    return after


def _demand_criteria(context: Context, place: TaskInText) -> str:
    """What the criteria of a task say; REJECTED if its check fails or a task below it is open."""
    known = states_of(place.item, place.tokens)
    left = [
        token for token in below(place.tokens, place.task) if known[token.key][0] == "unchecked"
    ]
    if left:
        raise CommandError(
            "REJECTED",
            f"{len(left)} of the tasks below it {'is' if len(left) == 1 else 'are'} not checked.",
            hint=f"check {left[0].key} first",
        )
    if not place.task.check:
        return ""
    passed, outcome = check_commands.passes(context, place.item, place.task.check)
    if not passed:
        raise CommandError("REJECTED", f"Its check fails: {outcome}.", hint="change the text first")
    return f", {outcome}"


def _keep(place: TaskInText, context: Context, state: str, note: str) -> None:
    notes = [*place.notes, note[:MAX_NOTE]] if note.strip() else list(place.notes)
    if context.world.is_dry:
        return
    TokenState.objects.update_or_create(
        item=place.item,
        key=place.task.key,
        defaults={"kind": "task", "state": state, "data": {"notes": notes}, "at": context.now},
    )


def _is_kept(place: TaskInText) -> bool:
    return TokenState.objects.filter(item=place.item, key=place.task.key).exists()


def _changed(place: TaskInText, state: str, note: str) -> dict[str, object]:
    notes = [*place.notes, note[:MAX_NOTE]] if note.strip() else list(place.notes)
    return {
        "item": place.name,
        "key": place.task.key,
        "token": "task",
        "state": state,
        "notes": notes,
    }


def _rewrite(context: Context, place: TaskInText, state: str) -> None:
    """Writes the box of a task of a text of the grove as its new state, if that is shown by it and
    the box does not show it yet: that of an archived task shows that it was checked."""
    mark = {"checked": "x", "unchecked": " "}.get(state)
    if mark is None or state == place.task.state or context.world.is_dry:
        return

    def edits_of(now: str) -> Sequence[tuple[int, int, str]]:
        at = _place(now, place.task.key, place.item, place.name, stable=True).task.mark
        return [(at, at + 1, mark)]

    grove_texts().edit(context, place.item, edits_of)


def _done(args: TaskOfNode, after: str, shown: str) -> str:
    """What a line did to a task of a text, for its reply; a note leaves its state as it is."""
    task = f"{args.token} of {shown}"
    return f"noted on {task} ({after})" if args.act == "note" else f"{after} {task}"


def change_task(context: Context, text: GroveText, args: TaskOfNode, shown: str) -> Reply:
    """Does what a line says with a task of a text of the grove, which shows it; `shown` is what a
    reply calls the text."""
    item, name = text.item_id, f"doc:{text.uid}"
    # Stored states belong to the tasks of the newest version.
    settled = grove_texts().settled(context, item) or ""
    place = _place(settled, args.token, item, name, stable=True, shown=shown)
    after = _after(place, args)
    criteria = _demand_criteria(context, place) if after == "checked" and args.act != "note" else ""
    _rewrite(context, place, after)
    if args.note or after != "unchecked" or _is_kept(place):
        _keep(place, context, after, args.note)
    context.world.append("token.changed", _changed(place, after, args.note))
    return Reply(
        f"✓ {_done(args, after, shown)}{criteria}",
        refs=(name,),
        items=(item,),
        inverse=(_inverse(place, after, args.note),),
        did={"task": "noted" if args.act == "note" else after},
    )


@command("todo", group="Keep", klass="write", permissions={LOOM, WRITE}, stream="tree")
def task_of_node(context: Context, args: TaskOfNode) -> Reply:
    """Checks a task `- [ ]` that is written in a text, for everybody, by its number there."""
    node = get_own_node(context, args.ref)
    demand_visible(node)
    item = ids.of_node(node.pk)
    place = _place(node.text, args.token, item, node.local_id, stable=False)
    after = _after(place, args)
    criteria = _demand_criteria(context, place) if after == "checked" and args.act != "note" else ""
    _keep(place, context, after, args.note)
    context.world.append("token.changed", _changed(place, after, args.note))
    return Reply(
        f"✓ {_done(args, after, f'[{node.local_id}]')}{criteria}",
        refs=(node.local_id,),
        items=(item,),
        inverse=(_inverse(place, after, args.note),),
        did={"task": "noted" if args.act == "note" else after},
    )


@after_rewriting
def _carry_states(text: GroveText, before: str, after: str) -> None:
    """Keeps the states of the tasks of a text with them where a new version gives them other keys.
    One query for a text without stored states."""
    rows = list(TokenState.objects.filter(item=text.item_id, kind="task"))
    if not rows:
        return
    keys = carried_tasks(before, after)
    taken, tasks = set(keys.values()), {task.key: task for task in tasks_of(after)}
    moved = [row for row in rows if keys.get(row.key, row.key) != row.key]
    gone = [row for row in rows if row.key not in keys and _is_foreign(row, taken, tasks)]
    TokenState.objects.filter(pk__in=[row.pk for row in (*moved, *gone)]).delete()
    for row in moved:
        row.pk, row.key = None, keys[row.key]
    TokenState.objects.bulk_create(moved)


def _is_foreign(row: TokenState, taken: set[str], tasks: Mapping[str, InlineToken]) -> bool:
    """Whether the state of a task that is gone would be that of another one, which has its key now.
    A task that comes back with the mark that it had, as by `undo`, has its state again."""
    if row.key in taken:
        return True
    task = tasks.get(row.key)
    return task is not None and (task.state == "unchecked") != (row.state == "unchecked")


def copy_task_states(context: Context, copies: Mapping[int, Node]) -> list[Op]:
    """Gives the tasks of nodes of the tree what became of those of the same texts elsewhere:
    `copies` are the nodes by the row ids of these. Writes the events, and returns what leads back.
    One query for each BATCH nodes, and one that stores their states."""
    inverse: list[Op] = []
    keys = list(copies)
    tasks: dict[int, dict[str, InlineToken]] = {}  # of each node that has states, read once
    for start in range(0, len(keys), BATCH):
        items = [ids.of_node(key) for key in keys[start : start + BATCH]]
        new = []
        for row in TokenState.objects.filter(item__in=items, kind="task").order_by("pk"):
            node = copies[ids.node_id(row.item) or 0]
            notes = row.data.get("notes", [])
            if node.pk not in tasks:
                tokens = tokens_in(node.text)
                tasks[node.pk] = {token.key: token for token in tokens if token.kind == "task"}
            task = tasks[node.pk].get(row.key)
            if task is None or (row.state, notes) == (task.state, []):
                continue
            row.pk, row.item = None, ids.of_node(node.pk)
            new.append(row)
            changed = {"item": node.local_id, "key": row.key, "state": row.state, "notes": notes}
            context.world.append("token.changed", {**changed, "token": "task"})
            before = {"name": node.local_id, "item": row.item, "before": [task.state, []]}
            inverse.append({"op": "token", **changed, **before})
        TokenState.objects.bulk_create(new)
    return inverse


# Undo.


def _inverse(place: TaskInText, after: str, note: str) -> Op:
    """The operation that leads back from the state `after` and a note that was added."""
    return {
        "op": "token",
        "item": place.item,
        "name": place.name,
        "key": place.task.key,
        "state": after,
        "notes": [*place.notes, note[:MAX_NOTE]] if note.strip() else list(place.notes),
        "before": [place.state, list(place.notes)],
    }


@undoes("token")
def _undo_token(context: Context, op: Op, own: Own) -> list[Op]:
    """Leads a task back, if it still is as the step left it."""
    item, name, key = op["item"], op["name"], op["key"]
    node = Node.objects.filter(pk=ids.node_id(item) or 0).first()
    text = grove_texts().settled(context, item) if node is None else node.text
    tokens = tokens_in(text or "", stable=is_text(item))
    if not any(token.key == key and token.kind == "task" for token in tokens):
        raise conflict(f"The task {key} of {name}")
    place = _place(text or "", key, item, name, stable=is_text(item))
    if [place.state, list(place.notes)] != [op["state"], op["notes"]]:
        raise conflict(f"The task {key} of {name}")
    state, notes = op["before"]
    if node is None:
        _rewrite(context, place, state)
    if node is not None or TokenState.objects.filter(item=item, key=key).exists():
        TokenState.objects.update_or_create(
            item=item,
            key=key,
            defaults={"kind": "task", "state": state, "data": {"notes": notes}, "at": context.now},
        )
    changed = {"item": name, "key": key, "token": "task", "state": state, "notes": notes}
    context.append(item, "token.changed", changed)
    return [{**op, "state": state, "notes": notes, "before": [op["state"], op["notes"]]}]
