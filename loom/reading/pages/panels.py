"""Parts beside the path: one node's details, its links, bookmarks, provenance."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from loom import access
from loom.access import Actor
from loom.errors import not_found
from loom.links.foot import portals_of
from loom.links.sides import LinkSide, links_of, mentioning
from loom.notes.models import Mark
from loom.participants.provider_kinds import samplers_written
from loom.reading.pages.candidates import again
from loom.reading.pages.node_parts import cut, found_for, personal, reader_of
from loom.reading.queries.margins import Margin
from loom.reading.queries.provenance import (
    CallSeen,
    call_before,
    call_of,
    calls_of,
    changed,
    messages_in,
    provenance_of,
    request_text,
    seen,
)
from loom.site import markdown
from loom.site.display import MAX_SHOWN, age_of, cast_of
from loom.site.page_requests import PersonRequest, abilities, frame, known_node, person
from loom.text.hashes import instant
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import places
from loom.trees.queries.around import Spot
from loom.trees.queries.lookup import nodes_in, selected_versions
from loom.turns import access as turn_access
from loom.turns.models import Call, Generation, Turn
from loom.turns.old_calls import ANSWER_GONE
from loom.turns.queries import turns
from loom.turns.summaries import last_failure
from loom.workspace.queries.window_contents import WindowContent, window_body, windows_shown
from loom.workspace.queries.windows import WITHHELD

BEARER = '-H "Authorization: Bearer $HEDDLE_KEY"'
# The body is given as it is without compression.
LEFT_TO_CURL = ("host", "content-length", "connection", "accept-encoding", "content-encoding")


# Parts beside the path: one node's details, bookmarks, a whole text.


BOOKMARKS = 100  # at once


@dataclass(frozen=True)
class VersionShown:
    """One version of a slot."""

    id: str
    by: str
    colour: int
    age: str
    text: str
    is_current: bool
    is_pruned: bool


def _panel_node(tree: Tree, local_id: str) -> Node:
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    return node


@require_GET
@person
def details(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """One node: what may be done with it, its versions, links and provenance."""
    actor, tree = access.get_tree(request.user, uid)
    node = _panel_node(tree, local_id)
    workspace = access.workspace_of(actor.participant, tree)
    cast = cast_of(actor)
    selected = selected_versions([node.slot_id], workspace).get(node.slot_id, (0, ""))[0]
    versions = [
        VersionShown(
            id=version.local_id,
            by=cast[version.author.uid].shown,
            colour=cast[version.author.uid].colour,
            age=age_of(version.created_at),
            text=version.text[:160],
            is_current=version.pk == selected,
            is_pruned=version.version_pruned,
        )
        for version in places.versions_of(node)
    ]
    data = found_for(tree, [Spot(node.pk, node.slot_id)], cast)
    me = actor.participant.uid
    generation = Generation.objects.filter(uid=node.generation_uid).select_related("turn").first()
    context = {
        "node": data.node(node.pk),
        **_asked_with(generation, node),
        "margin": data.margins[node.pk],
        "is_bookmarked": any(by == me for _, by in data.margins[node.pk].bookmarks),
        "is_reworded": _is_reworded(data.margins[node.pk], node, workspace),
        "row": node,
        "is_root": node.parent_slot_id is None,
        "versions": versions,
        "generation": generation,
        "call": call_of(node),
        "led_by": generation.turn.uid if generation is not None and generation.turn else "",
        "failed": last_failure(node),
        "tree": tree,
        "can": abilities(actor, tree),
    }
    drawn = render_to_string("parts/details.html", context, request)
    return HttpResponse(personal(cut(drawn), reader_of(actor)))


@require_GET
@person
def links(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The links of one node, in both directions."""
    actor, tree = access.get_tree(request.user, uid)
    node = _panel_node(tree, local_id)
    sides = links_of(actor, node, most=MOST_LINKS)
    portals = portals_of(actor, {node.pk: node.slot_id}).get(node.pk, ())
    counts = {type_shown.type: type_shown.many for type_shown in portals}
    context = {
        "node": node,
        "is_root": node.parent_slot_id is None,
        "groups": _by_type(node, [*sides, *mentioning(actor, node)], counts),
        "can": abilities(actor, tree),
    }
    return render(request, "parts/links.html", context)


