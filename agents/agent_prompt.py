"""What a loom-aware agent is sent, from rows to plain values; agents.context arranges them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, Literal

from django.utils import timezone

from agents.context import agent_request, sections
from agents.context.agent_request import GO_ON, Sent
from agents.context.values import (
    Augment,
    Aware,
    Counted,
    LineReply,
    Pane,
    Request,
    Round,
    Stop,
    Syntax,
    Teaching,
    View,
    count,
)
from agents.prompt_inputs import actions, near, said, sees, sent_of, twigs, visible_of
from loom import access
from loom.access import Actor
from loom.commands import node_writer, registry, web_search
from loom.commands.view import LISTS
from loom.events import streams
from loom.models import Node, Participant, Step, Tree, Turn, Workspace
from loom.models.base import Given, Prepared
from loom.queries import lookup, window_contents, windows, workspace_bodies, workspaces
from loom.queries.links import Portal, portals_of
from loom.queries.lookup import NodeRow, path_of, rows_of, withheld_from_models
from loom.queries.outline import size_of
from loom.queries.workspaces import (
    budget_of,
    loaded_in,
    notifications_of,
    spent_of,
    truncation_for,
    turns,
)
from loom.rules import limits
from loom.rules.errors import CommandError
from loom.rules.limits import GENERATE, LOOM, WEB_SEARCH, Permission, budget_in, in_order, number_of
from loom.rules.link_types import STORED
from loom.rules.windows import refs_named

AGENTS = 20  # that INSTRUCTIONS name
STASHES = 30  # that MEMORY names


def demand_turn(actor: Actor) -> None:
    """Refuses PERMISSION_DENIED where an agent in a turn may not go on: it needs to be
    loom-aware; whoever asked it needs the right to generate, and the agent does not."""
    access.demand(actor, {LOOM}, "a turn")
    access.demand(access.get_actor(actor.user, actor.grove), {GENERATE}, "asking for a turn")


# One request: who it is for, where, and what it was made of


@dataclass
class Place:
    """Who a request is assembled for, and where: the node its path leads to. The position of
    the workspace may be another node, in another tree too."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    end: Node
    turn: Turn | None = None

    @cached_property
    def now(self) -> datetime:
        """The instant from which ages count: within a turn its beginning, so that lines about
        nodes stay the same from round to round."""
        return self.turn.created_at if self.turn else timezone.now()

    def number(self, name: str) -> int:
        """A number among the settings of the grove."""
        return number_of(self.tree.grove.settings, name)

    @cached_property
    def home(self) -> Tree:
        """The tree that the agent looks at: that of its position, where it may be seen."""
        position = self.workspace.position
        if position.tree_id == self.tree.pk:
            return self.tree
        if access.may_reach(self.actor, position.tree_id, here=self.tree):
            return Tree.objects.get(pk=position.tree_id)
        return self.tree

    @cached_property
    def path(self) -> list[NodeRow]:
        """The path to the position, or to the root where the position may not be seen."""
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


def place_of(actor: Actor, turn: Turn) -> Place:
    """Where the next round of a turn reads."""
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    return Place(actor, turn.tree, workspace, turn.answers_below, turn)


def next_place(member: Actor, workspace: Workspace, node: Node | None = None) -> Place:
    """Where an agent's workspace reads next: in its current turn, else in one that is asked for
    at `node`, else at its position.

    REJECTED for a person's workspace, and for an agent that is sent text only.
    """
    agent, tree = workspace.participant, workspace.tree
    if LOOM not in agent.permissions:
        raise CommandError(
            "REJECTED",
            f"{agent.name} is sent text only, without sections.",
            hint="request the context of a loom-aware agent",
        )
    current = _OPEN_TURN.first(agent=agent.pk, tree=tree.pk)
    if current is not None:  # mostly there is none: the joins are read then
        found = turns().get(pk=current[0])
        return place_of(access.acting_in(found), found)
    actor, position = access.acting_as(member, agent), workspace.position
    if node is not None and node.pk != position.pk:
        workspace.position = position = node  # as a turn's beginning leaves it; not stored
        workspace.revision += 1
    if not access.may_reach(actor, position.tree_id, here=tree):
        position = lookup.root_of(tree)
    return Place(actor, tree, workspace, position)


