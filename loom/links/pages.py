"""Pages of links: the link types of a grove, and trails."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models.functions import Coalesce
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_http_methods

from loom import access
from loom.access import Actor, trees_for
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.refs import Ref
from loom.links.api import markdown_of
from loom.links.commands import trails as trail_verbs
from loom.links.commands import types as verbs
from loom.links.link_types import GROUPS, Type
from loom.links.models import Trail
from loom.links.portal_pages import writer_of
from loom.links.trail_steps import TrailStep, steps_of, way_of, way_of_turn
from loom.links.trails import (
    EndSeen,
    EndsSeen,
    get_trail,
    open_trail,
    stops_of,
    trails_for,
)
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.people.models import Grove
from loom.people.names import TAG_COLOURS
from loom.people.participant_fields import ARCHETYPES
from loom.permissions import LOOM, WRITE, WRITE_DOCUMENTS
from loom.site import markdown
from loom.site.display import MAX_SHOWN
from loom.site.forms import PageForm, Whole, Word, Words
from loom.site.page_requests import PersonRequest, frame, in_one_line, person
from loom.text.front_matter import body_start
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Tree

GROUP_WORDS = {
    "structural": gettext_noop("structural"),
    "testing": gettext_noop("testing"),
    "specification": gettext_noop("specification"),
    "evidence": gettext_noop("evidence"),
    "temporal": gettext_noop("temporal"),
    "semantic": gettext_noop("semantic"),
}
MOST_TRAILS = 200
MOST_WAYS = 3


@require_http_methods(["GET", "HEAD", "POST"])
@person
def types_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The link types of a grove by group; a POST adds, changes, archives or restores one."""
    actor, grove = access.get_grove(request.user, uid)
    if request.method == "POST":
        try:
            messages.success(request, _changed(request, actor))
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(f"/groves/{grove.uid}/link-types")
    archetype = archetype_of(actor)
    every = [kind for kind in vocabulary_of(grove).types if archetype in kind.archetypes]
    context = {
        **frame(request, actor, "settings"),
        "groups": [
            (
                gettext(GROUP_WORDS[group]),
                [kind for kind in every if kind.group == group and not kind.archived],
            )
            for group in GROUPS
        ],
        "archived": [kind for kind in every if kind.archived],
        "group_names": [(name, gettext(GROUP_WORDS[name])) for name in GROUPS],
        "archetypes": [(name, gettext(name)) for name in ARCHETYPES],
        "colours": [(name, gettext(name)) for name in TAG_COLOURS],
        "may_write": WRITE in actor.permissions,
    }
    return render(request, "pages/link_types.html", context)


class LinkTypeForm(PageForm):
    """A new link type, or changes of the one that `type` names."""

    type = Word()
    name = Word()
    reverse = Word()
    group = Word()
    colour = Word()
    archetypes = Words()
    archive = Word()


def _changed(request: PersonRequest, actor: Actor) -> str:
    given = LinkTypeForm.read(request)
    if given["type"]:
        return _change(actor, given)
    kind = verbs.add_type(
        actor,
        verbs.NewType(
            name=given["name"],
            reverse=given["reverse"],
            group=given["group"] or "semantic",
            colour=given["colour"],
        ),
    )
    return gettext("Added %(name)s.") % {"name": kind.name}


def _change(actor: Actor, given: dict[str, Any]) -> str:
    word, state = given["type"], given["archive"]
    if state:
        verbs.change_type(actor, verbs.TypeChange(type=word, archived=state == "1"))
        return gettext("Archived.") if state == "1" else gettext("Restored.")
    before: Type = vocabulary_of(actor.grove).demand(word, archetype_of(actor))[0]
    verbs.change_type(
        actor,
        verbs.TypeChange(
            type=word,
            name=given["name"] or before.name,
            reverse=given["reverse"] or None,
            group=given["group"] or before.group,
            colour=given["colour"],
            archetypes=tuple(given["archetypes"]),
        ),
    )
    return gettext("Saved.")


# Trails.


