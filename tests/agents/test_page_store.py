"""What a worker writes leaves the tree of an open page equal to a fresh read."""

import pytest

from loom.access import Actor
from loom.engine.event_kinds import kinds_of
from loom.people.commands.groves import change_grove
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from loom.turns import summaries
from loom.turns.models import Generation
from tests.agents.acting import asked, run_lane, went
from tests.agents.conftest import run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.stores import Followed

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_store_of_a_page_agrees_with_a_fresh_read_after_what_a_worker_writes(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    followed = Followed(actor, tree)
    provider.script(says("She is "), says("Nobody knows."))
    followed.say(f"continue {opening} n:2")
    for generation in Generation.objects.filter(tree=tree):
        run_lane(generation.lane)
    followed.note("two candidates")
    provider.script(
        says(f'→ annotate {opening} "Too short."\n→ exclude {opening}\n'), says("Done.")
    )
    turn = asked(actor, tree, agent, node=opening)
    followed.note("a turn that waits")
    went(turn)
    followed.note("a turn")
    change_grove(actor, settings={"summary_model": agent.uid})
    long = "Marie walks down to the river and does not come back before night. " * 8
    followed.say(f'respond root "{long}"')
    provider.script(says("Marie stays at the river until night."))
    node = Node.objects.filter(tree=tree, kind="text").latest("id")
    (summary,) = summaries.summarise(
        actor, Tree.objects.select_related("grove").get(pk=tree.pk), [node.pk]
    )
    run(summary)
    followed.note("a summary")
    written = {"generation.ended", "call.sealed", "turn.ended", "node.summarised"}
    assert written <= followed.kinds() <= kinds_of("tree")
    assert len(followed.steps[1]["fresh"]["ids"]) == len(followed.first["ids"]) + 2
    followed.check()
