"""Links between claims that lead nowhere or in a circle (docs/model.md §14.3.13)."""

from collections.abc import Iterable, Iterator
from typing import Any

from loom.access import Actor
from loom.claims.models import Cite
from loom.language import ids as item_ids
from loom.links.models import Link
from loom.links.queries import links_in, written
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.item_names import ERASED
from loom.trees.queries.lookup import (
    below_pruned,
)
from loom.workspace.queries.view_problems import finds_problems, problem

THOUGHT = ("evidence", "supports", "requires")
CITED = ("supports", "refutes")


@finds_problems
def _thought(actor: Actor, workspace: Workspace) -> Iterator[dict[str, Any]]:
    """Evidence that is pruned or erased, and requirements and evidence in a circle."""
    tree = workspace.tree
    every = [link for link in links_in(actor, tree) if link.type in {*THOUGHT, *CITED}]
    yield from _orphans(tree, [piece for piece in every if piece.type in CITED])
    links = [piece for piece in every if piece.type in THOUGHT]
    ends = {end for link in links for end in (link.source_id, link.target_id)}
    names = written(ends, tree.pk) if ends else {}
    gone = _gone(ends) | {end for end, name in names.items() if name == ERASED}
    for link in links:
        if link.type == "evidence" and link.target_id in gone:
            items = (names[link.source_id], names[link.target_id])
            lost = f"Evidence for {items[0]} was erased with its tree."
            says = (
                lost
                if items[1] == ERASED
                else f"{items[1]} is pruned; it is evidence for {items[0]}."
            )
            yield problem("OrphanEvidence", says, [], items)
    for circle in _circles([(link.source_id, link.target_id) for link in links]):
        round_ = [names[end] for end in circle]
        says = f"{' → '.join([*round_, round_[0]])} leads back to itself."
        yield problem("CircularThinking", says, [], round_)


def _orphans(tree: Tree, links: list[Link]) -> Iterator[dict[str, Any]]:
    """The evidence of claims whose item is pruned or erased."""
    cited = set(Cite.objects.filter(claim__tree=tree).values_list("link", flat=True))
    cited_links = [link for link in links if link.pk in cited]
    items = {link.source_id for link in cited_links}
    names = (
        written(items | {link.target_id for link in cited_links}, tree.pk) if cited_links else {}
    )
    gone = _gone(items) | {source for source in items if names[source] == ERASED}
    for piece in cited_links:
        if piece.source_id in gone:
            item, claim = names[piece.source_id], names[piece.target_id]
            lost = "was erased" if item == ERASED else f"[{item}] is pruned"
            says = f"{lost}; it is evidence of the claim [{claim}]."
            yield problem("OrphanEvidence", says, [], [item, claim])


def _gone(ends: Iterable[int]) -> set[int]:
    """Those of the items that are nodes which are pruned, or below a pruned one."""
    keys = [key for end in ends if (key := item_ids.node_id(end)) is not None]
    flags = ("pk", "slot_id", "slot__pruned", "version_pruned")
    rows = list(Node.objects.filter(pk__in=keys).values_list(*flags))
    trees: dict[int, set[int]] = {}
    for key, slot, _, _ in rows:
        trees.setdefault(item_ids.home_of(key), set()).add(slot)
    hidden = set().union(*(below_pruned(tree, slots) for tree, slots in trees.items()))
    return {key for key, slot, is_slot, is_own in rows if is_slot or is_own or slot in hidden}


def _circles(pairs: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Circles of links, each once, from its smallest end. Walks with a stack of its own."""
    onward: dict[int, list[int]] = {}
    for item, other in pairs:
        onward.setdefault(item, []).append(other)
    done: set[int] = set()
    for start in sorted(onward):
        path: list[int] = []
        stack = [(start, iter(onward[start]))] if start not in done else []
        path += [start] if stack else []
        while stack:
            following = next(stack[-1][1], None)
            if following is None:
                done.add(stack.pop()[0])
                path.pop()
            elif following in path:
                circle = path[path.index(following) :]
                turn = circle.index(min(circle))
                yield [*circle[turn:], *circle[:turn]]
            elif following not in done:
                stack.append((following, iter(onward.get(following, []))))
                path.append(following)