@require_http_methods(["GET", "HEAD", "POST"])
@person
def trails_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The person's trails in a grove and the shared ones, the newest first, at most 200, and the
    ways they are on; a POST keeps one of those, or joins two trails."""
    actor, grove = access.get_grove(request.user, uid)
    if request.method == "POST":
        try:
            name = _kept(request, actor, grove)
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
            return HttpResponseRedirect(f"/groves/{grove.uid}/trails")
        return HttpResponseRedirect(f"/trails/{get_trail(actor, name).uid}")
    rows = trails_for(actor)
    trails = list(rows[:MOST_TRAILS])
    context = {
        **frame(request, actor, "trails_of_grove"),
        "trails": trails,
        "left": rows.count() - MOST_TRAILS if len(trails) == MOST_TRAILS else 0,
        "shown": MOST_TRAILS,
        "me": actor.participant.pk,
        "ways": _ways(actor) if LOOM in actor.permissions else [],
        "may_keep": LOOM in actor.permissions,
    }
    return render(request, "pages/trails.html", context)


@dataclass(frozen=True)
class WayHere:
    """What somebody has looked at in a tree since they last switched: where it ended, and the
    number of steps."""

    tree: Tree
    many: int
    last: str


def _ways(actor: Actor) -> list[WayHere]:
    """The ways that the person is on in the trees of the grove that they were in last; at most
    MOST_WAYS. Two queries for each, and six."""
    rows = actor.participant.workspaces.filter(tree__in=trees_for(actor), tree__grove=actor.grove)
    # By lines alone nothing is seen: such a way is as new as its workspace.
    newest = Coalesce("seen_at", "made_at").desc()
    last_seen = rows.select_related("tree").order_by(newest, "-pk")[:MOST_WAYS]
    ways = [
        (workspace.tree, steps) for workspace in last_seen if len(steps := way_of(workspace)) > 1
    ]
    if not ways:
        return []
    ends = stops_of(actor, None, [steps[-1] for _, steps in ways])
    ways_here = []
    for tree, steps in ways:
        last = ends.of(steps[-1].to)[-1]
        ways_here.append(WayHere(tree, len(steps), last.words or last.shown))
    return ways_here


class NewTrailForm(PageForm):
    """The name of a new trail, and what it is made of: the way in a tree, or two trails."""

    name = Word()
    tree = Word()
    first = Word()
    second = Word()


def _kept(request: PersonRequest, actor: Actor, grove: Grove) -> str:
    """Keeps the way that the person is on in a tree, or joins two trails; the new one's name."""
    form = NewTrailForm.of(request)
    name = " ".join(form.values["name"].split())
    if form.has("tree"):
        _, tree = access.get_tree(request.user, form.values["tree"])
        if tree.grove_id != grove.pk:
            raise not_found("This tree")
        execute(actor, tree, trail_verbs.trail_save, trail_verbs.Save(save="save", name=name))
        return name
    first, second = (get_trail(actor, form.values[key]) for key in ("first", "second"))
    join = trail_verbs.Join(join="join", first=first.name, second=second.name, save=name)
    execute(actor, first.tree, trail_verbs.trail_join, join)
    return name


@dataclass(frozen=True)
class EndOfStep:
    """An item in a pane; `href` is empty where it cannot be opened."""

    shown: str
    by: str
    body: SafeString
    state: str
    href: str


@dataclass(frozen=True)
class TrailPane:
    """One step of a trail as a pane: its number, link type and from which items it was taken
    (`of`), why, note, and what it led to."""

    number: int
    type: str
    of: str
    because: str
    note: str
    ends: list[EndOfStep]


@require_http_methods(["GET", "HEAD", "POST"])
@person
def trail_page(request: PersonRequest, uid: str) -> HttpResponse:
    """A trail as sliding panes; a POST notes on a step, shares, replays or forks it."""
    actor, trail = open_trail(request.user, uid)
    if request.method == "POST":
        try:
            return _trail_changed(request, actor, trail)
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(f"/trails/{trail.uid}")
    steps = steps_of(trail)
    stops = stops_of(actor, trail.tree, steps)
    panes = [_pane(number, step, stops) for number, step in enumerate(steps, 1)]
    context = {
        **frame(request, actor, "trails_of_grove"),
        "trail": trail,
        "panes": panes,
        "is_own": trail.owner_id == actor.participant.pk,
        "may_keep": LOOM in actor.permissions,
        "may_write_documents": WRITE_DOCUMENTS in actor.permissions
        and trail.tree.archived_at is None,
        "may_cite": WRITE in actor.permissions and trail.tree.archived_at is None,
    }
    return render(request, "pages/trail.html", context)


def _pane(number: int, step: TrailStep, stops: EndsSeen) -> TrailPane:
    ends = [_end_shown(stop, stops) for stop in stops.of(step.to)]
    of = " ".join(stop.shown for stop in stops.of(step.of))
    return TrailPane(number, step.type.replace("_", " "), of, step.because, step.note, ends)


