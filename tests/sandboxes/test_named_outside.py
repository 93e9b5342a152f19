"""Nothing outside of a sandbox refers to what is in it, though its maker sees both."""

import pytest

from loom.access import Actor
from loom.claims.models import Cite, Claim
from loom.links.models import Link
from loom.trees.models import Node, NodeSource, Tree
from tests.sandboxes.test_sandboxes import begin, refused, say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
REFUSAL = "Nothing outside of a sandbox refers to what is in it."


@pytest.fixture(name="maker")
def _maker(two_groves: TwoGroves) -> tuple[Actor, Tree, str]:
    """Whoever made a sandbox, the sandbox, and a text in it."""
    actor, sandbox = begin(two_groves, two_groves.both)
    return actor, sandbox, say(actor, sandbox, 'respond "It wakes at dawn."')["refs"][0]


def test_no_line_outside_stores_that_it_refers_to_it(
    two_groves: TwoGroves, maker: tuple[Actor, Tree, str]
) -> None:
    actor, sandbox, text = maker
    tree, own = two_groves.left.tree, two_groves.left.text.local_id
    claim = say(actor, tree, f'claim "It sleeps." cite:{own}')["refs"][0]
    say(actor, tree, 'write doc:"Log" new "Nothing."')
    counts = [rows.objects.count() for rows in (Link, Cite, Claim, Node, NodeSource)]
    far, whole = f"tree:{sandbox.uid} node:{text}", f"tree:{sandbox.uid}"
    for line in (
        f"link {own} to {far} as:supports",
        f"link {own} to {whole} as:related",
        f'link doc:"Log" to {far}',
        f'cite {far} for {claim} "it says so"',
        f"cite {far} against {claim}",
        f'cite {far} for {claim} words:"wakes at dawn"',
        f"cite {far} undercuts {own} in {claim}",
        f'claim "It wakes." cite:{far}',
        f'claim "It is short." about {whole} cite:{own}',
        f'respond {own} "Both." from:{far}',
        f'annotate {whole} "a note"',
    ):
        why = refused(actor, tree, line)
        assert (why.code, why.message) == ("REJECTED", REFUSAL), line
        assert "promote" in why.hint
    assert [rows.objects.count() for rows in (Link, Cite, Claim, Node, NodeSource)] == counts
    assert not say(actor, tree, f"list {claim} evidence")["reply"].count("strong, ")


def test_a_dry_run_and_another_sandbox_are_refused_too(
    two_groves: TwoGroves, maker: tuple[Actor, Tree, str]
) -> None:
    actor, sandbox, text = maker
    say(actor, two_groves.left.tree, "sandbox from root")
    another = Tree.objects.filter(sandbox_of=two_groves.both).exclude(pk=sandbox.pk).get()
    line = f"link root to tree:{sandbox.uid} node:{text}"
    assert refused(actor, another, line).message == REFUSAL


def test_its_maker_reads_it_from_outside_and_refers_out_of_it(
    two_groves: TwoGroves, maker: tuple[Actor, Tree, str]
) -> None:
    actor, sandbox, text = maker
    tree, own = two_groves.left.tree, two_groves.left.text.local_id
    seen = say(actor, tree, f"view tree:{sandbox.uid} node:{text}")["reply"]
    assert "It wakes at dawn." in seen
    far = f"tree:{tree.uid} node:{own}"
    say(actor, sandbox, f"link {text} to {far} as:supports")
    say(actor, sandbox, f'respond "More." from:{far}')
    assert say(actor, sandbox, f'claim "It wakes." cite:{text}')["reply"].startswith("✓ claim")


def test_promoting_leaves_sources_that_stay_and_keeps_the_others(
    two_groves: TwoGroves, maker: tuple[Actor, Tree, str]
) -> None:
    actor, sandbox, text = maker
    tree = two_groves.left.tree
    claim = say(actor, sandbox, f'claim "It wakes." cite:{text}')["refs"][0]
    say(actor, sandbox, f'respond {text} "Both." from:{claim},{text}')
    say(actor, sandbox, f'annotate tree:{sandbox.uid} "short"')
    reply = say(actor, sandbox, "promote")["reply"]
    assert "left in the sandbox: 1 claim" in reply and "1 source" in reply
    named = NodeSource.objects.filter(node__tree=tree).select_related("item")
    assert {source.item.tree_id for source in named} == {tree.pk}
    assert {source.item.kind for source in named} == {"node", "tree"}
