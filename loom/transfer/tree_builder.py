"""Writes records as rows: a tree that is hidden until it is complete."""

import json
import random
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from loom.access import Actor
from loom.engine import streams
from loom.engine.items import make_items
from loom.engine.streams import Writer
from loom.language import ids
from loom.links.commands.counting import count_added
from loom.links.commands.links import EVIDENCE, link_body
from loom.links.models import Link
from loom.links.queries import slots_of
from loom.links.vocabulary import vocabulary_of
from loom.notes.commands.marks import mark_body
from loom.notes.models import Mark
from loom.notes.tag_keys import is_tag_name, plain_tag, tag_key
from loom.platform.inserts import insert_rows
from loom.text import hashes
from loom.transfer import records
from loom.transfer.authors import HIDDEN, Addressing, Authors, WrittenNodes
from loom.transfer.models import Import
from loom.transfer.records import NodeRecord, Report
from loom.trees.chains import Chains
from loom.trees.commands.node_writer import keep_images
from loom.trees.models import Chain, Node, NodeSource, Tree, Workspace
from loom.trees.queries.lookup import (
    EXCLUDED,
    IMPORTED,
    PRUNED,
    RESOLVED,
    SANDBOX,
    VERSION_PRUNED,
    NodeRow,
    RareColumns,
)
from loom.trees.queries.node_bodies import Facts, event_bodies, proof_of, stored_body
from loom.trees.queries.outline import measured

Progress = Callable[[], None]


