"""Checks and claims in the API."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel, Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.claims import access as check_access
from loom.claims.commands import checks as verbs
from loom.claims.models import Claim
from loom.claims.queries.checks import check_body, checks_for
from loom.claims.queries.claims import (
    brief_body,
    citing,
    claim_body,
    claim_of,
    claims_in,
    next_level,
    obligation_body,
    obligations_of,
)
from loom.claims.rules import levels
from loom.claims.rules.checks import Kind
from loom.errors import CommandError, not_found
from loom.site import api_requests as requests
from loom.site import responses
from loom.site.api_requests import read, user_of
from loom.site.schema import PAGES, an_id, operation, paged, word
from loom.trees.models import Tree
from loom.trees.queries.lookup import find_node


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


class ObligationOf(BaseModel):
    """One thing that a level demands: `code` is the refusal that it would be, `have` and `need` are
    numbers, `status` is pending, compiling, proved, blocked or rejected."""

    code: str
    have: int
    need: int
    says: str
    status: str


class ClaimListed(BaseModel):
    """A claim without its evidence. The numbers count each item once; `against` is what is not
    addressed."""

    id: str
    tree: str
    statement: str
    state: str
    scope: str
    test: str
    conclusion: str
    level: str | None
    vetoed: bool
    strong: int
    moderate: int
    weak: int
    against: int
    waits_for_a_person: bool
    by: str
    at: str
    changed_at: str


class QuoteOf(BaseModel):
    """The words of a cite, with a little before and after; `first` and `last` in code points."""

    words: str
    before: str
    after: str
    first: int
    last: int


class CiteOf(BaseModel):
    """A piece of evidence. `side` is for, against or undercuts; `gate` is what was said about its
    quote: found, elsewhere, joined or not there."""

    id: str
    item: str
    side: str
    undercuts: str | None
    version: str
    part: str
    quote: QuoteOf | None
    gate: str | None
    why: str
    strength: str
    by_what: str
    answer: str
    addressed: bool
    by: str
    at: str


class CommitmentOf(BaseModel):
    """A commitment: `hash` is the SHA-256 of the canonical JSON of `record`."""

    id: str
    level: str
    record: dict[str, Any]
    hash: str
    by: str
    approved_by: str | None
    at: str
    vetoed_by: str | None
    veto: str


class ClaimOne(ClaimListed):
    """A claim with what may be done next (`allowed`), what the `next` level demands, its evidence
    as far as the caller may see it (of `evidence_total`), counter-evidence first, and its
    commitments."""

    about: str | None
    why: str
    allowed: list[str]
    next: str
    obligations: list[ObligationOf]
    evidence: list[CiteOf]
    evidence_total: int
    commitments: list[CommitmentOf]


class Obligations(BaseModel):
    """What a level demands of a claim, in the order in which it is checked."""

    level: str
    obligations: list[ObligationOf]


@operation(
    "GET",
    "claims list",
    "The claims of a tree",
    answers=responses.Page[ClaimListed],
    asks=(
        an_id("tree", "The tree."),
        OpenApiParameter("state", OpenApiTypes.STR, enum=list(levels.STATES)),
        OpenApiParameter(
            "strength",
            OpenApiTypes.STR,
            enum=["strong", "moderate", "weak"],
            description="Only claims with evidence of this strength.",
        ),
        OpenApiParameter("source", OpenApiTypes.STR, description="Only those that cite this item."),
        *PAGES,
    ),
)
@api_view(["GET"])
def claims(request: Request) -> Response:
    """The claims of a tree, the last changed first."""
    actor, tree = access.get_tree(user_of(request), word(request, "tree") or "none")
    return paged(request, filtered(request, actor, tree), brief_body)


def filtered(request: Request, actor: Actor, tree: Tree) -> QuerySet[Claim]:
    """The claims of a tree that the query parameters ask for."""
    rows = claims_in(tree)
    state, strength, source = (word(request, name) for name in ("state", "strength", "source"))
    if state and state not in levels.STATES:
        raise CommandError("INVALID_SYNTAX", f"There is no state {state!r}.", hint="testing, …")
    if strength and strength not in ("strong", "moderate", "weak"):
        raise CommandError("INVALID_SYNTAX", f"There is no strength {strength!r}.", hint="strong")
    rows = rows.filter(state=state) if state else rows
    rows = rows.filter(**{f"{strength}__gt": 0}) if strength else rows
    if source:
        rows = rows.filter(pk__in=citing(actor, tree, source))
    return rows


_OF_TREE = an_id("tree", "The tree of the claim.")


@operation("GET", "claims one", "A claim with its evidence", answers=ClaimOne, asks=(_OF_TREE,))
@api_view(["GET"])
def claim(request: Request, local_id: str) -> Response:
    """A claim, and what may be done next. Lines of its tree change it."""
    actor, found = _claim(request, local_id)
    return Response(claim_body(actor, found))


@operation(
    "GET",
    "claims obligations",
    "What a level demands of a claim",
    answers=Obligations,
    asks=(
        _OF_TREE,
        OpenApiParameter(
            "level", OpenApiTypes.STR, enum=list(levels.LEVELS), description="Default: the next."
        ),
    ),
)
@api_view(["GET"])
def obligations(request: Request, local_id: str) -> Response:
    """Each obligation with what there is and what is needed."""
    _, found = _claim(request, local_id)
    asked = word(request, "level")
    level = next((one for one in levels.LEVELS if one == asked), None)
    if asked and level is None:
        hint = " or ".join(levels.LEVELS)
        raise CommandError("INVALID_SYNTAX", f"There is no level {asked!r}.", hint=hint)
    level = level or next_level(found)
    every = [obligation_body(found, one) for one in obligations_of(found, level)]
    return Response({"level": level, "obligations": every})


def _claim(request: Request, local_id: str) -> tuple[Actor, Claim]:
    actor, tree = access.get_tree(user_of(request), word(request, "tree") or "none")
    node = find_node(tree, local_id.lower())
    if node is None:
        raise not_found("This claim")
    return actor, claim_of(node)
