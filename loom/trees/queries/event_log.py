"""The event log as a reader may see it, a tree as it was at an event, and what others have
done in it since the reader last looked."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

from django.db.models import (
    Count,
    Exists,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    TextField,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, Left, Length

from loom.access import Actor
from loom.engine.event_kinds import completes, completions
from loom.engine.models import Event, Stream
from loom.engine.trimmed_events import not_reached, too_old
from loom.errors import CommandError, not_found
from loom.language.ids import ORDINAL_BITS
from loom.permissions import Role
from loom.text.hashes import instant
from loom.trees.models import Node, Tree, VersionChoice, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.lookup import NodeRow, fetch, rows_of
from loom.trees.queries.node_bodies import BEGINNING, whole_bodies
from loom.trees.queries.places import path_ids

MAX_EVENTS = 1000
MAX_CHARACTERS = 16_000_000  # characters of payloads in one response; a single event may have more
Body = dict[str, Any]


def events_since(actor: Actor, stream: str, *, since: int, limit: int = MAX_EVENTS) -> Body:
    """`{events: [...], head}`: at most `limit` events after seq `since`, in order, without gaps.

    Fewer where they are very long: only a reader that has reached the head has all. An event that
    the actor may not see becomes `{seq, kind: "hidden"}`. The head is read first, so that it is
    never ahead of what the next call returns. CONFLICT if events after `since` were trimmed, or
    if `since` is after the last one, as when a backup was restored. Four queries.
    """
    row = Stream.objects.filter(name=stream).values_list("id", "head", "floor").first()
    key, head, floor = row or (0, 0, 0)
    if since < floor:
        raise too_old(floor, head)
    if since > head:
        raise not_reached(since, head)
    if row is None:
        return {"events": [], "head": 0}
    rows = Event.objects.filter(stream=key, seq__gt=since).order_by("seq")
    rows = rows[: _affordable(rows, limit)]
    columns = rows.values_list("seq", "kind", "actor", "origin", "payload", "at")
    events = hydrated(stream, [event_body(*row) for row in columns])
    return {"events": [shown_to(actor, event) for event in events], "head": head}


def floor_of(stream: str) -> int:
    """The seq up to which the events of a stream were trimmed. One query."""
    return Stream.objects.filter(name=stream).values_list("floor", flat=True).first() or 0


def _affordable(rows: QuerySet[Event], limit: int) -> int:
    """How many of the rows to read at once: at least one, and MAX_CHARACTERS at most."""
    # An event, as it is read, contains a text three times: as text, content, and in the proof. The
    # length is in the log where it matters.
    text = Coalesce(Cast(KT("payload__node__length"), IntegerField()), 0)
    size = Length(Cast("payload", TextField())) + 3 * text
    sizes = rows.annotate(size=size).values_list("size", flat=True)[:limit]
    read = accumulate(sizes)
    return max(1, sum(1 for so_far in read if so_far <= MAX_CHARACTERS))


def event_body(  # noqa: PLR0917 (the columns of one row, in their order)
    seq: int, kind: str, actor: str, origin: str, payload: Any, at: Any
) -> Body:
    """One event as the API shows it."""
    return {
        "seq": seq,
        "kind": kind,
        "actor": actor,
        "origin": origin,
        "payload": payload,
        "at": instant(at),
    }


def hydrated(stream: str, events: list[Body]) -> list[Body]:
    """The events of a stream with what the log does not repeat: bodies of nodes and what other
    features complete are read from their rows. A query for each such kind among the events."""
    kinds = {event["kind"] for event in events}
    for kind, complete in completions().items():
        if kind in kinds:
            of_kind = [event for event in events if event["kind"] == kind]
            payloads = complete(stream, [event["payload"] for event in of_kind])
            for event, payload in zip(of_kind, payloads, strict=True):
                event["payload"] = payload
    return events


@completes("node.added")
def _with_bodies(stream: str, payloads: list[Body]) -> list[Body]:
    bodies = whole_bodies(stream.removeprefix("tree:"), [added["node"] for added in payloads])
    return [{**added, "node": body} for added, body in zip(payloads, bodies, strict=True)]


def with_beginnings(tree: Tree, events: Iterable[Event]) -> list[Event]:
    """Events of the tree for a list: those of new nodes have the `slot` of the node and `begins`,
    the first characters of its text. One query, none if no node was added."""
    rows = list(events)
    named = [row.payload["node"]["id"] for row in rows if row.kind == "node.added"]
    begun: dict[str, Body] = {}
    if named:
        nodes = Node.objects.filter(tree=tree, local_id__in=named).order_by()
        columns = nodes.values_list("local_id", "slot__local_id", Left("text", BEGINNING))
        begun = {name: {"slot": slot, "begins": begins} for name, slot, begins in columns}
    for row in rows:
        if row.kind == "node.added":
            node = row.payload["node"]
            row.payload = {**row.payload, "node": {**node, **begun.get(node["id"], {})}}
    return rows


def shown_to(actor: Actor, event: Body) -> Body:
    """The event, or only its seq where the actor may not see it."""
    if is_hidden(event["kind"], actor.role):
        return hidden_body(event["seq"])
    return event


def hidden_body(seq: int) -> Body:
    """What replaces an event that a reader may not see."""
    return {"seq": seq, "kind": "hidden"}


def is_hidden(kind: str, role: Role) -> bool:
    """Whether events of this kind are hidden from members with this role.

    Invitations are for owners. Every member of a grove may see what is in its trees.
    """
    return kind.startswith("invitation.") and role != "owner"


# A tree as it was at a seq of its stream, computed from the event log.


PAGE = 60
MOST_BELOW = 30
NAMES_AT_ONCE = 500

_LATER = """SELECT payload FROM engine_event
    WHERE stream_id = %s AND seq > %s AND kind = 'node.flagged' ORDER BY seq"""


@dataclass(frozen=True)
class Moment:
    """One seq: its event, the last node at that time, and the flags that later events changed, as
    they were: (local id, flag) to value. Events up to `floor` are no longer kept."""

    seq: int
    head: int
    floor: int
    event: Event
    last: int
    last_id: str
    flags: dict[tuple[str, str], bool]

    def flag(self, local_id: str, name: str, now: bool) -> bool:
        """The flag at that time; `now` is its current value."""
        return self.flags.get((local_id, name), now)


def moment(actor: Actor, tree: Tree, seq: int) -> Moment:
    """The tree's stream at `seq`; INVALID_SYNTAX for a seq that does not exist. Five queries."""
    columns = Stream.objects.values_list("id", "head", "floor")
    stream, head, floor = columns.get(name=f"tree:{tree.uid}")
    event = Event.objects.filter(stream=stream, seq=seq).first()
    if event is None:
        raise CommandError(
            "INVALID_SYNTAX",
            f"There is no seq {seq} in this stream.",
            hint=f"{floor + 1} to {head}",
        )
    last = lookup.root_of(tree)
    added = Event.objects.filter(stream=stream, kind="node.added", seq__lte=seq)
    newest = added.order_by("-seq").values_list("payload", flat=True).first()
    if newest is not None:
        last = lookup.find_node(tree, newest["node"]["id"]) or last
    elif floor:
        last = _last_before(tree, stream, seq) or last
    flags: dict[tuple[str, str], bool] = {}
    for (payload,) in fetch(_LATER, [stream, seq]):
        body = json.loads(payload) if isinstance(payload, str) else payload
        # The first change after the moment has the value from before it.
        flags.setdefault((body["node"], body["flag"]), not body["value"])
    (event,) = with_beginnings(tree, [event])
    return Moment(seq, head, floor, event, last.pk, last.local_id, flags)


