"""Checks, claims, tokens and pipes in the API."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.claims import access as check_access
from loom.claims.commands import checks as verbs
from loom.claims.commands import regions
from loom.claims.commands.pipes import PipeChosen, PipeGiven, archive_pipe, save_pipe
from loom.claims.models import Claim
from loom.claims.queries.checks import check_body, checks_for, results_in, results_of_text, texts_of
from loom.claims.queries.claims import (
    brief_body,
    citing,
    claim_body,
    claim_of,
    claims_in,
    near_claims,
    next_level,
    obligation_body,
    obligations_of,
)
from loom.claims.queries.evidence import cites_of
from loom.claims.queries.evidence_groups import GROUPS, STRENGTHS, EvidenceFilter, grouped
from loom.claims.queries.explored import openings_of
from loom.claims.queries.inline_tokens import (
    TokenItem,
    after_input,
    delta_of,
    line_for,
    region_shown,
    token_of,
    tokens_of,
)
from loom.claims.queries.pipes import pipe_body, pipes_for
from loom.claims.rules import levels
from loom.claims.rules.checks import Kind
from loom.claims.rules.inline_tokens import MACHINES, NoSuchInputError, optimised
from loom.engine import streams
from loom.engine.context import Request as LineRequest
from loom.engine.execute import execute, execute_line
from loom.errors import CommandError, not_found
from loom.site import api_requests as requests
from loom.site import responses
from loom.site.api_requests import read, user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, a_choice, an_id, operation, paged, paged_at_once, word
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText, Node, Tree
from loom.trees.queries.lookup import find_node


class CheckOf(Returned):
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


class CheckChangedSchema(requests.PartialBody):
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
    rows = checks_for(actor)
    names = grove_texts().names(texts_of(rows))
    return paged(request, rows, partial(check_body, names=names))


@operation("GET", "checks one", "A check", answers=CheckOf)
@operation("PATCH", "checks change", "Change a check", body=CheckChangedSchema, answers=CheckOf)
@operation("DELETE", "checks archive", "Archive a check", answers=CheckOf)
@api_view(["GET", "PATCH", "DELETE"])
def check(request: Request, uid: str) -> Response:
    """A check; archived ones no longer apply, and their results stay."""
    role: Any = "reader" if request.method == "GET" else "writer"
    actor, row = check_access.get_check(user_of(request), uid, role=role)
    seen = checks_for(actor).filter(pk=row.pk).first()
    if seen is None:
        raise not_found("This check")
    if request.method == "PATCH":
        sent = read(request, CheckChangedSchema).sent
        if not sent:
            raise CommandError("INVALID_SYNTAX", "Nothing to change was sent.", hint="name, …")
        seen = verbs.change_check(actor, seen, **sent)
    if request.method == "DELETE":
        seen = verbs.change_check(actor, seen, archived=True)
    return Response(check_body(seen))


MOST_REF = 100  # characters of a ref in a query
MOST_ASKED = 200  # nodes whose results are asked for at once


class ResultOf(Returned):
    """What a check said about an item; `outcome` is passed, failed, unsure, or asked while a judge
    reads."""

    item: str
    check: str
    name: str
    outcome: Literal["passed", "failed", "unsure", "asked"]
    said: str
    version: str
    call: str | None
    at: str


class Results(Returned):
    """What checks said about the items that were asked for; `seq` is the last event of the grove
    before, after which changes to a document follow (0 for nodes)."""

    count: int
    results: list[ResultOf]
    seq: int


@operation(
    "GET",
    "checks results",
    "What checks said about nodes, or about a document",
    answers=Results,
    asks=(
        an_id("tree", "The tree of the nodes."),
        an_id("document", "A document, in its newest revision, in place of nodes."),
        OpenApiParameter(
            "items", OpenApiTypes.STR, description=f"Local ids, at most {MOST_ASKED}: a7x2,b3k9"
        ),
    ),
)
@api_view(["GET"])
def results(request: Request) -> Response:
    """The last results of each check that applies, by node; or of a document."""
    if uid := word(request, "document"):
        _, text = grove_texts().open(user_of(request), uid)
        seq = streams.head(streams.name_of(text.grove))
        rows = [{"item": f"doc:{text.uid}", **result} for result in results_of_text(text)]
        return Response({"count": len(rows), "results": rows, "seq": seq})
    _, tree = access.get_tree(user_of(request), word(request, "tree") or "none")
    names = [name for name in request.query_params.get("items", "").lower().split(",") if name]
    if len(names) > MOST_ASKED:
        raise CommandError(
            "LIMIT_EXCEEDED", f"At most {MOST_ASKED} items at once.", hint="ask again for the rest"
        )
    rows = results_in(tree, names)
    return Response({"count": len(rows), "results": rows, "seq": 0})


class ObligationOf(Returned):
    """One thing that a level demands: `code` is the refusal that it would be, `have` and `need` are
    numbers, `status` is pending, compiling, proved, blocked or rejected."""

    code: str
    have: int
    need: int
    says: str
    status: str


class ClaimListed(Returned):
    """A claim without its evidence. The numbers count each item once; `against` is what is not
    addressed. `person` is responsible for the claimant, and has the request where
    `waits_for_a_person`."""

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
    person: str
    at: str
    changed_at: str


class QuoteOf(Returned):
    """The words of a cite, with a little before and after; `first` and `last` in code points."""

    words: str
    before: str
    after: str
    first: int
    last: int


class CiteOf(Returned):
    """A piece of evidence. `side` is for, against or undercuts; `gate` is what was said about its
    quote: found, elsewhere, joined or not there. `taken_back`: whoever gave it has undone that, and
    it counts for nothing."""

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
    taken_back: bool
    by: str
    at: str


class OpeningOf(Returned):
    """An item that the claimant has opened from what the claim rests on: weak evidence that nobody
    gave, which counts for the level tentative only."""

    item: str
    of: str
    type: str
    says: str
    strength: str
    counts_for: str
    by: str
    at: str


class CommitmentOf(Returned):
    """A commitment: `hash` is the SHA-256 of the canonical JSON of `record`, with the evidence that
    the reader may not see; `unseen` is how much that is."""

    id: str
    level: str
    record: dict[str, Any]
    unseen: int
    hash: str
    by: str
    approved_by: str | None
    at: str
    vetoed_by: str | None
    veto: str


class EvidenceRecord(Returned):
    """A piece of evidence with the fields that its file in an export has: `title` are the first
    words of the claim, `content` the exact words, or why it was given."""

    title: str
    claim: str
    side: str
    strength: str
    source: str
    time: str
    content: str
    proof_status: str
    related: str


class CiteIn(CiteOf):
    """A piece of evidence with the local id of its claim; with its `record` where the evidence of
    one claim or about one item is asked for."""

    claim: str
    record: EvidenceRecord | None


class EvidenceGroup(Returned):
    """The evidence of one claim, about one item, or of one strength."""

    group: str
    count: int
    evidence: list[CiteIn]


class EvidenceGroups(Returned):
    """The newest evidence that was asked for, in groups: `accessible` pieces of `total`, which
    counts what the filter lets through, up to 10,000."""

    accessible: int
    total: int
    groups: list[EvidenceGroup]


class ClaimOne(ClaimListed):
    """A claim with what may be done next (`allowed`), what the `next` level demands, its evidence
    as far as the caller may see it (of `evidence_total`), counter-evidence first, what the claimant
    has only opened (`explored`), and its commitments."""

    about: str | None
    why: str
    allowed: list[str]
    next: str
    obligations: list[ObligationOf]
    evidence: list[CiteOf]
    evidence_total: int
    explored: list[OpeningOf]
    commitments: list[CommitmentOf]


class Obligations(Returned):
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
        OpenApiParameter(
            "near",
            OpenApiTypes.STR,
            description="Instead: the open claims, those nearest to this item first.",
        ),
        *PAGES,
    ),
)
@api_view(["GET"])
def claims(request: Request) -> Response:
    """The claims of a tree, the last changed first; `near` an item, the open ones that are about it
    or cite it, then those of the texts above it, then the caller's own."""
    actor, tree = access.get_tree(user_of(request), word(request, "tree") or "none")
    if near := request.query_params.get("near", "")[:MOST_REF]:
        rows = near_claims(actor, tree, near)
        return paged_at_once(request, rows, lambda page: [brief_body(claim) for claim in page])
    return paged(request, filtered(request, actor, tree), brief_body)


