"""What a candidate would read and cost for each model, before it is asked for."""

from collections.abc import Sequence
from typing import Any

from loom.access import Actor
from loom.money.queries.allowances import left_body
from loom.money.queries.token_counts import tokens_of_parts
from loom.participants.prices import caches_from, prices_of
from loom.participants.provider_kinds import LOCAL, LOCAL_WINDOW, room_in
from loom.people.models import Participant
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.lookup import path_of

USUAL_TOKENS = 1024  # of a response without a length limit


def estimate(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> dict[str, Any]:
    """What a candidate below `node` would read, for each model, with its prices; and the caller's
    money for today."""
    rows = path_of(actor, tree, workspace, node)
    sent = [row.text for row in rows if row.text and row.kind == "text" and not row.excluded]
    between = (
        "" if tree.mode == "buffer" else "\n\n"
    )  # as agents.context.subject_request joins them
    texts = [tree.system_context, tree.memory, between.join(sent), tree.author_note]
    models = Participant.objects.filter(grove=actor.grove, kind="model", archived_at__isnull=True)
    return {
        "money": left_body(actor.person),
        "participants": [_reading(model, texts) for model in models.order_by("id")],
    }


def _reading(model: Participant, texts: Sequence[str]) -> dict[str, Any]:
    tokens, how = tokens_of_parts((model.persona, *texts), model.model_ref)
    prices = prices_of(model)
    is_local = model.model_ref.partition(":")[0] == LOCAL
    limit = LOCAL_WINDOW if is_local else room_in(model.context_limit)
    return {
        "participant": model.uid,
        "name": model.name,
        "tokens": min(tokens, limit),
        "whole": tokens,
        "limit": limit,
        "how": how,
        "length": model.max_tokens or USUAL_TOKENS,
        "prices": prices.body() if prices else None,
        "caches_from": caches_from(model),
    }