class TreeBuilder:
    """A hidden tree being filled for whoever imports a file. `shift` is the ordinal of the record
    with number 0."""

    def __init__(self, tree: Tree, actor: Actor, report: Report, *, now: datetime) -> None:
        self.tree, self.report, self.now = tree, report, now
        self.authors = Authors(actor, report)
        self.written = WrittenNodes(tree.pk)
        self.addressing = Addressing(tree, self.written, actor)
        self.shift = 1
        self.current = -1  # the number of the record that becomes the importer's position
        self.kinds: dict[str, str] = {}
        self.chains = Chains()
        self._hiding: dict[int, int] = {}  # pruned slots of this batch's parents: their chains
        # Ids are not secrets, and system randomness costs a second per 100,000.
        self._dice = random.Random(secrets.randbits(128))  # noqa: S311

    def begin(self, progress: Progress) -> None:
        """Creates the root if the file does not have one."""
        self.shift = 2
        self._write([NodeRecord(number=-1)], progress)
        self.report.nodes += 1  # as the list of trees counts it

    def add(self, records: list[NodeRecord], progress: Progress) -> None:
        """Writes one batch in its own transaction, with its events. `progress` is called in it
        first, and aborts it by raising."""
        self.authors.meet((record.author, record.author_kind) for record in records)
        self._write(records, progress)
        self.report.nodes += len(records)

    def _write(self, records: list[NodeRecord], progress: Progress) -> None:
        with transaction.atomic():
            progress()
            writer = streams.lock(self.tree, actor=self.authors.person.uid)
            if not self.written.count:
                payload = {"tree": self.tree.uid, "title": self.tree.title, "mode": self.tree.mode}
                writer.append("tree.created", payload)
            writer.ordinals(len(records))
            rows = [self._row(record) for record in records]
            insert_rows(
                Node,
                [self._columns(record, row) for record, row in zip(records, rows, strict=True)],
            )
            writer.wrote(
                sum(
                    len(row.text.split())
                    for row in rows
                    if row.kind == "text" and row.slot_id == row.id
                )
            )
            self._keep_hiding()
            for row in rows:
                keep_images(self.tree, row.text)
            self._sources(records, rows)
            # From data in memory: PostgreSQL plans badly for a table that has only just grown, and
            # reading 1,000 of 100,000 back took 7 s (measured).
            facts = None if any(record.sources for record in records) else self._facts(rows)
            for body in event_bodies(self.tree, rows, facts):
                writer.append("node.added", {"node": stored_body(body)})
            for record, row in zip(records, rows, strict=True):
                self._flags(writer, record, row)
            writer.flush(many=True)

    def _keep_hiding(self) -> None:
        """Stores the chains of pruned slots that hide something now."""
        row = self.written.row
        values = [(row(chain), row(slot)) for slot, chain in self._hiding.items()]
        self._hiding.clear()
        if values:
            with connection.cursor() as cursor:
                cursor.executemany("UPDATE trees_node SET pruned_chain = %s WHERE id = %s", values)

    def _facts(self, rows: list[NodeRow]) -> Facts:
        """The result of `facts_of` for nodes that were just written."""
        written = self.written
        base = written.row(0)
        facts = Facts()
        for row in rows:
            slot = row.slot_id
            facts.local_ids[slot] = written.labels[slot - base]
            if (above := row.parent_slot_id) is not None:
                facts.local_ids[above] = written.labels[above - base]
            if written.flags[slot - base] & HIDDEN:
                facts.hidden.add(slot)
            if slot - base in written.versions:
                facts.versions[slot] = [
                    written.labels[version] for version in written.versions[slot - base]
                ]
            if row.rest and (edited := row.more.edited_from_id) is not None:
                facts.edited[edited] = (
                    written.labels[edited - base],
                    written.hash(edited - base),
                )
        return facts

    def _flags(self, writer: Writer, record: NodeRecord, row: NodeRow) -> None:
        """The events that set the flags."""
        slot = self.written.labels[row.slot_id - self.written.row(0)]
        for name in record.flags:
            payload = {"node": row.local_id, "slot": slot, "flag": name, "value": True}
            writer.append("node.flagged", payload)
        if record.resolved_at:
            writer.append("annotation.resolved", {"node": row.local_id, "resolved": True})

    def _sources(self, records: list[NodeRecord], rows: list[NodeRow]) -> None:
        sources = []
        for record, row in zip(records, rows, strict=True):
            for item, role, seen in record.sources:
                item_id = self.addressing.of(item)
                if item_id is None:
                    self.report.dropped["sources elsewhere"] += 1
                else:
                    sources.append(
                        NodeSource(node_id=row.id, item_id=item_id, role=role, version_seen=seen)
                    )
        make_items(source.item_id for source in sources)
        NodeSource.objects.bulk_create(sources)

    def _row(self, record: NodeRecord) -> NodeRow:
        """The next node, with its place and hash. Instances of the model would take as long as
        everything else (measured)."""
        written = self.written
        ordinal = written.count + 1
        # A record without a parent is placed below the root, except the root itself.
        above = record.parent + self.shift if record.parent >= 0 else int(ordinal > 1)
        edited = record.edited_from + self.shift if record.edited_from >= 0 else 0
        slot = written.slot(record.slot + self.shift) if record.slot >= 0 else ordinal
        above_slot = written.slot(above)
        author = self.authors.of(record.author, record.author_kind)
        rest = self._rest(record, author.uid, edited)
        flags = self._bits(record, slot if slot != ordinal else 0)
        local_id = record.local_id or ids.draw_new(ordinal, written.names, self._dice.choice)
        row = NodeRow(
            id=written.row(ordinal),
            local_id=local_id,
            slot_id=written.row(slot),
            parent_slot_id=written.row(above_slot) if above else None,
            depth=written.depth(above) + 1,
            kind=record.kind,
            text=record.text,
            author_uid=author.uid,
            author_name=author.name,
            author_kind=author.kind,
            at=hashes.instant(_at(record.at) or self.now),
            parent_hash=record.parent_hash if record.hash else written.hash(above),
            hash="",
            flags=flags,
            rest=rest,
        )
        row = row._replace(hash=self._hash(record, row, written.hash(edited)))
        if record.kind == "text" and slot == ordinal and above:
            chain = self.chains.add(ordinal, above_slot, depth=row.depth)
            if written.flags[above_slot] & PRUNED:
                self._hiding[above_slot] = chain
        hides = HIDDEN if written.flags[above_slot] & (PRUNED | HIDDEN) else 0
        written.add(local_id, slot=slot, depth=row.depth, hash=row.hash, flags=flags & 127 | hides)
        return row

    def _rest(self, record: NodeRecord, author: str, edited: int) -> str | None:
        """The columns that most nodes leave empty."""
        columns = RareColumns(
            record.form,
            None if record.blocks is None else json.dumps(record.blocks),
            self.written.row(edited) if edited else None,
            record.configuration,
            record.call,
            record.generation,
            record.finish,
            record.proof_author if record.proof_author != author else "",
            record.summary,
        )
        return None if columns == _EMPTY else json.dumps(columns)

    def _bits(self, record: NodeRecord, first: int) -> int:
        """The flags of a node: its own, or those of the first version of its slot (0: itself)."""
        own = sum(_BITS[name] for name in record.flags) + RESOLVED * bool(record.resolved_at)
        if first:
            own = own & VERSION_PRUNED | self.written.flags[first] & _OF_SLOT
        return own | IMPORTED * (record.number >= 0)

    def _columns(self, record: NodeRecord, row: NodeRow) -> dict[str, Any]:
        """The columns of a node by their attributes."""
        chain = self.chains.above(row.slot_id - self.written.row(0))
        return {
            "id": row.id,
            "tree_id": self.tree.pk,
            "local_id": row.local_id,
            "kind": row.kind,
            "form": record.form,
            "text": row.text,
            "blocks": record.blocks,
            "length": len(row.text),
            "author_id": self.authors.of(record.author, record.author_kind).pk,
            "edited_from_id": row.more.edited_from_id if row.rest else None,
            "slot_id": row.slot_id,
            "parent_slot_id": row.parent_slot_id,
            "depth": row.depth,
            "parent_chain": self.written.row(chain) if chain else None,
            "pruned_chain": None,  # see _keep_hiding
            "parent_hash": row.parent_hash,
            "hash": row.hash,
            "configuration": record.configuration,
            "call_uid": record.call,
            "generation_uid": record.generation,
            "finish": record.finish,
            "created_at": _at(record.at) or self.now,
            "place": None,
            "proof_author": row.more.proof_author if row.rest else "",
            # Stored for every imported node, even as {}: it marks the node as imported.
            "imported": record.imported if record.number >= 0 else None,
            **{name: name in record.flags for name in _BITS},
            "summary": record.summary,
            "resolved_at": _at(record.resolved_at),
        }

    def _hash(self, record: NodeRecord, row: NodeRow, edited: str) -> str:
        """The hash in the file, which can show that the node was changed; else the node's own."""
        own = hashes.sha256(proof_of(row, row.more, edited))
        if record.hash and record.hash != own:
            self.report.warn(
                f"The hash of [{row.local_id}] does not fit its fields; verifying will say so."
            )
        return record.hash or own


