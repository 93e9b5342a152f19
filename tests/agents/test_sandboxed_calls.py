"""The calls behind texts of a sandbox, which are kept in it, or in the tree at which it hangs: of
the texts that it copied, and of those that were promoted."""

import json
from typing import Any

import pytest

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.reading.queries.provenance import provenance_of
from loom.reading.queries.verify import verify_tree
from loom.sandboxes.queries import new_nodes
from loom.transfer import importing
from loom.transfer.exporting import FORMATS
from loom.transfer.writers import heddle as heddle_writer
from loom.trees.models import Node, Tree
from loom.turns.models import Call
from tests.agents.acting import asked, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.transfer.conftest import file_of, tree_of
from tests.transfer.planting import wanted

pytestmark = pytest.mark.django_db(transaction=True)


def _status(actor: Actor, tree: Tree) -> str:
    return str(verify_tree(actor, tree, None)["status"])


def _file(actor: Actor, tree: Tree) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(b"".join(heddle_writer.pieces(actor, tree)))
    return body


def _brought(actor: Actor, file: dict[str, Any]) -> Tree:
    row = file_of(actor, file)
    importing.run(row.uid)
    row.refresh_from_db()
    return tree_of(row)


@pytest.fixture
def sandbox(
    actor: Actor, tree: Tree, opening: str, agent: Participant, provider: ScriptedProvider
) -> Tree:
    """A sandbox below a text of a model, with another text of a model in it."""
    provider.script(says("A lamp burns."))
    above = went(asked(actor, tree, agent)).node
    assert above is not None and above.call_uid
    execute_line(actor, tree, Request(f"sandbox from {above.local_id}"))
    sandbox = Tree.objects.get(sandbox_of=actor.user)
    provider.script(says("The lamp goes out."))
    went(asked(actor, sandbox, agent))
    assert Call.objects.filter(tree=sandbox).count() == 1
    return sandbox


def test_copied_texts_of_models_verify_in_a_sandbox(actor: Actor, sandbox: Tree) -> None:
    assert _status(actor, sandbox) == "valid"


def test_both_trees_verify_after_promoting_its_undo_and_promoting_again(
    actor: Actor, tree: Tree, sandbox: Tree
) -> None:
    (text,) = new_nodes(sandbox)
    for line, home in (("promote", sandbox), ("undo", tree), ("redo", tree), ("undo", tree)):
        home.refresh_from_db()
        execute_line(actor, home, Request(line))
        assert (_status(actor, tree), _status(actor, sandbox)) == ("valid", "valid"), line
    shown = provenance_of(actor, sandbox, None, Node.objects.get(pk=text.pk))
    assert shown.call is not None and shown.call.call.uid == text.call_uid
    assert shown.generation is not None and shown.generation.uid == text.generation_uid
    sandbox.refresh_from_db()
    execute_line(actor, sandbox, Request("promote"))
    assert (_status(actor, tree), _status(actor, sandbox)) == ("valid", "valid")


def test_the_file_of_a_sandbox_has_the_calls_of_its_texts(
    actor: Actor, tree: Tree, sandbox: Tree
) -> None:
    execute_line(actor, sandbox, Request("promote"))
    execute_line(actor, tree, Request("undo"))
    sandbox.refresh_from_db()
    named = {*Node.objects.filter(tree=sandbox).exclude(call_uid="").values_list("call_uid")}
    file = _file(actor, sandbox)
    assert {(call["id"],) for call in file["calls"]} == named and len(named) == 2
    packed = b"".join(FORMATS["zip"].pieces(wanted(actor, sandbox, calls=True)))
    assert all(packed.count(f"calls/{uid}.json".encode()) for (uid,) in named)
    assert _status(actor, _brought(actor, file)) == "valid"


def test_the_calls_that_the_file_of_its_tree_has_are_in_it_once(
    actor: Actor, tree: Tree, sandbox: Tree
) -> None:
    file = _file(actor, tree)
    every = [*file["calls"], *file["sandboxes"][0]["file"]["calls"]]
    assert len({call["id"] for call in every}) == len(every) == 2
    again = _brought(actor, file)
    inner = Tree.objects.filter(sandbox_of=actor.user).exclude(pk=sandbox.pk).get()
    assert (_status(actor, again), _status(actor, inner)) == ("valid", "valid")
    execute_line(actor, inner, Request("promote"))
    assert _status(actor, again) == "valid"
