"""What the page of a path shows, however long the path is: the end of the path with what is around
it, and the candidates below. One query each; the page reads texts, marks and links.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models.expressions import RawSQL
from django.utils import timezone

from loom.access import Visit
from loom.language.ids import LAST_PLACE, place_asked
from loom.participants.provider_kinds import samplers_written
from loom.people.models import Participant
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.around import Around, Spot, first_below, near_sql
from loom.trees.queries.lookup import (
    ASK,
    PARTS,
    UP,
    NodeRow,
    counted_sql,
    end_of,
    fetch,
    hidden_by,
    in_utc,
    listed,
    nodes_in,
    order_sql,
    root_of,
    selected_sql,
    selected_version_sql,
)
from loom.trees.queries.places import ONLY_WAY

NEAREST = 200  # nodes of a path that are read if not all are needed

MOST_LOOKED_AT = 8  # nodes that are checked to find a first text
MOST_STEPS = 40  # steps down an unbranched start, for a reader who has not been there yet

# `up` walks from the end to the root, or as far as is needed; `path` are the last of it with the
# version that is selected in each; `own` are those that are drawn, and `near` what is around them.
_PAGE = """
    WITH RECURSIVE {ways}up(slot, above, depth) AS (
        SELECT s.id, s.parent_slot_id, s.depth FROM trees_node s WHERE s.id = {start}
        UNION ALL
        SELECT s.id, s.parent_slot_id, s.depth
        FROM up JOIN trees_node s ON s.id = up.above AND s.depth < up.depth WHERE up.depth > %s
    ), path(slot, above, depth, version) AS (
        SELECT up.slot, up.above, up.depth, {selected} FROM up
        WHERE up.depth > (SELECT MAX(depth) FROM up) - %s
    ), own(slot, above, place) AS (
        SELECT path.slot, path.above, {order} FROM path JOIN trees_node s ON s.id = path.slot
        WHERE path.depth > (SELECT MAX(depth) FROM path) - %s
    ), {near}
    UNION ALL SELECT version, '', slot, above, '', '', '', FALSE, FALSE, FALSE, NULL, NULL,
            'path', depth
        FROM path
