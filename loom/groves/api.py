"""Groves in the API: their members and invitations, and search in their trees."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, get_args

from django.db.models import F
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import ConfigDict, Field, WithJsonSchema, create_model
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.engine import put_aside as aside
from loom.engine import streams
from loom.errors import CommandError, require
from loom.notes.commands import marks as tag_commands
from loom.notes.queries import tags_in
from loom.participants.provider_kinds import SEARCH_SERVICES
from loom.people.commands import accounts as people
from loom.people.commands import groves as verbs
from loom.people.grove_settings import SETTINGS, settings_schema, values_of
from loom.people.queries import grove_bodies, grove_body
from loom.permissions import Role
from loom.search.filters import By, Filters, Kind, Sort, parse_since
from loom.search.grove_texts import TextHit, find_texts
from loom.search.queries import MAX_QUERY, Hit, find_in_grove
from loom.site import responses
from loom.site.api_items import events_of
from loom.site.api_requests import (
    ONE_LINE,
    Body,
    Instant,
    LinkNamed,
    PartialBody,
    demand_scope,
    read,
    user_of,
)
from loom.site.responses import Returned
from loom.site.schema import (
    PAGES,
    a_number,
    a_truth,
    cursor,
    number,
    one_of,
    operation,
    paged,
    paged_at_once,
    truth,
)
from loom.text.hashes import instant
from loom.trees.queries.event_log import MAX_EVENTS
from loom.web_search import commands as searching
from loom.web_search.models import SearchService

Archetype = Literal["reader", "writer", "editor", "auditor"]

MOST_PUT_ASIDE = 200  # units that a list names


# A line with something to read in it.
Name = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra={"pattern": ONE_LINE})]
_SETTINGS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {"anyOf": [setting.bounds(), {"type": "null"}]} for name, setting in SETTINGS.items()
    },
    "additionalProperties": False,
}


class GroveSent(Body):
    """A new grove."""

    name: Name


class GroveChangedSchema(PartialBody):
    """The changes to a grove; only the named `settings` change."""

    name: Name = ""
    settings: Annotated[dict[str, Any], WithJsonSchema(_SETTINGS_SCHEMA)] = {}


_KINDS: dict[str, Any] = {
    "integer": int | None,
    "number": float | None,
    "string": str | None,
    "boolean": bool | None,
    "object": dict[str, str] | None,
}
# The bounds are in the schema only: what is out of them is refused with the setting's sentence.
_SETTINGS: dict[str, Any] = {
    name: (
        Annotated[_KINDS[setting.kind], WithJsonSchema(_SETTINGS_SCHEMA["properties"][name])],
        None,
    )
    for name, setting in SETTINGS.items()
}
GroveSettings: type[PartialBody] = create_model(
    "GroveSettings",
    __base__=PartialBody,
    __doc__="Settings of a grove to change; null: back to the default.",
    **_SETTINGS,
)


@operation(
    "GET",
    "groves list",
    "The caller's groves",
    answers=responses.Page[responses.GroveSchema],
    asks=PAGES,
)
@operation(
    "POST",
    "groves make",
    "Make a grove, owned by its maker",
    body=GroveSent,
    answers=responses.GroveSchema,
    status=201,
)
@api_view(["GET", "POST"])
def groves(request: Request) -> Response:
    """Lists the caller's groves; or makes one."""
    user = user_of(request)
    if request.method == "POST":
        demand_scope(request, "owner")
        grove = verbs.make_grove(user, read(request, GroveSent).name)
        return Response(grove_body(access.get_actor(user, grove)), status=201)
    rows = access.visible_groves(user)
    return paged_at_once(request, rows, lambda page: grove_bodies(access.get_actors(user, page)))


@operation("GET", "groves one", "A grove", answers=responses.GroveSchema)
@operation(
    "PATCH",
    "groves change",
    "Rename a grove or change its settings",
    body=GroveChangedSchema,
    answers=responses.GroveSchema,
)
@api_view(["GET", "PATCH"])
def grove(request: Request, uid: str) -> Response:
    """A grove; changing it is for owners."""
    actor, _ = access.get_grove(user_of(request), uid)
    if request.method == "PATCH":
        access.demand_role(actor, "owner")
        sent = read(request, GroveChangedSchema).sent
        actor = replace(actor, grove=verbs.change_grove(actor, **sent))
    return Response(grove_body(actor))


