"""A text that several people type in: the server's copy, stored in pycrdt, and their carets.
Positions are only converted here: pycrdt counts bytes of UTF-8, everything else in Heddle code
points. Pure.
"""

import json
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from pycrdt import (
    Decoder,
    Doc,
    Text,
    TextEvent,
    TransactionEvent,
    create_update_message,
    merge_updates,
    write_var_uint,
)

from loom.documents.rules import MAX_BYTES
from loom.documents.yjs_updates import (
    ROOT,
    Clocks,
    HostileError,
    TooLargeError,
    Update,
    clocks_of,
    read_update,
)
from loom.text.edits import Edit

NAME = ROOT
EMPTY = b"\x00\x00"  # an update that changes nothing
MOST_UPDATE = MAX_BYTES + 1024 * 1024  # bytes of one update
MOST_STATE = 3 * MAX_BYTES  # bytes of a document with the traces of what was deleted

__all__ = [
    "EMPTY",
    "MOST_STATE",
    "MOST_UPDATE",
    "NAME",
    "HostileError",
    "SharedText",
    "TooLargeError",
    "create_update_message",
]


def byte_offset(text: str, at: int) -> int:
    """The place of a code point, counted in bytes of UTF-8."""
    return len(text[:at].encode())


def _at_any_cost() -> None:
    """Allows every step."""


class SharedText:
    """One text with its history. Not thread-safe.

    There are two copies. `text` and `state` are of the first: all that is stored. The second is
    ahead of it by what was admitted and is not stored yet. Updates from outside are applied there
    first, because pycrdt may panic on a malicious one; after a panic that copy is made again.
    """

    def __init__(self, updates: Iterable[bytes] = ()) -> None:
        self._copy = _Copy(updates)
        self._ahead: _Copy | None = None
        self._unstored: list[bytes] = []

    @classmethod
    def born(cls, text: str) -> "tuple[SharedText, bytes]":
        """A new text, and its first update."""
        shared = cls()
        return shared, shared.edit([Edit(0, 0, text)]) if text else EMPTY

    @property
    def text(self) -> str:
        """The text as it is now."""
        return str(self._copy.text)

    @property
    def client(self) -> int:
        """The client id of Yjs that signs what `edit` writes."""
        return int(self._copy.doc.client_id)

    @property
    def vector(self) -> bytes:
        """All that was admitted, as a state vector of Yjs."""
        return self._front().doc.get_state()

    @property
    def known(self) -> Clocks:
        """The clock that each client has reached in what was admitted."""
        return clocks_of(self.vector)

    def _front(self, *, is_needed: bool = False) -> "_Copy":
        """The copy that is ahead; the first one where they are equal, unless it `is_needed`."""
        if self._ahead is None and (is_needed or self._unstored):
            self._ahead = _Copy([self._copy.doc.get_update(), *self._unstored])
        return self._ahead or self._copy

    def state(self, vector: bytes | None = None) -> bytes:
        """Everything stored that a copy with that state vector lacks, as one update; without a
        vector: everything. Raises HostileError for an invalid state vector."""
        doc = self._copy.doc
        try:
            return doc.get_update() if vector is None else doc.get_update(vector)
        except BaseException as error:
            _raise_unless_pycrdt(error)
            raise HostileError("the state vector cannot be read") from None

    def edit(self, edits: Sequence[Edit]) -> bytes:
        """Edits the current text in one transaction; returns the update."""
        before, text = self.text, self._copy.text
        at, offset = len(before), len(before.encode())  # of the last edit, so none is counted twice
        with self._copy.doc.transaction():
            for change in sorted(edits, key=lambda edit: edit.start, reverse=True):
                end = offset - len(before[change.end : at].encode())
                start = end - len(before[change.start : change.end].encode())
                at, offset = change.start, start
                if end > start:
                    del text[start:end]
                if change.text:
                    text.insert(start, change.text)
        return self._followed(self._copy.taken())

    def apply(self, update: bytes) -> bytes:
        """Applies an update of the log; returns what it changed, as an update."""
        try:
            self._copy.doc.apply_update(update)
        except BaseException as error:
            _raise_unless_pycrdt(error)
            raise HostileError("the update cannot be read") from None
        return self._followed(self._copy.taken())

    def _followed(self, changed: bytes) -> bytes:
        """Applies the change to the copy that is ahead as well; returns it."""
        if self._ahead is not None and changed != EMPTY:
            self._ahead.doc.apply_update(changed)
            self._ahead.taken()
        return changed

    def admit(self, update: Update, *, step: Callable[[], None] = _at_any_cost) -> bytes:
        """Adds a valid update from outside to the copy that is ahead; returns what it changed
        (EMPTY: nothing new), which `stored` is called with later. Raises HostileError, and changes
        nothing; whether it `lacks` something is asked first. `step` is called after each of its
        pieces and may raise HostileError."""
        known = self.known
        update.demand_plain(known)
        ahead = self._front(is_needed=True)
        try:
            for piece in update.pieces(known):
                ahead.doc.apply_update(piece)
                step()
            ahead.check()
            if clocks_of(ahead.doc.get_state()) != update.reached(known):
                raise HostileError("the update leaves something that has no place yet")
            changed = ahead.taken()
            # An update that begins within a letter of two UTF-16 units leaves a struct of no
            # length: this copy takes it, and every other panics when it reads it from the log.
            read_update(changed)
        except BaseException as error:
            self._ahead = None
            _raise_unless_pycrdt(error)
            if isinstance(error, HostileError):
                raise
            raise HostileError("the update cannot be read") from None
        if changed != EMPTY:
            self._unstored.append(changed)
        return changed

    def stored(self, changed: bytes) -> None:
        """Adds what was admitted to the first copy, once it is stored."""
        self._unstored.remove(changed)
        self._copy.doc.apply_update(changed)
        self._copy.taken()

    def try_update(self, data: bytes) -> bytes:
        """Admits an update and counts it as stored; returns what it changed. Raises HostileError,
        and changes nothing."""
        if len(data) > MOST_UPDATE:
            raise TooLargeError("the update is too large")
        changed = self.admit(read_update(data))
        if changed != EMPTY:
            self.stored(changed)
        return changed

    def lacks(self, update: Update) -> bool:
        """Whether an update builds on something that was not admitted. Applied too early, it would
        lose letters; the client is asked for everything instead."""
        return update.lacks(self.known)


