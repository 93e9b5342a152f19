"""Claims: opening them, giving evidence for and against them, and committing to them
(docs/model.md §10). Nothing here is ever deleted or lowered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeVar

from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_noop

from loom import access
from loom.access import Actor
from loom.claims.commands import checks as check_commands
from loom.claims.models import Cite, Claim, Commitment
from loom.claims.queries.brief import line_of_claim, progress
from loom.claims.queries.claims import (
    allowed_acts,
    authority_of,
    brief_body,
    claim_of,
    claims_in,
    commitment_body,
    committed_level,
    hash_of,
    key_of,
    record_of,
    same_statement,
    seen_cites,
    waits_for_a_person,
    weights,
)
from loom.claims.queries.evidence import cites_of, counter_weights, strengths, weights_of
from loom.claims.queries.explored import explored, openings_of
from loom.claims.rules import levels, quotes
from loom.claims.rules.levels import LEVELS, SCOPES, TAKEN_BACK, Level
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Did, Op, Reply
from loom.engine.registry import command, describe_verb, line_with
from loom.engine.undo import Own, conflict, undoes
from loom.engine.usable import cannot_be_used
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import ParseError, Ref, label_named, print_slice, trail_named
from loom.language.slices import get, parse_ref
from loom.language.verbs import Verb
from loom.links.commands.links import join, link_body
from loom.links.queries import written
from loom.links.trails import get_trail
from loom.notes.models import Mention
from loom.people.models import Participant
from loom.people.names import skeleton
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE
from loom.text.counts import counted
from loom.text.hashes import instant
from loom.text.lines import line_span
from loom.text.shortening import excerpt, plain
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode, Source, demand_text
from loom.trees.grove_texts import grove_texts
from loom.trees.lists import lists, lists_text
from loom.trees.models import GroveText, Node
from loom.trees.named_items import demand_whole, get_node, get_own_node, tree_of
from loom.trees.queries import lookup
from loom.trees.queries.lookup import withheld
from loom.workspace.commands.lenses import aimed

MAX_STATEMENT = 2_000
MAX_WHY = 2_000
MOST_OFFERED = 20  # other texts in which a quote is looked for
MOST_CITES = 1_000  # of one claim
SIDES = {"for": "supports", "against": "refutes"}


describe_verb(
    Verb("claim", done=gettext_noop("Opened a claim"), past="claimed", phase="hypothesizing")
)
describe_verb(
    Verb(
        "cite",
        done=gettext_noop("Gave evidence for or against a claim"),
        past="cited",
        phase="hypothesizing",
        shown="part",
    )
)
describe_verb(
    Verb(
        "address",
        done=gettext_noop("Answered evidence against a claim"),
        past="addressed",
        phase="testing",
    )
)
describe_verb(
    Verb("conclude", done=gettext_noop("Concluded a claim"), past="concluded", phase="concluding")
)
describe_verb(
    Verb(
        "commit",
        done=gettext_noop("Committed to a claim"),
        past="committed",
        phase="committed",
        is_destructive=True,
        asks_first=True,
    )
)
describe_verb(
    Verb(
        "withdraw",
        done=gettext_noop("Took back a claim"),
        past="withdrew",
        is_destructive=True,
        asks_first=True,
    )
)
describe_verb(
    Verb(
        "veto",
        done=gettext_noop("Objected to a commitment"),
        past="vetoed",
        is_destructive=True,
        asks_first=True,
    )
)


# What is cited.


@dataclass(frozen=True)
class Cited:
    """An item that is cited: its id, as shown and as in events, its version, its text and the part
    of it that is meant (None: all of it)."""

    item: int
    shown: str
    ref: str
    version: str
    text: str
    place: quotes.QuotePlace | None = None
    part: str = ""


def cited_item(context: Context, ref: RefField) -> Cited:
    """The node, document or trail that a ref names, as the caller may read it."""
    if ref.kind == "document":
        of_grove = grove_texts().get(context, ref)
        shown = _sliced(lambda: grove_texts().part_of(of_grove, ref.slice))
        text = shown.source.text
        place = _lines(text, shown.first, shown.last) if ref.slice is not None else None
        return Cited(
            of_grove.item_id,
            of_grove.shown,
            f"doc:{of_grove.uid}",
            shown.source.version,
            text,
            place,
            print_slice(ref.slice) if ref.slice is not None else "",
        )
    if ref.kind == "trail":
        trail = get_trail(context.actor, ref.name or ref.id)
        steps = "\n".join(f"{step['type']} {step['note']}" for step in trail.steps)
        name, item = f"trail:{trail.uid}", ids.of_trail(trail.pk)
        return Cited(item, trail_named(trail.name), name, str(len(trail.steps)), steps)
    aim = aimed(context, ref).ref
    node = get_node(context, aim, slices=True)
    if withheld(context.actor, [node.pk]):
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is left out of what models are sent.",
            hint="cite another text",
        )
    place = None
    part = aim.slice
    if part is not None:
        cut = _sliced(lambda: get(node.text, part))
        place = _lines(node.text, cut.first, cut.last)
    name = lookup.node_ref(node, context.tree.pk)
    own = print_slice(part) if part is not None else ""
    return Cited(ids.of_node(node.pk), f"[{node.local_id}]", name, "", node.text, place, own)


def place_of_part(text: str, part: str) -> quotes.QuotePlace | None:
    """The place of the lines of a slice, as a line writes it, in a text; None without one. Raises
    ParseError."""
    if not part:
        return None
    ref = parse_ref(f"here {part}")
    if ref.slice is None:
        return None
    cut = get(text, ref.slice)
    return _lines(text, cut.first, cut.last)


T = TypeVar("T")


def _sliced(read: Callable[[], T]) -> T:
    try:
        return read()
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None


def _lines(text: str, first: int, last: int) -> quotes.QuotePlace:
    """The place of the lines, both included, in code points."""
    start, end = line_span(text, first, last)
    return quotes.QuotePlace(start, min(len(text), end))


# The quote gate.


@dataclass(frozen=True)
class Quote:
    """The words of a cite: what the gate said ("" for a slice), their place and surroundings, and
    a sentence that offers the right place."""

    gate: str = ""
    place: quotes.QuotePlace | None = None
    before: str = ""
    words: str = ""
    after: str = ""
    offer: str = ""


def _quote(context: Context, claim: Claim | None, cited: Cited, words: str) -> Quote:
    if not words:
        if cited.place is None:
            return Quote()
        return Quote("", cited.place, *_around(cited.text, cited.place))
    if len(words.strip()) < quotes.LEAST:
        raise CommandError(
            "REJECTED",
            f"A quote has at least {quotes.LEAST} characters.",
            hint="quote more of the text around it",
        )
    if len(words) > quotes.MOST:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A quote has at most {quotes.MOST:,} characters.",
            hint="name the lines instead: cite REF lines:a-b …",
        )
    own = cited.place
    text = cited.text if own is None else cited.text[own.first : own.last]
    start = 0 if own is None else own.first
    offered = _offered(context, claim, cited)
    verdict = quotes.judged(words, text, [cite.text for cite in offered])
    if verdict.answer == "found" and verdict.place is not None:
        place = quotes.QuotePlace(start + verdict.place.first, start + verdict.place.last)
        return Quote("found", place, *_around(cited.text, place))
    if verdict.answer == "elsewhere" and verdict.place is not None:
        other = offered[verdict.other]
        line = other.text.count("\n", 0, verdict.place.first) + 1
        until = other.text.count("\n", 0, verdict.place.last) + 1
        lines = f"lines:{line}" if line == until else f"lines:{line}-{until}"
        offer = f"it is in {other.shown} {lines}: cite {other.ref} {lines}"
        return Quote("elsewhere", None, "", words, "", offer)
    return Quote(verdict.answer, None, "", words, "")


def _around(text: str, place: quotes.QuotePlace) -> tuple[str, str, str]:
    before, words, after = quotes.around(text, place)
    return before, words[: quotes.MOST], after


def _offered(context: Context, claim: Claim | None, cited: Cited) -> list[Cited]:
    """Texts in which a quote may be instead: the whole of what was cited in part, what the claim
    cites already, and the documents that are linked to the tree."""
    placed = [cited] if cited.place is not None else []
    items = (
        [item for item in dict.fromkeys(row.item for row in cites_of(claim)) if item != cited.item]
        if claim is not None
        else []
    )
    keys = [key for item in items if (key := ids.node_id(item)) is not None][-MOST_OFFERED:]
    gone = withheld(context.actor, keys)
    rows = lookup.nodes_in(context.tree.pk).filter(pk__in=set(keys) - gone)
    placed += [
        Cited(ids.of_node(row.pk), f"[{row.local_id}]", row.local_id, "", row.text) for row in rows
    ]
    linked = grove_texts().linked(context.actor, context.tree)
    others = [cite for cite in linked if cite.item_id != cited.item]
    for other in others[: max(0, MOST_OFFERED - len(placed))]:
        text = grove_texts().part_of(other).text
        placed.append(Cited(other.item_id, other.shown, f"doc:{other.uid}", "", text))
    return placed


# Opening a claim.


class ClaimArgs(Args):
    """The statement, what it is about, how far it reaches, how it can be tested, and the first
    citation, perhaps of exact words. `again`: although the same was claimed before."""

    statement: Annotated[str, Written("quoted")]
    about: Annotated[RefField | None, Written("ref", lead="about")] = None
    scope: Annotated[
        Literal["node", "tree", "grove"],
        Written("option", key="scope", value="choice", choices=SCOPES),
    ] = "node"
    test: Annotated[str, Written("option", key="test", value="quoted")] = ""
    cite: Annotated[RefField | None, Written("option", key="cite", value="ref")] = None
    words: Annotated[str, Written("option", key="words", value="quoted")] = ""
    again: Annotated[bool, Written("flag")] = False


@command("claim", group="Mind", klass="write", permissions={LOOM, WRITE}, stream="tree")
def claim(context: Context, args: ClaimArgs) -> Reply:
    """Opens a claim with its first citation, `cite:a7x2` (`words:"…"` quotes from it). `test:` says
    how it can be tested; it reaches as far as `scope:` says."""
    statement = demand_text(" ".join(args.statement.split()), what="The statement")
    if len(statement) > MAX_STATEMENT:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A statement has at most {MAX_STATEMENT:,} characters.",
            hint="write the rest as a text, and cite it",
        )
    if not skeleton(statement):
        raise CommandError(
            "INVALID_SYNTAX",
            "A statement has something to be seen.",
            hint="write a sentence that can be checked",
        )
    if args.cite is None:
        raise CommandError(
            "REJECTED", "Need evidence for hypothesis.", hint="add cite:a7x2, what speaks for it"
        )
    earlier = same_statement(context.actor, context.tree, statement)
    if earlier and not args.again:
        raise _claimed_before(context, earlier[0])
    if args.cite.kind == "document":
        access.demand(context.actor, {READ_DOCUMENTS}, "citing a document")
    cited = cited_item(context, args.cite)
    quote = _quote(context, None, cited, args.words)
    about, parent, sources = _about(context, args)
    new = NewNode(statement, kind="claim", parent=parent, sources=sources)
    node = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    new_claim = Claim(
        node=node,
        tree=context.tree,
        statement_key=key_of(statement),
        about=about,
        scope=args.scope,
        test=args.test[:MAX_STATEMENT],
        by=context.actor.participant,
        person=context.actor.person,
        at=context.now,
        changed_at=context.now,
    )
    if not context.world.is_dry:
        new_claim.save(force_insert=True)
    reply, _, did = _give(context, new_claim, cited, quote, side="for", why="")
    return Reply(
        f"✓ claim [{node.local_id}] hypothesis\n  {reply}",
        refs=(node.local_id,),
        items=(ids.of_node(node.pk), cited.item),
        inverse=({"op": "claim", "claim": node.local_id, "is_back": False},),
        did={**did, "claim": node.local_id},
    )


def _about(context: Context, args: ClaimArgs) -> tuple[int | None, Node, tuple[Source, ...]]:
    """(the item that a claim is about, the node below which it is placed, its sources). Claims
    about documents and trees are placed below the root, and their sources name the item."""
    ref, root = args.about, lookup.root_of(context.tree)
    if ref is None:
        return None, root, ()
    if ref.kind not in ("document", "tree"):
        node = get_own_node(context, ref)
        return ids.of_node(node.pk), node, ()
    line = line_with(claim, args, about=replace(ref, slice=None))
    demand_whole(ref, "a claim is about a whole item, and cites parts.", line)
    if ref.kind == "tree":
        item, version = ids.of_tree(tree_of(context, ref).pk), ""
    else:
        access.demand(context.actor, {READ_DOCUMENTS}, "a claim about a document")
        item = grove_texts().get(context, ref).item_id
        version = grove_texts().versions([item])[item]
    return item, root, ((item, "primary", version),)


def _claimed_before(context: Context, earlier: Claim) -> CommandError:
    name = lookup.node_ref(earlier.node, context.tree.pk)
    how = f"{earlier.state} at {earlier.level}" if earlier.level else earlier.state
    how += ", vetoed" if earlier.is_vetoed else ""
    why = f": {excerpt(earlier.why)}" if earlier.why else ""
    return CommandError(
        "CONFLICT",
        f"The same was claimed before by {earlier.by.name}: [{name}] {how}{why}.",
        hint=f"→ list {name} evidence shows why; add again to open it anew",
    )


# Giving evidence.


class CiteFor(Args):
    """What speaks for a claim, why, and the exact words."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    claim: Annotated[RefField, Written("ref", lead="for")]
    why: Annotated[str, Written("quoted")] = ""
    words: Annotated[str, Written("option", key="words", value="quoted")] = ""


