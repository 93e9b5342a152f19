"""What an answer tells programs, which need not read the words of its reply (§14.3.3)."""

from collections.abc import Callable

import pytest

from loom.access import Actor
from loom.errors import CommandError
from loom.people.models import User
from loom.trees.commands.trees import change_tree
from loom.trees.models import Tree
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db

Write = Callable[..., str]


def test_an_edit_says_how_it_was_saved(say: Say, write: Write) -> None:
    node = write("The gate was old.")
    assert say(f'edit {node} replace:"old" with:"new"').body["did"] == {"saved_as": "branch"}
    assert say(f'edit {node} replace:"old" with:"green" as:version').body["did"] == {
        "saved_as": "version"
    }


def test_marks_and_windows_say_what_they_are_now(say: Say, write: Write) -> None:
    node = write("The gate was new.")
    assert say(f"rate {node} plus").body["did"] == {"rating": "plus"}
    assert say(f"rate {node} none").body["did"] == {"rating": "none"}
    assert say(f"main {node}").body["did"] == {"marked": True}
    assert say("main off").body["did"] == {"marked": False}
    assert say(f"open {node}").body["did"] == {"kept": False}
    assert say(f"open {node} keep").body["did"] == {"kept": True}


def test_a_task_of_a_text_says_its_state(say: Say, write: Write) -> None:
    node = write("- [ ] buy paint")
    assert say(f"todo check {node} token:1").body["did"] == {"task": "checked"}
    assert say(f"todo uncheck {node} token:1").body["did"] == {"task": "unchecked"}
    assert say(f'todo note {node} token:1 "green"').body["did"] == {"task": "noted"}


def test_a_claim_and_evidence_say_how_strong_it_is(say: Say, write: Write) -> None:
    node, other = write("The gate is new."), write("The paint is wet.")
    made = say(f'claim "The gate was replaced." cite {node}').body
    assert made["did"] == {"claim": made["refs"][0], "evidence": "weak", "quote": ""}
    cited = say(f'cite {other} for {made["refs"][0]} words:"The paint is dry"').body
    assert cited["did"] == {"evidence": "weak", "quote": "not there"}


def test_undo_and_redo_say_what_they_took_back(say: Say, write: Write) -> None:
    node = write("The gate was new.")
    say(f"tag {node} #a")
    say(f"prune {node}", act="one", doing="took out the gate")
    pruned, tagged = {"verb": "prune", "act": "took out the gate"}, {"verb": "tag"}
    assert say("undo n:2").body["did"] == {"undone": [pruned, tagged]}
    assert say("redo n:2").body["did"] == {"undone": [tagged, pruned]}
    assert "did" not in say("tree").body


def test_an_undo_of_rights_says_whose(say: Say, writer: User) -> None:
    say("allow readers hidden")
    say(f'allow "{writer.username}" read')
    whose = {"verb": "allow", "who": "Writer"}
    assert say("undo").body["did"] == {"undone": [whose]}
    assert say("redo").body["did"] == {"undone": [whose]}
    roles = say("undo n:2").body["did"]["undone"]
    assert roles == [whose, {"verb": "allow", "role": "reader"}]


def test_an_action_that_is_undone_is_named(say: Say, actor: Actor, tree: Tree) -> None:
    change_tree(actor, tree, {"memory": "Marie mends clocks."})
    [part] = say("undo").body["did"]["undone"]
    assert part == {"action": "change_tree"}


def test_a_repeated_answer_says_it_again(say: Say, write: Write) -> None:
    node = write("The gate was old.")
    first = say(f'edit {node} replace:"old" with:"new"', key="once").body
    again = say(f'edit {node} replace:"old" with:"new"', key="once").body
    assert (again["repeated"], again["did"]) == (True, first["did"])


def test_a_refusal_names_the_permissions_that_are_missing(
    say: Say, write: Write, reader: User
) -> None:
    node = write("The gate was old.")
    with pytest.raises(CommandError) as refused:
        say(f"prune {node}", by=reader)
    assert refused.value.body["lacks"] == ["loom_write"]
    with pytest.raises(CommandError) as missing:
        say("prune zzzz")
    assert "lacks" not in missing.value.body
