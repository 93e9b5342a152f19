"""Refusals that name what is so, and a line that does what was meant."""

import pytest

from loom.claims.models import Claim
from tests.claims.conftest import refused
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db


def test_evidence_is_answered_as_its_side_needs(say: Say, write: Say) -> None:
    a, b, c = (write(f"a lamp {n}") for n in range(3))
    claim = say(f'claim "It is lit" cite:{a}').body["refs"][0]
    why = refused(say, f"unlink {a} to {claim}")
    assert why.hint == f'→ cite REF against {claim} "why" answers it'
    say(f'cite {b} against {claim} "why"')
    assert Claim.objects.get().unanswered == 1
    why = refused(say, f"unlink {b} to {claim}")
    assert why.hint == f'→ address {b} in {claim} "how" answers it'
    say(f'address {b} in {claim} "how"')
    assert Claim.objects.get().unanswered == 0
    say(f"link {a} to {c} as:evidence")
    assert refused(say, f"unlink {a} to {c}").hint == f"→ link REF to [{c}] as:refutes answers it"


def test_a_revision_to_come_is_not_found(say: Say) -> None:
    say('write doc:"d" new "x"')
    for line in ('append "y"', '"y" at:start', 'replace:"x" with:"z"'):
        why = refused(say, f'write doc:"d" {line} revision:99')
        assert why.code == "NOT_FOUND"
        assert why.message == 'Revision 99 of doc:"d" was not found.'
        assert why.hint.startswith("the newest is revision 1;")


def test_the_root_is_not_included(say: Say) -> None:
    assert refused(say, "include root").message == "The root can't be included."
    assert refused(say, "exclude root").message == "The root can't be excluded."


def test_a_pin_of_no_node_leads_to_the_line_that_says_so(say: Say) -> None:
    why = refused(say, "drop pin:zz99")
    assert "drop zz99" in why.hint
    assert refused(say, "drop zz99").code == "NOT_FOUND"
    assert refused(say, "drop pin:a2a2").code == "NOT_FOUND"
