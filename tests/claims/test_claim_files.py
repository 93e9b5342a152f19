"""Claims in the ZIP of a tree, and what is wrong with evidence in the report on a view."""

import io
import json
import zipfile

import pytest
from rest_framework.test import APIClient

from loom.people.models import User
from loom.trees.models import Tree
from tests.commands.conftest import Say

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
    decision = json.loads(files.read(f"decisions/{claim}/001-moderate.json"))
    assert decision["record"]["statement"] == "It is lit" and len(decision["hash"]) == 64


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
