"""What is hidden: slots that hang below a pruned one. Computed, never stored."""

from collections.abc import Iterable

from loom.access import Actor
from loom.models import Tree
from loom.queries.rows import fetch, listed, walked

# UNION, not UNION ALL: a slot reached twice is walked once, and a ring ends the walk.
_UP = """
    WITH RECURSIVE up(slot, above, pruned) AS (
        SELECT id, parent_slot_id, pruned FROM loom_node WHERE id IN ({slots})
        UNION
        SELECT s.id, s.parent_slot_id, s.pruned FROM up JOIN loom_node s ON s.id = up.above
    ) SELECT slot, above, pruned FROM up
"""
# Pruned slots further down are where the walk begins as well, so it need not go through
# them. Kinds are named so that SQLite takes the index of what is seen below a slot (100,000
# slots: 170 ms instead of 350, measured).
_DOWN = """
    WITH RECURSIVE down(slot) AS (
        SELECT id FROM loom_node WHERE tree_id = %s AND pruned
        UNION
        SELECT n.id FROM down JOIN loom_node n ON n.parent_slot_id = down.slot
            AND n.kind IN ('text', 'annotation', 'thought', 'claim')
            AND n.slot_id = n.id AND NOT n.pruned
        WHERE {walked}
    ) SELECT slot FROM down
"""


def has_pruned(tree_id: int) -> bool:
    """Whether any slot of the tree is pruned; most trees have none. By the partial index."""
    return bool(fetch("SELECT 1 FROM loom_node WHERE tree_id = %s AND pruned LIMIT 1", [tree_id]))


def hidden_slots(tree: Tree) -> set[int]:
    """The pruned slots of the tree and all slots below them; costs what is hidden."""
    return {row[0] for row in fetch(_DOWN.format(walked=walked("down.slot")), [tree.pk])}


def withheld(actor: Actor, ids: Iterable[int]) -> set[int]:
    """Those of the nodes whose text the actor is not shown: none for a person; for a model
    those that are excluded, pruned, or below a pruned one (docs/model.md §2.1)."""
    return withheld_from_models(ids) if actor.participant.kind == "model" else set()


def withheld_from_models(ids: Iterable[int]) -> set[int]:
    """Those of the nodes whose text no model is sent; three queries for each tree at most."""
    sql = f"""SELECT v.id, v.slot_id, v.tree_id,
        CASE WHEN v.version_pruned OR s.pruned OR s.excluded THEN 1 ELSE 0 END
        FROM loom_node v JOIN loom_node s ON s.id = v.slot_id WHERE v.id IN ({listed(ids)})"""
    slots: dict[int, dict[int, int]] = {}
    gone = set()
    for key, slot, tree, is_gone in fetch(sql):
        slots.setdefault(tree, {})[key] = slot
        if is_gone:
            gone.add(key)
    for tree, of_tree in slots.items():
        hidden = below_pruned(tree, of_tree.values())
        gone.update(key for key, slot in of_tree.items() if slot in hidden)
    return gone


def below_pruned(tree_id: int, slots: Iterable[int]) -> set[int]:
    """Those of `slots` that hang below a pruned slot (their own flag does not count).

    One query upward from all of them together, none where nothing in the tree is pruned.
    """
    asked = set(slots)
    if not asked or not has_pruned(tree_id):
        return set()
    above: dict[int, int | None] = {}
    pruned: set[int] = set()
    for slot, parent, flag in fetch(_UP.format(slots=listed(asked))):
        above[slot] = parent
        if flag:
            pruned.add(slot)
    return _marked(asked, above, pruned)


def _marked(asked: set[int], above: dict[int, int | None], pruned: set[int]) -> set[int]:
    """The asked slots with a pruned one above; each slot is decided once, without recursion."""
    hidden: dict[int, bool] = {}
    for slot in asked:
        trail: list[int] = []
        at: int | None = slot
        while at is not None and at not in hidden and len(trail) <= len(above):
            trail.append(at)
            at = above.get(at)
        verdict = at is not None and (hidden.get(at, False) or at in pruned)
        for one in reversed(trail):
            hidden[one] = verdict
            verdict = verdict or one in pruned
    return {slot for slot in asked if hidden[slot]}