class CiteAgainst(Args):
    """What speaks against a claim, why, and the exact words."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    claim: Annotated[RefField, Written("ref", lead="against")]
    why: Annotated[str, Written("quoted")] = ""
    words: Annotated[str, Written("option", key="words", value="quoted")] = ""


class CiteUndercuts(Args):
    """What undercuts the evidence that an item is for a claim, why, and the exact words."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    other: Annotated[RefField, Written("ref", lead="undercuts")]
    claim: Annotated[RefField, Written("ref", lead="in", but=("tree",))]
    why: Annotated[str, Written("quoted")] = ""
    words: Annotated[str, Written("option", key="words", value="quoted")] = ""


_PLAIN = {LOOM, WRITE}


@command("cite", group="Mind", klass="write", permissions=_PLAIN, stream="tree")
def cite_for(context: Context, args: CiteFor) -> Reply:
    """Gives a text as evidence for a claim; `words:"…"` quotes from it, and is looked up there."""
    return give_evidence(context, args, "for")


@command("cite", group="Mind", klass="write", permissions=_PLAIN, stream="tree")
def cite_against(context: Context, args: CiteAgainst) -> Reply:
    """Gives a text as evidence against a claim."""
    return give_evidence(context, args, "against")


@command("cite", group="Mind", klass="write", permissions=_PLAIN, stream="tree")
def cite_undercuts(context: Context, args: CiteUndercuts) -> Reply:
    """Gives a text as a reason why an item is no evidence for a claim: it attacks the inference."""
    return undercut(context, args)


