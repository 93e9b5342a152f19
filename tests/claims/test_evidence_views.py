"""One piece of evidence as a record: `view REF in CLAIM`."""

import pytest
from rest_framework.test import APIClient

from loom.claims.models import Cite
from loom.people.models import User
from loom.trees.models import Tree
from tests.claims.conftest import refused
from tests.commands.conftest import Say
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db


def test_a_piece_of_evidence_is_viewed_with_the_fields_of_its_file(
    say: Say, write: Say, owner: User, writer: User, tree: Tree
) -> None:
    text = str(write("Marie says: the lamp went out at nine"))
    claim = str(say(f'claim "It is dark" cite:{text}', by=writer).body["refs"][0])
    say(f'cite {text} against {claim} "he slept" words:"the lamp went out at nine"')
    say(f'address {text} in {claim} "he woke"', by=writer)
    shown = say(f"view {text} in {claim}").reply
    assert shown.startswith(f"[{text}] in [{claim}]: 2 records\n\ntitle: It is dark\n")
    newest, oldest = shown.split("\n\n")[1:]
    client = APIClient()
    client.force_login(owner)
    (group,) = client.get(f"/api/evidence?tree={tree.uid}&claim={claim}").json()["groups"]
    records = {row["record"]["side"]: row["record"] for row in group["evidence"]}
    for side, record in (("against", newest), ("for", oldest)):
        for field, value in records[side].items():
            assert f"{field}: {value}".rstrip() in record.splitlines(), field
    assert "content: the lamp went out at nine" in newest
    assert "related: addressed by Writer: he woke" in newest
    assert "proof_status: hypothesis" in oldest


def test_what_is_no_evidence_there_is_not_found(say: Say, write: Say) -> None:
    text, other = str(write("It burns.")), str(write("It smokes."))
    claim = str(say(f'claim "It is lit" cite:{text}').body["refs"][0])
    why = refused(say, f"view {other} in {claim}")
    assert why.code == "NOT_FOUND" and why.message.startswith(f"[{other}] as evidence of [{claim}]")
    assert refused(say, f"view {text} in {other}").message.startswith(f"A claim [{other}]")


def test_a_document_that_is_cited_is_viewed_in_its_revision(say: Say) -> None:
    say('write doc:"Bible" new\n# Lamp\nIt is lit.\n←')
    claim = str(say('claim "The lamp is lit" cite:doc:"Bible"').body["refs"][0])
    say(f'cite doc:"Bible" §lamp for {claim} "as it says"')
    shown = say(f'view doc:"Bible" in {claim}').reply
    assert shown.startswith(f'doc:"Bible" in [{claim}]: 2 records')
    assert "source: doc:" in shown and " revision 1 §lamp\n" in shown
    assert "content:\n# Lamp\nIt is lit.\n" in shown  # as it has more than one line


def test_evidence_of_a_grove_that_one_may_not_read_is_not_found(two_groves: TwoGroves) -> None:
    world, left = two_groves, two_groves.left
    reply = left.run(world.both, f'claim "The tower is kept" cite:{world.far} words:"{SECRET}"')
    claim = reply.split("[")[1][:4]
    assert f"content: {SECRET}" in left.run(world.both, f"view {world.far} in {claim}")
    assert Cite.objects.count() == 1
    hidden = _refusal(world, f"view {world.far} in {claim}")
    nowhere = _refusal(world, f"view {world.far[:-4]}zzzz in {claim}")
    assert hidden[0] == nowhere[0] and SECRET not in hidden[1]


def _refusal(world: TwoGroves, line: str) -> tuple[str, str]:
    from loom.errors import CommandError

    with pytest.raises(CommandError) as why:
        world.left.run(world.only_left, line)
    return why.value.code, why.value.message
