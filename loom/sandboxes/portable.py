"""The open sandboxes of a tree in its file of Heddle's own format, for whoever sees them: each as a
tree in that format, with the text that it hangs at. Another's sandboxes are in nobody's file."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine import streams
from loom.errors import CommandError, require
from loom.language.ids import ORDINAL_BITS, ids_in
from loom.people.models import Participant
from loom.platform.inserts import insert_row
from loom.sandboxes.commands import DAYS, MOST_OPEN
from loom.sandboxes.queries import open_sandboxes
from loom.text.counts import counted
from loom.text.hashes import instant_or_none
from loom.transfer import tree_builder
from loom.transfer.files import demand_shallow, parsed, readable_json
from loom.transfer.readers import heddle as heddle_reader
from loom.transfer.records import CallRecord, Head, NodeRecord, Report
from loom.transfer.tree_builder import TreeBuilder
from loom.transfer.writers import heddle as heddle_writer
from loom.trees import feature_parts
from loom.trees.commands.rights import copy_rights
from loom.trees.feature_parts import FeaturePart, StoredPart, fitting
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import nodes_in

BATCH = 1000
LARGEST = heddle_writer.MOST // 2  # characters of all sandboxes of a file together


def hanging(actor: Actor, tree: Tree) -> QuerySet[Tree]:
    """The open sandboxes at texts of a tree that the actor may see, oldest first."""
    rows = access.trees_for(actor).filter(sandbox_at__range=ids_in(tree.pk), archived_at=None)
    return rows.order_by("pk")


def write(actor: Actor, tree: Tree) -> list[dict[str, Any]] | None:
    """The actor's open sandboxes of a tree; None if there are none. Those that are too large for
    the file, all together, are left out."""
    return fitting(_written(actor, tree), LARGEST)


def _written(actor: Actor, tree: Tree) -> Iterator[dict[str, Any]]:
    for sandbox in hanging(actor, tree):
        at = Node.objects.filter(pk=sandbox.sandbox_at or 0).values_list("local_id", flat=True)
        body = json.loads(b"".join(heddle_writer.pieces(actor, sandbox, is_alone=False)))
        last = (sandbox.pk << ORDINAL_BITS) + (sandbox.sandbox_copies or 0)
        copies = set(nodes_in(sandbox.pk, last=last).values_list("local_id", flat=True))
        # The copies that it was begun with come first, so that their number says which they are.
        body["nodes"].sort(key=lambda node: node["id"] not in copies)
        yield {
            "at": at[0],
            "expires_at": instant_or_none(sandbox.expires_at),
            "copies": len(copies),
            "file": body,
        }


def read(tree: Tree, value: Any, by: Participant) -> StoredPart:
    """Begins the sandboxes of a file at the same texts of a new tree, as those of whoever imports
    it, as many as they may have open. What cannot be read is left out."""
    if not isinstance(value, list) or by.user is None:
        return StoredPart(left_out=("sandboxes, which cannot be read",))
    room = max(0, MOST_OPEN - open_sandboxes(by.user).count())
    restored = [_restored(tree, part, by) for part in value[:room]]
    begun = [phrases for phrases in restored if phrases is not None]
    left_out = [phrase for phrases in begun for phrase in phrases]
    if lost := len(restored) - len(begun):
        left_out.append(f"{_sandboxes(lost)} that cannot be read")
    if more := len(value) - len(restored):
        left_out.append(f"{_sandboxes(more)}: you have {MOST_OPEN} open ones, which is the most")
    return StoredPart(len(begun), tuple(left_out))


def _sandboxes(many: int) -> str:
    return counted(many, "sandbox", "sandboxes")


def _restored(tree: Tree, part: Any, by: Participant) -> list[str] | None:
    """Begins one sandbox; phrases about what of it was left out, None if it cannot be read."""
    if not isinstance(part, dict):
        return None
    at = Node.objects.filter(tree=tree, local_id=str(part.get("at", ""))[:8], kind="text").first()
    copies = part.get("copies")
    nodes: list[NodeRecord] = []
    calls: list[CallRecord] = []

    def put(record: NodeRecord | CallRecord) -> None:
        (nodes if isinstance(record, NodeRecord) else calls).append(record)  # type: ignore[arg-type]

    report = Report(format="heddle")
    try:
        head = _head(part.get("file"), put, report)
    except CommandError:
        return None
    if at is None or not isinstance(copies, int) or not 0 < copies <= len(nodes):
        return None
    for record in nodes:
        head.settle(record)
    given_end = str(part.get("expires_at", ""))
    sandbox = _begun(tree, head, at, copies, given_end=given_end, by=by)
    left_out = _fill(sandbox, head, nodes, calls, by=by, report=report)
    left_out += [f"{name} ({count:,})" for name, count in report.dropped.items() if count]
    return [f"of a sandbox: {phrase}" for phrase in left_out]


def _head(file: Any, put: heddle_reader.Put, report: Report) -> Head:
    """What a file in the file says of its tree; its nodes and calls go to `put`. CommandError if it
    cannot be read."""
    source = BytesIO(json.dumps(file).encode())
    with readable_json():
        demand_shallow(source)
        source.seek(0)
        return heddle_reader.read(parsed(source), put, report)


def _begun(
    tree: Tree, head: Head, at: Node, copies: int, *, given_end: str, by: Participant
) -> Tree:
    """A new sandbox of whoever imports, hidden until it is complete. It ends when it would have,
    but no sooner than in a week."""
    now = timezone.now()
    ends = now + timedelta(days=DAYS)
    try:
        given = datetime.fromisoformat(given_end)
        ends = max(ends, given) if given.tzinfo is not None and given.year < now.year + 2 else ends
    except (ValueError, OverflowError):
        pass
    sandbox = Tree(
        grove=tree.grove,
        mode=head.mode,
        **{
            name: getattr(head, name)
            for name in heddle_writer.TreePart.model_fields
            if name not in ("mode", "imported")
        },
        maker=by,
        sandbox_at=at.pk,
        sandbox_copies=copies,
        sandbox_of=by.user,
        expires_at=ends,
        erasing_at=now,
    )
    insert_row(sandbox)
    copy_rights(tree, sandbox)
    streams.open_stream(sandbox)
    return sandbox


def _fill(
    sandbox: Tree,
    head: Head,
    nodes: list[NodeRecord],
    calls: list[CallRecord],
    *,
    by: Participant,
    report: Report,
) -> list[str]:
    """Writes what the sandbox has; phrases about what its parts left out."""
    actor = access.get_actor(require(by.user, "the importer"), sandbox.grove)
    builder = TreeBuilder(sandbox, actor, report, now=timezone.now())
    builder.kinds = head.kinds
    for first in range(0, len(nodes), BATCH):
        builder.add(nodes[first : first + BATCH], _nothing)
    tree_builder.add_marks(builder, list(head.marks), _nothing)
    tree_builder.add_links(builder, list(head.links), _nothing)
    heddle_reader.add_calls(builder, iter(calls), _nothing)
    # A sandbox has none of its own.
    parts = {name: value for name, value in head.parts.items() if name != "sandboxes"}
    stored_parts = feature_parts.store(sandbox, parts, by)
    tree_builder.complete(builder)
    return stored_parts.left_out


def _nothing() -> None:
    """There is no progress to tell: a sandbox is a part of its file."""


PART = FeaturePart(write, read)
