"""Pages: beginning a sandbox at a text; in a sandbox where it hangs, promoting, discarding."""

from django.contrib import messages
from django.db.models.functions import Left
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from loom import access
from loom.access import Actor
from loom.engine.arguments import checked
from loom.engine.execute import execute
from loom.errors import CommandError
from loom.language.ids import ids_in
from loom.language.refs import Ref
from loom.permissions import WRITE
from loom.sandboxes import commands
from loom.sandboxes.queries import open_sandboxes, place_of
from loom.site.forms import PageForm, Text, Word
from loom.site.page_requests import PersonRequest, frame, in_one_line, person, place_at
from loom.trees.models import Node, Tree

MOST = 20  # sandboxes of a page
BEGINNING = 100  # characters of a text; 60 are shown


class SandboxForm(PageForm):
    """The text at which a sandbox begins, what it is called and when it ends; `act` in one:
    promote or discard."""

    node = Text()
    label = Text()
    days = Word()
    act = Word()


@require_http_methods(["GET", "HEAD", "POST"])
@person
def sandbox_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The form that begins a sandbox at `?node=`, with the reader's open ones in this tree; in a
    sandbox where it hangs and what would be promoted. A POST begins, promotes or discards."""
    place = place_at(request, uid)
    actor, tree = place.actor, place.tree
    if request.method == "POST":
        return _acted(request, actor, tree)
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "node": place.node,
        "days": commands.DAYS,
        "most_days": commands.MOST_DAYS,
        "may_begin": WRITE in actor.permissions and tree.archived_at is None,
    }
    if tree.sandbox_of_id is not None:
        context["hangs"] = place_of(actor, tree)
    else:
        context["rows"] = _open_at(actor, tree)
    return render(request, "sandboxes/sandbox.html", context)


def _open_at(actor: Actor, tree: Tree) -> list[tuple[Tree, str, str]]:
    """The reader's open sandboxes of a tree, each with the local id and the beginning of the text
    that it hangs at."""
    rows = list(open_sandboxes(actor.user).filter(sandbox_at__range=ids_in(tree.pk))[:MOST])
    nodes = Node.objects.filter(pk__in=[tree.sandbox_at for tree in rows])
    columns = nodes.values_list("pk", "local_id", Left("text", BEGINNING))
    named = {key: (name, words) for key, name, words in columns}
    return [(tree, *named.get(tree.sandbox_at or 0, ("", ""))) for tree in rows]


def _acted(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    given = SandboxForm.read(request)
    try:
        if given["act"] == "discard":
            execute(actor, tree, commands.discard, commands.DiscardArgs())
            messages.success(request, gettext("The sandbox has ended; it is in your archive."))
            return HttpResponseRedirect(f"/groves/{tree.grove.uid}")
        if given["act"] == "promote":
            place = place_of(actor, tree)
            execute(actor, tree, commands.promote, commands.PromoteArgs())
            messages.success(request, gettext("The texts of the sandbox are in its tree."))
            there = place.tree.uid if place.tree is not None else tree.uid
            at = f"?node={place.node.local_id}" if place.node is not None else ""
            return HttpResponseRedirect(f"/trees/{there}{at}")
        return _begun(actor, tree, given)
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(request.get_full_path())


def _begun(actor: Actor, tree: Tree, given: dict[str, str]) -> HttpResponse:
    values: dict[str, object] = {"label": given["label"]}
    if given["node"]:
        values["ref"] = Ref("node", id=given["node"])
    if given["days"]:
        values["days"] = given["days"]
    known = access.visible_trees(actor.user).filter(sandbox_of=actor.user)
    execute(actor, tree, commands.sandbox, checked(commands.SandboxArgs, values))
    begun = known.order_by("-pk")[0]
    return HttpResponseRedirect(f"/trees/{begun.uid}")
