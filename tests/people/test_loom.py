"""`manage.py loom`: lines from the shell."""

import io
import sys

import pytest
from django.core.management import call_command

from loom.access import Actor
from loom.engine.models import Step
from loom.people.models import Participant, User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree

pytestmark = pytest.mark.django_db


def loom(line: str, **options: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("loom", line, stdout=out, stderr=err, **options)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def test_a_line_runs_and_its_reply_is_printed(tree: Tree, owner: User) -> None:
    code, out, _ = loom('→ respond root "One."', tree=tree.uid, by="OWNER")
    node = Node.objects.get(tree=tree, depth=1)
    assert (code, node.text) == (0, "One.")
    assert out.startswith(f"✓ created [{node.local_id}]")
    assert '"One."' in loom("view here", by="owner", tree="marie")[1]
    assert Step.objects.count() == 2


def test_a_refusal_is_reported_on_standard_error_with_its_code(tree: Tree, owner: User) -> None:
    code, out, err = loom("prune root", by="owner", tree=tree.uid)
    assert (code, out) == (1, "")
    assert err.startswith("✗ REJECTED: ")
    assert "hint: " in err
    assert loom("bokmark here", by="owner")[2].startswith("✗ INVALID_SYNTAX: ")


def test_a_dry_run_writes_nothing(tree: Tree, owner: User) -> None:
    assert loom('respond root "One."', by="owner", dry_run=True)[0] == 0
    assert not Node.objects.filter(tree=tree, depth=1).exists()


def test_a_long_text_comes_by_standard_input(
    tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("respond root\nOne.\n\n  Two.\n←\n"))
    assert loom("-", by="owner")[0] == 0
    assert Node.objects.get(tree=tree, depth=1).text == "One.\n\n  Two."


def test_who_belongs_elsewhere_or_nowhere_finds_nothing(tree: Tree, outsider: User) -> None:
    for by in ("outsider", "nobody", 'agent:"Nobody"'):
        code, _, err = loom("view root", by=by, tree=tree.uid)
        assert (code, err.split(":")[0]) == (1, "✗ NOT_FOUND")


def test_titles_that_are_not_one_are_refused_with_the_ids(actor: Actor, tree: Tree) -> None:
    other = trees.new_tree(actor, title="Marie")
    err = loom("view root", by="owner", tree="Marie")[2]
    assert tree.uid in err and other.uid in err


def test_an_agent_does_what_it_may(tree: Tree, owner: User, muse: Participant) -> None:
    assert loom("view root", by='agent:"muse"')[2].startswith("✗ PERMISSION_DENIED: ")
    muse.permissions = ["loom_aware"]
    muse.save()
    assert loom("view root", by="agent:Muse")[0] == 0
    assert "respond*" in loom("help", by="agent:Muse")[1]
    step = Step.objects.latest("id")
    assert (step.actor, step.on_behalf_of) == (muse, Participant.objects.get(user=owner))
