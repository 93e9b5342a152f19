"""Pages: the claims of a tree with their ledger, the card of one claim, and the checks and pipes of
a grove."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.http import require_http_methods

from loom import access
from loom.access import Actor
from loom.claims.commands import checks as check_verbs
from loom.claims.commands.pipes import PipeChosen, PipeGiven, archive_pipe, save_pipe
from loom.claims.models import Check, Cite, Claim, Commitment
from loom.claims.queries.checks import checks_for
from loom.claims.queries.claims import (
    allowed_acts,
    citing,
    claim_of,
    claims_in,
    levels_to_commit,
    next_level,
    obligations_of,
    same_statement,
    seen_cites,
    verify_claim,
    waits_for_a_person,
)
from loom.claims.queries.explored import opening_bodies, openings_of
from loom.claims.queries.inline_tokens import decided_tasks
from loom.claims.queries.pipes import pipes_for
from loom.claims.rules import levels
from loom.claims.rules.checks import KINDS, PARAMETER
from loom.claims.rules.levels import Obligation
from loom.claims.rules.quotes import AROUND
from loom.engine import registry
from loom.engine.by_name import run_command
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import trail_named
from loom.links.models import Link, Trail
from loom.links.trails import trails_for
from loom.links.vocabulary import keys_for
from loom.people.models import Participant
from loom.permissions import WRITE
from loom.site.forms import Flag, PageForm, Text, Word
from loom.site.page_requests import PersonRequest, frame, in_one_line, person
from loom.text.shortening import excerpt
from loom.trees.grove_texts import grove_texts, is_text
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import find_node

MOST = 200  # claims of a page
MOST_CITED = 200  # pieces of evidence of a card
MOST_WORDS = 1_500  # characters of a quote that an address carries
DEEP = 4  # levels of claims that rest on claims

# Words of the model that pages show in the reader's language.
KIND_WORDS = {
    "contains": gettext_noop("words that must occur"),
    "absent": gettext_noop("words that must not occur"),
    "max_words": gettext_noop("at most so many words"),
    "min_words": gettext_noop("at least so many words"),
    "regex": gettext_noop("a pattern that must occur"),
    "json": gettext_noop("must be JSON"),
    "python": gettext_noop("must be Python"),
    "judge": gettext_noop("a question that a model answers"),
}
WORDS = {
    "hypothesis": gettext_noop("hypothesis"),
    "testing": gettext_noop("being tested"),
    "concluding": gettext_noop("concluded"),
    "committed": gettext_noop("committed"),
    "withdrawn": gettext_noop("withdrawn"),
    "refuted": gettext_noop("refuted"),
    "tentative": gettext_noop("tentative"),
    "moderate": gettext_noop("moderate"),
    "strong": gettext_noop("strong"),
    "definitive": gettext_noop("definitive"),
    "weak": gettext_noop("weak"),
    "for": gettext_noop("supports it"),
    "against": gettext_noop("speaks against it"),
    "undercuts": gettext_noop("undercuts"),
    "node": gettext_noop("this text"),
    "tree": gettext_noop("the whole tree"),
    "grove": gettext_noop("the grove"),
    # By what evidence is as strong as it is.
    "taken back": gettext_noop("taken back"),
    "undercut": gettext_noop("undercut"),
    "own words": gettext_noop("own words"),
    "by check": gettext_noop("by check"),
    "confirmed by a person": gettext_noop("confirmed by a person"),
    "a commitment": gettext_noop("a commitment"),
    "a trail": gettext_noop("a trail"),
    "a short trail": gettext_noop("a short trail"),
    "a part of a document": gettext_noop("a part of a document"),
    "verified": gettext_noop("verified"),
    "not verified": gettext_noop("not verified"),
    "task is checked": gettext_noop("the task is checked"),
    "task is unchecked": gettext_noop("the task is not checked"),
    "task is archived": gettext_noop("the task is archived"),
    "quote elsewhere": gettext_noop("its words are in another text"),
    "quote joined": gettext_noop("its words are from several places"),
    "quote not there": gettext_noop("its words are not there"),
}


def _done_words(command: str) -> str:
    """What was done by a command, in words for a page; lines and the API have replies with ids."""
    verb = command.partition("_")[0]
    if verb == "check":
        return gettext("The claim is being tested.")
    return f"{gettext(registry.language().of(verb).done)}."


def word(name: str) -> str:
    """A word of the model, in the reader's language."""
    return gettext(WORDS[name]) if name in WORDS else name


