"""`budget`: what is left of a turn, and extending it."""

from typing import Annotated

from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError
from loom.language.verbs import Phrases, Verb
from loom.participants.budgets import BUDGETS
from loom.permissions import LOOM
from loom.turns import budgets
from loom.turns.budgets import Spent
from loom.turns.queries import budget_of, spent_of, turns, wants_more
from loom.workspace.commands.tasks import MOST_STEPS


class BudgetArgs(Args):
    """No arguments: the whole budget is shown."""


describe_verb(
    Verb(
        "budget",
        is_harmless=True,
        outlives_budget=True,
        phrases=(
            Phrases("how much is left|what is left|show budget|what is my budget|show my budget"),
            Phrases(
                "how much budget is left|how many steps are left|how many steps do i have left"
            ),
        ),
        dropped=("my"),
    )
)


@command("budget", group="Meta", klass="look", permissions={LOOM})
def budget(context: Context, args: BudgetArgs) -> Reply:
    """Shows what this turn has used and what it may use: its lines that ran (steps), windows opened
    from windows (depth), different nodes and documents (items), rounds, tokens and time."""
    turn = turns().filter(uid=context.turn).first() if context.turn else None
    if turn is None:
        limits = (f"{name}: {budgets.shown(amount, Spent())}" for name, amount in BUDGETS.items())
        return Reply("This line is part of no turn. Turns may use:\n" + "\n".join(limits))
    allowed, spent = budget_of(turn), spent_of(turn, context.now)
    lines = [budgets.shown(allowed, spent), budgets.warning(allowed, spent)]
    return Reply("\n".join(line for line in lines if line))


USUAL_STEPS = 20


class Extend(Args):
    """How many more steps or tokens, and why."""

    extend: Annotated[str, Written("word", lead="extend")]
    steps: Annotated[
        int | None, Written("option", key="steps", value="int", minimum=1, maximum=MOST_STEPS)
    ] = None
    tokens: Annotated[
        int | None,
        Written("option", key="tokens", value="int", minimum=1, maximum=budgets.MOST_TOKENS),
    ] = None
    why: Annotated[str, Written("option", key="why", value="quoted")] = ""


@command("budget", group="Meta", klass="look ✓", permissions={LOOM}, stream="workspace")
def budget_extend(context: Context, args: Extend) -> Reply:
    """Asks your inviter for more steps or tokens in this turn, 20 steps without a number;
    meanwhile it continues with what it has."""
    turn = turns().filter(uid=context.turn).first() if context.turn else None
    if turn is None:
        raise CommandError(
            "REJECTED",
            "This line is not part of a turn, so there is nothing to extend.",
            hint="Extend a running turn from its card in the page.",
        )
    tokens = args.tokens or 0
    steps = args.steps or (0 if tokens else USUAL_STEPS)
    turn.extension = wants_more(turn, steps=steps, tokens=tokens, why=args.why)
    turn.save(update_fields=["extension"])
    wanted = ((steps, "steps"), (tokens, "tokens"))
    amounts = " and ".join(f"{many:,} more {what}" for many, what in wanted if many)
    return Reply(f"✓ asked {turn.invoked_by.name} for {amounts}")
