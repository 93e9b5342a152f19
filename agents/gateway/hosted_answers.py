"""Ids of the answers of this installation's own agents. A program may continue an answer by its id,
as it does with one of a provider."""

import re

from agents.gateway import messages as rules
from agents.gateway.models import GatewayMessage
from loom.trees.models import Node
from loom.turns.models import Generation, Turn

PREFIX = "resp_loom"
_ID = re.compile(rf"{PREFIX}([a-z0-9]{{1,32}})_([0-9a-f]{{64}})")


def answer_id_of(uid: str, place: str) -> str:
    """The id of the answer that a turn or generation with this `uid` gives to the message at this
    `place` in the chain. It names the place: a message cannot be looked up by its node."""
    return f"{PREFIX}{uid}_{place}"


def digest_of(node: Node, place: str) -> str:
    """The place in the chain of an answer to the message at `place`."""
    message = {"role": "assistant", "blocks": [{"type": "text", "text": node.text}]}
    return rules.chain([message], place)[0]


def find_answer(answer_id: str) -> GatewayMessage | None:
    """The recorded answer with this id, of whichever key; None if there is none. At most three
    queries."""
    match = _ID.fullmatch(answer_id)
    if match is None:
        return None
    uid, place = match.groups()
    of_generation = Generation.objects.filter(uid=uid, node__isnull=False).order_by()
    of_turn = Turn.objects.filter(uid=uid, node__isnull=False).order_by()
    node = Node.objects.filter(pk__in=of_generation.values("node")).first()
    node = node or Node.objects.filter(pk__in=of_turn.values("node")).first()
    if node is None:
        return None
    digest = digest_of(node, place)
    return GatewayMessage.objects.filter(tree=node.tree_id, digest=digest).first()
