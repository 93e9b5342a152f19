"""`think`: a model writes down a thought."""

from typing import Annotated

from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.language.verbs import Verb
from loom.permissions import LOOM
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode, demand_text
from loom.trees.commands.nodes import made_nodes
from loom.trees.named_items import touched


class Think(Args):
    """The thought."""

    content: Annotated[str, Written("content")]


describe_verb(
    Verb(
        "think",
        taught="think CONTENT — a thought, never sent to a model",
        outlives_budget=True,
        takes_text=True,
        dropped=("about"),
    )
)


@command("think", group="Mind", klass="silent", permissions={LOOM}, stream="tree")
def think(context: Context, args: Think) -> Reply:
    """Stores a thought below your position; it is never sent to a model."""
    demand_text(args.content)
    new = NewNode(args.content, kind="thought", parent=context.here)
    thought = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    return Reply(
        f"✓ thought [{thought.local_id}]",
        refs=(thought.local_id,),
        items=touched(thought),
        inverse=made_nodes(thought),
    )
