"""A file that is kept in step with a tree, in both directions: Markdown of one path, or a file of
loomsidian with every branch.

Nodes never change, so the id in the file says which text somebody began with. What they made of it
becomes a new version, also where somebody else has edited that text meanwhile, so nothing is
overwritten. What the tree refuses stays in the file, which is not written until it is resolved.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loom.access import Actor
from loom.commands import node_writer
from loom.commands.execute import Request, execute_line
from loom.models import Node, Tree, Workspace
from loom.queries import lookup
from loom.queries.trees import head_of
from loom.rules.errors import CommandError
from loom.transfer import loom_writers
from loom.transfer.selection import Wanted, select

MOST = 64 * 1024 * 1024  # bytes of a file that is read
KINDS = {"markdown": "md", "loomsidian": "json"}
_MARK = re.compile(r"<!--([a-z][2-9][a-z][2-9][a-z2-9]{0,4})-->")
_GAP = "\n\n"
Say = Callable[[str], None]


class LiveFile:
    """One file and its tree. `say` is told what happened, a line at a time."""

    def __init__(self, folder: Path, actor: Actor, tree: Tree, kind: str, say: Say) -> None:
        self.actor, self.tree, self.kind, self._say = actor, tree, kind, say
        self.workspace = node_writer.workspace_of(actor.participant, tree)
        self.path = folder / f"{_name_of(tree)}.{KINDS[kind]}"
        self._state = folder / f".heddle-{tree.uid}-{kind}"
        self._seen: tuple[object, ...] = ()
        self._refused = False

    def step(self) -> bool:
        """Brings what was changed in the file into the tree, and what was changed in the tree into
        the file. Returns whether anything was done. Costs two queries if nothing has changed."""
        seen = self._look()
        if seen == self._seen:
            return False
        self._seen = seen  # as it was before: what happens from here on is seen by the next step
        raw = self._read()
        written = self._state.read_text().strip() if self._state.exists() else ""
        is_done = False
        if raw is not None and written and _hash(raw) != written:
            is_done = self._take(raw)
            if self._refused:
                return is_done
            self._look()  # the position may have moved
        return self._write(raw, may_replace=bool(written)) or is_done

    def _look(self) -> tuple[object, ...]:
        """What changes when the file or the tree does."""
        self.workspace = Workspace.objects.select_related("position").get(pk=self.workspace.pk)
        try:
            found = self.path.stat()
            file: object = (found.st_mtime_ns, found.st_size)
        except FileNotFoundError:
            file = None
        view = (self.workspace.position_id, self.workspace.revision)
        return file, head_of(self.tree), view

    def _read(self) -> bytes | None:
        if not self.path.exists():
            return None
        if self.path.stat().st_size > MOST:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"{self.path.name} has more than {MOST:,} bytes.",
                hint="import it instead",
                status=413,
            )
        return self.path.read_bytes()

    def _write(self, before: bytes | None, *, may_replace: bool) -> bool:
        """Writes the file if the tree has something else; never over what was saved meanwhile."""
        content = self._content()
        if content == before:
            self._state.write_text(_hash(content))
            return False
        if before is not None and not may_replace:
            raise CommandError(
                "REJECTED",
                f"{self.path.name} was not written by this command.",
                hint="move it away, or import it",
            )
        waiting = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        waiting.write_bytes(content)
        if self._read() != before:
            waiting.unlink()
            return False  # somebody saved: the next step takes that first
        self._state.write_text(_hash(content))
        waiting.replace(self.path)
        self._say(f"wrote {self.path.name}")
        return True

    def _content(self) -> bytes:
        wanted = Wanted(self.actor, self.tree, self.workspace, images=True)
        if self.kind == "loomsidian":
            return b"".join(loom_writers.loomsidian(wanted))
        end = lookup.visible_at_or_above(self._position(), self.workspace)
        gap = _GAP if self.tree.mode == "dialogue" else ""
        path = select(Wanted(self.actor, self.tree, self.workspace, end, images=True))
        parts = [f"<!--{row.local_id}-->{row.text}" for _, row in path.read() if row.text]
        return gap.join(parts).encode()

    def _position(self) -> Node:
        position = self.workspace.position
        return position if position.tree_id == self.tree.pk else lookup.root_of(self.tree)

    # What somebody changed in the file.

    def _take(self, raw: bytes) -> bool:
        """Makes versions and new texts of what was changed; returns whether there were any."""
        self._refused = False
        try:
            text = raw.decode()
            if self.kind == "markdown":
                return self._take_markdown(text.replace("\r\n", "\n"))
            return self._take_notes(json.loads(text)["nodes"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._refuse(f"{self.path.name} can't be read now, so nothing was taken from it")
            return False  # it may be half saved

    def _refuse(self, sentence: str) -> None:
        self._refused = True
        self._say(sentence)

    def _take_markdown(self, text: str) -> bool:
        marks = [one for one in _MARK.finditer(text) if self._node(one[1]) is not None]
        before = text[: marks[0].start()] if marks else text
        if before.strip() and marks:
            self._refuse("The text before the first mark has no place. Move it behind the mark.")
            return False
        if before.strip():
            return self._added(self._position(), before)
        ends = [*(one.start() for one in marks[1:]), len(text)]
        is_done = False
        for mark, end in zip(marks, ends, strict=True):
            node = self._node(mark[1])
            is_last = end == len(text)
            if node is not None:
                found = self._trimmed(node, text[mark.end() : end], is_last)
                is_done = self._changed(node, found, is_last) or is_done
        return is_done

    def _trimmed(self, node: Node, found: str, is_last: bool) -> str:
        """The text without the gap behind it, and without the line end that editors add."""
        if self.tree.mode == "dialogue" and not is_last:
            return found.removesuffix(_GAP)
        own = node.text.replace("\r\n", "\n")
        return found[:-1] if is_last and found.endswith("\n") and found[:-1] == own else found

    def _take_notes(self, notes: dict[str, Any]) -> bool:
        rows = Node.objects.filter(tree=self.tree, kind="text").order_by("id")
        known = {
            loom_writers.note_id(self.tree.uid, local_id): local_id
            for local_id in rows.values_list("local_id", flat=True).iterator(chunk_size=5000)
        }
        root = lookup.root_of(self.tree)
        made: dict[str, Node | None] = {}
        is_done = False
        for name, note in notes.items():
            text, above = str(note["text"]), note.get("parentId") or ""
            if name in known:
                node = self._node(known[name])
                if node is not None:
                    found = self._without_gap(node, text)
                    is_done = self._changed(node, found, False) or is_done
                continue
            parent = made.get(above) or self._node(known.get(above, "")) if above else root
            if parent is None:
                self._refuse(f"The note {name[:40]} is below one that is not in the tree.")
            elif text:
                is_done = self._added(parent, text) or is_done
                made[name] = self._child(parent, text)
        return is_done

    def _without_gap(self, node: Node, text: str) -> str:
        is_joined = self.tree.mode == "dialogue" and node.depth > 1
        return text.removeprefix(_GAP) if is_joined else text

    def _changed(self, node: Node, text: str, is_last: bool) -> bool:
        """A version of what was changed; what was added at the very end is a text of its own."""
        own = node.text.replace("\r\n", "\n")
        if text in (node.text, own):
            return False
        if not text.strip():
            self._say(f"[{node.local_id}] is empty in the file and stays in the tree")
            return False
        if is_last and text.startswith(own):
            added = text[len(own) :]
            added = added.removeprefix(_GAP) if self.tree.mode == "dialogue" else added
            return bool(added.strip()) and self._added(node, added)
        newest = Node.objects.filter(slot=node.slot_id, version_pruned=False).order_by("id").last()
        if newest is None or newest.text == text:
            return False
        return self._ran(f"edit {newest.local_id} as:version", text)

    def _added(self, parent: Node, text: str) -> bool:
        """A new text below another, unless an earlier step has made it already."""
        if self._child(parent, text) is not None:
            return False
        return self._ran(f"respond {parent.local_id}", text)

    def _child(self, parent: Node, text: str) -> Node | None:
        rows = Node.objects.filter(parent_slot=parent.slot_id, kind="text", text=text)
        return rows.select_related("tree").order_by("id").last()

    def _ran(self, line: str, text: str) -> bool:
        """Runs a line with its content. A refusal is said, and the file keeps the text."""
        try:
            answer = execute_line(self.actor, self.tree, Request(f"{line}\n{text}"), self.workspace)
        except CommandError as refused:
            self._refuse(f"{line}: {refused.message} {refused.hint}")
            return False
        self._say(answer.reply.splitlines()[0])
        return True

    def _node(self, local_id: str) -> Node | None:
        return lookup.find_node(self.tree, local_id) if local_id else None


def _hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _name_of(tree: Tree) -> str:
    """The title as a file's name, with the id: two trees may have one title."""
    kept = "".join(one if one.isalnum() or one in " -_" else "-" for one in tree.title)
    return f"{kept.strip()[:60].strip() or 'tree'} {tree.uid[:6]}"
