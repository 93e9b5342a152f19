"""Updates that would put words into another's mouth, or more into a document than letters: over
real sockets, and drawn at random against the room's own copy."""

import random
from typing import Any

import pytest
from channels.db import database_sync_to_async
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pycrdt import Array, Doc, Map, Text, create_update_message, merge_updates

from loom.documents import room as live_rooms
from loom.documents import shared_text
from loom.documents.clients import claim
from loom.documents.models import Document, DocumentClient
from loom.documents.queries import newest
from loom.documents.room import rooms
from loom.documents.shared_text import HostileError, SharedText, TooLargeError
from loom.documents.yjs_updates import DELETED, HAS_LEFT, STRING, clocks_of, number, read_update
from loom.people.models import Participant, User
from tests.live.interleaved import Editor
from tests.live.test_rooms import Join, _document, _is_revision, _join, until
from tests.thorough import tries

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["_document", "_join"]


def written(client: int, clock: int, text: str, *, after: tuple[int, int] | None = None) -> bytes:
    """An update of one run of letters, under any client id."""
    place = (
        bytes([HAS_LEFT | STRING]) + number(after[0]) + number(after[1])
        if after
        else number(STRING) + b"\x01\x04text"
    )
    head = b"".join(map(number, (1, 1, client, clock)))
    return head + place + number(len(text.encode())) + text.encode() + b"\0"


def _clock(doc: "Doc[Any]", client: int) -> int:
    return clocks_of(doc.get_state()).get(client, 0)


@pytest.mark.parametrize("ahead", [0, 1], ids=["next", "one_ahead"])
async def test_nobody_puts_words_into_anothers_mouth(
    join: Join, owner: User, writer: User, document: Document, ahead: int
) -> None:
    """Neither at the next clock, nor one ahead of it, where pycrdt keeps the words until the letter
    before them comes. The update begins with letters that are known, so its first clock is fine."""
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ben.text) == "The → tower.")
    await ada.type(0, "I agree to ")
    await until(lambda: str(ben.text).startswith("I agree to "))
    own = ada.doc.client_id
    clock = _clock(ada.doc, own)
    forged = written(own, clock + ahead, "pay. ", after=(own, clock + ahead - 1))
    await ben.say(create_update_message(merge_updates(ben.doc.get_update(), forged)))
    await until(lambda: ben.code or ben.asked > 1)
    assert ben.code == (0 if ahead else 4409)
    for letter in "nothing.":
        await ada.type(len(str(ada.text)) - len("The → tower."), letter)
    text = "I agree to nothing.The → tower."
    assert str(ada.text) == text
    late = await join(writer)
    await until(lambda: str(late.text) == text)
    await until(lambda: _is_revision(document, text))
    revision = await database_sync_to_async(lambda: newest(Document.objects.get(pk=document.pk)))()
    who = await database_sync_to_async(lambda: Participant.objects.get(user=owner).uid)()
    assert revision.authors == [who]


async def test_who_never_sends_what_is_missing_is_refused(
    join: Join, writer: User, document: Document
) -> None:
    ben = await join(writer)
    await until(lambda: str(ben.text))
    for _ in range(live_rooms.MOST_QUESTIONS + 1):
        await ben.say(create_update_message(written(77, 5, "x", after=(77, 4))))
    await until(lambda: ben.code == 4400)


async def test_a_client_id_that_is_seen_is_not_claimed_by_another(
    join: Join, owner: User, writer: User
) -> None:
    """Before the first letter is typed, the caret says whose it is."""
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ben.text))
    await ada.caret({"cursor": None})
    await until(lambda: ada.doc.client_id in ben.carets)
    await ben.say(create_update_message(written(ada.doc.client_id, 0, "Mine! ")))
    await until(lambda: ben.code == 4409)
    await ada.type(0, "Hers. ")
    room = next(iter(rooms()._rooms.values()))
    await until(lambda: room.shared.text == "Hers. The → tower.")