"""
_END = "(SELECT slot FROM path WHERE depth = (SELECT MAX(depth) FROM path))"
MAX_CARDS = 60  # continuations of the end that are read


@dataclass(frozen=True)
class PathEnd:
    """The version at the end of a path."""

    pk: int
    slot_id: int
    parent_slot_id: int | None
    local_id: str
    slot_local_id: str


@dataclass(frozen=True)
class Way:
    """The end of a path as somebody reads it: its last NEAREST versions, root first, and what is
    around the last of them and below the end. `has_root`: the first of them is the root."""

    path: list[Spot]
    around: Around
    has_root: bool

    @property
    def here(self) -> PathEnd:
        """The version at the end."""
        end = self.path[-1]
        versions = self.around.versions[end.slot_id]
        names = {version.id: version.local_id for version in versions}
        above = versions[0].parent_slot_id
        return PathEnd(end.id, end.slot_id, above, names[end.id], names[end.slot_id])


@dataclass(frozen=True)
class _Start:
    """Where a path ends: SQL for the slot with its parameters, and the version in it (None: the
    selected one). `top` is the depth at which the walk up stops."""

    slot: str
    top: int = 0
    ways: Sequence[int] = ()
    version: int | None = None


def way_of(visit: Visit, end: Node | None, *, most: int) -> Way:
    """The path to `end` (None: the position of the visitor), with what is around its last `most`
    nodes. One query, and where something is pruned one or two more: if the position is hidden,
    the path ends above what hides it.

    A reader who has not moved yet is taken down as far as the tree does not branch; if that ends
    at an empty node, to the first text, with at most four more queries.
    """
    workspace = visit.workspace
    if end is not None:
        start = _Start(str(end.slot_id), max(0, end.depth - NEAREST + 1), version=end.pk)
        return _way(start, workspace, most)
    position = workspace.position
    if position.tree_id != visit.tree.pk:
        position = root_of(visit.tree)
    slot, depth = position.slot_id, position.depth
    hiding = hidden_by(position) if visit.has_pruned else None
    if hiding is not None and hiding.parent_slot_id is not None:
        slot, depth = hiding.parent_slot_id, hiding.depth - 1
    start = _Start(str(slot), max(0, depth - NEAREST + 1))
    if workspace.revision == 0 and position.parent_slot_id is None:
        start = _Start("(SELECT MAX(id) FROM down)", ways=(position.slot_id, MOST_STEPS))
    way = _way(start, workspace, most)
    if start.ways and way.has_root and _is_empty(way):
        first = first_text(visit.tree)
        if first is not None:
            way = _way(_Start(str(first.slot_id)), workspace, most)
    return way


def _is_empty(way: Way) -> bool:
    """Whether there is no text at the end: the root has none."""
    end = way.path[-1].id
    return len(way.path) == 1 or Node.objects.filter(pk=end, text="").exists()


def first_text(tree: Tree) -> Node | None:
    """The first visible node with a text, if it is among the first nodes of the tree; else None."""
    first = nodes_in(tree.pk).filter(kind="text", parent_slot__isnull=False)
    for node in first.exclude(text="").order_by("id")[:MOST_LOOKED_AT]:
        if hidden_by(node) is None and not node.version_pruned:
            return node
    return None


def _way(start: _Start, workspace: Workspace, most: int) -> Way:
    selected, params = selected_sql(workspace)
    if start.version is not None:
        selected = f"CASE WHEN up.slot = {start.slot} THEN {start.version} ELSE {selected} END"
    sql = _PAGE.format(
        ways=f"{ONLY_WAY}, " if start.ways else "",
        start=start.slot,
        selected=selected,
        order=order_sql("s"),
        near=near_sql(first_below(_END, MAX_CARDS)),
    )
    rows = fetch(sql, [*start.ways, start.top, *params, NEAREST, most])
    near = [row for row in rows if row[12] != "path"]
    path = sorted((row[13], row[0], row[2], row[3]) for row in rows if row[12] == "path")
    return Way(
        path=[Spot(version, slot) for _, version, slot, _ in path],
        around=Around((), near),
        has_root=path[0][3] is None,
    )


# The candidates below the end: those that became nodes, those that are coming, those that were
# lost, and which models somebody asked last on the path, to offer the same again.


AT_ONCE = timedelta(seconds=5)  # the generations of one command start within this time
FAILED_FOR = timedelta(minutes=10)
MOST_ASKED = 400  # candidates that are considered as one request

_CANDIDATES = """
    SELECT g.id, g.uid, g.node_id, g.point_id, p.uid, p.name, b.uid, g.status,
        CASE WHEN g.node_id IS NULL AND found.role = 0 THEN g.text ELSE '' END, g.chunk, g.note,
        {error}, g.tokens, g.temperature, {settings}, {at}, g.batch,
        CASE WHEN g.status = 'queued' AND found.role = 0 THEN (
            SELECT COUNT(*) FROM turns_generation w WHERE w.lane = g.lane AND w.ended_at IS NULL
            AND w.status = 'queued' AND (w.rank < g.rank OR (w.rank = g.rank AND w.id < g.id))
        ) ELSE 0 END, g.after, found.role, found.depth
    FROM (
        SELECT id, 0 AS role, 0 AS depth FROM turns_generation WHERE node_id IN ({slots})
        UNION ALL SELECT id, 0, 0 FROM turns_generation
            WHERE point_id IN ({points}) AND node_id IS NULL AND NOT discard AND round = 0
            AND (status IN ('queued', 'running') OR (status IN ('failed', 'interrupted')
                AND ended_at > %s AND asked_by_id = %s))
        UNION ALL SELECT id, 1, depth FROM (
            SELECT g.id, n.depth FROM turns_generation g JOIN trees_node n ON n.id = g.point_id
            JOIN people_participant p ON p.id = g.participant_id
            WHERE g.point_id IN ({path}) AND g.asked_by_id = %s AND g.turn_id IS NULL
            AND g.round = 0 AND p.archived_at IS NULL ORDER BY n.depth DESC, g.id DESC LIMIT {most}
        ) asked
    ) found JOIN turns_generation g ON g.id = found.id
    JOIN people_participant p ON p.id = g.participant_id
    JOIN people_participant b ON b.id = g.asked_by_id