def _named_claim(context: Context, ref: Ref, act: str) -> Claim:
    """The claim that a ref names in this tree. REJECTED if its state does not allow the act."""
    stored_claim = claim_of(get_own_node(context, ref))
    if act not in allowed_acts(stored_claim) and act not in ("commit", "veto"):
        raise _invalid(stored_claim, act)
    return stored_claim


def _invalid(claim: Claim, act: str) -> CommandError:
    acts = ", ".join(allowed_acts(claim))
    name = claim.node.local_id
    if claim.is_vetoed and act in levels.ENDED_BY_A_VETO:
        by = Commitment.objects.filter(claim=claim, vetoed_by__isnull=False).order_by("-id")
        who = by.values_list("vetoed_by__name", flat=True).first() or "a person"
        return CommandError(
            "REJECTED", f"[{name}] is already vetoed by {plain(who)}.", hint=f"allowed now: {acts}"
        )
    return CommandError(
        "REJECTED",
        f"Invalid transition: [{name}] is {claim.state}, which {act} does not change.",
        hint=f"allowed now: {acts}" if acts else '→ claim "…" cite:REF again opens it anew',
    )


def give_evidence(context: Context, args: CiteFor | CiteAgainst, side: str) -> Reply:
    """Gives what a line cites as evidence on one side of a claim."""
    stored_claim = _named_claim(context, args.claim, "cite")
    cited = cited_item(context, args.ref)
    quote = _quote(context, stored_claim, cited, args.words)
    reply, inverse, did = _give(context, stored_claim, cited, quote, side=side, why=args.why)
    return Reply(
        f"✓ {reply}",
        refs=(stored_claim.node.local_id, cited.ref),
        items=(ids.of_node(stored_claim.pk), cited.item),
        link_type=SIDES[side],
        inverse=(inverse,),
        did=did,
    )


