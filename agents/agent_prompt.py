"""What a loom-aware agent is sent, read from rows into plain values: the path to its position and
the sections of its view; and the commands that it may use."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any, Literal

from django.apps import apps
from django.utils import timezone

from agents.context import sections
from agents.context.panes import Pane
from agents.context.sections import Stop
from agents.context.values import (
    AgentLine,
    Language,
    OutlineLine,
    PathLine,
    Syntax,
    WorkspaceView,
)
from agents.providers.registry import sees, text_for
from loom import access
from loom.access import Actor
from loom.engine import presence, registry
from loom.engine.models import Step
from loom.engine.steps import items_of
from loom.engine.usable import unusable
from loom.language import ids
from loom.language.lines import Line
from loom.links.foot import Portal, portals_of
from loom.people.grove_settings import number_of
from loom.people.models import Participant
from loom.permissions import GENERATE, LOOM, READ_DOCUMENTS, Permission, in_order
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.reading.queries.margins import margins_of
from loom.text.ages import age
from loom.text.shortening import excerpt, summary_or_excerpt
from loom.text.tokens import count
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.around import Spot
from loom.trees.queries.lookup import PRUNED, NodeRow, fetch, path_of, withheld_from_models, within
from loom.trees.queries.outline import LINES, outline_left, outline_of, size_of
from loom.turns import budgets
from loom.turns.grove_settings import budget_in
from loom.turns.models import Turn
from loom.turns.queries import budget_of, spent_of
from loom.workspace.queries import shown_windows, tasks, window_contents, windows, workspace_bodies
from loom.workspace.queries.notifications import notifications_of

AGENTS = 20  # agents that INSTRUCTIONS name

STASHES = 30  # stashes that MEMORY names
HIDDEN = 8  # hidden windows and results that it names, the newest

LEAST_OF_WINDOW = 60  # tokens of a window that are sent, however many there are


def demand_turn(actor: Actor) -> None:
    """Refuses with PERMISSION_DENIED if the turn of an agent may not continue: the agent must be
    loom-aware, and its inviter must have the right to generate (the agent need not)."""
    access.demand(actor, {LOOM}, "a turn")
    access.demand(access.person_now(actor), {GENERATE}, "asking for a turn")


# The recipient of a request, and the node it is about.


@dataclass
class PromptPlace:
    """The agent that a request is assembled for, and the node that its path leads to. The position
    of the workspace may be another node, also in another tree."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    end: Node
    turn: Turn | None = None

    @cached_property
    def now(self) -> datetime:
        """The instant from which ages are counted: within a turn its beginning, so that lines
        about nodes stay the same from round to round."""
        return self.turn.created_at if self.turn else timezone.now()

    def number(self, name: str) -> int:
        """A number among the settings of the grove."""
        return number_of(self.tree.grove.settings, name)

    @cached_property
    def home(self) -> Tree:
        """The tree of the agent's position if it may be seen, else the tree of the turn."""
        position = self.workspace.position
        if position.tree_id == self.tree.pk:
            return self.tree
        if access.may_reach(self.actor, position.tree_id, here=self.tree):
            return Tree.objects.get(pk=position.tree_id)
        return self.tree

    @cached_property
    def path(self) -> list[NodeRow]:
        """The path to the position, or to the root if the position may not be seen."""
        position = self.workspace.position
        here = lookup.visible_at_or_above(position, self.workspace)
        if position.tree_id != self.home.pk:
            here = lookup.root_of(self.tree)
        if here.pk == self.end.pk and self.home.pk == self.tree.pk:
            return self.read
        return path_of(self.actor, self.home, self.workspace, here)

    @cached_property
    def read(self) -> list[NodeRow]:
        """The path that the agent reads, root first."""
        return path_of(self.actor, self.tree, self.workspace, self.end)


def place_of(actor: Actor, turn: Turn) -> PromptPlace:
    """The place for the next round of a turn."""
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    return PromptPlace(actor, turn.tree, workspace, turn.answers_below, turn)


# The commands that an agent may write.


def language() -> Language:
    """All commands: one that is not permitted is still parsed, and refused when it runs."""
    return Language(registry.language(), looks)


def looks(line: Line) -> bool:
    """Whether a line looks at something, so that a reply ends at its batch."""
    return registry.find(line.verb, line.form).klass.startswith("look")


# The texts of a path that are sent.


