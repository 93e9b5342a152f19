"""The page of a tree and its parts: path, settings, archive."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_POST

from loom import access
from loom.access import Actor, Visit
from loom.engine.execute import execute
from loom.errors import CommandError
from loom.language.ids import of_tree
from loom.language.refs import Ref
from loom.links.foot import portals_of
from loom.notes.commands.marks import Tag, tag, untag
from loom.notes.queries import tags_on
from loom.participants.budgets import BUDGETS
from loom.participants.provider_kinds import SAMPLERS
from loom.reading.pages.candidates import agents_of, cards_of, weave_of
from loom.reading.pages.history import news_shown
from loom.reading.pages.node_parts import (
    Drawn,
    NodeData,
    drawn_from,
    drawn_of,
    found_for,
    reader_of,
)
from loom.reading.queries.margins import NodeMarks, kept_of
from loom.reading.queries.path_page import Way, way_of
from loom.site import display
from loom.site.display import Who, cast_of
from loom.site.forms import PageForm, Seen, Text, Word
from loom.site.page_requests import (
    PersonRequest,
    Stretch,
    abilities,
    as_shown,
    frame,
    in_one_line,
    person,
    place_at,
    stretch_above,
    stretch_of,
    visit_of,
)
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from loom.trees.queries.outline import size_of
from loom.turns import summaries

PAGE_NODES = 60


@dataclass(frozen=True)
class _Page:
    """The data of a path and its weave, read with five queries: see ARCHITECTURE.md, "Queries"."""

    visit: Visit
    cast: dict[str, Who]
    way: Way
    stretch: Stretch
    kept: NodeMarks
    found: NodeData

    @classmethod
    def read(cls, request: PersonRequest, uid: str, *, after: str = "", nodes: int) -> "_Page":
        """At most `nodes` nodes of the path to `?node=`, only those below `after`."""
        visit, named = visit_of(request, uid)
        tree = visit.tree
        cast = cast_of(visit.actor)
        way = way_of(visit, named, most=max(nodes, 1))
        stretch = stretch_of(way, tree, after=after, limit=nodes)
        spots, end = stretch.spots, way.path[-1].slot_id
        items = [of_tree(tree.pk), *(spot.id for spot in spots)]
        kept = kept_of(
            tree, items, around=way.around, spots=spots, workspace=visit.workspace, slot=end
        )
        cards = cards_of(way, kept.chosen)
        data = found_for(tree, spots, cast, around=way.around, kept=kept, also=cards)
        data.find_pieces([*(spot.id for spot in spots), *cards])
        return cls(visit, cast, way, stretch, kept, data)

    @property
    def tree_tags(self) -> set[str]:
        """The tags on the tree itself."""
        marks = self.kept.marks[of_tree(self.visit.tree.pk)]
        return {label for kind, label, _ in marks if kind == "tag"}

    def context(self) -> dict[str, Any]:
        """The context of the weave's template. One more query, for the candidates."""
        actor = self.visit.actor
        cards = [self.found.rows[card] for card in cards_of(self.way, self.kept.chosen)]
        return {
            "weave": weave_of(actor, self.way, cards, self.found.pieces, self.cast),
            "tree": self.visit.tree,
            "can": abilities(actor, self.visit.tree),
        }

    def path_context(self) -> dict[str, Any]:
        """The additional context of the path's template."""
        drawn = drawn_from(self.found, self.stretch.spots)
        above = self.way.around.by_id.get(self.stretch.above)
        over = above.local_id if above else ""
        return {
            **self.context(),
            "grove": self.visit.actor.grove,
            "node": self.way.here.local_id,
            "nodes": _elements(self.visit.actor, self.visit.tree, drawn, over),
            "first": drawn[0].id if drawn else "",
            "has_above": self.stretch.has_above,
        }


@require_GET
@person
def tree_page(request: PersonRequest, uid: str) -> HttpResponse:
    """A tree at `?node=`, else at the reader's last position."""
    page = _Page.read(request, uid, nodes=PAGE_NODES)
    actor, cast = page.visit.actor, page.cast
    path = page.path_context()
    context = {
        **path,
        **_menus(actor, cast),
        "me": cast[actor.participant.uid],
        "budgets": tuple(BUDGETS),
        "settings": {
            **_settings(page),
            "keys": display.keys_for_scripts(request.user, page.visit.tree.mode),
            "edits": request.user.likes.edits,
        },
        "shares": actor.is_owner,
        "samplers": SAMPLERS,
        "news": news_shown(actor, page.visit.tree, page.visit.workspace, cast),
        "tree_tags": tuple(sorted(page.tree_tags)),
        # Who may only read has it in a box, where it can be copied, and not as part of the text.
        "tail": page.kept.drafts.get("buffer", "") if path["can"]["write"] else "",
    }
    return render(request, "pages/tree.html", context)


