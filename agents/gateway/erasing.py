"""What of the gateway is deleted with an erased tree."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from agents.gateway.models import AddedText, GatewayMessage, GatewayRequest, GatewaySession
from loom.trees.erasing import erased_with_tree
from loom.trees.models import Tree


@erased_with_tree
def _rows_of(tree: Tree) -> Iterable[QuerySet[Any]]:
    """The session of the tree, with its requests, the places of its messages, and what was added
    to them."""
    sessions = GatewaySession.objects.filter(tree=tree)
    return [
        AddedText.objects.filter(session__in=sessions.values("uid")),
        GatewayRequest.objects.filter(session__in=sessions.values("pk")),
        GatewayMessage.objects.filter(tree=tree),
    ]