def sent_of(path: Sequence[NodeRow]) -> list[NodeRow]:
    """The nodes of a path that are sent to models: what is below a pruned node is hidden, too. The
    words that asked for turns in a buffer are beside the story, not in it."""
    return [
        row
        for row in visible_of(path)
        if row.text != "" and not row.flags & lookup.GONE and row.kind == "text" and not row.is_ask
    ]


def visible_of(path: Sequence[NodeRow]) -> Sequence[NodeRow]:
    """The nodes of a path down to the first pruned one."""
    end = next((at for at, row in enumerate(path) if row.flags & PRUNED), None)
    return path[:end]


def stops_of(place: PromptPlace) -> tuple[Stop, ...]:
    """The nodes of the path in the form in which the agent is sent them, root first."""
    own = place.actor.participant
    asked = place.turn.input_node_id if place.turn else None
    sent = sent_of(place.read)
    reader = (own.uid, sees(own))
    return tuple([_stop(row, own, reader) for row in sent if row.id != asked])


KEPT = 8192  # nodes that a process caches in the form in which they are sent
LONG = 8192  # longer texts (characters) are not cached


def _stop(row: NodeRow, own: Participant, reader: tuple[str, bool]) -> Stop:
    """A node in the form in which the reader is sent it, which never changes for one version."""
    key = (row.hash, row.id, reader, row.author_name, row.flags, row.rest)
    kept_prompt = _kept.get(key)
    if kept_prompt is None:
        kept_prompt = _as_sent(row, own)
        if len(row.text) <= LONG:
            if len(_kept) >= KEPT:
                _kept.clear()
            _kept[key] = kept_prompt
    return kept_prompt


_kept: dict[tuple[object, ...], Stop] = {}


def _as_sent(row: NodeRow, own: Participant) -> Stop:
    return Stop(
        row.local_id,
        text_for(row.text, own),
        row.author_name,
        row.author_kind,
        f"{row.at[:10]} {row.at[11:16]}",
        is_own=row.author_uid == own.uid,
        is_imported=row.imported,
        summary=row.summary if row.rest else "",
    )


# The view of the workspace: the values that the sections are rendered from.


def view_of(place: PromptPlace, names: Collection[str] = ()) -> WorkspaceView:
    """The values that the sections of a request are rendered from; only those of the sections with
    these `names`, if there are any."""
    mode: Literal["dialogue", "buffer"] = "buffer" if place.tree.mode == "buffer" else "dialogue"
    return WorkspaceView(
        revision=place.workspace.revision,
        mode=mode,
        most_lines=place.number("windows_warn_lines"),
        **sections.collected(place, names),
    )


@sections.status.collector
def _status(place: PromptPlace) -> dict[str, Any]:
    if place.turn is None:
        budget = budget_in(place.actor.participant.budget, place.tree.grove.settings)
        return {"budget": budgets.shown(budget, budgets.Spent())}
    spent = spent_of(place.turn, timezone.now())
    budget = budget_of(place.turn)
    return {"budget": budgets.shown(budget, spent), "warning": budgets.warning(budget, spent)}


@sections.outline.collector
def _outline(place: PromptPlace) -> dict[str, Any]:
    most = place.number("outline_lines")
    return {
        "outline": outline_lines(place.actor, place.home, place.workspace, place.path, limit=most)
    }


@sections.path.collector
def _path(place: PromptPlace) -> dict[str, Any]:
    is_home = place.home.pk == place.tree.pk
    rows = place.read if is_home else place.path
    seen = [row for row in visible_of(rows) if row.depth]
    is_prose = is_home and place.tree.mode == "buffer"
    last = place.number("path_nodes")
    return {"near": near(place.actor, place.home, seen, place.now, last=last, prose=is_prose)}


@sections.windows.collector
def _windows(place: PromptPlace) -> dict[str, Any]:
    """The visible windows, without results of this turn that were not shown again. Together they
    take a share of the context: the newest have their text, of others only the beginning."""
    turn = place.turn.uid if place.turn is not None else ""
    rows = [
        part
        for part in shown_windows.shown_in(place.workspace)
        if not shown_windows.is_in_results(part, turn)
    ]
    if not rows:
        return {"panes": ()}
    room = place.actor.participant.context_limit * place.number("windows_share") // 100
    panes: list[Pane] = []
    contents = window_contents.contents_of(place.actor, place.workspace, rows)
    links = _links(place, contents)
    for shown in reversed(contents):
        facts = window_contents.facts_of(shown)
        pane = Pane(lines=shown.rows, links=links.get(shown.window.number, ()), **facts)
        panes.insert(0, pane.within(max(room, LEAST_OF_WINDOW)))
        room -= sum(count(line.text) + 1 for line in panes[0].lines)
    return {"panes": tuple(panes)}


