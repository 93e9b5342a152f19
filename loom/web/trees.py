"""The tree page and its parts: path, settings, archive."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor
from loom.commands import node_writer
from loom.commands import trees as tree_commands
from loom.commands.execute import execute
from loom.commands.marks import Tag, tag, untag
from loom.grammar.refs import Ref
from loom.models import Node, Tree, VersionChoice, Workspace
from loom.queries.node_context import Around
from loom.queries.trees import head_of, size_of
from loom.queries.workspaces import text_at
from loom.rules.budgets import PRESETS
from loom.rules.errors import CommandError
from loom.rules.samplers import SAMPLERS
from loom.web import keys
from loom.web.avatars import Who, cast_of
from loom.web.candidates import Weave, agents_of, weave_of
from loom.web.groves import frame, tags_on
from loom.web.node_parts import Drawn, drawn_of, reader_of
from loom.web.panels import portals_out
from loom.web.requests import PersonRequest, Place, Stretch, person, place_of, stretch_of, text_of

PAGE_NODES = 60


def _place(request: PersonRequest, uid: str) -> Place:
    """Who asks, for which tree, and where he stands. NOT_FOUND for an unknown node."""
    actor, tree = access.get_tree(request.user, uid)
    workspace = node_writer.workspace_of(actor.participant, tree)
    return place_of(actor, tree, workspace, request.GET.get("node", ""))


@require_GET
@person
def tree_page(request: PersonRequest, uid: str) -> HttpResponse:
    """A tree, standing at `?node=`, else where the reader stood last."""
    place = _place(request, uid)
    # The cursor is read first: what happens while the page is made comes again as events.
    seq = head_of(place.tree)
    cast = cast_of(place.actor)
    stretch = stretch_of(place, after="", before="", limit=PAGE_NODES)
    around = _around(place, stretch)
    context = {
        **_path_context(place, cast, stretch, around),
        "weave": _weave(place, cast, stretch, around),
        **_menus(place, cast),
        "me": cast[place.actor.participant.uid],
        "budgets": tuple(PRESETS),
        "settings": {
            **_settings(place, cast, seq),
            "keys": keys.for_scripts(request.user, place.tree.mode),
            "edits": request.user.likes.edits,
        },
        "shares": place.actor.is_owner,
        "samplers": SAMPLERS,
        "tree_tags": tags_on(place.actor, place.tree),
        "tail": text_at(place.workspace, place.node, "buffer"),
    }
    return render(request, "pages/tree.html", context)


def _settings(place: Place, cast: dict[str, Who], seq: int) -> dict[str, Any]:
    """What the page's scripts start from."""
    return {
        "tree": place.tree.uid,
        "title": place.tree.title,
        "grove": place.actor.grove.uid,
        "mode": place.tree.mode,
        "seq": seq,
        "node": place.node.local_id,
        "slot": place.node.slot.local_id,
        "workspace": place.workspace.uid,
        "me": place.actor.participant.uid,
        "can": access.abilities(place.actor, place.tree),
        "versions": _choices(place.workspace),
        "cast": _cast_shown(cast),
    }


def _cast_shown(cast: dict[str, Who]) -> list[dict[str, Any]]:
    """The participants as the page's scripts know them."""
    names = ("name", "kind", "colour", "initials")
    return [
        {"id": who.uid, **{name: getattr(who, name) for name in names}} for who in cast.values()
    ]


def _menus(place: Place, cast: dict[str, Who]) -> dict[str, Any]:
    """Who can be asked to continue or to act, and who takes part."""
    agents = agents_of(cast)
    actors = [one for one in cast.values() if one.is_agent and not one.is_archived]
    return {
        "cast": list(cast.values()),
        "agents": agents,
        "only_toys": all(one["is_toy"] for one in agents),
        "actors": actors,
        "toy_actors": any(one.is_toy for one in actors),
        "is_owner": place.actor.is_owner,
    }


@require_GET
@person
def cast(request: PersonRequest, uid: str) -> HttpResponse:
    """Who can be asked and who takes part, for a page that was opened before."""
    place = _place(request, uid)
    everybody = cast_of(place.actor)
    context = {
        **_menus(place, everybody),
        "grove": place.actor.grove,
        "settings": _cast_shown(everybody),
    }
    return render(request, "parts/cast.html", context)


def _choices(workspace: Workspace) -> dict[str, str]:
    """The versions the reader chose, slot → version, by local ids."""
    chosen = VersionChoice.objects.filter(workspace=workspace).order_by("id")
    return dict(chosen.values_list("slot__local_id", "node__local_id"))


def _weave(
    place: Place,
    cast: dict[str, Who],
    stretch: Stretch | None = None,
    around: Around | None = None,
) -> Weave:
    path = stretch.path if stretch else None
    return weave_of(
        place.actor, place.tree, place.workspace, place.node, cast, path=path, around=around
    )


def _around(place: Place, stretch: Stretch) -> Around:
    """What is around the nodes of a stretch, and around the place, read for both at once."""
    return Around({place.node.slot_id, *(spot.slot_id for spot in stretch.spots)})


def _path_context(
    place: Place, cast: dict[str, Who], stretch: Stretch, around: Around | None = None
) -> dict[str, Any]:
    drawn = drawn_of(place.tree, stretch.spots, cast, around=around)
    return {
        "tree": place.tree,
        "grove": place.actor.grove,
        "node": place.node.local_id,
        "nodes": _elements(place, drawn, stretch.above),
        "first": drawn[0].id if drawn else "",
        "has_above": stretch.has_above,
        "can": access.abilities(place.actor, place.tree),
    }


