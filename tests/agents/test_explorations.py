"""Exploring: rounds within a budget, judged, stopped, resumed, noted."""

from collections.abc import Callable

import pytest
from django.test import Client

from loom.access import Actor, acting_as
from loom.choices import queries
from loom.choices.commands import change_settings, log_shown
from loom.claims.commands.checks import declare_check
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.exploring import judging, progress, selecting
from loom.exploring.access import WITH
from loom.exploring.commands import stop
from loom.exploring.models import Exploration, ExploredText
from loom.exploring.queries import used_by
from loom.links.models import Link
from loom.participants.prices import NANO
from loom.people.models import Grove, Participant, User
from loom.trees.models import Node, Tree
from loom.turns.grove_settings import budget_in
from loom.turns.models import RATING, Generation, Turn
from tests.agents.acting import run_lane
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
MOST = 60  # phases and lanes: more mean that it does not end
Began = Callable[[str], Exploration]


@pytest.fixture
def begin(actor: Actor, tree: Tree, opening: str, model: Participant) -> Began:
    """Begins to explore from the first text, by the words after the verb."""

    def began(words: str) -> Exploration:
        execute_line(actor, tree, Request(f"explore from {opening} {words}"))
        return Exploration.objects.latest("id")

    return began


def went(row: Exploration, rounds: int = MOST) -> Exploration:
    """Goes on as the worker does, to the end; its row afterwards."""
    for _ in range(rounds):
        progress.advance(row.uid)
        for lane in set(Generation.objects.filter(status="queued").values_list("lane", flat=True)):
            run_lane(lane)
    return Exploration.objects.get(pk=row.pk)


def noted(row: Exploration) -> Node:
    """The note that sums it up."""
    assert row.note is not None
    return row.note


def texts(row: Exploration) -> list[tuple[int, str, float | None, bool | None]]:
    rows = ExploredText.objects.filter(exploration=row).select_related("node").order_by("id")
    return [
        (
            explored.round,
            explored.node.text if explored.node else "",
            explored.score,
            explored.is_kept,
        )
        for explored in rows
    ]


def test_the_best_of_three_is_kept_with_the_reason_of_the_judge(
    actor: Actor, tree: Tree, begin: Began, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("A."), says("B."), says("C."))
    provider.script(says("3 - dull"), says("9 - it lives"), says("4/10, flat"))
    row = went(begin('n:3 depth:1 keep:1 by:judge "surprise"'), 4)
    assert (row.status, row.round, row.said) == ("done", 1, "")
    explored = texts(row)
    assert sorted(score or 0 for *_, score, _ in explored) == [3, 4, 9]
    (best,) = [candidate for candidate in explored if candidate[3]]
    assert best[2] == 9
    asked = provider.seen[3].json["messages"]
    assert "rate one text" in asked[0]["content"] and "surprise" in asked[-1]["content"]
    assert "Who is Marie?" in asked[-1]["content"]
    # What is not kept is still there.
    point = Node.objects.get(tree=tree, local_id=opening)
    assert Node.objects.filter(parent_slot=point.slot, kind="text", pruned=False).count() == 3
    note = noted(row)
    assert "9/10 – it lives" in note.text and "Goal: surprise" in note.text
    link = Link.objects.get()
    assert link.note == "9/10 – it lives"
    assert Generation.objects.filter(round=RATING).count() == 3


def test_a_beam_goes_on_from_what_was_kept(begin: Began, provider: ScriptedProvider) -> None:
    row = went(begin("n:3 depth:2 keep:2 by:variety"), 8)
    assert (row.status, row.round) == ("done", 2)
    explored = ExploredText.objects.filter(exploration=row)
    assert [explored.filter(round=number).count() for number in (1, 2)] == [3, 6]
    kept = set(explored.filter(round=1, is_kept=True).values_list("node", flat=True))
    assert set(explored.filter(round=2).values_list("point", flat=True)) == kept and len(kept) == 2
    assert len(provider.seen) == 9


def test_two_hundred_calls_stay_within_their_budget(
    begin: Began, provider: ScriptedProvider, grove: Grove
) -> None:
    grove.settings = {**grove.settings, "continue_max": 10}
    grove.save()
    row = went(begin("n:10 depth:20 keep:6 by:judge steps:200 length:16"), 60)
    used = used_by(row)
    assert row.status == "done" and "steps" in row.said
    assert used.steps == len(provider.seen) and 196 <= used.steps <= 200
    assert used.tokens <= row.most_tokens


