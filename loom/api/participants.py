"""Participants over the API: who writes in a grove, and the settings of its models."""

from typing import Any

from pydantic import BaseModel
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.api import bodies, responses
from loom.api.auth import user_of
from loom.api.bodies import read
from loom.api.nodes import PAGES, a_truth, an_id, paged, truth, word
from loom.api.schema import operation
from loom.commands import participants as verbs
from loom.commands.agent_templates import TEMPLATES
from loom.models import Participant, User


def _body(one: Participant) -> dict[str, Any]:
    members = one.membership_set.all() if one.kind == "human" else []
    role = next((member.role for member in members), None)
    return verbs.participant_body(one, role)  # type: ignore[arg-type]


def _changes(sent: dict[str, Any]) -> verbs.Changes:
    key = sent.get("api_key")
    return verbs.Changes(
        fields={name: sent[name] for name in verbs.PLAIN if name in sent},
        api_key=(key or "") if "api_key" in sent else None,
        permissions=sent.get("permissions"),
        loom_aware=sent.get("loom_aware"),
        archived=sent.get("archived"),
        template=sent.get("template", ""),
    )


def _actor(user: User, grove: str) -> Actor:
    """The user in the grove of that id, else in their first."""
    if grove:
        return access.get_grove(user, grove)[0]
    return access.get_actor(user, access.first_grove(user))


@operation(
    "GET",
    "participants list",
    "Who takes part in a grove",
    answers=responses.Page[responses.Participant],
    asks=(
        an_id("grove", "Without it the caller's first."),
        a_truth("archived", "Those that take part no more, instead."),
        *PAGES,
    ),
)
@operation(
    "POST",
    "participants make",
    "Add a model, for owners",
    body=bodies.ParticipantSent,
    answers=responses.Participant,
    status=201,
)
@api_view(["GET", "POST"])
def participants(request: Request) -> Response:
    """People and models of a grove; owners add models."""
    user = user_of(request)
    if request.method == "POST":
        sent = read(request, bodies.ParticipantSent).sent
        actor = _actor(user, sent.get("grove", "") or word(request, "grove"))
        access.demand_role(actor, "owner")
        return Response(_body(verbs.make_participant(actor, _changes(sent))), status=201)
    grove = _actor(user, word(request, "grove")).grove
    rows = grove.participants.select_related("grove", "user").prefetch_related("membership_set")
    rows = rows.filter(archived_at__isnull=not truth(request, "archived"))
    return paged(request, rows.order_by("id"), _body)


@operation(
    "POST",
    "participants probe",
    "Find out what a model's endpoint can do, for owners",
    answers=responses.Participant,
    status=202,
)
@api_view(["POST"])
def probe(request: Request, uid: str) -> Response:
    """A worker sends the endpoint tiny requests; the participant's `probe` holds the result."""
    actor, one = access.get_participant(user_of(request), uid, role="owner")
    return Response(_body(verbs.ask_probe(actor, one)), status=202)


class TemplateBody(BaseModel):
    """What a new model may begin as: `fields` and `permissions` of the participant it makes."""

    name: str
    says: str
    permissions: list[str]
    fields: dict[str, Any]


class TemplatesBody(BaseModel):
    """All templates."""

    count: int
    results: list[TemplateBody]


@operation("GET", "participants templates", "What a new model may begin as", answers=TemplatesBody)
@api_view(["GET"])
def templates(request: Request) -> Response:
    """The templates; a model of the grove may be named in their place."""
    user_of(request)
    found = [one.body() for one in TEMPLATES.values()]
    return Response({"count": len(found), "results": found})


@operation("GET", "participants one", "A participant", answers=responses.Participant)
@operation(
    "PATCH",
    "participants change",
    "Change a model, for owners",
    body=bodies.ParticipantChanged,
    answers=responses.Participant,
)
@operation(
    "DELETE", "participants archive", "Archive a model, for owners", answers=responses.Participant
)
@api_view(["GET", "PATCH", "DELETE"])
def participant(request: Request, uid: str) -> Response:
    """A participant; owners change models, and DELETE archives one."""
    actor, one = access.get_participant(user_of(request), uid)
    if request.method == "GET":
        return Response(_body(one))
    access.demand_role(actor, "owner")
    if request.method == "DELETE":
        return Response(_body(verbs.archive_participant(actor, one)))
    sent = read(request, bodies.ParticipantChanged).sent
    return Response(_body(verbs.change_participant(actor, one, _changes(sent))))
