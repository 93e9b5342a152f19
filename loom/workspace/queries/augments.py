"""Augments: the texts of a grove that can be loaded into a prompt, and those that are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loom.people.models import Grove
from loom.text.front_matter import body_start, front_matter, title_key
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Workspace

# Augments: those of a grove, and those that a workspace has loaded.


@dataclass(frozen=True)
class Augment:
    """`requires` and `tools` are names of its front matter; `text` is without it."""

    uid: str
    name: str
    text: str
    requires: tuple[str, ...]
    tools: tuple[str, ...]

    @property
    def key(self) -> str:
        """The name in the form in which names of a grove must differ."""
        return title_key(self.name)


def augment_of(uid: str, name: str, text: str) -> Augment:
    """The augment for a text with front matter."""
    head = front_matter(text)
    body = text[body_start(text) :].strip("\n")
    return Augment(uid, name, body, head.get("requires", ()), head.get("tools", ()))


def augments_of(grove: Grove) -> list[Augment]:
    """The augments of a grove by name; one query."""
    rows = grove_texts().augments(grove.pk)
    return sorted((augment_of(*row) for row in rows), key=lambda augment: augment.key)


def in_order(chosen: Iterable[Augment], every: Sequence[Augment]) -> list[Augment]:
    """The augments with all that they require, each once, requirements first."""
    named = {augment.key: augment for augment in every}
    ordered: dict[str, Augment] = {}
    begun: set[str] = set()

    def add(augment: Augment) -> None:
        if augment.key in begun:
            return
        begun.add(augment.key)
        for name in augment.requires:
            if title_key(name) in named:
                add(named[title_key(name)])
        ordered[augment.key] = augment

    for augment in chosen:
        add(augment)
    return list(ordered.values())


@dataclass(frozen=True)
class Loaded:
    """What a workspace has loaded: all augments of its grove; those that were `chosen`, the pinned
    ones among them, and `texts`: the chosen ones with what they require, in the order in which
    they are sent."""

    every: list[Augment]
    chosen: list[Augment]
    pinned: list[Augment]
    texts: list[Augment]

    def mark_of(self, augment: Augment) -> str:
        """`📌` pinned, `●` loaded, "" neither."""
        return "📌" if augment in self.pinned else "●" if augment in self.texts else ""

    def needing(self, augment: Augment) -> list[str]:
        """The names of other loaded augments that require it, directly or not."""
        return [
            other.name
            for other in self.chosen
            if other != augment and augment in in_order([other], self.every)
        ]


def loaded_in(workspace: Workspace) -> Loaded:
    """What a workspace has loaded; one query."""
    every = augments_of(workspace.participant.grove)
    by_uid = {augment.uid: augment for augment in every}
    chosen = [by_uid[uid] for uid in workspace.augments.get("loaded", ()) if uid in by_uid]
    pins = set(workspace.augments.get("pinned", ()))
    pinned = [augment for augment in chosen if augment.uid in pins]
    return Loaded(every, chosen, pinned, in_order(chosen, every))