def filtered(request: Request, actor: Actor, tree: Tree) -> QuerySet[Claim]:
    """The claims of a tree that the query parameters ask for."""
    rows = claims_in(tree)
    state, strength = word(request, "state"), word(request, "strength")
    source = request.query_params.get("source", "")[:MOST_REF]  # a local id, or doc:ID
    if state and state not in levels.STATES:
        raise CommandError("INVALID_SYNTAX", f"There is no state {state!r}.", hint="testing, …")
    if strength and strength not in ("strong", "moderate", "weak"):
        raise CommandError("INVALID_SYNTAX", f"There is no strength {strength!r}.", hint="strong")
    rows = rows.filter(state=state) if state else rows
    rows = rows.filter(**{f"{strength}__gt": 0}) if strength else rows
    if source:
        rows = rows.filter(pk__in=citing(actor, tree, source))
    return rows


@operation(
    "GET",
    "claims evidence",
    "The evidence of a tree in groups",
    answers=EvidenceGroups,
    asks=(
        an_id("tree", "The tree."),
        OpenApiParameter(
            "group", OpenApiTypes.STR, enum=list(GROUPS), description="By what; default: claim."
        ),
        an_id("claim", "Only that of this claim."),
        OpenApiParameter("source", OpenApiTypes.STR, description="Only that about this item."),
        a_choice("strength", "Only that of this strength.", STRENGTHS),
    ),
)
@api_view(["GET"])
def evidence(request: Request) -> Response:
    """The evidence of a tree by claim, by source or by strength, as far as the caller may see it;
    all of it, or what is about one claim or item, or of one strength."""
    actor, tree = access.get_tree(user_of(request), word(request, "tree") or "none")
    group = word(request, "group") or "claim"
    if group not in GROUPS:
        hint = " or ".join(GROUPS)
        raise CommandError("INVALID_SYNTAX", f"There is no group {group!r}.", hint=hint)
    strength = word(request, "strength")
    if strength and strength not in STRENGTHS:
        raise CommandError("INVALID_SYNTAX", f"There is no strength {strength!r}.", hint="strong")
    source = request.query_params.get("source", "")[:MOST_REF]
    wanted = EvidenceFilter(word(request, "claim"), source, strength)
    return Response(grouped(actor, tree, group, wanted))


