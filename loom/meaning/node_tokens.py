"""The tokens of a node with their probabilities, where the provider gave them: they are in the body
of the answer, which is kept with the call; or where a model has scored the text."""

import gzip
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from loom.access import Actor
from loom.meaning.indexing import digest_of
from loom.meaning.models import TextScore
from loom.meaning.tokens import ScoredToken, placed, tokens_in, unpacked_tokens
from loom.people.models import Participant
from loom.trees.models import Node
from loom.trees.queries.lookup import nodes_in, withheld
from loom.turns.models import Generation


def tokens_of(actor: Actor, node: Node) -> list[ScoredToken]:
    """The tokens of a node that a model wrote as one candidate, or has scored; none if there are no
    probabilities, or if the actor may not see the text. At most four queries."""
    return tokens_of_nodes(actor, [node]).get(node.pk, [])


def tokens_of_nodes(actor: Actor, nodes: Sequence[Node]) -> dict[int, list[ScoredToken]]:
    """The tokens of several nodes of one tree, by their keys; those without any are left out. At
    most four queries. An answer with several candidates is read once for each."""
    gone = withheld(actor, [node.pk for node in nodes])
    named = {node.generation_uid: node for node in nodes if node.generation_uid}
    rows = Generation.objects.select_related("call").filter(
        uid__in=[uid for uid, node in named.items() if node.pk not in gone], call__isnull=False
    )
    generations = list(rows)
    places = _places(
        {generation.call_id for generation in generations if generation.call_id is not None}
    )
    tokens_by_node = {}
    for generation in generations:
        node = named[generation.uid]
        response = generation.call.response if generation.call is not None else None
        if generation.tree_id == node.tree_id and response:
            body = gzip.decompress(bytes(response))
            tokens = placed(tokens_in(body, places[generation.uid]), node.text)
            if tokens:
                tokens_by_node[node.pk] = tokens
    lacking = [node for node in nodes if node.pk not in tokens_by_node and node.pk not in gone]
    return tokens_by_node | _scored(lacking)


def _scored(nodes: Sequence[Node]) -> dict[int, list[ScoredToken]]:
    """The tokens of those texts of one tree that a model has scored, by the newest score."""
    digests = {node.pk: digest_of(node.text) for node in nodes if node.text}
    rows = TextScore.objects.filter(
        tree__in={node.tree_id for node in nodes}, digest__in=set(digests.values())
    )
    packed = dict(rows.order_by("at").values_list("digest", "tokens")) if digests else {}
    return {
        key: unpacked_tokens(bytes(packed[digest]))
        for key, digest in digests.items()
        if digest in packed
    }


def scorer_of(node: Node) -> Participant | None:
    """Who gave the probabilities of a text: the model that wrote it, else the one that scored it
    last; None if none is here."""
    if node.author.kind == "model":
        return node.author
    rows = TextScore.objects.filter(tree=node.tree_id, digest=digest_of(node.text))
    score = rows.select_related("agent").order_by("-at").first()
    return score.agent if score is not None and score.agent.archived_at is None else None


MOST_AT_ONCE = 100  # answers that are held at once


def mean_surprise(tree: int, after: int, last: int) -> dict[int, float]:
    """The mean surprise of a token, in bits, of the nodes of a tree after the id `after` up to
    `last` of whose tokens there are probabilities. For what is derived in the background: who may
    see the texts is asked by those who show it."""
    written = nodes_in(tree, after=after, last=last).exclude(generation_uid="")
    rows = written.order_by("pk").values_list("pk", "generation_uid", "text")
    surprise: dict[int, float] = {}
    some: dict[str, tuple[int, str]] = {}
    for key, uid, text in rows.iterator(chunk_size=2_000):
        some[uid] = (key, text)
        if len(some) == MOST_AT_ONCE:
            surprise |= _means(some)
            some = {}
    return surprise | _means(some)


def _means(some: dict[str, tuple[int, str]]) -> dict[int, float]:
    """The mean surprise of texts, by the uids of their generations."""
    rows = Generation.objects.select_related("call").filter(
        uid__in=list(some), call__response__isnull=False
    )
    generations = list(rows) if some else []
    places = _places(
        {generation.call_id for generation in generations if generation.call_id is not None}
    )
    means = {}
    for generation in generations:
        if generation.call is None or not generation.call.response:
            continue
        body = gzip.decompress(bytes(generation.call.response))
        if b"prob" not in body:
            continue
        key, text = some[generation.uid]
        tokens = placed(tokens_in(body, places[generation.uid]), text)
        if tokens:
            total = -sum(min(0.0, token.logprob) for token in tokens)
            means[key] = total / len(tokens) / math.log(2)
    return means


def _places(calls: Iterable[int]) -> dict[str, int]:
    """The place of each generation in the answer of its call: a call may be made for some of the
    candidates that a line asked for, whose numbers begin elsewhere."""
    rows = Generation.objects.filter(call__in=calls).order_by("call", "index")
    places: dict[str, int] = {}
    counts: Counter[int | None] = Counter()
    for uid, call in rows.values_list("uid", "call"):
        places[uid] = counts[call]
        counts[call] += 1
    return places
