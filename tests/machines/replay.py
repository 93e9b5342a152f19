"""A client in memory that only knows what it has read from a tree's events."""

from dataclasses import dataclass, field
from typing import Any

from loom.engine.models import Event
from loom.language import ids
from loom.links.models import Link
from loom.notes.models import Mark
from loom.trees.models import BranchSettings, Node, Tree
from loom.trees.queries.event_log import event_body, hydrated
from loom.turns.models import Generation

FIXED = ("kind", "form", "text", "parent", "slot", "edited_from", "hash", "finish", "created_at")


@dataclass
class Replayed:
    """The state a client holds: nodes, marks, links, generations, the title."""

    title: str = ""
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    marks: dict[str, dict[str, Any]] = field(default_factory=dict)
    links: dict[str, dict[str, Any]] = field(default_factory=dict)
    generations: dict[str, str] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, kind: str, payload: dict[str, Any]) -> None:
        """Applies one event; an unknown kind is an error."""
        getattr(self, "on_" + kind.replace(".", "_"))(payload)

    def on_tree_created(self, payload: dict[str, Any]) -> None:
        self.title = payload["title"]

    def on_tree_changed(self, payload: dict[str, Any]) -> None:
        self.title = payload.get("title", self.title)

    def on_node_added(self, payload: dict[str, Any]) -> None:
        body = payload["node"]
        fixed = {name: body[name] for name in FIXED}
        flags = dict.fromkeys(("pruned", "version_pruned", "excluded"), False)
        self.nodes[body["id"]] = {**fixed, **flags, "resolved": False}

    def on_node_flagged(self, payload: dict[str, Any]) -> None:
        self.nodes[payload["node"]][payload["flag"]] = payload["value"]

    def on_annotation_resolved(self, payload: dict[str, Any]) -> None:
        self.nodes[payload["node"]]["resolved"] = True

    def on_annotation_reopened(self, payload: dict[str, Any]) -> None:
        self.nodes[payload["node"]]["resolved"] = False

    def on_mark_added(self, payload: dict[str, Any]) -> None:
        self.marks[payload["mark"]["id"]] = payload["mark"]

    def on_mark_removed(self, payload: dict[str, Any]) -> None:
        del self.marks[payload["mark"]["id"]]

    def on_tag_renamed(self, payload: dict[str, Any]) -> None:
        for mark in self._tagged(payload):
            mark["label"] = payload["name"]

    def on_tag_removed(self, payload: dict[str, Any]) -> None:
        for mark in self._tagged(payload):
            del self.marks[mark["id"]]

    def _tagged(self, payload: dict[str, Any]) -> list[dict[str, Any]]:
        marks = [mark for mark in self.marks.values() if mark["kind"] == "tag"]
        return [mark for mark in marks if mark["label"] in payload["tags"]]

    def on_suggestion_decided(self, payload: dict[str, Any]) -> None:
        assert self.nodes[payload["node"]]["resolved"]

    def on_settings_pinned(self, payload: dict[str, Any]) -> None:
        self.settings[payload["node"]] = payload["settings"]

    def on_link_added(self, payload: dict[str, Any]) -> None:
        self.links[payload["link"]["id"]] = payload["link"]

    def on_link_removed(self, payload: dict[str, Any]) -> None:
        del self.links[payload["link"]["id"]]

    def on_generation_started(self, payload: dict[str, Any]) -> None:
        self.generations[payload["generation"]["id"]] = "queued"

    def on_generation_ended(self, payload: dict[str, Any]) -> None:
        self.generations[payload["generation"]["id"]] = payload["generation"]["status"]

    def on_call_sealed(self, payload: dict[str, Any]) -> None:
        assert payload["sha256"]


def replayed(tree: Tree) -> Replayed:
    """The state after all events of the tree, which must run from 1 without a gap."""
    state = Replayed()
    events = events_of(tree)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    for event in events:
        state.take(event["kind"], event["payload"])
    return state


def events_of(tree: Tree) -> list[dict[str, Any]]:
    """All events of the tree as a reader of the log gets them, the texts of nodes included."""
    rows = Event.objects.filter(stream__name=f"tree:{tree.uid}").order_by("seq")
    columns = rows.values_list("seq", "kind", "actor", "origin", "payload", "at")
    return hydrated(f"tree:{tree.uid}", [event_body(*row) for row in columns])


def stored(tree: Tree) -> Replayed:
    """The state of the tree, read fresh from the rows."""
    from loom.text.hashes import instant

    state = Replayed(title=Tree.objects.get(pk=tree.pk).title)
    rows = Node.objects.filter(tree=tree).select_related("slot", "parent_slot", "edited_from")
    for node in rows.order_by("id"):
        state.nodes[node.local_id] = {
            "kind": node.kind,
            "form": node.form,
            "text": node.text,
            "parent": node.parent_slot.local_id if node.parent_slot else None,
            "slot": node.slot.local_id,
            "edited_from": node.edited_from.local_id if node.edited_from else None,
            "hash": node.hash,
            "finish": node.finish,
            "created_at": instant(node.created_at),
            "pruned": node.pruned,
            "version_pruned": node.version_pruned,
            "excluded": node.excluded,
            "resolved": node.resolved_at is not None,
        }
    for settings in BranchSettings.objects.filter(tree=tree).select_related("slot"):
        state.settings[settings.slot.local_id] = settings.settings
    for mark in Mark.objects.filter(tree=tree, removed_at=None).select_related("participant"):
        state.marks[mark.uid] = {
            "id": mark.uid,
            "kind": mark.kind,
            "label": mark.label,
            "item": _shown(mark.item_id),
            "participant": mark.participant.uid,
        }
    for link in Link.objects.filter(tree=tree, removed_at=None).select_related("by"):
        state.links[link.uid] = {
            "id": link.uid,
            "type": link.type,
            "source": _shown(link.source_id),
            "target": _shown(link.target_id),
            "note": link.note,
            "confidence": link.confidence,
            "words": link.words,
            "source_version": link.source_version,
            "target_version": link.target_version,
            "by": link.by.uid,
        }
    for row in Generation.objects.filter(tree=tree):
        ended = row.status not in ("queued", "running")
        state.generations[row.uid] = row.status if ended else "queued"
    return state


def _shown(item: int) -> str:
    node_id = ids.node_id(item)
    if node_id is None:
        return f"tree:{Tree.objects.get(pk=ids.tree_id(item) or 0).uid}"
    return str(Node.objects.values_list("local_id", flat=True).get(pk=node_id))
