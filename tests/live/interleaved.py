"""Three editors and an agent at one document, as a script drawn from a seed: typing, deletions,
cuts, restarts and messages that come late. For the suite and for `bench/interleavings.py`."""

import contextlib
import random
from collections import deque
from dataclasses import dataclass, field

from pycrdt import Doc, Text, TransactionEvent

from loom.documents.rules import appended
from loom.documents.shared_text import EMPTY, HostileError, SharedText
from loom.documents.yjs_updates import read_update
from loom.text.edits import difference

LETTERS = "ab →é👍\n# "


@dataclass
class Editor:
    """A client of Yjs: its own copy, what is on the way to it, and what it has to send."""

    name: str
    text: str = ""
    doc: "Doc[Text]" = field(default_factory=Doc)
    outbox: deque[bytes] = field(default_factory=deque)
    inbox: deque[bytes] = field(default_factory=deque)
    online: bool = True

    def __post_init__(self) -> None:
        self.shared: Text = self.doc.get("text", type=Text)
        self._applying = False
        self.doc.observe(self._note)

    def _note(self, event: TransactionEvent) -> None:
        if not self._applying:
            self.outbox.append(event.update)

    def type(self, chance: random.Random) -> None:
        """Inserts or deletes a few letters anywhere."""
        now = str(self.shared)
        if now and chance.random() < 0.35:
            start = chance.randrange(len(now))
            end = min(len(now), start + chance.randrange(1, 6))
            del self.shared[len(now[:start].encode()) : len(now[:end].encode())]
            return
        at = len(now[: chance.randrange(len(now) + 1)].encode())
        self.shared.insert(at, "".join(chance.choices(LETTERS, k=chance.randrange(1, 5))))

    def take(self, update: bytes) -> None:
        """Applies what the server has sent."""
        self._applying = True
        self.doc.apply_update(update)
        self._applying = False


class Server:
    """The room, its log, and revisions: as `loom.documents.room` and `loom.documents.log`."""

    def __init__(self, text: str) -> None:
        self.room, first = SharedText.born(text)
        self.log = [first] if first != EMPTY else []
        self.revisions: list[tuple[int, str]] = []

    def receive(self, editor: Editor, update: bytes) -> bytes:
        """What an update of a client changed; EMPTY, and a question for all of it, where it came
        too early."""
        if self.room.lacks(read_update(update)):
            editor.outbox.append(editor.doc.get_update(self.room.vector))
            return EMPTY
        changed = self.room.try_update(update)
        if changed != EMPTY:
            self.log.append(changed)
        return changed

    def agent(self, chance: random.Random) -> bytes:
        """An agent's write: a transaction against the text as the log has it."""
        text = SharedText(self.log)
        now = text.text
        if now and chance.random() < 0.5:
            at = chance.randrange(len(now))
            edits = difference(now, f"{now[:at]}<{chance.randrange(100)}>{now[at + 1 :]}")
        else:
            edits = appended(now, f"Agent {chance.randrange(100)}.")
        update = text.edit(edits)
        self.log.append(update)
        return self.room.apply(update)

    def restart(self) -> None:
        """The process ends and comes back with what the log has."""
        self.room = SharedText(self.log)

    def settle(self) -> None:
        """Makes a revision of what the log has."""
        text = SharedText(self.log).text
        if not self.revisions or self.revisions[-1][1] != text:
            self.revisions.append((len(self.log), text))


class Script:
    """One run with randomly drawn steps."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.server = Server("Begin → here.\n")
        self.editors = [Editor(name) for name in ("ada", "ben", "eve")]
        for editor in self.editors:
            editor.take(self.server.room.state())

    def step(self) -> None:
        """One of the things that can happen."""
        moves = [self._type, self._deliver, self._take, self._agent, self._cut, self.meet]
        moves += [self._restart, self._hostile, self._settle]
        weights = [45, 20, 13, 6, 5, 4, 2, 2, 3]
        move = self.chance.choices(moves, weights)[0]
        move(self.chance.choice(self.editors))

    def _spread(self, changed: bytes, origin: Editor | None) -> None:
        for editor in self.editors:
            if editor is not origin and editor.online and changed != EMPTY:
                editor.inbox.append(changed)

    def _type(self, editor: Editor) -> None:
        editor.type(self.chance)

    def _deliver(self, editor: Editor) -> None:
        if editor.outbox and editor.online:
            if self.chance.random() < 0.15:  # a message came late
                editor.outbox.rotate(-1)
            self._spread(self.server.receive(editor, editor.outbox.popleft()), editor)

    def _take(self, editor: Editor) -> None:
        if editor.inbox:
            editor.take(editor.inbox.popleft())

    def _agent(self, _: Editor) -> None:
        self._spread(self.server.agent(self.chance), None)

    def _cut(self, editor: Editor) -> None:
        editor.online = False  # what was on the way is lost
        editor.inbox.clear()
        editor.outbox.clear()

    def meet(self, editor: Editor) -> None:
        """Both send what the other lacks, as on every connection."""
        editor.online = True
        editor.inbox.clear()
        editor.outbox.clear()
        room = self.server.room
        self._spread(self.server.receive(editor, editor.doc.get_update(room.vector)), editor)
        editor.take(self.server.room.state(editor.doc.get_state()))

    def _restart(self, _: Editor) -> None:
        self.server.restart()
        for editor in self.editors:
            self.meet(editor)

    def _hostile(self, _: Editor) -> None:
        room = self.server.room
        before = room.text
        with contextlib.suppress(HostileError):
            room.try_update(self.chance.randbytes(12))
        assert room.text == before

    def _settle(self, _: Editor) -> None:
        self.server.settle()


def run(seed: int, *, steps: int = 60) -> None:
    """Runs one script. Raises AssertionError if the copies differ, a letter is lost, or a revision
    cannot be restored."""
    script = Script(seed)
    for _ in range(steps):
        script.step()
    for _ in range(2):
        for editor in script.editors:
            script.meet(editor)
    server = script.server
    server.settle()
    texts = {str(editor.shared) for editor in script.editors}
    assert texts == {server.room.text} == {SharedText(server.log).text}, seed
    _demand_restorable(server, seed)


def _demand_restorable(server: Server, seed: int) -> None:
    """Each revision is what its part of the log says, and can be the newest again."""
    for many, text in server.revisions:
        assert SharedText(server.log[:many]).text == text, seed
        again = SharedText(server.log)
        again.edit(difference(again.text, text))
        assert again.text == text, seed
