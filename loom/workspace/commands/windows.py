"""Windows: what a participant keeps in view (docs/model.md §3), their settings, and acting for an
agent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction

from loom.access import Actor, acting_as, demand
from loom.engine import registry, streams
from loom.engine.context import Context
from loom.engine.views import locked, stored
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import label_named
from loom.links.portals import demand_not_deep
from loom.people.grove_settings import number_of
from loom.people.models import Participant
from loom.people.names import skeleton
from loom.permissions import WRITE
from loom.trees.grove_texts import WindowSource, grove_texts, is_text
from loom.trees.models import GroveText, Node, Workspace
from loom.trees.queries import lookup
from loom.turns.queries import budget_of, turns
from loom.workspace.effects import (
    WindowChanged,
    WindowEffect,
    WindowOpened,
    WindowsEvicted,
    windows_of_line,
)
from loom.workspace.models import Window
from loom.workspace.queries import windows
from loom.workspace.queries.shown_windows import depth_in, is_in_results, state_of
from loom.workspace.queries.window_contents import contents_of
from loom.workspace.queries.windows import (
    HEADS,
    followed,
    is_lens,
    lines_of,
    parents_of,
)
from loom.workspace.window_lifetime import WindowState
from loom.workspace.window_rules import (
    MOST_DEEP,
    OF_WORKSPACE,
    Lines,
    demand_settings,
    to_evict,
)

LONGEST_LABEL = 200

# The windows of a line: the visible ones, with what the line has changed so far.


def held(context: Context) -> list[Window]:
    """The visible windows, including those that the line opened and without those it has hidden."""
    shown = _shown(context)
    rows = [
        *shown,
        *(
            changed_window
            for changed_window in changed_windows(context)
            if changed_window not in shown
        ),
    ]
    return [row for row in rows if row.is_visible and not row.is_closed]


def _shown(context: Context) -> list[Window]:
    """The windows that were visible before the line, read once, as it has changed them since."""
    return context.once(_visible)


def _visible(workspace: Workspace) -> list[Window]:
    return list(windows.visible(workspace))


def changed_windows(context: Context) -> list[Window]:
    """The windows that the line has opened or changed so far."""
    return windows_of_line(context.effects.of(WindowEffect))


def known(context: Context, window: Window) -> Window:
    """The line's own copy of a window if it has changed it, else the window."""
    rows = [*changed_windows(context), *_shown(context)]
    return next((row for row in rows if row == window), window)


def note_change(context: Context, window: Window) -> Window:
    """Marks the window to be stored with the step of the line; returns it."""
    if window not in changed_windows(context):
        context.add(WindowChanged(window))
    return window


def set_state(context: Context, window: Window, state: WindowState) -> Window:
    """Sets the state of a window, which is stored with the step of the line; returns it."""
    window.is_visible, window.is_kept = state.is_visible, state.is_kept
    window.is_extended, window.is_closed = state.is_extended, state.is_closed
    return note_change(context, window)


def next_step(context: Context) -> int:
    """The number of the step that the line will get."""
    return context.workspace.steps_made + 1


def new_window(context: Context, **fields: object) -> Window:
    """A window that the line opens. Its number is that of the line's step; several windows take
    the numbers of the steps after it."""
    _demand_room(context)
    opened = sum(changed_window._state.adding for changed_window in changed_windows(context))
    window = Window(
        workspace=context.workspace,
        number=next_step(context) + opened,
        turn_uid=context.turn,
        opened_at=context.now,
        shown_step=next_step(context),
        **fields,
    )
    context.add(WindowOpened(window))
    return window


def has_room(context: Context) -> bool:
    """Whether one more window can be visible."""
    return len(held(context)) < number_of(context.tree.grove.settings, "windows_visible")


def _demand_room(context: Context) -> None:
    if not has_room(context):
        most = number_of(context.tree.grove.settings, "windows_visible")
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"At most {most} windows can be visible.",
            hint="→ hide those that you no longer need; → memory windows lists them",
        )


def demand_label(label: str) -> str:
    """The label of a window or stash; INVALID_SYNTAX if it is not valid."""
    if len(label) > LONGEST_LABEL or not skeleton(label):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A label has 1 to {LONGEST_LABEL} characters, and something to be seen.",
            hint="name it in a few words",
        )
    return label


def get_stash(context: Context, label: str) -> Window:
    """The stash with that label. NOT_FOUND if there is none."""
    stash = windows.stashed(context.workspace).filter(label__iexact=label).first()
    if stash is None:
        raise not_found(f"stash:{label_named(label)}", "→ memory stashed lists them")
    return known(context, stash)


def numbered(numbers: Sequence[int]) -> str:
    """`#4 #6`."""
    return " ".join(f"#{number}" for number in numbers)