def test_a_budget_of_tokens_ends_it_before_it_is_over(begin: Began) -> None:
    row = went(begin("n:4 depth:20 keep:2 by:variety length:16 tokens:800"), 25)
    assert row.status == "done" and "tokens" in row.said and row.round > 1
    assert used_by(row).tokens <= 800


def test_money_ends_it_before_it_is_over(begin: Began, model: Participant) -> None:
    model.prices = {"input": 10, "output": 20}
    model.save()
    row = went(begin("n:4 depth:20 keep:2 by:variety length:16 money:0.008"), 25)
    assert row.status == "done" and "money" in row.said
    assert 0 < used_by(row).money <= 0.008 * NANO


def test_a_worker_that_takes_over_asks_no_model_again(
    begin: Began, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = begin("n:3 depth:2 keep:1 by:judge")
    kept = ExploredText.objects.bulk_create

    def dies(*_: object, **__: object) -> None:
        raise SystemExit

    for _ in range(2):  # the line has run, but what it asked for was not noted
        monkeypatch.setattr(ExploredText.objects, "bulk_create", dies)
        with pytest.raises(SystemExit):
            progress.advance(row.uid)
    monkeypatch.setattr(ExploredText.objects, "bulk_create", kept)
    row = went(row, 10)
    assert row.status == "done" and len(provider.seen) == 12
    assert Generation.objects.count() == 12


def test_two_workers_at_once_choose_once(begin: Began) -> None:
    row = begin("n:2 depth:1 keep:1 by:variety")
    stale = Exploration.objects.select_related(*WITH).get(pk=row.pk)
    progress.advance(row.uid)
    assert progress._PHASES["plan"](stale)
    assert ExploredText.objects.count() == 2


def test_it_stops_at_once_and_keeps_what_was_written(
    actor: Actor, begin: Began, provider: ScriptedProvider
) -> None:
    row = begin("n:3 depth:3 keep:1 by:variety")
    progress.advance(row.uid)
    stop(actor, Exploration.objects.select_related(*WITH).get(pk=row.pk))
    row = went(row, 3)
    assert (row.status, row.said) == ("stopped", "stopped") and row.ended_at is not None
    assert provider.seen == []
    assert not Generation.objects.filter(ended_at__isnull=True).exists()


def test_checks_choose_and_say_what_failed(
    actor: Actor, begin: Began, provider: ScriptedProvider
) -> None:
    declare_check(actor, name="named", kind="contains", parameters={"text": "Marie"})
    provider.script(says("She left."), says("Marie left."))
    row = went(begin('n:2 depth:1 keep:1 by:check "named"'), 4)
    (best,) = ExploredText.objects.filter(exploration=row, is_kept=True)
    assert best.node is not None and best.node.text == "Marie left." and best.score == 10
    other = ExploredText.objects.get(exploration=row, is_kept=False)
    assert other.reason.startswith("passes 0 of 1: named")


def test_all_of_it_is_undone_by_one_line(actor: Actor, tree: Tree, begin: Began) -> None:
    row = went(begin("n:2 depth:2 keep:1 by:variety"), 8)
    nodes = ExploredText.objects.filter(exploration=row).values("node")
    execute_line(actor, tree, Request("undo"))
    assert not Node.objects.filter(pk__in=nodes, pruned=False).exclude(depth=3).exists()
    note = noted(row)
    assert note.pruned


def test_what_it_may_do_and_use_is_shown_before(
    actor: Actor, tree: Tree, opening: str, model: Participant
) -> None:
    model.prices = {"input": 10, "output": 20}
    model.save()
    line = f'explore from {opening} n:4 depth:3 keep:2 by:judge "surprise"'
    reply = execute_line(actor, tree, Request(line, dry_run=True)).reply
    assert "exploring from" in reply and "at most 20 texts in 3 rounds" in reply
    assert "budget: 40 calls" in reply and "at most $" in reply and "judged by Echo" in reply
    assert not Exploration.objects.exists()


def test_texts_are_kept_as_the_person_tends_to_choose(
    actor: Actor,
    tree: Tree,
    begin: Began,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queries, "vectors_of", lambda *_: None)  # length alone tells them apart
    line = "n:3 depth:1 keep:1 by:taste"
    with pytest.raises(CommandError, match="is off"):
        begin(line)
    change_settings(actor, orders=True)
    with pytest.raises(CommandError, match="too few"):
        begin(line)
    for number in range(24):  # always the shortest

        def say(words: str) -> str:
            return str(execute_line(actor, tree, Request(words)).body["refs"][0])

        at = say(f'respond root "Scene {number}."')
        sizes = [5 + 12 * ((number + place) % 3) for place in range(3)]
        shown = [say(f'respond {at} "{"word " * size}{number}."') for size in sizes]
        log_shown(actor, tree, at, shown, where="tree", order="siblings")
        say(f'respond {shown[sizes.index(min(sizes))]} "on"')
    provider.script(says("long " * 40), says("short."), says("middling " * 12))
    row = went(begin(line), 6)
    assert row.status == "done"
    (kept,) = [text for text in texts(row) if text[3]]
    assert kept[1] == "short."
    # The note is for everybody: it says the place, and nothing of what the person likes.
    assert "1 of 3 as chosen by who explores" in noted(row).text
    assert "shorter" not in noted(row).text and "/10" not in noted(row).text
    dry = execute_line(actor, tree, Request(f"explore {line}", dry_run=True)).reply
    assert "as you tend to choose (shorter" in dry and "n = " in dry
    later = begin(line)
    change_settings(actor, orders=False)  # while it runs: nothing is ranked, nothing breaks
    assert went(later, 6).status == "done"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("by:check", "REJECTED"),
        ("by:taste", "REJECTED"),
        ('by:variety judge agent:"Echo"', "INVALID_SYNTAX"),
        ("n:10 depth:20 keep:50 by:judge", "LIMIT_EXCEEDED"),
        ('using agent:"Nobody"', "NOT_FOUND"),
    ],
)
def test_what_cannot_be_explored_is_refused(
    actor: Actor, tree: Tree, opening: str, model: Participant, words: str, code: str
) -> None:
    with pytest.raises(CommandError) as caught:
        execute_line(actor, tree, Request(f"explore from {opening} {words}"))
    assert caught.value.code == code and caught.value.hint
    assert not Exploration.objects.exists()


