"""Augments that are kept from a trail or a claim, and what they never hold."""

import pytest

from loom.documents.models import Document
from loom.documents.queries import newest
from tests.claims.conftest import refused
from tests.commands.conftest import Say
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db


def _text(title: str) -> str:
    return newest(Document.objects.get(title=title)).text


def test_a_claim_is_kept_with_what_became_of_it(say: Say, write: Say) -> None:
    a, b = str(write("I saw the lamp")), str(write("it was dark"))
    claim = str(say(f'claim "The lamp is lit" test:"look" cite:{a}').body["refs"][0])
    say(f'cite {b} against {claim} "nobody saw it"')
    say(f'withdraw {claim} "a witness is no measurement"')
    reply = say(f"augment store antipatterns/witness from {claim}").reply
    assert reply.startswith("✓ stored antipatterns/witness (revision 1)")
    text = _text("antipatterns/witness")
    assert text.startswith("# The lamp is lit\n") and "withdrawn" in text
    assert "Withdrawn: a witness is no measurement" in text
    assert f"* [{b}] against, " in text and ": nobody saw it" in text
    assert "I saw the lamp" not in text  # no text of an item
    assert "antipatterns/witness" in say("augment list").reply
    assert "✓" in say("augment load antipatterns/witness").reply


def test_a_trail_is_kept_with_its_types_and_notes(say: Say, write: Say) -> None:
    a, b = str(write("the lamp")), str(write("a witness"))
    say(f"link {b} to {a} as:supports")
    say(f"switch to {b}")
    say(f"expand supports of {b}")
    say('trail save "by witness"')
    say('trail note "by witness" n:1 "begin with who saw it"')
    say('augment store patterns/witness from trail:"by witness"')
    text = _text("patterns/witness")
    assert text.startswith("# by witness\n") and "begin with who saw it" in text
    assert f"supports → [{a}]" in text and "the lamp" not in text
    say('trail note "by witness" n:1 "begin with when"')
    again = say('augment store patterns/witness from trail:"by witness"').reply
    assert "(revision 2)" in again and Document.objects.count() == 1


def test_other_items_are_refused(say: Say, write: Say) -> None:
    a = str(write("the lamp"))
    assert refused(say, f"augment store patterns/x from {a}").code == "NOT_FOUND"
    assert refused(say, 'augment store patterns/x from trail:"none"').code == "NOT_FOUND"
    assert not Document.objects.exists()


def test_nothing_of_another_grove_is_kept(two_groves: TwoGroves) -> None:
    left, world = two_groves.left, two_groves
    reply = left.run(world.both, f'claim "The tower is kept" cite:{world.far}')
    claim = reply.split("[")[1][:4]
    left.run(world.both, f"augment store patterns/tower from {claim}")
    text = _text("patterns/tower")
    assert SECRET not in text and "The tower is kept" in text
    left.run(world.only_left, f"augment store patterns/own from {claim}")
    assert "tree:" not in _text("patterns/own")  # evidence that they may not see is left out
