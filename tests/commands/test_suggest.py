"""Suggestions are made by whoever may look, and decided by whoever may write."""

from collections.abc import Callable

import pytest

from loom.access import Actor, acting_as, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.trees.commands import drafts, node_writer
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup, places
from tests.commands.conftest import Say
from tests.machines.replay import replayed, stored
from tests.two_groves import TwoGroves

Write = Callable[..., str]


def suggested(say: Say, node: str, text: str, **more: object) -> str:
    """The id of a new suggestion."""
    return str(say(f'suggest {node} "{text}"', **more).body["refs"][0])


def current(tree: Tree, node: str) -> str:
    """The newest text of a node's slot."""
    return places.newest_version(lookup.rows().get(tree=tree, local_id=node)).text


def test_an_accepted_suggestion_is_a_version_and_settled(
    say: Say, write: Write, tree: Tree, reader: User
) -> None:
    node = write("The old house stood.")
    below = write("Then it rained.", node)
    note = suggested(say, node, "The new house stood.", by=reader)
    with pytest.raises(CommandError) as refused:
        say(f"accept {note}", by=reader)
    assert refused.value.code == "PERMISSION_DENIED"
    answer = say(f"accept {note}")
    version = Node.objects.get(tree=tree, local_id=answer.body["refs"][0])
    assert (version.text, version.edited_from.local_id) == ("The new house stood.", node)  # type: ignore
    assert Node.objects.get(tree=tree, local_id=below).parent_slot_id == version.slot_id
    assert Node.objects.get(tree=tree, local_id=note).resolved_at is not None
    decided = Event.objects.get(kind="suggestion.decided")
    assert decided.payload == {"node": note, "decision": "accepted", "version": version.local_id}
    assert replayed(tree) == stored(tree)
    with pytest.raises(CommandError) as refused:
        say(f"accept {note}")
    assert refused.value.code == "REJECTED"
    say("undo")
    assert current(tree, node) == "The old house stood."
    assert Node.objects.get(tree=tree, local_id=note).resolved_at is None
    assert replayed(tree) == stored(tree)


def test_what_changed_meanwhile_is_merged_or_left_to_people(
    say: Say, write: Write, tree: Tree
) -> None:
    node = write("The old house stood by the sea.")
    note = suggested(say, node, "The old house fell by the sea.")
    clash = suggested(say, node, "The ancient house stood by the sea.")
    say(f'edit {node} "The new house stood by the sea." as:version')
    say(f"accept {note}")
    assert current(tree, node) == "The new house fell by the sea."
    with pytest.raises(CommandError) as refused:
        say(f"accept {clash}")
    assert refused.value.code == "CONFLICT" and "edited" in refused.value.hint
    say(f'accept {clash} edited "Both are gone."')
    assert current(tree, node) == "Both are gone."


def test_a_rejected_suggestion_changes_nothing_and_keeps_the_reason(
    say: Say, write: Write, tree: Tree
) -> None:
    node = write("The house.")
    note = suggested(say, node, "A house.")
    answer = say(f'reject {note} "The article is meant."')
    assert current(tree, node) == "The house."
    reply = Node.objects.get(tree=tree, local_id=answer.body["refs"][1])
    assert reply.text == "The article is meant."
    say("undo")
    assert Node.objects.get(tree=tree, local_id=note).resolved_at is None


def test_a_model_does_not_take_away_what_a_person_is_writing(
    say: Say, write: Write, tree: Tree, grove: object, actor: Actor
) -> None:
    node = write("The house.")
    note = suggested(say, node, "A house.")
    slot = Node.objects.get(tree=tree, local_id=node)
    workspace = node_writer.workspace_of(actor.participant, tree)
    drafts.save(actor, workspace, slot, drafts.SentDraft("edit", "The house, mine"))
    model = Participant.objects.create(
        grove=tree.grove,
        kind="model",
        name="Echo",
        permissions=["loom_aware", "loom_write"],
    )

    with pytest.raises(CommandError) as refused:
        execute_line(acting_as(actor, model), tree, Request(f"accept {note}"))
    assert refused.value.code == "CONFLICT"
    assert current(tree, node) == "The house."


def test_a_text_below_a_new_wording_is_marked_until_it_is_read(
    say: Say, write: Write, tree: Tree
) -> None:
    node = write("One.")
    below = write("Two.", node)
    with pytest.raises(CommandError) as refused:
        say(f"accept {below}")
    assert refused.value.code == "REJECTED"
    say(f'edit {node} "One, other." as:version')
    assert "read" in say(f"accept {below}").body["reply"]
    with pytest.raises(CommandError):
        say(f"accept {below}")
    assert replayed(tree) == stored(tree)
    say("undo")
    say(f"accept {below}")


@pytest.mark.parametrize("line", ["suggest root", "suggest {note}", "suggest {node}"])
def test_only_another_wording_of_a_text_is_a_suggestion(line: str, say: Say, write: Write) -> None:
    node = write("One.")
    note = say(f'annotate {node} "a note"').body["refs"][0]
    with pytest.raises(CommandError) as refused:
        say(line.format(node=node, note=note) + ' "One."')
    assert refused.value.code == "REJECTED"
    with pytest.raises(CommandError):
        say(f"accept {note}")
    with pytest.raises(CommandError):
        say(f"reject {note}")


def test_nobody_suggests_in_a_grove_that_is_not_theirs(two_groves: TwoGroves) -> None:
    right = two_groves.right
    client = two_groves.client(two_groves.only_left)
    body = {"line": f'suggest {right.text.local_id} "Mine now."'}
    answer = client.post(f"/api/trees/{right.tree.uid}/commands", body, format="json")
    assert answer.status_code == 404
    assert get_actor(two_groves.both, right.grove)
