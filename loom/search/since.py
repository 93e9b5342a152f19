"""`since`: what others have changed, as differences, by item (docs/model.md §5.1)."""

from datetime import datetime
from typing import Annotated

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.models import Step
from loom.engine.registry import command, describe_verb
from loom.errors import not_found
from loom.language.refs import Ref, print_ref
from loom.language.verbs import Phrases, Verb
from loom.permissions import LOOM
from loom.search.changes import MOST_EVENTS, RecentChanges
from loom.text.ages import age
from loom.text.counts import counted
from loom.turns.models import Turn

MOST_LISTED = 30  # items


class Since(Args):
    """The moment, a step of yours or a turn, and after how many items to begin."""

    start: Annotated[RefField | None, Written("ref", refs=("step", "turn"))] = None
    after: Annotated[int, Written("option", key="after", value="int", minimum=0)] = 0


describe_verb(
    Verb(
        "since",
        past="looked at what changed",
        taught="since — what others changed since your last turn",
        is_harmless=True,
        phrases=(
            Phrases(
                "what changed|what has changed|what is new|what has happened|what did others do"
                "|changes|show changes|list changes|changes since|what changed since"
                "|what has changed since"
            ),
        ),
        dropped="my your last turn",
    )
)


@command("since", group="Keep", klass="look", permissions={LOOM})
def since(context: Context, args: Since) -> Reply:
    """Lists what others have changed in this tree and its documents, by item and with the words
    that differ: since your last turn (people: since your own last change), a step or a turn."""
    start, named = _start_of(context, args.start)
    if start is None:
        return Reply("You have done nothing here yet; → digest shows what is here.")
    changes = RecentChanges(context.actor, context.tree, start, asked=_request_of(context.turn))
    context.note_read(*changes.read)
    items, head = changes.items, f"by others since {named} ({age(context.now, start)})"
    if not items:
        return Reply(f"→ nothing was changed {head}")
    shown = items[args.after : args.after + MOST_LISTED]
    lines = [f"→ {counted(len(items), 'item')} changed {head}:"]
    lines += [f"  {item.named} {' · '.join(item.said)}" for item in shown]
    last = args.after + len(shown)
    if last < len(items):
        line = "since" if args.start is None else f"since {print_ref(args.start)}"
        lines.append(f"  … {len(items) - last:,} more: → {line} after:{last}")
    if changes.is_cut:
        lines.append(f"  (of more than {MOST_EVENTS:,} changes the newest were read)")
    return Reply("\n".join(lines), refs=tuple(item.ref for item in shown))


def _start_of(context: Context, ref: Ref | None) -> tuple[datetime | None, str]:
    """The moment, and how the reply names it; None if the caller has done nothing here yet."""
    own, tree = context.actor.participant, context.tree
    if ref is None and own.kind == "model":
        turns = Turn.objects.filter(participant=own, tree=tree, ended_at__isnull=False)
        ended = turns.order_by("-ended_at").values_list("ended_at", flat=True)
        return ended.first(), "your last turn"
    steps = Step.objects.filter(workspace=context.workspace.pk)
    if ref is None:
        changed = steps.filter(outcome="ok").exclude(stream="").order_by("-seq")
        return changed.values_list("at", flat=True).first(), "your last change"
    if ref.kind == "step":
        step = steps.filter(seq=int(ref.id)).first()
        if step is None:
            raise not_found(print_ref(ref), "→ memory trace lists your last steps")
        return step.at, print_ref(ref)
    turn = Turn.objects.filter(tree=tree, uid=ref.id).first()
    if turn is None:
        raise not_found(print_ref(ref), "→ since alone begins with your last turn")
    return turn.ended_at or turn.created_at, print_ref(ref)


def _request_of(turn: str) -> int:
    """The row id of the node with the words that a turn answers; 0: none."""
    rows = Turn.objects.filter(uid=turn) if turn else Turn.objects.none()
    return rows.values_list("input_node", flat=True).first() or 0