def _settings(page: _Page) -> dict[str, Any]:
    """The initial data of the page's scripts."""
    visit, here = page.visit, page.way.here
    return {
        "tree": visit.tree.uid,
        "title": visit.tree.title,
        "grove": visit.actor.grove.uid,
        "mode": visit.tree.mode,
        "truncation": visit.workspace.settings.get("truncation", ""),
        # Read first: changes while the page is being made arrive again as events.
        "seq": visit.seq,
        "node": here.local_id,
        "slot": here.slot_local_id,
        "workspace": visit.workspace.uid,
        "me": visit.actor.participant.uid,
        "can": abilities(visit.actor, visit.tree),
        "role": visit.actor.role,
        "versions": page.kept.choices,
        "cast": _cast_shown(page.cast),
    }


def _cast_shown(cast: dict[str, Who]) -> list[dict[str, Any]]:
    """The participants, in the form that the page's scripts use."""
    names = ("name", "kind", "colour", "initials", "is_agent", "is_archived")
    return [
        {"id": who.uid, **{name: getattr(who, name) for name in names}} for who in cast.values()
    ]


def _menus(actor: Actor, cast: dict[str, Who]) -> dict[str, Any]:
    """The participants who can be asked to continue or to act, and all members."""
    agents = agents_of(cast)
    actors = [member for member in cast.values() if member.is_agent and not member.is_archived]
    return {
        "cast": list(cast.values()),
        "agents": agents,
        "only_toys": all(agent["is_toy"] for agent in agents),
        "actors": actors,
        "toy_actors": any(agent.is_toy for agent in actors),
        "is_owner": actor.is_owner,
    }


@require_GET
@person
def cast(request: PersonRequest, uid: str) -> HttpResponse:
    """The members and models of a page that was opened before they changed."""
    actor, _ = access.get_tree(request.user, uid)
    everybody = cast_of(actor)
    context = {
        **_menus(actor, everybody),
        "grove": actor.grove,
        "settings": _cast_shown(everybody),
    }
    return render(request, "parts/cast.html", context)


def _portals_shown(actor: Actor, tree: Tree, nodes: Sequence[Drawn]) -> dict[str, str]:
    """The portals of nodes, rendered for the actor, by local id."""
    slots = {node.key: node.slot for node in nodes}
    portals = portals_of(actor, slots, [row for node in nodes for row in node.links])
    return {
        node.id: render_to_string(
            "parts/portals.html",
            {"portals": portals[node.key], "base": f"/trees/{tree.uid}/nodes/{node.id}"},
        )
        for node in nodes
        if node.key in portals
    }


def _elements(actor: Actor, tree: Tree, drawn: Sequence[Drawn], above: str) -> list[SafeString]:
    """The nodes for the reader, with their own name, marks, shortcuts and wordings. `above` is the
    current version above the first."""
    reader = reader_of(actor)
    out = _portals_shown(actor, tree, [piece for piece in drawn if piece.links])
    return [
        piece.element(reader, above=before, portals=out.get(piece.id, ""))
        for piece, before in zip(drawn, [above, *(piece.id for piece in drawn)], strict=False)
    ]


@require_GET
@person
def tags(request: PersonRequest, uid: str) -> HttpResponse:
    """The tags of the tree itself, as its bar shows them."""
    actor, tree = access.get_tree(request.user, uid)
    context = {"tree": tree, "grove": actor.grove, "tree_tags": tags_on([tree]).get(tree.pk, ())}
    return render(request, "parts/bar_tags.html", context)


@require_GET
@person
def path(request: PersonRequest, uid: str) -> HttpResponse:
    """The path to `?node=` with its weave; only below `?after=`, a node of that path."""
    page = _Page.read(request, uid, after=request.GET.get("after", ""), nodes=PAGE_NODES)
    return render(request, "parts/path.html", page.path_context())


@require_GET
@person
def above(request: PersonRequest, uid: str) -> HttpResponse:
    """The part of the path to `?node=` directly above `?before=`."""
    place = place_at(request, uid)
    stretch = stretch_above(place, before=request.GET.get("before", ""), limit=PAGE_NODES)
    drawn = drawn_of(place.tree, stretch.spots, cast_of(place.actor))
    over = Node.objects.filter(pk=stretch.above).values_list("local_id", flat=True).first()
    context = {
        "tree": place.tree,
        "node": place.node.local_id,
        "nodes": _elements(place.actor, place.tree, drawn, over or ""),
        "first": drawn[0].id if drawn else "",
        "has_above": stretch.has_above,
    }
    return render(request, "parts/stretch.html", context)


@require_GET
@person
def weave(request: PersonRequest, uid: str) -> HttpResponse:
    """The weave below `?node=`."""
    return render(request, "parts/weave.html", _Page.read(request, uid, nodes=0).context())


