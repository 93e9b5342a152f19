"""A tree's own settings: title, description, what models are told, archive, erasing."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor
from loom.commands import forest
from loom.commands.execute import run_command
from loom.commands.marks import Tag, tag, untag
from loom.doors.web.fields import text_of
from loom.doors.web.gate import PersonRequest, person
from loom.doors.web.groves import frame
from loom.doors.web.listing import tags_on
from loom.grammar.refs import Ref
from loom.models import Tree
from loom.queries.counts import size_of
from loom.rules.refusals import Refused


@require_GET
@person
def page(request: PersonRequest, uid: str) -> HttpResponse:
    """The settings of one tree."""
    actor, tree = access.get_tree(request.user, uid)
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "size": size_of(actor, tree),
        "can": access.abilities(actor, tree),
        "tags": ", ".join(tags_on(tree)),
    }
    return render(request, "pages/about.html", context)


@require_POST
@person
def change(request: PersonRequest, uid: str, deed: str) -> HttpResponse:
    """Does one of the forms of the page."""
    actor, tree = access.get_tree(request.user, uid, role="writer")
    try:
        if deed == "erase":
            return _erase(request, actor, tree)
        messages.success(request, _deed(request, actor, tree, deed))
    except Refused as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
    return HttpResponseRedirect(f"/trees/{tree.uid}/about")


def _deed(request: PersonRequest, actor: Actor, tree: Tree, deed: str) -> str:
    if deed == "archive":
        forest.change_tree(actor, tree, {"archived": True})
        return gettext("The tree is archived: read only, and out of the list.")
    if deed == "tags":
        return _retag(actor, tree, text_of(request, "tags"))
    if deed == "unarchive":
        forest.change_tree(actor, tree, {"archived": False})
        return gettext("The tree is back.")
    if deed != "head":
        raise Refused("NOT_FOUND", "There is no such form.", hint="Open the page again.")
    fields = {
        "title": text_of(request, "title"),
        "description": text_of(request, "description"),
        "system_context": text_of(request, "system_context"),
        "truncation": request.POST.get("truncation", "truncateMiddle"),
    }
    forest.change_tree(actor, tree, fields)
    return gettext("Saved.")


def _retag(actor: Actor, tree: Tree, given: str) -> str:
    """Makes the tree's tags those that were given, with commas between, as lines of the person."""
    names = {name.casefold(): name for part in given.split(",") if (name := _tag_of(part))}
    before = {tag.casefold(): tag for tag in tags_on(tree)}
    for run, wanted, others in ((tag, names, before), (untag, before, names)):
        fresh = tuple(name for key, name in wanted.items() if key not in others)
        if fresh:
            run_command(actor, tree, run, Tag(ref=Ref("tree", tree_id=tree.uid), names=fresh))
    return gettext("Saved.")


def _tag_of(part: str) -> str:
    return " ".join(part.split()).removeprefix("#").strip()


def _erase(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    access.demand_role(actor, "owner")
    forest.erase(actor, tree, text_of(request, "title"))
    messages.success(request, gettext("The tree is erased."))
    return HttpResponseRedirect(f"/groves/{actor.grove.uid}")