def within_limit(context: Context, fresh: Sequence[Window]) -> str:
    """Applies the setting `window_lines_max` to a line that has shown windows; returns a note for
    its reply. With `evict: lru` the windows that were shown longest ago are hidden; otherwise
    LIMIT_EXCEEDED."""
    rules = windows.settings_of(context.workspace)
    most = rules["window_lines_max"]
    if not most:
        return ""
    shown = contents_of(context.actor, context.workspace, held(context))
    order = sorted(shown, key=lambda window: (window.window in fresh, window.window.shown_step))
    sizes = [(window.window.number, window.size) for window in order]
    total = sum(lines for _, lines in sizes)
    old = [size for size in sizes if size[0] not in {window.number for window in fresh}]
    newest = total - sum(lines for _, lines in old)
    if total <= most:
        return ""
    if rules["evict"] != "lru" or newest > most:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"The windows would have {total:,} lines; at most {most:,} are allowed.",
            hint="→ hide those that you no longer need, or open fewer lines",
        )
    gone = to_evict([*old, (0, newest)], most)
    for other in shown:
        if other.window.number in gone:
            hide_window(context, other.window)
    because = f"more than {most:,} lines in windows"
    context.add(WindowsEvicted(f"→ hide {numbered(gone)}", because))
    return f"\n  hidden {numbered(gone)}: more than {most:,} lines"


# Windows on lines of a node: no two of them show the same line.


def place_window(
    context: Context,
    source: WindowSource,
    lines: Lines,
    *,
    keep: bool = False,
    place: str = "",
    hit: tuple[str, float] | None = None,
) -> Window:
    """The window that shows those lines: one that already shows some of them, a hidden one that
    shows exactly these, or a new one. `hit`: the query and score of the hit there."""
    catch_up(context)
    window = _showing(context, source, lines)
    if window is not None and keep and _is_inside(context, window, lines):
        # Only these lines are to stay: the others would have gone at the end of the turn.
        window.first, window.last, window.place = lines.first, lines.last, place
    if window is None:
        window = new_window(
            context,
            kind="document" if is_text(source.item) else "search" if hit else "node",
            item_id=source.item,
            version_seen=source.version,
            first=lines.first,
            last=lines.last,
            place=place,
        )
    else:
        before, both = lines_of(window), lines.with_all([lines_of(window)])
        joined = _place_of([window.place, place], both)
        window.place = place if both == lines else window.place if both == before else joined
        window.first, window.last = both.first, both.last
    is_hit = window.kind == "search" or (window.kind == "document" and window._state.adding)
    if hit is not None and is_hit:
        window.query, window.score = hit
    show_window(context, window, keep=keep)
    return window


def _is_inside(context: Context, window: Window, lines: Lines) -> bool:
    """Whether lines that an agent pins in a turn are part of what a window shows for that turn."""
    own = lines_of(window)
    is_for_turn = context.turn and not window.is_kept and not window._state.adding
    return bool(is_for_turn) and own != lines and own.with_all([lines]) == own


def node_of(window: Window) -> Node | None:
    """The version of a node whose lines a window shows; None if it shows something else."""
    key = ids.node_id(window.item_id or 0) if window.kind in windows.LENSES else None
    return lookup.rows().filter(pk=key).first() if key is not None else None


def catch_up(context: Context) -> None:
    """Updates live windows to the current version, so that they do not overlap with what is
    opened."""
    for window in held(context):
        source = windows.seen_by(window) if is_lens(window) and window.is_live else None
        if source is not None:
            newest = windows.newest_for(context.workspace, source)
            move_window(context, window, newest, followed(source, newest, lines_of(window)))


def move_window(context: Context, window: Window, source: WindowSource, lines: Lines) -> None:
    """Makes a window show lines of a version, which then counts as seen."""
    seen = (source.item, source.version, lines.first, lines.last)
    if seen != (window.item_id, window.version_seen, window.first, window.last):
        window.item_id, window.version_seen, window.first, window.last = seen
        note_change(context, window)


def shows(window: Window, source: WindowSource) -> bool:
    """Whether a window shows lines of exactly that version."""
    seen = (window.item_id, window.version_seen)
    return is_lens(window) and seen == (source.item, source.version)


def _showing(context: Context, source: WindowSource, lines: Lines) -> Window | None:
    """The visible window that shows one of the lines, or a hidden one that shows exactly these."""
    seen = [window for window in held(context) if shows(window, source)]
    overlapping = [window for window in seen if lines_of(window).overlaps(lines)]
    if overlapping:
        return min(overlapping, key=lambda window: window.number)
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, is_visible=False)
    rows = rows.filter(item=source.item, version_seen=source.version, form="")
    hidden = rows.filter(kind__in=windows.LENSES).order_by()
    exact = [window for window in hidden if lines_of(window) == lines]
    return known(context, min(exact, key=lambda window: window.number)) if exact else None


