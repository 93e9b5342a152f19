"""A file that is kept in sync with a tree, in both directions: Markdown of one path, or a
loomsidian file with every branch.

Nodes never change, so the id in the file identifies the text that somebody started from. Their
changes become a new version, even if somebody else has edited that text in the meantime, so
nothing is overwritten. What the tree refuses stays in the file, which is not written until that is
resolved.
"""

import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from loom.access import Actor
from loom.engine.by_name import run_command
from loom.errors import CommandError
from loom.transfer.selection import IDS_AT_ONCE, ExportSelection, batched, select
from loom.transfer.writers import looms
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.trees import head_of

MOST = 64 * 1024 * 1024  # bytes of a file that is read
KINDS = {"markdown": "md", "loomsidian": "json"}
_MARK = re.compile(r"<!--([a-z][2-9][a-z][2-9][a-z2-9]{0,4})-->")
_GAP = "\n\n"
Say = Callable[[str], None]


class LiveFile:
    """One file and its tree. `say` is called with each change as a line. A file that was changed
    in the last `settle` seconds may be half saved, and is left alone."""

    def __init__(
        self, folder: Path, actor: Actor, tree: Tree, kind: str, say: Say, *, settle: float = 0.0
    ) -> None:
        self.actor, self.tree, self.kind, self._say = actor, tree, kind, say
        self.workspace = node_writer.workspace_of(actor.participant, tree)
        self._state = folder / f".heddle-{tree.uid}-{kind}"
        self.path = self._path_in(folder)
        self._settle = settle
        self._seen: tuple[object, ...] = ()
        self._refused = False

    def _path_in(self, folder: Path) -> Path:
        """The file that an earlier run wrote, even if the title has changed, or the one to
        write."""
        if self._state.exists():
            for path in sorted(folder.glob(f"* {self.tree.uid[:6]}.{KINDS[self.kind]}")):
                return path
        return folder / f"{_name_of(self.tree)}.{KINDS[self.kind]}"

    def is_settling(self) -> bool:
        """Whether the file was changed just now, and may be half saved."""
        try:
            age = time.time() - self.path.stat().st_mtime
        except FileNotFoundError:
            return False
        return 0 <= age < self._settle

    def step(self) -> bool:
        """Brings what was changed in the file into the tree, and what was changed in the tree into
        the file. Returns whether anything was done. Costs two queries if nothing has changed."""
        seen = self._look()
        if seen == self._seen or self.is_settling():
            return False
        self._seen = seen  # the state before this step: later changes are noticed by the next one
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
        """A value that changes when the file or the tree does."""
        self.workspace = Workspace.objects.select_related("position").get(pk=self.workspace.pk)
        try:
            stat = self.path.stat()
            file: object = (stat.st_mtime_ns, stat.st_size)
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
                is_size=True,
            )
        return self.path.read_bytes()

    def _write(self, before: bytes | None, *, may_replace: bool) -> bool:
        """Writes the file if the tree has changed; never over what was saved in the meantime."""
        content = self._content()
        if content == before:
            self._note(content)
            return False
        if before is not None and not may_replace:
            raise CommandError(
                "REJECTED",
                f"{self.path.name} was not written by this command.",
                hint="move it away, or import it",
            )
        self._note(content)
        if not self._put(content, before):
            return False  # somebody saved: the next step takes that first
        self._say(f"wrote {self.path.name}")
        return True

    def _put(self, content: bytes, before: bytes | None) -> bool:
        """Replaces the file, unless somebody saves it at this moment: then their version stays, or
        is put back. Returns whether the file was replaced."""
        mark = secrets.token_hex(4)
        waiting, aside = (self.path.with_name(f".{self.path.name}.{mark}{side}") for side in "ab")
        waiting.write_bytes(content)
        try:
            if before is None:
                os.link(waiting, self.path)  # fails if there is a file now
                return True
            os.link(self.path, aside)
            waiting.replace(self.path)
            if aside.read_bytes() == before:
                return True
            aside.replace(self.path)
        except (FileExistsError, FileNotFoundError):
            pass
        except OSError:  # no links in this file system
            if self._read() == before:
                waiting.replace(self.path)
                return True
        finally:
            waiting.unlink(missing_ok=True)
            aside.unlink(missing_ok=True)
        return False

    def _note(self, content: bytes) -> None:
        """Stores the hash of what was written last, atomically."""
        waiting = self._state.with_name(f"{self._state.name}.new")
        waiting.write_text(_hash(content))
        waiting.replace(self._state)

    def _content(self) -> bytes:
        wanted = ExportSelection(self.actor, self.tree, self.workspace, images=True)
        if self.kind == "loomsidian":
            return b"".join(looms.loomsidian(wanted))
        end = lookup.visible_at_or_above(self._position(), self.workspace)
        gap = _GAP if self.tree.mode == "dialogue" else ""
        path = select(ExportSelection(self.actor, self.tree, self.workspace, end, images=True))
        parts = [f"<!--{row.local_id}-->{row.text}" for _, row in path.read() if row.text]
        return gap.join(parts).encode()

    def _position(self) -> Node:
        position = self.workspace.position
        return position if position.tree_id == self.tree.pk else lookup.root_of(self.tree)

    # Changes in the file.

    def _take(self, raw: bytes) -> bool:
        """Makes versions and new texts from the changes; returns whether there were any."""
        self._refused = False
        try:
            text = raw.decode("utf-8-sig")
            if self.kind == "markdown":
                return self._take_markdown(text.replace("\r\n", "\n"))
            notes = json.loads(text)["nodes"]
            # All are read before the first is applied: a half saved file changes nothing.
            read = {
                key: (str(note["text"]), note.get("parentId") or "") for key, note in notes.items()
            }
            return self._take_notes(read)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._refuse(f"{self.path.name} can't be read now, so nothing was taken from it")
            return False  # it may be half saved

    def _refuse(self, sentence: str) -> None:
        self._refused = True
        self._say(sentence)

    def _take_markdown(self, text: str) -> bool:
        nodes = self._nodes(match[1] for match in _MARK.finditer(text))
        marks = [match for match in _MARK.finditer(text) if match[1] in nodes]
        before = text[: marks[0].start()] if marks else text
        if before.strip() and marks:
            self._refuse("The text before the first mark has no place. Move it behind the mark.")
            return False
        if before.strip():
            return self._added(self._position(), before)
        ends = [*(match.start() for match in marks[1:]), len(text)]
        is_done = False
        for mark, end in zip(marks, ends, strict=True):
            node, is_last = nodes[mark[1]], end == len(text)
            trimmed = self._trimmed(node, text[mark.end() : end], is_last)
            is_done = self._changed(node, trimmed, is_last) or is_done
        return is_done

    def _trimmed(self, node: Node, text: str, is_last: bool) -> str:
        """The text without the gap behind it, and without the line end that editors add."""
        if self.tree.mode == "dialogue" and not is_last:
            return text.removesuffix(_GAP)
        own = node.text.replace("\r\n", "\n")
        return text[:-1] if is_last and text.endswith("\n") and text[:-1] == own else text

    def _take_notes(self, notes: dict[str, tuple[str, str]]) -> bool:
        """Takes the notes: by id the text and the id of the note above ("": none)."""
        rows = lookup.nodes_in(self.tree.pk).filter(kind="text").order_by("id")
        known = {
            looms.note_id(self.tree.uid, local_id): local_id
            for local_id in rows.values_list("local_id", flat=True).iterator(chunk_size=5000)
        }
        root = lookup.root_of(self.tree)
        by_name: dict[str, Node | None] = {}
        is_done = False
        for names in batched(notes, IDS_AT_ONCE):
            nodes = self._nodes(known[name] for name in names if name in known)
            for name in names:
                text, above = notes[name]
                node = nodes.get(known.get(name, ""))
                if node is not None:
                    trimmed = self._without_gap(node, text)
                    is_done = self._changed(node, trimmed, False) or is_done
                    continue
                parent = by_name.get(above) or self._node(known.get(above, "")) if above else root
                if parent is None:
                    self._refuse(f"The note {name[:40]} is below one that is not in the tree.")
                elif text:
                    is_done = self._added(parent, text) or is_done
                    by_name[name] = self._child(parent, text)
        return is_done

    def _without_gap(self, node: Node, text: str) -> str:
        is_joined = self.tree.mode == "dialogue" and node.depth > 1
        return text.removeprefix(_GAP) if is_joined else text

    def _changed(self, node: Node, text: str, is_last: bool) -> bool:
        """Makes a version of a changed text; text added at the very end becomes a new node."""
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
        return self._ran("edit", newest, text, way="version")

    def _added(self, parent: Node, text: str) -> bool:
        """Makes a new text below another, unless an earlier step has already made it."""
        if self._child(parent, text) is not None:
            return False
        return self._ran("respond", parent, text)

    def _child(self, parent: Node, text: str) -> Node | None:
        rows = Node.objects.filter(parent_slot=parent.slot_id, kind="text", text=text)
        return rows.select_related("tree").order_by("id").last()

    def _ran(self, command: str, node: Node, text: str, **more: str) -> bool:
        """Runs a command about a node with its content. A refusal is reported, and the file keeps
        the text."""
        args = {"ref": node.local_id, "content": text, **more}
        try:
            answer = run_command(self.actor, self.tree, command, args, workspace=self.workspace)
        except CommandError as refused:
            self._refuse(f"{command} {node.local_id}: {refused.message} {refused.hint}")
            return False
        self._say(answer.reply.splitlines()[0])
        return True

    def _nodes(self, names: Iterable[str]) -> dict[str, Node]:
        """The nodes of the tree with these local ids, by local id; some at a time."""
        nodes: dict[str, Node] = {}
        rows = Node.objects.filter(tree=self.tree)
        for some in batched(set(names), IDS_AT_ONCE):
            nodes.update((node.local_id, node) for node in rows.filter(local_id__in=some))
        return nodes

    def _node(self, local_id: str) -> Node | None:
        return lookup.find_node(self.tree, local_id) if local_id else None


def _hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _name_of(tree: Tree) -> str:
    """The title as a file's name, with the id: two trees may have one title."""
    kept = "".join(letter if letter.isalnum() or letter in " -_" else "-" for letter in tree.title)
    return f"{kept.strip()[:60].strip() or 'tree'} {tree.uid[:6]}"