"""


class Candidate(NamedTuple):
    """A generation of a line. `participant` and `asked_by` are public ids, `before` is the number
    of candidates ahead of it; `text` is empty once it is a node, which has it."""

    pk: int
    uid: str
    node_id: int | None
    point_id: int
    participant: str
    name: str
    asked_by: str
    status: str
    text: str
    chunk: int
    note: str
    error_json: str | None
    tokens: int | None
    temperature: float | None
    settings_json: str
    at: str
    batch: str
    before: int
    after: int | None

    @property
    def place(self) -> int:
        """Where its node is, or will be, among its siblings."""
        place = place_asked(self.after, self.pk)
        return LAST_PLACE if place is None else place

    @property
    def created_at(self) -> datetime:
        """When it was requested."""
        return datetime.fromisoformat(self.at)

    @property
    def error(self) -> dict[str, Any]:
        """Why it failed; empty if it did not."""
        return json.loads(self.error_json or "null") or {}

    @property
    def settings(self) -> dict[str, Any]:
        """The samplers of the request."""
        settings: dict[str, Any] = json.loads(self.settings_json)
        return settings

    @property
    def is_coming(self) -> bool:
        """Whether it has not ended."""
        return self.status in ("queued", "running")


@dataclass(frozen=True)
class AskedSettings:
    """How many candidates one participant was asked for, and with which settings."""

    n: int
    tokens: int | None
    temperature: float | None
    settings: str  # samplers, as a line names them


@dataclass
class Candidates:
    """`begun`: what made the first version of a slot, by slot; `coming` and `lost` below the
    points, oldest first. `asked` is the last request, by the participant's name, at the version
    `asked_at`, the deepest one on the path with a request."""

    begun: dict[int, Candidate] = field(default_factory=dict)
    coming: list[Candidate] = field(default_factory=list)
    lost: list[Candidate] = field(default_factory=list)
    asked_at: int | None = None
    asked: dict[str, AskedSettings] = field(default_factory=dict)


def candidates_of(
    slots: Iterable[int],
    points: Iterable[int],
    *,
    by: Participant | None = None,
    path: Sequence[int] = (),
) -> Candidates:
    """What made the slots, what is coming below the points (row ids), and what `by` asked for: the
    recent candidates that failed, and which models they last asked on the path (row ids, root
    first). Rounds of turns are not included: they are shown with the turn. One query."""
    near = path[-NEAREST:]
    cast = "::text" if connection.vendor == "postgresql" else ""
    sql = _CANDIDATES.format(
        error=f"g.error{cast}",
        settings=f"g.settings{cast}",
        at=in_utc("g.created_at"),
        slots=listed(slots),
        points=listed(points),
        path=", ".join(["%s"] * len(near)) or "NULL",
        most=MOST_ASKED,
    )
    since = connection.ops.adapt_datetimefield_value(timezone.now() - FAILED_FOR)
    who = by.pk if by is not None else 0
    rows = fetch(sql, [since, who, *near, who])
    candidates = Candidates()
    for row in sorted((row for row in rows if row[19] == 0), key=itemgetter(0)):
        candidate = Candidate._make(row[:19])
        if candidate.node_id is not None:
            candidates.begun[candidate.node_id] = candidate
        else:
            (candidates.coming if candidate.is_coming else candidates.lost).append(candidate)
    asked = sorted((row for row in rows if row[19] == 1), key=lambda row: (-row[20], -row[0]))
    candidates.asked_at, candidates.asked = _asked([Candidate._make(row[:19]) for row in asked])
    return candidates


def _asked(rows: Sequence[Candidate]) -> tuple[int | None, dict[str, AskedSettings]]:
    """(where, what by name) of the last go, the deepest and newest first."""
    if not rows:
        return None, {}
    first = rows[0]
    since = first.created_at - AT_ONCE
    go = [row for row in rows if row.point_id == first.point_id and row.created_at >= since]
    # A line asks each agent once: one that failed and was asked again right away counts once.
    newest = {row.name: row for row in reversed(go)}
    many = Counter(row.name for row in reversed(go) if newest[row.name].batch == row.batch)
    return first.point_id, {name: _asked_of(newest[name], count) for name, count in many.items()}


def _asked_of(candidate: Candidate, count: int) -> AskedSettings:
    samplers = samplers_written(candidate.settings) if candidate.settings else ""
    return AskedSettings(count, candidate.tokens, candidate.temperature, samplers)


def rests_of(rows: Sequence[NodeRow], children: Mapping[int, int]) -> dict[int, tuple[str, int]]:
    """Where the second half of a split continues, by row id: the text that was split, which keeps
    everything below it, and how much that is. Only for halves that nobody continued (`children`:
    the number of texts below each slot). No query without a split."""
    halves = [
        row for row in rows if row.rest is not None and not children.get(row.slot_id) and row.length
    ]
    wanted = {row.more.edited_from_id for row in halves if row.more.edited_from_id is not None}
    if not wanted:
        return {}
    whole = Node.objects.filter(pk__in=wanted, version_pruned=False, slot__pruned=False)
    texts_below = RawSQL(counted_sql("trees_node.slot_id"), [])  # noqa: S611 (nothing given is in it)
    originals = {node.pk: node for node in whole.annotate(texts_below=texts_below)}
    rests = {}
    for half in halves:
        original = originals.get(half.more.edited_from_id or 0)
        if (
            original is None
            or original.depth != half.depth - 1
            or not original.text.endswith(half.text)
        ):
            continue
        if original.texts_below:
            rests[half.id] = (original.local_id, original.texts_below)
    return rests


# The texts of a whole path, for the editor of a buffer.

# Its depth, row id, local id, the local id of its slot and when it was written (both empty for the
# first version of a slot), its text and author, whether it is excluded, and whether others may
# have written in it. Plain tuples: to make 20,000 named ones takes as long as to read them.
PathText = tuple[int, int, str, str, str, str, str, bool, bool, bool]


def texts_of_path(tree: Tree, workspace: Workspace | None, node: Node | None) -> list[PathText]:
    """The path to `node` as `lookup.path_of` has it, without its root and with no more of each node
    than its text needs. One query."""
    end = end_of(tree, workspace, node)
    selected, params = selected_version_sql(end, workspace)
    first = "CASE WHEN v.id = up.slot THEN '' ELSE"
    sql = f"""{UP} SELECT up.depth, v.id, v.local_id,
            {first} (SELECT s.local_id FROM trees_node s WHERE s.id = up.slot) END,
            {first} {in_utc("v.created_at")} END, v.text, a.uid, up.excluded,
            v.edited_from_id IS NOT NULL OR v.form = '{PARTS}', v.form = '{ASK}'
        FROM up JOIN trees_node v ON v.id = {selected}
        JOIN people_participant a ON a.id = v.author_id WHERE up.above IS NOT NULL"""
    rows: list[Any] = fetch(sql, [end.slot_id, 0, *params])
    rows.sort(key=itemgetter(0))
    return rows