def missing_words(claim: Claim) -> str:
    """What is missing next for a claim, as a sentence."""
    level = next_level(claim)
    gap = levels.missing(obligations_of(claim, level))
    name = word(level)
    if gap is None:
        return gettext("Enough evidence for the level %(level)s.") % {"level": name}
    return _gap_words(gap, name)


def _gap_words(gap: Obligation, level: str) -> str:
    values = {"level": level, "have": gap.have, "need": gap.need}
    if gap.code == "INSUFFICIENT_QUANTITY":
        template = gettext(
            "%(level)s needs %(need)d pieces of evidence that count, and has %(have)d."
        )
    elif gap.code == "INSUFFICIENT_QUALITY":
        template = gettext("%(level)s needs %(need)d strong pieces of evidence, and has %(have)d.")
    elif gap.code == "UNADDRESSED_COUNTEREVIDENCE":
        template = ngettext(
            "%(level)s: %(have)d piece of counter-evidence is not addressed.",
            "%(level)s: %(have)d pieces of counter-evidence are not addressed.",
            gap.have,
        )
    else:
        template = gettext("The evidence is enough; a person has to commit it.")
    sentence = template % values
    return sentence[:1].upper() + sentence[1:]


# The claims of a tree.


@dataclass(frozen=True)
class ClaimRow:
    """A claim in the list: how deep it is nested, and what is missing."""

    claim: Claim
    depth: int
    state: str
    level: str
    missing: str
    asks: bool