class SettingsBody(Returned):
    """All settings of a grove with their values, and their JSON schema."""

    values: dict[str, Any]
    schema_: dict[str, Any] = Field(alias="schema")


@operation("GET", "groves settings", "The settings of a grove", answers=SettingsBody)
@operation(
    "PATCH",
    "groves settings_change",
    "Change settings of a grove, for owners",
    body=GroveSettings,
    answers=SettingsBody,
)
@api_view(["GET", "PATCH"])
def settings(request: Request, uid: str) -> Response:
    """All settings with their values, defaults, bounds and descriptions; PATCH takes those to
    change, null for the default."""
    actor, grove = access.get_grove(user_of(request), uid)
    if request.method == "PATCH":
        access.demand_role(actor, "owner")
        sent = read(request, GroveSettings).sent
        grove = verbs.change_grove(actor, settings=sent)
    return Response({"values": values_of(grove.settings), "schema": settings_schema()})


class SearchServiceSent(Body):
    """The service with which a grove searches the web. `base_url`: empty for the default of the
    kind; `api_key`: null keeps the stored one for this address; `price_usd`: of one search."""

    kind: str = Field(
        min_length=1,
        max_length=12,
        json_schema_extra={"enum": [service.name for service in SEARCH_SERVICES]},
    )
    base_url: str = Field("", max_length=500)
    api_key: str | None = Field(None, max_length=500)
    allow_private: bool = False
    price_usd: float = Field(0, ge=0, le=10)


class SearchServiceBody(Returned):
    """The service with which a grove searches the web, without its key; `kind` is null if there is
    none. `services` are the available kinds."""

    kind: str | None
    base_url: str
    has_key: bool
    allow_private: bool
    price_usd: float
    services: list[str]


@operation("GET", "groves web_search", "How a grove searches the web", answers=SearchServiceBody)
@operation(
    "PUT",
    "groves web_search_set",
    "Set the service that searches the web, for owners",
    body=SearchServiceSent,
    answers=SearchServiceBody,
)
@operation(
    "DELETE",
    "groves web_search_removed",
    "Remove the service that searches the web, for owners",
    answers=SearchServiceBody,
)
@api_view(["GET", "PUT", "DELETE"])
def web_search(request: Request, uid: str) -> Response:
    """The service of `→ search`, and setting or removing it."""
    actor, grove = access.get_grove(user_of(request), uid)
    if request.method != "GET":
        access.demand_role(actor, "owner")
    if request.method == "PUT":
        sent = read(request, SearchServiceSent)
        searching.set_service(actor, searching.NewService(**sent.model_dump()))
    elif request.method == "DELETE":
        searching.remove_service(actor)
    search_service = SearchService.objects.filter(grove=grove).first()
    return Response(_search_service_body(search_service).model_dump())


def _search_service_body(service: SearchService | None) -> SearchServiceBody:
    none = {"kind": None, "base_url": "", "has_key": False, "allow_private": False, "price_usd": 0}
    body = searching.service_body(service) if service else none
    return SearchServiceBody(**body, services=[entry.name for entry in SEARCH_SERVICES])


class PutAsideOf(Returned):
    """A unit of work that failed again and again, or did not come to an end, and is left alone:
    its kind and id, the reason and time of the last of its tries."""

    kind: Literal["document", "generation"]
    id: str
    reason: str
    tries: int
    at: str


class PutAsideList(Returned):
    """What is put aside in a grove."""

    count: int
    results: list[PutAsideOf]


class RetrySent(Body):
    """What to take up again."""

    kind: Literal["document", "generation"]
    id: str