_OF_TREE = an_id("tree", "The tree of the claim.")


@operation("GET", "claims one", "A claim with its evidence", answers=ClaimOne, asks=(_OF_TREE,))
@api_view(["GET"])
def claim(request: Request, local_id: str) -> Response:
    """A claim, and what may be done next. Lines of its tree change it."""
    actor, row = _claim(request, local_id)
    return Response(claim_body(actor, row))


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
    actor, row = _claim(request, local_id)
    asked = word(request, "level")
    level = next((name for name in levels.LEVELS if name == asked), None)
    if asked and level is None:
        hint = " or ".join(levels.LEVELS)
        raise CommandError("INVALID_SYNTAX", f"There is no level {asked!r}.", hint=hint)
    level = level or next_level(row)
    is_low = level == "tentative"
    explored = len(openings_of(actor, row, cites_of(row))) if is_low else 0
    every = [
        obligation_body(row, obligation)
        for obligation in obligations_of(row, level, explored=explored)
    ]
    return Response({"level": level, "obligations": every})


def _claim(request: Request, local_id: str) -> tuple[Actor, Claim]:
    actor, tree = access.get_tree(user_of(request), word(request, "tree") or "none")
    node = find_node(tree, local_id.lower())
    if node is None:
        raise not_found("This claim")
    return actor, claim_of(node)


# Tokens in texts.


class TokenKind(Returned):
    """A kind of token with its machine. `transitions` are [state, input, state after]."""

    kind: str
    alias: str
    written: str
    states: list[str]
    initial: str
    accepting: list[str]
    transitions: list[list[str]]
    compiles_to: str
    obligations: str


class TokenOf(Returned):
    """A token of an item: its place in code points, its words, its state, and what may be done
    now (`inputs`)."""

    key: str
    kind: str
    text: str
    first: int
    last: int
    target: str
    check: str
    state: str
    notes: list[str]
    states: list[str]
    initial: str
    accepting: list[str]
    inputs: list[str]


