"""Names are found whatever their case, in every alphabet and on both databases."""

import pytest

from loom.access import Actor
from loom.errors import CommandError
from loom.people.models import Participant
from loom.trees.commands import trees
from loom.trees.models import Tree
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db


def test_names_of_other_alphabets_are_found_in_any_case(
    say: Say, actor: Actor, tree: Tree, muse: Participant
) -> None:
    Participant.objects.filter(pk=muse.pk).update(name="Ölag")
    trees.new_tree(actor, title="Ärger 100%")
    shown = say('view tree:"ÄRGER 100%"').reply
    assert "Ärger 100%" in shown
    assert say('continue using agent:"ölag"', dry_run=True).body["ok"]
    say('stash "Übung" "words"')
    assert "Übung" in say('recall "übung"').reply


def test_a_trail_is_not_named_as_another_but_for_its_case(say: Say, write: Say) -> None:
    say(f"view {write('A text')}")
    say('trail save "Mein Weg über Öl"')
    with pytest.raises(CommandError) as refused:
        say('trail save "MEIN WEG ÜBER ÖL"')
    assert refused.value.code == "CONFLICT"
