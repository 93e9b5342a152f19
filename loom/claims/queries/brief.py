"""Claims in a few lines: what is missing next, and what an agent is sent of them."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import QuerySet

from loom.access import Actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.claims import next_level, obligations_of, seen_cites, waits_for_a_person
from loom.claims.rules import levels
from loom.language import ids
from loom.links.queries import written
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.shortening import excerpt
from loom.trees.models import Tree, Workspace
from loom.trees.queries.lookup import fetch, withheld
from loom.workspace.models import Window

MOST_OWN = 50  # claims whose evidence an agent is sent of
MOST_ITEMS = 200  # items that it has opened
MOST_CITES = 500
SHOWN = 5  # claims, and pieces of evidence


def progress(claim: Claim) -> str:
    """What is missing next for a claim: `moderate: have 2, need 3 evidence that counts`."""
    level = next_level(claim)
    gap = levels.missing(obligations_of(claim, level))
    if gap is None:
        return f"{level}: enough evidence"
    if gap.code == "UNADDRESSED_COUNTEREVIDENCE":
        return f"{level}: {gap.have} counter-evidence to address"
    if gap.code == "NEEDS_ESCALATION":
        return f"{level}: enough evidence; a person has to commit it"
    return f"{level}: have {gap.have}, need {gap.need} {gap.says}"


def state_named(claim: Claim) -> str:
    """`committed at moderate, vetoed`."""
    state = f"{claim.state} at {claim.level}" if claim.level else claim.state
    return f"{state}, vetoed" if claim.is_vetoed else state


def line_of_claim(claim: Claim) -> str:
    """`[c4m2] testing "the lamp is lit" · 1 against · moderate: have 2, need 3 …`."""
    tail = f" · {progress(claim)}" if claim.state in levels.OPEN else ""
    against = f" · {claim.unanswered} against" if claim.unanswered else ""
    head = f"[{claim.node.local_id}] {state_named(claim)} {excerpt(claim.node.text)}"
    return f"{head}{against}{tail}"


class SeenCite(NamedTuple):
    """A piece of evidence, without what it says: its row id, the item, and how strong it is."""

    pk: int
    item: int
    strength: str


def accessible(actor: Actor, workspace: Workspace) -> list[SeenCite]:
    """The newest evidence that a participant sees unasked: about items that it has opened in the
    workspace, and of its own claims, with what those rest on. At most MOST_CITES; six queries."""
    tree = workspace.tree
    mine = {"tree": tree.pk, "by": actor.participant.pk}
    opened = [item for (item,) in _OPENED.all(workspace=workspace.pk)]
    rows = _OF_OWN.all(**mine)
    below = [pk for (pk,) in _BELOW.all(**mine)] if rows else []
    if below:
        rows += _newest(Cite.objects.filter(claim__in=below))
    if opened:
        rows += _newest(Cite.objects.filter(claim__tree=tree, item__in=opened))
    newest = sorted({SeenCite(*row) for row in rows}, reverse=True)[:MOST_CITES]
    return seen_cites(actor, tree, newest)


def _newest(rows: QuerySet[Cite]) -> list[tuple[int, int, str]]:
    return list(rows.order_by("-id").values_list("pk", "item", "strength")[:MOST_CITES])


def _own() -> QuerySet[Claim]:
    """The claims of a participant (`Given`) in a tree, the last changed first."""
    rows = Claim.objects.filter(tree=Given("tree"), by=Given("by"))
    return rows.order_by("-changed_at", "-pk")


# Most requests of agents find nothing by these.
_OF_OWN = PreparedQuery(
    lambda: (
        Cite.objects.filter(claim__in=_own().values("pk")[:MOST_OWN])
        .order_by("-id")
        .values_list("pk", "item", "strength")[:MOST_CITES]
    )
)
# The claims that those rest on.
_BELOW = PreparedQuery(
    lambda: (
        Claim.objects.filter(
            pk__in=Cite.objects.filter(claim__in=_own().values("pk")[:MOST_OWN], item__gt=0)
            .order_by("-id")
            .values("item")[:MOST_ITEMS]
        )
        .order_by()
        .values_list("pk")
    )
)
_OPENED = PreparedQuery(
    lambda: (
        Window.objects.filter(workspace=Given("workspace"), item__isnull=False)
        .order_by("-id")
        .values_list("item")[:MOST_ITEMS]
    )
)
_MINE = PreparedQuery(
    lambda: _own().filter(state__in=levels.OPEN).select_related("node", "by")[:SHOWN]
)


def lines_for(actor: Actor, workspace: Workspace) -> tuple[str, ...]:
    """The section CLAIMS of an agent: how much evidence it has, its open claims with what is
    missing next, and the newest evidence; empty if there is none."""
    tree: Tree = workspace.tree
    cites = accessible(actor, workspace)
    claims = _MINE.all(tree=tree.pk, by=actor.participant.pk)
    if not cites and not claims:
        return ()
    counts = Counter(cite.strength for cite in cites)
    parts = ", ".join(
        f"{counts[strength]} {strength}" for strength in ("strong", "moderate", "weak")
    )
    more = "+" if len(cites) >= MOST_CITES else ""
    total = _total(tree)
    of = f" · accessible {len(cites)} of {total}" if total > len(cites) else ""
    lines = [f"Available evidence ({len(cites)}{more}: {parts}){of}"]
    for claim in claims:
        asks = " · waits for a person" if waits_for_a_person(claim) else ""
        lines.append(f"{line_of_claim(claim)}{asks}")
    shown = _shown([cite.pk for cite in cites[:SHOWN]])
    names = written({cite.item for cite in shown}, tree.pk)
    keys = [key for cite in shown if (key := ids.node_id(cite.item)) is not None]
    gone = {ids.of_node(key) for key in withheld(actor, keys)}
    sign = {"for": "+", "against": "-", "undercuts": "~"}
    for cite in shown:
        words = f" {excerpt(cite.words, 8)}" if cite.words and cite.item not in gone else ""
        lines.append(
            f"  {sign[cite.side]} [{names[cite.item]}]{words} {cite.strength}, {cite.reason}"
            f" → [{cite.claim}]"
        )
    return tuple(lines)


class ShownCite(NamedTuple):
    """A piece of evidence as a line of CLAIMS: `claim` is the local id."""

    item: int
    side: str
    words: str
    strength: str
    reason: str
    claim: str


def _shown(keys: Sequence[int]) -> list[ShownCite]:
    """The cites with these row ids, the newest first; one query."""
    rows = Cite.objects.filter(pk__in=keys).order_by("-id")
    names = ("item", "side", "words", "strength", "reason", "claim__node__local_id")
    return [ShownCite(*row) for row in rows.values_list(*names)]


def _total(tree: Tree) -> int:
    """How many pieces of evidence a tree has, counted up to 2 * MOST_CITES; one query."""
    sql = """SELECT COUNT(*) FROM (SELECT 1 FROM claims_cite c
        JOIN claims_claim k ON k.node_id = c.claim_id WHERE k.tree_id = %s LIMIT %s) counted"""
    return int(fetch(sql, [tree.pk, 2 * MOST_CITES])[0][0])
