"""Marking the main line of a tree: `main` (docs/model.md §2.1, §5.1)."""

from typing import Annotated

from django.utils.translation import gettext_noop

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError
from loom.language import ids
from loom.language.verbs import Phrases, Verb
from loom.manuscript.queries.main_line import main_mark
from loom.notes.commands.marks import add_mark, set_removed
from loom.notes.models import Mark
from loom.permissions import LOOM, WRITE
from loom.trees.commands.node_writer import demand_visible
from loom.trees.models import Node
from loom.trees.named_items import get_own_node


class Main(Args):
    """A text that the main line leads through."""

    ref: Annotated[RefField | None, Written("ref")] = None


class MainOff(Args):
    """The word `off`."""

    off: Annotated[str, Written("word", lead="off")]


describe_verb(
    Verb(
        "main",
        done=gettext_noop("Set the main line"),
        past="set the main line at",
        example="Make this path the story: → main here",
        takes_documents=False,
        phrases=(Phrases("make main line|set main line|mark main line|mark as main line"),),
        dropped=("as at line story the to"),
    )
)


@command("main", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def main_off(context: Context, args: MainOff) -> Reply:
    """Removes the mark: the main line is again the path that was written on last."""
    old = main_mark(context.tree)
    if old is None:
        raise CommandError("REJECTED", "No main line is marked.", hint="→ main here marks one")
    name = _name_of(old)
    return Reply(
        f"✓ the main line is the path written on last, no longer marked at [{name}]",
        items=(old.item_id,),
        inverse=(set_removed(context, old, name, True),),
        did={"marked": False},
    )


@command("main", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def main(context: Context, args: Main) -> Reply:
    """Leads the main line of the tree through a text, for everybody. End, the public page, exports
    and the manuscript follow it, and what is written below the text later."""
    node = get_own_node(context, args.ref)
    if node.kind != "text" or node.parent_slot_id is None:
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is no text that a line can lead through.",
            hint="name a text below the root",
        )
    demand_visible(node)
    old = main_mark(context.tree)
    inverse: tuple[Op, ...] = ()
    if old is not None:
        if old.item_id == ids.of_node(node.pk):
            raise CommandError(
                "REJECTED",
                f"The main line already leads through [{node.local_id}].",
                hint="→ main off takes the mark away",
            )
        inverse = (set_removed(context, old, _name_of(old), True),)
    item = ids.of_node(node.pk)
    inverse = (add_mark(context, item, node.local_id, "main", ""), *inverse)
    return Reply(
        f"✓ the main line leads through [{node.local_id}]",
        refs=(node.local_id,),
        items=(item,),
        inverse=inverse,
        did={"marked": True},
    )


def _name_of(mark: Mark) -> str:
    """The local id of the text that is marked."""
    return Node.objects.values_list("local_id", flat=True).get(pk=mark.item_id)
