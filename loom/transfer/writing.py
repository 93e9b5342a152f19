"""Records into rows: a tree that nobody sees until it is whole, in batches of their own."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.db import transaction
from django.utils import timezone

from loom.commands.growth import content_of
from loom.log import streams
from loom.log.streams import Writer
from loom.models import ORDINAL_BITS, Grove, Node, Participant, Tree
from loom.queries.nodes import event_bodies
from loom.queries.rows import rows_of
from loom.rules import hashes, ids
from loom.transfer.records import Head, Record, Report, unreadable

BATCH = 1000


@dataclass(frozen=True)
class Placed:
    """Where a record went, as far as later ones need to know."""

    node_id: int
    slot_id: int
    depth: int
    hash: str


@dataclass
class Growing:
    """A hidden tree being filled. `root` is the number of the record that is the root
    itself (-1: the root is ours, and records without a parent hang below it)."""

    tree: Tree
    person: Participant
    head: Head
    report: Report
    root: int = -1
    placed: dict[int, Placed] = field(default_factory=dict)
    local_ids: set[str] = field(default_factory=set)
    models: dict[str, Participant] = field(default_factory=dict)
    ordinal: int = 0

    @property
    def tree_grove(self) -> Grove:
        """The grove the tree stands in."""
        return self.tree.grove

    def begin(self, own_root: Record | None) -> None:
        """Makes the root where the file brings none of ours."""
        if own_root is None:
            self._store([self._root_row()], first=True)

    def _root_row(self) -> Node:
        record = Record(number=-1, parent=-2)
        node = self._row(record)
        self.placed[-1] = Placed(node.pk, node.pk, 0, node.hash)
        return node

    def add(self, records: list[Record], progress: Callable[[], None]) -> None:
        """Writes one batch in a transaction of its own, with its events."""
        rows = []
        for record in records:
            node = self._row(record)
            rows.append(node)
            self.placed[record.number] = Placed(node.pk, node.slot_id, node.depth, node.hash)
            self.report.nodes += 1
        self._store(rows, first=False)
        progress()

    def _store(self, rows: list[Node], *, first: bool) -> None:
        with transaction.atomic():
            writer = streams.lock(self.tree, actor=self.person.uid)
            if first or writer.stream.head == 0:
                body = {"tree": self.tree.uid, "title": self.tree.title, "mode": self.tree.mode}
                writer.append("tree.created", body)
            Node.objects.bulk_create(rows, batch_size=200)
            for body in event_bodies(self.tree, rows_of([row.pk for row in rows])):
                writer.append("node.added", {"node": body})
            for node in rows:
                self._flag(writer, node)
            writer.stream.items = self.ordinal
            writer.flush()

    def _flag(self, writer: Writer, node: Node) -> None:
        """Events of flags that a foreign node came with."""
        for name in ("pruned", "version_pruned", "excluded"):
            if getattr(node, name):
                slot = node.local_id if node.pk == node.slot_id else node.slot.local_id
                body = {"node": node.local_id, "slot": slot, "flag": name, "value": True}
                writer.append("node.flagged", body)
        if node.resolved_at is not None:
            writer.append("annotation.resolved", {"node": node.local_id, "resolved": True})

    def _row(self, record: Record) -> Node:
        self.ordinal += 1
        node_id = (self.tree.pk << ORDINAL_BITS) + self.ordinal
        parent = self._parent(record)
        slot = self.placed[record.slot] if record.slot is not None else None
        proof = record.kept.get("proof") or {}
        author = self._author(record)
        at = _instant(record.at)
        flags = record.kept.get("flags", ())
        node = Node(
            id=node_id,
            tree=self.tree,
            local_id=self._local_id(record),
            kind=record.kind,
            form=record.form,
            text=record.text,
            length=len(record.text),
            author=author,
            edited_from_id=None
            if record.edited_from is None
            else self.placed[record.edited_from].node_id,
            slot_id=slot.slot_id if slot else node_id,
            parent_slot_id=parent.slot_id if parent else None,
            depth=parent.depth + 1 if parent else 0,
            parent_hash=proof.get("parent") or (parent.hash if parent and not proof else ""),
            configuration=proof.get("configuration") or "",
            call_uid=proof.get("call") or "",
            finish=record.finish,
            created_at=at,
            proof_author=str(proof.get("author", "")) if proof else "",
            imported=record.imported or None,
            pruned="pruned" in flags,
            version_pruned="version_pruned" in flags,
            excluded="excluded" in flags,
            resolved_at=at if "resolved" in flags else None,
        )
        node.hash = record.kept.get("hash") or self._hash(node, record)
        return node

    def _parent(self, record: Record) -> Placed | None:
        if record.parent in self.placed:
            return self.placed[record.parent]
        if record.number == -1 or record.number == self.root:
            return None
        if record.parent < 0 and -1 in self.placed:
            return self.placed[-1]
        raise unreadable(f"Node {record.number} hangs below a node that is not there.")

    def _hash(self, node: Node, record: Record) -> str:
        edited = "" if record.edited_from is None else self.placed[record.edited_from].hash
        return hashes.sha256(
            hashes.proof(
                author=node.author.uid,
                call=node.call_uid,
                configuration=node.configuration,
                content=content_of(node),
                created_at=node.created_at,
                edited_from=edited,
                kind=node.kind,
                parent=node.parent_hash,
            )
        )

    def _local_id(self, record: Record) -> str:
        wanted = record.kept.get("local_id", "")
        if wanted and (wanted in self.local_ids or not ids.looks_like_id(wanted)):
            raise unreadable(f"The id {wanted[:20]!r} comes twice, or is none.")
        local_id = wanted or ids.draw_new(self.ordinal, self.local_ids, secrets.choice)
        self.local_ids.add(local_id)
        return str(local_id)

    def _author(self, record: Record) -> Participant:
        """The importing person, a member of that name, or a model of that name."""
        name = record.model or record.author
        if not name:
            return self.person
        if record.model:
            uid = record.kept.get("generation", "")
            name = self.head.models.get(uid) or self.head.model or "imported model"
            name = record.model if "proof" in record.kept else name
        kind = "model" if record.model else "human"
        return self.models.setdefault(f"{kind}:{name}", self._participant(name[:80], kind))

    def _participant(self, name: str, kind: str) -> Participant:
        known = self.models.get(f"{kind}:{name}")
        if known is not None:
            return known
        found = Participant.objects.filter(grove=self.tree_grove, name__iexact=name).first()
        if found is not None and (found.kind == kind or kind == "human"):
            return found
        if kind == "human":
            return self.person
        free = name if found is None else f"{name[:70]} (imported)"
        made, _ = Participant.objects.get_or_create(
            grove=self.tree_grove,
            name=free,
            defaults={"kind": "model", "archived_at": timezone.now(), "model_ref": name},
        )
        return made


def _instant(given: str) -> datetime:
    if not given:
        return timezone.now()
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        raise unreadable(f"The time {given[:40]!r} cannot be read.") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
