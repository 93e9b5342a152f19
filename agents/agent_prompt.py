"""What a loom-aware agent is sent, from rows to plain values; agents.context arranges them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, takewhile
from typing import Any, Literal

from django.utils import timezone

from agents.context import agent_request
from agents.context.agent_request import GO_ON, Sent
from agents.context.subject_request import RESERVE
from agents.context.truncation import Counted, count
from agents.context.values import (
    Action,
    Aware,
    Near,
    Request,
    Round,
    Stop,
    Syntax,
    Told,
    Twig,
    View,
)
from loom import access
from loom.access import Actor, items_of
from loom.commands import node_writer, registry
from loom.grammar.printing import age, excerpt
from loom.models import Event, Mark, Node, Participant, Step, Tree, Turn, Workspace
from loom.queries import lookup
from loom.queries.node_context import Spot, margins_of
from loom.queries.node_rows import NodeRow, rows_of
from loom.queries.path import path_of, withheld_from_models
from loom.queries.trees import size_of
from loom.queries.turns import budget_of, spent_of, turns
from loom.queries.workspaces import outline, outline_of
from loom.rules import addresses, budgets
from loom.rules.errors import CommandError
from loom.rules.framing import plain
from loom.rules.permissions import LOOM, in_order

LINES = 30  # of the outline
WORDS = 8  # of a node there, and of a text in the news
STOPS = 12  # nodes at the end of the path; those with a mark are told wherever they are
ACTIONS = 10
NEWS = 10


def twigs(actor: Actor, tree: Tree, workspace: Workspace) -> tuple[Twig, ...]:
    """The outline of a workspace, as far as it is unfolded."""
    state = outline_of(workspace)
    root = lookup.root_of(tree)
    here = lookup.visible_at_or_above(workspace.position, workspace)
    drawn = outline(actor, tree, workspace, root, depth=state["depth"], limit=LINES)
    hits = set(state["hits"])
    withheld = withheld_from_models(line.row.id for line in drawn.lines)
    return tuple(
        Twig(
            line.row.local_id,
            excerpt(line.row.text, WORDS) if line.row.text and line.row.id not in withheld else "",
            line.level,
            line.is_last,
            line.children,
            line.shown,
            is_here=line.row.slot_id == here.slot_id,
            is_hit=line.row.local_id in hits,
        )
        for line in drawn.lines
    )


def near(
    tree: Tree, rows: Sequence[NodeRow], workspace: Workspace, now: datetime
) -> tuple[Near, ...]:
    """What may have changed about the last nodes of a path, and about those with a mark."""
    marked = _marked(tree)
    told = [row for at, row in enumerate(rows) if at >= len(rows) - STOPS or row.id in marked]
    margins = margins_of(tree, [Spot(row.id, row.slot_id) for row in told])
    return tuple(
        Near(
            row.local_id,
            row.author_name,
            row.author_kind,
            age(now, row.created_at),
            margins[row.id].children,
            len(margins[row.id].notes),
            bool(margins[row.id].bookmarks),
            tuple(margins[row.id].tags),
        )
        for row in told
    )


def _marked(tree: Tree) -> set[int | None]:
    """The nodes of a tree that hold a bookmark or a tag."""
    found = Mark.objects.filter(tree=tree, kind__in=("bookmark", "tag"), removed_at__isnull=True)
    return {addresses.node_id(item) for item in found.values_list("item", flat=True).distinct()}


def actions(workspace: Workspace) -> tuple[Action, ...]:
    """The last lines that were given in a workspace, oldest first; thoughts are not told."""
    steps = list(
        workspace.steps.exclude(canonical__startswith="→ think").order_by("-seq")[:ACTIONS]
    )
    items = items_of(steps)
    every = chain.from_iterable(items.values())
    keys = {key for one in every if (key := addresses.node_id(one))}
    names = dict(Node.objects.filter(pk__in=keys).values_list("id", "local_id"))
    return tuple(_deed(step, items[step.pk], names) for step in reversed(steps))


def _deed(step: Step, items: list[int], names: dict[int, str]) -> Action:
    said = (step.canonical or step.line).removeprefix("→").split()
    nodes = (names.get(addresses.node_id(one) or 0) for one in items)
    first = next((one for one in nodes if one), "")
    verb = said[0] if step.canonical and said else "an unread line"
    return Action(verb, (first,) if first else (), step.outcome)


def news(actor: Actor, tree: Tree, workspace: Workspace) -> tuple[str, ...]:
    """What others wrote since the agent's last turn here ended, the last lines of it."""
    if not workspace.checkpoint:
        return ()
    events = Event.objects.filter(
        stream__name=f"tree:{tree.uid}", kind="node.added", seq__gt=workspace.checkpoint
    )
    own = actor.participant.uid
    found = events.exclude(actor=own).order_by("-seq").values_list("payload", "actor")[:NEWS]
    who = dict(
        Participant.objects.filter(uid__in={one for _, one in found}).values_list("uid", "name")
    )
    rows = _rows_named(tree, [payload["node"]["id"] for payload, _ in found])
    withheld = withheld_from_models(row.id for row in rows.values())
    told = [
        _told(rows[node["id"]], node["parent"], who.get(uid, "Somebody"), withheld)
        for node, uid in ((payload["node"], uid) for payload, uid in found)
        if node["id"] in rows
    ]
    return tuple(one for one in reversed(told) if one)


