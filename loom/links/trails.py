"""Saved trails as somebody may read them: which, and where their steps lead now."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_noop

from loom.access import Actor, erased_trees_for, get_actor, trees_for
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import document_named, label_named, trail_named, tree_named
from loom.links.models import Trail
from loom.links.trail_steps import TrailStep, steps_of
from loom.people.models import Grove, User
from loom.text.front_matter import body_start
from loom.text.hashes import instant
from loom.text.shortening import excerpt
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText, Node, Tree
from loom.trees.queries import lookup, places
from loom.trees.queries.item_names import ERASED, PRUNED


def trails_for(actor: Actor) -> QuerySet[Trail]:
    """The trails of the actor's grove that they may read: their own, and shared ones. Those of an
    agent are its own, not of the person who invited it: all members read what it was shown."""
    rows = Trail.objects.filter(grove=actor.grove, tree__in=trees_for(actor))
    return rows.filter(Q(owner=actor.participant) | Q(shared=True)).select_related(
        "owner", "tree", "forked_from"
    )


def get_trail(actor: Actor, name: str) -> Trail:
    """The trail with that name or id. NOT_FOUND if there is none that the actor may read."""
    rows = trails_for(actor).filter(Q(name__iexact=name) | Q(uid=name))
    trail = rows.order_by("id").first()
    if trail is None:
        raise not_found(trail_named(name[:80]), "→ trail list lists those there are")
    return trail


def open_trail(user: User, uid: str) -> tuple[Actor, Trail]:
    """A trail of one of the user's groves. NOT_FOUND for one that they may not read."""
    grove = Grove.objects.filter(trails__uid=uid).first()
    if grove is None:
        raise not_found("This trail")
    try:
        actor = get_actor(user, grove)
    except CommandError:
        raise not_found("This trail") from None
    return actor, get_trail(actor, uid)


def demand_own(actor: Actor, trail: Trail) -> None:
    """Refuses with REJECTED to change somebody else's trail."""
    if trail.owner_id != actor.participant.pk:
        raise CommandError(
            "REJECTED",
            f"{trail_named(trail.name)} belongs to {trail.owner.name}.",
            hint=f"→ trail fork {label_named(trail.name)} at:{len(trail.steps)}"
            ' save:"…" makes one of yours',
        )


@dataclass(frozen=True)
class EndSeen:
    """An item of a trail as a reader sees it: its name in lines and as shown, its first words, and
    what became of it: erased, pruned, below a pruned text, unavailable, `now [k2m9]`, or "".
    `node` and `now` are the version of that time and the current one; None for other items, and
    for what is not seen."""

    item: int
    ref: str
    shown: str
    words: str = ""
    state: str = ""
    node: Node | None = None
    now: Node | None = None

    @property
    def is_gone(self) -> bool:
        """Whether there is nothing to open."""
        return not self.ref

    @property
    def is_hidden(self) -> bool:
        """Whether it is pruned, or below a text that is."""
        return self.state in (PRUNED, HIDDEN)


UNAVAILABLE = "unavailable"  # the reader may not see it
HIDDEN = gettext_noop("below a pruned text")


