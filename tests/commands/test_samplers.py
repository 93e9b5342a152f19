"""Candidates are asked for with the samplers of the line, and those pinned above."""

import json
from collections.abc import Callable

import pytest

from agents.subject_prompt import taken_settings
from loom.access import Actor, get_actor
from loom.engine.by_name import run
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.reading.pages.candidates import again
from loom.trees.models import Tree
from loom.trees.queries.places import settings_at
from loom.turns.models import Generation
from loom.workspace.commands.saved import pin_settings
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

Write = Callable[..., str]


def asked(say: Say, line: str) -> Generation:
    """The first generation that a line starts."""
    uids = say(line).body["generations"]
    return Generation.objects.get(uid=uids[0])


def asked_again(actor: Actor, tree: Tree, call: str) -> Generation:
    """The first generation that a button's call starts."""
    sent = json.loads(call)
    answer = run(actor, tree, sent["command"], sent["args"])
    return Generation.objects.get(uid=answer.body["generations"][0])


def test_a_line_carries_samplers_and_more_like_these_repeats_them(
    say: Say, write: Write, actor: Actor, tree: Tree, muse: Participant
) -> None:
    node = write("Once")
    generation = asked(say, f'continue from {node} tokens:9 settings:"top_p=0.9 seed=7"')
    assert (generation.settings, generation.tokens) == ({"top_p": 0.9, "seed": 7}, 9)
    same = asked_again(actor, tree, again(generation, generation.participant.name, node))
    assert (same.settings, same.tokens, same.point) == (generation.settings, 9, generation.point)
    stops = asked(say, f'continue from {node} settings:"{{\\"stop\\": [\\"\\\\n\\"]}}"')
    assert stops.settings == {"stop": ["\n"]}
    repeated = asked_again(actor, tree, again(stops, stops.participant.name))
    assert repeated.settings == stops.settings


@pytest.mark.parametrize("settings", ["top_p=3", "colour=1", "{"])
def test_settings_that_there_are_not_are_refused_and_nothing_is_asked(
    settings: str, say: Say, write: Write, muse: Participant
) -> None:
    node = write("Once")
    with pytest.raises(CommandError) as refused:
        say(f'continue from {node} settings:"{settings}"')
    assert refused.value.code == "INVALID_SYNTAX"
    assert Generation.objects.count() == 0


def test_pinned_settings_hold_below_and_what_is_nearer_goes_first(
    say: Say, write: Write, actor: Actor, tree: Tree, muse: Participant
) -> None:
    top = write("Once")
    low = write("upon", top)
    beside = write("twice")
    pin_settings(actor, tree, top, {"top_p": 0.5, "seed": 1, "tokens": 12})
    pin_settings(actor, tree, low, {"top_p": 0.7})
    assert asked(say, f"continue from {beside}").settings == {}
    generation = asked(say, f"continue from {low}")
    assert (generation.settings, generation.tokens) == ({"top_p": 0.7, "seed": 1}, 12)
    own = asked(say, f'continue from {low} tokens:5 settings:"seed=3"')
    assert (own.settings, own.tokens) == ({"top_p": 0.7, "seed": 3}, 5)
    version = say(f'edit {top} "Twice" as:version').body["refs"][0]
    assert asked(say, f"continue from {version}").settings == {"top_p": 0.5, "seed": 1}
    pin_settings(actor, tree, top, {})
    assert asked(say, f"continue from {top}").settings == {}
    kinds = Event.objects.filter(stream__name=f"tree:{tree.uid}", kind="settings.pinned")
    assert kinds.count() == 3


def test_pinning_is_for_writers_of_the_grove(
    write: Write, reader: User, tree: Tree, two_groves: TwoGroves
) -> None:
    node = write("Once")
    with pytest.raises(CommandError) as refused:
        pin_settings(get_actor(reader, tree.grove), tree, node, {"top_p": 0.5})
    assert refused.value.code == "PERMISSION_DENIED"
    right = two_groves.right
    there = get_actor(two_groves.both, right.grove)
    pin_settings(there, right.tree, right.text.local_id, {"seed": 5})
    client = two_groves.client(two_groves.only_left)
    address = f"/api/trees/{right.tree.uid}/settings"
    assert client.get(address).status_code == 404
    body = {"node": right.text.local_id, "settings": {"seed": 6}}
    assert client.put(address, body, format="json").status_code == 404
    actor = get_actor(two_groves.both, right.grove)
    assert settings_at(actor, right.tree, None, right.text) == {"seed": 5}
    shown = two_groves.client(two_groves.both).get(f"{address}?node={right.text.local_id}").json()
    assert shown == {
        "settings": {"seed": 5},
        "pins": [{"node": right.text.local_id, "settings": {"seed": 5}}],
    }


def test_what_the_model_does_not_take_is_left_out_and_said(
    say: Say, write: Write, muse: Participant
) -> None:
    muse.probe = {"found": {"top_p": True, "seed": False}}
    muse.save()
    generation = asked(say, f'continue from {write("Once")} settings:"top_p=0.9 seed=7"')
    kept, note = taken_settings(generation)
    assert kept == {"top_p": 0.9}
    assert note == "without seed: this model does not take it"
