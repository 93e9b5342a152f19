"""A trail is evidence: moderate if it has three steps over two link types, else weak; for those who
may read it."""

from collections.abc import Callable

import pytest
from django.test import Client

from loom.access import get_actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.claims import claim_body
from loom.claims.rules.levels import Basis, strength_of
from loom.errors import CommandError
from loom.people.models import User
from loom.trees.models import Tree
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


@pytest.fixture
def walked(say: Say, write: Write) -> str:
    """A trail of three steps over two types; the first node of it."""
    a, b, c, d = (write(name, "root") for name in ("lamp", "oil", "debt", "will"))
    say(f"link {a} to {b} as:uses")
    say(f"link {b} to {c} as:supports")
    say(f"link {c} to {d} as:supports")
    say(f"switch to {a}")
    for kind, of in (("uses", a), ("supports", b), ("supports", c)):
        say(f"expand {kind} of {of}")
    say('trail save "who pays"')
    return a


@pytest.mark.parametrize(
    ("extent", "strength"),
    [((3, 2), "moderate"), ((2, 2), "weak"), ((9, 1), "weak"), ((0, 0), "weak")],
)
def test_a_trail_weighs_by_its_steps_and_types(extent: tuple[int, int], strength: str) -> None:
    assert strength_of(Basis(trail=extent))[0] == strength


def test_a_trail_is_cited_for_a_claim(
    say: Say, walked: str, owner: User, reader: User, tree: Tree, client: Client
) -> None:
    name = say(f'claim "The debt pays for the lamp." cite:{walked}').body["refs"][0]
    reply = say(f'cite trail:"who pays" for {name} "each step is a text"').reply
    assert "evidence: moderate, a trail" in reply
    row = Cite.objects.get(link=None)
    assert row.link is None and row.version == "4"
    with pytest.raises(CommandError, match="already"):
        say(f'cite trail:"WHO PAYS" for {name}')
    client.force_login(owner)
    page = client.get(f"/trees/{tree.uid}/claims/{name}").content.decode()
    assert "trail:&quot;who pays&quot;" in page and "/trails/" in page
    # A private trail is its owner's alone, also as evidence.
    stored = Claim.objects.get()
    body = claim_body(get_actor(reader, tree.grove), stored)
    assert [cite["item"] for cite in body["evidence"]] == [walked]
    assert claim_body(get_actor(reader, tree.grove), stored)["evidence_total"] == 2
    say('trail share "who pays"')
    seen = claim_body(get_actor(reader, tree.grove), stored)["evidence"]
    assert [ref["item"].startswith("trail:") for ref in seen] == [False, True]


def test_what_takes_a_node_says_what_a_trail_is(say: Say, walked: str) -> None:
    with pytest.raises(CommandError, match="is a trail; name a node"):
        say('switch to trail:"who pays"')