@require_http_methods(["GET", "HEAD", "POST"])
@person
def claims_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The claims of a tree as a tree, with the ledger of commitments; a POST opens a claim, or
    gives evidence for one."""
    actor, tree = access.get_tree(request.user, uid)
    if request.method == "POST":
        return _given(request, actor, tree)
    asked = {name: request.GET.get(name, "") for name in ("state", "strength", "source")}
    rows = claims_in(tree)
    if asked["state"] in levels.STATES:
        rows = rows.filter(state=asked["state"])
    if asked["strength"] in ("strong", "moderate", "weak"):
        rows = rows.filter(**{f"{asked['strength']}__gt": 0})
    if asked["source"]:
        rows = rows.filter(pk__in=citing(actor, tree, asked["source"]))
    claims = list(rows[: MOST + 1])
    commitments = Commitment.objects.filter(tree=tree).select_related(
        "claim__node", "by", "approved_by", "vetoed_by"
    )
    words = request.GET.get("words", "")[:MOST_WORDS]
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "lines": _nested(actor, tree, claims[:MOST]),
        "is_cut": len(claims) > MOST,
        "asked": asked,
        "states": [(state, word(state)) for state in levels.STATES],
        "strengths": [(strength, word(strength)) for strength in ("strong", "moderate", "weak")],
        "scopes": [(scope, word(scope)) for scope in levels.SCOPES],
        "ledger": [_entry(commitment) for commitment in commitments.order_by("-id")[:MOST]],
        "tasks": decided_tasks(actor, tree),
        "may_write": WRITE in actor.permissions and tree.archived_at is None,
        "cite": _cited_shown(actor, tree, request.GET.get("cite", ""), words),
        "side": request.GET.get("side", ""),
        "open": [claim for claim in claims if "cite" in allowed_acts(claim)],
    }
    return render(request, "pages/claims.html", context)


def _cited_shown(actor: Actor, tree: Tree, ref: str, words: str) -> dict[str, str] | None:
    """The text that was selected as evidence, or a trail."""
    if ref.startswith("trail:"):
        trail = trails_for(actor).filter(uid=ref.removeprefix("trail:")).first()
        if trail is None:
            return None
        return {"ref": ref, "words": "", "excerpt": trail.name, "is_trail": "1"}
    node = find_node(tree, ref.lower()) if ref else None
    if node is None:
        return None
    return {"ref": node.local_id, "words": words, "excerpt": words or excerpt(node.text)}


def _entry(commitment: Commitment) -> dict[str, Any]:
    return {
        "row": commitment,
        "claim": commitment.claim,
        "level": word(commitment.level),
        "short": commitment.hash[:12],
    }


def _nested(actor: Actor, tree: Tree, claims: Sequence[Claim]) -> list[ClaimRow]:
    """The claims, below each those that it cites or requires and those that are about it; each
    once, at most DEEP levels deep. Two queries."""
    by_key = {claim.pk: claim for claim in claims}
    rests = _rests(actor, tree, by_key)
    below = {claim_pk for many in rests.values() for claim_pk in many}
    seen: set[int] = set()
    lines: list[ClaimRow] = []

    def add(key: int, depth: int) -> None:
        if key in seen:
            return
        seen.add(key)
        lines.append(_line(by_key[key], depth))
        if depth < DEEP:
            for rest in rests.get(key, ()):
                add(rest, depth + 1)

    for claim in claims:
        if claim.pk not in below:
            add(claim.pk, 0)
    for claim in claims:
        add(claim.pk, 0)
    return lines


def _rests(actor: Actor, tree: Tree, claims: Mapping[int, Claim]) -> dict[int, list[int]]:
    """By claim the claims that belong below it: what it cites, what it requires by a link, and
    those that are about it. No query for one claim."""
    if len(claims) < 2:
        return {}
    cites = Cite.objects.filter(claim__in=claims, item__in=claims, side="for").order_by("id")
    pairs = list(cites.values_list("claim", "item"))
    if "requires" in keys_for(actor, tree.grove):
        links = Link.objects.filter(tree=tree, type="requires", removed_at__isnull=True)
        links = links.filter(source_slot__in=claims, target_slot__in=claims).order_by("id")
        pairs += links.values_list("source_slot", "target_slot")
    abouts = ((claim.about or 0, key) for key, claim in claims.items())
    pairs += [(about, key) for about, key in abouts if about in claims]
    rests: dict[int, list[int]] = {}
    for upper, lower in dict.fromkeys(pairs):
        rests.setdefault(upper, []).append(lower)
    return rests


def _line(claim: Claim, depth: int) -> ClaimRow:
    is_open = claim.state in levels.OPEN
    level = word(claim.level) if claim.level else ""
    words = missing_words(claim) if is_open else ""
    return ClaimRow(claim, depth, word(claim.state), level, words, waits_for_a_person(claim))


class EvidenceForm(PageForm):
    """What was selected (`cite`, `words`), and what it is for: a `claim` on a `side`, what it
    `undercuts` there, or a new claim with its `statement`; of a decided `task`, the claim that it
    is so."""

    cite = Word()
    words = Text()
    claim = Word()
    why = Word()
    side = Word()
    other = Word()
    statement = Word()
    test = Word()
    scope = Word(empty="node")
    again = Flag()


def _called(actor: Actor, tree: Tree, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The command that a form of evidence stands for, with its arguments."""
    if given["side"] == "task":  # of which the claim may be there
        earlier = same_statement(actor, tree, given["statement"])
        mine = [claim for claim in earlier if claim.tree_id == tree.pk]
        claim = next((claim for claim in mine if "cite" in allowed_acts(claim)), None)
        if claim is None:
            given = {**given, "side": "new", "again": not mine and bool(earlier)}
        else:
            given = {**given, "side": "for", "claim": claim.node.local_id}
    words = given["words"][:MOST_WORDS] if given["words"].strip() else ""
    if given["side"] == "new":
        options = ("statement", "test", "scope", "again")
        values = {name: given[name] for name in options if given[name]}
        cited = {"cite": given["cite"], "words": words} if given["cite"] else {}
        return "claim", {"statement": given["statement"], **values, **cited}
    values = {"ref": given["cite"], "claim": given["claim"], "why": given["why"], "words": words}
    if given["side"] == "undercuts":
        return _citing("undercuts", given["cite"]), {**values, "other": given["other"]}
    return _citing(given["side"], given["cite"]), values