_EMPTY = RareColumns()
_BITS = {
    "pruned": PRUNED,
    "excluded": EXCLUDED,
    "sandbox": SANDBOX,
    "version_pruned": VERSION_PRUNED,
}
_OF_SLOT = PRUNED | EXCLUDED | SANDBOX | RESOLVED


def _at(given: str) -> datetime | None:
    return datetime.fromisoformat(given).astimezone(UTC) if given else None


# After the nodes: marks and links, and making the tree visible.


BATCH = 1000
_COUNTED_AS = {"main": "main line", "plus": "ratings", "minus": "ratings"}  # in the report


def marks_of(record: records.NodeRecord) -> Iterator[records.MarkRecord]:
    """The marks of a record."""
    if record.bookmark is not None:
        yield records.MarkRecord("bookmark", record.bookmark, record.number)
    for tag in record.tags:
        yield records.MarkRecord("tag", tag, record.number)


def writable_marks(
    given: Iterable[records.MarkRecord], report: Report
) -> Iterator[records.MarkRecord]:
    """The marks with tags as a line could write them, and an item has each of them once. The report
    counts what was changed and what was left out."""
    tagged: set[tuple[int, str]] = set()
    for mark in given:
        if mark.kind != "tag":
            yield mark
            continue
        label = plain_tag(mark.label)
        place = mark.number, tag_key(label)
        if not is_tag_name(label):
            report.dropped["tags without a letter"] += 1
        elif place in tagged:
            report.dropped["tags that an item has twice"] += 1
        else:
            tagged.add(place)
            if label != mark.label:
                report.kept["tags with another spelling"] += 1
            yield replace(mark, label=label)


def add_marks(builder: TreeBuilder, marks: list[records.MarkRecord], progress: Progress) -> None:
    """Writes marks in batches, with their events; tags that no line could write are left out."""
    given = list(writable_marks(marks, builder.report))
    builder.authors.meet((mark.by, kind_of(builder, mark.by)) for mark in given)
    names = builder.written.labels
    waiting = iter(given)
    while batch := list(islice(waiting, BATCH)):
        with transaction.atomic():
            progress()
            writer = streams.lock(builder.tree, actor=builder.authors.person.uid)
            numbers = [mark.number + builder.shift if mark.number >= 0 else -1 for mark in batch]
            marked = ["tree" if number < 0 else names[number] for number in numbers]
            items = {name: item for name in marked if (item := builder.addressing.of(name))}
            make_items(items.values())
            rows = [
                Mark(
                    tree=builder.tree,
                    kind=mark.kind,
                    label=mark.label,
                    label_key=tag_key(mark.label) if mark.kind == "tag" else "",
                    item_id=items[name],
                    participant=builder.authors.of(mark.by, kind_of(builder, mark.by)),
                    at=_made_at(mark.at, builder),
                )
                for name, mark in zip(marked, batch, strict=True)
            ]
            insert_rows(Mark, [vars(mark) for mark in rows])
            for name, row in zip(marked, rows, strict=True):
                shown = builder.addressing.shown(name)
                writer.append("mark.added", {"mark": mark_body(row, shown)})
                builder.report.kept[_COUNTED_AS.get(row.kind, f"{row.kind}s")] += 1
            writer.flush(many=True)


