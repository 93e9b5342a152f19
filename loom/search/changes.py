"""What others have changed in a tree and its documents since a moment, by item."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from typing import TypeVar

from loom.access import Actor, trees_for
from loom.engine import streams
from loom.engine.models import Event
from loom.language import ids as item_ids
from loom.language.refs import Ref, label_named, print_ref, tag_named
from loom.links import link_types
from loom.links.models import Link
from loom.notes.models import Mark
from loom.people.models import Participant
from loom.people.names import as_sent
from loom.permissions import READ_DOCUMENTS
from loom.text.shortening import excerpt, plain
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText, Node, Tree
from loom.trees.queries import lookup
from loom.workspace.queries.windows import WITHHELD
from loom.workspace.window_rules import difference_named

MOST_EVENTS = 1_000  # of each stream, the newest ones
MOST_COMPARED = 100_000  # characters of a text of which the differing words are shown
WORDS = 12  # of a text
FLAGS = {
    ("pruned", True): "pruned",
    ("pruned", False): "restored",
    ("version_pruned", True): "version pruned",
    ("version_pruned", False): "version restored",
    ("excluded", True): "excluded",
    ("excluded", False): "included",
}
K = TypeVar("K")


@dataclass
class ChangedItem:
    """An item that was changed: its ref, how a line names it, when it was changed last, and the
    changes in words, oldest first."""

    ref: str
    named: str
    at: datetime
    said: list[str] = field(default_factory=list)


class RecentChanges:
    """What others than the actor have changed since a moment. What was undone since, and what the
    actor may not see, is left out; so is the node `asked`, the request of a turn. `is_cut`: there
    are more than MOST_EVENTS events. `read` are the ids of the items that are named."""

    def __init__(self, actor: Actor, tree: Tree, since: datetime, *, asked: int = 0) -> None:
        self.actor, self.tree, self.since = actor, tree, since
        self.is_cut = False
        self.read: set[int] = set()
        self._asked = asked
        self._items: dict[str, ChangedItem] = {}
        events = self._events(f"tree:{tree.uid}")
        if READ_DOCUMENTS in actor.permissions:
            events += self._events(f"grove:{tree.grove.uid}", only=("link.", "mark."))
        self._names = self._actors(events)
        self._nodes = self._nodes_of(events)
        older = [node.edited_from_id for node in self._nodes.values() if node.edited_from_id]
        self._older = lookup.rows().in_bulk(older)
        keys = [*(node.pk for node in self._nodes.values()), *self._older]
        self._gone = lookup.withheld(actor, keys)
        self._take(events)
        self._take_documents()

    @property
    def items(self) -> list[ChangedItem]:
        """The changed items, those changed last first."""
        return sorted(self._items.values(), key=lambda item: item.at, reverse=True)

    # what is read

    def _events(self, name: str, only: tuple[str, ...] = ()) -> list[Event]:
        """The events of a stream by others since the moment, oldest first."""
        rows = Event.objects.filter(stream=streams.stream_id(name)).order_by("-seq")
        newest = rows[: MOST_EVENTS + 1].iterator(chunk_size=50)
        recent = list(takewhile(lambda event: event.at > self.since, newest))
        self.is_cut = self.is_cut or len(recent) > MOST_EVENTS
        own = self.actor.participant.uid
        others = [event for event in recent[:MOST_EVENTS] if event.actor != own]
        return [other for other in others if not only or other.kind.startswith(only)][::-1]

    def _actors(self, events: Iterable[Event]) -> dict[str, str]:
        rows = Participant.objects.filter(uid__in={event.actor for event in events})
        return {uid: as_sent(name) for uid, name in rows.values_list("uid", "name")}

    def _nodes_of(self, events: Iterable[Event]) -> dict[str, Node]:
        """The nodes of the tree that the events name, by local id."""
        names: set[str] = set()
        for event in events:
            node = event.payload.get("node")
            named = node if isinstance(node, dict) else event.payload
            names.update(str(named[key]) for key in ("id", "node", "slot") if named.get(key))
        rows = lookup.rows().select_related("parent_slot")
        rows = rows.filter(tree=self.tree, local_id__in=names)
        return {row.local_id: row for row in rows}

    # how it is said

    def _say(self, ref: str, named: str, at: datetime, words: str) -> None:
        row = self._items.setdefault(ref, ChangedItem(ref, named, at))
        row.at = max(row.at, at)
        row.said.append(words)

    def _say_of_node(self, name: str, event: Event, words: str) -> None:
        self._say(name, f"[{name}]", event.at, words)

    def _by(self, event: Event) -> str:
        return f"by {self._names.get(event.actor, 'somebody')}"

    def _words(self, node: Node) -> str:
        return WITHHELD if node.pk in self._gone else excerpt(node.text, WORDS)

    def _take(self, events: Sequence[Event]) -> None:
        """Takes the events of each kind."""
        kinds: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            kinds[event.kind.partition(".")[0]].append(event)
            if event.kind == "node.added":
                self._added(event)
            elif event.kind == "suggestion.decided":
                self._decided(event)
            elif event.kind in ("tag.renamed", "tag.removed", "tree.changed"):
                self._of_tree(event)
        self._flagged([event for event in kinds["node"] if event.kind == "node.flagged"])
        self._settled(kinds["annotation"])
        self._marked(kinds["mark"])
        self._linked(kinds["link"])

    # texts and notes

    def _added(self, event: Event) -> None:
        """A new text, a version with its difference, or a note on a node."""
        body = event.payload.get("node") or {}
        node = self._nodes.get(str(body.get("id")))
        if node is None or node.pk == self._asked or node.kind not in ("text", "annotation"):
            return
        by, slot = self._by(event), node.slot.local_id
        parent = node.parent_slot.local_id if node.parent_slot is not None else ""
        if node.kind == "annotation":
            what = {"": "note", "diff": "suggestion"}.get(node.form, node.form)
            self._say_of_node(parent, event, f"{what} [{node.local_id}] {by} {self._words(node)}")
        elif slot != node.local_id:
            words = f"version [{node.local_id}] {by}{self._difference(node)}"
            self._say_of_node(slot, event, words)
        else:
            below = f" below [{parent}]" if parent else ""
            self._say_of_node(node.local_id, event, f"new{below} {by} {self._words(node)}")

    def _difference(self, node: Node) -> str:
        """`, line 1: - "Marie" + "Mary"`: what a version changed."""
        old = self._older.get(node.edited_from_id or 0)
        is_seen = old is not None and not {old.pk, node.pk} & self._gone
        if old is None or not is_seen or max(len(old.text), len(node.text)) > MOST_COMPARED:
            return f" {self._words(node)}"
        return f", {difference_named(old.text, node.text)}"

    def _decided(self, event: Event) -> None:
        version = event.payload.get("version")
        as_ = f" as [{version}]" if version else ""
        words = f"suggestion {event.payload['decision']}{as_} {self._by(event)}"
        self._say_of_node(str(event.payload["node"]), event, words)

    def _of_tree(self, event: Event) -> None:
        """A new title of the tree, or a tag that was renamed or removed everywhere."""
        payload = event.payload
        if event.kind == "tree.changed":
            if "title" not in payload:
                return
            words = f'title now "{plain(str(payload["title"]))}"'
        else:
            name = plain(str(payload["tags"][0]))
            now = f" now {tag_named(plain(str(payload.get('name'))))}"
            words = f"{tag_named(name)}{now if event.kind == 'tag.renamed' else ' removed'}"
        self._say(f"tree:{self.tree.uid}", "this tree", event.at, f"{words} {self._by(event)}")

    # what has two states

    def _flagged(self, events: Sequence[Event]) -> None:
        flags = _net(
            events,
            lambda event: (event.payload["node"], event.payload["flag"]),
            lambda event: event["value"],
        )
        for (name, flag), last in flags.items():
            node, value = self._nodes.get(name), bool(last.payload["value"])
            words = FLAGS.get((flag, value))
            if node is not None and words is not None and getattr(node, flag) == value:
                self._say_of_node(name, last, f"{words} {self._by(last)}")

    def _settled(self, events: Sequence[Event]) -> None:
        latest = _net(events, lambda event: event.payload["node"], lambda event: event["resolved"])
        for name, last in latest.items():
            node, value = self._nodes.get(name), bool(last.payload["resolved"])
            if node is not None and node.form != "diff" and bool(node.resolved_at) == value:
                words = "resolved" if value else "reopened"
                self._say_of_node(name, last, f"{words} {self._by(last)}")

    def _marked(self, events: Sequence[Event]) -> None:
        present = _present(events, lambda event: event.payload["mark"]["id"])
        rows = Mark.objects.filter(uid__in=present, kind__in=("tag", "bookmark"))
        marks = list(rows) if present else []
        documents = self._documents_of(row.item_id for row in marks)
        for mark in marks:
            last = present[mark.uid]
            is_there = last.kind == "mark.added"
            if (mark.removed_at is None) != is_there:
                continue
            label = plain(mark.label)
            bookmark = f"bookmark {label_named(label)}" if label else "bookmark"
            named = tag_named(label) if mark.kind == "tag" else bookmark
            words = f"{named}{'' if is_there else ' removed'} {self._by(last)}"
            self._say_of_item(mark.item_id, last.payload["mark"]["item"], documents, last, words)

    def _linked(self, events: Sequence[Event]) -> None:
        present = _present(events, lambda event: event.payload["link"]["id"])
        links = list(Link.objects.filter(uid__in=present)) if present else []
        ends = {end for row in links for end in (row.source_id, row.target_id)}
        documents = self._documents_of(ends)
        homes = {item_ids.home_of(end) for end in ends} - {0, self.tree.pk}
        trees = {self.tree.pk}
        if homes:
            seen = trees_for(self.actor).filter(pk__in=homes)
            trees |= set(seen.values_list("pk", flat=True))
        for link in links:
            last, both = present[link.uid], (link.source_id, link.target_id)
            is_there = last.kind == "link.added"
            is_seen = all(item_ids.home_of(end) in trees or end in documents for end in both)
            if (link.removed_at is None) != is_there or not is_seen:
                continue
            body = last.payload["link"]
            far = self._named(both[1], body["target"], documents)
            note = f', note "{plain(link.note)}"' if link.note and is_there else ""
            removed = "" if is_there else " removed"
            words = f"{link_types.arrow(link.type)} {far}{removed} {self._by(last)}{note}"
            self._say_of_item(both[0], body["source"], documents, last, words)
            self.read.update(end for end in both if end > 0)

    def _documents_of(self, items: Iterable[int]) -> dict[int, GroveText]:
        """Those of the items that are documents which the actor may read, by the id of the item."""
        return grove_texts().seen(self.actor, self.tree, items)

    def _say_of_item(
        self, item: int, named: str, documents: dict[int, GroveText], event: Event, words: str
    ) -> None:
        """A change at a node, tree or document; nothing for a document that may not be read."""
        document = documents.get(item)
        if document is not None:
            self._say(f"doc:{document.uid}", _titled(document), event.at, words)
        elif item > 0:
            self._say(named, self._named(item, named, documents), event.at, words)

    def _named(self, item: int, ref: str, documents: dict[int, GroveText]) -> str:
        """An item as a line names it."""
        if item in documents:
            return _titled(documents[item])
        if item == item_ids.of_tree(self.tree.pk):
            return "this tree"
        return ref if item_ids.tree_id(item) is not None else f"[{ref}]"

    # documents

    def _take_documents(self) -> None:
        """What others wrote in documents."""
        for change in grove_texts().changes(self.actor, self.tree, self.since):
            self._say(f"doc:{change.of.uid}", _titled(change.of), change.at, change.said)


def _net(
    events: Iterable[Event], key: Callable[[Event], K], value: Callable[[dict[str, object]], object]
) -> dict[K, Event]:
    """The last event of each key, if the state after it differs from that before the first."""
    first: dict[K, bool] = {}
    last: dict[K, Event] = {}
    for event in events:
        first.setdefault(key(event), bool(value(event.payload)))
        last[key(event)] = event
    return {
        name: event for name, event in last.items() if bool(value(event.payload)) == first[name]
    }


def _present(events: Iterable[Event], key: Callable[[Event], str]) -> dict[str, Event]:
    """The last event of each mark or link that was only added, or only removed."""
    first: dict[str, str] = {}
    last: dict[str, Event] = {}
    for event in events:
        first.setdefault(key(event), event.kind)
        last[key(event)] = event
    return {name: event for name, event in last.items() if event.kind == first[name]}


def _titled(document: GroveText) -> str:
    return print_ref(Ref("document", name=document.title))