def _links(
    place: PromptPlace, contents: Iterable[window_contents.WindowContent]
) -> dict[int, tuple[str, ...]]:
    """The portals of the texts that windows show, by the number of the window: open ones with the
    windows in which they are open. At most five queries; none without such a window."""
    below: dict[tuple[int, str], list[int]] = {}
    slots: dict[int, int] = {}
    items: dict[int, int] = {}
    for content in contents:
        window = content.window
        if window.parent_number:
            below.setdefault((window.parent_number, window.via), []).append(window.number)
        if content.is_open and content.window.kind in windows.LENSES:
            item = content.node.pk if content.node is not None else content.window.item_id or 0
            slots[item] = content.node.slot_id if content.node is not None else item
            items[content.window.number] = item
    portals = portals_of(place.actor, slots) if slots else {}
    return {
        number: tuple(
            _heading(place, portal, below.get((number, portal.type), ()))
            for portal in portals.get(item, ())
        )
        for number, item in items.items()
    }


def _heading(place: PromptPlace, portal: Portal, below: Sequence[int]) -> str:
    """`▶ [supports] ──→ 2 nodes`, or the only one by its name, if a line here can name it so; if
    windows were opened through it, `▼ [supports] ──→ 2 nodes #5 #6`."""
    is_here = portal.is_tree or portal.home in (0, place.workspace.tree_id)
    shown = portal.opened if is_here else replace(portal.opened, name="")
    numbers = "".join(f" #{number}" for number in sorted(below))
    return f"{replace(shown, is_open=bool(below)).heading}{numbers}"


@sections.claims.collector
def _claims(place: PromptPlace) -> dict[str, Any]:
    if not apps.is_installed("loom.claims"):
        return {}
    from loom.claims.queries.brief import lines_for

    return {"claims": lines_for(place.actor, place.workspace)}


@sections.todos.collector
def _todos(place: PromptPlace) -> dict[str, Any]:
    rows = tasks.current_tasks(place.workspace)
    return {"tasks": tuple(line for task in rows for line in workspace_bodies.task_lines(task))}


@sections.scratchpad.collector
def _scratchpad(place: PromptPlace) -> dict[str, Any]:
    return {"scratchpad": place.workspace.scratchpad}


@sections.memory.collector
def _memory(place: PromptPlace) -> dict[str, Any]:
    labels = shown_windows.labels_of(place.workspace, STASHES)
    done = actions(place.actor, place.workspace, place.number("trace_actions"))
    turn = place.turn.uid if place.turn is not None else ""
    hidden = windows.hidden_names(place.actor, place.workspace, turn, HIDDEN)
    return {"actions": done, "stashed": labels, "hidden": hidden}


@sections.notifications.collector
def _notifications(place: PromptPlace) -> dict[str, Any]:
    asked = place.turn.input_node_id if place.turn else None
    return {"notifications": notifications_of(place.actor, place.workspace, asked=asked)}


@sections.loom.collector
def _loom(place: PromptPlace) -> dict[str, Any]:
    size = size_of(place.actor, place.home)
    is_home = place.home.pk == place.tree.pk
    return {
        "title": place.tree.title,
        "home": None if is_home else (place.home.title, place.home.mode),
        "nodes": size.nodes,
        "branches": size.branches,
        "depth": size.depth,
        "position": tuple(row.local_id for row in place.path[-3:]),  # one more than it names
        "permissions": tuple(in_order(place.actor.permissions)),
        "others": _others(place, timezone.now()),
    }