MOST_LINKS = 200  # that the panel lists
AROUND = 120  # characters of a text on each side of the words of a link


@dataclass(frozen=True)
class LinksOfType:
    """The links of one type in the panel: how many there are, those shown with the words around
    each, and how many are left."""

    shown: str
    many: int
    links: list[tuple[LinkSide, str, dict[str, str]]]

    @property
    def left(self) -> int:
        """How many are not shown."""
        return max(self.many - len(self.links), 0)


def _by_type(node: Node, seen: Sequence[LinkSide], counts: Mapping[str, int]) -> list[LinksOfType]:
    """The links of a node by type, each with the words around it and what removes it."""
    groups: dict[str, list[LinkSide]] = {}
    for side in seen:
        groups.setdefault(side.type, []).append(side)
    return [
        LinksOfType(
            kind.replace("_", " "),
            max(counts.get(kind, 0), len(links)),
            [(link, _around(link), _ends_of(link, node)) for link in links],
        )
        for kind, links in groups.items()
    ]


def _around(seen: LinkSide) -> str:
    """Words of the other end: of a source those around the ones that the link stands on, else the
    first ones."""
    text = seen.node.text if seen.node is not None else ""
    at = text.find(seen.words) if seen.words and not seen.outward else -1
    if at < 0:
        return text[: 2 * AROUND]
    first, last = max(at - AROUND, 0), at + len(seen.words) + AROUND
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def _ends_of(seen: LinkSide, node: Node) -> dict[str, str]:
    """The source and target of a link, as `unlink` names them; {} for what is not stored."""
    if not seen.link or seen.is_broken:
        return {}
    far = seen.node.local_id if seen.node is not None else seen.whole[0]
    if seen.node is not None and seen.node.tree_id != node.tree_id:
        far = f"tree:{seen.tree_uid} node:{far}"
    own = seen.wording or node.local_id
    source, target = (own, far) if seen.outward else (far, own)
    return {"source": source, "target": target, "type": seen.stored}


def _asked_with(generation: Generation | None, node: Node) -> dict[str, str]:
    """The settings of a candidate's request, and the call that asks below it with the same ones."""
    if generation is None or generation.round or generation.participant.archived_at is not None:
        return {}
    own = {"temperature": generation.temperature, "tokens": generation.tokens}
    settings = {name: value for name, value in own.items() if value is not None}
    return {
        "settings_said": samplers_written({**settings, **generation.settings})
        or gettext("the model's own settings"),
        "settings_call": again(generation, generation.participant.name, node.local_id),
    }


def _is_reworded(margin: Margin, node: Node, workspace: Workspace) -> bool:
    """Whether this reader has another version selected above the node than the one it was written
    after."""
    if margin.wordings is None or node.parent_slot_id is None:
        return False
    above = selected_versions([node.parent_slot_id], workspace)[node.parent_slot_id][1]
    return above not in margin.wordings


