"""Trails (docs/model.md §5.1, §8): saved, shown, replayed, forked, joined, annotated, shared."""

from collections.abc import Sequence
from typing import Annotated

from loom.access import is_hidden_from_some
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.engine.views import Moved
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import label_named, trail_named
from loom.language.verbs import Verb
from loom.links.linked_items import items_linked
from loom.links.markdown import trail_markdown
from loom.links.models import Trail
from loom.links.trail_steps import MOST_STEPS, TrailStep, steps_of, way_of, way_of_turn
from loom.links.trails import (
    EndSeen,
    demand_own,
    get_trail,
    step_line,
    stops_of,
    trails_for,
)
from loom.links.written_portals import OpenedPortals
from loom.people.names import skeleton
from loom.permissions import LOOM
from loom.text.counts import counted
from loom.text.shortening import excerpt
from loom.trees.models import Node
from loom.trees.queries.lookup import withheld
from loom.workspace.commands.windows import (
    fits_below,
    held,
    items_of,
    numbered,
    place_window,
    title_of,
    token_change,
    within_limit,
)
from loom.workspace.models import Window
from loom.workspace.queries.windows import source_of
from loom.workspace.window_rules import Lines, total_of

MAX_NAME = 100
MAX_NOTE = 2000
MOST_LISTED = 50
MOST_REPLAYED = 20  # windows that a replay opens

describe_verb(
    Verb("trail", past="looked at a trail", is_harmless=True, meant_by="history breadcrumbs")
)


class Save(Args):
    """The name of the trail."""

    save: Annotated[str, Written("word", lead="save")]
    name: Annotated[str, Written("quoted")]
    turn: Annotated[RefField | None, Written("ref", lead="of", refs=("turn",))] = None


@command("trail", group="Mind", klass="look ✓", permissions={LOOM}, stream="grove")
def trail_save(context: Context, args: Save) -> Reply:
    """Keeps your steps since the last `switch` under a name, or those of a turn (`of turn:ID`): the
    way that led an agent to its answer."""
    if args.turn is not None:
        tree, steps = way_of_turn(context.actor, args.turn.id)
        if tree.pk != context.tree.pk:
            raise CommandError(
                "CROSS_TREE", "This turn is in another tree.", hint="save its trail there"
            )
    else:
        steps = way_of(context.workspace)
    if not steps:
        raise CommandError(
            "REJECTED",
            "No step of this turn led anywhere."
            if args.turn is not None
            else "No step since your last switch led anywhere.",
            hint="→ expand TYPE of REF follows links",
        )
    trail = _store(context, args.name, steps)
    return Reply(f"✓ saved {trail_named(trail.name)} ({counted(len(steps), 'step')})", items=())


class ShowWindows(Args):
    """No further arguments."""

    show: Annotated[str, Written("word", lead="show")]
    windows: Annotated[str, Written("word", lead="windows")]


@command("trail", group="Mind", klass="look", permissions={LOOM})
def trail_windows(context: Context, args: ShowWindows) -> Reply:
    """Shows your windows as the tree of what was opened from what, the first opened first."""
    below: dict[int, list[Window]] = {}
    windows = sorted(held(context), key=lambda window: window.number)
    context.note_read(*(window.item_id for window in windows if window.item_id))
    known = {window.number for window in windows}
    for window in windows:
        parent = window.parent_number if window.parent_number in known else 0
        below.setdefault(parent, []).append(window)
    lines: list[str] = []
    waiting = [(window, 0) for window in reversed(below.get(0, []))]
    while waiting:
        window, depth = waiting.pop()
        sign = "▼" if window.number in below else "·"
        lines.append(f"{'  ' * depth}{sign} {title_of(context, window)}")
        waiting += [(inner, depth + 1) for inner in reversed(below.get(window.number, []))]
    return Reply("\n".join(lines) or "no window is open")


class Show(Args):
    """The name of the trail; `as:markdown`: as a document with nested portals."""

    show: Annotated[str, Written("word", lead="show")]
    name: Annotated[str, Written("quoted")]
    form: Annotated[
        str, Written("option", key="as", value="choice", choices=("list", "markdown"))
    ] = "list"


@command("trail", group="Mind", klass="look", permissions={LOOM})
def trail_show(context: Context, args: Show) -> Reply:
    """Shows a trail: each step with its link type, where it led, and its note; or all of it as
    Markdown."""
    return _shown(context, args.name, args.form)