def _citing(side: str, ref: str) -> str:
    """The command that cites an item; of a document it is another one."""
    what = "cite_document" if ref.startswith("doc:") else "cite"
    return f"{what}_{side if side in ('against', 'undercuts') else 'for'}"


def _given(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    """Opens a claim, or cites what was selected, and leads to the claim."""
    given = EvidenceForm.read(request)
    ref, words = given["cite"], given["words"]
    try:
        name, values = _called(actor, tree, given)
        answer = run_command(actor, tree, name, values)
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
        back = urlencode({"cite": ref, "words": words[:MOST_WORDS]}) if ref else ""
        return HttpResponseRedirect(f"/trees/{tree.uid}/claims{'?' + back if back else ''}")
    messages.success(request, _done_words(name))
    return HttpResponseRedirect(f"/trees/{tree.uid}/claims/{answer.body['refs'][0]}")


# The card of a claim.


@dataclass(frozen=True)
class EvidenceRow:
    """A piece of evidence on a card: `name` and `href` of its item, its words in their
    surroundings, and `lit` the address that lights them up there. `is_cut_before` and
    `is_cut_after`: whether the item has more before and after what is shown."""

    cite: Cite
    side: str
    strength: str
    reason: str
    name: str
    href: str
    lit: str
    words: str
    is_answered: bool
    of: str
    is_cut_before: bool
    is_cut_after: bool


@require_http_methods(["GET", "HEAD", "POST"])
@person
def claim_page(request: PersonRequest, uid: str, local_id: str) -> HttpResponse:
    """The card of a claim: its state, what is missing next, counter-evidence first; a POST runs one
    of its acts."""
    actor, tree = access.get_tree(request.user, uid)
    node = find_node(tree, local_id.lower())
    if node is None:
        raise not_found("This claim")
    claim = claim_of(node)
    if request.method == "POST":
        return _acted(request, actor, tree, claim)
    every = list(
        Cite.objects.filter(claim=claim)
        .select_related("by", "answered_by", "undercuts")
        .order_by("id")[:MOST_CITED]
    )
    seen = seen_cites(actor, tree, every)
    order = {"against": 0, "undercuts": 1, "for": 2}
    seen.sort(key=lambda cite: (order[cite.side], cite.pk))
    commitments = Commitment.objects.filter(claim=claim).select_related(
        "by", "approved_by", "vetoed_by"
    )
    acts = allowed_acts(claim) if WRITE in actor.permissions else []
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "claim": claim,
        "state": word(claim.state),
        "level": word(claim.level) if claim.level else "",
        "scope": word(claim.scope),
        "missing": missing_words(claim) if claim.state not in ("withdrawn", "refuted") else "",
        "next": next_level(claim),
        "demands": [
            (obligation, _gap_words(obligation, word(next_level(claim))), obligation.is_met)
            for obligation in obligations_of(claim)
        ],
        "asks": waits_for_a_person(claim),
        "evidence": _shown(actor, tree, seen),
        "hidden": len(every) - len(seen),
        "cited": len(every),
        "explored": opening_bodies(claim, openings_of(actor, claim, every)),
        "ledger": [_entry(commitment) for commitment in commitments.order_by("-id")],
        "verified": verify_claim(claim)["status"] if claim.level else "",
        "acts": acts,
        "levels": [(level, word(level)) for level in levels_to_commit(claim)],
    }
    return render(request, "pages/claim.html", context)


