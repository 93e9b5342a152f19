"""prune, restore, exclude, include: one row is flagged, the rest is computed."""

from collections.abc import Callable

import pytest

from loom.engine.models import Event
from loom.errors import CommandError
from loom.trees.models import Node
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def test_prune_flags_one_row_and_counts_what_it_hides(say: Say, write: Write) -> None:
    a = write("a")
    b = write("b", a)
    write("c", b)
    write("d", a)
    answer = say(f"prune {a}")
    assert answer.reply == f"✓ pruned [{a}] and 3 descendants"
    assert list(Node.objects.filter(pruned=True).values_list("local_id", flat=True)) == [a]
    last = Event.objects.filter(stream__name__startswith="tree:").last()
    assert last is not None
    assert last.kind == "node.flagged"
    assert last.payload == {"node": a, "slot": a, "flag": "pruned", "value": True}
    assert say(f"restore {a}").reply == f"✓ restored [{a}] and 3 descendants"


def test_a_position_below_a_pruned_node_moves_above_it(say: Say, write: Write) -> None:
    a = write("a")
    b = write("b", a)
    write("c", b)
    say(f"prune {b}")
    assert say("view here").body["position"] == a


def test_pruning_a_version_lets_the_newest_other_stand(say: Say, write: Write) -> None:
    a = write("one")
    b = say(f'edit {a} "two" as:version').body["refs"][0]
    assert say(f"prune {b} version").reply == f"✓ pruned version [{b}]"
    assert "one" in say("view here").reply
    with pytest.raises(CommandError) as refused:
        say(f"prune {a} version")
    assert (refused.value.code, refused.value.hint) == ("REJECTED", f"prune {a}")


@pytest.mark.parametrize("verb", ["prune", "exclude"])
def test_the_root_is_never_flagged(say: Say, verb: str) -> None:
    with pytest.raises(CommandError) as refused:
        say(f"{verb} root")
    assert refused.value.code == "REJECTED"


def test_twice_is_refused(say: Say, write: Write) -> None:
    a = write("a")
    say(f"exclude {a}")
    with pytest.raises(CommandError):
        say(f"exclude {a}")
    assert say(f"include {a}").reply == f"✓ included [{a}]"
    with pytest.raises(CommandError):
        say(f"restore {a}")
