"""What others did in a tree since somebody looked at it last, and where they were named."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, QuerySet

from loom import access
from loom.access import Actor
from loom.grammar.lines import excerpt
from loom.models import Event, Mention, Participant, Step, Stream, Tree, Turn, User, Workspace
from loom.queries.lookup import withheld, withheld_from_models
from loom.queries.node_rows import NodeRow, fetch, rows_of
from loom.rules.node_text import plain

MOST = 100  # events of one tree that are counted
REACH = 2000  # of its last events, those that are looked at
KINDS = (
    *("node.added", "node.flagged", "mark.added", "link.added", "tree.changed"),
    *("annotation.resolved", "annotation.reopened", "tag.renamed", "tag.removed"),
    *("settings.pinned", "suggestion.decided"),
)


@dataclass(frozen=True)
class News:
    """What others did in one tree. `total` is at most MOST; `by` counts by participant (uid) and
    kind of event; `events` are the last ones, the newest first."""

    since: datetime
    total: int
    by: tuple[tuple[str, str, int], ...]
    events: tuple[Event, ...] = ()


def news_of(actor: Actor, tree: Tree, workspace: Workspace | None) -> News | None:
    """What others did in the tree since the actor looked at it; None where they never did, or
    nothing was done. Two queries."""
    if workspace is None or workspace.seen_at is None:
        return None
    stream = Stream.objects.filter(name=f"tree:{tree.uid}").first()
    if stream is None or stream.head <= workspace.seen_seq:
        return None
    rows = Event.objects.filter(stream=stream, kind__in=KINDS)
    rows = rows.filter(seq__gt=max(workspace.seen_seq, stream.head - REACH))
    found = tuple(rows.exclude(actor=actor.participant.uid).order_by("-seq")[:MOST])
    if not found:
        return None
    counted = Counter((one.actor, _kind(one)) for one in found)
    by = tuple((who, kind, many) for (who, kind), many in counted.most_common())
    return News(workspace.seen_at, len(found), by, found)


def _kind(event: Event) -> str:
    """The kind of an event; of an annotation `annotation.added`."""
    node = event.payload.get("node") if event.kind == "node.added" else None
    is_note = isinstance(node, dict) and node.get("kind") == "annotation"
    return "annotation.added" if is_note else event.kind


_COUNT = """SELECT tree, COUNT(*) FROM ({parts}) AS every GROUP BY tree"""
_PART = """SELECT * FROM (SELECT {tree} AS tree FROM loom_event
    WHERE stream_id = %s AND seq > %s AND actor <> %s AND kind IN ({kinds})
    ORDER BY seq DESC LIMIT {most}) AS one{tree}"""


def counts_of(actor: Actor, trees: Iterable[Tree]) -> dict[int, int]:
    """How much others did in each tree since the actor looked at it, at most MOST, by the tree's
    row id; none of trees that they never looked at. At most three queries."""
    own = Workspace.objects.filter(
        participant=actor.participant, tree__in=list(trees), seen_at__isnull=False
    ).select_related("tree")
    seen = {f"tree:{one.tree.uid}": one for one in own}
    heads = Stream.objects.filter(name__in=seen).values_list("name", "id", "head")
    parts, params = [], []
    for name, stream, head in heads:
        one = seen[name]
        if head > one.seen_seq:
            kinds = ", ".join(["%s"] * len(KINDS))
            parts.append(_PART.format(tree=one.tree_id, kinds=kinds, most=MOST))
            params += [stream, max(one.seen_seq, head - REACH), actor.participant.uid, *KINDS]
    if not parts:
        return {}
    return {int(key): int(many) for key, many in fetch(_count(parts), params)}


def _count(parts: list[str]) -> str:
    return _COUNT.format(parts=" UNION ALL ".join(parts))


# What others wrote, a line each: as a model is sent it, and as the API lists it.


NOTIFIED = 10  # lines; the last ones
EVICTED = "lines in windows"  # ends the reason for which windows were hidden
WORDS = 8  # of a text


def notifications_of(
    actor: Actor, workspace: Workspace, *, asked: int | None = None
) -> tuple[str, ...]:
    """What others wrote in the tree since the participant of the workspace has seen it: an agent
    until the end of its last turn there, a person until they looked; and which windows were hidden
    for lack of room. Without the node `asked`, the request of a turn. At most eight queries."""
    return (*_written(actor, workspace, asked), *_evicted(workspace))[-NOTIFIED:]


def _evicted(workspace: Workspace) -> tuple[str, ...]:
    """Which windows were hidden because others needed their room, since the last turn or visit."""
    since = workspace.seen_at
    if workspace.participant.kind == "model":
        turns = Turn.objects.filter(participant=workspace.participant_id, tree=workspace.tree_id)
        since = turns.aggregate(last=Max("ended_at"))["last"]
    rows = Step.objects.filter(workspace=workspace.pk, because__endswith=EVICTED, turn_place="")
    rows = rows.filter(at__gt=since) if since is not None else rows
    found = rows.order_by("-seq").values_list("canonical", "because")[:NOTIFIED]
    lines = [f"✓ hidden {said.removeprefix('→ hide ')}: {because}" for said, because in found]
    return tuple(reversed(lines))


def _written(actor: Actor, workspace: Workspace, asked: int | None) -> tuple[str, ...]:
    """What others wrote, a line each."""
    participant = workspace.participant
    is_agent = participant.kind == "model"
    seen = workspace.checkpoint if is_agent else workspace.seen_seq
    if not seen:
        return ()
    events = Event.objects.filter(
        stream__name=f"tree:{workspace.tree.uid}", kind="node.added", seq__gt=seen
    )
    found = events.exclude(actor=participant.uid).order_by("-seq").values_list("payload", "actor")
    last = [(payload["node"], who) for payload, who in found[:NOTIFIED]]
    writers = Participant.objects.filter(uid__in={who for _, who in last})
    names = dict(writers.values_list("uid", "name"))
    keys = workspace.tree.nodes.filter(local_id__in=[node["id"] for node, _ in last])
    rows = {row.local_id: row for row in rows_of(list(keys.values_list("pk", flat=True)))}
    ids = [row.id for row in rows.values()]
    gone = withheld_from_models(ids) if is_agent else withheld(actor, ids)
    lines = [
        _notification(rows[node["id"]], node["parent"], names.get(who, "Somebody"), gone)
        for node, who in last
        if node["id"] in rows and rows[node["id"]].id != asked
    ]
    return tuple(one for one in reversed(lines) if one)


def _notification(row: NodeRow, parent: str, who: str, gone: Collection[int]) -> str:
    """`✓ Ada annotated [b3k9]: "…"`; without the words of what is in `gone`."""
    verb = {"text": "wrote", "annotation": "annotated"}.get(row.kind)
    at = parent if row.kind == "annotation" else row.local_id
    words = "" if row.id in gone else f": {excerpt(row.text, WORDS)}"
    return f"✓ {plain(who)} {verb} [{at}]{words}" if verb else ""


def mentions_of(user: User, *, unseen: bool = False) -> "QuerySet[Mention]":
    """Where the user was named in an annotation, the newest first, in trees that they may see."""
    rows = Mention.objects.filter(
        participant__user=user, tree__in=access.visible_trees(user), node__version_pruned=False
    )
    rows = rows.filter(seen_at__isnull=True) if unseen else rows
    return rows.select_related("tree", "node__author", "node__parent_slot")