class _Copy:
    """A pycrdt document that records its changes."""

    def __init__(self, updates: Iterable[bytes]) -> None:
        self.doc: Doc[Text] = Doc()
        self.text: Text = self.doc.get(NAME, type=Text)
        self._size = 0  # the state has at most about so many bytes
        for update in updates:
            if update != EMPTY:
                self.doc.apply_update(update)
                self._size += len(update)
        self._made: list[bytes] = []
        self._inserted: list[object] = []
        observed = self.doc.observe(partial(_note_update, self._made))
        self.text.observe(partial(_note_inserted, self._inserted))
        # pycrdt keeps a document, and what its observers refer to, for as long as it is observed:
        # they do not refer to this copy, and when it goes the document is no longer observed.
        weakref.finalize(self, self.doc.unobserve, observed).atexit = False

    def taken(self) -> bytes:
        """The changes since the last call, as one update."""
        changed = joined(self._made)
        self._made.clear()
        self._inserted.clear()
        self._size += len(changed)
        return changed

    def check(self) -> None:
        """Refuses what was inserted since the last call if it is not plain text or too long."""
        if set(self.doc.keys()) - {NAME}:
            raise HostileError(f"only the text {NAME!r} is kept")
        if not all(isinstance(piece, str) for piece in self._inserted):
            raise HostileError("the text contains something that is no text")
        if len(self.text) > MAX_BYTES:
            raise TooLargeError("the text would be too long")
        if self._size + sum(map(len, self._made)) > MOST_STATE:
            self._size = len(self.doc.get_update())
            if self._size > MOST_STATE:
                raise TooLargeError("the document and what was deleted in it would be too long")


def _note_update(made: list[bytes], event: TransactionEvent) -> None:
    made.append(event.update)


def _note_inserted(inserted: list[object], event: TextEvent) -> None:
    delta: list[dict[str, object]] = getattr(event, "delta")  # noqa: B009 (it has no type)
    inserted += [step["insert"] for step in delta if "insert" in step]


def joined(updates: Sequence[bytes]) -> bytes:
    """Updates merged into one, in order; EMPTY if there are none."""
    several = [update for update in updates if update != EMPTY]
    if len(several) < 2:
        return several[0] if several else EMPTY
    merged: bytes = merge_updates(*several)
    return merged


def _raise_unless_pycrdt(error: BaseException) -> None:
    """Raises errors that must not be swallowed. A panic of pycrdt is not an Exception."""
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error


# Carets: the awareness protocol of Yjs, with names that come from the login.


EXPIRES_S = 40.0  # seconds; clients of Yjs send a sign of life every 15 s
MOST_CARET = 2048  # bytes of a caret
MOST_CLIENTS = 4  # ids of Yjs that one socket may speak for
COLOURS = "30bced 6eeb83 ffbc42 ecd444 ee6352 9ac2c9 8acb88 1be7ff".split()


