"""What is put aside and what is remembered: stash, recall and memory (docs/model.md §5.1)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from loom.access import CLOSED, closed_steps, demand
from loom.engine import steps as step_log
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.jobs import enqueue
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import ParseError, Ref, label_named, print_ref
from loom.language.slices import get
from loom.language.verbs import Phrases, Verb
from loom.links.foot import portals_of
from loom.links.trail_steps import way_of
from loom.links.trails import step_line, stops_of
from loom.participants.provider_kinds import room_in
from loom.people.grove_settings import number_of
from loom.permissions import LOOM, READ_DOCUMENTS
from loom.text.counts import counted
from loom.text.shortening import in_one_line, summary_or_excerpt
from loom.trees.grove_texts import TextPart, grove_texts
from loom.trees.models import GroveText
from loom.trees.named_items import get_node, is_range, range_of, touched
from loom.trees.queries import lookup
from loom.trees.queries.lookup import rows_of
from loom.turns.models import Turn
from loom.workspace.commands.lenses import aimed
from loom.workspace.commands.windows import (
    close_window,
    demand_label,
    get_stash,
    items_of,
    marks_of,
    show_window,
    token_change,
    within_limit,
)
from loom.workspace.effects import WindowOpened
from loom.workspace.models import Window
from loom.workspace.queries import windows
from loom.workspace.queries.window_contents import WindowContent, contents_of, staleness
from loom.workspace.queries.windows import WITHHELD

# -- stash and recall


class Stash(Args):
    """A text to put aside, and its label."""

    label: Annotated[str, Written("quoted")]
    content: Annotated[str, Written("content")]
    replace: Annotated[bool, Written("flag")] = False


class StashOf(Args):
    """A node or document, or a part of it, whose text is put aside."""

    label: Annotated[str, Written("quoted")]
    of: Annotated[RefField, Written("option", key="content-of", value="ref")]
    replace: Annotated[bool, Written("flag")] = False


class StashSummary(Args):
    """A node, branch, range or document, whose summaries are put aside."""

    label: Annotated[str, Written("quoted")]
    of: Annotated[RefField, Written("option", key="summary-of", value="ref")]
    replace: Annotated[bool, Written("flag")] = False


describe_verb(
    Verb(
        "stash",
        past="stashed",
        taught='stash "label" CONTENT, or content-of:REF — puts a text aside',
    )
)


def _replaces(values: Mapping[str, object]) -> bool:
    """Whether a line with these values takes the place of an earlier stash."""
    return values.get("replace") is True


@command(
    "stash",
    group="Keep",
    klass="write",
    permissions={LOOM},
    stream="workspace",
    takes_away=_replaces,
)
def stash(context: Context, args: Stash) -> Reply:
    """Puts a text aside under a label; only the label stays in view until you recall it."""
    if args.content == "":
        raise CommandError("INVALID_SYNTAX", "There is no text to stash.", hint="write one")
    return _stashed(context, args.label, args.content, replaces=args.replace)


@command(
    "stash",
    group="Keep",
    klass="write",
    permissions={LOOM},
    stream="workspace",
    takes_away=_replaces,
)
def stash_of(context: Context, args: StashOf) -> Reply:
    """Puts the text of a node or document, or of a part of it, aside under a label."""
    if args.of.kind == "document":
        _, shown = _read_text(context, args.of)
        of = (shown.source.item, shown.source.version)
        return _stashed(context, args.label, shown.text, of, replaces=args.replace)
    ref = aimed(context, args.of).ref
    node = get_node(context, ref, slices=True)
    if lookup.withheld(context.actor, [node.pk]):
        raise CommandError(
            "REJECTED", f"[{node.local_id}]: {WITHHELD[1:-1]}.", hint="choose another"
        )
    text = node.text
    if ref.slice is not None:
        try:
            text = get(node.text, ref.slice).text
        except ParseError as bad:
            raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    of = (ids.of_node(node.pk), node.hash)
    return _stashed(context, args.label, text, of, replaces=args.replace)


def _read_text(context: Context, ref: Ref) -> tuple[GroveText, TextPart]:
    """A document and its text, or the part of it that the ref names. PERMISSION_DENIED if the
    caller may not read documents."""
    demand(context.actor, {READ_DOCUMENTS}, "stashing a document")
    text = grove_texts().get(context, ref)
    try:
        shown = grove_texts().part_of(text, ref.slice)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    if not shown.text:
        raise CommandError("REJECTED", "There is no text to stash.", hint="choose another part")
    return text, shown


@command(
    "stash",
    group="Keep",
    klass="write",
    permissions={LOOM},
    stream="workspace",
    takes_away=_replaces,
)
def stash_summary(context: Context, args: StashSummary) -> Reply:
    """Puts a line for each node of a branch or range, or for a document, aside: its summary, else
    its first words."""
    if args.of.kind == "document":
        of_grove, read = _read_text(context, args.of)
        taken = (read.source.item, read.source.version)
        summary = "" if args.of.slice is not None else of_grove.summary
        text = f"{print_ref(args.of)} {summary_or_excerpt(summary, read.text)}"
        return _stashed(context, args.label, text, taken, replaces=args.replace)
    rows = (
        range_of(context, args.of)
        if is_range(args.of)
        else rows_of([get_node(context, aimed(context, args.of).ref).pk])
    )
    gone = lookup.withheld(context.actor, [row.id for row in rows])
    shown = [row for row in rows if row.text and row.id not in gone]
    if not shown:
        raise CommandError("REJECTED", "There is no text to summarise.", hint="choose another")
    lacking = [row.id for row in shown if not row.summary]
    if lacking:
        named = [context.tree.uid, context.actor.person.pk, lacking, False, context.turn]
        enqueue("agents.tasks.summarise", named, queue="continue")
    lines = (f"[{row.local_id}] {summary_or_excerpt(row.summary, row.text)}" for row in shown)
    return _stashed(context, args.label, "\n".join(lines), replaces=args.replace)


def _stashed(
    context: Context, label: str, text: str, of: tuple[int, str] | None = None, *, replaces: bool
) -> Reply:
    """Stashes a text; `of` is the item that it is taken from, and the version."""
    demand_label(label)
    rows = windows.stashed(context.workspace)
    old = rows.filter(label__iexact=label).first()
    if old is not None and not replaces:
        raise CommandError(
            "CONFLICT",
            f"There is already a stash {label_named(old.label)}.",
            hint="use another label, or add replace",
        )
    most = number_of(context.tree.grove.settings, "stashes")
    if rows.count() >= most:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"At most {most} texts can be stashed.",
            hint='→ drop stash:"label" drops one',
        )
    if old is not None:
        close_window(context, old)
    window = Window(
        workspace=context.workspace,
        number=context.workspace.steps_made + 1,
        kind="stash",
        label=label,
        text=text,
        item_id=of[0] if of else None,
        version_seen=of[1] if of else "",
        turn_uid=context.turn,
        is_visible=False,
        opened_at=context.now,
    )
    context.add(WindowOpened(window))
    return Reply(
        f"✓ stashed {label_named(label)} ({counted(len(text), 'character')})",
        items=of[:1] if of else (),
    )


class Recall(Args):
    """The label of a stash."""

    label: Annotated[str, Written("quoted")]


describe_verb(
    Verb(
        "recall",
        past="recalled",
        taught='recall "label" — shows it again',
        phrases=(Phrases("what did i stash as|bring up", needs="text"),),
    )
)


@command("recall", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def recall(context: Context, args: Recall) -> Reply:
    """Shows a stash again and keeps it in view."""
    window = get_stash(context, args.label)
    show_window(context, window, keep=True)
    limited = within_limit(context, [window])
    message = f"✓ recalled {label_named(window.label)} as #{window.number}"
    return Reply(message + limited + token_change(context), items=items_of(window))


# -- memory


class Memory(Args):
    """Which part to show: the last steps, the stashes, or the windows."""

    part: Annotated[
        Literal["trace", "stashed", "windows"] | None,
        Written("choice", choices=("trace", "stashed", "windows")),
    ] = None


SHOWN = 50
LAST = 3  # steps of the trail
HIDDEN = 20


describe_verb(
    Verb(
        "memory",
        taught="memory [trace|stashed|windows]",
        is_harmless=True,
        phrases=(
            Phrases("status|where am i|show status|show memory|what is open"),
            Phrases(
                "show hidden windows|list hidden windows|list windows|show windows",
                before="windows",
            ),
            Phrases("what windows are there|which windows are open|windows", before="windows"),
        ),
    )
)


@command("memory", group="Keep", klass="look", permissions={LOOM}, aliases=("status",))
def memory(context: Context, args: Memory) -> Reply:
    """Shows your position, the trail that led there, the links that lead on, windows, stashes and
    how much of the context is used; with `trace` your last steps with their errors."""
    if args.part == "trace":
        return Reply("\n".join(_trace(context)) or "nothing was done yet")
    if args.part == "stashed":
        return Reply("\n".join(_stashes(context)) or "nothing is stashed")
    if args.part == "windows":
        return Reply("\n".join([*_windows(context), *_hidden(context)]))
    here = context.here
    lines = [f"Position: [{here.local_id}] (depth {here.depth})"]
    lines += _trail(context)
    lines += _links(context)
    lines += _windows(context)
    lines += _stashes(context)
    used = _used(context)
    return Reply("\n".join([*lines, *([used] if used else [])]), items=touched(here))


def _trail(context: Context) -> list[str]:
    """`Trail: 4 steps (→ trail)` and the last ones; nothing if no step led anywhere."""
    steps = way_of(context.workspace)
    last = steps[-LAST:]
    context.note_read(*(item for step in last for item in step.to))
    stops = stops_of(context.actor, context.tree, last)
    numbered_steps = enumerate(last, len(steps) - len(last) + 1)
    lines = [f"  {step_line(number, step, stops)}" for number, step in numbered_steps]
    return [f"Trail: {counted(len(steps), 'step')} (→ trail)", *lines] if lines else []


def _links(context: Context) -> list[str]:
    """`Links: 3 (→ list a7x2 links)`, and each type with its count; nothing if there are none."""
    here = context.here
    portals = portals_of(context.actor, {here.pk: here.slot_id}).get(here.pk, ())
    many = sum(portal.many for portal in portals)
    lines = [f"  {portal.opened.heading}" for portal in portals]
    return [f"Links: {many:,} (→ list {here.local_id} links)", *lines] if lines else []


def _trace(context: Context) -> list[str]:
    most = number_of(context.tree.grove.settings, "trace_actions")
    steps = list(context.workspace.steps.order_by("-seq")[:most])
    touched_by = step_log.items_of(steps)
    context.note_read(*(item for items in touched_by.values() for item in items))
    closed = closed_steps(context.actor, steps)
    lines = []
    for step in reversed(steps):
        line = in_one_line(step.canonical or step.line) if step.pk not in closed else CLOSED
        message = f": {step.message}" if step.pk not in closed else ""
        outcome = "" if step.outcome == "ok" else f" ✗ {step.outcome}{message}"
        lines.append(f"{step.seq} {line}{outcome}")
    return lines


def _stashes(context: Context) -> list[str]:
    rows = windows.stashed(context.workspace).filter(is_visible=False)[:SHOWN]
    return [
        f"  stashed {label_named(row.label)}"
        f" ({counted(len(row.text), 'character')}, not in context)"
        for row in rows
    ]


def _windows(context: Context) -> list[str]:
    """The number of visible windows and of their lines, then a line for each."""
    rows = windows.visible(context.workspace)
    seen = contents_of(context.actor, context.workspace, rows)
    context.note_read(*_items_in(rows))
    lines = sum(window.size for window in seen)
    head = f"windows {len(seen)} ({counted(lines, 'line')})"
    return [head, *(f"  {_line(window)}" for window in seen)]


def _items_in(rows: Iterable[Window]) -> Iterator[int]:
    for window in rows:
        yield from (window.item_id or 0, *map(ids.of_node, window.nodes))


def _line(shown: WindowContent) -> str:
    """`#4 [a7x2] lines 1–3 · keep · stale, now [k2m9] · label "scene"`."""
    window = shown.window
    marks = [marks_of(window), staleness(shown)]
    named = " · ".join([f"#{window.number} {shown.name}", *(mark for mark in marks if mark)])
    return named + _label(window)


def _label(window: Window) -> str:
    is_shown = window.label and window.kind != "stash"
    return f" · label {label_named(window.label)}" if is_shown else ""


def _hidden(context: Context) -> list[str]:
    """A line for each of the newest hidden windows that can be shown again."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, is_visible=False)
    rows = rows.exclude(kind="stash").select_related("item", "step").order_by("-number")
    newest = list(rows[:HIDDEN])
    seen = contents_of(context.actor, context.workspace, newest)
    context.note_read(*_items_in(newest))
    return [
        f"  #{window.window.number} {window.name} (hidden){_label(window.window)}"
        for window in seen
    ]


def _used(context: Context) -> str:
    """`Context: 12,847 tokens used · 37,153 available`, of a turn's current request: what is kept
    free for the answer is not available."""
    turn = Turn.objects.filter(uid=context.turn).first() if context.turn else None
    if turn is None or not turn.prepared:
        return ""
    reserve = number_of(context.tree.grove.settings, "truncation_reserve")
    used, limit = turn.prepared["tokens"], room_in(turn.participant.context_limit, reserve)
    return f"Context: {used:,} tokens used · {max(limit - used, 0):,} available"