def _shown(actor: Actor, tree: Tree, cites: Iterable[Cite]) -> list[EvidenceRow]:
    every = list(cites)
    keys = [key for cite in every if (key := ids.node_id(cite.item)) is not None]
    nodes = {cite.pk: cite for cite in Node.objects.filter(pk__in=keys).select_related("tree")}
    papers = grove_texts().seen(actor, tree, [cite.item for cite in every])
    trails = Trail.objects.in_bulk(
        [key for cite in every if (key := ids.trail_id(cite.item)) is not None]
    )
    rows = []
    for cite in every:
        node = nodes.get(cite.item)
        paper = papers.get(cite.item)
        name, href, words = "", "", cite.words
        if node is not None:
            name = f"[{node.local_id}]"
            is_claim = node.kind == "claim" and node.tree_id == tree.pk
            href = f"/trees/{node.tree.uid}?node={node.local_id}"
            href = f"/trees/{tree.uid}/claims/{node.local_id}" if is_claim else href
            words = words or excerpt(node.text).strip('"')
        elif paper is not None:
            name, href = paper.title, f"/documents/{paper.uid}"
        elif (trail := trails.get(ids.trail_id(cite.item) or 0)) is not None:
            name, href = trail_named(trail.name), f"/trails/{trail.uid}"
        lit = f"{href}#:~:text={quote(cite.words[:200], safe='')}" if cite.words else href
        text = node.text if node is not None else ""
        is_cut_before = len(cite.before) >= AROUND and not text.startswith(cite.before + cite.words)
        is_cut_after = len(cite.after) >= AROUND and not text.endswith(cite.words + cite.after)
        of = cite.undercuts.words[:80] if cite.undercuts is not None else ""
        rows.append(
            EvidenceRow(
                cite,
                word(cite.side),
                word(cite.strength),
                word(cite.reason),
                name,
                href,
                lit,
                words,
                cite.answered_at is not None,
                of,
                is_cut_before,
                is_cut_after,
            )
        )
    return rows


class ActForm(PageForm):
    """What is done with a claim (`act`): cited for or against by an item, evidence `of` it
    addressed, committed to at a level, or anything else, with a reason."""

    act = Word()
    why = Word()
    level = Word(empty="moderate")
    side = Word()
    ref = Word()


ActForm.base_fields["of"] = Word()  # which is the name of a method here


def _act_of(given: Mapping[str, Any], tree: Tree, claim: Claim) -> tuple[str, dict[str, Any]]:
    """The command that a button of the card stands for, with its arguments."""
    name, act, why = claim.node.local_id, given["act"], given["why"]
    if act == "address":
        return "address", {"ref": _ref_of(given["of"], tree), "claim": name, "how": why}
    if act == "commit":
        return "commit", {"claim": name, "level": given["level"]}
    if act == "cite":
        return _citing(given["side"], given["ref"]), {
            "ref": given["ref"],
            "claim": name,
            "why": why,
        }
    if act == "conclude":
        return "conclude", {"claim": name, "conclusion": why}
    if act in ("withdraw", "veto"):
        return act, {"claim": name, "why": why}
    return "check", {"ref": name}


def _acted(request: PersonRequest, actor: Actor, tree: Tree, claim: Claim) -> HttpResponse:
    """Does what a button of the card stands for."""
    name = claim.node.local_id
    try:
        called, values = _act_of(ActForm.read(request), tree, claim)
        run_command(actor, tree, called, values)
        messages.success(request, _done_words(called))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/trees/{tree.uid}/claims/{name}")


def _ref_of(uid: str, tree: Tree) -> str:
    """The item of a cite, as a line names it."""
    row = Cite.objects.filter(uid=uid, claim__tree=tree).first()
    if row is None:
        raise not_found("This evidence")
    if is_text(row.item):
        return grove_texts().names([row.item])[row.item]
    if (trail := ids.trail_id(row.item)) is not None:
        return f"trail:{Trail.objects.values_list('uid', flat=True).get(pk=trail)}"
    node = Node.objects.select_related("tree").get(pk=ids.node_id(row.item) or 0)
    if node.tree_id == tree.pk:
        return node.local_id
    return f"tree:{node.tree.uid} node:{node.local_id}"


# The checks of a grove.


