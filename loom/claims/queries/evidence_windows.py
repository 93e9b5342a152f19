"""What windows on the evidence of claims show (docs/model.md §3, §10): a line for each piece that
the reader may see, counter-evidence first, and the notes on the claim."""

from collections.abc import Mapping, Sequence

from django.db.models import Max, QuerySet

from loom.access import Actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.claims import seen_cites
from loom.claims.rules.evidence_lines import EvidenceLine, Shown, shortened
from loom.language import ids
from loom.links.queries import written
from loom.people.names import as_sent
from loom.trees.models import Node
from loom.trees.queries.lookup import node_ref, withheld
from loom.workspace.models import Window
from loom.workspace.queries.window_contents import WindowContent, shows
from loom.workspace.window_rules import WindowLine

KIND = PLACE = "evidence"
MOST_SHOWN = 50  # pieces of evidence, and as many notes less
MOST_NOTES = 10
QUOTED = 40  # words of a quote
ORDER = {"against": 0, "undercuts": 1, "for": 2}


def newest_version(claim_pk: int) -> str:
    """What identifies the evidence of a claim as it is now: the last piece, how many are answered,
    and the last note. Two queries."""
    cites = Cite.objects.filter(claim=claim_pk)
    last = cites.aggregate(last=Max("pk"))["last"] or 0
    answered = cites.filter(answered_at__isnull=False).count()
    note = _notes(claim_pk).aggregate(last=Max("pk"))["last"] or 0
    return f"{last}.{answered}.{note}"


def _notes(claim_pk: int) -> QuerySet[Node]:
    return Node.objects.filter(
        parent_slot=claim_pk, kind="annotation", pruned=False, version_pruned=False
    )


def _version_of(window: Window) -> str:
    return newest_version(ids.node_id(window.item_id or 0) or 0)


@shows(KIND, newest=_version_of)
def show_evidence(actor: Actor, windows: Sequence[Window]) -> Mapping[int, WindowContent]:
    """What windows on evidence show to the actor, by their numbers."""
    keys = [ids.node_id(window.item_id or 0) or 0 for window in windows]
    rows = Claim.objects.filter(pk__in=keys).select_related("node", "tree", "by")
    claims = {claim.pk: claim for claim in rows}
    shown = {}
    for window, key in zip(windows, keys, strict=True):
        claim = claims.get(key)
        if claim is not None:
            shown[window.number] = _content(actor, window, claim)
    return shown


def _content(actor: Actor, window: Window, claim: Claim) -> WindowContent:
    newest = newest_version(claim.pk)
    is_stale = window.version_seen != newest and not window.is_live
    seen = newest if window.is_live else window.version_seen
    lines, accessible, total = evidence_lines(actor, claim, seen)
    name = f"[{node_ref(claim.node, claim.tree_id)}] evidence · accessible {accessible} of {total}"
    rows = tuple(WindowLine(0, line.text) for line in lines)
    empty = (WindowLine(0, "(no evidence that you may see)"),)
    return WindowContent(window, name, name, rows or empty, is_stale=is_stale, node=claim.node)


def evidence_lines(actor: Actor, claim: Claim, version: str) -> tuple[list[Shown], int, int]:
    """(the lines of a version of the evidence of a claim as the actor may see it, how many pieces
    that are, how many there are). Seven queries."""
    last, _, last_note = map(int, version.split("."))
    every = list(
        Cite.objects.filter(claim=claim, pk__lte=last)
        .select_related("undercuts")
        .only(*_READ, *(f"undercuts__{name}" for name in ("id", "item")))
        .order_by("id")
    )
    cites = seen_cites(actor, claim.tree, every)
    accessible = len(cites)
    cites.sort(key=lambda cite: (ORDER[cite.side], cite.pk))
    items = {cite.item for cite in cites[:MOST_SHOWN]}
    known = {cite.pk for cite in cites}
    under = [cite.undercuts for cite in cites if cite.undercuts is not None]
    items |= {cite.item for cite in under if cite.pk in known}
    names = written(items, claim.tree_id)
    keys = [key for item in items if (key := ids.node_id(item)) is not None]
    gone = {ids.of_node(key) for key in withheld(actor, keys)}
    shown = [_shown(cite, names, gone) for cite in cites[:MOST_SHOWN]]
    if accessible > MOST_SHOWN:
        shown.append(Shown(f"… {accessible - MOST_SHOWN} more"))
    notes = _notes(claim.pk).filter(pk__lte=last_note).select_related("author").order_by("pk")
    latest = list(notes.reverse()[:MOST_NOTES])[::-1]
    hidden = withheld(actor, [note.pk for note in latest])
    for note in latest:
        if note.pk not in hidden:
            words = shortened(note.text, QUOTED)
            shown.append(Shown(f"* [{note.local_id}] {as_sent(note.author.name)}: {words}"))
    return shown, accessible, len(every)


_READ = (
    *("id", "claim_id", "item", "side", "part", "words", "why", "strength", "reason"),
    *("answer", "answered_at", "answered_by_id", "by_id", "undercuts_id"),
)


def _shown(cite: Cite, names: Mapping[int, str], gone: set[int]) -> Shown:
    other = names.get(cite.undercuts.item, "") if cite.undercuts is not None else ""
    whole = EvidenceLine(
        side=cite.side,
        ref=names[cite.item],
        part=cite.part,
        other=other,
        strength=f"{cite.strength}, {cite.reason}",
        words=cite.words if cite.item not in gone else "",
        why=cite.why,
        answer="" if cite.is_taken_back else cite.answer,
    )
    short = shortened(whole.words, QUOTED) if whole.words else ""
    line = EvidenceLine(**{**vars(whole), "words": short})
    return Shown(str(line), whole)
