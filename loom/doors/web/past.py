"""The time slider: what happened at a seq, and the path as it was then."""

from dataclasses import dataclass

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from loom import access
from loom.commands import growth
from loom.doors.web import markdown, sentences
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.places import known_node
from loom.doors.web.shown import MAX_SHOWN
from loom.doors.web.who import Who, cast_of
from loom.models import Tree
from loom.queries import past
from loom.queries.rows import NodeRow
from loom.rules.hashes import instant
from loom.rules.refusals import Refused, not_found


@dataclass(frozen=True)
class TextShown:
    """A text as it was: no tools, since nothing is done in the past."""

    id: str
    who: Who
    at: str
    body: SafeString
    is_cut: bool
    is_pruned: bool


@require_GET
@person
def moment(request: PersonRequest, uid: str) -> HttpResponse:
    """`{seq, head, at, by, words, node, last, flags: [[node, flag, value]]}` of `?seq=`.

    `last` is the newest node there was; `flags` those that were otherwise than now.
    """
    actor, tree = access.get_tree(request.user, uid)
    at = past.moment(actor, tree, _seq(request))
    told = sentences.told(at.event, cast_of(actor))
    return JsonResponse(
        {
            "seq": at.seq,
            "head": at.head,
            "at": instant(at.event.at),
            "by": told.by if told else "",
            "words": told.words if told else _("something that is not shown"),
            "node": told.node if told else "",
            "last": at.last_id,
            "flags": [[node, flag, value] for (node, flag), value in at.flags.items()],
        }
    )


@require_GET
@person
def path(request: PersonRequest, uid: str) -> HttpResponse:
    """The path to `?node=` as it was at `?seq=`, read only."""
    actor, tree = access.get_tree(request.user, uid)
    node = known_node(tree, request.GET.get("node", ""))
    if node is None:
        raise not_found(_("This node"))
    at = past.moment(actor, tree, _seq(request))
    workspace = growth.workspace_of(actor.participant, tree)
    seen = past.sight(actor, tree, workspace, at=at, node=node)
    cast = cast_of(actor)
    context = {
        "tree": tree,
        "nodes": [_text(tree, row, cast, seen.pruned) for row in seen.rows],
        "above": seen.rows[0].local_id if seen.has_above else "",
        "below": [_text(tree, row, cast, set()) for row in seen.below],
    }
    return render(request, "parts/past.html", context)


def _text(tree: Tree, row: NodeRow, cast: dict[str, Who], pruned: set[str]) -> TextShown:
    draw = markdown.plain if tree.mode == "buffer" else markdown.rendered
    return TextShown(
        id=row.local_id,
        who=cast[row.author_uid],
        at=row.at,
        body=draw(row.text[:MAX_SHOWN]),
        is_cut=row.length > MAX_SHOWN,
        is_pruned=row.local_id in pruned,
    )


def _seq(request: PersonRequest) -> int:
    given = request.GET.get("seq", "")
    if not (given.isascii() and given.isdecimal()) or len(given) > 15:
        raise Refused("INVALID_SYNTAX", _("seq is a whole number."), hint="?seq=1")
    return int(given)
