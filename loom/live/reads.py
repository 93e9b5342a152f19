"""What sockets read of the database. Synchronous; each call makes a few short queries."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db.models import Subquery
from django.utils.module_loading import import_string

from loom.engine.models import Event, Stream
from loom.live import frames
from loom.live.frames import EventFrame
from loom.live.rechecks import Pass, Verdict, memberships
from loom.live.to_render import ToRender, changed_by
from loom.permissions import ROLES
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.trees.models import Node
from loom.trees.queries import event_log
from loom.turns.models import Generation

PAGE = 200  # events that are read at once


_STREAM = Stream.objects.filter(name=Given("stream")).values("pk")


# Of one stream, which a join hides: PostgreSQL would sort all that came since.
_AFTER = PreparedQuery(
    lambda: (
        Event.objects.filter(stream=Subquery(_STREAM), seq__gt=Given("seq"))
        .order_by("seq")
        .values_list("seq", "kind", "actor", "origin", "payload", "at")[:PAGE]
    )
)


def entries_after(stream: str, seq: int, limit: int) -> list[EventFrame]:
    """The next events of a stream, at most PAGE of them, rendered; in order. Two queries:
    the bodies of nodes take a second one."""
    rows = _AFTER.all(stream=stream, seq=seq)
    bodies = event_log.hydrated(stream, [event_log.event_body(*row) for row in rows[:limit]])
    return [_entry(body) for body in bodies]


def _entry(body: event_log.Body) -> EventFrame:
    seq, kind = body["seq"], body["kind"]
    hidden_from = frozenset(role for role in ROLES if event_log.is_hidden(kind, role))
    hidden = frames.event(event_log.hidden_body(seq)) if hidden_from else ""
    changed = changed_by(kind, body["payload"])
    return EventFrame(seq, kind, frames.event(body), hidden, hidden_from, changed)


def drawn(tree_uid: str, changed: ToRender, languages: frozenset[str]) -> dict[str, dict[str, Any]]:
    """The changed parts of a tree, rendered once in each language by the function that DRAWING
    names, so that pages and sockets do not depend on each other."""
    parts: dict[str, dict[str, Any]] = import_string(settings.DRAWING)(
        tree_uid,
        languages,
        near=changed.near,
        only=changed.only,
        points=changed.points,
        generations=changed.generations,
        turns=changed.turns,
    )
    return parts


def heads(streams: Iterable[str]) -> dict[str, int]:
    """The last seq of each stream that has events; one query."""
    return dict(Stream.objects.filter(name__in=list(streams)).values_list("name", "head"))


def running(tree_uid: str) -> list[tuple[str, int, str]]:
    """Uid, chunk and text of the running generations of a tree."""
    rows = Generation.objects.filter(tree__uid=tree_uid, ended_at__isnull=True)
    return list(rows.order_by("id").values_list("uid", "chunk", "text"))


def reached(tree_uids: Iterable[str]) -> list[tuple[str, str, int]]:
    """Tree, uid and chunk of the running generations of trees that have a text; one query."""
    going = Generation.objects.filter(ended_at__isnull=True, status="running", chunk__gt=0)
    rows = going.filter(tree__uid__in=list(tree_uids)).order_by()
    return list(rows.values_list("tree__uid", "uid", "chunk"))


def partial(generation_uid: str) -> tuple[int, str] | None:
    """Chunk and text of one generation; None if it has ended or never existed."""
    rows = Generation.objects.filter(uid=generation_uid, status__in=("queued", "running"))
    return rows.values_list("chunk", "text").first()


def node_exists(tree_id: int, local_id: str) -> bool:
    """Whether the tree has a node of this id."""
    return Node.objects.filter(tree_id=tree_id, local_id=local_id.lower()).exists()


def news(
    stream: str, seq: int, limit: int, passes: set[Pass]
) -> tuple[list[EventFrame], dict[Pass, Verdict]]:
    """The next events, and who may still receive them, read after the events so that a member who
    was removed before one of them does not get it. Two queries, three for a tree."""
    entries = entries_after(stream, seq, limit)
    return entries, memberships(passes) if entries else {}