@dataclass
class EndsSeen:
    """The items of trails for one reader; a fixed number of queries for all of them."""

    actor: Actor
    here: Tree | None
    items: Iterable[int]
    by_item: dict[int, EndSeen] = field(default_factory=dict)
    papers: dict[int, GroveText] = field(default_factory=dict)  # by item

    def __post_init__(self) -> None:
        every = set(self.items)
        homes = {ids.home_of(item) for item in every} - {0}
        trees = {tree.pk: tree for tree in trees_for(self.actor).filter(pk__in=homes)}
        keys = [key for item in every if (key := ids.node_id(item)) is not None]
        nodes = lookup.rows().filter(tree__in=trees).in_bulk(keys) if keys else {}
        hidden = places.hidden_among({node.slot_id for node in nodes.values()})
        newest = lookup.selected_versions({node.slot_id for node in nodes.values()}, None)
        later = {key for key, _ in newest.values()} - set(nodes)
        current = {**nodes, **(lookup.rows().in_bulk(later) if later else {})}
        papers = self.papers = grove_texts().seen(self.actor, self.here, every)
        erased = erased_trees_for(self.actor, homes - set(trees))
        for item in every:
            home = ids.home_of(item)
            node = nodes.get(item)
            paper = papers.get(item)
            if node is not None:
                node.tree = trees[node.tree_id]
                now = current[newest[node.slot_id][0]]
                self.by_item[item] = self._node(node, now, is_hidden=node.slot_id in hidden)
            elif paper is not None:
                self.by_item[item] = EndSeen(item, f"doc:{paper.uid}", document_named(paper.title))
            elif home in trees and ids.tree_id(item) is not None:
                tree = trees[home]
                self.by_item[item] = EndSeen(item, f"tree:{tree.uid}", tree_named(tree.title))
            else:
                state = ERASED if home in erased else UNAVAILABLE
                self.by_item[item] = EndSeen(item, "", f"({state})", state=state)

    def _node(self, node: Node, now: Node, *, is_hidden: bool) -> EndSeen:
        here = self.here.pk if self.here is not None else 0
        ref = lookup.node_ref(node, here)
        elsewhere = "" if node.tree_id == here else f" in {tree_named(node.tree.title)}"
        state = PRUNED if node.slot.pruned or node.version_pruned else ""
        state = state or (HIDDEN if is_hidden else "")
        if not state and now.pk != node.pk:
            state = f"now [{now.local_id}]"
        shown = f"[{node.local_id}]{elsewhere}"
        return EndSeen(node.pk, ref, shown, excerpt(node.text), state, node, now)

    def text_of(self, stop: EndSeen) -> str:
        """The text of a node in the version of that time, or of a document as it is now, without
        its front matter; "" for what has no text, or is not seen. A query for each document."""
        if stop.node is not None:
            return stop.node.text
        paper = self.papers.get(stop.item)
        if paper is None or stop.is_gone:
            return ""
        text = grove_texts().part_of(paper).text
        return text[body_start(text) :]

    @property
    def changed(self) -> list[str]:
        """Those that are there still, but pruned or reworded since, with what became of them."""
        return [
            f"{stop.shown} {stop.state}"
            for stop in self.by_item.values()
            if stop.state and not stop.is_gone
        ]

    def of(self, items: Iterable[int]) -> list[EndSeen]:
        """The items in their order."""
        return [self.by_item[item] for item in items]


def stops_of(actor: Actor, here: Tree | None, steps: Iterable[TrailStep]) -> EndsSeen:
    """All items of the steps, for one reader."""
    return EndsSeen(actor, here, [item for step in steps for item in (*step.of, *step.to)])


def step_line(number: int, step: TrailStep, stops: EndsSeen) -> str:
    """`3 ──[supports]──→ [b3k9] "…" · because it pays this off`."""
    arrow = f"──[{step.type}]──→" if step.type else "→"
    ends = " ".join(_end(stop) for stop in stops.of(step.to))
    why = f" · because {step.because}" if step.because else ""
    return f"{number} {arrow} {ends}{why}"


def _end(stop: EndSeen) -> str:
    return " ".join(
        part for part in (stop.shown, stop.words, f"· {stop.state}" if stop.state else "") if part
    )


def trail_body(actor: Actor, trail: Trail, *, with_steps: bool = False) -> dict[str, Any]:
    """A trail as the API shows it; with its steps, as far as the actor may see them."""
    body: dict[str, Any] = {
        "id": trail.uid,
        "name": trail.name,
        "tree": trail.tree.uid,
        "owner": trail.owner.uid,
        "shared": trail.shared,
        "forked_from": trail.forked_from.uid if trail.forked_from else None,
        "step_count": len(trail.steps),
        "types": sorted({step["type"] for step in trail.steps if step["type"]}),
        "at": instant(trail.at),
    }
    if with_steps:
        steps = steps_of(trail)
        body["steps"] = step_bodies(steps, stops_of(actor, trail.tree, steps))
    return body


def step_bodies(steps: Sequence[TrailStep], stops: EndsSeen) -> list[dict[str, Any]]:
    """Steps as the API shows them; what the reader may not see is `unavailable`."""
    return [
        {
            "type": step.type,
            "from": [stop.ref or stop.state for stop in stops.of(step.of)],
            "to": [
                {"item": stop.ref, "state": stop.state, "words": stop.words}
                for stop in stops.of(step.to)
            ],
            "because": step.because,
            "note": step.note,
            "at": step.at,
        }
        for step in steps
    ]