def undercut(context: Context, args: CiteUndercuts) -> Reply:
    """Gives what a line cites as a reason why an item is no evidence for a claim."""
    stored_claim = _named_claim(context, args.claim, "cite")
    cited, other = cited_item(context, args.ref), cited_item(context, args.other)
    target = next(
        (
            cite
            for cite in reversed(cites_of(stored_claim))
            if cite.item == other.item and cite.side == "for" and not cite.is_taken_back
        ),
        None,
    )
    if target is None:
        raise CommandError(
            "NOT_FOUND",
            f"{other.shown} is no evidence for [{stored_claim.node.local_id}].",
            hint=f"→ list {stored_claim.node.local_id} evidence shows what is",
        )
    quote = _quote(context, stored_claim, cited, args.words)
    reply, inverse, did = _give(
        context, stored_claim, cited, quote, side="undercuts", why=args.why, target=target
    )
    return Reply(
        f"✓ {other.shown} is undercut; {reply}",
        refs=(stored_claim.node.local_id, cited.ref, other.ref),
        items=(ids.of_node(stored_claim.pk), cited.item),
        inverse=(inverse,),
        did=did,
    )


def _give(
    context: Context,
    claim: Claim,
    cited: Cited,
    quote: Quote,
    *,
    side: str,
    why: str,
    target: Cite | None = None,
) -> tuple[str, Op, Did]:
    """Stores a piece of evidence, weighs the claim again, and writes the events. Returns what the
    reply says, `evidence: strong, by check`, what takes the evidence back, and what it did for
    programs."""
    before = claim.state
    _demand_citable(context, claim, cited, side)
    if len(why) > MAX_WHY:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A reason has at most {MAX_WHY:,} characters.",
            hint="write it as a text, and cite that",
        )
    cite = Cite(
        claim=claim,
        undercuts=target,
        item=cited.item,
        side=side,
        version=cited.version,
        part=cited.part,
        first=quote.place.first if quote.place is not None else None,
        last=quote.place.last if quote.place is not None else None,
        before=quote.before,
        words=quote.words,
        after=quote.after,
        gate=quote.gate,
        why=why,
        by=context.actor.participant,
        at=context.now,
    )
    claim_name = claim.node.local_id
    if not context.world.is_dry:
        if side in SIDES and ids.trail_id(cited.item) is None:  # a link joins what has a text
            cite.link = join(
                context, cited.item, ids.of_node(claim.pk), SIDES[side], note=why[:2000]
            )
            context.world.append(
                "link.added", {"link": link_body(cite.link, cited.ref, claim_name)}
            )
        cite.save(force_insert=True)
        every = weigh(context, claim)
        cite = next(other for other in every if other.pk == cite.pk)
    else:
        _would_be(claim, cite)
    lines = [f"evidence: {cite.strength}, {cite.reason}"]
    if quote.gate:
        lines[0] += "" if quote.gate != "found" else " · quote found"
    if quote.offer:
        lines.append(f"  {quote.offer}")
    lines.append(f"  {progress(claim)}")
    states = [before, claim.state]
    inverse: Op = {"op": "cite", "cite": cite.uid, "states": states, "is_back": False}
    return "\n".join(lines), inverse, {"evidence": cite.strength, "quote": quote.gate}


def _would_be(claim: Claim, cite: Cite) -> None:
    """Weighs a claim as if a cite that is not stored were; changes the two objects only."""
    cite.pk = 0
    every = [*cites_of(claim), cite] if not claim._state.adding else [cite]
    by_cite = strengths(claim, every)
    for other in every:
        other.strength, other.reason = by_cite[other.pk]
    now = weights_of(every)
    claim.strong, claim.moderate, claim.weak = now.strong, now.moderate, now.weak
    claim.open, claim.unanswered = now.open, now.unanswered


def _demand_citable(context: Context, claim: Claim, cited: Cited, side: str) -> None:
    """Refuses a claim as evidence for itself or in a circle, the same cite twice by one
    participant, too many, and what is in a sandbox that the line does not run in."""
    access.demand_outside_sandboxes(context.tree, [cited.item])
    if cited.item == ids.of_node(claim.pk or 0):
        raise CommandError(
            "REJECTED", "A claim is no evidence for itself.", hint="cite what it rests on"
        )
    if claim._state.adding:
        return
    rows = Cite.objects.filter(claim=claim)
    same = rows.filter(
        item=cited.item, side=side, version=cited.version, by=context.actor.participant
    ).exclude(answer=TAKEN_BACK, answered_by=F("by"))
    if side != "undercuts" and same.filter(part=cited.part, words="").exists() and not cited.part:
        raise CommandError(
            "REJECTED",
            f"You gave {cited.shown} as evidence already.",
            hint="an item counts once; cite another",
        )
    if rows.count() >= MOST_CITES:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A claim has at most {MOST_CITES:,} cites.", hint="open a part of it"
        )
    _demand_no_circle(claim, cited)