@require_http_methods(["GET", "HEAD", "POST"])
@person
def checks_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The checks of a grove; a POST declares, switches or archives one."""
    actor, grove = access.get_grove(request.user, uid)
    if request.method == "POST":
        try:
            messages.success(request, _checked(request, actor))
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
        return HttpResponseRedirect(f"/groves/{grove.uid}/checks")
    context = {
        **frame(request, actor, "settings"),
        "checks": _listed(actor),
        "kinds": [(kind, gettext(KIND_WORDS[kind])) for kind in KINDS],
        "agents": Participant.objects.filter(grove=grove, kind="model", archived_at=None),
        "trees": access.trees_for(actor).filter(grove=grove, archived_at=None)[:MOST],
        "documents": grove_texts().every(actor, MOST),
        "may_write": WRITE in actor.permissions,
    }
    return render(request, "pages/checks.html", context)


def _listed(actor: Actor) -> list[tuple[Check, str, str, str]]:
    """The checks that the actor sees, with what they ask for in words, their first parameter, and
    the title of the text outside of trees that one is for."""
    checks = list(checks_for(actor))
    titles = grove_texts().titles(check.about for check in checks if check.about is not None)
    first = (next(iter(check.parameters.values()), "") for check in checks)
    return [
        (check, gettext(KIND_WORDS[check.kind]), value, titles.get(check.about or 0, ""))
        for check, value in zip(checks, first, strict=True)
    ]


class CheckForm(PageForm):
    """A new check; or one of the grove (`check`), to `archive` or to run on save or not."""

    check = Word()
    archive = Word()
    name = Word()
    kind = Word()
    value = Word()
    scope = Word(empty="grove")
    on_save = Flag()
    agent = Word()


def _checked(request: PersonRequest, actor: Actor) -> str:
    given = CheckForm.read(request)
    uid = given["check"]
    if uid:
        row = checks_for(actor).filter(uid=uid).first()
        if row is None:
            raise not_found("This check")
        if given["archive"]:
            check_verbs.change_check(actor, row, archived=True)
            return gettext("Archived.")
        check_verbs.change_check(actor, row, on_save=not row.on_save)
        return gettext("Saved.")
    kind, value = given["kind"], given["value"]
    parameters: dict[str, Any] = {}
    if kind in PARAMETER:
        name, type_ = PARAMETER[kind]
        if type_ is int and not value.isdecimal():
            raise CommandError(
                "INVALID_SYNTAX",
                gettext("“%(kind)s” needs a number.") % {"kind": gettext(KIND_WORDS[kind])},
                hint=gettext("Write digits."),
            )
        parameters[name] = int(value) if type_ is int and value.isdecimal() else value
    check = check_verbs.declare_check(
        actor,
        name=given["name"],
        kind=kind,
        parameters=parameters,
        scope=given["scope"],
        on_save=given["on_save"],
        agent=given["agent"] if kind == "judge" else "",
    )
    return gettext("Declared %(name)s.") % {"name": check.name}


# The pipes of a grove.


class PipeForm(PageForm):
    """A new pipe; or one of the grove (`pipe`), to archive."""

    pipe = Word()
    name = Word()
    lines = Text()


@require_http_methods(["GET", "HEAD", "POST"])
@person
def pipes_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The pipes of a grove; a POST checks and saves one, or archives it."""
    actor, grove = access.get_grove(request.user, uid)
    sent: dict[str, str] = {}
    if request.method == "POST":
        form = PipeForm.of(request)
        sent = {"name": form.typed("name")["name"], "lines": str(form.data.get("lines", ""))}
        try:
            chosen = form.values["pipe"]
            sent = {name: form.values[name] for name in ("name", "lines")}
            if chosen:
                execute(actor, grove, archive_pipe, PipeChosen(pipe=chosen))
                messages.success(request, gettext("Archived."))
            else:
                pipe = execute(actor, grove, save_pipe, PipeGiven(**sent))
                values = {"name": pipe.name, "kinds": pipe.kinds}
                messages.success(request, gettext("Saved %(name)s: %(kinds)s.") % values)
            return HttpResponseRedirect(f"/groves/{grove.uid}/pipes")
        except CommandError as refused:  # what was typed stays in the form
            messages.error(request, in_one_line(refused))
    context = {
        **frame(request, actor, "settings"),
        "pipes": pipes_for(actor)[:MOST],
        "sent": sent,
        "may_write": WRITE in actor.permissions,
    }
    return render(request, "pages/pipes.html", context)
