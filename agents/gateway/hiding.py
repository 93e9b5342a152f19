"""Hiding an old result of a tool from the requests to come, and showing it again."""

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.gateway.messages import Shape
from agents.gateway.models import GatewayRequest, GatewaySession, Mode
from agents.gateway.results import Hangs, Hiding, ToolResult, hiding_of, results_in
from loom import access
from loom.access import Actor
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.participants.prices import NANO, TokenCounts, prices_of

MOST_HIDDEN = 2000  # results of one session
# A thinking in the bytes of an answer, whole or as a stream.
_THOUGHT = re.compile(
    rb'"type"\s*:\s*"(?:thinking|redacted_thinking|reasoning)"|"reasoning_(?:content|details)"\s*:\s*["\[]'
)
_THINKING = "A thinking of the model stands behind this result, and is only valid with it."
_CACHE = "The program has marked a cache that this result is part of."


@dataclass(frozen=True)
class HidableResult:
    """A result of the last request, whether it is hidden, what hiding it (or showing it) means, and
    what it would cost once, in USD; None if no price is known."""

    result: ToolResult
    is_hidden: bool
    hiding: Hiding
    usd: float | None

    @property
    def why_not(self) -> str:
        """Why it stays as it is; "" if it can be changed."""
        return {"thinking": _THINKING, "cache": _CACHE, "": ""}[self.hiding.hangs]


def results_of(session: GatewaySession) -> list[HidableResult]:
    """The results in the last request of a session, in their order. Two queries."""
    request = GatewayRequest.objects.filter(session=session).select_related("call").first()
    if request is None:
        return []
    sent: dict[str, Any] = request.call.request.get("body") or {}
    shape: Shape = request.shape  # type: ignore[assignment]
    hidden = set(session.hidden)
    prices = prices_of(session.key.participant)
    answered = bytes(request.call.response)
    has_thought = bool(answered and _THOUGHT.search(gzip.decompress(answered)))
    hidable = []
    for result in results_in(shape, request.original or sent):
        hiding = hiding_of(shape, sent, result)
        if has_thought:  # the answer stands behind all of them
            hiding = replace(hiding, hangs="thinking")
        usd = None
        if prices is not None:
            anew = TokenCounts(hiding.rereads, 0)
            kept = TokenCounts(hiding.rereads, 0, hiding.rereads)
            usd = max(0, prices.of(anew) - prices.of(kept)) / NANO
        hidable.append(HidableResult(result, result.tool_use_id in hidden, hiding, usd))
    return hidable


def change(
    actor: Actor,
    session: GatewaySession,
    tool_use_id: str,
    *,
    visible: bool,
    anyway: bool = False,
    dry_run: bool = False,
) -> HidableResult:
    """Hides a result in every later request of the session, or shows it again. REJECTED where a
    thinking of the model or a marked cache hangs on its bytes; `anyway` gives the cache up.
    `dry_run` only says what it would mean."""
    listed = results_of(session)
    named = [
        hidable
        for hidable in listed
        if hidable.result.tool_use_id == tool_use_id and not hidable.result.is_clean
    ]
    if not named:
        raise not_found("This result", "It is not in the last request of the session.")
    last = named[-1]
    if dry_run:
        return last
    if session.key.mode != Mode.WORKSPACE:
        raise CommandError(
            "REJECTED",
            "This key passes everything unchanged.",
            hint="use a key of the mode workspace",
        )
    hangs = last.hiding.hangs
    if last.is_hidden is not visible:
        return last  # it is so already
    if hangs == "thinking" or (hangs == "cache" and not anyway):
        reason = last.why_not
        if last.hiding.rereads:
            reason += f" About {last.hiding.rereads:,} tokens would be read again."
        raise CommandError("REJECTED", reason, hint=_way_out(hangs, listed))
    args = ResultChanged(session=session.uid, tool_use_id=tool_use_id, visible=visible)
    execute(actor, session.tree, change_result, args)
    return HidableResult(last.result, not visible, last.hiding, last.usd)


def _way_out(hangs: Hangs, listed: Sequence[HidableResult]) -> str:
    """What can be done instead of changing a result that something hangs on."""
    if hangs == "cache":
        return "send anyway"
    if any(not other.why_not and not other.result.is_clean for other in listed):
        return "hide one that came after the thinking"
    return "hide the next one before the model thinks about it"


class ResultChanged(Args):
    """A result of a session, and whether it is sent."""

    session: str
    tool_use_id: str
    visible: bool


@action("change_result", stream="tree", role="writer")
def change_result(change: RunningAction, args: ResultChanged) -> None:
    """Keeps whether a result is sent."""
    access.demand_writable(change.tree)
    session = GatewaySession.objects.get(uid=args.session, tree=change.tree)
    kept = [hidden_id for hidden_id in session.hidden if hidden_id != args.tool_use_id]
    if not args.visible:
        kept.append(args.tool_use_id)
    if len(kept) > MOST_HIDDEN:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A session has at most {MOST_HIDDEN:,} hidden results.",
            hint="begin another conversation",
        )
    GatewaySession.objects.filter(pk=session.pk).update(hidden=kept)