def _demand_no_circle(claim: Claim, cited: Cited) -> None:
    """Refuses evidence that rests on the claim itself, and a fourth level of proofs."""
    below = Claim.objects.filter(pk=ids.node_id(cited.item) or 0).first()
    if below is None:
        return
    if below.state == "committed" and below.proofs + 1 >= levels.MOST_PROOFS + 1:
        raise CommandError(
            "REJECTED",
            f"{cited.shown} rests on {below.proofs} levels of commitments; "
            f"{levels.MOST_PROOFS} is the most.",
            hint="cite what it rests on",
        )
    todo, seen = {below.pk}, {below.pk}
    while todo:
        if claim.pk in todo:
            raise CommandError(
                "REJECTED",
                f"{cited.shown} rests on this claim: that would be a circle.",
                hint="cite something else",
            )
        rows = Cite.objects.filter(claim__in=todo, item__gt=0).values_list("item", flat=True)
        todo = {row for row in rows if row not in seen}
        seen |= todo


# Taking it back.


@undoes("cite")
def _undo_cite(context: Context, op: Op, own: Own) -> list[Op]:
    """Takes evidence back, which stays with the answer `taken back` and counts for nothing; or
    gives it again. Not what somebody has answered or what a commitment rests on."""
    cite = Cite.objects.filter(uid=op["cite"]).select_related("claim__node").first()
    if cite is None or cite.is_taken_back != op["is_back"]:
        raise conflict("The evidence")
    records = Commitment.objects.filter(claim=cite.claim_id).values_list("record", flat=True)
    sealed = {
        part["id"]
        for record in records
        for part in [*record["evidence"], *record["counter_evidence"]]
    }
    if cite.uid in sealed or (cite.answered_at is not None and not op["is_back"]):
        raise conflict(f"The evidence of [{cite.claim.node.local_id}]")
    claim = claim_of(cite.claim.node)
    if not context.world.is_dry:
        is_given_again = op["is_back"]
        cite.answer = "" if is_given_again else TAKEN_BACK
        cite.answered_by = None if is_given_again else cite.by
        cite.answered_at = None if is_given_again else context.now
        cite.save(update_fields=["answer", "answered_by", "answered_at"])
        if not is_given_again and [claim.state] == op["states"][1:]:
            claim.state = op["states"][0]
        weigh(context, claim)
    return [{**op, "is_back": not op["is_back"]}]


@undoes("claim")
def _undo_claim(context: Context, op: Op, own: Own) -> list[Op]:
    """Withdraws a claim that was just opened, or opens it again; nobody may have built on it."""
    claim = claim_of(get_own_node(context, Ref("node", id=op["claim"])))
    state, why = ("withdrawn", TAKEN_BACK) if op["is_back"] else ("hypothesis", "")
    more = Cite.objects.filter(claim=claim).exclude(by=claim.by_id)
    if (claim.state, claim.why) != (state, why) or more.exists():
        raise conflict(f"[{op['claim']}]")
    claim.state, claim.why = ("hypothesis", "") if op["is_back"] else ("withdrawn", TAKEN_BACK)
    _store(context, claim)
    return [{**op, "is_back": not op["is_back"]}]


def weigh(context: Context, claim: Claim) -> list[Cite]:
    """Computes the strength of all evidence of a claim again, stores what changed with the counts,
    and writes `claim.changed`."""
    every = reweigh(claim)
    _store(context, claim)
    return every


def reweigh(claim: Claim) -> list[Cite]:
    """Computes the strength of all evidence of a claim again and stores what changed; the claim
    itself is not stored. One whose counter-evidence alone reaches moderate while the evidence for
    it does not is refuted."""
    every = cites_of(claim)
    by_cite = strengths(claim, every)
    changed = []
    for cite in every:
        if (cite.strength, cite.reason) != by_cite[cite.pk]:
            cite.strength, cite.reason = by_cite[cite.pk]
            changed.append(cite)
    if changed:
        Cite.objects.bulk_update(changed, ["strength", "reason"])
    now = weights_of(every)
    claim.strong, claim.moderate, claim.weak = now.strong, now.moderate, now.weak
    claim.open, claim.unanswered = now.open, now.unanswered
    speaks_against = levels.highest(counter_weights(every)) not in (None, "tentative")
    is_open = claim.state in levels.OPEN
    if speaks_against and is_open and levels.highest(now) in (None, "tentative"):
        claim.state = "refuted"
    return every


_KEPT = (
    *("state", "conclusion", "why", "level", "proofs", "is_vetoed", "changed_at"),
    *("strong", "moderate", "weak", "open", "unanswered"),
)


def _store(context: Context, claim: Claim) -> None:
    claim.changed_at = context.now
    if context.world.is_dry:
        return
    claim.save(update_fields=_KEPT)
    context.world.append("claim.changed", {"claim": brief_body(claim)})


class Address(Args):
    """The evidence that is addressed, the claim, and how."""

    ref: Annotated[RefField, Written("ref")]
    claim: Annotated[RefField, Written("ref", lead="in", but=("tree",))]
    how: Annotated[str, Written("quoted")]


@command("address", group="Mind", klass="write", permissions=_PLAIN, stream="tree")
def address(context: Context, args: Address) -> Reply:
    """Answers counter-evidence, or what undercuts evidence, of a claim; it stays where it is."""
    stored_claim = _named_claim(context, args.claim, "address")
    if not args.how.strip():
        raise CommandError(
            "INVALID_SYNTAX", "An answer says how.", hint='address REF in CLAIM "how"'
        )
    cited = cited_item(context, args.ref)
    every = Cite.objects.filter(claim=stored_claim, item=cited.item).exclude(side="for")
    rows = list(every.filter(answered_at__isnull=True))
    if not rows:
        reason = "is addressed already" if every.exists() else "does not speak against it"
        raise CommandError(
            "REJECTED",
            f"{cited.shown} {reason}.",
            hint=f"→ list {stored_claim.node.local_id} evidence shows what does",
        )
    for row in rows:
        row.answer, row.answered_by = args.how[:MAX_WHY], context.actor.participant
        row.answered_at = context.now
    if not context.world.is_dry:
        Cite.objects.bulk_update(rows, ["answer", "answered_by", "answered_at"])
        weigh(context, stored_claim)
    return Reply(
        f"✓ addressed {cited.shown} in [{stored_claim.node.local_id}]\n  {progress(stored_claim)}",
        refs=(stored_claim.node.local_id, cited.ref),
        items=(ids.of_node(stored_claim.pk), cited.item),
    )


