"""Evidence that is undone stays where it is, and counts for nothing; a claim that is undone is
withdrawn. Nothing is deleted."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from loom.claims.models import Cite, Claim, Commitment
from loom.documents.models import Document
from loom.people.models import User
from loom.trees.models import Tree
from tests.claims.conftest import refused
from tests.commands.conftest import Say

Write = Callable[..., str]


@pytest.fixture
def owner_client(owner: User) -> APIClient:
    """The API as the owner may use it."""
    client = APIClient()
    client.force_login(owner)
    return client


@pytest.fixture
def texts(write: Write) -> list[str]:
    """Four texts of the owner."""
    return [str(write(f"The lamp was seen, {number}.")) for number in range(4)]


@pytest.fixture
def claim(say: Say, writer: User, texts: list[str]) -> str:
    """A claim of the writer that cites the first text."""
    opened = say(f'claim "The lamp is lit" test:"look" cite:{texts[0]}', by=writer)
    return str(opened.body["refs"][0])


def _numbers() -> tuple[int, int, int, int]:
    claim = Claim.objects.get()
    return claim.strong, claim.moderate, claim.weak, claim.unanswered


def test_undone_evidence_stays_and_counts_for_nothing(
    say: Say, claim: str, texts: list[str], tree: Tree, owner_client: APIClient
) -> None:
    """The number of pieces never falls."""
    before = _numbers()
    say(f'cite {texts[1]} for {claim} "seen"')
    assert _numbers() != before
    say("undo")
    assert _numbers() == before
    body = owner_client.get(f"/api/claims/{claim}?tree={tree.uid}").json()
    assert body["evidence_total"] == 2
    (back,) = [cite for cite in body["evidence"] if cite["taken_back"]]
    assert (back["strength"], back["by_what"]) == ("weak", "taken back")
    assert f"[{texts[1]}] weak, taken back" in say(f"list {claim} evidence").reply
    say("redo")
    assert _numbers() != before
    assert not Cite.objects.filter(answer="taken back").exists()


def test_what_was_taken_back_can_be_cited_again(say: Say, claim: str, texts: list[str]) -> None:
    say(f"cite {texts[1]} for {claim}")
    assert "already" in refused(say, f"cite {texts[1]} for {claim}").message
    say("undo")
    say(f"cite {texts[1]} for {claim}")
    assert Cite.objects.count() == 3


def test_undoing_what_refuted_a_claim_opens_it_again(
    say: Say, claim: str, texts: list[str]
) -> None:
    for text in texts[1:3]:
        say(f"cite {text} against {claim}")
    last = f"cite {texts[3]} against {claim}"
    say(last)
    assert Claim.objects.get().state == "refuted"
    say("undo")
    assert Claim.objects.get().state == "hypothesis"
    say("redo")
    assert Claim.objects.get().state == "refuted"


def test_an_undercut_that_is_undone_leaves_the_inference(
    say: Say, claim: str, texts: list[str]
) -> None:
    before = _numbers()
    say(f'cite {texts[1]} undercuts {texts[0]} in {claim} "asleep"')
    assert _numbers() != before
    say("undo")
    assert _numbers() == before


def test_evidence_of_a_commitment_or_with_an_answer_cannot_be_undone(
    say: Say, writer: User, claim: str, texts: list[str]
) -> None:
    say(f"cite {texts[3]} against {claim}")
    say(f'address {texts[3]} in {claim} "he slept"', by=writer)
    assert refused(say, "undo").code == "CONFLICT"
    for text in texts[:3]:
        say(f"cite {text} for {claim}")
    say(f"check {claim}", by=writer)
    say(f'conclude {claim} "it is lit"', by=writer)
    say(f"commit {claim}", by=writer)
    assert Commitment.objects.count() == 1
    assert refused(say, "undo").code == "CONFLICT"
    assert not Cite.objects.filter(answer="taken back").exists()


def test_a_claim_that_is_undone_is_withdrawn_unless_somebody_built_on_it(
    say: Say, writer: User, claim: str, texts: list[str]
) -> None:
    say("undo", by=writer)
    assert (Claim.objects.get().state, Claim.objects.get().why) == ("withdrawn", "taken back")
    say("redo", by=writer)
    assert (Claim.objects.get().state, Claim.objects.get().why) == ("hypothesis", "")
    say(f"cite {texts[1]} for {claim}")
    assert refused(say, "undo", by=writer).code == "CONFLICT"


def test_open_claims_are_listed_by_nearness(
    say: Say, writer: User, write: Write, owner_client: APIClient, tree: Tree
) -> None:
    above = str(write("The lamp was seen."))
    here = str(write("It burned.", below=above))
    aside = str(write("A sailor slept."))

    def opened(statement: str, cited: str, **who: User) -> str:
        return str(say(f'claim "{statement}" cite:{cited}', **who).body["refs"][0])

    of_aside = opened("He slept", aside, by=writer)
    own = opened("He snored", aside)
    of_above = opened("It was seen", above, by=writer)
    of_here = opened("It burned", here, by=writer)
    newest = opened("He dreamt", aside, by=writer)
    gone = opened("He left", here)
    say(f'withdraw {gone} "no"')
    address = f"/api/claims?tree={tree.uid}&near="
    listed = owner_client.get(address + here).json()
    ids = [row["id"] for row in listed["results"]]
    assert ids == [of_here, of_above, own, newest, of_aside]
    assert owner_client.get(address + "zzzz").json()["count"] == 5
    say('write doc:"Log" new "The keeper slept."')
    document = f"doc:{Document.objects.get().uid}"
    of_document = opened("He kept a log", document, by=writer)
    assert owner_client.get(address + document).json()["results"][0]["id"] == of_document
    listed = owner_client.get(f"/api/claims?tree={tree.uid}&source={document}").json()["results"]
    assert [row["id"] for row in listed] == [of_document]
    assert owner_client.get(address + here + "&limit=2").json()["results"][1]["id"] == of_above
