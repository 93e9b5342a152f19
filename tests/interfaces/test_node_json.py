"""The written form of nodes is the same as their bodies."""

import json

from django.utils import timezone

from loom.access import Actor
from loom.engine.items import make_items
from loom.language import ids
from loom.links.models import Link
from loom.notes.models import Mark
from loom.people.models import Participant
from loom.reading.queries.node_bodies import node_bodies, nodes_json
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import rows_of
from tests.queries.growing import add, chain, flag, version

STRANGE = '  "→"\\ \r\n\t\x01\x7f\u2028 👩‍🚀 </script> %s {0} '


def _rich(tree: Tree, writer: Participant, muse: Participant) -> None:
    a, b, c = chain(tree, writer, STRANGE, "b", "c")
    second = version(writer, b, "b second")
    sources = ((ids.of_node(a.pk), "context", a.hash), (1, "instruction", ""))
    add(
        tree,
        muse,
        "from the model",
        second,
        sources=sources,
        call_uid="call",
        configuration="c" * 64,
        generation_uid="generation",
        finish='interrupted:"why"',
        blocks=[{"type": "image", "sha256": "x", "alt": STRANGE, "media_type": "image/png"}],
    )
    note = add(tree, writer, "note", a, kind="annotation", form="question")
    Node.objects.filter(pk=note.pk).update(resolved_at=timezone.now(), summary="short")
    flag(b, pruned=True, excluded=True, sandbox=True)
    flag(second, version_pruned=True)
    make_items([a.pk, c.pk])
    for kind, label in (("bookmark", STRANGE), ("tag", "x y"), ("tag", "z")):
        Mark.objects.create(
            tree=tree,
            kind=kind,
            label=label,
            item_id=ids.of_node(a.pk),
            participant=writer,
            at=timezone.now(),
        )
    Link.objects.create(
        tree=tree,
        source_id=ids.of_node(a.pk),
        target_id=ids.of_node(c.pk),
        by=writer,
        at=timezone.now(),
    )


def test_each_node_is_written_as_its_body_says(actor: Actor, tree: Tree, muse: Participant) -> None:
    Participant.objects.filter(pk=muse.pk).update(name='Muse "→"')
    _rich(tree, actor.participant, Participant.objects.get(pk=muse.pk))
    rows = rows_of(list(Node.objects.filter(tree=tree).values_list("id", flat=True)))
    written, versions = nodes_json(actor, tree, rows)
    assert [json.loads(body) for body in written] == node_bodies(actor, tree, rows)
    assert versions.keys() == {body["slot"] for body in node_bodies(actor, tree, rows)}
