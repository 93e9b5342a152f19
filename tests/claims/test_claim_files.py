"""Claims in the ZIP of a tree, and what is wrong with evidence in the report on a view."""

import io
import json
import zipfile
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.people.models import User
from loom.trees.models import Tree
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


def test_the_archive_has_evidence_by_claim_source_and_strength_and_decisions(
    say: Say, write: Say, owner: User, writer: User, tree: Tree
) -> None:
    """Each field of a piece of evidence is in its file."""
    texts = [str(write(f"I saw the lamp burn, {n}")) for n in range(3)]
    opened = say(f'claim "It is lit" test:"look" cite:{texts[0]}', by=writer)
    claim = str(opened.body["refs"][0])
    for text in texts[1:]:
        say(f'cite {text} for {claim} "a witness" words:"I saw the lamp burn"', by=writer)
    say(f"cite {texts[0]} for {claim}")  # a person confirms
    for line in (f"check {claim}", f'conclude {claim} "so"', f"commit {claim}"):
        say(line, by=writer)
    client = APIClient()
    client.force_login(owner)
    answer = client.get(f"/api/trees/{tree.uid}/export?format=zip")
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    files = zipfile.ZipFile(io.BytesIO(content))
    names = files.namelist()
    assert "evidence/schema.json" in names and f"evidence/source/{texts[1]}.md" in names
    assert "evidence/strength/strong.md" in names
    cite = files.read(f"evidence/claim/{claim}/002-for-{texts[1]}.md").decode()
    assert 'proof_status: "committed at moderate"' in cite and "> I saw the lamp burn" in cite
    fields = ("title", "claim", "strength", "source", "time", "proof_status", "related")
    head = cite.split("---\n")[1].splitlines()
    assert {*fields} <= {line.partition(":")[0] for line in head}
    assert "\na witness\n" in cite
    asked = f"/api/evidence?tree={tree.uid}&claim={claim}"
    (group,) = client.get(asked).json()["groups"]
    record = next(row["record"] for row in group["evidence"] if row["item"] == texts[1])
    for line in head:
        name, _, value = line.partition(": ")
        assert record[name] == json.loads(value), name
    assert record["content"] == "I saw the lamp burn"
    decision = json.loads(files.read(f"decisions/{claim}/001-moderate.json"))
    assert decision["record"]["statement"] == "It is lit" and len(decision["hash"]) == 64


def test_more_evidence_is_a_new_record_and_leaves_the_old_as_they_were(
    say: Say, write: Say, owner: User, tree: Tree
) -> None:
    first, second = str(write("It burns.")), str(write("It smokes."))
    claim = str(say(f'claim "It is lit" cite:{first}').body["refs"][0])
    client = APIClient()
    client.force_login(owner)

    def evidence() -> list[dict[str, Any]]:
        body = client.get(f"/api/evidence?tree={tree.uid}&claim={claim}").json()
        assert body["accessible"] == body["total"]
        return [row for group in body["groups"] for row in group["evidence"]]

    (old,) = evidence()
    say(f'cite {second} against {claim} "wet wood"')
    contradiction, kept = evidence()
    assert kept == old
    assert (contradiction["side"], contradiction["record"]["content"]) == ("against", "wet wood")
    say(f'address {second} in {claim} "It dried."')
    answered, kept = evidence()
    assert kept == old and answered["id"] == contradiction["id"]
    assert answered["record"]["related"] == "addressed by Owner: It dried."
    (whole,) = client.get(f"/api/evidence?tree={tree.uid}").json()["groups"]
    assert [row["record"] for row in whole["evidence"]] == [None, None]


def test_records_of_evidence_stay_in_their_grove(two_groves: TwoGroves) -> None:
    left, both = two_groves.left, two_groves.both
    claim = left.run(both, f'claim "The tower is kept" cite:{two_groves.far}').split("[")[1][:4]
    asked = f"/api/evidence?tree={left.tree.uid}&claim={claim}"
    seen = two_groves.client(two_groves.only_left).get(asked).json()
    assert (seen["accessible"], seen["total"], seen["groups"]) == (0, 1, [])
    assert two_groves.client(two_groves.only_right).get(asked).status_code == 404
    (group,) = two_groves.client(both).get(asked).json()["groups"]
    assert group["evidence"][0]["record"]["title"] == "The tower is kept"


def test_evidence_whose_item_is_pruned_is_an_orphan(
    say: Say, write: Say, owner: User, tree: Tree
) -> None:
    a = str(write("the lamp"))
    claim = str(say(f'claim "It is lit" cite:{a}').body["refs"][0])
    client = APIClient()
    client.force_login(owner)
    address = f"/api/trees/{tree.uid}/verify?what=view"
    assert client.get(address).json()["violations"] == []
    say(f"prune {a}")
    (violation,) = client.get(address).json()["violations"]
    assert violation["kind"] == "OrphanEvidence"
    assert violation["says"] == f"[{a}] is pruned; it is evidence of the claim [{claim}]."