def show_window(context: Context, window: Window, *, keep: bool = False) -> None:
    """Shows a window, and those that were collapsed with it below it, as far as there is room;
    lines that other visible windows on the node also show move into it."""
    if not window.is_visible:
        _demand_room(context)
    collapsed, window.collapsed_step = window.collapsed_step, 0
    window.shown_step = next_step(context)
    if window._state.adding:  # new in this line: it begins with the turn
        window.is_kept = window.is_kept or keep
    else:
        set_state(context, window, state_of(window).shown(in_turn=bool(context.turn), keep=keep))
    if is_lens(window):
        merge_into(context, window)
    for below in collapsed_below(context, window, collapsed) if collapsed else ():
        if has_room(context):
            show_window(context, below)


def collapsed_below(context: Context, window: Window, step: int = 0) -> list[Window]:
    """The windows that were opened from a window and that a `collapse` has hidden: that of the
    step, or any."""
    rows = Window.objects.filter(
        workspace=context.workspace, is_closed=False, is_visible=False, parent_number=window.number
    ).filter(**{"collapsed_step": step} if step else {"collapsed_step__gt": 0})
    below = (known(context, row) for row in rows.select_related("item", "step").order_by("number"))
    return [row for row in below if not row.is_visible and not row.is_closed]


def collapse_window(context: Context, window: Window) -> None:
    """Hides a window until that which it was opened from, or what led to it, is expanded again."""
    hide_window(context, window)
    window.collapsed_step = next_step(context)


def _place_of(places: Iterable[str], lines: Lines) -> str:
    """The place of windows in one: still a head or tail, which is read-only, if all of them are."""
    if not all(place.startswith(HEADS) for place in places):
        return ""
    many = lines.last - lines.first + 1
    return f"head:{lines.last}" if lines.first == 1 else f"tail:{many}"


def merge_into(context: Context, window: Window) -> None:
    """Closes the other visible windows on the same version that overlap a window, and gives it
    their lines."""
    own = WindowSource(window.item_id or 0, window.version_seen, "")
    others = [other for other in held(context) if other is not window and shows(other, own)]
    while overlapping := [other for other in others if lines_of(other).overlaps(lines_of(window))]:
        merged = lines_of(window).with_all(map(lines_of, overlapping))
        if merged != lines_of(window):
            window.place = _place_of([joined.place for joined in (window, *overlapping)], merged)
        window.first, window.last = merged.first, merged.last
        window.is_kept = window.is_kept or any(other.is_kept for other in overlapping)
        window.label = window.label or next(
            (other.label for other in overlapping if other.label), ""
        )
        others = [other for other in others if other not in overlapping]
        for covered in overlapping:
            if covered._state.adding:
                covered.is_visible, covered.is_closed = False, True
            else:
                set_state(context, covered, state_of(covered).closed())


def text_of_window(context: Context, window: Window) -> GroveText | None:
    """The text of the grove whose lines a window shows, if the caller may read it; else None."""
    item = window.item_id or 0
    return grove_texts().seen(context.actor, context.tree, [item]).get(item)


def _parents(context: Context, number: int) -> dict[int, int]:
    return parents_of(context.workspace, number, held(context))


def demand_depth(context: Context, parent: int, portal: str = "") -> None:
    """LIMIT_EXCEEDED if a window opened from the window `parent` (0: from none) would be nested
    deeper than the budget of the turn, or MOST_DEEP, allows; one that a portal of the type `portal`
    leads to, deeper than the grove allows portals (docs/model.md §8)."""
    parents = _parents(context, parent) if parent else {}
    turn = turns().filter(uid=context.turn).first() if context.turn else None
    if portal:
        path = [*_vias(context, chain_of(parents, parent)), portal]
        demand_not_deep(context.tree.grove, path)
    elif turn is None:
        _demand_nesting(parents, parent, MOST_DEEP)
    if turn is not None:
        _demand_nesting(parents, parent, budget_of(turn).depth)


def fits_below(context: Context, parent: int, portal: str = "") -> bool:
    """Whether `demand_depth` allows it."""
    try:
        demand_depth(context, parent, portal)
    except CommandError:
        return False
    return True


def _demand_nesting(parents: Mapping[int, int], parent: int, most: int) -> None:
    depth = 1 + depth_in(parents, parent) if parent else 0
    if depth > most:
        chain = " → ".join(f"#{number}" for number in chain_of(parents, parent))
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"Windows lie at most {most} deep; this one would lie {depth} deep: {chain}.",
            hint="→ open REF opens it by itself",
        )


def chain_of(parents: Mapping[int, int], number: int) -> list[int]:
    """The numbers of the windows from which a window was opened, the first one first, and its
    own."""
    chain = [number]
    while (above := parents.get(chain[0], 0)) and above not in chain:
        chain.insert(0, above)
    return chain