@operation(
    "GET",
    "groves put_aside",
    "Work that failed and is left alone, for owners",
    answers=PutAsideList,
)
@operation(
    "POST",
    "groves retry",
    "Take up again what was put aside, for owners",
    body=RetrySent,
    answers=PutAsideList,
)
@api_view(["GET", "POST"])
def put_aside(request: Request, uid: str) -> Response:
    """Documents that do not settle and generations that do not end; a POST has one tried again."""
    actor, grove = access.get_grove(user_of(request), uid, role="owner")
    if request.method == "POST":
        sent = read(request, RetrySent)
        aside.take_up_again(actor, sent.kind, sent.id)
    rows = list(aside.of_grove(grove)[:MOST_PUT_ASIDE])
    results = [
        PutAsideOf(
            kind=row.kind, id=row.uid, reason=row.reason, tries=row.tries, at=instant(row.at)
        )
        for row in rows
    ]
    return Response(PutAsideList(count=len(results), results=results).model_dump())


@operation(
    "GET",
    "groves events",
    "What happened in a grove",
    answers=responses.Events,
    asks=cursor(MAX_EVENTS),
)
@api_view(["GET"])
def events(request: Request, uid: str) -> Response:
    """The events of a grove in order, after the last one known."""
    actor, grove = access.get_grove(user_of(request), uid)
    return Response(events_of(request, actor, streams.name_of(grove)))


# Members and invitations of a grove.


DAY = timedelta(days=1)


class MemberNamedSchema(Body):
    """A user by name."""

    user: str = Field(min_length=1, max_length=people.MAX_NAME)


class MemberSent(MemberNamedSchema):
    """A user by name, and a role."""

    role: Role


def _with_a_change(schema: dict[str, Any]) -> None:
    """At least one of the fields that change a member, which have no defaults."""
    for name in ("role", "archetype"):
        schema["properties"][name].pop("default", None)
    schema["anyOf"] = [{"required": ["role"]}, {"required": ["archetype"]}]


class MemberPart(PartialBody):
    """A user by name, and what changes: the role, or the archetype that decides which link types
    they are shown."""

    model_config = ConfigDict(json_schema_extra=_with_a_change)

    user: str = Field(min_length=1, max_length=people.MAX_NAME)
    role: Role = "reader"
    archetype: Archetype = "writer"


@operation(
    "GET", "members list", "Members", answers=responses.Page[responses.MemberSchema], asks=PAGES
)
@operation(
    "POST",
    "members add",
    "Make an existing user a member",
    body=MemberSent,
    answers=responses.MemberSchema,
    status=201,
)
@operation(
    "PATCH",
    "members change",
    "Give a member another role or archetype",
    body=MemberPart,
    answers=responses.MemberSchema,
)
@operation(
    "DELETE", "members remove", "Remove a member", body=MemberNamedSchema, answers=responses.Gone
)
@api_view(["GET", "POST", "PATCH", "DELETE"])
def members(request: Request, uid: str) -> Response:
    """The members; changing them is for owners, and the last owner stays."""
    actor, grove = access.get_grove(user_of(request), uid)
    if request.method == "GET":
        rows = grove.memberships.select_related("user", "participant").order_by("id")
        return paged(request, rows, verbs.member_body)
    access.demand_role(actor, "owner")
    if request.method == "DELETE":
        verbs.remove_member(actor, read(request, MemberNamedSchema).user)
        return Response({"ok": True})
    if request.method == "PATCH":
        return Response(_member_changed(actor, read(request, MemberPart)))
    body = read(request, MemberSent)
    return Response(verbs.member_body(verbs.add_member(actor, body.user, body.role)), status=201)


def _member_changed(actor: Actor, part: MemberPart) -> dict[str, Any]:
    """A member with the role or archetype that was sent; INVALID_SYNTAX if neither was."""
    if not {"role", "archetype"} & set(part.sent):
        raise CommandError(
            "INVALID_SYNTAX", "There is nothing to change.", hint="send a role or an archetype"
        )
    member = None
    if "role" in part.sent:
        member = verbs.change_role(actor, part.user, part.role)
    if "archetype" in part.sent:
        member = verbs.change_archetype(actor, part.user, part.archetype)
    return verbs.member_body(require(member, "the member"))


