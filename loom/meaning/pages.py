"""The grid in which the candidates below a node are skimmed; and the tokens of a text."""

import math
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.views.decorators.http import require_GET, require_http_methods

from loom import access
from loom.access import Actor
from loom.engine.arguments import checked
from loom.engine.context import Request
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.ids import ids_in
from loom.language.refs import Ref
from loom.meaning import token_calls
from loom.meaning.node_tokens import scorer_of, tokens_of, tokens_of_nodes
from loom.meaning.skimming import grid_of
from loom.permissions import GENERATE, WRITE
from loom.site.display import cast_of
from loom.site.forms import PageForm, Text, Word
from loom.site.page_requests import PersonRequest, in_one_line, is_part, person
from loom.trees.commands.nodes import Respond, respond
from loom.trees.models import Node
from loom.trees.queries import lookup
from loom.turns.commands.continuing import Continue, continue_

MOST_SHADED = 40  # nodes of one answer
SHOWN_ABOVE = 240  # characters of the text above what is opened
MOST_IDS = 400  # characters of their ids


@require_GET
@person
def candidates(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The candidates below a node, to be skimmed with keys; for scripts only the grid, and with
    `?said=1` only `{said, count}`."""
    actor, tree = access.get_tree(request.user, uid)
    node = lookup.find_node(tree, local_id)
    if node is None:
        raise not_found("This node")
    order = request.GET.get("order", "")
    here = access.workspace_of(actor.participant, tree)
    grid = grid_of(actor, lookup.with_tree(tree, node), here, order=order)
    if request.GET.get("said"):
        return JsonResponse({"said": grid.said, "count": grid.count})
    cast = cast_of(actor)
    context = {
        "grove": tree.grove,
        "tree": tree,
        "node": node,
        "grid": grid,
        "wanted": order,
        "cells": [(cell, cast[cell.candidate.by]) for cell in grid.cells],
        "may_write": WRITE in actor.permissions and tree.archived_at is None,
    }
    name = "meaning/grid.html" if is_part(request) else "meaning/candidates.html"
    return render(request, name, context)


@dataclass(frozen=True)
class _Shown:
    """A token or a rival on the page; `number` is the place of a rival."""

    text: str
    percent: str
    surprise: int = 0
    number: int = 0


class RivalForm(PageForm):
    """A token by its place, and the number of the rival to take instead; or the model that shall
    score the text."""

    at = Text()
    rival = Text()
    score = Word()


@require_http_methods(["GET", "HEAD", "POST"])
@person
def tokens(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The tokens of a text, shaded by how surprising they were, and the rivals of the one `?at=`.
    For scripts only the rivals. A POST takes a rival: a text beside this one that begins as it
    does, and goes on from there; or has a model score the text."""
    actor, tree = access.get_tree(request.user, uid)
    node = lookup.find_node(tree, local_id)
    if node is None:
        raise not_found("This node")
    node = lookup.with_tree(tree, node)
    scored = tokens_of(actor, node)
    form = RivalForm.read(request)
    if request.method == "POST" and form["score"]:
        return _score(request, actor, node, form["score"])
    given = form["at"] if request.method == "POST" else request.GET.get("at", "")
    at = int(given) if given.isdecimal() and len(given) < 6 and int(given) < len(scored) else None
    chosen = scored[at] if at is not None else None
    if request.method == "POST":
        number = form["rival"]
        is_there = number.isdecimal() and len(number) < 4
        if at is None or chosen is None or not is_there or int(number) >= len(chosen.rivals):
            raise not_found("This token")
        begun = "".join(token.text for token in scored[:at]) + chosen.rivals[int(number)].text
        return _take(request, actor, node, begun)
    context: dict[str, object] = {
        "grove": tree.grove,
        "tree": tree,
        "node": node,
        "at": at,
        "tokens": [_Shown(token.text, _percent(token.logprob), token.surprise) for token in scored],
        "chosen": chosen,
        "rivals": [
            _Shown(rival.text, _percent(rival.logprob), number=number)
            for number, rival in enumerate(chosen.rivals if chosen is not None else ())
        ],
        "may_take": WRITE in actor.permissions and tree.archived_at is None,
        "scorer": scorer_of(node) if scored else None,
        "is_of_person": node.author.kind == "human",
    }
    if not scored and {WRITE, GENERATE} <= actor.permissions and tree.archived_at is None:
        agents = token_calls.token_agents(tree)
        context["offers"] = [token_calls.offer_of_score(node, agent) for agent in agents]
        context["may_score"] = token_calls.is_scored(node)
    if is_part(request):
        if chosen is None:
            raise not_found("This token")
        return render(request, "meaning/rivals.html", context)
    return render(request, "meaning/tokens.html", context)


@require_GET
@person
def surprise(request: PersonRequest, uid: str) -> HttpResponse:
    """`{nodes: {id: [[text, step], …]}}`: the tokens of the nodes `?ids=a,b` of which there are
    probabilities, with the five steps of surprise, for the first MOST_SHADED of them."""
    actor, tree = access.get_tree(request.user, uid)
    ids = request.GET.get("ids", "")[:MOST_IDS].split(",")[:MOST_SHADED]
    nodes = list(
        lookup.rows().filter(tree=tree, pk__range=ids_in(tree.pk), local_id__in=ids).order_by()
    )
    tokens_by_node = tokens_of_nodes(actor, nodes)
    shown = {
        node.local_id: [[token.text, token.surprise] for token in tokens_by_node[node.pk]]
        for node in nodes
        if tokens_by_node.get(node.pk)
    }
    return JsonResponse({"nodes": shown})


def _percent(logprob: float) -> str:
    share = 100 * math.exp(min(0.0, logprob))
    return f"{share:.1f} %" if share >= 0.1 else "< 0.1 %"


def _take(request: PersonRequest, actor: Actor, node: Node, begun: str) -> HttpResponse:
    """Writes the beginning beside the node, and asks the model that wrote or scored it to continue
    there."""
    above = node.parent_slot
    author = scorer_of(node)
    if above is None or author is None:
        raise not_found("This node")
    parent = lookup.selected_version(above.pk, access.workspace_of(actor.participant, node.tree))
    at = (parent or above).local_id
    written = execute(actor, node.tree, respond, Respond(content=begun), request=Request("", at=at))
    at = str(written.body["position"])
    try:
        model = Ref("agent", name=author.name)
        asked = checked(Continue, {"using": (model,), "n": 1})
        execute(actor, node.tree, continue_, asked, request=Request("", at=at))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/trees/{node.tree.uid}?node={at}")


def _score(request: PersonRequest, actor: Actor, node: Node, agent_uid: str) -> HttpResponse:
    """Has a model score a text, and shows it shaded."""
    try:
        token_calls.demand_asking(actor, node.tree)
        agent = token_calls.demand_token_agent(node.tree, agent_uid)
        token_calls.score_text(actor, node, agent)
    except CommandError as refused:
        if refused.code == "PERMISSION_DENIED":
            raise
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/trees/{node.tree.uid}/nodes/{node.local_id}/tokens")


class PathForm(PageForm):
    """A path that was opened, as a text."""

    begun = Text()


@require_http_methods(["GET", "HEAD", "POST"])
@person
def multiverse(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """What a model could write next below a node, opened token by token: each opening is a request
    (`POST /api/…/next-tokens`), whose price is said before. `?using=` names the model. A POST takes
    a path: one ordinary text below the node."""
    actor, tree = access.get_tree(request.user, uid)
    node = lookup.find_node(tree, local_id)
    if node is None:
        raise not_found("This node")
    node = lookup.with_tree(tree, node)
    if request.method == "POST":
        begun = PathForm.read(request)["begun"][: token_calls.MOST_BEGUN]
        text = begun if tree.mode == "buffer" else begun.strip()
        args, at = Respond(content=text), node.local_id
        taken = execute(actor, tree, respond, args, request=Request("", at=at))
        return HttpResponseRedirect(f"/trees/{tree.uid}?node={taken.body['position']}")
    may_ask = {WRITE, GENERATE} <= actor.permissions and tree.archived_at is None
    agents = token_calls.token_agents(tree) if may_ask else []
    wanted = request.GET.get("using", "")
    agent = next((agent for agent in agents if agent.uid == wanted), agents[0] if agents else None)
    gone = lookup.withheld(actor, [node.pk])
    context = {
        "grove": tree.grove,
        "tree": tree,
        "node": node,
        "agents": agents,
        "offer": token_calls.offer_of_next(actor, node, agent) if agent is not None else None,
        "may_ask": may_ask,
        "end": "" if gone else node.text[-SHOWN_ABOVE:],
        "is_cut": len(node.text) > SHOWN_ABOVE,
    }
    return render(request, "meaning/multiverse.html", context)


PATHS: list[URLPattern] = [
    path("trees/<uid:uid>/nodes/<local:local_id>/multiverse", multiverse),
    path("trees/<uid:uid>/nodes/<local:local_id>/tokens", tokens),
    path("trees/<uid:uid>/surprise", surprise),
    path("trees/<uid:uid>/candidates/<local:local_id>", candidates),
]