def _others(place: PromptPlace, now: datetime) -> tuple[tuple[str, str, int], ...]:
    """Who else is in the tree of the agent's position, each once, and where: people at their open
    pages; others, and people without a page, where their lines of the last minute led."""
    tree = place.home
    active = timedelta(seconds=place.number("active_seconds"))
    pages, left = presence.places(f"tree:{tree.uid}")
    recent = Step.objects.filter(workspace__tree=tree, at__gte=now - active)
    recent = recent.exclude(workspace=place.workspace.pk).order_by("id")
    lines = dict(recent.values_list("workspace_id", "at"))
    views = Workspace.objects.filter(pk__in=lines, position__tree=tree)
    reachable: dict[str, tuple[Participant, Node, Workspace | None]] = {}
    for view in views.select_related("position__slot", "participant") if lines else ():
        if left.get(view.participant.uid, 0.0) < lines[view.pk].timestamp():
            reachable[view.participant.uid] = (view.participant, view.position, view)
    reachable |= _on_pages(place, pages)
    hidden = lookup.below_pruned(tree.pk, {node.slot_id for _, node, _ in reachable.values()})
    seen = []
    for who, node, own in sorted(reachable.values(), key=lambda reader: reader[0].pk):
        is_hidden = node.slot.pruned or node.slot_id in hidden
        at = lookup.visible_at_or_above(node, own) if is_hidden else node
        seen.append(("Human" if who.kind == "human" else "Model", at.local_id, at.depth))
    return tuple(seen)


def _on_pages(
    place: PromptPlace, pages: Mapping[str, str]
) -> dict[str, tuple[Participant, Node, Workspace | None]]:
    """The nodes that the pages of members show, by uid."""
    if not pages:
        return {}
    people = Participant.objects.filter(uid__in=pages, grove=place.home.grove, kind="human")
    named = lookup.rows().filter(tree=place.home, local_id__in=set(pages.values()))
    nodes = {node.local_id: node for node in named}
    return {
        who.uid: (who, nodes[pages[who.uid]], None) for who in people if pages[who.uid] in nodes
    }


# The lines of OUTLINE, PATH and MEMORY.


SUMMARY_WORDS = 30  # words of a summary in OUTLINE
EXCERPT_WORDS = 8  # words of a node there, and of a text in NOTIFICATIONS


def outline_lines(
    actor: Actor, tree: Tree, workspace: Workspace, path: Sequence[NodeRow], *, limit: int = LINES
) -> tuple[OutlineLine, ...]:
    """The outline of a tree as the workspace has expanded it, down to the end of `path` (the
    position) with its siblings, and to the best hits of the last search."""
    state = outline_of(workspace)
    lines = outline_left(actor, tree, workspace, path, limit=limit)
    here = path[-1].slot_id if path else 0
    hits = {hit: state["scores"].get(hit, 1.0) for hit in state["hits"]}
    withheld = withheld_from_models(line.row.id for line in lines)
    return tuple(
        OutlineLine(
            line.row.local_id,
            _words_of(line.row) if line.row.text and line.row.id not in withheld else "",
            line.level,
            line.is_last,
            line.children,
            line.shown,
            is_here=line.row.slot_id == here and not line.left_out,
            score=hits.get(line.row.local_id) if not line.left_out else None,
            left_out=line.left_out,
        )
        for line in lines
    )


def _words_of(row: NodeRow) -> str:
    summary = row.more.summary
    words = SUMMARY_WORDS if summary else EXCERPT_WORDS
    return summary_or_excerpt(summary, row.text, words)


def near(
    actor: Actor,
    tree: Tree,
    rows: Sequence[NodeRow],
    now: datetime,
    *,
    last: int = 12,
    prose: bool = False,
) -> tuple[PathLine, ...]:
    """What may have changed about the `last` nodes of a path and about those with a mark; with the
    ids of the nodes in between that have no line. `prose`: with their first words."""
    marks = _marks(row.slot_id for row in rows)
    chosen = {
        row.id for at, row in enumerate(rows) if at >= len(rows) - last or row.slot_id in marks
    }
    margins = margins_of(tree, [Spot(row.id, row.slot_id) for row in rows if row.id in chosen])
    linked = {row.id: row.slot_id for row in rows if row.id in chosen}
    portals = portals_of(actor, linked, [link for row in margins.values() for link in row.links])
    withheld = withheld_from_models(chosen) if prose else set()
    lines: list[PathLine] = []
    skipped: list[str] = []
    for row in rows:
        if row.id not in chosen:
            skipped.append(row.local_id)
            continue
        margin = margins[row.id]
        lines.append(
            PathLine(
                row.local_id,
                row.author_name,
                row.author_kind,
                age(now, row.created_at),
                margin.children,
                len(margin.notes),
                "" in marks.get(row.slot_id, ()),
                tuple(name for name in marks.get(row.slot_id, ()) if name),
                sum(portal.many for portal in portals.get(row.id, ())),
                f"{'asked: ' if row.is_ask else ''}{excerpt(row.text, EXCERPT_WORDS)}"
                if prose and row.text and row.id not in withheld
                else "",
                tuple(skipped),
            )
        )
        skipped = []
    return tuple(lines)