async def test_a_client_id_is_its_first_writers_after_a_restart_too(
    join: Join, owner: User, writer: User, document: Document
) -> None:
    ada = await join(owner)
    await until(lambda: str(ada.text))
    await ada.type(0, "Mine. ")
    room = next(iter(rooms()._rooms.values()))
    await until(lambda: room.shared.text.startswith("Mine. "))
    await ada.cut()
    await rooms().close()
    ben = await join(writer)
    await until(lambda: str(ben.text).startswith("Mine. "))
    own = ada.doc.client_id
    await ben.say(create_update_message(written(own, 6, "Forged. ", after=(own, 5))))
    await until(lambda: ben.code == 4409)
    await ada.open()
    await ada.type(0, "Again. ")
    await until(lambda: next(iter(rooms()._rooms.values())).shared.text.startswith("Again. Mine. "))


async def test_two_processes_give_a_client_id_to_the_first(
    document: Document, owner: User, writer: User
) -> None:
    def both() -> tuple[str, str, dict[int, str], dict[int, str], int]:
        ada, ben = (Participant.objects.get(user=user).uid for user in (owner, writer))
        first, second = claim(document, {7, 8}, ada), claim(document, {8, 9}, ben)
        return ada, ben, first, second, DocumentClient.objects.count()

    ada, ben, first, second, rows = await database_sync_to_async(both)()
    assert (first, second) == ({7: ada, 8: ada}, {8: ada, 9: ben})
    assert rows == 4  # and the one under which the server has written its text


async def test_letters_of_the_server_cannot_be_continued(
    join: Join, writer: User, document: Document
) -> None:
    """The first text, and what an agent writes, has a client id that nobody has claimed."""
    ben = await join(writer)
    await until(lambda: str(ben.text))
    ((server, clock),) = clocks_of(ben.doc.get_state()).items()
    await ben.say(create_update_message(written(server, clock, "!", after=(server, clock - 1))))
    await until(lambda: ben.code == 4409)


async def test_what_others_wrote_may_be_sent_again(
    join: Join, owner: User, writer: User, document: Document
) -> None:
    """A copy from long ago comes back with all that it holds, as one update."""
    ada, ben = await join(owner), await join(writer)
    await until(lambda: str(ben.text))
    await ada.type(0, "Hers. ")
    await until(lambda: str(ben.text).startswith("Hers. "))
    await ben.cut()
    await ben.type(0, "His. ")
    await ben.open()
    await ben.say(create_update_message(ben.doc.get_update()))
    await until(lambda: str(ada.text) == "His. Hers. The → tower.")
    assert ben.code == 0


async def test_one_person_may_go_on_under_the_same_id_in_another_tab(
    join: Join, owner: User
) -> None:
    ada = await join(owner)
    await until(lambda: str(ada.text))
    await ada.type(0, "One. ")
    await ada.cut()
    again = await join(owner)
    await until(lambda: str(again.text).startswith("One. "))
    own = ada.doc.client_id
    await again.say(create_update_message(written(own, 5, "Two. ", after=(own, 4))))
    room = next(iter(rooms()._rooms.values()))
    await until(lambda: room.shared.text == "One. Two. The → tower.")
    assert again.code == 0


async def test_a_room_that_differs_from_its_log_is_opened_again(
    join: Join, owner: User, document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_rooms, "REST_S", 0.05)
    ada = await join(owner)
    await until(lambda: str(ada.text))
    room = next(iter(rooms()._rooms.values()))
    room.shared.try_update(written(5, 0, "Nobody stored this. "))
    await ada.type(0, "So. ")
    await until(lambda: ada.code == 1012)
    await until(lambda: _is_revision(document, "So. The → tower."))
    late = await join(owner)
    await until(lambda: str(late.text) == "So. The → tower.")


# What is no plain text.


def _formatted() -> bytes:
    doc: Doc[Any] = Doc()
    text = doc.get("text", type=Text)
    text.insert(0, "bold")
    text.format(0, 4, {"b" * 100_000: True})
    return doc.get_update()


def _list() -> bytes:
    doc: Doc[Any] = Doc()
    doc["text"] = Array(["a", "b"])
    return doc.get_update()


def _map() -> bytes:
    doc: Doc[Any] = Doc()
    doc["text"] = Map({"a": "b"})
    return doc.get_update()


def _nested() -> bytes:
    doc: Doc[Any] = Doc()
    doc["text"] = Array([Map({"a": "b"})])
    return doc.get_update()