def add_links(builder: TreeBuilder, given: list[records.LinkRecord], progress: Progress) -> None:
    """Writes links in batches, with their events. Links without a target are left out, and so are
    those of an item to itself, and a link that two places have already."""
    builder.authors.meet((link.by, kind_of(builder, link.by)) for link in given)
    addressing = builder.addressing
    types = vocabulary_of(builder.tree.grove)
    joined: set[tuple[str, int, int]] = set()
    waiting = iter(given)
    while batch := list(islice(waiting, BATCH)):
        with transaction.atomic():
            progress()
            writer = streams.lock(builder.tree, actor=builder.authors.person.uid)
            for link in batch:
                source, target = addressing.of(link.source), addressing.of(link.target)
                if source is None or target is None:
                    builder.report.dropped["links to elsewhere"] += 1
                    continue
                if source == target:
                    builder.report.dropped["links of items to themselves"] += 1
                    continue
                make_items([source, target])
                kind, outward = types.by_word.get(link.type.lower(), (None, True))
                note = link.note if kind is not None else f"{link.type}: {link.note}".rstrip(": ")
                if kind is None:
                    builder.report.warn(
                        f"The grove has no link type {link.type!r}: such links became related."
                    )
                if not outward:
                    source, target = target, source
                row = Link(
                    tree=builder.tree,
                    type=kind.key if kind is not None else "related",
                    source_id=source,
                    target_id=target,
                    note=note,
                    words=link.words,
                    confidence=link.confidence,
                    by=builder.authors.of(link.by, kind_of(builder, link.by)),
                    at=_made_at(link.at, builder),
                )
                slots = slots_of([source, target])
                row.source_slot, row.target_slot = slots[source], slots[target]
                join = _join_of(row, is_symmetric=kind is None or kind.symmetric)
                if join in joined and not _is_at_claim(row):
                    builder.report.dropped["links that are in the file twice"] += 1
                    continue
                joined.add(join)
                row.save(force_insert=True)
                count_added(row, builder.tree.grove_id)
                ends = addressing.shown(link.source), addressing.shown(link.target)
                ends = ends if outward else (ends[1], ends[0])
                writer.append("link.added", {"link": link_body(row, *ends)})
                builder.report.kept["links"] += 1
            writer.flush()


def _join_of(link: Link, *, is_symmetric: bool) -> tuple[str, int, int]:
    """What the links of two places have in common that are the same link. Evidence is on its
    wordings: another one may be cited as well."""
    source, target = link.source_slot, link.target_slot
    if link.type == EVIDENCE:
        source, target = link.source_id, link.target_id
    if is_symmetric:
        source, target = min(source, target), max(source, target)
    return link.type, source, target


def _is_at_claim(link: Link) -> bool:
    """Whether a link leads to a claim: each piece of its evidence has one, also at one node."""
    return Node.objects.filter(pk=ids.node_id(link.target_id) or 0, kind="claim").exists()


def kind_of(builder: TreeBuilder, name: str) -> str:
    """Human or model, as the file says about the author with that name."""
    return builder.kinds.get(name, "human")


def _made_at(given: str, builder: TreeBuilder) -> datetime:
    return datetime.fromisoformat(given) if given else builder.now


def show(builder: TreeBuilder, row: Import, progress: Progress, done: Callable[[], None]) -> None:
    """Makes the tree visible, with the event `import.finished`, and sets the importer's position
    to that of the other program, if there is a text; `done` records it in the same transaction."""
    report = builder.report.body()
    tree = builder.tree
    with transaction.atomic():
        progress()
        writer = streams.lock(tree, actor=builder.authors.person.uid)
        payload = {"import": row.uid, "tree": tree.uid, "report": report}
        writer.append("import.finished", payload)
        writer.sized(measured(tree.pk))
        _keep_chains(builder)
        writer.flush()
        Tree.objects.filter(pk=tree.pk).update(erasing_at=None, touched_at=timezone.now())
        if builder.current >= 0:
            position = builder.written.row(builder.current + builder.shift)
            # An empty node has nothing to read: the page opens at the first text instead.
            if Node.objects.filter(pk=position).exclude(text="").exists():
                Workspace.objects.create(
                    participant=builder.authors.person, tree=tree, position_id=position
                )
        done()


def complete(builder: TreeBuilder) -> None:
    """Makes a tree that came within another's file visible to whoever may see it."""
    with transaction.atomic():
        writer = streams.lock(builder.tree, actor=builder.authors.person.uid)
        writer.sized(measured(builder.tree.pk))
        _keep_chains(builder)
        writer.flush()
        Tree.objects.filter(pk=builder.tree.pk).update(erasing_at=None, touched_at=timezone.now())


def _keep_chains(builder: TreeBuilder) -> None:
    """Stores the chains of the tree."""
    row, chains = builder.written.row, builder.chains
    tails = sorted(chains.tails.items())
    insert_rows(Chain, [{"id": row(first), "tail": tail} for first, tail in tails])