def _last_before(tree: Tree, stream: int, seq: int) -> Node | None:
    """The last node of the tree at a seq where the event that added it was trimmed: the one before
    the next that was added."""
    later = Event.objects.filter(stream=stream, kind="node.added", seq__gt=seq).order_by("seq")
    following = later.values_list("payload", flat=True).first()
    after = lookup.find_node(tree, following["node"]["id"]) if following is not None else None
    nodes = lookup.nodes_in(tree.pk, last=after.pk - 1 if after is not None else None)
    return nodes.order_by("-id").first()


TICKS = 96  # parts of a tree's history
SAMPLE = 8  # events that are looked at in each


def ticks_of(actor: Actor, tree: Tree) -> list[tuple[str, int]]:
    """The history of a tree that is kept, in at most 96 equal parts of its seqs: (uid of whoever
    changed most, how many of eight changes were texts), by at most eight events of each part. One
    query of at most 768 rows, however long the history is."""
    columns = Stream.objects.values_list("id", "head", "floor")
    stream, head, floor = columns.get(name=f"tree:{tree.uid}")
    kept = head - floor
    parts = min(TICKS, kept)
    seen: list[list[tuple[str, bool]]] = [[] for _ in range(parts)]
    asked = {floor + 1 + at * kept // (parts * SAMPLE) for at in range(parts * SAMPLE)}
    rows = Event.objects.filter(stream=stream, seq__in=asked).order_by("seq")
    for seq, who, kind in rows.values_list("seq", "actor", "kind"):
        seen[(seq - floor - 1) * parts // kept].append((who, kind == "node.added"))
    ticks = []
    for part in seen:
        most = Counter(who for who, _ in part).most_common(1)
        texts = sum(is_text for _, is_text in part)
        ticks.append((most[0][0] if most else "", round(SAMPLE * texts / max(1, len(part)))))
    return ticks


@dataclass(frozen=True)
class PastPath:
    """The end of a path at that time, without the root, and the texts that were below."""

    rows: list[NodeRow]
    has_above: bool
    below: list[NodeRow]
    pruned: set[str]


def past_path(
    actor: Actor, tree: Tree, workspace: Workspace | None, *, at: Moment, node: Node
) -> PastPath:
    """The path to `node` with the versions selected at that time; NOT_FOUND if it did not exist
    yet."""
    if node.pk > at.last or node.pk >> ORDINAL_BITS != tree.pk:
        raise not_found(
            f"[{node.local_id}] did not exist at seq {at.seq}; it", "Choose a later one."
        )
    slots = [slot for slot, _ in path_ids(actor, tree, None, node)][1:]
    shown = slots[-PAGE:]
    open_slots = _open_below(tree, node, at)
    selected = _selected([*shown, *open_slots], workspace, at)
    if node.slot_id in selected:
        selected[node.slot_id] = node.pk
    rows = rows_of([selected[slot] for slot in shown])
    return PastPath(
        rows=rows,
        has_above=len(slots) > len(shown),
        below=rows_of([selected[slot] for slot in open_slots]),
        pruned={row.local_id for row in rows if at.flag(row.local_id, "pruned", row.pruned)},
    )


def _open_below(tree: Tree, node: Node, at: Moment) -> list[int]:
    """The first MOST_BELOW text slots below a node that were not pruned at that time, in the order
    of siblings. Those that are pruned now are looked up by the flags that changed since, so that
    nobody reads all siblings."""
    was_pruned = {name: was for (name, flag), was in at.flags.items() if flag == "pruned"}
    below = lookup.slots_below(node.slot_id, pruned=True)
    below = below.annotate(number=lookup.compared("id")).filter(number__lte=at.last)
    seen = below.filter(pruned=False).values_list("order", "pk", "local_id")
    then = [
        row for row in seen[: MOST_BELOW + sum(was_pruned.values())] if not was_pruned.get(row[2])
    ]
    names = [name for name, was in was_pruned.items() if not was]
    for first in range(0, len(names), NAMES_AT_ONCE):
        some = names[first : first + NAMES_AT_ONCE]
        known = Node.objects.filter(tree=tree, local_id__in=some).order_by().values("pk")
        gone = below.filter(pruned=True, pk__in=known)
        then += gone.values_list("order", "pk", "local_id")
    return [pk for _, pk, _ in sorted(then)[:MOST_BELOW]]


def _selected(slots: list[int], workspace: Workspace | None, at: Moment) -> dict[int, int]:
    """The version selected in each slot: the reader's choice, else the newest not pruned."""
    chosen = dict(
        VersionChoice.objects.filter(
            workspace=workspace, slot__in=slots, node__lte=at.last
        ).values_list("slot_id", "node_id")
    )
    selected: dict[int, int] = {}
    versions = Node.objects.filter(slot__in=slots, pk__lte=at.last).order_by("id")
    for pk, slot, name, gone in versions.values_list("pk", "slot_id", "local_id", "version_pruned"):
        is_gone = at.flag(name, "version_pruned", gone)
        if slot not in selected or (not is_gone and selected[slot] != chosen.get(slot)):
            selected[slot] = pk
    return selected


# -- news


MOST = 100  # the highest count of news for one tree
REACH = 2000  # the number of last events that are considered
KINDS = (
    *("node.added", "node.flagged", "mark.added", "link.added", "tree.changed"),
    *("annotation.resolved", "annotation.reopened", "tag.renamed", "tag.removed"),
    *("settings.pinned", "suggestion.decided"),
)


@dataclass(frozen=True)
class News:
    """What others did in one tree. `by` counts by participant (uid) and kind of event, among the
    last REACH events if there are more (`is_more`); `events` are the last ones, newest first."""

    since: datetime
    by: tuple[tuple[str, str, int], ...]
    events: tuple[Event, ...] = ()
    is_more: bool = False


def news_of(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    *,
    most: int,
    asked: QuerySet[Any] | None = None,
) -> News | None:
    """What others did in the tree since the actor last looked at it, with the last `most` events;
    None if they never looked, or nothing was done. `asked` are rows with the `uid` of what the
    actor asked for, whose texts are no news to them. Three queries."""
    if workspace is None or workspace.seen_at is None:
        return None
    stream = Stream.objects.filter(name=f"tree:{tree.uid}").first()
    if stream is None or stream.head <= workspace.seen_seq:
        return None
    rows = _unseen(actor, workspace, stream, asked)
    events = tuple(rows.order_by("-seq")[:most])
    if not events:
        return None
    counts = (
        rows.order_by()
        .annotate(node_kind=KT("payload__node__kind"))
        .values_list("actor", "kind", "node_kind")
        .annotate(many=Count("seq"))
    )
    counted: Counter[tuple[str, str]] = Counter()
    for who, kind, node_kind, many in counts:
        counted[who, "annotation.added" if node_kind == "annotation" else kind] += many
    by = tuple((who, kind, many) for (who, kind), many in counted.most_common())
    is_more = stream.head - workspace.seen_seq > REACH
    return News(workspace.seen_at, by, events, is_more)


def _unseen(
    actor: Actor, workspace: Workspace, stream: Stream, asked: QuerySet[Any] | None
) -> QuerySet[Event]:
    """The events of others since the actor last looked at a tree, without the texts of what is in
    `asked`."""
    rows = Event.objects.filter(stream=stream, kind__in=KINDS)
    rows = rows.filter(seq__gt=max(workspace.seen_seq, stream.head - REACH))
    rows = rows.exclude(actor=actor.participant.uid)
    if asked is None:
        return rows
    added = Node.objects.filter(tree=workspace.tree_id, local_id=OuterRef("added")).order_by()
    rows = rows.annotate(added=KT("payload__node__id"))
    rows = rows.annotate(generation=Subquery(added.values("generation_uid")[:1]))
    return rows.exclude(Exists(asked.filter(uid=OuterRef("generation"))))


_COUNT = """SELECT tree, COUNT(*) FROM ({parts}) AS every GROUP BY tree"""
_PART = """SELECT {tree} AS tree FROM ({rows}) AS one{tree}"""


def counts_of(
    actor: Actor, trees: Iterable[Tree], *, asked: QuerySet[Any] | None = None
) -> dict[int, int]:
    """The number of changes by others in each tree since the actor last looked at it, at most
    MOST, by the tree's row id; trees that they never looked at are left out. `asked` as for
    `news_of`. At most three queries."""
    own = Workspace.objects.filter(
        participant=actor.participant, tree__in=list(trees), seen_at__isnull=False
    ).select_related("tree")
    seen = {f"tree:{workspace.tree.uid}": workspace for workspace in own}
    parts: list[str] = []
    params: list[Any] = []
    for stream in Stream.objects.filter(name__in=seen):
        workspace = seen[stream.name]
        if stream.head > workspace.seen_seq:
            rows = _unseen(actor, workspace, stream, asked).order_by("-seq").values("seq")[:MOST]
            sql, given = rows.query.sql_with_params()
            parts.append(_PART.format(tree=workspace.tree_id, rows=sql))
            params += given
    if not parts:
        return {}
    return {int(key): int(many) for key, many in fetch(_count(parts), params)}


def _count(parts: list[str]) -> str:
    return _COUNT.format(parts=" UNION ALL ".join(parts))