def _keyed() -> bytes:
    """Letters as the value of a key of the text."""
    body = number(STRING | 32) + b"\x01\x04text\x03key\x05value"
    return b"".join(map(number, (1, 1, 7, 0))) + body + b"\0"


@pytest.mark.parametrize(
    "update",
    [
        _formatted(),
        _list(),
        _map(),
        _nested(),
        _keyed(),
        b"\x01\x01\x07\x00\x04\x01\x04text\x02\xff\xff\x00",
        b"\x01\x01\x07\x00\x04\x01\x04text\x00\x00",
        b"\x02\x01\x07\x00\x04\x01\x04text\x01a\x01\x07\x00\x04\x01\x04text\x01b\x00",
        written(7, 0, "a\0b"),
        written(2**60, 0, "a"),
        b"\x01\x01\x07\x00\x00\xff\xff\xff\xff\x0f\x00",
    ],
    ids="format list map nested key utf8 empty twice zero client length".split(),
)
def test_only_letters_of_the_one_text_are_taken(update: bytes) -> None:
    shared, _ = SharedText.born("Before.")
    before = shared.state()
    with pytest.raises(HostileError):
        shared.try_update(update)
    assert shared.state() == before


def test_letters_that_build_on_each_other_in_a_circle_are_refused() -> None:
    """All clocks are there, so nothing is missing; still nothing of it can be placed."""

    def item(client: int, after: int) -> bytes:
        return b"".join([number(1), number(client), b"\0\x84", number(after), b"\0\x01a"])

    update = b"\x02" + item(7, 8) + item(8, 7) + b"\0"
    shared, _ = SharedText.born("Before.")
    assert not shared.lacks(read_update(update))
    with pytest.raises(HostileError):
        shared.try_update(update)
    assert shared.text == "Before."


def test_a_document_is_bounded_with_all_that_was_deleted_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_text, "MOST_STATE", 5_000)
    shared, _ = SharedText.born("Short.")
    doc: Doc[Text] = Doc()
    text = doc.get("text", type=Text)
    doc.apply_update(shared.state())
    with pytest.raises(TooLargeError):
        for _ in range(4_000):
            text.insert(0, "ab")
            del text[0:1]
            shared.try_update(doc.get_update(shared.vector))
    assert len(shared.state()) <= 5_000


def test_a_large_update_is_applied_in_small_steps() -> None:
    """So that one that takes too long can be ended: each step places a bounded number of parts."""
    doc: Doc[Text] = Doc()
    text = doc.get("text", type=Text)
    with doc.transaction():
        for _ in range(1_000):
            text.insert(0, "ab")
        for at in range(0, 500):
            del text[at : at + 1]
    update = read_update(doc.get_update())
    shared, seen = SharedText(), 0

    def step() -> None:
        nonlocal seen
        seen += 1

    shared.admit(update, step=step)
    assert update.size // 16 <= seen <= update.size // 16 + 3
    assert shared._front().doc.get_state() == doc.get_state()

    def refuse() -> None:
        raise HostileError("enough")

    fresh = SharedText()
    with pytest.raises(HostileError, match="enough"):
        fresh.admit(update, step=refuse)
    assert (fresh.text, fresh.vector) == ("", SharedText().vector)


def test_an_update_that_begins_within_a_letter_is_refused() -> None:
    """The 👍 has the units 2 and 3; the second update is known up to the first of them."""
    shared = SharedText()
    shared.try_update(written(8, 0, "FFF"))
    cut = written(8, 1, "F👍")
    with pytest.raises(HostileError):
        shared.try_update(cut)
    shared.try_update(written(8, 3, "x", after=(8, 2)))
    assert SharedText([shared.state()]).text == shared.text == "FFFx"


# Drawn at random.


class Gate:
    """The checks of the room, as `loom.documents.room.RoomMember` makes them, with a log and its
    authors."""

    def __init__(self) -> None:
        self.shared, first = SharedText.born("→ 👍 ")
        self.log: list[tuple[bytes, str]] = [(first, "")]
        self.owners: dict[int, str] = dict.fromkeys(self.shared.known, "")

    def receive(self, who: str, data: bytes) -> str:
        """What becomes of an update: "taken", "asked" or "refused"."""
        try:
            update = read_update(data)
            if self.shared.lacks(update):
                return "asked"
            for client in update.writers(self.shared.known):
                if self.owners.setdefault(client, who) != who:
                    return "refused"
            self.log.append((self.shared.try_update(data), who))
        except HostileError:
            return "refused"
        return "taken"