class ViewTrail(Args):
    """A trail."""

    ref: Annotated[RefField, Written("ref", refs=("trail",))]


@command("view", group="Look", klass="look", permissions={LOOM}, is_first=True)
def view_trail(context: Context, args: ViewTrail) -> Reply:
    """Shows a trail as `trail show` does: `view trail:"name"`."""
    return _shown(context, args.ref.name or args.ref.id)


def _shown(context: Context, name: str, form: str = "list") -> Reply:
    trail = get_trail(context.actor, name)
    steps = steps_of(trail)
    stops = stops_of(context.actor, context.tree, steps)
    context.note_read(*(item for step in steps for item in step.to))
    if form == "markdown":
        opened = OpenedPortals(context.actor, trail.tree, pruned=True)
        gone = _gone(context, stops.by_item)
        text = trail_markdown(trail.name, steps, stops, gone, opened=opened.text)
        context.note_read(*opened.read)
        return Reply(text)
    many = len({step.type for step in steps if step.type})
    head = f"{trail_named(trail.name)} by {trail.owner.name} · {counted(len(steps), 'step')}"
    lines = [f"{head} · {counted(many, 'type')}{' · shared' if trail.shared else ''}"]
    for number, window in enumerate(steps, 1):
        lines.append("  " + step_line(number, window, stops))
        lines += [f"      note: {window.note}"] if window.note else []
    return Reply("\n".join(lines))


class Replay(Args):
    """The name of the trail."""

    replay: Annotated[str, Written("word", lead="replay")]
    name: Annotated[str, Written("quoted")]


@command("trail", group="Mind", klass="look ✓", permissions={LOOM}, stream="workspace")
def trail_replay(context: Context, args: Replay) -> Reply:
    """Opens in your windows what a trail led to, in order, and moves you to the last of its texts
    that is not hidden; says what is gone, changed or new since it was taken."""
    trail = get_trail(context.actor, args.name)
    steps = steps_of(trail)
    stops = stops_of(context.actor, context.tree, steps)
    gone = [stop for stop in stops.by_item.values() if stop.is_gone]
    opened = _opened(context, steps, stops.by_item)
    lines = [f"  gone: {', '.join(sorted(stop.shown for stop in gone))}"] if gone else []
    lines += [f"  changed: {', '.join(sorted(stops.changed))}"] if stops.changed else []
    new = _new(context, steps)
    lines += [f"  new: {' '.join(new)}"] if new else []
    last = _end(context, steps, stops.by_item)
    if last is not None:
        context.add(Moved(last))
        lines.append(f"  now at [{last.local_id}]")
    limited = within_limit(context, opened)
    named = numbered([window.number for window in opened])
    head = f"✓ replayed {trail_named(trail.name)}: {counted(len(steps), 'step')}"
    return Reply(
        "\n".join([f"{head}{f' as {named}' if named else ''}", *lines])
        + limited
        + token_change(context),
        led_to=tuple(dict.fromkeys(item for window in opened for item in items_of(window))),
    )


def _opened(
    context: Context, steps: Sequence[TrailStep], stops: dict[int, EndSeen]
) -> list[Window]:
    """Windows on the texts of a trail, each opened from that of the item it was reached from."""
    opened: dict[int, Window] = {}
    for step in steps:
        parent = next((opened[place].number for place in step.of if place in opened), 0)
        for item in step.to:
            node = stops[item].node
            if node is None or not node.text or item in opened or len(opened) >= MOST_REPLAYED:
                continue
            parent = parent if fits_below(context, parent, step.type) else 0
            source = source_of(node)
            window = place_window(context, source, Lines(1, total_of(source.text)))
            if window._state.adding and window.number != parent:
                window.via, window.parent_number = step.type, parent
            opened[item] = window
    return list(opened.values())


def _new(context: Context, steps: Sequence[TrailStep]) -> list[str]:
    """`supports of [a7x2]: [k2m9]`: what the links of the trail lead to now and did not then."""
    lines = []
    for step in steps:
        for item in step.of if step.type else ():
            node = Node.objects.filter(pk=item, tree=context.tree).select_related("slot").first()
            if node is None:
                continue
            node.tree = context.tree
            ends = items_linked(
                context.actor, node, step.type, context.workspace, most=len(step.to) + 20
            )
            fresh = [end for end in ends if end not in step.to]
            names = Node.objects.filter(pk__in=fresh).values_list("local_id", flat=True)
            if shown := " ".join(f"[{name}]" for name in names):
                lines.append(f"{step.type} of [{node.local_id}]: {shown}")
    return lines


