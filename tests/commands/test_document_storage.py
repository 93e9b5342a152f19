"""How documents are stored: what is done before the lock, how little each pause of typing stores,
the log, and what is put aside."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pycrdt import Doc, Text
from rest_framework.test import APIClient

from agents import leases, tasks
from loom.access import Actor
from loom.documents import actions as document_actions
from loom.documents import log as document_log
from loom.documents import rules as documents
from loom.documents.log import LOG_BYTES, MOST_STEPS
from loom.documents.models import Document, DocumentState, DocumentText, DocumentUpdate, Revision
from loom.documents.queries import newest, revision_of, text_of, updates_after
from loom.documents.shared_text import EMPTY, SharedText
from loom.engine import put_aside, streams
from loom.engine.models import PutAside
from loom.errors import CommandError
from loom.people.models import User
from loom.text.edits import Edit
from loom.trees.models import Tree
from loom.trees.queries.lookup import root_of
from loom.turns.models import Generation
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db

LINE = "She wanted the tower, and nobody knew why.\n"


def _made(actor: Actor, text: str) -> Document:
    return document_actions.make_document(actor, title="Notes", text=text)


def _type(document: Document, *edits: Edit, by: str = "somebody") -> None:
    update = document_log.opened(document).edit(edits)
    document_log.append_typed(document, update, [by])


def _pause(document: Document, at: int, words: str, by: str = "somebody") -> str:
    """Types words, and rests until they are a revision; the text after it."""
    _type(document, Edit(at, at, words), by=by)
    document_log.settle(document)
    document.refresh_from_db()
    return newest(document).text


# Revisions.


def test_every_revision_stays_readable_by_its_number(actor: Actor) -> None:
    document = _made(actor, LINE * 50)
    texts = [LINE * 50]
    for number in range(2 * MOST_STEPS + 10):
        texts.append(_pause(document, number * 7 % 2000, f"{number} é 👩‍🚀\n"))
    for number, text in enumerate(texts, 1):
        revision = revision_of(document, number)
        assert (revision.text, revision.length) == (text, len(text))
    whole = DocumentText.objects.filter(base=None)
    assert 2 <= whole.count() <= 4
    assert DocumentText.objects.order_by("-chain")[0].chain <= MOST_STEPS


def test_a_revision_is_made_from_at_most_so_many_steps_in_one_query(
    actor: Actor, django_assert_num_queries: Callable[[int], Any]
) -> None:
    document = _made(actor, LINE * 50)
    for number in range(10):
        _pause(document, number, "x")
    with django_assert_num_queries(2):  # the row, and all that its text is made from
        assert revision_of(document, 1).text == LINE * 50


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["a", "b", "a\nb", "c\n" * 30, "a\n" + "c\n" * 30]), max_size=12))
def test_texts_that_come_back_are_read_as_they_were(actor: Actor, texts: list[str]) -> None:
    title = f"Notes {Document.objects.count()}"
    document = document_actions.make_document(actor, title=title, text="c\n" * 40)
    stored = ["c\n" * 40]
    for text in texts:
        if text != stored[-1]:
            document_actions.write_document(actor, document, text=text)
            stored.append(text)
    document.refresh_from_db()
    read = [revision_of(document, number).text for number in range(1, document.revision + 1)]
    assert read == stored
    assert newest(document).content.base_id is None


def test_a_revision_read_while_another_is_made_has_its_sections(actor: Actor) -> None:
    document = _made(actor, "# One\n\n# Two")
    before = newest(document)
    document_actions.write_document(actor, document, append="# Three")
    assert [section.id for section in text_of(document).sections] == ["one", "two"]
    assert before.number == 1 and Revision.objects.get(number=1).sections == []


def _bytes_stored() -> int:
    """Of texts, revisions and the log; the events of a grove are not counted."""
    texts = sum(
        len(text.text.encode()) + len(str(text.edits)) for text in DocumentText.objects.all()
    )
    sections = sum(len(str(revision.sections)) for revision in Revision.objects.all())
    log = sum(len(update.update) for update in DocumentUpdate.objects.all())
    return texts + sections + log + sum(len(state.state) for state in DocumentState.objects.all())


def test_a_pause_of_typing_does_not_store_the_whole_text_again(actor: Actor) -> None:
    """The bytes that a hundred pauses store hardly depend on the length of the text."""

    def grown(lines: int) -> int:
        title = f"{lines} lines"
        text = f"# {title}\n\n{LINE * lines}"
        document = document_actions.make_document(actor, title=title, text=text)
        before = _bytes_stored()
        for number in range(MOST_STEPS // 2):
            _pause(document, 40 + number * 6, "typed ")
        return _bytes_stored() - before

    short, long = grown(100), grown(2000)
    assert long < 2 * short
    assert long < 6 * MOST_STEPS // 2 * 30  # stored bytes for each that was typed


# The log.


def test_what_was_deleted_leaves_the_log(actor: Actor) -> None:
    document = _made(actor, "Begin.")
    for number in range(12):
        _type(document, Edit(6, 6, f"{number:03}" * 10_000))
        _type(document, Edit(6, 6 + 30_000, ""))
    document_log.settle(document)
    assert document_log.opened(document).text == "Begin."
    assert _bytes_stored() < 2 * LOG_BYTES
    document.refresh_from_db()
    state = DocumentState.objects.get(document=document).seq
    left = DocumentUpdate.objects.filter(document=document, seq__gt=state)
    assert document.log_bytes == sum(len(row.update) for row in left)


def test_invisible_attributes_do_not_grow_the_log(actor: Actor) -> None:
    document = _made(actor, "Begin.")
    shared: Doc[Text] = Doc()
    text = shared.get("text", type=Text)
    shared.apply_update(document_log.opened(document).state())
    updates: list[bytes] = []
    shared.observe(lambda event: updates.append(event.update))
    for number in range(40):
        text.format(0, 6, {"hidden": f"{number}" * 10_000})
        document_log.append_typed(document, updates[-1], ["somebody"])
    state = len(DocumentState.objects.get(document=document).state)
    log = sum(len(update.update) for update in DocumentUpdate.objects.all())
    assert log <= max(LOG_BYTES, state) + 30_000


def test_who_follows_the_log_gets_the_state_where_updates_are_gone(actor: Actor) -> None:
    document = _made(actor, "Begin.")
    follower = SharedText(update for _, update in updates_after(document.pk, 0))
    seen = document.head
    for number in range(5):
        _type(document, Edit(6, 6, f"{number}" * 30_000))
    assert DocumentUpdate.objects.filter(document=document).count() < 5
    for seq, update in updates_after(document.pk, seen):
        follower.apply(update)
        seen = seq
    document.refresh_from_db()
    assert seen == document.head
    assert follower.text == document_log.opened(document).text


def test_who_lacks_only_the_last_update_gets_it_after_it_was_merged(actor: Actor) -> None:
    document = _made(actor, "Begin.")
    follower = SharedText(update for _, update in updates_after(document.pk, 0))
    _type(document, Edit(6, 6, "a" * 2 * LOG_BYTES))
    only = DocumentUpdate.objects.get(document=document)
    assert bytes(only.update) == EMPTY, "it is in the state, and who wrote it is kept"
    for _, update in updates_after(document.pk, document.head):
        follower.apply(update)
    assert follower.text == document_log.opened(document).text


def test_what_is_pasted_and_merged_while_a_line_waits_stays(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _made(actor, "Begin.")
    lock, pasted = document_log.lock, "a" * 2 * LOG_BYTES

    def slow(row: Document) -> Document:
        monkeypatch.undo()
        _type(document, Edit(6, 6, pasted))
        return lock(row)

    monkeypatch.setattr(document_log, "lock", slow)
    document_actions.write_document(actor, document, append="Written.")
    document.refresh_from_db()
    assert newest(document).text == f"Begin.{pasted}\n\nWritten."


def test_authors_outlive_the_updates_that_are_merged(actor: Actor) -> None:
    document = _made(actor, "Begin.")
    _type(document, Edit(6, 6, "a" * 2 * LOG_BYTES), by="ada")
    _type(document, Edit(6, 6, "b" * 4 * LOG_BYTES), by="bob")
    left = DocumentUpdate.objects.filter(document=document).values_list("update", "authors")
    assert [(bytes(update), authors) for update, authors in left][:1] == [(EMPTY, ["ada", "bob"])]
    document_log.settle(document)
    document.refresh_from_db()
    assert newest(document).authors == ["ada", "bob"]


# Locks.


@contextmanager
def _watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is done, in order: `lock`, `read` (of the log), `sections`."""
    done: list[str] = []

    def watch(owner: Any, name: str, says: str) -> None:
        inner = getattr(owner, name)

        def outer(*args: Any, **kwargs: Any) -> Any:
            done.append(says)
            return inner(*args, **kwargs)

        monkeypatch.setattr(owner, name, outer)

    watch(streams, "lock", "lock")
    watch(document_log, "_read", "read")
    watch(documents, "sections_of", "sections")
    watch(document_log, "line_difference", "difference")
    yield done
    monkeypatch.undo()


