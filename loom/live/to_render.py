"""What of a page has to be rendered again after an event. Pure."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ToRender:
    """What has to be rendered again after some events, by local ids: the nodes `near` together
    with those above, below and beside them, `only` alone, and the candidates below `points` and of
    the `generations` (their uids) that ended without a node; and `turns` by their uids."""

    near: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    points: frozenset[str] = frozenset()
    generations: frozenset[str] = frozenset()
    turns: frozenset[str] = frozenset()

    def __or__(self, other: "ToRender") -> "ToRender":
        return ToRender(
            self.near | other.near,
            self.only | other.only,
            self.points | other.points,
            self.generations | other.generations,
            self.turns | other.turns,
        )

    def __bool__(self) -> bool:
        return any((self.near, self.only, self.points, self.generations, self.turns))


def changed_by(kind: str, payload: Any) -> ToRender:
    """What one event changes; an annotation stands for the text that it is about."""
    if kind == "node.added":
        node = payload["node"]
        named = frozenset({node["id"]})
        return ToRender(near=named) if node.get("kind", "text") == "text" else ToRender(only=named)
    if kind == "node.flagged":
        return ToRender(near=frozenset({payload["node"]}))
    if kind in ("annotation.resolved", "annotation.reopened"):
        return ToRender(only=frozenset({payload["node"]}))
    if kind in ("mark.added", "mark.removed"):
        return ToRender(only=frozenset({str(payload["mark"]["item"])}))
    if kind in ("tag.renamed", "tag.removed"):
        return ToRender(only=frozenset(map(str, payload["items"])))
    if kind in ("link.added", "link.removed"):
        link = payload["link"]
        return ToRender(only=frozenset({str(link["source"]), str(link["target"])}))
    if kind in ("generation.started", "generation.ended"):
        return _changed_by_generation(kind, payload["generation"])
    if kind in ("turn.started", "turn.ended"):
        return ToRender(turns=frozenset({payload["turn"]["id"]}))
    if kind == "view.changed" and "turn" in payload:  # a line of a turn was answered
        return ToRender(turns=frozenset({payload["turn"]}))
    return ToRender()


def _changed_by_generation(kind: str, generation: Any) -> ToRender:
    turns = frozenset({generation["turn"]} if generation.get("turn") else ())
    if generation["round"]:
        return ToRender(turns=turns)
    if kind == "generation.started":
        return ToRender(points=frozenset({generation["point"]}), turns=turns)
    # If it became a node, the node's own event covers the rest.
    lost = frozenset(() if generation["node"] else {generation["id"]})
    return ToRender(generations=lost, turns=turns)