_OPEN_TURN = Prepared(
    lambda: (
        Turn.objects.filter(participant=Given("agent"), tree=Given("tree"), ended_at__isnull=True)
        .order_by("-pk")
        .values_list("pk")[:1]
    )
)


def assembled(place: Place, *, limit: int = 0, counted: Counted = count) -> Sent:
    """The next request for a place. Raises TooLong where it cannot be made to fit."""
    agent, turn = place.actor.participant, place.turn
    asks = _request(turn)
    agents, models = _agents(place.actor)
    return agent_request.assemble(
        Aware(
            persona=agent.persona,
            system_context=place.tree.system_context,
            commands=_commands(place.actor),
            path=_stops(place),
            rounds=tuple(round_of(one) for one in turn.rounds) if turn else (),
            view=replace(_view(place), request=_named(asks)),
            closing=GO_ON,
            request=asks,
            truncation=truncation_for(turn.invoked_by if turn else place.actor.person, place.tree),
            limit=limit or agent.context_limit - place.number("truncation_reserve"),
            counted=counted,
            stated=turn.rounds[-1].get("stated", {}) if turn and turn.rounds else {},
            agents=agents,
            models=models,
            lists=(*LISTS, *sorted(STORED)),
            threshold=place.number("result_threshold"),
            kept=place.number("truncation_kept"),
            step=place.number("earlier_step"),
            augments=_augments(place.workspace),
        )
    )


def _augments(workspace: Workspace) -> tuple[Augment, ...]:
    """The loaded ones in the order in which they are sent, then the others by name."""
    loaded = loaded_in(workspace)
    others = [one for one in loaded.every if one not in loaded.texts]
    return tuple(
        Augment(one.name, mark, one.text if mark else "")
        for one in (*loaded.texts, *others)
        for mark in (loaded.mark_of(one),)
    )


