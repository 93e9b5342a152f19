"""What several parts of the API are asked for: the events of a stream, and a node of a tree."""

from typing import Any

from rest_framework.request import Request

from loom.access import Actor
from loom.errors import not_found
from loom.site.schema import number
from loom.trees.models import Node, Tree
from loom.trees.queries import event_log, lookup


def events_of(request: Request, actor: Actor, stream: str) -> dict[str, Any]:
    """The events of any stream, by the parameters `since` and `limit`."""
    since = number(request, "since", default=0)
    limit = number(
        request, "limit", default=event_log.MAX_EVENTS, least=1, most=event_log.MAX_EVENTS
    )
    return event_log.events_since(actor, stream, since=since, limit=limit)


def get_node(tree: Tree, local_id: str) -> Node:
    """The node with that local id, in any case, or the root; otherwise NOT_FOUND."""
    node = lookup.find_named(tree, local_id)
    if node is None:
        raise not_found("This node", "GET …/nodes lists those of the tree.")
    return node
