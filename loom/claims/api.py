"""Checks in the API."""

from typing import Any

from pydantic import BaseModel, Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.claims import access as check_access
from loom.claims.commands import checks as verbs
from loom.claims.queries.checks import check_body, checks_for
from loom.claims.rules.checks import Kind
from loom.errors import CommandError, not_found
from loom.site import api_requests as requests
from loom.site import responses
from loom.site.api_requests import read, user_of
from loom.site.schema import PAGES, an_id, operation, paged, word


class CheckOf(BaseModel):
    """A check. `scope` is grove, tree:ID or doc:ID; `parameters` has the one of its kind: `text`
    (contains, absent), `n` (max_words, min_words), `pattern` (regex), `question` (judge)."""

    id: str
    grove: str
    name: str
    kind: Kind
    parameters: dict[str, Any]
    scope: str
    on_save: bool
    agent: str | None
    by: str
    at: str
    archived: bool


class CheckSent(requests.Body):
    """A new check; without a grove, in the caller's first. `agent` is the id of the model that
    judges, only of a judge."""

    name: str = Field(json_schema_extra={"minLength": 1, "maxLength": 40, "pattern": "\\S"})
    kind: Kind
    parameters: dict[str, Any] = {}
    scope: str = "grove"
    on_save: bool = False
    agent: str = ""
    grove: str = Field("", json_schema_extra={"pattern": "^[A-Za-z0-9]*$"})


class CheckChanged(requests.Part):
    """The changes to a check."""

    name: str = ""
    parameters: dict[str, Any] = {}
    on_save: bool = False


@operation(
    "GET",
    "checks list",
    "The checks of a grove",
    answers=responses.Page[CheckOf],
    asks=(an_id("grove", "Default: the caller's first."), *PAGES),
)
@operation("POST", "checks declare", "Declare a check", body=CheckSent, answers=CheckOf, status=201)
@api_view(["GET", "POST"])
def checks(request: Request) -> Response:
    """Lists the checks of a grove, oldest first; or declares one."""
    user = user_of(request)
    if request.method == "POST":
        sent = read(request, CheckSent)
        uid = sent.grove or access.first_grove(user).uid
        actor, _ = access.get_grove(user, uid, role="writer")
        fields = sent.model_dump(exclude={"grove"})
        return Response(check_body(verbs.declare_check(actor, **fields)), status=201)
    uid = word(request, "grove") or access.first_grove(user).uid
    actor, _ = access.get_grove(user, uid)
    return paged(request, checks_for(actor), check_body)


@operation("GET", "checks one", "A check", answers=CheckOf)
@operation("PATCH", "checks change", "Change a check", body=CheckChanged, answers=CheckOf)
@operation("DELETE", "checks archive", "Archive a check", answers=CheckOf)
@api_view(["GET", "PATCH", "DELETE"])
def check(request: Request, uid: str) -> Response:
    """A check; archived ones no longer apply, and their results stay."""
    role: Any = "reader" if request.method == "GET" else "writer"
    actor, found = check_access.get_check(user_of(request), uid, role=role)
    seen = checks_for(actor).filter(pk=found.pk).first()
    if seen is None:
        raise not_found("This check")
    if request.method == "PATCH":
        sent = read(request, CheckChanged).sent
        if not sent:
            raise CommandError("INVALID_SYNTAX", "Nothing to change was sent.", hint="name, …")
        seen = verbs.change_check(actor, seen, **sent)
    if request.method == "DELETE":
        seen = verbs.change_check(actor, seen, archived=True)
    return Response(check_body(seen))
