"""Trees over the API: list, make, change, archive, erase."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.commands import forest, growth
from loom.doors.api import bodies, shapes
from loom.doors.api.asking import a_truth, an_id, word
from loom.doors.api.auth import user_of
from loom.doors.api.body import read
from loom.doors.api.paging import PAGES, paged
from loom.doors.api.reading import truth
from loom.doors.api.schema import operation
from loom.models import Tree, User, Workspace
from loom.queries.counts import tree_body


def _body(actor: Actor, tree: Tree) -> dict[str, Any]:
    return tree_body(actor, tree, growth.workspace_of(actor.participant, tree))


def _line(user: User, tree: Tree) -> dict[str, Any]:
    """A tree in a list: whoever only looks at a list gets no workspaces by it."""
    actor = access.get_actor(user, tree.grove)
    own = Workspace.objects.filter(participant=actor.participant, tree=tree)
    return tree_body(actor, tree, own.select_related("position", "tree").first())


@operation(
    "GET",
    "trees list",
    "The caller's trees, the latest touched first",
    answers=shapes.TreePage,
    asks=(
        an_id("grove", "Only those of this grove."),
        a_truth("archived", "Archived ones, instead."),
        *PAGES,
    ),
)
@operation(
    "POST", "trees make", "Make a tree", body=bodies.TreeSent, answers=shapes.Tree, status=201
)
@api_view(["GET", "POST"])
def trees(request: Request) -> Response:
    """Lists trees; or makes one with its empty root."""
    user = user_of(request)
    if request.method == "GET":
        return paged(request, _listed(request, user), lambda tree: _line(user, tree))
    body = read(request, bodies.TreeSent)
    grove = access.get_grove(user, body.grove)[1] if body.grove else access.first_grove(user)
    actor = access.get_actor(user, grove)
    access.demand_role(actor, "writer")
    tree = forest.make_tree(actor, forest.NewTree(**body.model_dump(exclude={"grove"})))
    return Response(_body(actor, tree), status=201)


def _listed(request: Request, user: User) -> "QuerySet[Tree]":
    rows = access.visible_trees(user).select_related("grove")
    rows = rows.filter(archived_at__isnull=not truth(request, "archived"))
    grove = word(request, "grove")
    if grove:
        rows = rows.filter(grove=access.get_grove(user, grove)[1])
    return rows.order_by("-touched_at", "-id")


@operation("GET", "trees one", "A tree", answers=shapes.Tree)
@operation(
    "PATCH",
    "trees change",
    "Change or archive a tree",
    body=bodies.TreeChanged,
    answers=shapes.Tree,
)
@operation(
    "DELETE",
    "trees erase",
    "Erase an archived tree for good, its title typed again",
    body=bodies.TreeTyped,
    answers=shapes.Gone,
)
@api_view(["GET", "PATCH", "DELETE"])
def tree(request: Request, uid: str) -> Response:
    """A tree with its size and the caller's workspace; writers change it, owners erase it."""
    actor, found = access.get_tree(user_of(request), uid)
    if request.method == "DELETE":
        access.demand_role(actor, "owner")
        forest.erase(actor, found, read(request, bodies.TreeTyped).title)
        return Response({"ok": True})
    if request.method == "PATCH":
        access.demand_role(actor, "writer")
        found = forest.change_tree(actor, found, read(request, bodies.TreeChanged).sent)
    return Response(_body(actor, found))