def _hostile(chance: random.Random, mallory: Editor, victims: list[Editor]) -> bytes:
    """An update that no honest client of mallory would send, or a damaged one."""
    victim = chance.choice(victims)
    client = chance.choice([victim.doc.client_id, mallory.doc.client_id, 7, 8])
    known = clocks_of(victim.doc.get_state())
    clock = max(0, known.get(client, 0) + chance.randrange(-2, 3))
    after = chance.choice(
        [None, (client, max(0, clock - 1)), (victim.doc.client_id, chance.randrange(9))]
    )
    forged = written(client, clock, chance.choice(["FORGED", "F👍", "\0"]), after=after)
    kind = chance.randrange(7)
    if kind == 0:
        return merge_updates(mallory.doc.get_update(), forged)
    if kind == 1:
        other = written(victim.doc.client_id, known.get(victim.doc.client_id, 0) + 1, "FORGED")
        return merge_updates(forged, other)
    if kind == 2:  # deletes what nobody has written
        return b"\0" + b"".join(map(number, (1, client, 1, clock + 5, 3)))
    if kind == 3:
        return chance.choice([_list(), _map(), _keyed(), chance.randbytes(chance.randrange(40))])
    if kind == 4:
        broken = bytearray(merge_updates(mallory.doc.get_update(), forged))
        broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        return bytes(broken)
    if kind == 5:  # deleted letters under another's id
        head = b"".join(map(number, (1, 1, client, clock)))
        return head + number(DELETED) + b"\x01\x04text" + number(3) + b"\0"
    return forged


@given(seed=st.integers(0, 2**32))
@example(seed=94088)  # an update that begins within a letter of two units
@settings(max_examples=tries(200), deadline=None)
def test_hostile_updates_among_honest_typing_change_nothing_of_others(seed: int) -> None:
    """Nobody's part of the log holds letters of another, all copies become equal, and every letter
    that an honest person typed is in all of them, unless it was deleted."""
    chance = random.Random(seed)
    gate = Gate()
    honest = [Editor("ada"), Editor("ben")]
    mallory = Editor("mallory")
    everybody = [*honest, mallory]
    for editor in honest:  # whose caret it is, is known before the first letter
        gate.owners[editor.doc.client_id] = editor.name
    for editor in everybody:
        editor.take(gate.shared.state())
    typed: dict[str, int] = {"ada": 0, "ben": 0}

    def deliver(editor: Editor) -> None:
        while editor.outbox:
            data = editor.outbox.popleft()
            outcome = gate.receive(editor.name, data)
            if editor in honest:
                assert outcome == "taken"
        editor.take(gate.shared.state(editor.doc.get_state()))

    for _ in range(chance.randrange(10, 40)):
        editor = chance.choice(everybody)
        if editor is mallory and chance.random() < 0.8:
            gate.receive("mallory", _hostile(chance, mallory, honest))
        elif editor in honest:
            # Nobody deletes here, so that each letter that was typed can be counted.
            now = str(editor.shared)
            at = len(now[: chance.randrange(len(now) + 1)].encode())
            editor.shared.insert(at, editor.name[0].upper())
            typed[editor.name] += 1
        if chance.random() < 0.6:
            deliver(editor)
    for editor in [*everybody, *everybody]:
        deliver(editor)
    replayed = SharedText(update for update, _ in gate.log)
    assert {str(editor.shared) for editor in honest} == {gate.shared.text} == {replayed.text}
    assert SharedText([gate.shared.state()]).text == gate.shared.text
    for update, who in gate.log[1:]:
        assert {gate.owners[client] for client in read_update(update).structs} <= {who}
    own = {editor.doc.client_id: editor.name for editor in honest}
    assert all(gate.owners.get(client, name) == name for client, name in own.items())
    # Each letter is one clock, and the copy in which it was typed is equal to all the others.
    for editor in honest:
        assert gate.shared.known.get(editor.doc.client_id, 0) == typed[editor.name]
