"""Money: reserved before a call, settled after it, and never more than the day's limit."""

from typing import Any

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.money.days import today
from loom.money.models import DailySpending
from loom.money.queries.allowances import left_of
from loom.money.spending import more, used_up
from loom.participants.prices import NANO
from loom.people.models import Grove, Participant
from loom.trees.models import Tree
from loom.turns import generation_lifecycle
from loom.turns.models import Call, Generation
from tests.agents.conftest import Running, Say, again, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import cuts, fails, never_ends, says, stalls, tokens

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = NANO // 1000  # what a written token costs here


@pytest.fixture(autouse=True)
def dear(model: Participant) -> Participant:
    """The model costs a thousandth of a dollar for each token, read or written."""
    model.prices = {"input": 1000, "output": 1000}
    model.save()
    return model


def limit(grove: Grove, usd: float) -> None:
    Grove.objects.filter(pk=grove.pk).update(settings={"daily_budget_usd": usd})


@pytest.fixture
def spent(actor: Actor) -> Any:
    """What the owner has spent and reserved today, in tokens."""

    def read() -> tuple[int, int]:
        left = left_of(actor.person, today())
        return left.spent // TOKEN, left.reserved // TOKEN

    return read


def test_what_a_call_may_cost_is_reserved_before_it_and_settled_by_its_usage(
    ask: Say, provider: ScriptedProvider, spent: Any
) -> None:
    provider.script(tokens(3))  # and 7 read
    row = ask("continue tokens:50")[0]
    assert spent() == (0, row.reading + 50)
    row = run(row)
    assert spent() == (10, 0)
    assert (row.spent, row.reserved) == (10 * TOKEN, 0)
    assert (row.tokens_in, row.tokens_out) == (7, 3)


def test_where_no_price_is_known_nothing_is_counted(
    ask: Say, provider: ScriptedProvider, model: Participant, spent: Any
) -> None:
    Participant.objects.filter(pk=model.pk).update(prices={})
    row = run(ask()[0])
    assert row.spent is None
    assert row.tokens_out == 3
    assert not DailySpending.objects.exists()


def test_over_the_limit_is_refused_with_what_to_do(ask: Say, grove: Grove, spent: Any) -> None:
    limit(grove, 0.1)
    with pytest.raises(CommandError) as refused:
        ask("continue n:5")
    assert refused.value.code == "LIMIT_EXCEEDED"
    assert "only $0.10 of today's limit is left" in refused.value.message
    assert "fewer" in refused.value.hint
    assert spent() == (0, 0)
    assert not Generation.objects.exists()


@pytest.mark.parametrize(
    ("own", "ceiling", "says"),
    [
        (0.1, 0.0, "an owner can raise it under Money"),
        (0.1, 0.5, "an owner can raise it under Money, to $0.50 at most"),
        (5.0, 0.1, "only they can raise it"),
        (0.0, 0.1, "only they can raise it"),
    ],
)
def test_the_hint_names_who_can_raise_the_limit(
    ask: Say, grove: Grove, own: float, ceiling: float, says: str
) -> None:
    limit(grove, own)
    Grove.objects.filter(pk=grove.pk).update(ceiling=round(ceiling * 1e9))
    grove.refresh_from_db()
    with pytest.raises(CommandError) as refused:
        ask("continue n:5")
    assert says in refused.value.hint
    assert ("an owner" in refused.value.hint) is not ("only they" in says)
    assert says in used_up(grove).hint


def test_candidates_share_what_is_left(ask: Say, grove: Grove, spent: Any) -> None:
    limit(grove, 0.5)
    rows = ask("continue n:4 tokens:1000")
    assert len({row.reserved for row in rows}) == 1
    assert 496 <= spent()[1] <= 500


def test_no_limit_means_no_limit(
    ask: Say, provider: ScriptedProvider, grove: Grove, spent: Any
) -> None:
    limit(grove, 0)
    provider.script(tokens(3000))
    row = run(ask()[0])
    assert row.status == "done"
    assert spent() == (3007, 0)


def test_a_stream_is_cut_when_the_money_is_used_up(
    ask: Say, provider: ScriptedProvider, grove: Grove, model: Participant, spent: Any
) -> None:
    limit(grove, 0.1)
    provider.script(never_ends(word="on "))
    row = run(ask()[0])
    assert row.finish == "interrupted:money"
    assert row.error is not None
    assert row.error["code"] == "LIMIT_EXCEEDED"
    assert row.node is not None
    assert row.node.text == row.shown
    assert 99 <= spent()[0] <= 101
    assert spent()[1] == 0


