"""Link types in the API."""

from typing import Any

from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.links.commands import types as verbs
from loom.links.link_types import ARCHETYPES, STANDARD, Type
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.site import responses
from loom.site.api_requests import Body, Part, read, user_of
from loom.site.schema import an_id, operation


class TypeSent(Body):
    """A new link type. Without `reverse` it is symmetric."""

    grove: str = ""
    name: str = Field(min_length=1, max_length=60)
    reverse: str = Field("", max_length=60)
    group: str = Field("semantic", max_length=20)
    colour: str = Field("", max_length=20)
    archetypes: list[str] = Field(list(ARCHETYPES), max_length=10)


class TypeChanged(Part):
    """The changes to the link type `type`; what is left out stays."""

    grove: str = ""
    type: str = Field("", min_length=1, max_length=60)
    name: str = Field("", min_length=1, max_length=60)
    reverse: str = Field("", min_length=1, max_length=60)
    group: str = Field("", max_length=20)
    colour: str = Field("", max_length=20)
    archetypes: list[str] = Field([], max_length=10)
    archived: bool = False


def _actor(request: Request, grove: str) -> Actor:
    user = user_of(request)
    if grove:
        return access.get_grove(user, grove)[0]
    return access.get_actor(user, access.first_grove(user))


@operation(
    "GET",
    "link-types list",
    "The link types of a grove",
    answers=responses.Page[responses.LinkType],
    asks=(an_id("grove", "Its grove; the caller's first, if it is left out."),),
)
@operation(
    "POST",
    "link-types add",
    "Add a link type",
    body=TypeSent,
    answers=responses.LinkType,
    status=201,
)
@operation(
    "PATCH",
    "link-types change",
    "Rename, colour, archive or restore a link type",
    body=TypeChanged,
    answers=responses.LinkType,
)
@api_view(["GET", "POST", "PATCH"])
def types(request: Request) -> Response:
    """The link types that the caller's archetype sees, archived ones included; adds or changes
    one."""
    if request.method == "POST":
        sent = read(request, TypeSent)
        values = sent.model_dump(exclude={"grove"})
        return Response(
            _body(verbs.add_type(_actor(request, sent.grove), verbs.NewType(**values))), status=201
        )
    if request.method == "PATCH":
        part = read(request, TypeChanged)
        values = part.model_dump(exclude={"grove"}, exclude_unset=True)
        change = verbs.TypeChange(**{"type": "", **values})
        return Response(_body(verbs.change_type(_actor(request, part.grove), change)))
    named = request.query_params.get("grove", "")
    listed = [_body(one) for one in _seen(request, named)]
    return Response({"count": len(listed), "results": listed})


def _seen(request: Request, grove: str) -> list[Type]:
    """The types that the caller sees; the standard list for somebody without a grove."""
    if not grove and not access.visible_groves(user_of(request)).exists():
        return list(STANDARD.types)
    actor = _actor(request, grove)
    archetype = archetype_of(actor)
    return [one for one in vocabulary_of(actor.grove).types if archetype in one.archetypes]


def _body(one: Type) -> dict[str, Any]:
    return verbs.type_body(one)
