"""What an agent sees around its path, from rows to plain values: OUTLINE, PATH, last actions."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from itertools import chain

from agents.context.values import Action, Near, Twig
from loom.access import Actor
from loom.grammar.lines import age, excerpt
from loom.models import Mark, Node, Step, Tree, Workspace
from loom.models.base import Given, Prepared
from loom.queries import lookup
from loom.queries.lookup import withheld_from_models
from loom.queries.node_context import Spot, margins_of
from loom.queries.node_rows import NodeRow
from loom.queries.outline import LINES, outline_left, outline_of
from loom.rules import identity

SAID = 30  # words of a summary there
WORDS = 8  # of a node there, and of a text in the news


def twigs(
    actor: Actor, tree: Tree, workspace: Workspace, path: Sequence[NodeRow], *, limit: int = LINES
) -> tuple[Twig, ...]:
    """The outline of a tree as far as the workspace unfolds it, and from there down to the end
    of `path`, the position, with its siblings; and to the best hits of the last search."""
    state = outline_of(workspace)
    lines = outline_left(actor, tree, workspace, path, limit=limit)
    here = path[-1].slot_id if path else 0
    hits = {hit: state["scores"].get(hit, 1.0) for hit in state["hits"]}
    withheld = withheld_from_models(line.row.id for line in lines)
    return tuple(
        Twig(
            line.row.local_id,
            _words_of(line.row) if line.row.text and line.row.id not in withheld else "",
            line.level,
            line.is_last,
            line.children,
            line.shown,
            is_here=line.row.slot_id == here and not line.left_out,
            score=hits.get(line.row.local_id) if not line.left_out else None,
            left_out=line.left_out,
        )
        for line in lines
    )


def _words_of(row: NodeRow) -> str:
    summary = row.more.summary
    return excerpt(summary, SAID) if summary else excerpt(row.text, WORDS)


# -- PATH, MEMORY and news


def near(
    tree: Tree, rows: Sequence[NodeRow], now: datetime, *, last: int = 12, prose: bool = False
) -> tuple[Near, ...]:
    """What may have changed about the `last` nodes of a path, and about those with a mark; with
    the ids of the nodes between that have no line. `prose`: with their first words."""
    marked = _marked(tree)
    chosen = {row.id for at, row in enumerate(rows) if at >= len(rows) - last or row.id in marked}
    margins = margins_of(tree, [Spot(row.id, row.slot_id) for row in rows if row.id in chosen])
    withheld = withheld_from_models(chosen) if prose else set()
    lines: list[Near] = []
    skipped: list[str] = []
    for row in rows:
        if row.id not in chosen:
            skipped.append(row.local_id)
            continue
        margin = margins[row.id]
        lines.append(
            Near(
                row.local_id,
                row.author_name,
                row.author_kind,
                age(now, row.created_at),
                margin.children,
                len(margin.notes),
                bool(margin.bookmarks),
                tuple(margin.tags),
                sum(one.many for one in margin.links),
                excerpt(row.text, WORDS) if prose and row.text and row.id not in withheld else "",
                tuple(skipped),
            )
        )
        skipped = []
    return tuple(lines)


def _marked(tree: Tree) -> set[int | None]:
    """The nodes of a tree that hold a bookmark or a tag."""
    return {identity.node_id(item) for (item,) in _MARKED.all(tree=tree.pk)}


_MARKED = Prepared(
    lambda: (
        Mark.objects.filter(
            tree=Given("tree"), kind__in=("bookmark", "tag"), removed_at__isnull=True
        )
        .order_by()
        .values_list("item")
    )
)


def actions(workspace: Workspace, most: int = 10) -> tuple[Action, ...]:
    """The last lines that were run in a workspace, oldest first, without thoughts."""
    if not workspace.pk:  # it is not stored yet
        return ()
    steps = _last(most).all(of=workspace.pk)
    items = lookup.items_of(steps)
    every = chain.from_iterable(items.values())
    keys = {key for one in every if (key := identity.node_id(one))}
    names = dict(Node.objects.filter(pk__in=keys).values_list("id", "local_id"))
    return tuple(_action(step, items[step.pk], names) for step in reversed(steps))


@cache
def _last(most: int) -> Prepared[Step]:
    return Prepared(
        lambda: (
            Step.objects.filter(workspace=Given("of"))
            .exclude(canonical__startswith="→ think")
            .order_by("-seq")[:most]
        )
    )


def _action(step: Step, items: list[int], names: dict[int, str]) -> Action:
    said = (step.canonical or step.line).removeprefix("→").split()
    nodes = (names.get(identity.node_id(one) or 0) for one in items)
    first = next((one for one in nodes if one), "")
    verb = said[0] if step.canonical and said else "an unread line"
    return Action(verb, (first,) if first else (), step.outcome)
