"""Calls in an export: the evidence by which nodes that models wrote verify elsewhere too."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from django.db.models import Q, QuerySet

from loom.access import Actor, may_read_call
from loom.models import Call, Node, Tree
from loom.rules.hashes import instant
from loom.transfer.records import MAX_TEXT_BYTES

Body = dict[str, Any]
MOST = 2 * MAX_TEXT_BYTES - 4096  # characters of one call, so that it can be read again


def batches(actor: Actor, tree: Tree, nodes: "QuerySet[Node]") -> Iterator[list[Body]]:
    """The sealed calls that the nodes name and the actor may read, one at a time. One that
    is too large to be read again is left out: its nodes verify as incomplete there."""
    named = nodes.exclude(call_uid="").values("call_uid")
    rows = Call.objects.filter(tree=tree, sealed_at__isnull=False)
    rows = rows.filter(Q(origin="", uid__in=named) | Q(origin__in=named))
    for key in list(rows.order_by("id").values_list("pk", flat=True)):
        call = Call.objects.select_related("participant", "turn").get(pk=key)
        body = _body(call)
        if may_read_call(actor, call) and len(json.dumps(body)) <= MOST:
            yield [body]


def _body(call: Call) -> Body:
    return {
        "id": call.origin or call.uid,
        "by": call.participant.name,
        "purpose": call.purpose,
        "provider": call.provider,
        "configuration": call.configuration,
        "request": call.request,
        "response": base64.b64encode(bytes(call.response)).decode(),
        "bytes": call.bytes,
        "status": call.status,
        "headers": call.headers,
        "sha256": call.sha256,
        "usage": call.usage,
        "note": call.note,
        "strategy": call.strategy,
        "started_at": instant(call.started_at),
        "first_at": instant(call.first_at) if call.first_at else None,
        "sealed_at": instant(call.sealed_at) if call.sealed_at else None,
    }
