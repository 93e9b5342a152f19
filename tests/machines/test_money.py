"""Money under anything that happens: two members ask, answers end, fail, break off, are cut
and stopped, and workers die in the middle.

Nobody's day passes its limit by more than a piece of text for each answer that was cut; what
is reserved is held by what is still open; and in the end nothing is reserved.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)
from pytest_django import Settings

from agents import runs
from agents.runs import begin_lane
from agents.tasks import bury
from loom.access import Actor, get_actor
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.money.days import today
from loom.money.queries.allowances import left_of
from loom.participants.prices import NANO
from loom.people.models import Grove, Participant
from loom.trees.commands import trees
from loom.turns import generation_lifecycle, lanes
from loom.turns.models import Call, Generation
from tests.agents.acting import run_lane
from tests.conftest import join, make_user
from tests.heartbeats import beat
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import cuts, fails, never_ends, tokens
from tests.thorough import tries

# Forty seconds of work, which a machine under load spreads over minutes.
pytestmark = [pytest.mark.django_db(transaction=True)]

TOKEN = NANO // 1000
LIMIT = 300  # tokens a day and member
PIECE = 3  # tokens of one piece of text at the most, as they are counted
LONG_AGO = "2020-01-01T00:00:00Z"
_numbers = count()

answers = st.one_of(
    st.integers(1, 250).map(tokens),
    st.just(never_ends(word="on ")),
    st.integers(0, 40).map(lambda many: cuts(*["and "] * many)),
    st.sampled_from([fails(401, "no"), fails(500, "oh")]),
)


class Day(RuleBasedStateMachine):
    """One grove with two members and a model that costs a thousandth of a dollar a token."""

    provider: ScriptedProvider

    def __init__(self) -> None:
        super().__init__()
        number = next(_numbers)
        grove = Grove.objects.create(
            name="The grove", settings={"daily_budget_usd": LIMIT * TOKEN / NANO}
        )
        streams.open_stream(grove)
        users = [make_user(f"{name}{number}") for name in ("ada", "bo")]
        for user in users:
            join(grove, user, "writer")
        self.people: list[Actor] = [get_actor(user, grove) for user in users]
        self.tree = trees.new_tree(self.people[0])
        self.model = Participant.objects.create(
            grove=grove,
            kind="model",
            name="Echo",
            model_ref="openai:echo",
            base_url=self.provider.url,
            prices={"input": 1000, "output": 1000},
            parallel=3,
        )
        self.lane = lanes.lane_of(self.model)

    @property
    def rows(self) -> Any:
        return Generation.objects.filter(tree=self.tree)

    @rule(who=st.integers(0, 1), n=st.integers(1, 4), length=st.sampled_from(["", " tokens:20"]))
    def ask(self, who: int, n: int, length: str) -> None:
        try:
            execute_line(self.people[who], self.tree, Request(f"continue from root n:{n}{length}"))
        except CommandError as refused:
            assert refused.code == "LIMIT_EXCEEDED"

    @rule(scripts=st.lists(answers, min_size=1, max_size=4))
    def answer_all(self, scripts: list[Any]) -> None:
        """Every candidate that waits is answered in one of these ways."""
        waiting = self.rows.filter(status="queued")
        self.provider.script(*(scripts[place % len(scripts)] for place in range(waiting.count())))
        generation = waiting.first()
        if generation is not None:
            run_lane(generation.lane)

    @rule(place=st.integers(0, 9))
    def stop(self, place: int) -> None:
        waiting = list(self.rows.filter(status="queued"))
        if waiting:
            generation_lifecycle.ask_stop(waiting[place % len(waiting)])

    @rule(text=st.sampled_from(["", "", "She was cold."]), times=st.integers(1, 4))
    def lose_the_worker(self, text: str, times: int) -> None:
        """Whatever may begin is begun, and the worker is killed; and so is the next."""
        for _ in range(times):
            for held in begin_lane(self.lane):
                for generation in held.generations:
                    call = Call(tree=self.tree, participant=self.model, provider="openai")
                    generation_lifecycle.begin_calls([(call, [generation])])
                    beat(generation.uid, held.lease, text)
            running = self.rows.filter(status="running")
            running.update(leased_until=LONG_AGO)
            self.no_day_passes_its_limit()
        for uid in running.exclude(text="").values_list("uid", flat=True):
            bury(uid)

    @invariant()
    def no_day_passes_its_limit(self) -> None:
        for actor in self.people:
            left = left_of(actor.person, today())
            own = self.rows.filter(payer=actor.person)
            cut = own.filter(finish="interrupted:money").count()
            assert left.spent + left.reserved <= (LIMIT + PIECE * cut) * TOKEN
            assert left.spent == sum(generation.spent or 0 for generation in own)

    @invariant()
    def only_what_is_open_has_anything_reserved(self) -> None:
        ended = self.rows.exclude(status__in=generation_lifecycle.OPEN_STATUSES)
        assert not ended.filter(reserved__gt=0).exists()

    def teardown(self) -> None:
        """However it went, a worker brings it to an end, and nothing stays reserved."""
        self.provider.script(*[tokens(1)] * self.rows.count())
        while (
            generation := self.rows.filter(status__in=generation_lifecycle.OPEN_STATUSES).first()
        ) is not None:
            run_lane(generation.lane)
        for actor in self.people:
            assert left_of(actor.person, today()).reserved == 0
        self.provider._queue.clear()


@pytest.fixture
def provider(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    """An OpenAI-shaped provider over real HTTP, and attempts that follow each other at once."""
    monkeypatch.setattr(runs, "BACKOFF_S", 0.0)
    with ScriptedProvider() as scripted:
        settings.PROVIDER_ALLOW = (scripted.entry,)
        yield scripted


def test_no_day_passes_its_limit_whatever_happens(provider: ScriptedProvider) -> None:
    Day.provider = provider
    run_state_machine_as_test(
        Day,
        settings=settings(
            max_examples=tries(25),
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
