"""Claims in a file of Heddle's own format: what it keeps, and what an import makes of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.claims.models import Cite, Claim
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.language import ids
from loom.links.models import Link
from loom.people.models import User
from loom.transfer.models import Import
from loom.transfer.writers import heddle as heddle_writer
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say
from tests.transfer.conftest import Bring, bring, tree_of  # noqa: F401 (a fixture)
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


def _file(actor: Actor, tree: Tree) -> dict[str, Any]:
    content = b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk)))
    value: dict[str, Any] = json.loads(content)
    return value


def _left_out(row: Import) -> str:
    return " ".join(row.report["says"]["left_out"])


@pytest.fixture
def claims(say: Say, write: Say, writer: User) -> dict[str, str]:
    """Three claims of the writer by name, of which one is committed and vetoed; and their texts."""
    texts = [str(write(f"I saw the lamp burn, {number}\nsaid {number}")) for number in "012"]
    names = dict(zip("abc", texts, strict=True))

    def claim(line: str) -> str:
        return str(say(line, by=writer).body["refs"][0])

    lit = claim(f'claim "It is lit" test:"look" cite:{names["a"]} words:"I saw the lamp burn"')
    for name in "bc":
        say(f'cite {names[name]} lines:1 for {lit} "a witness"', by=writer)
    say(f"cite {names['a']} for {lit}")  # a person confirms
    for line in (f"check {lit}", f'conclude {lit} "so"', f"commit {lit}"):
        say(line, by=writer)
    say(f'veto {lit} "they lied"')
    true = claim(f'claim "That is true" about {lit} scope:tree cite:{names["b"]}')
    say(f'cite {names["c"]} against {true} "it smoked"')
    say(f'address {names["c"]} in {true} "at first only"')
    say(f"cite {names['a']} undercuts {names['b']} in {true}")
    gone = claim(f'claim "It is dark" cite:{names["a"]}')
    say(f'withdraw {gone} "nobody saw it"', by=writer)
    return {**names, "lit": lit, "true": true, "gone": gone}


@pytest.fixture
def write(say: Say) -> Callable[..., str]:
    """The id of a new text below the root."""
    return lambda text: str(say(f"respond root\n{text}\n←").body["refs"][0])


def test_an_import_opens_claims_again_with_their_evidence(
    claims: dict[str, str],
    actor: Actor,
    tree: Tree,
    say: Say,
    bring: Bring,  # noqa: F811 (the fixture)
    writer: User,
) -> None:
    row = bring(_file(actor, tree))
    brought = tree_of(row)
    opened = {claim.node.local_id: claim for claim in Claim.objects.filter(tree=brought)}
    assert {name: opened[claims[name]].state for name in ("lit", "true", "gone")} == {
        "lit": "hypothesis",
        "true": "hypothesis",
        "gone": "withdrawn",
    }
    lit, true = opened[claims["lit"]], opened[claims["true"]]
    assert (lit.test, lit.conclusion, lit.level, lit.is_vetoed) == ("look", "", "", False)
    assert (true.scope, true.about) == ("tree", ids.of_node(lit.pk))
    assert opened[claims["gone"]].why == "nobody saw it"
    assert lit.by == lit.node.author and lit.person == actor.participant
    cites = list(Cite.objects.filter(claim=lit).order_by("pk"))
    nodes = {node.pk: node.local_id for node in Node.objects.filter(tree=brought)}
    assert [(nodes[cite.item], cite.gate, cite.why) for cite in cites] == [
        (claims["a"], "found", ""),
        (claims["b"], "", "a witness"),
        (claims["c"], "", "a witness"),
        (claims["a"], "", ""),
    ]
    assert cites[0].words == "I saw the lamp burn" and cites[1].words == "I saw the lamp burn, 1"
    # Weighed anew: nobody confirms it here, and what was imported is not verified.
    assert (lit.strong, lit.moderate, lit.weak) == (0, 0, 3)
    assert Link.objects.filter(tree=brought, type="supports").count() == 6
    against = Cite.objects.get(claim=true, side="against")
    assert (against.why, against.answer, true.unanswered) == ("it smoked", "at first only", 0)
    undercut = Cite.objects.get(claim=true, side="undercuts").undercuts
    assert undercut is not None and nodes[undercut.item] == claims["b"]
    left_out = _left_out(row)
    assert "commitments of 1 claim, 1 of them vetoed: it begins again as a hypothesis" in left_out
    assert row.report["kept"]["claims"] == 3 and "Claims: 3." in row.report["says"]["came"]
    client = APIClient()
    client.force_login(actor.user)
    assert client.get(f"/api/claims?tree={brought.uid}").json()["count"] == 3
    assert client.get(f"/api/trees/{brought.uid}/verify").json()["status"] == "valid"
    for line in (f"list {claims['lit']} evidence", f"cite {claims['c']} against {claims['lit']}"):
        execute_line(actor, brought, Request(line))
    for line in (f"check {claims['lit']}", f'withdraw {claims["lit"]} "no"'):
        execute_line(actor, brought, Request(line))


def test_the_preview_says_that_commitments_are_not_kept(
    claims: dict[str, str], tree: Tree, owner: User
) -> None:
    client = APIClient()
    client.force_login(owner)
    for name in ("heddle", "zip"):
        preview = client.get(f"/api/trees/{tree.uid}/export/preview?format={name}").json()
        (loss,) = [loss for loss in preview["left_out"] if loss["what"] == "commitments"]
        assert loss["says"] == "commitment of 1 claim: it begins again as a hypothesis"
    page = client.get(f"/trees/{tree.uid}/export?format=heddle").content.decode()
    assert "begins again as a hypothesis" in page


def test_a_claim_that_came_without_its_record_is_a_hypothesis_without_evidence(
    claims: dict[str, str],
    actor: Actor,
    tree: Tree,
    bring: Bring,  # noqa: F811
) -> None:
    file = _file(actor, tree)
    del file["claims"]
    row = bring(file)
    brought = tree_of(row)
    assert set(Claim.objects.filter(tree=brought).values_list("state", flat=True)) == {"hypothesis"}
    assert Cite.objects.filter(claim__tree=brought).count() == 0
    assert "evidence of 3 claims, of which the file says nothing" in _left_out(row)
    line = f'cite {claims["b"]} for {claims["lit"]} "again"'
    execute_line(actor, brought, Request(line))
    lit = Claim.objects.get(tree=brought, node__local_id=claims["lit"])
    assert lit.strong + lit.moderate + lit.weak == 1


def test_a_file_proves_nothing(
    claims: dict[str, str],
    actor: Actor,
    tree: Tree,
    bring: Bring,  # noqa: F811
) -> None:
    file = _file(actor, tree)
    for part in file["claims"]:
        for cited in part["evidence"]:
            cited |= {"words": "words that nobody has said", "is_quote": True}
        part["state"] = "committed"
    file["claims"] += [
        {"id": claims["a"]},  # no claim
        {"id": claims["lit"], "state": "testing"},  # twice
        {"id": claims["lit"], "level": "definitive"},  # no such field
        {"id": "zz99", "evidence": [{"item": "a2a2", "side": "for"}]},
        "nothing",
    ]
    brought = tree_of(bring(file))
    assert Claim.objects.filter(tree=brought).count() == 3
    for claim in Claim.objects.filter(tree=brought):
        assert (claim.state, claim.level, claim.strong) == ("hypothesis", "", 0)
    gates = Cite.objects.filter(claim__tree=brought).values_list("gate", flat=True)
    assert set(gates) == {"not there"}
    wrong: Any
    for wrong in (5, {}, [{"id": claims["lit"], "evidence": [{"item": claims["lit"]}]}]):
        again = tree_of(bring({**file, "claims": wrong}))
        assert Claim.objects.filter(tree=again).count() == 3
        assert not Cite.objects.filter(claim__tree=again).exists()


def test_a_claim_is_no_evidence_for_itself_in_a_file(
    claims: dict[str, str],
    actor: Actor,
    tree: Tree,
    bring: Bring,  # noqa: F811
) -> None:
    file = _file(actor, tree)
    for part in file["claims"]:
        part["evidence"] = [{"item": part["id"], "side": "for"}]
    row = bring(file)
    assert not Cite.objects.filter(claim__tree=tree_of(row)).exists()
    lost = f"{len(file['claims'])} pieces of evidence at no other text of the tree"
    assert lost in _left_out(row)


def test_evidence_outside_of_the_tree_is_counted_and_not_in_the_file(
    two_groves: TwoGroves,
    bring: Bring,  # noqa: F811
) -> None:
    left, both = two_groves.left, two_groves.both
    left.run(both, 'write doc:"secret plans" new "The kestrel flies at noon."')
    reply = left.run(both, 'claim "It flies" cite:doc:"secret plans"')
    actor = get_actor(both, left.grove)
    file = _file(actor, left.tree)
    (part,) = file["claims"]
    assert (part["elsewhere"], part.get("evidence")) == (1, None), reply
    assert "kestrel" not in json.dumps(file)