class SignedIn(Protocol):
    """The person who is signed in on a socket."""

    @property
    def participant(self) -> str:
        """The id of the participant."""

    @property
    def name(self) -> str:
        """The name that others see."""


@dataclass
class CaretState:
    """The state of one Yjs client: its caret. `owner` is a socket, or the name of another
    process."""

    clock: int
    state: str  # JSON; "null": gone
    owner: object
    at: float
    participant: str = ""  # its public id; "" of clients that have gone


def entries_of(body: bytes) -> list[tuple[int, int, str]]:
    """(client, clock, state as JSON) of an awareness update. Raises HostileError."""
    try:
        decoder = Decoder(body)
        many = decoder.read_var_uint()
        if many > 1000:
            raise HostileError("too many clients")
        return [
            (decoder.read_var_uint(), decoder.read_var_uint(), decoder.read_var_string())
            for _ in range(many)
        ]
    except (IndexError, RuntimeError, ValueError):
        raise HostileError("the awareness update cannot be read") from None


@dataclass
class Awareness:
    """The carets in one document, by client. The identity comes from the login, whatever the
    client sends."""

    clients: dict[int, CaretState] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)

    def take(
        self, owner: object, who: SignedIn, entries: list[tuple[int, int, str]], now: float
    ) -> None:
        """Takes what a socket sends about its own clients; what it sends about others is
        dropped."""
        own = sum(1 for caret in self.clients.values() if caret.owner is owner)
        for client, clock, sent in entries:
            known = self.clients.get(client)
            if known is not None and known.owner is not owner:
                continue
            if known is None:
                own += 1
                if own > MOST_CLIENTS:
                    continue
            self._put(client, CaretState(clock, _state(sent, who), owner, now, who.participant))

    def take_from(self, process: str, entries: Iterable[Any], now: float) -> None:
        """Takes what another process has sent about its clients."""
        for client, clock, state in entries:
            known = self.clients.get(client)
            if known is None or known.owner == process:
                self._put(client, CaretState(clock, state, process, now, _who_of(state)))

    def _put(self, client: int, seen: CaretState) -> None:
        known = self.clients.get(client)
        is_new = known is None or seen.clock > known.clock
        is_end = known is not None and seen.clock == known.clock and seen.state == "null"
        if is_new or is_end:
            self.clients[client] = seen
            self.changed.add(client)
        elif known is not None:
            known.at = seen.at

    def leave(self, owner: object) -> None:
        """Removes the clients of a socket that has closed."""
        for client, seen in list(self.clients.items()):
            if seen.owner is owner:
                self.clients[client] = CaretState(seen.clock + 1, "null", seen.owner, seen.at)
                self.changed.add(client)

    def expire(self, now: float) -> None:
        """Removes clients that have not been heard from for long."""
        for client, seen in list(self.clients.items()):
            if now - seen.at > EXPIRES_S:
                if seen.state == "null":
                    del self.clients[client]
                else:
                    self.clients[client] = CaretState(seen.clock + 1, "null", seen.owner, now)
                    self.changed.add(client)

    def encoded(self, only: Iterable[int] | None = None) -> bytes:
        """The carets as an awareness update of Yjs."""
        chosen = self.clients if only is None else {client: self.clients[client] for client in only}
        parts = [write_var_uint(len(chosen))]
        for client, seen in chosen.items():
            state = seen.state.encode()
            parts += [write_var_uint(client), write_var_uint(seen.clock)]
            parts += [write_var_uint(len(state)), state]
        return b"".join(parts)


def _who_of(state: str) -> str:
    """The participant of a caret that another process has sent."""
    return str(((json.loads(state) or {}).get("user") or {}).get("id") or "")


def _state(sent: str, who: SignedIn) -> str:
    """A caret as it is passed on: its position from the client, its name from the login."""
    if len(sent) > MOST_CARET:
        raise HostileError("the caret is too long")
    try:
        given = json.loads(sent)
    except (ValueError, RecursionError):
        raise HostileError("the caret is no JSON") from None
    if given is None:
        return "null"
    colour = f"#{COLOURS[sum(who.participant.encode()) % len(COLOURS)]}"
    user = {"id": who.participant, "name": who.name, "color": colour}
    state: dict[str, Any] = {"user": {**user, "colorLight": f"{colour}33"}}
    if isinstance(given, dict) and isinstance(given.get("cursor"), dict | None):
        state["cursor"] = given.get("cursor")
    return json.dumps(state)
