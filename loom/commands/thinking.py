"""Thinking, and what a turn may still use."""

from typing import Annotated

from loom.commands import node_writer
from loom.commands.context import Context, Reply, touched
from loom.commands.node_writer import NewNode, demand_text
from loom.commands.nodes import made_nodes
from loom.commands.registry import Args, Written, command
from loom.queries.workspaces import budget_of, spent_of, turns
from loom.rules import budgets
from loom.rules.budgets import Spent
from loom.rules.errors import CommandError
from loom.rules.permissions import LOOM

MOST_STEPS = 500


class Think(Args):
    """What is thought."""

    content: Annotated[str, Written("content")]


@command("think", group="Mind", klass="silent", permissions={LOOM}, stream="tree")
def think(context: Context, args: Think) -> Reply:
    """Stores a thought below your position; it is never sent to a model."""
    demand_text(args.content)
    new = NewNode(args.content, kind="thought", parent=context.here)
    made = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    return Reply(
        f"✓ thought [{made.local_id}]",
        refs=(made.local_id,),
        items=touched(made),
        inverse=made_nodes(made),
    )


class Budget(Args):
    """Nothing: it shows all."""


@command("budget", group="Meta", klass="look", permissions={LOOM})
def budget(context: Context, args: Budget) -> Reply:
    """Shows what this turn has used and what it may use."""
    turn = turns().filter(uid=context.turn).first() if context.turn else None
    if turn is None:
        each = (f"{name}: {budgets.shown(one, Spent())}" for name, one in budgets.PRESETS.items())
        return Reply("This line is part of no turn. Turns may use:\n" + "\n".join(each))
    allowed, spent = budget_of(turn), spent_of(turn, context.now)
    rounds = f"rounds {spent.rounds}/{allowed.rounds} · tokens {spent.tokens:,}/{allowed.tokens:,}"
    return Reply(f"{budgets.shown(allowed, spent)}\n{rounds}")


class Extend(Args):
    """How many more steps, and what for."""

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
