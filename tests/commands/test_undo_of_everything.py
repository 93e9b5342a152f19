"""Random acts of two people in texts, documents, rights and sandboxes, undone to the start: all of
one's own is as before, and the other's is never touched."""

import random
from typing import Any

import pytest

from loom.access import Actor, get_actor
from loom.documents import queries
from loom.documents.models import Document
from loom.engine.models import Step
from loom.errors import CommandError
from loom.links.models import Link
from loom.notes.models import Mark
from loom.people.models import User
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say

STEPS = 40
FORMS = (
    'respond {node} "more"',
    'edit {node} "other" as:version',
    "bookmark {node}",
    "prune {node}",
    'write doc:"Of {name}" append "Another line."',
    'write doc:"Of {name}" replace:"line" with:"sentence"',
    'write doc:"Shared" replace:"{name} came" with:"{name} went"',
    'write doc:"Shared" replace:"{name} went" with:"{name} came"',
    'annotate doc:"Shared" "Why?" of:"{name}"',
    'suggest doc:"Of {name}" "All new."',
    'link {node} to doc:"Of {name}"',
    "allow readers comment",
    "allow readers hidden",
    "allow readers usual",
    "sandbox",
)


def own(tree: Tree, name: str) -> dict[str, Any]:
    """What is there of one participant's, and what is in the documents that are theirs."""
    nodes = Node.objects.filter(tree=tree, author__name=name, pruned=False, version_pruned=False)
    shared = queries.newest(Document.objects.get(title="Shared")).text
    return {
        "nodes": sorted(nodes.values_list("local_id", "resolved_at")),
        "marks": sorted(
            Mark.objects.filter(tree=tree, participant__name=name, removed_at=None).values_list(
                "item", "kind", "label"
            )
        ),
        "links": Link.objects.filter(removed_at=None, by__name=name).count(),
        "document": queries.newest(Document.objects.get(title=f"Of {name}")).text,
        "shared": [line for line in shared.split("\n") if line.startswith(name)],
    }


def rights(tree: Tree) -> list[Any]:
    """What the tree says of roles."""
    return list(Tree.objects.filter(pk=tree.pk).values_list("reader_right", "writer_right"))


def _steps(tree: Tree, name: str) -> int:
    """The newest of somebody's steps in the tree."""
    return Step.objects.filter(workspace__tree=tree, actor__name=name).latest("pk").pk


def undo_all(say: Say, begun: int, tree: Tree, name: str, **who: Any) -> None:
    """Undoes all steps after one; none may be refused."""
    rows = Step.objects.filter(
        workspace__tree=tree, actor__name=name, pk__gt=begun, inverse__isnull=False
    )
    for _ in range(3 * STEPS):
        if not rows.filter(undoes=None, is_undone=False).exists():
            return
        say("undo", **who)
    raise AssertionError("undo does not come to an end")


def _promoted(say: Say, sandbox: Tree, **who: Any) -> None:
    """Writes in a sandbox and brings it into its tree."""
    say('respond root "tried"', into=sandbox, **who)
    say("promote", into=sandbox, **who)


@pytest.mark.parametrize("seed", range(8))
def test_undo_to_the_start_brings_back_texts_documents_rights_and_sandboxes(
    say: Say, actor: Actor, writer: User, tree: Tree, seed: int
) -> None:
    roll = random.Random(seed)
    me, her = actor.participant.name, get_actor(writer, actor.grove).participant.name
    people: dict[str, dict[str, Any]] = {me: {}, her: {"by": writer}}
    for name, who in people.items():
        say(f'write doc:"Of {name}" new "A line."', **who)
    say(f'write doc:"Shared" new "{me} came.\\n\\n{her} came."')
    at = {
        name: [say(f'respond root "text of {name}"', **who).body["refs"][0]]
        for name, who in people.items()
    }
    start = {name: own(tree, name) for name in people}
    before = rights(tree)
    begun = {name: _steps(tree, name) for name in people}
    done: set[str] = set()
    for _ in range(STEPS):
        name = roll.choice([me, her])
        node = roll.choice(at[name])
        form = roll.choice(FORMS)
        try:
            answer = say(form.format(node=node, name=name), at=node, **people[name])
            if form == "sandbox":
                sandbox = Tree.objects.filter(sandbox_at__isnull=False).latest("pk")
                _promoted(say, sandbox, **people[name])
        except CommandError:
            continue
        done.add(form)
        if form.startswith(("respond", "edit")):
            at[name] += answer.body["refs"]
    hers = own(tree, her)
    undo_all(say, begun[me], tree, me)
    assert own(tree, me) == start[me]
    assert own(tree, her) == hers
    undo_all(say, begun[her], tree, her, by=writer)
    assert own(tree, her) == start[her]
    assert rights(tree) == before