def _end(context: Context, steps: Sequence[TrailStep], stops: dict[int, EndSeen]) -> Node | None:
    """The last text of this tree on the trail that is neither pruned nor below a pruned one."""
    for step in reversed(steps):
        for item in reversed(step.to):
            node = stops[item].node
            is_text = node is not None and node.tree_id == context.tree.pk and node.kind == "text"
            if is_text and not stops[item].is_hidden:
                return node
    return None


class Fork(Args):
    """The trail, how many of its steps, and the name of the new one."""

    fork: Annotated[str, Written("word", lead="fork")]
    name: Annotated[str, Written("quoted")]
    at: Annotated[int, Written("option", key="at", value="int", minimum=1, maximum=MOST_STEPS)]
    save: Annotated[str, Written("option", key="save", value="quoted")]


@command("trail", group="Mind", klass="look ✓", permissions={LOOM}, stream="grove")
def trail_fork(context: Context, args: Fork) -> Reply:
    """Makes a trail of yours of the first steps of another."""
    trail = get_trail(context.actor, args.name)
    _demand_step(trail, args.at)
    copy = _store(context, args.save, steps_of(trail)[: args.at], forked_from=trail)
    return Reply(
        f"✓ {trail_named(copy.name)} begins with {counted(args.at, 'step')}"
        f" of {label_named(trail.name)}"
    )


class Join(Args):
    """Two trails, and the name of the new one."""

    join: Annotated[str, Written("word", lead="join")]
    first: Annotated[str, Written("quoted")]
    second: Annotated[str, Written("quoted")]
    save: Annotated[str, Written("option", key="save", value="quoted")]


@command("trail", group="Mind", klass="look ✓", permissions={LOOM}, stream="grove")
def trail_join(context: Context, args: Join) -> Reply:
    """Makes a trail of yours of the steps of two others, one after the other."""
    first_trail, two = (get_trail(context.actor, name) for name in (args.first, args.second))
    joined = _store(
        context, args.save, [*steps_of(first_trail), *steps_of(two)], forked_from=first_trail
    )
    both = f"{label_named(first_trail.name)} and {label_named(two.name)}"
    return Reply(f"✓ joined {both} as {trail_named(joined.name)}")


class TrailNoteArgs(Args):
    """The trail, which of its steps, and the note."""

    note: Annotated[str, Written("word", lead="note")]
    name: Annotated[str, Written("quoted")]
    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=MOST_STEPS)]
    text: Annotated[str, Written("quoted")]


@command("trail", group="Mind", klass="look ✓", permissions={LOOM}, stream="grove")
def trail_note(context: Context, args: TrailNoteArgs) -> Reply:
    """Writes a note on a step of a trail of yours."""
    trail = get_trail(context.actor, args.name)
    demand_own(context.actor, trail)
    _demand_step(trail, args.n)
    if len(args.text) > MAX_NOTE:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A note has at most {MAX_NOTE} characters.", hint="shorten it"
        )
    trail.steps[args.n - 1]["note"] = args.text
    _changed(context, trail, "steps")
    return Reply(f"✓ noted on step {args.n} of {trail_named(trail.name)}: {excerpt(args.text)}")


class ShareTrail(Args):
    """The trail."""

    share: Annotated[str, Written("word", lead="share")]
    name: Annotated[str, Written("quoted")]


class UnshareTrail(Args):
    """The trail."""

    unshare: Annotated[str, Written("word", lead="unshare")]
    name: Annotated[str, Written("quoted")]


@command("trail", group="Mind", klass="look ✓", permissions={LOOM}, stream="grove")
def trail_share(context: Context, args: ShareTrail) -> Reply:
    """Lets the members of the grove read a trail of yours, as far as they may read what it leads
    to."""
    return _shared(context, args.name, True)


@command("trail", group="Mind", klass="look ✓", permissions={LOOM}, stream="grove")
def trail_unshare(context: Context, args: UnshareTrail) -> Reply:
    """Makes a trail of yours private again."""
    return _shared(context, args.name, False)


