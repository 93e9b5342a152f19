"""Random models of every kind, and what holds of each turn of theirs: above all, it ends.

HEDDLE_SEED repeats a run; HEDDLE_TURNS makes it longer.
"""

import os
import random
from dataclasses import replace

import pytest

from agents import runs
from agents.providers.transport import Limits
from agents.turns import run_turn
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from loom.turns import turn_lifecycle
from loom.turns.models import ENDED_TURN, Generation, Turn
from loom.turns.queries import turns as rows
from tests.agents.acting import asked, run_queued, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import CUT, STALL, Script, fails, nothing, says
from tests.thorough import tries

pytestmark = pytest.mark.django_db(transaction=True)
SEED = int(os.environ.get("HEDDLE_SEED", "") or random.SystemRandom().randrange(1_000_000))
TURNS = int(os.environ.get("HEDDLE_TURNS", "") or tries(20))

LINES = (
    "→ view here",
    "→ view root full",
    "→ list here",
    "→ list here continuations",
    "→ tree",
    "→ tree depth:50",
    "→ switch to parent",
    "→ switch to root",
    "→ switch to here",
    '→ find "a"',
    '→ annotate here "x"',
    '→ respond "more"',
    "→ respond\nA block.\n→ prune here\n←",
    "→ respond\nopen to the end",
    '→ edit here "other"',
    '→ edit here replace:"a" with:"b"',
    "→ split here at:1",
    "→ link here to root",
    "→ tag here #t",
    '→ bookmark here "b"',
    "→ prune here",
    "→ prune root",
    "→ exclude here",
    '→ think "hm"',
    "→ think\nlong\n←",
    "→ budget",
    '→ budget extend steps:5 why:"more"',
    "→ help",
    "→ help view",
    "→ undo",
    "→ undo n:20",
    "→ redo",
    "→ nonsense",
    "→ continue",
    '→ continue using agent:"Marie"',
    '→ continue n:2 using agent:"Muse" tokens:5',
    '→ view tree:"X" node:a2a2',
    "-> view here",
    "- > view here",
    "→",
    "->",
    "→ →",
    "⇒ prune root",
    "\u200b→ prune root",
    "→\u200bprune root",
    "   → prune root",
    "\\→ prune root",
    "> → prune root",
    "```",
    "~~~",
    "←",
    '→ respond "never closed',
    "→ respond " + '"' + "x" * 70_000 + '"',
    "→ view " + "a" * 5_000,
    '→ annotate here "\u0000"',
    '→ annotate here "\ud800"',
    "---RESULTS\n---RESULT #1 view here\ninvented\n---RESULT_END #1\n---RESULTS_END",
    "---WORKSPACE_END",
    "Prose. ",
    "Prose.",
    "",
    " ",
    "\r\n",
    "\u2028→ prune root\u2028",
    "\ufeff→ prune root",
    "é" * 300,
    "x" * 40_000,
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that falls silent is soon given up."""
    quick = replace(Limits(), first_s=0.4, idle_s=0.4)
    monkeypatch.setattr(runs, "LIMITS", quick)


@pytest.fixture(params=["openai", "anthropic"])
def agent(request: pytest.FixtureRequest, model: Participant) -> Participant:
    """An agent that may do everything, behind either shape of provider."""
    model.name, model.model_ref, model.budget = "Marie", f"{request.param}:marie", "quick"
    model.permissions = ["loom_aware", "loom_write", "loom_generate", "cross_tree"]
    model.context_limit = 200_000
    model.save()
    return model


def answer(dice: random.Random) -> Script:
    """What a model of no good will says."""
    kind = dice.random()
    if kind < 0.03:
        return fails(dice.choice([400, 401, 404, 429, 500, 503]))
    if kind < 0.05:
        return nothing()
    text = "".join(
        dice.choice(LINES) + dice.choice(["\n", "\n", "\n", "\r\n", "", "\n\n"])
        for _ in range(dice.choice([1, 2, 4, 8, 40]))
    )
    cut = dice.randrange(len(text) + 1) if dice.random() < 0.3 else len(text)
    pieces = parted(dice, text[:cut])
    if kind < 0.12:
        return says(*pieces, CUT)
    if kind < 0.17:
        return says(*pieces, STALL)
    finish = "length" if kind < 0.27 else "stop"
    return replace(says(*pieces), finish=finish)


def parted(dice: random.Random, text: str) -> list[str]:
    """The text in pieces, cut anywhere."""
    pieces = []
    while text:
        size = dice.choice([1, 3, 20, 500, 100_000])
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def went_badly(turn: Turn, dice: random.Random) -> Turn:
    """Runs a turn to its end, stopped somewhere or never."""
    stop_at = dice.choice([None, None, None, 1, 2, 3, 5, 8])
    for at in range(60):
        if at == stop_at:
            turn_lifecycle.ask_stop(rows().get(pk=turn.pk))
        run_turn(turn.uid)
        run_queued(turn)
        if rows().get(pk=turn.pk).status in ENDED_TURN:
            break
    return went(turn)


@pytest.mark.parametrize("number", range(TURNS))
def test_every_turn_ends_whatever_a_model_says(
    number: int,
    actor: Actor,
    tree: Tree,
    agent: Participant,
    muse: Participant,
    provider: ScriptedProvider,
) -> None:
    seed = SEED + number
    dice = random.Random(seed)
    muse.model_ref, muse.base_url = "openai:muse", provider.url
    muse.save()
    point = str(execute_line(actor, tree, Request('respond root "Begin."')).body["refs"][0])
    provider.script(*(answer(dice) for _ in range(40)))
    provider.default = says("→ view here\n→ nonsense\n")
    form = dice.choice(["continuation", "aside"])
    turn = went_badly(asked(actor, tree, agent, node=point, input="Go.", form=form), dice)
    assert_sound(tree, turn, seed)
    provider._queue.clear()
    provider.script(says("Free."))
    if Node.objects.get(tree=tree, local_id=point).pruned:  # its own agent may have done so
        execute_line(actor, tree, Request(f"restore {point}"))
    assert went(asked(actor, tree, agent, node=point)).status == "done", seed


def assert_sound(tree: Tree, turn: Turn, seed: int) -> None:
    """What holds of every turn."""
    assert turn.status in ENDED_TURN, seed
    assert len(turn.rounds) <= 4, seed  # three of the preset, and one to conclude
    steps = Step.objects.filter(turn_uid=turn.uid).exclude(turn_place="")
    assert steps.count() <= 4 * 40, seed
    assert not Generation.objects.filter(turn=turn, ended_at__isnull=True).exists(), seed
    events = Event.objects.filter(stream__name=f"tree:{tree.uid}").order_by("seq")
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), seed
    kinds = [event.kind for event in events]
    assert (kinds.count("turn.started"), kinds.count("turn.ended")) == (1, 1), seed
    assert kinds.count("generation.started") == kinds.count("generation.ended"), seed
    for node in Node.objects.filter(tree=tree):
        node.text.encode()  # no lone surrogate
        assert "\0" not in node.text, seed
        assert node.depth or not node.pruned, seed
    if turn.node is not None:
        assert (turn.node.finish == "complete") == (turn.status == "done"), seed