class TokenKinds(Returned):
    """The kinds of tokens."""

    count: int
    results: list[TokenKind]


class Tokens(Returned):
    """The tokens of an item, in order."""

    count: int
    results: list[TokenOf]


MOST_INPUTS = 20  # of a task at once


class TokenSent(requests.Body):
    """An input of a token, with the text that a note, reply or reason has. `dry_run` only compiles
    it. `then`: of a task, further inputs after it."""

    input: str
    text: str = ""
    then: list[str] = Field([], json_schema_extra={"maxItems": MOST_INPUTS - 1})
    dry_run: bool = False


class TokenObligation(Returned):
    """Something that has to hold before an input is run."""

    says: str
    met: bool


class StateEvidence(Returned):
    """What the state of a task is evidence for, as a claim may say it: `task "…" is checked`."""

    says: str
    strength: str


class TokenDelta(Returned):
    """What an input changes of a task: its place, its state and its notes afterwards. The state
    is strong `evidence`, for the state only."""

    first: int
    last: int
    state: str
    notes: list[str]
    evidence: StateEvidence


class TokenRun(Returned):
    """What an input compiled to, the obligations, the reply, the token afterwards, and of a task
    what changes. `dropped`: lines that are not run, as each undoes another of them."""

    token: TokenOf
    lines: list[str]
    dropped: list[str]
    obligations: list[TokenObligation]
    reply: str
    delta: TokenDelta | None


@operation("GET", "tokens kinds", "The kinds of tokens and their machines", answers=TokenKinds)
@api_view(["GET"])
def token_kinds(request: Request) -> Response:
    """The table of machines."""
    user_of(request)
    kinds = [
        {
            "kind": machine.kind,
            "alias": machine.alias,
            "written": machine.written,
            "states": list(machine.states),
            "initial": machine.initial,
            "accepting": list(machine.accepting),
            "transitions": [[a, b, after] for (a, b), after in machine.transitions.items()],
            "compiles_to": machine.compiles_to,
            "obligations": machine.obligations,
        }
        for machine in MACHINES.values()
    ]
    return Response({"count": len(kinds), "results": kinds})


_TREE_OF_TOKENS = an_id("tree", "The tree of a node; of a document, where lines are run.")


@operation("GET", "tokens list", "The tokens of an item", answers=Tokens, asks=(_TREE_OF_TOKENS,))
@api_view(["GET"])
def tokens(request: Request, ref: str) -> Response:
    """The tokens of a node (its local id) or a document (`doc:ID`); a sandbox (`tree:ID`) and a
    pipe (`pipe:ID`, with the tree in which it is run) are the token 0 of themselves. The caller's
    window #4 on lines of the text is its region w4, which nobody else sees."""
    actor, tree, item = _item_of(request, ref)
    bodies = tokens_of(item, actor, access.workspace_of(actor.participant, tree))
    return Response({"count": len(bodies), "results": bodies})


@operation("GET", "tokens one", "A token", answers=TokenOf, asks=(_TREE_OF_TOKENS,))
@operation(
    "POST",
    "tokens run",
    "Give a token an input",
    body=TokenSent,
    answers=TokenRun,
    asks=(_TREE_OF_TOKENS,),
)
@api_view(["GET", "POST"])
def token(request: Request, ref: str, key: str) -> Response:
    """A token; an input compiles to ordinary lines, which are run as the caller's own."""
    actor, tree, item = _item_of(request, ref)
    own = access.workspace_of(actor.participant, tree)
    body = token_of(item, key, actor, own)
    if request.method == "GET":
        return Response(body)
    sent = read(request, TokenSent)
    if body["kind"] == "region":
        return _of_region(actor, tree, item, key, sent)
    if sent.input not in body["inputs"]:
        hint = f"allowed now: {', '.join(body['inputs']) or 'nothing'}"
        if body["state"] == "broken":
            hint = "write the text it names, or change the reference"
        raise CommandError("REJECTED", _why_not(body), hint=hint)
    dropped: list[str] = []
    if sent.then:
        inputs, dropped = _several(ref, body, sent)
        if len(inputs) != 1:
            at = _AtToken(request, ref, key, actor, tree)
            return Response(_ran(at, inputs, dropped, is_dry=sent.dry_run))
        given, text = inputs[0]
        sent = sent.model_copy(update={"input": given, "text": text, "then": []})
    line = line_for(ref, body, sent.input, sent.text)
    try:
        answer = execute_line(actor, tree, LineRequest(line, dry_run=sent.dry_run))
    except CommandError as refused:
        if not sent.dry_run:
            raise
        demands = [{"says": refused.message, "met": False}]
        refusal = {"obligations": demands, "reply": "", "delta": None}
        return Response({"token": body, "lines": [f"→ {line}"], "dropped": dropped, **refusal})
    owes = MACHINES[body["kind"]].obligations
    demands = [{"says": owes, "met": True}] if owes else []
    now = body if sent.dry_run else token_of(_item_of(request, ref)[2], key, actor, own)
    after = after_input(body, sent.input, sent.text) if sent.dry_run else now
    result = {
        "token": now,
        "lines": [answer.body["canonical"]],
        "dropped": dropped,
        "obligations": demands,
        "reply": answer.reply,
        "delta": delta_of(body, after),
    }
    return Response(result)