def _vias(context: Context, chain: Sequence[int]) -> list[str]:
    """The link types that led to the windows of a chain, in its order; one that was opened by
    itself has none. One query."""
    rows = Window.objects.filter(workspace=context.workspace, number__in=chain)
    vias = dict(rows.values_list("number", "via"))
    vias |= {window.number: window.via for window in changed_windows(context)}
    return [via for number in chain if (via := vias.get(number, ""))]


def items_of(window: Window) -> tuple[int, ...]:
    """The items that a line about the window touches."""
    return (window.item_id,) if window.item_id is not None else ()


def title_of(context: Context, window: Window) -> str:
    """`#4 [a7x2] lines 1–3 · keep`."""
    marks = marks_of(window)
    named = f"#{window.number} {windows.name_of(context.actor, window, context.tree)}"
    return f"{named} · {marks}" if marks else named


def marks_of(window: Window) -> str:
    """`keep · live · pad 3 · via supports`: how a window is shown."""
    marks = [
        "keep" if window.is_kept else "",
        "live" if window.is_live else "",
        f"pad {window.pad}" if window.pad else "",
        f"via {window.via}" if window.via else "",
    ]
    return " · ".join(mark for mark in marks if mark)


def hide_window(context: Context, window: Window) -> None:
    """Hides a window with the step of the line."""
    set_state(context, window, state_of(window).hidden())


def close_window(context: Context, window: Window) -> None:
    """Closes a window with the step of the line."""
    set_state(context, window, state_of(window).closed())


def token_change(context: Context) -> str:
    """`\n  +312 tokens · windows 1,204 tokens`: what the line has changed of what the visible
    windows take of what is read, and what they all take now; nothing if it changed none. Results of
    the running turn are not counted: they are sent until it ends, hidden or not. What is saved in a
    turn is saved from the next one on, because the requests of a turn only grow."""
    mine = changed_windows(context)
    if not mine:
        return ""
    # Windows are stored with the step of the line, so the rows still say what was visible.
    keys = [window.pk for window in mine if window.pk is not None]
    rows = Window.objects.filter(pk__in=keys, is_visible=True).select_related("item", "step")
    was = contents_of(context.actor, context.workspace, _lasting(context, rows))
    now = contents_of(context.actor, context.workspace, _lasting(context, held(context)))
    fresh = sum(window.tokens for window in now if window.window in mine)
    changed = fresh - sum(window.tokens for window in was)
    later = " from the next turn on" if changed < 0 and context.turn else ""
    return (
        f"\n  {changed:+,} tokens{later} · windows {sum(window.tokens for window in now):,} tokens"
    )


def _lasting(context: Context, rows: Iterable[Window]) -> list[Window]:
    """The windows without the results of the running turn, unless they were shown again."""
    return [row for row in rows if not is_in_results(row, context.turn)]


def set_settings(actor: Actor, workspace: Workspace, settings: Mapping[str, Any]) -> Workspace:
    """Changes settings of a workspace and writes the event; None resets one to that of its grove
    or tree. Returns the workspace. PERMISSION_DENIED for an agent's workspace if the actor may not
    write."""
    if workspace.participant_id != actor.participant.pk:
        demand(actor, {WRITE}, "changing the settings of an agent's windows")
    unknown = next((name for name in settings if name not in OF_WORKSPACE), None)
    if unknown is not None:
        hint = " or ".join(OF_WORKSPACE)
        raise CommandError("INVALID_SYNTAX", f"There is no setting {unknown!r}.", hint=hint)
    given = {name: value for name, value in settings.items() if value is not None}
    demand_settings(given)
    with transaction.atomic():
        row = locked(stored(workspace))
        kept = {name: value for name, value in row.settings.items() if name not in settings}
        row.settings = {**kept, **given}
        row.revision += 1
        row.save(update_fields=["settings", "revision"])
        writer = streams.lock(row, actor=actor.participant.uid)
        writer.append("view.changed", {"settings": row.settings, "revision": row.revision})
        writer.flush()
    workspace.settings, workspace.revision = row.settings, row.revision
    return stored(workspace)


def acting_for(member: Actor, agent: Participant, command: registry.Command | None) -> Actor:
    """The member acting as the agent, with the permissions that both have; the step names both.
    PERMISSION_DENIED without the right to write, and for a command that would change more than the
    agent's view. A line that cannot be parsed (None) is accepted here and refused when it runs.
    """
    demand(member, {WRITE}, "a line in an agent's workspace")
    if command is not None and not command.is_of_view:
        raise CommandError(
            "PERMISSION_DENIED",
            f"Others cannot use {command.verb} in an agent's workspace, "
            "only commands that change its view.",
            hint="run the command in the tree as yourself",
        )
    return acting_as(member, agent)