def _shared(context: Context, name: str, shared: bool) -> Reply:
    trail = get_trail(context.actor, name)
    demand_own(context.actor, trail)
    trail.shared = shared
    _changed(context, trail, "shared")
    words = "shared with the members of the grove" if shared else "private"
    return Reply(f"✓ {trail_named(trail.name)} is {words}")


class Lists(Args):
    """After how many trails to begin."""

    lists: Annotated[str, Written("word", lead="list")]
    after: Annotated[int, Written("option", key="after", value="int", minimum=0)] = 0


@command("trail", group="Mind", klass="look", permissions={LOOM})
def trail_list(context: Context, args: Lists) -> Reply:
    """Lists your trails and the shared ones of the grove, the newest first."""
    rows = trails_for(context.actor)
    every = rows.count()
    trails = list(rows[args.after : args.after + MOST_LISTED])
    context.note_read(*(ids.of_tree(trail.tree_id) for trail in trails))
    lines = [
        f"{trail_named(trail.name)} by {trail.owner.name} · {counted(len(trail.steps), 'step')}"
        f"{' · shared' if trail.shared else ''}"
        for trail in trails
    ]
    last = args.after + len(trails)
    lines += [f"  … {every - last:,} more: → trail list after:{last}"] if every > last else []
    return Reply("\n".join(lines) or "no trails yet")


class Recent(Args):
    """The number of steps."""

    n: Annotated[int, Written("option", key="n", value="int", minimum=1, maximum=MOST_STEPS)] = 10


@command("trail", group="Mind", klass="look", permissions={LOOM})
def trail(context: Context, args: Recent) -> Reply:
    """Shows where your steps since the last `switch` led."""
    steps = way_of(context.workspace)
    stops = stops_of(context.actor, context.tree, steps)
    shown = list(enumerate(steps, 1))[-args.n :]
    context.note_read(*(item for _, step in shown for item in step.to))
    lines = [step_line(number, step, stops) for number, step in shown]
    left = len(steps) - len(shown)
    head = [f"  … {left} earlier: → trail n:{len(steps)}"] if left else []
    return Reply("\n".join([*head, *lines]) or "no step since your last switch led anywhere")


def _gone(context: Context, stops: dict[int, EndSeen]) -> set[int]:
    """The nodes whose text the caller is not shown."""
    return withheld(context.actor, [stop.item for stop in stops.values() if stop.node is not None])


def _demand_step(trail: Trail, number: int) -> None:
    if number > len(trail.steps):
        raise CommandError(
            "NOT_FOUND",
            f"{trail_named(trail.name)} has {counted(len(trail.steps), 'step')}.",
            hint=f"→ trail show {label_named(trail.name)} numbers them",
        )


def _store(
    context: Context, name: str, steps: Sequence[TrailStep], *, forked_from: Trail | None = None
) -> Trail:
    """A new trail. CONFLICT if the name is taken, LIMIT_EXCEEDED for too many steps."""
    name = " ".join(name.split())
    if not skeleton(name) or len(name) > MAX_NAME or '"' in name:
        raise CommandError(
            "INVALID_SYNTAX",
            f"A trail has a name of 1 to {MAX_NAME} characters without quotation marks.",
            hint='→ trail save "who pays for the tower"',
        )
    if len(steps) > MOST_STEPS:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A trail has at most {MOST_STEPS} steps.", hint="fork one first"
        )
    if Trail.objects.filter(grove=context.actor.grove, name__iexact=name).exists():
        raise CommandError(
            "CONFLICT", f"There is already a trail {label_named(name)}.", hint="choose another name"
        )
    new_trail = Trail.objects.create(
        grove=context.actor.grove,
        tree=context.tree,
        name=name,
        owner=context.actor.participant,
        forked_from=forked_from,
        steps=[step.stored() for step in steps],
        at=context.now,
    )
    _announce(context, new_trail)
    return new_trail


def _changed(context: Context, trail: Trail, *fields: str) -> None:
    trail.save(update_fields=list(fields))
    _announce(context, trail)


def _announce(context: Context, trail: Trail) -> None:
    """The event names no private trail, and none of a tree that is hidden from somebody: it goes to
    all members."""
    is_named = trail.shared and not is_hidden_from_some(trail.tree_id)
    name = {"name": trail.name} if is_named else {}
    context.world.append("trail.changed", {"trail": trail.uid, "shared": trail.shared, **name})
