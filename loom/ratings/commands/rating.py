"""Rating texts: `rate` (docs/model.md §5.1)."""

from typing import Annotated, Literal

from django.utils.translation import gettext_noop

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError
from loom.language import ids
from loom.language.verbs import Verb
from loom.notes.commands.marks import add_mark, set_removed
from loom.notes.models import Mark
from loom.permissions import LOOM, WRITE
from loom.ratings.queries.ratings import KINDS
from loom.trees.named_items import get_own_node

_SIGNS = {"plus": "+", "minus": "−"}

describe_verb(
    Verb(
        "rate",
        done=gettext_noop("Rated a text"),
        past="rated",
        takes_documents=False,
        takes_each=True,
    )
)


class Rate(Args):
    """A text, and what it is rated: plus, minus, or none, which takes the rating away."""

    ref: Annotated[RefField, Written("ref")]
    rating: Annotated[
        Literal["plus", "minus", "none"], Written("choice", choices=("plus", "minus", "none"))
    ]


@command(
    "rate",
    group="Make",
    klass="write",
    permissions={LOOM, WRITE},
    stream="tree",
    annotates=True,
)
def rate(context: Context, args: Rate) -> Reply:
    """Rates a text with + or −, for yourself; others see how often it was. A new rating replaces
    the old one."""
    node = get_own_node(context, args.ref)
    if node.kind != "text" or node.parent_slot_id is None:
        raise CommandError(
            "REJECTED", f"[{node.local_id}] is no text to rate.", hint="name a text below the root"
        )
    item = ids.of_node(node.pk)
    earlier = Mark.objects.filter(
        item=item,
        kind__in=KINDS,
        participant=context.actor.participant,
        removed_at__isnull=True,
    ).select_related("participant")
    own = earlier.first()
    if (own.kind if own is not None else "none") == args.rating:
        raise CommandError(
            "REJECTED", f"[{node.local_id}] is rated so already.", hint="nothing to do"
        )
    inverse: list[Op] = []
    if own is not None:
        inverse.append(set_removed(context, own, node.local_id, True))
    if args.rating != "none":
        inverse.insert(0, add_mark(context, item, node.local_id, args.rating, ""))
    done = f"rated [{node.local_id}] {_SIGNS[args.rating]}" if args.rating != "none" else ""
    return Reply(
        f"✓ {done or f'took the rating off [{node.local_id}]'}",
        refs=(node.local_id,),
        items=(item,),
        inverse=tuple(inverse),
        did={"rating": args.rating},
    )