def _elements(place: Place, drawn: Sequence[Drawn], above: int) -> list[SafeString]:
    """The nodes of a stretch for the reader: his own name, marks, keys and wordings."""
    reader = reader_of(place.actor)
    over = ""
    if drawn and drawn[0].wordings is not None:
        over = Node.objects.filter(pk=above).values_list("local_id", flat=True).first() or ""
    out = portals_out(place.actor, place.tree, [one for one in drawn if one.is_linked_out])
    return [
        one.element(reader, above=before, portals=out.get(one.id, ""))
        for one, before in zip(drawn, [over, *(one.id for one in drawn)], strict=False)
    ]


@require_GET
@person
def tags(request: PersonRequest, uid: str) -> HttpResponse:
    """The tags of the tree itself, as its bar shows them."""
    actor, tree = access.get_tree(request.user, uid)
    context = {"tree": tree, "grove": actor.grove, "tree_tags": tags_on(actor, tree)}
    return render(request, "parts/bar_tags.html", context)


@require_GET
@person
def path(request: PersonRequest, uid: str) -> HttpResponse:
    """The path to `?node=` with its weave; only below `?after=`, a node of that path."""
    place = _place(request, uid)
    cast = cast_of(place.actor)
    after = request.GET.get("after", "")
    stretch = stretch_of(place, after=after, before="", limit=PAGE_NODES)
    around = _around(place, stretch)
    context = {
        **_path_context(place, cast, stretch, around),
        "weave": _weave(place, cast, stretch, around),
    }
    return render(request, "parts/path.html", context)


@require_GET
@person
def above(request: PersonRequest, uid: str) -> HttpResponse:
    """The stretch of the path to `?node=` that lies above `?before=`."""
    place = _place(request, uid)
    before = request.GET.get("before", "")
    stretch = stretch_of(place, after="", before=before, limit=PAGE_NODES)
    context = _path_context(place, cast_of(place.actor), stretch)
    return render(request, "parts/stretch.html", context)


@require_GET
@person
def weave(request: PersonRequest, uid: str) -> HttpResponse:
    """What hangs below `?node=`."""
    place = _place(request, uid)
    cast = cast_of(place.actor)
    context = {
        "weave": _weave(place, cast),
        "tree": place.tree,
        "can": access.abilities(place.actor, place.tree),
    }
    return render(request, "parts/weave.html", context)


# A tree's own settings: title, description, what models are told, archive, erasing.


@require_GET
@person
def about_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The settings of one tree."""
    actor, tree = access.get_tree(request.user, uid)
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "size": size_of(actor, tree),
        "can": access.abilities(actor, tree),
        "tags": ", ".join(tags_on(actor, tree)),
    }
    return render(request, "pages/about.html", context)


@require_POST
@person
def change_tree(request: PersonRequest, uid: str, deed: str) -> HttpResponse:
    """Does one of the forms of the page."""
    actor, tree = access.get_tree(request.user, uid, role="writer")
    try:
        if deed == "erase":
            return _erase(request, actor, tree)
        messages.success(request, _deed(request, actor, tree, deed))
    except CommandError as refused:
        messages.error(request, f"{refused.message} {refused.hint}".strip())
    return HttpResponseRedirect(f"/trees/{tree.uid}/about")


def _deed(request: PersonRequest, actor: Actor, tree: Tree, deed: str) -> str:
    if deed == "archive":
        tree_commands.change_tree(actor, tree, {"archived": True})
        return gettext("The tree has been archived. It is read-only and no longer listed.")
    if deed == "tags":
        return _retag(actor, tree, text_of(request, "tags"))
    if deed == "unarchive":
        tree_commands.change_tree(actor, tree, {"archived": False})
        return gettext("The tree has been restored.")
    if deed != "head":
        raise CommandError("NOT_FOUND", "This form does not exist.", hint="Reload the page.")
    fields = {
        "title": text_of(request, "title"),
        "description": text_of(request, "description"),
        "system_context": text_of(request, "system_context"),
        "truncation": request.POST.get("truncation", "truncateMiddle"),
    }
    tree_commands.change_tree(actor, tree, fields)
    return gettext("Saved.")


def _retag(actor: Actor, tree: Tree, given: str) -> str:
    """Makes the tree's tags those that were given, with commas between, as lines of the person."""
    names = {name.casefold(): name for part in given.split(",") if (name := _tag_of(part))}
    before = {tag.casefold(): tag for tag in tags_on(actor, tree)}
    for run, wanted, others in ((tag, names, before), (untag, before, names)):
        fresh = tuple(name for key, name in wanted.items() if key not in others)
        if fresh:
            execute(actor, tree, run, Tag(ref=Ref("tree", tree_id=tree.uid), names=fresh))
    return gettext("Saved.")


def _tag_of(part: str) -> str:
    return " ".join(part.split()).removeprefix("#").strip()


def _erase(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    access.demand_role(actor, "owner")
    tree_commands.erase(actor, tree, text_of(request, "title"))
    messages.success(request, gettext("The tree has been erased."))
    return HttpResponseRedirect(f"/groves/{actor.grove.uid}")
