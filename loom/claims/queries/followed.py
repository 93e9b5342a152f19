"""Where a reader is with the references and portals of a text: it follows from the steps and
windows of their workspace, and nothing is stored of it (docs/model.md §9)."""

from collections.abc import Sequence

from django.db.models import Q

from loom.access import Actor
from loom.claims.rules.inline_tokens import InlineToken
from loom.engine.models import Step, StepItem
from loom.language import ids
from loom.language.portals import targets_of
from loom.language.refs import tokens_of, unescape
from loom.links.trail_steps import SWITCH, VIEW
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Workspace
from loom.workspace.models import Window

_DOCUMENT = 'doc:"'


def followed(
    actor: Actor, workspace: Workspace, item: int, tokens: Sequence[InlineToken]
) -> dict[str, str]:
    """The states of the references and portals of an item for the actor, by key. At most five
    queries."""
    return {
        **_references(actor, workspace, [token for token in tokens if token.kind == "reference"]),
        **_portals(workspace, item, [token for token in tokens if token.kind == "portal"]),
    }


def _references(
    actor: Actor, workspace: Workspace, tokens: Sequence[InlineToken]
) -> dict[str, str]:
    """Broken if there is nothing of that name that the actor may see; visited if they have switched
    to it or viewed it."""
    if not tokens:
        return {}
    items = _items_of(actor, workspace, {token.target for token in tokens})
    rows = StepItem.objects.filter(
        Q(step__canonical__startswith=VIEW) | Q(step__canonical__startswith=SWITCH),
        item__in=set(items.values()),
        step__workspace=workspace.pk,
        step__outcome="ok",
    )
    visited = set(rows.order_by().values_list("item", flat=True).distinct()) if items else set()
    states = {target: "visited" if to in visited else "idle" for target, to in items.items()}
    return {token.key: states.get(token.target, "broken") for token in tokens}


def _items_of(actor: Actor, workspace: Workspace, targets: set[str]) -> dict[str, int]:
    """The items that targets name, without those that there are not."""
    titles = {
        unescape(target.removeprefix(_DOCUMENT).removesuffix('"')): target
        for target in targets
        if target.startswith(_DOCUMENT)
    }
    named = grove_texts().titled_among(actor, workspace.tree, titles) if titles else {}
    items = {titles[title]: item for title, item in named.items()}
    if nodes := targets - set(titles.values()):
        rows = Node.objects.filter(tree=workspace.tree_id, local_id__in=nodes).order_by()
        items |= {name: ids.of_node(key) for name, key in rows.values_list("local_id", "pk")}
    return items


def _portals(workspace: Workspace, item: int, tokens: Sequence[InlineToken]) -> dict[str, str]:
    """Expanded while a window is visible that the `expand` of this portal showed last."""
    if not tokens:
        return {}
    shown = Window.objects.filter(workspace=workspace.pk, is_visible=True, is_closed=False)
    rows = Step.objects.filter(
        workspace=workspace.pk,
        seq__in=shown.order_by().values("shown_step"),
        outcome="ok",
        touched__item=item,
        touched__led_to=False,
    ).exclude(link_type="")
    lines = rows.values_list("link_type", "canonical")
    opened = {(kind, to) for kind, line in lines if (to := _targets_in(line))}
    states = {}
    for token in tokens:
        kind, _, target = token.target.partition(" ")
        is_open = (kind, targets_of(target)) in opened
        states[token.key] = "expanded" if is_open else "collapsed"
    return states


def _targets_in(line: str) -> tuple[str, ...]:
    """What an `expand` of a portal names, `to:"a7x2"`; nothing for other lines."""
    words = tokens_of(line.partition("\n")[0])
    return next(
        (targets_of(word.quoted) for word in words if word.head == "to:" and word.quoted), ()
    )