@pytest.fixture
def guide(grove: Grove) -> Participant:
    """An agent that may write and generate, beside the model that is asked for texts."""
    allowed = ["loom_aware", "loom_write", "loom_generate"]
    return Participant.objects.create(
        grove=grove, kind="model", name="Guide", model_ref="openai:guide", permissions=allowed
    )


def test_an_agent_explores_within_its_turn_and_permissions(
    actor: Actor, tree: Tree, opening: str, model: Participant, guide: Participant
) -> None:
    agent = acting_as(actor, guide)
    budget = budget_in("quick", tree.grove.settings)
    point = Node.objects.get(tree=tree, local_id=opening)
    turn = Turn.objects.create(
        tree=tree,
        participant=guide,
        invoked_by=actor.participant,
        invoked_at=point,
        answers_below=point,
        status="running",
        preset="quick",
        tokens=budget.tokens - 3_000,
    )
    words = f"explore from {opening} n:2 depth:2 keep:1 by:variety length:16"

    def line(words: str, place: str) -> None:
        execute_line(agent, tree, Request(words, turn=turn.uid, place=place))

    line(f"{words} tokens:2500", "1.1")
    row = Exploration.objects.latest("id")
    assert (row.asked_by, row.begun_by) == (actor.participant, guide)
    assert row.most_tokens == 2_500 and row.most_steps <= budget.steps
    line(f"{words} tokens:900", "1.2")  # what is left: 500 of the 3,000 tokens
    assert Exploration.objects.latest("id").most_tokens == 500
    with pytest.raises(CommandError, match="left of this turn's budget"):
        line(words, "1.3")
    for refused in (f"{words} using agent:Guide", words.replace("variety", "taste")):
        with pytest.raises(CommandError) as caught:
            execute_line(agent, tree, Request(refused))
        assert caught.value.code == "PERMISSION_DENIED"
    row = went(row)
    assert row.status == "done" and used_by(row).tokens <= 2_500
    assert row.texts.exclude(node=None).exists()
    paid = Generation.objects.filter(uid__in=row.texts.values("generation"))
    assert set(paid.values_list("payer", flat=True)) == {actor.participant.pk}