def _rows_named(tree: Tree, names: Sequence[str]) -> dict[str, NodeRow]:
    keys = tree.nodes.filter(local_id__in=names).values_list("pk", flat=True)
    return {row.local_id: row for row in rows_of(list(keys))}


def _told(row: NodeRow, parent: str, who: str, withheld: Collection[int]) -> str:
    """`✓ Ada annotated [b3k9]: "…"`; without the words of what no model is sent."""
    deed = {"text": "wrote", "annotation": "annotated"}.get(row.kind)
    at = parent if row.kind == "annotation" else row.local_id
    words = "" if row.id in withheld else f": {excerpt(row.text, WORDS)}"
    return f"✓ {plain(who)} {deed} [{at}]{words}" if deed else ""


# What a loom-aware agent is sent, from rows to plain values; `agents.context` arranges them.


ACTIVE = timedelta(seconds=60)


@dataclass(frozen=True)
class Place:
    """For whom a request is assembled, and where: the node its path leads to."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    end: Node
    turn: Turn | None = None


def place_of(actor: Actor, turn: Turn) -> Place:
    """Where the next round of a turn reads."""
    workspace = node_writer.workspace_of(turn.participant, turn.tree)
    return Place(actor, turn.tree, workspace, turn.stands_at, turn)


def next_place(member: Actor, workspace: Workspace) -> Place:
    """Where an agent's workspace reads next: in its turn that goes on, else where it stands.

    REJECTED for a person's workspace, and for an agent that is sent text only.
    """
    agent, tree = workspace.participant, workspace.tree
    if LOOM not in agent.permissions:
        raise CommandError(
            "REJECTED",
            f"{agent.name} is sent text only, without sections.",
            hint="request the context of a loom-aware agent",
        )
    turn = turns().filter(participant=agent, tree=tree, ended_at__isnull=True).last()
    if turn is not None:
        return place_of(access.acting_in(turn), turn)
    actor, stands = access.acting_as(member, agent), workspace.position
    if not access.may_reach(actor, stands.tree_id, here=tree):
        stands = lookup.root_of(tree)
    return Place(actor, tree, workspace, stands)


def assembled(place: Place, *, limit: int = 0, counted: Counted = count) -> Sent:
    """The next request for a place. Raises TooLong where it cannot be made to fit."""
    agent, turn = place.actor.participant, place.turn
    rounds = tuple(round_of(one) for one in turn.rounds) if turn else ()
    asks = _request(turn)
    return agent_request.assemble(
        Aware(
            persona=agent.persona,
            system_context=place.tree.system_context,
            commands=_commands(place.actor),
            path=_stops(place),
            rounds=rounds,
            view=replace(_view(place), request=_named(asks)),
            opening=GO_ON,
            closing=GO_ON,
            request=asks,
            truncation=place.tree.truncation,
            limit=limit or agent.context_limit - RESERVE,
            counted=counted,
        )
    )


def _request(turn: Turn | None) -> Request | None:
    """The words with which the turn was asked for; None without any, and where they have been
    excluded or pruned since."""
    if turn is None or turn.input_node is None:
        return None
    (row,) = rows_of([turn.input_node.pk])
    if withheld_from_models([row.id]):
        return None
    return Request(row.local_id, row.text, row.author_name, row.author_kind)


def _named(asks: Request | None) -> str:
    return f"[{asks.local_id}] from {asks.author}" if asks else ""


def _commands(actor: Actor) -> tuple[Syntax, ...]:
    allowed = (one for one in registry.every() if one.permissions <= actor.permissions)
    return tuple(Syntax(one.group, one.syntax, one.summary.split(".")[0]) for one in allowed)


def round_of(kept: dict[str, Any]) -> Round:
    """A round as the turn's row keeps it."""
    told = tuple(Told(one["line"], one["reply"], one["number"]) for one in kept["told"])
    return Round(kept["text"], told, kept["dropped"], tuple(kept["notes"]))


