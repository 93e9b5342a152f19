"""The authors and items in a file, as participants and items of this grove."""

import re
from array import array
from collections.abc import Iterable
from itertools import count

from django.db import transaction
from django.utils import timezone

from loom.access import Actor, grove_trees
from loom.engine import streams
from loom.language import ids
from loom.language.ids import ORDINAL_BITS
from loom.participants.commands import MAX_NAME, participant_body
from loom.people.models import Participant
from loom.people.names import IMPORTED, cleaned, is_misread
from loom.transfer.node_collector import UNNAMED
from loom.transfer.records import Report
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText, Node, Tree

HIDDEN = 128  # a flag of a written: below a pruned node


class WrittenNodes:
    """The nodes written so far. By ordinal: slot, depth, hash, local id (`labels`), and `flags` as
    in a NodeRow; by local id the ordinal; and by slot the ordinals of its versions, if there are
    several."""

    def __init__(self, tree_id: int) -> None:
        self._tree = tree_id << ORDINAL_BITS
        self._slots = array("q", [0])
        self._depths = array("i", [-1])
        self._hashes = bytearray(32)
        self.flags = bytearray(1)
        self.versions: dict[int, list[int]] = {}
        self.names: dict[str, int] = {}
        self.labels = [""]

    @property
    def count(self) -> int:
        """How many nodes have been written."""
        return len(self._slots) - 1

    def row(self, ordinal: int) -> int:
        """The row id of a node."""
        return self._tree + ordinal

    def slot(self, ordinal: int) -> int:
        """The ordinal of the slot's first version."""
        return self._slots[ordinal]

    def depth(self, ordinal: int) -> int:
        """The depth; -1 for no node, so that a node below nothing becomes the root."""
        return self._depths[ordinal]

    def hash(self, ordinal: int) -> str:
        """The hash; "" for no node."""
        return self._hashes[ordinal * 32 : ordinal * 32 + 32].hex() if ordinal else ""

    def add(self, local_id: str, *, slot: int, depth: int, hash: str, flags: int) -> None:
        """Records the next node."""
        self._slots.append(slot)
        self._depths.append(depth)
        self._hashes += bytes.fromhex(hash)
        self.flags.append(flags)
        self.names[local_id] = self.count
        self.labels.append(local_id)
        if slot != self.count:
            self.versions.setdefault(slot, [slot]).append(self.count)


# Addresses of items in a file, as ids of this grove.


_ELSEWHERE = re.compile(r"tree:([a-z0-9]{1,32})(?: node:([a-z0-9]{4,8}))?")


class Addressing:
    """Resolves addresses in a file. `a7x2` and `tree` are in the new tree; `tree:ID`, `tree:ID
    node:a7x2` and `doc:ID` are in the same grove, and what whoever imports the file may read: it
    must not reveal anything else. Nothing refers into a sandbox."""

    def __init__(self, tree: Tree, written: WrittenNodes, actor: Actor) -> None:
        self.tree, self.written, self.actor = tree, written, actor
        self._elsewhere: dict[str, int | None] = {}
        self._known: dict[str, str] = {}

    def of(self, name: str) -> int | None:
        """The item's id; None if the item does not exist."""
        if name == "tree":
            return ids.of_tree(self.tree.pk)
        if name in self.written.names:
            return ids.of_node(self.written.row(self.written.names[name]))
        if name not in self._elsewhere:
            self._elsewhere[name] = self._item_named(name)
        return self._elsewhere[name]

    def shown(self, name: str) -> str:
        """The address as events of the new tree write it."""
        return f"tree:{self.tree.uid}" if name == "tree" else self._known.get(name, name)

    def know(self, name: str, document: GroveText) -> None:
        """Records the name in the file of a document that has another one here."""
        self._elsewhere[name] = document.item_id
        self._known[name] = f"doc:{document.uid}"

    def _item_named(self, name: str) -> int | None:
        if name.startswith("doc:"):
            text = grove_texts().find(self.actor, name[4:44])
            return None if text is None else text.item_id
        match = _ELSEWHERE.fullmatch(name)
        if match is None:
            return None
        trees = grove_trees(self.actor).filter(sandbox_of__isnull=True)
        tree = trees.filter(uid=match[1]).first()
        if tree is None or match[2] is None:
            return ids.of_tree(tree.pk) if tree else None
        node = Node.objects.filter(tree=tree, local_id=match[2]).values_list("id", flat=True)
        return ids.of_node(node[0]) if node else None


# The authors in a file: the importer under their own name, and no other member of the grove.


NOBODY = "Unknown person"
ROOM = 20  # characters for the suffix of a name


class Authors:
    """Participants by name and kind. New ones are archived immediately, so that they cannot be
    asked to write."""

    def __init__(self, actor: Actor, report: Report) -> None:
        self.grove, self.person, self.report = actor.grove, actor.participant, report
        self._known: dict[tuple[str, str], Participant] = {("", "human"): self.person}

    def of(self, name: str, kind: str) -> Participant:
        """The author; `meet` must have seen the name."""
        return self._known[name, kind]

    def meet(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Finds or creates the authors with these names and kinds, in its own transaction."""
        fresh = sorted(set(wanted) - self._known.keys())
        if not fresh:
            return
        with transaction.atomic():
            writer = streams.lock(self.grove, actor=self.person.uid)
            for name, kind in fresh:
                author = self._participant_for(_sound(name, kind), kind)
                if is_misread(name):
                    self.report.warn(
                        f'The author "{name[:60]}" is called "{author.name}" here, because models '
                        "would misread the name."
                    )
                if author._state.adding:
                    author.save()
                    body = participant_body(author)
                    writer.append("participant.added", {"participant": body})
                self._known[name, kind] = author
            writer.flush()

    def _participant_for(self, name: str, kind: str) -> Participant:
        """The importer for their own name; for any other name "Name (imported)", a participant who
        writes nothing here: a file can claim anything about its authors."""
        if kind == "human" and name.casefold() == self.person.name.casefold():
            return self.person
        rows = self.grove.participants.select_related("grove", "user")
        for number in count(1):
            mark = f"{IMPORTED} {number}" if number > 1 else IMPORTED
            wanted = f"{name[: MAX_NAME - ROOM].strip()} ({mark})"
            taken = rows.filter(name__iexact=wanted).first()
            if taken is None:
                break
            if taken.kind == kind and taken.user is None and taken.archived_at is not None:
                return taken
        return Participant(
            grove=self.grove,
            kind=kind,
            name=wanted,
            model_ref=name if kind == "model" else "",
            archived_at=timezone.now(),
        )


def _sound(name: str, kind: str) -> str:
    """The name, if it is allowed; else the name for authors without one."""
    return cleaned(name, most=MAX_NAME) or (UNNAMED if kind == "model" else NOBODY)