def test_a_long_answer_gets_more_as_long_as_there_is_some(
    ask: Say, provider: ScriptedProvider, grove: Grove, spent: Any
) -> None:
    limit(grove, 10)
    provider.script(tokens(3000))
    assert run(ask()[0]).status == "done"
    assert spent() == (3007, 0)


def test_what_one_answer_needs_more_leaves_room_for_those_beside_it(
    ask: Say, grove: Grove, actor: Actor
) -> None:
    limit(grove, 0.5)
    rows = ask("continue n:4 tokens:20")
    Generation.objects.update(status="running", lease="a")
    rest = left_of(actor.person, today()).rest
    for row in rows:
        needed = row.reserved + TOKEN
        assert (more(row.uid, lease="a", needed=needed) or 0) >= needed
    left = left_of(actor.person, today())
    assert rest / 4 < left.rest < rest
    for _ in range(200):
        rows[0].refresh_from_db()
        if more(rows[0].uid, lease="a", needed=rows[0].reserved + TOKEN) is None:
            break
    assert 0 <= left_of(actor.person, today()).rest < TOKEN


@pytest.mark.parametrize("script", [fails(401, "no"), fails(400, "odd"), cuts()])
def test_what_was_refused_costs_nothing(
    ask: Say, provider: ScriptedProvider, spent: Any, script: Any
) -> None:
    provider.default = script
    assert run(ask()[0]).status == "failed"
    assert spent() == (0, 0)


def test_what_broke_off_costs_what_came(ask: Say, provider: ScriptedProvider, spent: Any) -> None:
    provider.script(cuts("She ", "was "))
    row = run(ask()[0])
    assert spent() == (row.reading + 2, 0)


def test_a_usage_of_zeros_is_no_gift(ask: Say, provider: ScriptedProvider, spent: Any) -> None:
    zeros = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    provider.script(says("She ", "was ", "gone.", usage=zeros))
    row = run(ask()[0])
    assert spent() == (row.reading + 4, 0)  # a quarter of the bytes


def test_what_is_stopped_costs_what_came(ask: Say, provider: ScriptedProvider, spent: Any) -> None:
    provider.script(stalls("She ", "was "))
    asked = ask()[0]
    running = Running(asked)
    provider.wait_for(1)
    generation_lifecycle.ask_stop(again(asked))
    row = running.ended()
    assert spent() == (row.tokens_in + row.tokens_out, 0)


def test_what_is_stopped_while_it_waits_costs_nothing(ask: Say, spent: Any) -> None:
    generation_lifecycle.ask_stop(ask()[0])
    assert spent() == (0, 0)


def test_a_call_that_a_worker_was_lost_over_is_counted(
    ask: Say, provider: ScriptedProvider, actor: Actor, tree: Tree, spent: Any
) -> None:
    execute_line(actor, tree, Request('respond "Who is Marie, and why does she not answer me?"'))
    provider.script(says("a"))
    row = run(ask()[0])
    Generation.objects.filter(pk=row.pk).update(
        status="running",
        leased_until="2020-01-01T00:00:00Z",
        text="",
        node=None,
        spent=None,
        ended_at=None,
    )
    before = spent()[0]
    row = run(row)
    assert row.tries == 2
    assert row.spent is not None
    assert spent()[0] == before + row.reading + 10


def test_a_dry_run_reserves_nothing(
    actor: Actor, tree: Tree, model: Participant, spent: Any
) -> None:
    execute_line(actor, tree, Request("continue n:3", dry_run=True))
    assert spent() == (0, 0)


def test_what_a_worker_was_lost_over_is_not_begun_again_beyond_the_limit(
    ask: Say, provider: ScriptedProvider, grove: Grove, tree: Tree, spent: Any
) -> None:
    limit(grove, 0.1)
    row = ask()[0]
    assert spent() == (0, 100)
    taken = generation_lifecycle.take(row.uid, lease="dead", seconds=60)
    assert taken is not None
    call = Call(tree=tree, participant=row.participant, provider="openai")
    generation_lifecycle.begin_calls([(call, [taken])])
    Generation.objects.filter(pk=row.pk).update(leased_until="2020-01-01T00:00:00Z")
    row = run(row)
    assert row.error is not None
    assert row.error["code"] == "LIMIT_EXCEEDED"
    assert spent() == (row.reading, 0)
    assert not provider.seen