class InvitationSent(Body):
    """The role, the number of uses, and when it expires (or after how many days)."""

    role: Role
    uses: int = Field(1, ge=1, le=verbs.MAX_USES)
    days: float = Field(7, gt=0, le=verbs.MAX_DAYS)
    expires_at: Instant | None = None


@operation(
    "GET",
    "invitations list",
    "Invitations, for owners",
    answers=responses.Page[responses.InvitationSchema],
    asks=PAGES,
)
@operation(
    "POST",
    "invitations make",
    "Invite somebody with a link that is shown only once",
    body=InvitationSent,
    answers=responses.NewInvitationSchema,
    status=201,
)
@operation(
    "DELETE",
    "invitations revoke",
    "Revoke an invitation",
    body=LinkNamed,
    answers=responses.Gone,
)
@api_view(["GET", "POST", "DELETE"])
def invitations(request: Request, uid: str) -> Response:
    """Invitations of a grove, for its owners."""
    actor, grove = access.get_grove(user_of(request), uid, role="owner")
    if request.method == "GET":
        return paged(request, grove.invitations.order_by("id"), verbs.invitation_body)
    if request.method == "DELETE":
        verbs.revoke_invitation(actor, read(request, LinkNamed).id)
        return Response({"ok": True})
    body = read(request, InvitationSent)
    days = (body.expires_at - timezone.now()) / DAY if body.expires_at else body.days
    invitation, secret = verbs.make_invitation(actor, role=body.role, days=days, uses=body.uses)
    link = request.build_absolute_uri(f"/invitations/{secret}")
    return Response({**verbs.invitation_body(invitation), "link": link}, status=201)


# Tags of a grove.


class TagNamedSchema(Body):
    """A tag by name."""

    tag: str = Field(min_length=1, max_length=200)


class TagChanged(TagNamedSchema):
    """A tag, and its new name or colour (empty: no colour); fields that are left out stay."""

    name: str = Field("", max_length=tag_commands.MAX_LABEL)
    colour: str | None = Field(None, max_length=40)


class TagOf(Returned):
    """A tag of a grove; `colour` is empty if it has none."""

    name: str
    colour: str
    items: int


@operation("GET", "tags list", "The tags of a grove", answers=responses.Page[TagOf], asks=PAGES)
@operation(
    "PATCH",
    "tags change",
    "Rename or colour a tag in all trees",
    body=TagChanged,
    answers=TagOf,
)
@operation(
    "DELETE",
    "tags remove",
    "Remove a tag from everything that has it",
    body=TagNamedSchema,
    answers=responses.Gone,
)
@api_view(["GET", "PATCH", "DELETE"])
def tags(request: Request, uid: str) -> Response:
    """The tags with their colours; renaming and colouring are for writers, removing for owners."""
    actor, _ = access.get_grove(user_of(request), uid)
    if request.method == "GET":
        return paged_at_once(request, tags_in(actor), list)
    if request.method == "DELETE":
        access.demand_role(actor, "owner")
        tag_commands.remove_tag(actor, read(request, TagNamedSchema).tag)
        return Response({"ok": True})
    access.demand_role(actor, "writer")
    sent = read(request, TagChanged)
    name = tag_commands.change_tag(actor, sent.tag, name=sent.name, colour=sent.colour)
    return Response(next(tag for tag in tags_in(actor) if tag["name"] == name))


# Search in all trees of a grove, with filters.


MOST = 100
BEFORE, EXCERPT = 40, 200


class FoundSchema(Returned):
    """One hit: a node, a tree with a matching title (node null), or a document (tree null). `near`:
    it has none of the words, but is near to them in meaning."""

    tree: str | None
    document: str | None
    title: str
    node: str | None
    kind: str
    author: str
    text: str
    score: float
    near: bool
    at: str


def _text(name: str, says: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.STR, description=says)


