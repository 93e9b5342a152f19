"""Notifications: what others did in a tree that a participant has not been sent."""

from collections.abc import Collection

from django.db.models import Max

from loom.access import Actor
from loom.engine.models import Event, Step
from loom.people.models import Participant
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.shortening import excerpt, plain
from loom.trees.models import Workspace
from loom.trees.queries.lookup import NodeRow, rows_of, withheld, withheld_from_models
from loom.turns.models import Turn

# What others wrote, a line each: as a model is sent it, and as the API lists it.


NOTIFIED = 10  # lines; the last ones
WORDS = 8  # of a text


def notifications_of(
    actor: Actor, workspace: Workspace, *, asked: int | None = None
) -> tuple[str, ...]:
    """What others wrote in the tree since the participant of the workspace last saw it (an agent:
    the end of its last turn there; a person: their last visit), and which windows were hidden for
    lack of room. Without the node `asked`, the request of a turn. At most eight queries."""
    return (*_written(actor, workspace, asked), *_evicted(workspace))[-NOTIFIED:]


def _evicted(workspace: Workspace) -> tuple[str, ...]:
    """The windows that were hidden because others needed their room, since the last turn or
    visit."""
    if not workspace.pk:  # it is not stored yet
        return ()
    rows = _EVICTED.all(of=workspace.pk)
    since = workspace.seen_at
    if rows and workspace.participant.kind == "model":
        turns = Turn.objects.filter(participant=workspace.participant_id, tree=workspace.tree_id)
        since = turns.aggregate(last=Max("ended_at"))["last"]
    late = [(line, because) for line, because, at in rows if since is None or at > since]
    lines = [f"✓ hidden {line.removeprefix('→ hide ')}: {because}" for line, because in late]
    return tuple(reversed(lines))


_EVICTED = PreparedQuery(
    lambda: (
        Step.objects.filter(workspace=Given("of"), evicts=True)
        .order_by("-seq")
        .values_list("canonical", "because", "at")[:NOTIFIED]
    )
)


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
    additions = (
        events.exclude(actor=participant.uid).order_by("-seq").values_list("payload", "actor")
    )
    last = [(payload["node"], who) for payload, who in additions[:NOTIFIED]]
    writers = Participant.objects.filter(uid__in={who for _, who in last})
    names = dict(writers.values_list("uid", "name"))
    keys = workspace.tree.nodes.filter(local_id__in=[node["id"] for node, _ in last])
    rows = {row.local_id: row for row in rows_of(list(keys.values_list("pk", flat=True)))}
    ids = [row.id for row in rows.values()]
    # A member reads what an agent is sent.
    of_other = is_agent and actor.participant.kind != "model"
    gone = withheld_from_models(ids) if of_other else withheld(actor, ids)
    lines = [
        _notification(rows[node["id"]], node.get("parent", ""), names.get(who, "Somebody"), gone)
        for node, who in last
        if node["id"] in rows and rows[node["id"]].id != asked
    ]
    return tuple(line for line in reversed(lines) if line)


def _notification(row: NodeRow, parent: str, who: str, gone: Collection[int]) -> str:
    """`✓ Ada annotated [b3k9]: "…"`; without the words of what is in `gone`."""
    verb = {"text": "wrote", "annotation": "annotated"}.get(row.kind)
    at = parent if row.kind == "annotation" else row.local_id
    words = "" if row.id in gone else f": {excerpt(row.text, WORDS)}"
    return f"✓ {plain(who)} {verb} [{at}]{words}" if verb else ""
