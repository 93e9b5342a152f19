"""Lines over the API: POST …/commands, and the registry as data."""

import time

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.commands import execute, growth
from loom.commands.catalogue import catalogue
from loom.commands.continuing import outcome_of
from loom.doors.api import shapes
from loom.doors.api.body import read
from loom.models import Tree, Workspace
from loom.rules.refusals import Refused

LOOK_EVERY_S = 0.1


@extend_schema(
    tags=["commands"],
    summary="Run a line in a tree",
    request=shapes.Line,
    responses={200: shapes.Answer, 202: shapes.Answer, "4XX": shapes.Problem},
)
@api_view(["POST"])
def in_tree(request: Request, uid: str) -> Response:
    """Runs one line in the caller's own workspace, which is made on first use."""
    actor, tree = access.get_tree(request.user, uid)
    return _run(request, actor, tree, growth.workspace_of(actor.participant, tree))


@extend_schema(
    tags=["commands"],
    summary="Run a line in a workspace",
    request=shapes.Line,
    responses={200: shapes.Answer, 202: shapes.Answer, "4XX": shapes.Problem},
)
@api_view(["POST"])
def in_workspace(request: Request, uid: str) -> Response:
    """Runs one line in a workspace of the caller's."""
    actor, workspace = access.get_workspace(request.user, uid)
    if workspace.participant_id != actor.participant.pk:
        raise Refused(
            "PERMISSION_DENIED",
            "This is an agent's workspace, and agents are not steered from outside yet.",
            hint="give the line in the tree",
        )
    return _run(request, actor, workspace.tree, workspace)


def _run(request: Request, actor: Actor, tree: Tree, workspace: Workspace) -> Response:
    body = read(request, shapes.Line)
    sent = execute.Request(body.line, key=body.key, at=body.at, dry_run=body.dry_run)
    answer = execute.execute(actor, tree, sent, workspace)
    if not answer.running or body.dry_run:
        return Response(answer.body)
    if body.wait:
        return _waited(answer, body.wait)
    return Response(answer.body, status=202)


def _waited(answer: execute.Answer, wait_s: float) -> Response:
    """The answer once all candidates have ended; 202 where that takes longer than `wait_s`."""
    end = time.monotonic() + wait_s
    uids = list(answer.body["generations"])
    while True:
        is_done, reply, errors = outcome_of(uids)
        if is_done and not reply.refs and errors:
            raise Refused(
                "MODEL_ERROR",
                str(errors[0]["message"]),
                hint=str(errors[0].get("hint", "")) or "try again, or ask another model",
                retryable=bool(errors[0].get("retryable")),
            )
        if is_done:
            return Response({**answer.body, "reply": reply.text, "refs": list(reply.refs)})
        if time.monotonic() >= end:
            return Response(answer.body, status=202)
        time.sleep(LOOK_EVERY_S)


@extend_schema(tags=["commands"], summary="All commands", responses=shapes.Page)
@api_view(["GET"])
def every(request: Request) -> Response:
    """The registry: verb, syntax, help, group, class, permissions, JSON schema."""
    listed = catalogue()
    return Response({"count": len(listed), "results": listed})
