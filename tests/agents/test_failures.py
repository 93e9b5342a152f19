"""What goes wrong at a provider is shown at the node: what it was, what to do, and whether asking
again may help."""

import asyncio
import json
import time
from email.utils import formatdate

import pytest
from django.utils import translation

from agents import runs
from agents.providers.transport import Limits, the_loop
from agents.providers.values import Failure, of_status, wait_before_next
from loom.access import Actor, get_visit
from loom.engine.by_name import run as run_by_name
from loom.participants.provider_failures import FAILURES, failure_shown
from loom.people.models import Participant
from loom.reading.pages.candidates import Card, cards_of, weave_of
from loom.reading.queries.path_page import way_of
from loom.reading.queries.provenance import pieces_of
from loom.site.display import broken_reason, cast_of
from loom.trees.models import Tree
from loom.trees.queries.lookup import rows_of
from loom.turns import generation_lifecycle
from loom.turns.models import Generation
from tests.agents.conftest import Running, Say, a_moment, again, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script, cuts, fails, nothing, says, stalls

pytestmark = pytest.mark.django_db(transaction=True)


def card_of(actor: Actor, tree: Tree, row: Generation) -> Card:
    """What the page shows of a generation."""
    way = way_of(get_visit(actor.user, tree.uid), row.point, most=1)
    rows = rows_of(cards_of(way, {}))
    cards = weave_of(actor, way, rows, pieces_of(rows), cast_of(actor)).cards
    return next(card for card in cards if card.generation == row.uid)


@pytest.mark.parametrize(
    ("script", "reason", "message", "next_step", "helps"),
    [
        (fails(401, "bad key"), "auth", "refused the key: bad key", "a valid key", False),
        (fails(429, "slow down", retry_after="75"), "rate", "rate limiting", "Wait 75 s", True),
        (fails(429, "slow down", retry_after="600"), "rate", "rate limiting", "Wait 10 min", True),
        (
            fails(429, "You exceeded your current quota", code="insufficient_quota"),
            "credit",
            "no credit left",
            "Add credit",
            False,
        ),
        (fails(402, "Payment required"), "credit", "no credit left", "Add credit", False),
        (
            fails(400, "Your credit balance is too low", code="invalid_request_error"),
            "credit",
            "no credit left",
            "Add credit",
            False,
        ),
        (fails(400, "maximum context length"), "context", "too long", "shorter path", False),
        (says(finish="content_filter"), "filtered", "filter stopped", "Change the text", False),
        (fails(404, "no such model"), "not_found", "does not have this model", "owner", False),
        (fails(400, "nonsense"), "invalid", "refused the request", "settings", False),
        (fails(500, "oh"), "server", "The provider failed: oh", "Try again.", True),
        (cuts(), "network", "could not be reached", "Try again.", True),
        (nothing(), "empty", "returned no text", "Try again.", True),
        (stalls(), "timeout", "timed out", "Try again.", True),
    ],
)
def test_every_failure_is_shown_at_the_node(
    ask: Say,
    provider: ScriptedProvider,
    actor: Actor,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
    script: Script,
    reason: str,
    message: str,
    next_step: str,
    helps: bool,
) -> None:
    monkeypatch.setattr(runs, "LIMITS", Limits(first_s=1.0 if reason == "timeout" else 30))
    provider.default = script
    row = run(ask("continue n:1 tokens:9")[0])
    assert row.error is not None and row.error["reason"] == reason
    card = card_of(actor, tree, row)
    assert message in card.failed
    assert next_step in card.hint
    asked = {"n": 1, "tokens": 9, "using": ['agent:"Echo"']}
    repeated = {"command": "continue", "args": asked}
    assert (json.loads(card.again) if card.again else None) == (repeated if helps else None)


def test_a_failed_one_is_asked_again_of_the_same_participant(
    ask: Say, provider: ScriptedProvider, actor: Actor, tree: Tree, model: Participant
) -> None:
    model.name = 'Echo "the \\ quiet"'
    model.save()
    provider.default = cuts()
    first = run(ask()[0])
    repeated = json.loads(card_of(actor, tree, first).again)
    answer = run_by_name(actor, tree, repeated["command"], repeated["args"])
    second = Generation.objects.get(uid=answer.body["generations"][0])
    assert (second.participant, second.point_id) == (model, first.point_id)


def test_who_waits_for_a_provider_reads_why_and_can_stop(
    ask: Say, provider: ScriptedProvider, actor: Actor, tree: Tree
) -> None:
    provider.default = fails(429, "slow down", retry_after="50")
    generation = ask()[0]
    running = Running(generation)

    async def told() -> None:
        while not await asyncio.to_thread(lambda: again(generation).note):
            await a_moment()

    the_loop().run(asyncio.wait_for(told(), 10))
    card = card_of(actor, tree, again(generation))
    assert card.note == (
        "The provider is rate limiting requests: slow down · will be tried again in 50 s"
    )
    assert not card.failed
    generation_lifecycle.ask_stop(generation)
    assert running.ended().status == "stopped"
    assert len(provider.seen) == 1


def test_what_a_provider_asks_to_wait_is_kept_whatever_failed() -> None:
    assert wait_before_next(Failure("server", retry_after_s=7), 1) == 7
    assert wait_before_next(Failure("rate", retry_after_s=61), 1) is None
    assert wait_before_next(Failure("rate"), 1, 0.5) == 2
    assert [wait_before_next(Failure("server"), attempt, 0.5) for attempt in (1, 2, 3)] == [
        0.5,
        1,
        None,
    ]
    assert wait_before_next(Failure("credit"), 1) is None


def test_a_provider_may_name_the_hour_to_come_again() -> None:
    soon = of_status(429, "", retry_after=formatdate(time.time() + 90, usegmt=True))
    assert 80 <= (soon.retry_after_s or 0) <= 90
    gone = of_status(429, "", retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    assert gone.retry_after_s == 0
    for rubbish in ("soon", "nan", "-4", "Wed, 99 Oct 2015"):
        assert of_status(429, "", retry_after=rubbish).retry_after_s is None


def test_a_rate_is_told_from_an_empty_account() -> None:
    assert of_status(429, "Rate limit reached for requests per min").kind == "rate"
    assert of_status(429, "quota", code="insufficient_quota").kind == "credit"
    assert of_status(403, "forbidden").kind == "auth"


@pytest.mark.parametrize(
    "kind", ["network", "timeout", "server", "rate", "credit", "filtered", "worker lost"]
)
def test_a_text_that_broke_off_says_why_in_words(kind: str) -> None:
    assert broken_reason(f"interrupted:{kind}").endswith("; the text so far is kept")


def test_a_stored_failure_is_shown_in_the_readers_language() -> None:
    slow = of_status(429, "slow down: 3", retry_after="3600").error
    assert slow["message"] == "The provider is rate limiting requests: slow down: 3"
    assert slow["hint"] == "Wait 60 min, then try again."
    with translation.override("de"):
        message, hint = failure_shown(slow)
        assert message == "Der Anbieter begrenzt gerade die Zahl der Anfragen: slow down: 3"
        assert hint == "Warte 60 min und versuch es dann noch einmal."
        assert failure_shown(Failure("empty").error)[0] == "Das Modell hat keinen Text geliefert."
        own = {"message": "No such text: x.", "hint": "look", "reason": None}
        assert failure_shown(own) == ("No such text: x.", "look")
    for kind in FAILURES:
        error = Failure(kind).error  # type: ignore[arg-type]
        assert failure_shown(error) == (error["message"], error["hint"])