@require_GET
@person
def whole(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The whole text of a node, byte for byte."""
    _, tree = access.get_tree(request.user, uid)
    return HttpResponse(_panel_node(tree, local_id).text, content_type="text/plain; charset=utf-8")


@dataclass(frozen=True)
class BookmarkShown:
    """A bookmark in the left pane."""

    id: str
    label: str
    by: str
    colour: int
    text: str


@require_GET
@person
def bookmarks(request: PersonRequest, uid: str) -> HttpResponse:
    """The newest 100 bookmarks of the tree; with `?before=` those that follow it, as rows only."""
    actor, tree = access.get_tree(request.user, uid)
    cast = cast_of(actor)
    marks_here = Mark.objects.filter(tree=tree, kind="bookmark", removed_at__isnull=True)
    asked = request.GET.get("before", "")
    last = Mark.objects.filter(tree=tree, uid=asked).first() if asked else None
    if asked and last is None:
        raise not_found(gettext("This bookmark"))
    if last is not None:
        marks_here = marks_here.filter(Q(at__lt=last.at) | Q(at=last.at, pk__lt=last.pk))
    rows = list(marks_here.select_related("participant").order_by("-at", "-id")[: BOOKMARKS + 1])
    marks = rows[:BOOKMARKS]
    ids = {mark.item_id for mark in marks}
    nodes = {node.pk: node for node in nodes_in(tree.pk).filter(pk__in=ids)}
    shown = []
    for mark in marks:
        node = nodes.get(mark.item_id)
        if node is not None:
            who = cast[mark.participant.uid]
            shown.append(
                BookmarkShown(node.local_id, mark.label, who.shown, who.colour, node.text[:120])
            )
    more = marks[-1].uid if len(rows) > BOOKMARKS else ""
    context = {"bookmarks": shown, "tree": tree, "more": more}
    name = "bookmark_rows" if asked else "bookmarks"
    return render(request, f"parts/{name}.html", context)


@require_GET
@person
def windows(request: PersonRequest, uid: str) -> HttpResponse:
    """`{results, drawn}`: the windows of the workspace `?of=`, as the API returns them, and, by
    number, the visible ones on lines of one text, rendered as on the path."""
    _, tree = access.get_tree(request.user, uid)
    actor, workspace = access.get_workspace(request.user, request.GET.get("of", ""))
    if workspace.tree_id != tree.pk:
        raise not_found("This workspace")
    shown = windows_shown(actor, workspace)
    return JsonResponse(
        {
            "results": [window_body(window) for window in shown],
            "drawn": {
                window.window.number: markdown.with_boxes(
                    markdown.rendered_part(
                        window.whole, window.lines.first, window.text, _base(window)
                    )
                )
                for window in shown
                if window.lines and window.window.is_visible and _is_markdown(window)
            },
        }
    )


def _base(shown: WindowContent) -> str:
    """Where the references and portals of what a window shows lead from; "" if from nowhere."""
    if shown.node is not None:
        return f"/trees/{shown.node.tree.uid}"
    return f"/documents/{shown.document}" if shown.document else ""


def _is_markdown(shown: WindowContent) -> bool:
    """Whether the path would render what a window shows as Markdown, all of it."""
    is_prose = shown.node is not None and shown.node.tree.mode == "buffer"
    is_seen = shown.is_open and bool(shown.text) and shown.text != WITHHELD
    return is_seen and not is_prose and len(shown.text) <= MAX_SHOWN


# The page of one node's provenance: its call, its hash, and what it depends on.


@require_GET
@person
def provenance_page(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """Where a node came from, for people; the same as the API's `…/provenance`."""
    actor, tree = access.get_tree(request.user, uid)
    node = known_node(tree, local_id)
    if node is None:
        raise not_found(f"[{local_id}]")
    provenance = provenance_of(actor, tree, access.workspace_of(actor.participant, tree), node)
    call = provenance.call.body() if provenance.call else None
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "origin": provenance,
        "node": provenance.node,
        "call": call,
        **_kept_of(provenance.call),
        "sent": _pretty(call["request"]) if call else "",
        "curl": as_curl(call["request"]) if call else "",
        "usage": _pretty(call["usage"]) if call else "",
        "proof": _pretty(provenance.node["proof"]),
    }
    return render(request, "pages/provenance.html", context)