# -- the path


def _stops(place: Place) -> tuple[Stop, ...]:
    rows = path_of(place.actor, place.tree, place.workspace, place.end)
    own = place.actor.participant.uid
    asked = place.turn.input_node_id if place.turn else None
    return tuple(_stop(row, own) for row in sent_of(rows) if row.id != asked)


def sent_of(path: Sequence[NodeRow]) -> list[NodeRow]:
    """The nodes of a path that are sent to models: what hangs below a pruned one is as hidden
    as that is."""
    seen = takewhile(_is_there, path)
    return [row for row in seen if is_sent(row)]


def _is_there(row: NodeRow) -> bool:
    return not row.pruned


def is_sent(row: NodeRow) -> bool:
    """Whether a node of a path is sent to models at all."""
    gone = row.excluded or row.pruned or row.version_pruned
    return row.kind == "text" and bool(row.text) and not gone


def _stop(row: NodeRow, own: str) -> Stop:
    at = f"{row.created_at:%Y-%m-%d %H:%M}"
    is_own = row.author_uid == own
    return Stop(
        row.local_id,
        row.text,
        row.author_name,
        row.author_kind,
        at,
        is_own,
        is_imported=row.imported,
    )


# -- the view


def _view(place: Place) -> View:
    now = timezone.now()
    tree, actor = place.tree, place.actor
    size = size_of(actor, tree)
    mode: Literal["dialogue", "buffer"] = "buffer" if tree.mode == "buffer" else "dialogue"
    stands = place.workspace.position
    here = _seen(stands, place.workspace) if stands.tree_id == tree.pk else None
    path = path_of(actor, tree, place.workspace, here)
    whole = path_of(actor, tree, place.workspace, place.end)
    read = [row for row in takewhile(_is_there, whole) if row.depth]
    return View(
        revision=place.workspace.revision,
        title=tree.title,
        mode=mode,
        nodes=size.nodes,
        branches=size.branches,
        depth=size.depth,
        position=tuple(row.local_id for row in path),
        permissions=tuple(in_order(actor.permissions)),
        others=_others(place, now),
        budget=_budget(place, now),
        notifications=news(actor, tree, place.workspace),
        outline=twigs(actor, tree, place.workspace),
        near=near(tree, read, place.workspace, now),
        deeds=actions(place.workspace),
    )


def _budget(place: Place, now: datetime) -> str:
    turn = place.turn
    if turn is None:
        budget = budgets.budget_of(place.actor.participant.budget)
        return budgets.shown(budget, budgets.Spent())
    return budgets.shown(budget_of(turn), spent_of(turn, now))


def _others(place: Place, now: datetime) -> tuple[tuple[str, str, int], ...]:
    """Who else gave a line here within the last minute, and where each stands."""
    recent = Step.objects.filter(workspace__tree=place.tree, at__gte=now - ACTIVE)
    seen = recent.exclude(workspace=place.workspace).values_list("workspace_id", flat=True)
    views = Workspace.objects.filter(pk__in=set(seen), position__tree=place.tree)
    named = views.select_related("position", "participant").order_by("id")
    stand = ((view.participant, _seen(view.position, view)) for view in named)
    return tuple((_kind(who), at.local_id, at.depth) for who, at in stand)


def _seen(node: Node, view: Workspace) -> Node:
    """Where a view stands: what is hidden by now is left for the nearest node above it."""
    return lookup.visible_at_or_above(node, view)


def _kind(who: Participant) -> str:
    return "Human" if who.kind == "human" else "Model"