# A tree's own settings: title, description, system context, archive, erasing.


@require_GET
@person
def about_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The settings of one tree."""
    actor, tree = access.get_tree(request.user, uid)
    return _about(request, actor, tree)


def _about(
    request: PersonRequest, actor: Actor, tree: Tree, refused: CommandError | None = None
) -> HttpResponse:
    """The page; where what was typed was `refused`, with that and the reason."""
    now = {name: getattr(tree, name) for name in HEAD}
    typed = _changed(HeadForm.of(request)) if refused else {}
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "head": now | typed,
        "seen": json.dumps(now),
        "refused": refused and as_shown(refused),
        "now": [
            {"label": gettext(label), "text": now[name]}
            for name, label in LONG.items()
            if typed.get(name, now[name]) != now[name]
        ],
        "size": size_of(actor, tree),
        "can": abilities(actor, tree),
        "tags": ", ".join(tags_on([tree]).get(tree.pk, ())),
        "failed": summaries.failures(tree),
    }
    status = refused.status if refused else 200
    return render(request, "pages/about.html", context, status=status)


@require_POST
@person
def change_tree(request: PersonRequest, uid: str, action: str) -> HttpResponse:
    """Handles one of the forms of the page."""
    actor, tree = access.get_tree(request.user, uid, role="writer")
    try:
        if action == "erase":
            return _erase(request, actor, tree)
        messages.success(request, _action(request, actor, tree, action))
    except CommandError as refused:
        if action == "head":
            return _about(request, actor, access.get_tree(request.user, uid)[1], refused)
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/trees/{tree.uid}/about")


class TagsForm(PageForm):
    """The tags of a tree, separated by commas."""

    tags = Text()


class ErasureForm(PageForm):
    """The title of the tree that is erased, so that it is the right one."""

    title = Text()


class HeadForm(PageForm):
    """What is said of a tree, and what models are told of it."""

    title = Word()
    description = Text()
    system_context = Text()
    truncation = Text(empty="truncateMiddle")
    seen = Seen()


# What two may write at the same time: where one is refused, both are shown.
LONG = {
    "description": gettext_noop("Description"),
    "system_context": gettext_noop("Instructions for models"),
}
HEAD = ("title", "description", "system_context", "truncation")


def _action(request: PersonRequest, actor: Actor, tree: Tree, action: str) -> str:
    if action == "archive":
        trees.change_tree(actor, tree, {"archived": True})
        return gettext("The tree has been archived. It is read-only and no longer listed.")
    if action == "tags":
        return _retag(actor, tree, TagsForm.read(request)["tags"])
    if action == "unarchive":
        trees.change_tree(actor, tree, {"archived": False})
        return gettext("The tree has been restored.")
    if action != "head":
        raise CommandError("NOT_FOUND", "This form does not exist.", hint="Reload the page.")
    form = HeadForm.of(request)
    shown = form.values["seen"]
    seen = {name: shown[name] for name in HEAD if isinstance(shown.get(name), str)}
    trees.change_tree(actor, tree, {**_changed(form), "seen": seen})
    return gettext("Saved.")


def _changed(form: HeadForm) -> dict[str, Any]:
    """What was changed in the page, as far as it can be read."""
    typed = {name: form.data.get(name, "") for name in HEAD}
    given = form.cleaned_data if form.is_valid() else typed | form.cleaned_data
    seen = form.cleaned_data.get("seen", {})
    values = {name: _with_lf(given[name]) for name in HEAD}
    return {name: value for name, value in values.items() if value != _with_lf(seen.get(name))}


def _with_lf(value: object) -> object:
    """A text as a browser sends it back, whose ends of lines are of one kind."""
    return "\n".join(re.split(r"\r\n?|\n", value)) if isinstance(value, str) else value


def _retag(actor: Actor, tree: Tree, given: str) -> str:
    """Sets the tree's tags to the given ones, separated by commas, as command lines of the
    person."""
    names = {name.casefold(): name for part in given.split(",") if (name := _tag_of(part))}
    before = {tag.casefold(): tag for tag in tags_on([tree]).get(tree.pk, ())}
    for run, wanted, others in ((tag, names, before), (untag, before, names)):
        fresh = tuple(name for key, name in wanted.items() if key not in others)
        if fresh:
            execute(actor, tree, run, Tag(ref=Ref("tree", tree_id=tree.uid), names=fresh))
    return gettext("Saved.")


def _tag_of(part: str) -> str:
    return " ".join(part.split()).removeprefix("#").strip()


def _erase(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    access.demand_role(actor, "owner")
    trees.erase(actor, tree, ErasureForm.read(request)["title"])
    messages.success(request, gettext("The tree has been erased."))
    return HttpResponseRedirect(f"/groves/{actor.grove.uid}")
