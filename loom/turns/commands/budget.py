"""`budget`: what is left of a turn, and extending it."""

from typing import Annotated

from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.errors import CommandError
from loom.permissions import LOOM
from loom.turns import budgets
from loom.turns.budgets import Spent
from loom.turns.queries import budget_of, spent_of, turns
from loom.workspace.commands.tasks import MOST_STEPS


class Budget(Args):
    """No arguments: the whole budget is shown."""


@command("budget", group="Meta", klass="look", permissions={LOOM})
def budget(context: Context, args: Budget) -> Reply:
    """Shows what this turn has used and what it may use."""
    turn = turns().filter(uid=context.turn).first() if context.turn else None
    if turn is None:
        each = (f"{name}: {budgets.shown(one, Spent())}" for name, one in budgets.BUDGETS.items())
        return Reply("This line is part of no turn. Turns may use:\n" + "\n".join(each))
    allowed, spent = budget_of(turn), spent_of(turn, context.now)
    rounds = f"rounds {spent.rounds}/{allowed.rounds} · tokens {spent.tokens:,}/{allowed.tokens:,}"
    return Reply(f"{budgets.shown(allowed, spent)}\n{rounds}")


class Extend(Args):
    """How many more steps, and why."""

    extend: Annotated[str, Written("word", lead="extend")]
    steps: Annotated[
        int, Written("option", key="steps", value="int", minimum=1, maximum=MOST_STEPS)
    ] = 20
    why: Annotated[str, Written("option", key="why", value="quoted")] = ""


@command("budget", group="Meta", klass="look ✓", permissions={LOOM}, stream="workspace")
def budget_extend(context: Context, args: Extend) -> Reply:
    """Asks your inviter for more steps in this turn; meanwhile it continues with what it has."""
    turn = turns().filter(uid=context.turn).first() if context.turn else None
    if turn is None:
        raise CommandError(
            "REJECTED",
            "This line is not part of a turn, so there is nothing to extend.",
            hint="Extend a running turn from its card in the page.",
        )
    turn.extension = {"steps": args.steps, "why": args.why}
    turn.save(update_fields=["extension"])
    return Reply(f"✓ asked {turn.invoked_by.name} for {args.steps} more steps")