# Testing, concluding, committing.


@check_commands.tests("claim")
def test(context: Context, node: Node) -> Reply:
    """Tests a claim: runs the checks that apply to what it cites, and weighs it again."""
    stored_claim = claim_of(node)
    if "check" not in allowed_acts(stored_claim):
        raise _invalid(stored_claim, "check")
    every = cites_of(stored_claim)
    items = list(dict.fromkeys((cite.item, cite.version) for cite in every if cite.side == "for"))
    reply, has_checks = check_commands.run_for(context, items)
    if not stored_claim.test and not has_checks:
        raise CommandError(
            "REJECTED",
            "Hypothesis not testable.",
            hint='open it with test:"how", or declare a check for what it cites',
        )
    if stored_claim.state == "hypothesis":
        stored_claim.state = "testing"
    if not context.world.is_dry:
        weigh(context, stored_claim)
    counts = (
        f"{stored_claim.strong} strong, {stored_claim.moderate} moderate, {stored_claim.weak} weak"
    )
    lines = [f"✓ [{node.local_id}] {stored_claim.state}: {counts}", f"  {progress(stored_claim)}"]
    lines += [f"  test: {excerpt(stored_claim.test)}"] if stored_claim.test else []
    lines += [f"  {reply}"] if reply else []
    return Reply("\n".join(lines), refs=(node.local_id,), items=(ids.of_node(node.pk),))


class Conclude(Args):
    """The claim, and what follows from its evidence."""

    claim: Annotated[RefField, Written("ref")]
    conclusion: Annotated[str, Written("quoted")]


@command("conclude", group="Mind", klass="write", permissions=_PLAIN, stream="tree")
def conclude(context: Context, args: Conclude) -> Reply:
    """Draws the conclusion of a tested claim, whose evidence has to reach the moderate level."""
    stored_claim = _named_claim(context, args.claim, "conclude")
    if not args.conclusion.strip():
        raise CommandError("INVALID_SYNTAX", "A conclusion says what follows.", hint='"it is so"')
    if not context.world.is_dry:
        weigh(context, stored_claim)
    if levels.highest(weights(stored_claim)) in (None, "tentative"):
        raise CommandError("REJECTED", "Insufficient evidence.", hint=progress(stored_claim))
    stored_claim.conclusion = args.conclusion[:MAX_STATEMENT]
    if stored_claim.state != "committed":  # at tentative, which a conclusion comes after
        stored_claim.state = "concluding"
    _store(context, stored_claim)
    asked = _ask_to_commit(context, stored_claim)
    done = "concluded" if stored_claim.level else "concluding"
    return Reply(
        f"✓ [{stored_claim.node.local_id}] {done}\n  {progress(stored_claim)}{asked}",
        refs=(stored_claim.node.local_id,),
        items=(ids.of_node(stored_claim.pk),),
    )


def _ask_to_commit(context: Context, claim: Claim) -> str:
    """Puts a claim whose claimant may not commit it into the inbox of the person who is
    responsible for them; returns what the reply adds."""
    if not waits_for_a_person(claim):
        return ""
    if not context.world.is_dry:
        Mention.objects.update_or_create(
            participant=claim.person,
            tree=context.tree,
            node=claim.node,
            defaults={"at": context.now, "seen_at": None},
        )
    return f"; asked {plain(claim.person.name)}"


def _end_request(context: Context, claim: Claim) -> None:
    """A claim that was decided waits in no inbox as new."""
    if not context.world.is_dry:
        requests = Mention.objects.filter(tree=context.tree, node=claim.node, seen_at__isnull=True)
        requests.update(seen_at=context.now)


class Commit(Args):
    """The claim, and the level of certainty."""

    claim: Annotated[RefField, Written("ref")]
    level: Annotated[
        Literal["tentative", "moderate", "strong", "definitive"],
        Written("option", key="level", value="choice", choices=LEVELS),
    ] = "moderate"