@pytest.mark.parametrize("how", ["settle", "api", "restore", "line", "new"])
def test_nothing_long_is_done_under_the_lock_of_the_grove(
    actor: Actor, say: Say, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    document = _made(actor, f"# One\n\n{LINE * 10}")
    document_actions.write_document(actor, document, append="# Two")
    if how == "settle":
        _type(document, Edit(0, 0, "# Typed\n"))
    with _watched(monkeypatch) as done:
        if how == "settle":
            document_log.settle(document)
        elif how == "api":
            document_actions.write_document(actor, document, append="# Three")
        elif how == "restore":
            document_actions.restore_document(actor, document, 1)
        elif how == "line":
            say('write doc:"Notes" append "# Three"')
        else:
            document_actions.make_document(actor, title="New", text="# Quite new")
    locked = done.index("lock")
    assert "sections" in done[:locked] and (how == "new" or "read" in done[:locked])
    assert not {"sections", "read", "difference"} & set(done[locked:])


def test_what_is_typed_while_a_document_settles_is_settled_next(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _made(actor, "Begin.")
    _type(document, Edit(6, 6, " One."))
    store = document_log._Typed.store

    def slow(typed: Any, of: Document) -> Any:
        monkeypatch.undo()
        _type(document, Edit(11, 11, " Two."))
        return store(typed, of)

    monkeypatch.setattr(document_log._Typed, "store", slow)
    document_log.settle(document)
    document.refresh_from_db()
    assert newest(document).text == "Begin. One." and document.head > document.settled
    document_log.settle(document)
    document.refresh_from_db()
    assert newest(document).text == "Begin. One. Two." and document.head == document.settled


def test_a_write_in_between_is_settled_with(actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    document = _made(actor, "Begin.")
    _type(document, Edit(6, 6, " One."))
    store = document_log._Typed.store

    def slow(typed: Any, of: Document) -> Any:
        monkeypatch.undo()
        document_actions.write_document(actor, document, append="Written.")
        return store(typed, of)

    monkeypatch.setattr(document_log._Typed, "store", slow)
    document_log.settle(document)
    document.refresh_from_db()
    texts = [revision_of(document, number).text for number in range(1, document.revision + 1)]
    assert texts == ["Begin.", "Begin. One.", "Begin. One.\n\nWritten."]


# Put aside.


def _breaks(monkeypatch: pytest.MonkeyPatch, document: Document, error: Exception) -> list[str]:
    """Lets this document, and no other, fail when it settles; the tries so far."""
    tried: list[str] = []
    inner = document_log._Typed.of

    def of(row: Document) -> Any:
        if row.pk == document.pk:
            tried.append(row.uid)
            raise error
        return inner(row)

    monkeypatch.setattr(document_log._Typed, "of", of)
    return tried


def _rest() -> int:
    return document_log.settle_resting(timezone.now() + timedelta(seconds=1))


def test_a_document_that_fails_is_put_aside_and_stops_no_other(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _made(actor, "Begin.")
    other = document_actions.make_document(actor, title="Other", text="Begin.")
    for paper in (document, other):
        _type(paper, Edit(6, 6, " More."))
    tried = _breaks(monkeypatch, document, ValueError("a bad text"))
    assert [_rest() for _ in range(5)] == [1, 0, 0, 0, 0]
    assert len(tried) == put_aside.MOST_TRIES
    row = PutAside.objects.get()
    assert (row.kind, row.uid, row.reason) == ("document", document.uid, "ValueError: a bad text")
    assert document_log.settle(document) is None  # the room does not try for ever either
    other.refresh_from_db()
    assert newest(other).text == "Begin. More."
    _type(document, Edit(6, 6, " Again."))  # somebody writes: it is tried again
    assert _rest() == 0 and len(tried) == put_aside.MOST_TRIES + 1
    monkeypatch.undo()
    document_log.settle(document)
    assert not PutAside.objects.exists()


def test_a_room_whose_document_fails_stops_trying(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _made(actor, "Begin.")
    _type(document, Edit(6, 6, " More."))
    tried = _breaks(monkeypatch, document, ValueError("a bad text"))
    for _ in range(put_aside.MOST_TRIES):
        with pytest.raises(ValueError, match="a bad text"):
            document_log.settle(document)
    assert document_log.settle(document) is None and len(tried) == put_aside.MOST_TRIES


def test_a_try_that_ends_its_process_counts(actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    document = _made(actor, "Begin.")
    _type(document, Edit(6, 6, " More."))

    def killed(row: Document) -> Any:
        raise SystemExit

    monkeypatch.setattr(document_log._Typed, "of", killed)
    for _ in range(put_aside.MOST_TRIES):
        with pytest.raises(SystemExit):
            _rest()
    assert _rest() == 0
    assert PutAside.objects.get().reason == put_aside.NOT_ENDED


def test_a_database_that_is_away_puts_nothing_aside(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _made(actor, "Begin.")
    _type(document, Edit(6, 6, " More."))
    _breaks(monkeypatch, document, OperationalError("disk I/O error"))
    for _ in range(5):
        with pytest.raises(OperationalError):
            _rest()
    assert not put_aside.count()


def test_one_step_of_the_sweeper_that_fails_stops_no_other(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _made(actor, "Begin.")
    _type(document, Edit(6, 6, " More."))

    def fails() -> int:
        raise ValueError("a bad row")

    monkeypatch.setattr(tasks, "sweep", fails)
    monkeypatch.setattr(document_log, "FORGOTTEN_S", -1)
    monkeypatch.setattr(tasks, "close_old_connections", lambda: None)
    sweeper = tasks.Sweeper()
    sweeper.stopping.set()
    sweeper.run()
    document.refresh_from_db()
    assert newest(document).text == "Begin. More."


def test_owners_see_what_is_put_aside_and_have_it_tried_again(
    actor: Actor, owner: User, writer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = _made(actor, "Begin.")
    _type(document, Edit(6, 6, " More."))
    _breaks(monkeypatch, document, ValueError("a bad text"))
    for _ in range(put_aside.MOST_TRIES):
        _rest()
    client = APIClient()
    client.force_authenticate(owner)
    address = f"/api/groves/{actor.grove.uid}/put-aside"
    (shown,) = client.get(address).json()["results"]
    assert (shown["kind"], shown["id"]) == ("document", document.uid)
    assert (shown["reason"], shown["tries"]) == ("ValueError: a bad text", 3)
    page = Client()
    page.force_login(owner)
    settings_page = f"/groves/{actor.grove.uid}/settings"
    assert "a bad text" in page.get(settings_page).content.decode()
    assert page.get("/healthz").json()["put_aside"] == 1
    monkeypatch.undo()
    assert _rest() == 0
    page.post(settings_page, {"put-aside": f"document {document.uid}"})
    assert client.get(address).json()["count"] == 0
    assert _rest() == 1
    client.force_authenticate(writer)
    assert client.get(address).status_code == 403


def test_what_is_not_put_aside_is_not_found(actor: Actor) -> None:
    with pytest.raises(CommandError, match="put aside") as refused:
        put_aside.take_up_again(actor, "document", "none")
    assert refused.value.code == "NOT_FOUND"


def test_a_generation_that_cannot_be_ended_is_put_aside_and_stops_no_other(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    for uid in ("bad", "good"):
        Generation.objects.create(
            uid=uid,
            tree=tree,
            participant=actor.participant,
            asked_by=actor.participant,
            batch=uid,
            point=root_of(tree),
            index=1,
            status="running",
            text="Once",
            leased_until=timezone.now() - timedelta(hours=1),
        )
    tried: list[str] = []

    def bury(uid: str) -> None:
        tried.append(uid)
        if uid == "bad":
            raise ValueError("a bad row")
        Generation.objects.filter(uid=uid).update(ended_at=timezone.now())

    monkeypatch.setattr(tasks, "bury", bury)
    monkeypatch.setattr(leases, "proves_loss", lambda lease: True)
    for _ in range(5):
        tasks.sweep()
    assert sorted(tried) == ["bad", "bad", "bad", "good"]
    (row,) = put_aside.of_grove(actor.grove)
    assert (row.kind, row.uid, row.reason) == ("generation", "bad", "ValueError: a bad row")
