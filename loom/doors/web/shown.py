"""Nodes as the page draws them: one frozen value for the part `node.html`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from loom.access import Actor
from loom.doors.web import markdown
from loom.doors.web.who import Who
from loom.models import Tree, Workspace
from loom.queries.authorship import pieces_of
from loom.queries.margins import Margin, margins_of
from loom.queries.portals import Portal, portals_of
from loom.queries.rows import NodeRow
from loom.rules.authorship import Pieces

# What a page shows of one text; the rest comes when it is asked for.
MAX_SHOWN = 20_000

REASONS = {
    "money": gettext_noop("cut where today's money was used up; what had come is kept"),
    "stopped": gettext_noop("stopped; what had come is kept"),
    "length": gettext_noop("cut at the token limit"),
    "worker lost": gettext_noop("cut off when the worker went away; what had come is kept"),
    "worker stopped": gettext_noop("cut off when Heddle was stopped; what had come is kept"),
    "worker error": gettext_noop("cut off by an error of Heddle's own; what had come is kept"),
    "too long": gettext_noop("cut where a node can hold no more"),
    "network": gettext_noop("cut off when the connection broke; what had come is kept"),
    "timeout": gettext_noop("cut off when nothing more came in time; what had come is kept"),
    "server": gettext_noop("cut off when the provider failed; what had come is kept"),
    "rate": gettext_noop("cut off when the provider asked to wait; what had come is kept"),
    "credit": gettext_noop("cut off where the provider's credit ended; what had come is kept"),
    "filtered": gettext_noop("cut off by the provider's filter; what had come is kept"),
}


@dataclass(frozen=True)
class NoteShown:
    """An annotation in the margin, with its replies."""

    id: str
    who: Who
    form: str
    at: str
    age: str
    body: SafeString
    is_resolved: bool
    replies: tuple["NoteShown", ...] = ()


@dataclass(frozen=True)
class NodeShown:
    """A node of the path. `before` and `after` are its neighbours; empty: there is none."""

    id: str
    who: Who
    at: str
    age: str
    depth: int
    body: SafeString
    length: int
    rest: int
    margin: Margin
    version: int
    older: str
    newer: str
    notes: tuple[NoteShown, ...]
    open_notes: int
    my_bookmark: bool
    is_pruned: bool
    is_excluded: bool
    is_imported: bool
    broken: str
    summary: str
    portals: tuple[Portal, ...]


def age_of(at: datetime, now: datetime | None = None) -> str:
    """How long ago, in a few letters: now, 3m ago, 2h ago, 5d ago, else the date."""
    seconds = ((now or datetime.now(UTC)) - at).total_seconds()
    if seconds < 60:
        return gettext("now")
    if seconds < 3600:
        return gettext("%(n)sm ago") % {"n": int(seconds // 60)}
    if seconds < 86400:
        return gettext("%(n)sh ago") % {"n": int(seconds // 3600)}
    if seconds < 86400 * 30:
        return gettext("%(n)sd ago") % {"n": int(seconds // 86400)}
    return f"{at:%-d %b %Y}"


def _pieces(row: NodeRow, pieces: Pieces, cast: dict[str, Who]) -> SafeString:
    """A text of a buffer: what somebody else than its author wrote is his."""
    if row.length > MAX_SHOWN or pieces == ((row.author_uid, row.length),):
        return _body(row.text, "buffer")
    edges = [0, *accumulate(length for _, length in pieces)]
    parts = [
        (cast[author].colour, cast[author].kind, row.text[start:end])
        for (author, _), start, end in zip(pieces, edges, edges[1:], strict=False)
    ]
    spans = format_html_join("", '<span data-who="{}" data-kind="{}">{}</span>', parts)
    return format_html('<span class="plain">{}</span>', spans)


def _body(text: str, mode: str) -> SafeString:
    shown = text[:MAX_SHOWN]
    if mode == "buffer" or len(text) > MAX_SHOWN:
        return markdown.plain(shown)
    return markdown.rendered(shown)


def _note(row: NodeRow, cast: dict[str, Who], replies: Sequence[NodeRow] = ()) -> NoteShown:
    return NoteShown(
        id=row.local_id,
        who=cast[row.author_uid],
        form=row.form or "note",
        at=row.at,
        age=age_of(row.created_at),
        body=_body(row.text, "dialogue"),
        is_resolved=bool(row.resolved),
        replies=tuple(_note(reply, cast) for reply in replies),
    )


def broken_reason(finish: str) -> str:
    """In words, why a text ends where it does; "" where it is complete."""
    if not finish.startswith("interrupted"):
        return ""
    reason = finish.partition(":")[2]
    if reason in REASONS:
        return gettext(REASONS[reason])
    return f"{gettext('interrupted')}: {reason}" if reason else gettext("interrupted")


def _node(  # noqa: PLR0917 (what one node is drawn from)
    row: NodeRow,
    margin: Margin,
    portals: tuple[Portal, ...],
    cast: dict[str, Who],
    body: SafeString,
    me: str,
) -> NodeShown:
    notes = tuple(_note(note, cast, replies) for note, replies in margin.notes)
    known = row.local_id in margin.versions
    at = margin.versions.index(row.local_id) if known else len(margin.versions)
    return NodeShown(
        id=row.local_id,
        who=cast[row.author_uid],
        at=row.at,
        age=age_of(row.created_at),
        depth=row.depth,
        body=body,
        length=row.length,
        rest=max(0, row.length - MAX_SHOWN),
        margin=margin,
        version=at + 1,
        older=margin.versions[at - 1] if at > 0 else "",
        newer=margin.versions[at + 1] if at + 1 < len(margin.versions) else "",
        notes=notes,
        open_notes=sum(not note.is_resolved for note in notes),
        my_bookmark=any(by == me for _, by in margin.bookmarks),
        is_pruned=bool(row.pruned or row.version_pruned),
        is_excluded=bool(row.excluded),
        is_imported=row.imported,
        broken=broken_reason(row.finish),
        summary=row.summary,
        portals=portals,
    )


def nodes_shown(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    rows: Sequence[NodeRow],
    cast: dict[str, Who],
) -> list[NodeShown]:
    """The rows as the page draws them, in their order."""
    margins = margins_of(tree, rows, workspace)
    portals = portals_of(actor, rows)
    me = actor.participant.uid
    pieces = pieces_of(rows) if tree.mode == "buffer" else {}
    bodies = (
        _pieces(row, pieces[row.id], cast) if pieces else _body(row.text, tree.mode) for row in rows
    )
    return [
        _node(row, margins[row.id], portals.get(row.id, ()), cast, body, me)
        for row, body in zip(rows, bodies, strict=True)
    ]