@command("commit", group="Mind", klass="write", permissions=_PLAIN, stream="tree")
def commit(context: Context, args: Commit) -> Reply:
    """Commits to a concluded claim, for good, or to a tested one at `level:tentative`; it can be
    raised to a higher level, never lowered."""
    stored_claim = _named_claim(context, args.claim, "commit")
    is_claimants = context.actor.participant.pk == stored_claim.by_id
    is_person = context.actor.participant.kind == "human"
    if not is_claimants and not is_person:
        raise CommandError(
            "PERMISSION_DENIED",
            f"Only {stored_claim.by.name} or a person commits this claim.",
            hint="cite evidence for it instead",
        )
    every = weigh(context, stored_claim) if not context.world.is_dry else cites_of(stored_claim)
    _demand_level(context, stored_claim, args.level)
    is_low = args.level == "tentative"
    explored = len(openings_of(context.actor, stored_claim, every)) if is_low else 0
    gap = _gap(stored_claim, args.level, confirmed=is_person, explored=explored)
    if gap is not None:
        raise _blocked(stored_claim, args.level, gap, every)
    if "commit" not in allowed_acts(stored_claim):
        raise _invalid(stored_claim, "commit")
    if not is_low and not stored_claim.conclusion:
        name = stored_claim.node.local_id
        raise CommandError(
            "REJECTED",
            f"[{name}] is not concluded: without a conclusion it is committed at tentative only.",
            hint=f'→ conclude {name} "what follows" first',
        )
    if context.world.is_dry:
        return Reply(f"✓ CAN_COMMIT at {args.level}", refs=(stored_claim.node.local_id,))
    approver = context.actor.participant if is_person and not is_claimants else None
    commitment = _sealed(context, stored_claim, every, args.level, approver)
    _end_request(context, stored_claim)
    _raise_authority(stored_claim, approver)
    in_all = stored_claim.strong + stored_claim.moderate + stored_claim.weak
    counts = counted(in_all, "evidence", "evidence")
    approved = f", approved by {approver.name}" if approver is not None else ""
    return Reply(
        f"✓ committed at {args.level}: {counts}, {stored_claim.strong} strong{approved}\n"
        f"  hash {commitment.hash[:12]}",
        refs=(stored_claim.node.local_id,),
        items=(ids.of_node(stored_claim.pk),),
    )


def _gap(claim: Claim, level: Level, *, confirmed: bool, explored: int) -> levels.Obligation | None:
    """What is missing for a level; the authority of a person who commits is enough. `explored`:
    how many items the claimant has opened around the claim."""
    authority = levels.MOST_AUTHORITY if confirmed else authority_of(claim)
    scope: levels.Scope = claim.scope  # type: ignore[assignment]
    have = replace(weights(claim), explored=explored)
    obligations = levels.obligations(have, level, scope=scope, authority=authority)
    return levels.missing(obligations)


def _demand_level(context: Context, claim: Claim, level: Level) -> None:
    """Refuses a level below that to which the same statement is committed: DOWNGRADE."""
    held = committed_level(context.tree.grove, claim.statement_key, context.tree)
    if held is None:
        return
    if LEVELS.index(level) < LEVELS.index(held):
        raise CommandError(
            "DOWNGRADE",
            f"This statement is committed at {held}, which is never lowered.",
            hint="a person can veto it",
        )
    if level == held:
        raise CommandError(
            "REJECTED",
            f"This statement is committed at {held} already.",
            hint="choose a higher level",
        )


def _blocked(
    claim: Claim, level: Level, gap: levels.Obligation, cites: Sequence[Cite]
) -> CommandError:
    """Why a commit is blocked or rejected, and what would help."""
    name = claim.node.local_id
    if gap.code == "UNADDRESSED_COUNTEREVIDENCE":
        open_ones = [cite for cite in cites if cite.side == "against" and cite.answered_at is None]
        return CommandError(
            gap.code,
            f"{level} has no open counter-evidence: {gap.have} to address.",
            hint=f'→ address REF in {name} "how"; {excerpt(open_ones[0].why or "no reason given")}',
        )
    if gap.code == "NEEDS_ESCALATION":
        return CommandError(
            gap.code,
            f"The scope {claim.scope} at {level} needs authority {gap.need}; you have {gap.have}.",
            hint=f"{plain(claim.person.name)} has the request, and gives the commit"
            if waits_for_a_person(claim)
            else f'a person gives the commit: → ask {label_named(claim.person.name)} "…" at {name}',
        )
    weak = f" ({claim.weak} weak)" if gap.code == "INSUFFICIENT_QUANTITY" and claim.weak else ""
    helps = (
        "a passing check on what is cited, or a person who cites the same"
        if gap.code == "INSUFFICIENT_QUALITY"
        else f'→ cite REF for {name} "why"'
    )
    return CommandError(
        gap.code, f"{level}: have {gap.have}, need {gap.need} {gap.says}{weak}.", hint=helps
    )


def _sealed(
    context: Context,
    claim: Claim,
    cites: Sequence[Cite],
    level: Level,
    approver: Participant | None,
) -> Commitment:
    record = record_of(
        claim,
        cites,
        level=level,
        by=claim.by.uid,
        approved_by=approver.uid if approver is not None else None,
        at=instant(context.now),
    )
    commitment = Commitment.objects.create(
        tree_id=claim.tree_id,
        claim=claim,
        level=level,
        record=record,
        hash=hash_of(record),
        by=claim.by,
        approved_by=approver,
        at=context.now,
    )
    below = Claim.objects.filter(
        pk__in=[key for cite in cites if (key := ids.node_id(cite.item)) is not None],
        state="committed",
    )
    claim.proofs = 1 + max(below.values_list("proofs", flat=True), default=0)
    claim.state, claim.level = "committed", level
    _store(context, claim)
    body = {"claim": claim.node.local_id, "commitment": commitment_body(commitment)}
    context.world.append("commitment.added", body)
    return commitment


def _raise_authority(claim: Claim, approver: Participant | None) -> None:
    """An agent's authority grows by one when a person confirms what it claimed."""
    if approver is None or claim.by.kind != "model":
        return
    if claim.by.authority < levels.MOST_AUTHORITY:
        Participant.objects.filter(pk=claim.by_id).update(authority=claim.by.authority + 1)


class Withdraw(Args):
    """The claim, and why it is withdrawn."""

    claim: Annotated[RefField, Written("ref")]
    why: Annotated[str, Written("quoted")]