def _marks(slots: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The names of the tags on any wording of each slot, oldest first, and "" for a bookmark; one
    query, however many the tree has."""
    sql, given = within("n.slot_id", slots)
    rows = fetch(
        "SELECT n.slot_id, m.kind, m.label FROM trees_node n"  # noqa: S608
        f" JOIN notes_mark m ON m.item_id = n.id WHERE {sql}"
        " AND m.kind IN ('bookmark', 'tag') AND m.removed_at IS NULL ORDER BY m.id",
        [given],
    )
    found_ids: dict[int, tuple[str, ...]] = {}
    for slot, kind, label in rows:
        name = "" if kind == "bookmark" else label
        if name not in found_ids.get(slot, ()):
            found_ids[slot] = (*found_ids.get(slot, ()), name)
    return found_ids


def actions(actor: Actor, workspace: Workspace, most: int = 10) -> tuple[AgentLine, ...]:
    """The last lines that were run in a workspace, oldest first, without thoughts. Of a line whose
    texts the actor may not see only the verb is told."""
    if not workspace.pk:  # it is not stored yet
        return ()
    steps = _last(most).all(of=workspace.pk)
    items = items_of(steps)
    every = chain.from_iterable(items.values())
    keys = {key for item in every if (key := ids.node_id(item))}
    rows = Node.objects.filter(pk__in=keys).values_list("id", "local_id") if keys else ()
    names, closed = dict(rows), access.closed_steps(actor, steps)
    return tuple(
        _action(step, items[step.pk] if step.pk not in closed else [], names)
        for step in reversed(steps)
    )


@cache
def _last(most: int) -> PreparedQuery[Step]:
    return PreparedQuery(
        lambda: (
            Step.objects.filter(workspace=Given("of"))
            .exclude(registry.silent_steps())
            .order_by("-seq")[:most]
        )
    )


def _action(step: Step, items: list[int], names: dict[int, str]) -> AgentLine:
    words = (step.canonical or step.line).removeprefix("→").split()
    nodes = (names.get(ids.node_id(item) or 0) for item in items)
    first = next((node for node in nodes if node), "")
    verb = words[0] if step.canonical and words else "an unread line"
    past = registry.language().of(verb).past or verb
    return AgentLine(verb, (first,) if first else (), step.outcome, past)


def agents_for(actor: Actor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the other agents that can be asked to continue, and their models."""
    if GENERATE not in actor.permissions:
        return (), ()
    others = Participant.objects.filter(
        grove=actor.grove, kind="model", archived_at__isnull=True
    ).exclude(pk=actor.participant.pk)
    agents = list(others.order_by("id").values_list("name", "model_ref")[:AGENTS])
    return tuple(name for name, _ in agents), tuple(sorted({model for _, model in agents}))


def commands_for(actor: Actor) -> tuple[Syntax, ...]:
    """The commands that the agent may use here, as INSTRUCTIONS teach them."""
    return _usable(actor.permissions, frozenset(unusable(actor)), len(registry.verbs()))


@lru_cache(maxsize=64)
def _usable(
    permissions: frozenset[Permission], without: frozenset[str], verbs: int
) -> tuple[Syntax, ...]:
    """The commands for these permissions, `without` some verbs; `verbs` are how many there are."""
    listed = (command for command in registry.listed() if command.verb not in without)
    allowed = (command for command in listed if command.permissions <= permissions)
    reads = READ_DOCUMENTS in permissions
    return tuple(
        Syntax(
            command.group,
            command.verb,
            command.syntax,
            taught(command.facts.taught, with_documents=reads),
            command.facts.example,
            reads and READ_DOCUMENTS in command.permissions,
        )
        for command in allowed
    )


_OF_DOCUMENTS = re.compile(r"\{([^{}]*)\}")


def taught(line: str, *, with_documents: bool) -> str:
    """The line of a verb in INSTRUCTIONS, with or without what it says of documents."""
    return _OF_DOCUMENTS.sub(r"\1" if with_documents else "", line)


def truncation_for(asker: Participant, tree: Tree) -> str:
    """How the path is cut in requests of a member: their own choice, else the tree's. One query."""
    return truncation_in(access.known_workspace_of(asker, tree), tree)


def truncation_in(own: Workspace | None, tree: Tree) -> str:
    """How the path is cut in requests of a member with this workspace (None: they have none)."""
    return str((own.settings if own else {}).get("truncation") or tree.truncation)
