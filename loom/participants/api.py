"""Participants in the API: who writes in a grove, and the settings of its models."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.participants import commands as verbs
from loom.participants.provider_tools import MOST_TOOLS, TYPE
from loom.participants.templates import TEMPLATES
from loom.people import models
from loom.people.models import User
from loom.people.participant_fields import DEFAULT_CONTEXT
from loom.permissions import Permission
from loom.site import responses
from loom.site.api_requests import MAX_TEXT, PartialBody, Word, read, user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, a_truth, an_id, operation, paged, truth, word

# Request bodies.

# A tool that the provider runs itself: see loom.participants.provider_tools.
ProviderTool = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"type": "string", "pattern": f"^{TYPE}$"}},
        }
    ),
]


class ParticipantChangedSchema(PartialBody):
    """Changes to a model participant, named as in docs/model.md; `api_key` is never shown again,
    and an empty one removes the stored key."""

    name: str = Field("", min_length=1, max_length=verbs.MAX_NAME)
    model_ref: str = Field(
        "",
        min_length=3,
        max_length=200,
        json_schema_extra={"pattern": rf"^{verbs.MODEL_REF}$"},
    )
    base_url: str = Field("", max_length=500)
    allow_private: bool = False
    auth: Literal["bearer", "basic", "none"] = "bearer"
    endpoint: Literal["chat", "completion"] = "chat"
    capabilities: list[Word] = Field([], max_length=32)
    persona: str = Field("", max_length=MAX_TEXT)
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    stop: list[Annotated[str, Field(min_length=1, max_length=1000)]] = Field([], max_length=16)
    context_limit: int = Field(DEFAULT_CONTEXT, ge=256, le=10_000_000)
    archetype: Literal["reader", "writer", "editor", "auditor"] = "writer"
    authority: int = Field(0, ge=0, le=3)
    budget: Literal["quick", "standard", "thorough"] = "standard"
    tool_filter: list[Word] = Field([], max_length=256)
    provider_tools: list[ProviderTool] = Field([], max_length=MOST_TOOLS)
    parallel: int = Field(12, ge=1, le=256)
    prices: dict[str, float] = Field({}, max_length=5)
    permissions: list[str] = Field(
        [], max_length=32, json_schema_extra={"items": {"type": "string", "enum": [*Permission]}}
    )
    loom_aware: bool = False
    archived: bool = False
    api_key: str | None = Field(None, max_length=2000)


class ParticipantSent(ParticipantChangedSchema):
    """A new model participant; without `grove`, in the caller's first. `template`: the name of a
    template, or a model of the grove whose model, address and key it takes; then `model_ref` is
    optional."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["model_ref"]},
                {"required": ["template"], "properties": {"template": {"minLength": 1}}},
            ]
        }
    )

    grove: str = Field("", json_schema_extra={"pattern": "^[A-Za-z0-9]*$"})
    kind: Literal["model"] = "model"
    template: str = Field("", max_length=64)
    name: str = Field(min_length=1, max_length=verbs.MAX_NAME)


# Responses.


class ParticipantSchema(Returned):
    """A person or model that writes. `user` for people, `model_ref` for models."""

    id: str
    grove: str
    kind: Literal["human", "model"]
    user: str | None
    name: str
    model_ref: str
    base_url: str
    allow_private: bool
    auth: Literal["bearer", "basic", "none"]
    endpoint: Literal["chat", "completion"]
    capabilities: list[str]
    persona: str
    temperature: float | None
    max_tokens: int | None
    stop: list[str]
    context_limit: int
    archetype: Literal["reader", "writer", "editor", "auditor"]
    authority: int
    budget: Literal["quick", "standard", "thorough"]
    tool_filter: list[str]
    provider_tools: list[dict[str, Any]]
    parallel: int
    prices: dict[str, float]
    loom_aware: bool
    permissions: list[str]
    has_key: bool
    probe: dict[str, Any]
    created_at: str
    archived_at: str | None


def _body(participant: models.Participant) -> dict[str, Any]:
    members = participant.membership_set.all() if participant.kind == "human" else []
    role = next((member.role for member in members), None)
    return verbs.participant_body(participant, role)  # type: ignore[arg-type]


def _changes(sent: dict[str, Any]) -> verbs.ParticipantChangeArgs:
    key = sent.get("api_key")
    return verbs.ParticipantChangeArgs(
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
    answers=responses.Page[ParticipantSchema],
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
    body=ParticipantSent,
    answers=ParticipantSchema,
    status=201,
)
@api_view(["GET", "POST"])
def participants(request: Request) -> Response:
    """People and models of a grove; owners add models."""
    user = user_of(request)
    if request.method == "POST":
        sent = read(request, ParticipantSent).sent
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
    answers=ParticipantSchema,
    status=202,
)
@api_view(["POST"])
def probe(request: Request, uid: str) -> Response:
    """A worker sends small test requests to the endpoint; the participant's `probe` has the
    result."""
    actor, participant = access.get_participant(user_of(request), uid, role="owner")
    return Response(_body(verbs.ask_probe(actor, participant)), status=202)


class TemplateBody(Returned):
    """A template for a new model: the `fields` and `permissions` that it sets."""

    name: str
    says: str
    permissions: list[str]
    fields: dict[str, Any]


class TemplatesBody(Returned):
    """All templates."""

    count: int
    results: list[TemplateBody]


@operation("GET", "participants templates", "What a new model may begin as", answers=TemplatesBody)
@api_view(["GET"])
def templates(request: Request) -> Response:
    """The templates; a model of the grove can be used like one."""
    user_of(request)
    bodies = [template.body() for template in TEMPLATES.values()]
    return Response({"count": len(bodies), "results": bodies})


@operation("GET", "participants one", "A participant", answers=ParticipantSchema)
@operation(
    "PATCH",
    "participants change",
    "Change a model, for owners",
    body=ParticipantChangedSchema,
    answers=ParticipantSchema,
)
@operation(
    "DELETE", "participants archive", "Archive a model, for owners", answers=ParticipantSchema
)
@api_view(["GET", "PATCH", "DELETE"])
def participant(request: Request, uid: str) -> Response:
    """A participant; owners change models, and DELETE archives one."""
    actor, participant = access.get_participant(user_of(request), uid)
    if request.method == "GET":
        return Response(_body(participant))
    access.demand_role(actor, "owner")
    if request.method == "DELETE":
        return Response(_body(verbs.archive_participant(actor, participant)))
    sent = read(request, ParticipantChangedSchema).sent
    return Response(_body(verbs.change_participant(actor, participant, _changes(sent))))
