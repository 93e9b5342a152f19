"""What people save under a name, in the API: searches, presets, arrangements of windows."""

from typing import Any, get_args

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import ConfigDict, Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.site import responses
from loom.site.api_requests import Body, read, user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, one_of, operation, paged
from loom.workspace.commands import saved as saving


class SavedOne(Returned):
    """Something saved under a name; `shared`: for the whole grove."""

    id: str
    kind: saving.Kind
    name: str
    body: dict[str, Any]
    shared: bool
    at: str


class SavedSent(Body):
    """Something to save under a name: a search (`q`, `type`, `tag`, …), a preset (`top_p`, `stop`,
    …), or an arrangement of windows (`lines` that open them); a `shared` preset is for everybody
    in the grove."""

    model_config = ConfigDict(json_schema_extra={"oneOf": saving.schemas()})

    kind: saving.Kind
    name: str = Field(min_length=1, max_length=saving.MAX_NAME)
    body: dict[str, Any]
    shared: bool = False


class SavedNamed(Body):
    """A saved item, by its id."""

    id: str


class SavedRenamed(SavedNamed):
    """A saved item, by its id, and its new name."""

    name: str = Field(min_length=1, max_length=saving.MAX_NAME)


_KIND = OpenApiParameter("kind", OpenApiTypes.STR, enum=list(get_args(saving.Kind)), required=True)


@operation(
    "GET",
    "saved list",
    "Saved searches, presets or arrangements of windows, yours and the grove's",
    answers=responses.Page[SavedOne],
    asks=(_KIND, *PAGES),
)
@operation(
    "POST",
    "saved keep",
    "Save a search, a preset or an arrangement of windows under a name",
    body=SavedSent,
    answers=SavedOne,
    status=201,
)
@operation("PATCH", "saved rename", "Rename a saved item", body=SavedRenamed, answers=SavedOne)
@operation("DELETE", "saved remove", "Remove a saved item", body=SavedNamed, answers=responses.Gone)
@api_view(["GET", "POST", "PATCH", "DELETE"])
def saved(request: Request, uid: str) -> Response:
    """What the caller has saved, and the presets of the grove."""
    actor, _ = access.get_grove(user_of(request), uid)
    if request.method == "GET":
        kind = one_of(request, "kind", get_args(saving.Kind))
        return paged(request, saving.saved_by(actor, kind), saving.body_of)
    if request.method == "PATCH":
        renamed = read(request, SavedRenamed)
        return Response(saving.body_of(saving.rename(actor, renamed.id, renamed.name)))
    if request.method == "DELETE":
        saving.remove(actor, read(request, SavedNamed).id)
        return Response({"ok": True})
    sent = read(request, SavedSent)
    if sent.shared and sent.kind == "preset":
        access.demand_role(actor, "writer")
        preset = saving.share_preset(actor, sent.name, sent.body)
    else:
        preset = saving.save_own(actor, sent.kind, sent.name, sent.body)
    return Response(saving.body_of(preset), status=201)