def _why_not(body: dict[str, Any]) -> str:
    """Why a token does not take an input."""
    if body["kind"] == "task" and body["state"] == "archived":
        return "Cannot modify archived task."
    if body["state"] == "broken":
        return "It is broken: nothing that you may see has this name."
    return f"It is {body['state']}."


Inputs = list[tuple[str, str]]  # each with the text that it has


def _several(ref: str, body: dict[str, Any], sent: TokenSent) -> tuple[Inputs, list[str]]:
    """(the inputs of a task that are run, the lines that are dropped). REJECTED if the machine does
    not take one of them."""
    if body["kind"] != "task":
        raise CommandError("INVALID_SYNTAX", "Only a task takes several inputs.", hint="give one")
    if len(sent.then) >= MOST_INPUTS:
        raise CommandError(
            "LIMIT_EXCEEDED", f"At most {MOST_INPUTS} inputs at once.", hint="send the rest after"
        )
    try:
        every = [sent.input, *sent.then]
        has_text = bool(sent.text.strip())
        left, dropped = optimised("task", body["state"], every, first_stays=has_text)
    except NoSuchInputError as wrong:
        allowed = ", ".join(MACHINES["task"].inputs(wrong.state))
        raise CommandError(
            "REJECTED", f"It is {wrong.state}, which takes no {wrong.given}.", hint=allowed
        ) from None
    inputs = [(given, "" if at else sent.text) for at, (_, given) in enumerate(left)]
    lines = [line_for(ref, {**body, "state": state}, given, "") for state, given in dropped]
    return inputs, [f"→ {line}" for line in lines]


@dataclass(frozen=True)
class _AtToken:
    """A token by its address, and who gives it inputs in which tree."""

    request: Request
    ref: str
    key: str
    actor: Actor
    tree: Tree

    def body(self) -> dict[str, Any]:
        """The token as it is now."""
        own = access.workspace_of(self.actor.participant, self.tree)
        return token_of(_item_of(self.request, self.ref)[2], self.key, self.actor, own)

    def say(self, line: str, *, dry_run: bool = False) -> str:
        """Runs a line in the tree; returns its reply."""
        return execute_line(self.actor, self.tree, LineRequest(line, dry_run=dry_run)).reply


def _ran(at: _AtToken, inputs: Inputs, dropped: list[str], *, is_dry: bool) -> dict[str, Any]:
    """What none, or several, inputs of a task compile to, or have done."""
    before = now = at.body()
    lines: list[str] = []
    replies: list[str] = []
    owes, met = MACHINES["task"].obligations, True
    for given, text in inputs:
        line = line_for(at.ref, now, given, text)
        if not is_dry:
            replies.append(at.say(line))
        elif not lines:  # what comes after it depends on it
            try:
                replies.append(at.say(line, dry_run=True))
            except CommandError as refused:
                owes, met = refused.message, False
        lines.append(f"→ {line}")
        now = after_input(now, given, text)
    if not is_dry:
        now = at.body()
    return {
        "token": before if is_dry else now,
        "lines": lines,
        "dropped": dropped,
        "obligations": [{"says": owes, "met": met}] if inputs else [],
        "reply": "\n".join(replies) or "no change",
        "delta": delta_of(before, now),
    }


