"""What a claimant opened on the way is weak evidence that nobody gave: shown, counted for tentative
only, and a person's own affair."""

from collections.abc import Callable

import pytest
from django.test import Client

from loom.access import acting_as, get_actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.claims import claim_body
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.trees.models import Tree
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


@pytest.fixture
def ids(say: Say, write: Write) -> dict[str, str]:
    """A claim about a lamp, whose claimant follows a link of it, one of the claim, and another."""
    a, b, c, d = (write(name, "root") for name in ("lamp", "oil", "debt", "will"))
    say(f"link {a} to {b} as:uses")
    say(f"link {c} to {d} as:supports")
    name = say(f'claim "It is paid." about {a} cite:{c}').body["refs"][0]
    say(f"expand uses of {a}")
    say(f"expand supports of {c} inline")
    say(f"expand uses of {a}")  # once more is once
    say(f"expand supported_by of {d}")  # leads to what is cited
    return {"a": a, "b": b, "c": c, "d": d, "claim": name}


def test_what_was_opened_is_weak_evidence_and_counts_for_tentative_only(
    say: Say, ids: dict[str, str], owner: User, tree: Tree, client: Client
) -> None:
    stored = Claim.objects.get()
    body = claim_body(get_actor(owner, tree.grove), stored)
    assert [
        (opening["item"], opening["says"], opening["strength"]) for opening in body["explored"]
    ] == [
        (ids["b"], f"explored [uses] of [{ids['a']}]", "weak"),
        (ids["d"], f"explored [supports] of [{ids['c']}]", "weak"),
    ]
    assert Cite.objects.count() == 1 and body["weak"] + body["moderate"] + body["strong"] == 1
    listed = say(f"list {ids['claim']} evidence").reply
    assert f"  · [{ids['b']}] weak, explored [uses] of [{ids['a']}]" in listed
    client.force_login(owner)
    page = client.get(f"/trees/{tree.uid}/claims/{ids['claim']}").content.decode()
    assert "Owner also opened 2 items on the way" in page
    have = {}
    for level in ("tentative", "moderate"):
        asked = {"tree": tree.uid, "level": level}
        answer = client.get(f"/api/claims/{ids['claim']}/obligations", asked).json()
        have[level] = answer["obligations"][0]["have"]
    assert have["tentative"] == 3 and have["moderate"] <= 1
    # What is cited is evidence that was given.
    say(f"cite {ids['b']} for {ids['claim']}")
    body = claim_body(get_actor(owner, tree.grove), stored)
    assert [opening["item"] for opening in body["explored"]] == [ids["d"]]


def test_what_a_person_opened_is_shown_to_nobody_else(
    say: Say, ids: dict[str, str], owner: User, writer: User, tree: Tree
) -> None:
    stored = Claim.objects.get()
    assert claim_body(get_actor(writer, tree.grove), stored)["explored"] == []
    line = f"list {ids['claim']} evidence"
    assert "explored" not in say(line, by=writer).reply
    agent = Participant.objects.create(
        grove=tree.grove, kind="model", name="Low", permissions=["loom_aware"]
    )
    acting = acting_as(get_actor(owner, tree.grove), agent)  # whose steps are open to members
    assert "explored" not in execute_line(acting, tree, Request(line)).reply


def test_what_was_opened_is_shown_as_far_as_it_may_be_read(two_groves: TwoGroves) -> None:
    left, near = two_groves.left, two_groves.left.text.local_id
    left.run(two_groves.both, f"link {near} to {two_groves.far} as:supports")
    left.run(two_groves.both, f'claim "So it is." cite:{near}')
    left.run(two_groves.both, f"expand supports of {near} inline")
    stored = Claim.objects.get()
    assert len(claim_body(left.actor(two_groves.both), stored)["explored"]) == 1
    # An agent's steps are open to members, and what they led to is not.
    stored.by.kind = "model"
    assert claim_body(left.actor(two_groves.only_left), stored)["explored"] == []
