"""Texts of models with what their providers answered."""

import gzip

from django.utils import timezone

from loom.access import Actor
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from loom.turns.models import Call, Generation
from tests.queries.growing import add


def answered(
    tree: Tree, actor: Actor, model: Participant, above: Node, text: str, body: bytes
) -> Node:
    """A text that a model wrote below another, of a call that the provider answered with these
    bytes."""
    call = Call.objects.create(
        tree=tree,
        participant=model,
        provider="openai",
        configuration="",
        response=gzip.compress(body),
        sealed_at=timezone.now(),
    )
    generation = Generation.objects.create(
        tree=tree,
        participant=model,
        asked_by=actor.participant,
        point=above,
        status="done",
        index=1,
        call=call,
        ended_at=timezone.now(),
    )
    return add(tree, model, text, above, generation_uid=generation.uid, call_uid=call.uid)