def test_an_exploration_ends_when_its_agent_may_not_go_on(
    actor: Actor,
    tree: Tree,
    opening: str,
    model: Participant,
    guide: Participant,
    provider: ScriptedProvider,
) -> None:
    line = f"explore from {opening} n:2 depth:2 keep:1 by:variety length:16"
    with pytest.raises(CommandError) as caught:
        guide.permissions = ["loom_aware", "loom_write"]
        execute_line(acting_as(actor, guide), tree, Request(line))
    assert caught.value.code == "PERMISSION_DENIED"
    guide.permissions = [*guide.permissions, "loom_generate"]
    execute_line(acting_as(actor, guide), tree, Request(line))
    Participant.objects.filter(pk=guide.pk).update(permissions=["loom_aware"])
    row = went(Exploration.objects.latest("id"))
    assert row.status == "failed" and not provider.seen


def test_nobody_sees_or_stops_the_explorations_of_another_grove(two_groves: TwoGroves) -> None:
    there = two_groves.right
    two_groves.agent(there, name="Deep")
    there.run(two_groves.only_right, f"explore from {there.text.local_id} by:variety")
    row = Exploration.objects.get()
    for user, status in (
        (two_groves.only_left, 404),
        (two_groves.nobody, 404),
        (two_groves.both, 200),
    ):
        client = two_groves.client(user)
        for address in (
            f"/api/explorations/{row.uid}",
            f"/api/trees/{there.tree.uid}/explorations",
            f"/explorations/{row.uid}",
            f"/trees/{there.tree.uid}/explorations",
        ):
            assert client.get(address).status_code == status, (user.username, address)
        if status == 404:
            assert client.post(f"/api/explorations/{row.uid}/stop").status_code == 404
    assert not Exploration.objects.get().stop_asked


def test_the_page_begins_shows_and_stops(
    owner: User, tree: Tree, opening: str, model: Participant, provider: ScriptedProvider
) -> None:
    client = Client()
    client.force_login(owner)
    at = f"/trees/{tree.uid}/explorations"
    page = client.get(at, {"node": opening}).content.decode()
    assert "Explore from" in page and "Chosen by" in page
    form = {"node": opening, "using": "Echo", "n": "2", "depth": "1", "keep": "1", "by": "variety"}
    cost = client.post(f"{at}/cost", form).content.decode()
    assert "at most 2 texts in 1 round" in cost and not Exploration.objects.exists()
    german = client.post(f"{at}/cost", form, headers={"Accept-Language": "de"}).content.decode()
    assert "höchstens 2 Texte in 1 Runde" in german and "behält 1 aus jeder Runde" in german
    assert "Budget: 2 Anfragen" in german and "most" not in german
    answer = client.post(at, form)
    row = went(Exploration.objects.get(), 4)
    assert answer.url == f"/explorations/{row.uid}"  # type: ignore[attr-defined]
    assert f"from “{row.point.text[:20]}" in client.get(at).content.decode()
    page = client.get(answer.url).content.decode()  # type: ignore[attr-defined]
    assert "1 not kept" in page and "word1" in page and "every 2s" not in page
    part = client.get(answer.url, headers={"X-Part": "1"}).content.decode()  # type: ignore[attr-defined]
    assert part.startswith('<div id="rounds"')
    events = [event.payload for event in Event.objects.filter(kind="exploration.changed")]
    assert events[-1]["exploration"]["status"] == "done"


@pytest.mark.parametrize(
    ("reply", "score", "reason"),
    [
        ("7 - good", 7, "good"),
        ("8.5/10: alive", 8.5, "alive"),
        ("**10** — yes", 10, "yes"),
        ("11 - too good", None, "11 - too good"),
        ("I like it", None, "I like it"),
        ("", None, ""),
        ("3" * 100_000, None, "3" * 300),
    ],
)
def test_a_rating_is_read(reply: str, score: float | None, reason: str) -> None:
    assert judging.read_rating(reply) == (score, reason)


def test_what_differs_most_is_chosen() -> None:
    near = [[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]]
    assert selecting.most_different(near, 2) == [0, 2]
    assert selecting.best([1, None, 3, 3], 3) == [2, 3, 0]
