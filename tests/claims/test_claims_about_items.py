"""Claims about documents and trees: below the root, with the item in their sources; named only to
those who may see the item."""

from dataclasses import replace

import pytest

from loom.access import get_actor
from loom.claims.models import Claim
from loom.claims.queries.claims import claim_body
from loom.documents.models import Document
from loom.errors import CommandError
from loom.language import ids
from loom.people.models import User
from loom.permissions import READ_DOCUMENTS
from loom.trees.models import NodeSource, Tree
from tests.claims.conftest import refused
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


def test_a_claim_is_about_a_document_or_a_tree(say: Say, write: Say, tree: Tree) -> None:
    a = write("lamp")
    say('write doc:"d" new "# Motive\\n\\nTired."')
    document = Document.objects.get(title="d")
    for about, item in (('doc:"d"', document.item_id), (f"tree:{tree.uid}", ids.of_tree(tree.pk))):
        reply = say(f'claim "Of {item}" about {about} cite:{a}')
        claim = Claim.objects.get(node__local_id=reply.body["refs"][0])
        assert claim.about == item
        assert claim.node.depth == 1
        source = NodeSource.objects.get(node=claim.node)
        assert (source.item_id, source.role) == (item, "primary")
        assert claim.node.local_id in say("list root claims").reply


def test_the_claims_about_a_document_are_listed(say: Say, write: Say) -> None:
    a = write("lamp")
    say('write doc:"d" new "Tired."')
    assert say('list doc:"d" claims').reply == 'doc:"d" → 0 claims'
    claim = say(f'claim "She is tired" about doc:"d" cite:{a}').body["refs"][0]
    say(f'claim "A lamp" about {a} cite:{a}')
    listed = say('list doc:"d" claims')
    assert listed.body["refs"] == [claim]
    assert listed.reply.startswith('doc:"d" → 1 claim:\n') and "She is tired" in listed.reply
    why = refused(say, 'list doc:"d" siblings')
    assert "annotations, mentions, claims" in why.hint


def test_a_claim_about_a_section_is_refused_with_the_line_to_send(say: Say, write: Say) -> None:
    a = write("lamp")
    say('write doc:"d" new "# Motive\\n\\nTired."')
    why = refused(say, f'claim "She is tired" about doc:"d" §motive cite:{a}')
    assert (
        why.message == 'doc:"d" §motive is a part; a claim is about a whole item, and cites parts.'
    )
    assert why.hint == f'→ claim "She is tired" about doc:"d" cite:{a}'
    say(why.hint.removeprefix("→ "))


def test_what_a_claim_is_about_is_named_to_those_who_may_read_it(
    say: Say, write: Say, tree: Tree, owner: User
) -> None:
    a = write("lamp")
    say('write doc:"d" new "Tired."')
    say(f'claim "She is tired" about doc:"d" cite:{a}')
    claim = Claim.objects.get()
    actor = get_actor(owner, tree.grove)
    uid = Document.objects.get().uid
    assert claim_body(actor, claim)["about"] == f"doc:{uid}"
    blind = replace(actor, permissions=actor.permissions - {READ_DOCUMENTS})
    assert claim_body(blind, claim)["about"] is None


def test_no_claim_is_about_what_is_in_another_grove(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    right.run(two_groves.both, 'write doc:"plans" new "The kestrel."')
    uid = Document.objects.get(title="plans").uid
    text = left.text.local_id
    for user, about in (
        (two_groves.both, 'doc:"plans"'),
        (two_groves.both, f"doc:{uid}"),
        (two_groves.only_left, f"tree:{right.tree.uid}"),
    ):
        with pytest.raises(CommandError) as refusal:
            left.run(user, f'claim "It sleeps" about {about} cite:{text}')
        assert refusal.value.code == "NOT_FOUND"
    assert not Claim.objects.exists()
