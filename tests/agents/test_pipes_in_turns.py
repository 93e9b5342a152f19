"""An agent runs a pipe in its turn: its lines are steps of the turn, and are undone with it."""

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from tests.agents.acting import asked, outcomes, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_pipe_of_a_person_runs_in_a_turn_and_is_undone_with_it(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    pipe = 'pipe save:"Gloss"\nview full | annotate root as:question | tag #gloss\n←'
    execute_line(actor, tree, Request(pipe))
    provider.script(says(f'→ run pipe:"Gloss" from {opening}\n'), says("Done."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.status == "done"
    assert outcomes(turn) == [(f'→ run pipe:"Gloss" from {opening}', "ok")]
    note = Node.objects.get(kind="annotation")
    assert note.author == agent
    sent = (
        provider.seen[1].text if hasattr(provider.seen[1], "text") else str(provider.seen[1].json)
    )
    assert "ran pipe" in sent
    steps = Step.objects.filter(turn_uid=turn.uid, canonical__startswith="→ annotate")
    assert steps.count() == 1
    execute_line(actor, tree, Request(f"undo turn:{turn.uid}"))
    note.refresh_from_db()
    assert note.slot.pruned
