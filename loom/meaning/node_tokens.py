"""The tokens of a node with their probabilities, where the provider gave them: they are in the body
of the answer, which is kept with the call."""

import gzip

from loom.access import Actor
from loom.meaning.tokens import ScoredToken, placed, tokens_in
from loom.trees.models import Node
from loom.trees.queries.lookup import withheld
from loom.turns.models import Generation


def tokens_of(actor: Actor, node: Node) -> list[ScoredToken]:
    """The tokens of a node that a model wrote as one candidate; none if the provider gave no
    probabilities, or if the actor may not see the text. Two queries."""
    if withheld(actor, [node.pk]) or not node.generation_uid:
        return []
    rows = Generation.objects.select_related("call").filter(uid=node.generation_uid)
    generation = rows.filter(tree=node.tree_id).first()
    if generation is None or generation.call is None or not generation.call.response:
        return []
    body = gzip.decompress(bytes(generation.call.response))
    return placed(tokens_in(body, generation.index), node.text)
