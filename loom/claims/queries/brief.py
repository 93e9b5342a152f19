"""Claims in a few lines: what is missing next, and what an agent is sent of them."""

from collections import Counter

from loom.access import Actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.claims import next_level, obligations_of, seen_cites, waits_for_a_person
from loom.claims.rules import levels
from loom.language import ids
from loom.links.queries import written
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.shortening import excerpt
from loom.trees.models import Tree, Workspace
from loom.trees.queries.lookup import withheld
from loom.workspace.models import Window

OPEN = ("hypothesis", "testing", "concluding")
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
    tail = f" · {progress(claim)}" if claim.state in OPEN else ""
    against = f" · {claim.unanswered} against" if claim.unanswered else ""
    head = f"[{claim.node.local_id}] {state_named(claim)} {excerpt(claim.node.text)}"
    return f"{head}{against}{tail}"


def accessible(actor: Actor, workspace: Workspace) -> list[Cite]:
    """The newest evidence that a participant sees unasked: about items that it has opened in the
    workspace, and of its own claims, with what those rest on. At most MOST_CITES; four queries."""
    tree = workspace.tree
    own = [pk for (pk,) in _OWN.all(tree=tree.pk, by=actor.participant.pk)]
    opened = [item for (item,) in _OPENED.all(workspace=workspace.pk)]
    if not own and not opened:
        return []
    rests = Cite.objects.filter(claim__in=own, item__gt=0).order_by("-id")
    below = list(rests.values_list("item", flat=True)[:MOST_ITEMS])
    rows = Cite.objects.filter(claim__in=[*own, *below]).select_related("claim__node", "by")
    about = Cite.objects.filter(claim__tree=tree, item__in=opened).select_related(
        "claim__node", "by"
    )
    found = {
        one.pk: one
        for one in (*rows.order_by("-id")[:MOST_CITES], *about.order_by("-id")[:MOST_CITES])
    }
    newest = [found[key] for key in sorted(found, reverse=True)[:MOST_CITES]]
    return seen_cites(actor, tree, newest)


# Most requests of agents find nothing by these.
_OWN = PreparedQuery(
    lambda: (
        Claim.objects.filter(tree=Given("tree"), by=Given("by"))
        .order_by("-changed_at", "-pk")
        .values_list("pk")[:MOST_OWN]
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
    lambda: (
        Claim.objects.filter(tree=Given("tree"), by=Given("by"), state__in=OPEN)
        .select_related("node", "by")
        .order_by("-changed_at", "-pk")[:SHOWN]
    )
)


def lines_for(actor: Actor, workspace: Workspace) -> tuple[str, ...]:
    """The section CLAIMS of an agent: how much evidence it has, its open claims with what is
    missing next, and the newest evidence; empty if there is none."""
    tree: Tree = workspace.tree
    cites = accessible(actor, workspace)
    claims = _MINE.all(tree=tree.pk, by=actor.participant.pk)
    if not cites and not claims:
        return ()
    counts = Counter(one.strength for one in cites)
    parts = ", ".join(f"{counts[one]} {one}" for one in ("strong", "moderate", "weak"))
    more = "+" if len(cites) >= MOST_CITES else ""
    total = Cite.objects.filter(claim__tree=tree).order_by()[: 2 * MOST_CITES].count()
    of = f" · accessible {len(cites)} of {total}" if total > len(cites) else ""
    lines = [f"Available evidence ({len(cites)}{more}: {parts}){of}"]
    for one in claims:
        asks = " · waits for a person" if waits_for_a_person(one) else ""
        lines.append(f"{line_of_claim(one)}{asks}")
    names = written({one.item for one in cites[:SHOWN]}, tree.pk)
    keys = [key for one in cites[:SHOWN] if (key := ids.node_id(one.item)) is not None]
    gone = {ids.of_node(key) for key in withheld(actor, keys)}
    sign = {"for": "+", "against": "-", "undercuts": "~"}
    for cite in cites[:SHOWN]:
        words = f" {excerpt(cite.words, 8)}" if cite.words and cite.item not in gone else ""
        lines.append(
            f"  {sign[cite.side]} [{names[cite.item]}]{words} {cite.strength}, {cite.reason}"
            f" → [{cite.claim.node.local_id}]"
        )
    return tuple(lines)
