"""The evidence of a claim as a window: opening it, and writing through it, which only adds records
(docs/model.md §3, §10)."""

from collections.abc import Callable
from typing import Annotated

from loom import access
from loom.claims.commands.claims import (
    Address,
    CiteAgainst,
    CiteFor,
    CiteUndercuts,
    address,
    give_evidence,
    undercut,
)
from loom.claims.models import Claim
from loom.claims.queries.brief import progress
from loom.claims.queries.claims import claim_of
from loom.claims.queries.evidence_windows import (
    KIND,
    PLACE,
    evidence_lines,
    newest_version,
)
from loom.claims.rules.evidence_lines import EvidenceLine, sign_of, wanted
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.registry import command
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import ParseError, Ref
from loom.language.slices import parse_ref
from loom.notes.commands.annotations import Annotate, annotate
from loom.permissions import LOOM, READ_DOCUMENTS
from loom.text.counts import counted
from loom.trees.named_items import get_own_node
from loom.trees.queries import lookup
from loom.workspace.commands.lenses import writes_through
from loom.workspace.commands.windows import (
    items_of,
    known,
    new_window,
    note_change,
    show_window,
    title_of,
    token_change,
    within_limit,
)
from loom.workspace.models import Window

MOST_RECORDS = 20  # that one write adds


class OpenEvidence(Args):
    """The claim, and how the window shows its evidence."""

    ref: Annotated[RefField, Written("ref", but=("document", "tree", "window"))]
    evidence: Annotated[str, Written("word", lead="evidence")]
    keep: Annotated[bool, Written("flag")] = False
    live: Annotated[bool, Written("flag")] = False


@command(
    "open", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace", opens_windows=True
)
def open_evidence(context: Context, args: OpenEvidence) -> Reply:
    """Opens a window on the evidence of a claim, a line each: `open c4m2 evidence`. `edit #4` adds
    records: a line with + (for), - (against) or ~ (undercuts) is evidence, any other a note."""
    claim = claim_of(get_own_node(context, args.ref))
    item, version = ids.of_node(claim.pk), newest_version(claim.pk)
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, kind=KIND, item=item)
    window = rows.select_related("item", "step").order_by("number").first()
    if window is None:
        window = new_window(context, kind=KIND, item_id=item, place=PLACE, version_seen=version)
    window = known(context, window)
    window.version_seen = version
    window.is_live = window.is_live or args.live
    show_window(context, window, keep=args.keep)
    limited = within_limit(context, [window])
    _, accessible, total = evidence_lines(context.actor, claim, version)
    words = f"{title_of(context, window)} · accessible {accessible} of {total}"
    return Reply(f"✓ opened {words}{limited}{token_change(context)}", items=items_of(window))


@writes_through(KIND)
def write_evidence(context: Context, window: Window, change: Callable[[str], str]) -> Reply:
    """Adds to the evidence of a claim what an edited copy of its lines asks for; no old record is
    changed. What cannot be a record is said in the reply, and refused if nothing else is there."""
    node = lookup.rows().filter(pk=ids.node_id(window.item_id or 0) or 0).first()
    if node is None:
        reason = f"#{window.number} shows no claim."
        raise CommandError("REJECTED", reason, hint="→ open CLAIM evidence")
    claim = claim_of(get_own_node(context, Ref("node", id=node.local_id)))
    shown_version = newest_version(claim.pk) if window.is_live else window.version_seen
    shown, _, _ = evidence_lines(context.actor, claim, shown_version)
    asked = wanted(shown, change("\n".join(line.text for line in shown)))
    many = len(asked.cites) + len(asked.answers) + len(asked.notes)
    if many > MOST_RECORDS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"One write adds at most {MOST_RECORDS} records; these are {many}.",
            hint="write the rest after it",
        )
    adding = _Adding(context, claim)
    for number, line in asked.cites:
        adding.add(number, lambda line=line: adding.cited(line))  # type: ignore[misc]
    for number, line in asked.answers:
        adding.add(number, lambda line=line: adding.addressed(line))  # type: ignore[misc]
    for number, text in asked.notes:
        adding.add(number, lambda text=text: adding.noted(text))  # type: ignore[misc]
    refused = [*adding.refused, *asked.refused]
    if not adding.replies:
        raise CommandError(
            "REJECTED",
            " ".join(refused) or "Nothing was added: these are the lines as they stand.",
            hint='add a line: + [a7x2] "the exact words" · why',
        )
    window.version_seen = newest_version(claim.pk)
    note_change(context, window)
    claim.refresh_from_db(fields=["state", "strong", "moderate", "weak", "open", "unanswered"])
    records = counted(len(adding.replies), "record")
    head = f"✓ #{window.number} [{claim.node.local_id}]: {records} added, the old ones stay"
    lines = [head, *adding.replies, *(f"! {why}" for why in refused), progress(claim)]
    return Reply(
        "\n  ".join(lines),
        refs=tuple(dict.fromkeys([claim.node.local_id, *adding.refs])),
        items=tuple(dict.fromkeys([ids.of_node(claim.pk), *adding.items])),
        inverse=tuple(reversed(adding.inverse)),
    )


class _Adding:
    """Runs what a write asks for, one after the other, and keeps what each said."""

    def __init__(self, context: Context, claim: Claim) -> None:
        self.context, self.claim = context, claim
        self.name = Ref("node", id=claim.node.local_id)
        self.replies: list[str] = []
        self.refused: list[str] = []
        self.refs: list[str] = []
        self.items: list[int] = []
        self.inverse: list[Op] = []

    def add(self, number: int, run: Callable[[], tuple[str, Reply]]) -> None:
        """Runs one; a refusal becomes a sentence."""
        try:
            head, reply = run()
        except CommandError as bad:
            self.refused.append(f"line {number}: {bad.message} {bad.hint}".rstrip())
            return
        text = reply.text.removeprefix("✓ ").partition("\n")[0]
        self.replies.append(f"{head}{text}")
        self.refs += reply.refs
        self.items += reply.items
        self.inverse += reply.inverse

    def cited(self, line: EvidenceLine) -> tuple[str, Reply]:
        """Gives a piece of evidence."""
        values = {"claim": self.name, "why": line.why, "words": line.words}
        ref = self._ref(line.ref, line.part)
        if line.side == "undercuts":
            other = self._ref(line.other)
            reply = undercut(self.context, CiteUndercuts(ref=ref, other=other, **values))
        elif line.side == "against":
            reply = give_evidence(self.context, CiteAgainst(ref=ref, **values), "against")
        else:
            reply = give_evidence(self.context, CiteFor(ref=ref, **values), "for")
        return f"{sign_of(line.side)} [{line.ref}] ", reply

    def addressed(self, line: EvidenceLine) -> tuple[str, Reply]:
        """Answers counter-evidence."""
        ref = self._ref(line.ref)
        return "", address(self.context, Address(ref=ref, claim=self.name, how=line.answer))

    def noted(self, text: str) -> tuple[str, Reply]:
        """Leaves a note on the claim."""
        return "", annotate(self.context, Annotate(ref=self.name, content=text))

    def _ref(self, name: str, part: str = "") -> Ref:
        try:
            ref = parse_ref(f"{name} {part}".strip())
        except ParseError as bad:
            raise CommandError(bad.code, bad.message, hint=bad.hint) from None
        if ref.kind == "document":
            access.demand(self.context.actor, {READ_DOCUMENTS}, "citing a document")
        return ref