def _end_shown(stop: EndSeen, stops: EndsSeen) -> EndOfStep:
    node, paper = stop.node, stops.papers.get(stop.item)
    if node is None and paper is not None:
        text, base = grove_texts().part_of(paper).text, f"/documents/{paper.uid}"
        body = markdown.to_read(text[body_start(text) :][:MAX_SHOWN], base)
        return EndOfStep(stop.shown, "", body, stop.state, base)
    if node is None:
        href = f"/trees/{stop.ref[5:]}" if stop.ref.startswith("tree:") else ""
        return EndOfStep(stop.shown, "", markdown.plain(""), stop.state, href)
    href = f"/trees/{node.tree.uid}?node={node.local_id}"
    body = markdown.to_read(node.text[:MAX_SHOWN], f"/trees/{node.tree.uid}")
    return EndOfStep(stop.shown, writer_of(stops.actor, node), body, stop.state, href)


class TrailForm(PageForm):
    """What is done with a trail, by the button that was pressed: `replay` it, `fork` it up to the
    step `at` as `name`, `share` it (1) or not (0), or write the `note` on step `n`."""

    at = Whole()
    name = Word()
    share = Word()
    n = Whole()
    note = Word()


def _trail_changed(request: PersonRequest, actor: Actor, trail: Trail) -> HttpResponse:
    """Runs what a form of the page asks for, as the command of that name."""
    tree = trail.tree
    form = TrailForm.of(request)
    given = form.values
    if form.has("replay"):
        args = trail_verbs.Replay(replay="replay", name=trail.name)
        answer = execute(actor, tree, trail_verbs.trail_replay, args)
        words = [gettext("The texts of the trail are open in your windows.")]
        if stops_of(actor, tree, steps_of(trail)).changed:
            words.append(gettext("Some of them have changed since."))
        messages.success(request, " ".join(words))
        position = answer.body["position"]
        return HttpResponseRedirect(f"/trees/{tree.uid}?node={position}")
    if form.has("fork"):
        name = " ".join(given["name"].split())
        at = given["at"] or len(trail.steps)
        fork = trail_verbs.Fork(fork="fork", name=trail.name, at=at, save=name)
        execute(actor, tree, trail_verbs.trail_fork, fork)
        return HttpResponseRedirect(f"/trails/{get_trail(actor, name).uid}")
    if form.has("share"):
        if given["share"] == "1":
            share = trail_verbs.ShareTrail(share="share", name=trail.name)
            execute(actor, tree, trail_verbs.trail_share, share)
        else:
            unshare = trail_verbs.UnshareTrail(unshare="unshare", name=trail.name)
            execute(actor, tree, trail_verbs.trail_unshare, unshare)
    elif form.has("note"):
        number = given["n"] or 1
        note = trail_verbs.TrailNoteArgs(note="note", name=trail.name, n=number, text=given["note"])
        execute(actor, tree, trail_verbs.trail_note, note)
    messages.success(request, gettext("Saved."))
    return HttpResponseRedirect(f"/trails/{trail.uid}")


@require_http_methods(["GET", "HEAD", "POST"])
@person
def turn_trail(request: PersonRequest, uid: str, turn: str) -> HttpResponse:
    """Where the steps of a turn led, as a part of the page of its node; a POST keeps them as a
    trail."""
    actor, tree = access.get_tree(request.user, uid)
    home, steps = way_of_turn(actor, turn)
    if home.pk != tree.pk:
        raise not_found(f"turn:{turn}")
    if request.method == "POST":
        name = " ".join(NewTrailForm.read(request)["name"].split())
        args = trail_verbs.Save(save="save", name=name, turn=Ref("turn", id=turn))
        try:
            execute(actor, tree, trail_verbs.trail_save, args)
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
            return HttpResponseRedirect(f"/groves/{tree.grove.uid}/trails")
        return HttpResponseRedirect(f"/trails/{get_trail(actor, name).uid}")
    stops = stops_of(actor, tree, steps)
    panes = [_pane(number, step, stops) for number, step in enumerate(steps, 1)]
    context = {"panes": panes, "tree": tree, "turn": turn, "may_keep": LOOM in actor.permissions}
    return render(request, "parts/turn_trail.html", context)


@require_GET
@person
def trail_file(request: PersonRequest, uid: str) -> HttpResponse:
    """A trail as a Markdown document."""
    return markdown_of(*open_trail(request.user, uid))