SINCE = {"anyOf": [{"type": "string", "format": kind} for kind in ("date", "date-time")]}
ASKS = (
    OpenApiParameter(
        "q",
        {"type": "string", "pattern": r"\S", "maxLength": MAX_QUERY},
        description="What to search for, also parts of words. Without it: all that have the tag.",
    ),
    OpenApiParameter("type", OpenApiTypes.STR, enum=["text", "annotation", "tree", "document"]),
    _text("tag", "Only what has this tag."),
    _text("author", "Only what this participant wrote: an id or a name."),
    OpenApiParameter("since", SINCE, description="Only from this day or instant on."),
    a_truth("archived", "true: only the archive; false: without it; left out: both."),
    OpenApiParameter(
        "by",
        OpenApiTypes.STR,
        enum=["words", "meaning"],
        description="By the words or by the meaning of `q` alone; left out: by both.",
    ),
    OpenApiParameter("sort", OpenApiTypes.STR, enum=list(get_args(Sort)), default="best"),
    a_number("limit", f"At most {MOST}.", least=1, most=MOST),
    a_number("offset", "How many hits to leave out."),
)


@operation(
    "GET",
    "groves search",
    "Search all trees of a grove",
    answers=responses.Page[FoundSchema],
    asks=ASKS,
)
@api_view(["GET"])
def search(request: Request, uid: str) -> Response:
    """Documents, texts, annotations, titles and tags that contain `q` and pass the filters, and
    texts near to it in meaning; documents come first."""
    actor, _ = access.get_grove(user_of(request), uid)
    given = request.query_params
    only = Filters(
        type=one_of(request, "type", get_args(Kind)),
        tag=given.get("tag", "").removeprefix("#"),
        author=_author(actor, given.get("author", "")),
        since=_since(given.get("since", "")),
        archived=truth(request, "archived") if "archived" in given else None,
        sort=one_of(request, "sort", get_args(Sort), "best"),
    )
    limit = number(request, "limit", default=20, least=1, most=MOST)
    if "\0" in only.tag:
        raise CommandError("INVALID_SYNTAX", "tag contains U+0000.", hint="tag=NAME")
    offset = number(request, "offset", default=0)
    by = one_of(request, "by", get_args(By))
    documents = [] if by == "meaning" else find_texts(actor, given.get("q", ""), only)
    results = [_document_body(hit) for hit in documents[offset : offset + limit]]
    if only.type == "document":
        return Response({"count": len(documents), "results": results})
    outcome = find_in_grove(
        actor,
        given.get("q", ""),
        limit=max(1, limit - len(results)),
        offset=max(0, offset - len(documents)),
        only=only,
        by=by,
    )
    if len(results) < limit:
        results += [_body(hit) for hit in outcome.hits]
    return Response({"count": outcome.total + len(documents), "results": results})


def _document_body(hit: TextHit) -> dict[str, object]:
    return {
        "tree": None,
        "document": hit.of.uid,
        "title": hit.of.title,
        "node": None,
        "kind": "document",
        "author": hit.author,
        "text": hit.text,
        "score": hit.score,
        "near": False,
        "at": instant(hit.of.touched_at),
    }


def _author(actor: Actor, given: str) -> str:
    """The id of the participant; a value that is nobody's name is used as an id."""
    if "\0" in given:
        raise CommandError("INVALID_SYNTAX", "author contains U+0000.", hint="author=ID")
    if not given:
        return ""
    named = actor.grove.participants.filter(name__iexact=given)
    author = named.order_by(F("archived_at").desc(nulls_first=True)).first()
    return author.uid if author else given


def _since(value: str) -> datetime | None:
    at = parse_since(value)
    if value and at is None:
        raise CommandError(
            "INVALID_SYNTAX", "since is not a date or time.", hint="since=2026-11-21"
        )
    return at


def _body(hit: Hit) -> dict[str, object]:
    row, tree = hit.node, hit.tree
    start = max(0, hit.at - BEFORE)
    return {
        "tree": tree.uid,
        "document": None,
        "title": tree.title,
        "node": row.local_id if row else None,
        "kind": row.kind if row else "tree",
        "author": row.author_uid if row else tree.maker.uid,
        "text": row.text[start : start + EXCERPT] if row else tree.title,
        "score": hit.score,
        "near": hit.is_near,
        "at": row.at if row else instant(tree.created_at),
    }