@require_GET
@person
def call(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The call that wrote a node: the request, message by message, and the answer; for readers who
    may see everything in it."""
    actor, tree = access.get_tree(request.user, uid)
    node = _panel_node(tree, local_id)
    model_call = call_of(node)
    if model_call is None:
        raise not_found(f"A call of [{local_id}]")
    rounds = _rounds(model_call.turn) if model_call.turn else ()
    if model_call.turn and len(rounds) > 1:
        context = {"tree": tree, "turn": model_call.turn.uid, "rounds": rounds}
        return render(request, "parts/calls.html", context)
    return _call(request, actor, model_call, node)


@require_GET
@person
def calls(request: PersonRequest, uid: str, turn: str) -> HttpResponse:
    """The calls of a turn, by round; with `?of=` one of them."""
    actor, tree = access.get_tree(request.user, uid)
    agent_turn = turns().filter(tree=tree, uid=turn).first()
    if agent_turn is None:
        raise not_found(f"A turn {turn}")
    wanted = request.GET.get("of")
    if wanted is None:
        context = {"tree": tree, "turn": agent_turn.uid, "rounds": _rounds(agent_turn)}
        return render(request, "parts/calls.html", context)
    rows = Call.objects.select_related("tree", "participant", "turn")
    row = rows.filter(turn=agent_turn, uid=wanted).first()
    if row is None:
        raise not_found(f"A call {wanted}")
    return _call(request, actor, row)


@dataclass(frozen=True)
class RoundLink:
    """A round of a turn whose call can be read: 0 if a line of the turn asked for candidates."""

    number: int
    call: str
    at: str
    tokens: int
    has_answer: bool


def _rounds(turn: Turn) -> list[RoundLink]:
    return [
        RoundLink(
            number,
            round_call.uid,
            instant(round_call.started_at),
            round_call.usage.get("total_tokens") or 0,
            ANSWER_GONE not in round_call.note,
        )
        for round_call, number in calls_of(turn)
    ]


def _kept_of(exchange: CallSeen | None) -> dict[str, bool]:
    """Whether the request and the answer of a call are still kept."""
    return {
        "has_request": exchange is not None and not exchange.is_request_trimmed,
        "has_answer": exchange is not None and not exchange.is_trimmed,
    }


def _call(
    request: PersonRequest, actor: Actor, model_call: Call, node: Node | None = None
) -> HttpResponse:
    is_open = turn_access.may_read_call(actor, model_call)
    exchange = seen(model_call, is_open=is_open)
    body = exchange.body()
    sent = body["request"]  # nothing for who may not see it
    before = call_before(model_call) if is_open and sent else None
    context = {
        "call": body,
        **_kept_of(exchange),
        "thoughts": _thoughts_before(node, model_call, body["thoughts"]),
        "said": [{"role": role, "text": text} for role, text in messages_in(sent)],
        "difference": _difference(before.request, sent) if before and before.request else None,
        "curl": as_curl(sent),
    }
    return render(request, "parts/call.html", context)


def _difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    text = request_text(new)
    difference = changed(request_text(old), text)
    return {"share": 100 * difference.same // max(len(text), 1), "found": difference}


def _thoughts_before(node: Node | None, model_call: Call, thoughts: list[str]) -> str:
    """The model's thoughts before this candidate; "" if there are none."""
    if node is None or len(thoughts) < 2:
        return "".join(thoughts)
    asked = list(model_call.generations.order_by("index").values_list("uid", flat=True))
    place = asked.index(node.generation_uid) if node.generation_uid in asked else 0
    return thoughts[place] if place < len(thoughts) else ""


def as_curl(request: dict[str, Any]) -> str:
    """The shell command that repeats the request of a call. It takes the key from the variable
    HEDDLE_KEY, because no call stores it; "" if the call has no address."""
    if not request.get("url"):
        return ""
    lines = [f"curl {shlex.quote(str(request['url']))}"]
    for name, value in dict(request.get("headers") or {}).items():
        if name.lower() not in LEFT_TO_CURL:
            lines.append(f"-H {shlex.quote(f'{name}: {value}')}")
    is_anthropic = "anthropic-version" in dict(request.get("headers") or {})
    lines.append('-H "x-api-key: $HEDDLE_KEY"' if is_anthropic else BEARER)
    body = json.dumps(request.get("body"), ensure_ascii=False)
    lines.append(f"--data-raw {shlex.quote(body)}")
    return " \\\n  ".join(lines)


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
