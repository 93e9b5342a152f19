"""How long texts stay that were added to requests of sessions that were never recorded."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone

from agents.gateway import unrecorded, workspace
from agents.gateway.keys import make_key
from agents.gateway.models import AddedText, GatewaySession
from loom.access import Actor
from loom.people.models import Participant
from tests.gateway.conftest import Program, run
from tests.gateway.test_observed import whole
from tests.providers.scripted import ScriptedProvider

pytestmark = pytest.mark.django_db(transaction=True)


def aged(days: int, session: str) -> None:
    """Makes the texts of a session older."""
    at = timezone.now() - timedelta(days=days)
    AddedText.objects.filter(session=session).update(created_at=at)


def look() -> object:
    """A look of the sweeper, an hour after the last one."""
    cache.delete("gateway:unrecorded")
    return int(str(unrecorded.forget_old()))


def test_texts_of_a_session_that_was_never_recorded_are_forgotten_after_30_days(
    actor: Actor, model: Participant, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unrecorded, "AT_ONCE", 2)
    cache.delete(unrecorded.LOOKED_AT)
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    provider.default = whole("Yes.")
    run(Program(secret, {"x-loom-session": "kept"}).chat(("system", "Code."), ("user", "A")))
    kept = GatewaySession.objects.get().uid
    lost: dict[str, str] = {}
    with monkeypatch.context() as patch:  # as after a kill
        patch.setattr(workspace, "record", lambda *_: 1 / 0)
        for name in ("old", "young"):
            before = set(AddedText.objects.values_list("session", flat=True))
            program = Program(secret, {"x-loom-session": name})
            run(program.chat(("system", "Code."), ("user", name)))
            lost[name] = (set(AddedText.objects.values_list("session", flat=True)) - before).pop()
    assert GatewaySession.objects.count() == 1
    aged(40, kept)
    aged(31, lost["old"])
    aged(29, lost["young"])
    assert look() == 2  # the head, and the text of its message
    assert set(AddedText.objects.values_list("session", flat=True)) == {kept, lost["young"]}
    assert unrecorded.forget_old() == 0  # it has looked within this hour
    assert look() == 0
    aged(31, lost["young"])
    assert look() == 2
    assert set(AddedText.objects.values_list("session", flat=True)) == {kept}


def test_each_row_is_looked_at_once(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    cache.delete(unrecorded.LOOKED_AT)
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    provider.default = whole("Yes.")
    run(Program(secret, {"x-loom-session": "kept"}).chat(("user", "A")))
    aged(40, GatewaySession.objects.get().uid)
    assert look() == 0
    last = AddedText.objects.order_by("-pk").values_list("pk", flat=True)[0]
    assert cache.get(unrecorded.LOOKED_AT) == last