def _of_region(actor: Actor, tree: Tree, item: TokenItem, key: str, sent: TokenSent) -> Response:
    """Gives a region an input: the draft of the lines of a window of the caller."""
    if not isinstance(item, Node | GroveText):
        raise not_found("This token")
    given = regions.RegionInput(key, sent.input, sent.text, sent.dry_run)
    done = regions.give(actor, tree, item, given)
    body = {
        "lines": done.lines,
        "dropped": [],
        "obligations": [{"says": demand.says, "met": demand.met} for demand in done.demands],
        "reply": done.reply,
    }
    shown = region_shown(access.workspace_of(actor.participant, tree), key)
    return Response({"token": shown, **body, "delta": None})


def _item_of(request: Request, ref: str) -> tuple[Actor, Tree, TokenItem]:
    """(the caller, the tree in which lines are run, the item) that an address names."""
    user, uid = user_of(request), word(request, "tree")
    if ref.startswith("tree:"):
        actor, tree = access.get_tree(user, ref[5:])
        return actor, tree, tree
    if ref.startswith("pipe:"):
        _, pipe = check_access.get_pipe(user, ref[5:])
        actor, tree = access.get_tree(user, uid or "none")
        if tree.grove_id != pipe.grove_id:
            raise not_found("This pipe")
        return actor, tree, pipe
    if ref.startswith("doc:"):
        actor, document = grove_texts().open(user, ref[4:])
        home = access.get_tree(user, uid)[1] if uid else grove_texts().home_of(actor, document)
        if home is None:
            raise not_found("A tree in which a line can be run", "make a tree first")
        return actor, home, document
    actor, tree = access.get_tree(user, uid or "none")
    node = find_node(tree, ref.lower())
    if node is None:
        raise not_found("This item")
    return actor, tree, node


# Pipes.


class PipeOf(Returned):
    """A saved pipe: its lines as they were given, what they take and give (`kinds`), and whether
    models may run it, as those that a person saved."""

    id: str
    grove: str
    name: str
    lines: list[str]
    kinds: str
    by: str
    for_models: bool
    at: str


class PipeSent(requests.Body):
    """A new pipe; without a grove, in the caller's first. Its lines are joined by `|` or stand one
    below the other."""

    name: str = Field(json_schema_extra={"minLength": 1, "maxLength": 100, "pattern": "\\S"})
    lines: str = Field(json_schema_extra={"minLength": 1, "maxLength": 4000})
    grove: str = Field("", json_schema_extra={"pattern": "^[A-Za-z0-9]*$"})


@operation(
    "GET",
    "pipes list",
    "The pipes of a grove",
    answers=responses.Page[PipeOf],
    asks=(an_id("grove", "Default: the caller's first."), *PAGES),
)
@operation("POST", "pipes save", "Save a pipe", body=PipeSent, answers=PipeOf, status=201)
@api_view(["GET", "POST"])
def pipes(request: Request) -> Response:
    """Lists the pipes of a grove by name; or checks the lines of a new one and saves it. `run`, a
    line, runs it."""
    user = user_of(request)
    if request.method == "POST":
        sent = read(request, PipeSent)
        actor, grove = access.get_grove(user, sent.grove or access.first_grove(user).uid)
        given = PipeGiven(name=sent.name, lines=sent.lines)
        return Response(pipe_body(execute(actor, grove, save_pipe, given)), status=201)
    actor, _ = access.get_grove(user, word(request, "grove") or access.first_grove(user).uid)
    return paged(request, pipes_for(actor), pipe_body)


@operation("GET", "pipes one", "A pipe", answers=PipeOf)
@operation("DELETE", "pipes archive", "Archive a pipe", answers=PipeOf)
@api_view(["GET", "DELETE"])
def pipe(request: Request, uid: str) -> Response:
    """A pipe; an archived one can no longer be run."""
    actor, row = check_access.get_pipe(user_of(request), uid)
    if request.method == "DELETE":
        row = execute(actor, actor.grove, archive_pipe, PipeChosen(pipe=row.uid))
    return Response(pipe_body(row))
