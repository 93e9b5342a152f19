"""Ids of the answers of this installation's own agents. A program may continue an answer by its id,
as it does with one of a provider."""

import re

from agents.gateway import messages as rules
from agents.gateway.models import GatewayMessage
from loom.engine.answers import messages_of
from loom.turns.models import Generation, Turn
from loom.turns.queries import lines_of

PREFIX = "resp_loom"
_ID = re.compile(rf"{PREFIX}([a-z0-9]{{1,32}})_([0-9a-f]{{64}})")


def answer_id_of(uid: str, place: str) -> str:
    """The id of the answer that a turn or generation with this `uid` gives to the message at this
    `place` in the chain. It names the place: a message cannot be looked up by its node."""
    return f"{PREFIX}{uid}_{place}"


def digest_of(text: str, place: str) -> str:
    """The place in the chain of an answer with this text to the message at `place`."""
    blocks = [{"type": "text", "text": text}] if text else []
    return rules.chain([{"role": "assistant", "blocks": blocks}], place)[0]


def text_of_turn(turn: Turn) -> str:
    """What a program is told that a turn which has ended answered: its prose, or what the lines
    replied by which it changed something; "" if it did neither."""
    if turn.node is not None:
        return turn.node.text
    steps = list(lines_of(turn).filter(outcome="ok", inverse__isnull=False))
    answers = messages_of(steps)
    return "\n".join(answers[step.pk] for step in steps)


def find_answer(answer_id: str) -> GatewayMessage | None:
    """The recorded answer with this id, of whichever key; None if there is none. At most five
    queries."""
    match = _ID.fullmatch(answer_id)
    if match is None:
        return None
    uid, place = match.groups()
    generation = Generation.objects.filter(uid=uid).select_related("node").order_by().first()
    if generation is not None:
        tree, text = generation.tree_id, generation.shown
    else:
        turns = Turn.objects.filter(uid=uid, ended_at__isnull=False).select_related("node")
        turn = turns.order_by().first()
        if turn is None:
            return None
        tree, text = turn.tree_id, text_of_turn(turn)
    return GatewayMessage.objects.filter(tree=tree, digest=digest_of(text, place)).first()


def system_text_of(answer_id: str) -> str | None:
    """The text of a program that stood in front of the conversation for the answer with this id;
    None if there was none of its own."""
    match = _ID.fullmatch(answer_id)
    if match is None:
        return None
    for rows in (Generation.objects, Turn.objects):
        texts = rows.filter(uid=match[1]).order_by().values_list("system_text", flat=True)
        if texts:
            return texts[0]
    return None