def _agents(actor: Actor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the other agents that may be asked to continue, and their models."""
    if GENERATE not in actor.permissions:
        return (), ()
    others = Participant.objects.filter(
        grove=actor.grove, kind="model", archived_at__isnull=True
    ).exclude(pk=actor.participant.pk)
    found = list(others.order_by("id").values_list("name", "model_ref")[:AGENTS])
    return tuple(name for name, _ in found), tuple(sorted({model for _, model in found}))


def teaching_of(actor: Actor, mode: Literal["dialogue", "buffer"]) -> Teaching:
    """What an agent that acts is taught in a tree of that mode."""
    agents, models = _agents(actor)
    lists = (*LISTS, *sorted(STORED))
    return Teaching(_commands(actor), mode, agents, models, lists)


def _request(turn: Turn | None) -> Request | None:
    """The words with which the turn was asked for; None without any, and where they were
    excluded or pruned since."""
    if turn is None or turn.input_node is None:
        return None
    (row,) = rows_of([turn.input_node.pk])
    if withheld_from_models([row.id]):
        return None
    return Request(row.local_id, said(row.text, turn.participant), row.author_name, row.author_kind)


def _named(asks: Request | None) -> str:
    if asks is None:
        return ""
    refs = ", ".join(refs_named(asks.text))
    names = f" · names {refs}" if refs else ""
    return f"[{asks.local_id}] from {asks.author}{names}"


def _commands(actor: Actor) -> tuple[Syntax, ...]:
    without = web_search.unusable(actor) if WEB_SEARCH in actor.permissions else frozenset()
    return _usable(actor.permissions, without, len(registry.verbs()))


@lru_cache(maxsize=64)
def _usable(
    permissions: frozenset[Permission], without: frozenset[str], verbs: int
) -> tuple[Syntax, ...]:
    """The commands for these permissions, `without` some verbs; `verbs` are how many there are."""
    listed = (one for one in registry.listed() if one.verb not in without)
    allowed = (one for one in listed if one.permissions <= permissions)
    return tuple(Syntax(one.group, one.syntax, one.summary.split(".")[0]) for one in allowed)


def round_of(kept: dict[str, Any]) -> Round:
    """A round as the turn's row keeps it."""
    replies = tuple(LineReply(one["line"], one["reply"], one["number"]) for one in kept["replies"])
    return Round(
        kept["text"], replies, kept["dropped"], tuple(kept["notes"]), kept.get("workspace", "")
    )


def _stops(place: Place) -> tuple[Stop, ...]:
    own = place.actor.participant
    asked = place.turn.input_node_id if place.turn else None
    sent = sent_of(place.read)
    reader = (own.uid, sees(own))
    return tuple([_stop(row, own, reader) for row in sent if row.id != asked])


KEPT = 8192  # nodes that a process keeps as they are sent
LONG = 8192  # characters of a text, above which it is not kept


def _stop(row: NodeRow, own: Participant, reader: tuple[str, bool]) -> Stop:
    """A node as the reader is sent it: of a version of a node it is always the same."""
    key = (row.hash, row.id, reader, row.author_name, row.flags, row.rest)
    found = _kept.get(key)
    if found is None:
        found = _as_sent(row, own)
        if len(row.text) <= LONG:
            if len(_kept) >= KEPT:
                _kept.clear()
            _kept[key] = found
    return found


_kept: dict[tuple[object, ...], Stop] = {}


def _as_sent(row: NodeRow, own: Participant) -> Stop:
    return Stop(
        row.local_id,
        said(row.text, own),
        row.author_name,
        row.author_kind,
        f"{row.at[:10]} {row.at[11:16]}",
        is_own=row.author_uid == own.uid,
        is_imported=row.imported,
        summary=row.summary if row.rest else "",
    )


# -- the view


def _view(place: Place) -> View:
    mode: Literal["dialogue", "buffer"] = "buffer" if place.tree.mode == "buffer" else "dialogue"
    return View(
        revision=place.workspace.revision,
        mode=mode,
        most_lines=place.number("windows_warn_lines"),
        **sections.collected(place),
    )


@sections.status.collector
def _status(place: Place) -> dict[str, Any]:
    if place.turn is None:
        budget = budget_in(place.actor.participant.budget, place.tree.grove.settings)
        return {"budget": limits.shown(budget, limits.Spent())}
    spent = spent_of(place.turn, timezone.now())
    return {"budget": limits.shown(budget_of(place.turn), spent)}


@sections.outline.collector
def _outline(place: Place) -> dict[str, Any]:
    most = place.number("outline_lines")
    return {"outline": twigs(place.actor, place.home, place.workspace, place.path, limit=most)}


@sections.path.collector
def _path(place: Place) -> dict[str, Any]:
    is_home = place.home.pk == place.tree.pk
    rows = place.read if is_home else place.path
    seen = [row for row in visible_of(rows) if row.depth]
    is_prose = is_home and place.tree.mode == "buffer"
    last = place.number("path_nodes")
    return {"near": near(place.home, seen, place.now, last=last, prose=is_prose)}


@sections.windows.collector
def _windows(place: Place) -> dict[str, Any]:
    """The visible windows, without results of this turn; of many the newest have their text."""
    turn = place.turn.uid if place.turn is not None else None
    rows = [
        one
        for one in workspaces.shown_in(place.workspace)
        if one.kind != "result" or one.turn_uid != turn
    ]
    if not rows:
        return {"panes": ()}
    room = place.actor.participant.context_limit * place.number("windows_share") // 100
    panes: list[Pane] = []
    found = window_contents.contents_of(place.actor, place.workspace, rows)
    links = _links(place, found)
    for shown in reversed(found):
        room -= shown.tokens
        lines = shown.rows if room >= 0 else None
        facts = window_contents.facts_of(shown)
        panes.insert(0, Pane(lines=lines, links=links.get(shown.window.number, ()), **facts))
    return {"panes": tuple(panes)}


def _links(
    place: Place, found: Iterable[window_contents.Shown]
) -> dict[int, tuple[tuple[str, str], ...]]:
    """The links of the texts that windows show, by the number of the window. At most five queries;
    none without such a window."""
    items = {
        one.window.number: one.node.pk if one.node is not None else one.window.item_id or 0
        for one in found
        if one.is_open and one.window.kind in windows.LENSES
    }
    portals = portals_of(place.actor, [*set(items.values())]) if items else {}
    return {
        number: tuple((one.type, _targets(place, one)) for one in portals.get(item, ()))
        for number, item in items.items()
    }


def _targets(place: Place, portal: Portal) -> str:
    if portal.only and portal.home == place.workspace.tree_id:
        return f"[{portal.only}]"
    return f"{portal.many:,} node{'' if portal.many == 1 else 's'}"


@sections.todos.collector
def _todos(place: Place) -> dict[str, Any]:
    rows = workspaces.current_tasks(place.workspace)
    return {"tasks": tuple(line for task in rows for line in workspace_bodies.task_lines(task))}


@sections.memory.collector
def _memory(place: Place) -> dict[str, Any]:
    labels = workspaces.labels_of(place.workspace, STASHES)
    done = actions(place.workspace, place.number("trace_actions"))
    return {"actions": done, "stashed": labels}


@sections.notifications.collector
def _notifications(place: Place) -> dict[str, Any]:
    asked = place.turn.input_node_id if place.turn else None
    return {"notifications": notifications_of(place.actor, place.workspace, asked=asked)}


@sections.loom.collector
def _loom(place: Place) -> dict[str, Any]:
    size = size_of(place.actor, place.home)
    is_home = place.home.pk == place.tree.pk
    return {
        "title": place.tree.title,
        "home": None if is_home else (place.home.title, place.home.mode),
        "nodes": size.nodes,
        "branches": size.branches,
        "depth": size.depth,
        "position": tuple(row.local_id for row in place.path[-3:]),  # as many as it names, and one
        "permissions": tuple(in_order(place.actor.permissions)),
        "others": _others(place, timezone.now()),
    }


def _others(place: Place, now: datetime) -> tuple[tuple[str, str, int], ...]:
    """Who else is in the tree the agent looks at, each once, and where: people where their
    pages are, others, and people without a page, where their lines of the last minute went."""
    tree = place.home
    active = timedelta(seconds=place.number("active_seconds"))
    pages, left = streams.places(f"tree:{tree.uid}")
    recent = Step.objects.filter(workspace__tree=tree, at__gte=now - active)
    recent = recent.exclude(workspace=place.workspace.pk).order_by("id")
    lines = dict(recent.values_list("workspace_id", "at"))
    views = Workspace.objects.filter(pk__in=lines, position__tree=tree)
    where: dict[str, tuple[int, str, str, int]] = {}
    for view in views.select_related("position", "participant") if lines else ():
        who = view.participant
        if left.get(who.uid, 0.0) >= lines[view.pk].timestamp():
            continue
        at = lookup.visible_at_or_above(view.position, view)
        where[who.uid] = (who.pk, who.kind, at.local_id, at.depth)
    where |= _on_pages(place, pages)
    return tuple(
        ("Human" if kind == "human" else "Model", at, depth)
        for _, kind, at, depth in sorted(where.values())
    )


def _on_pages(place: Place, pages: Mapping[str, str]) -> dict[str, tuple[int, str, str, int]]:
    """Where the pages of members are, by uid; what is hidden is left out."""
    if not pages:
        return {}
    people = Participant.objects.filter(uid__in=pages, grove=place.home.grove, kind="human")
    found = {}
    for who in people:
        node = lookup.find_node(place.home, pages[who.uid])
        if node is not None:
            at = lookup.visible_at_or_above(node, None)
            found[who.uid] = (who.pk, who.kind, at.local_id, at.depth)
    return found