@command("withdraw", group="Mind", klass="write", permissions=_PLAIN, stream="tree")
def withdraw(context: Context, args: Withdraw) -> Reply:
    """Takes back a claim that is not committed; it stays findable, with the reason."""
    stored_claim = _named_claim(context, args.claim, "withdraw")
    who = context.actor.participant
    if who.pk != stored_claim.by_id and who.kind != "human":
        raise CommandError(
            "PERMISSION_DENIED",
            f"Only {stored_claim.by.name} or a person withdraws this claim.",
            hint="cite what speaks against it",
        )
    _demand_why(args.why)
    stored_claim.state, stored_claim.why = "withdrawn", args.why[:MAX_WHY]
    _store(context, stored_claim)
    _end_request(context, stored_claim)
    name = stored_claim.node.local_id
    return Reply(f"✓ withdrew [{name}]", refs=(name,), items=(ids.of_node(stored_claim.pk),))


@cannot_be_used
def unusable(actor: Actor) -> dict[str, str]:
    """`veto`, for agents."""
    return {"veto": "only people use it"} if actor.participant.kind == "model" else {}


class Veto(Args):
    """The committed claim, and why a person objects."""

    claim: Annotated[RefField, Written("ref")]
    why: Annotated[str, Written("quoted")]


@command("veto", group="Mind", klass="write", permissions=_PLAIN, stream="tree")
def veto(context: Context, args: Veto) -> Reply:
    """Objects to a commitment, for people only; the commitment stays, and the veto is added."""
    stored_claim = _named_claim(context, args.claim, "veto")
    if context.actor.participant.kind != "human":
        raise CommandError(
            "PERMISSION_DENIED", "Only people veto.", hint="cite what speaks against it"
        )
    if "veto" not in allowed_acts(stored_claim):
        raise _invalid(stored_claim, "veto")
    _demand_why(args.why)
    row = (
        Commitment.objects.filter(claim=stored_claim)
        .select_related("by", "approved_by", "vetoed_by")
        .order_by("-id")[0]
    )
    row.vetoed_by, row.vetoed_at = context.actor.participant, context.now
    row.veto = args.why[:MAX_WHY]
    stored_claim.is_vetoed = True
    if not context.world.is_dry:
        row.save(update_fields=["vetoed_by", "vetoed_at", "veto"])
        _store(context, stored_claim)
        body = {"claim": stored_claim.node.local_id, "commitment": commitment_body(row)}
        context.world.append("commitment.vetoed", body)
    name = stored_claim.node.local_id
    return Reply(f"✓ vetoed [{name}]", refs=(name,), items=(ids.of_node(stored_claim.pk),))


def _demand_why(why: str) -> None:
    if not why.strip():
        raise CommandError("INVALID_SYNTAX", "The reason is empty.", hint="say why in quotes")


# What a line lists.

MOST_LISTED = 50
MARKS = {"for": "+", "against": "-", "undercuts": "~"}


@lists("claims")
def list_claims(context: Context, node: Node) -> Reply:
    """The claims about a node, at the root those of the whole tree, the last changed first."""
    rows = claims_in(context.tree)
    if node.parent_slot_id is not None:
        rows = rows.filter(Q(about=ids.of_node(node.pk)) | Q(node__parent_slot=node.slot_id))
    return _listed_claims(f"[{node.local_id}]", ids.of_node(node.pk), rows)


@lists_text("claims")
def list_claims_of_text(context: Context, text: GroveText) -> Reply:
    """The claims of this tree about a document, the last changed first."""
    rows = claims_in(context.tree).filter(about=text.item_id)
    return _listed_claims(text.shown, text.item_id, rows)


def _listed_claims(shown: str, item: int, rows: "QuerySet[Claim]") -> Reply:
    claims = list(rows[:MOST_LISTED])
    lines = [f"{shown} → {counted(len(claims), 'claim')}{':' if claims else ''}"]
    lines += [f"  {line_of_claim(claim)}" for claim in claims]
    refs = tuple(claim.node.local_id for claim in claims)
    return Reply("\n".join(lines), refs=refs, items=(item,))


@lists("evidence", kind="claim")
def list_evidence(context: Context, node: Node) -> Reply:
    """The evidence of a claim, counter-evidence first, as far as the caller may see it."""
    stored_claim = claim_of(node)
    every = cites_of(stored_claim)
    seen = seen_cites(context.actor, context.tree, every)
    order = {"against": 0, "undercuts": 1, "for": 2}
    seen.sort(key=lambda cite: (order[cite.side], cite.pk))
    names = written({cite.item for cite in seen}, context.tree.pk)
    scope = "" if len(seen) == len(every) else f" · accessible {len(seen)} of {len(every)}"
    lines = [line_of_claim(stored_claim) + scope]
    for cite in seen[:MOST_LISTED]:
        words = f" {excerpt(cite.words)}" if cite.words else ""
        part = f" {cite.part}" if cite.part else ""
        answered = " · addressed" if cite.answered_at and not cite.is_taken_back else ""
        why = f" · {cite.why}" if cite.why else ""
        lines.append(
            f"  {MARKS[cite.side]} [{names[cite.item]}]{part} {cite.strength}, {cite.reason}"
            f"{words}{why}{answered}"
        )
    if len(seen) > MOST_LISTED:
        lines.append(f"  … {len(seen) - MOST_LISTED} more")
    openings = openings_of(context.actor, stored_claim, every)
    ends = written(
        {end for opening in openings for end in (opening.item, opening.of)}, context.tree.pk
    )
    lines += [f"  · [{ends[opening.item]}] weak, {explored(opening, ends)}" for opening in openings]
    refs = tuple(dict.fromkeys(names[cite.item] for cite in seen[:MOST_LISTED]))
    context.note_read(*(cite.item for cite in seen[:MOST_LISTED]))
    return Reply("\n".join(lines), refs=(node.local_id, *refs), items=(ids.of_node(node.pk),))
