"""Augments of a grove: documents that are loaded into the prompt of a model, with requirements.

What an augment requires is read from its front matter each time: a document can be changed at any
time, so a requirement that is gone or goes in a circle is left out and said.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from loom.models import Grove, Revision, Workspace
from loom.queries.documents import title_key
from loom.rules import documents

MOST = 200  # of a grove that are read


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
        """What names of one grove differ in."""
        return title_key(self.name)


def augment_of(uid: str, name: str, text: str) -> Augment:
    """The augment that a text with front matter is."""
    head = documents.front_matter(text)
    body = text[documents.body_start(text) :].strip("\n")
    return Augment(uid, name, body, head.get("requires", ()), head.get("tools", ()))


def augments_of(grove: Grove) -> list[Augment]:
    """The augments of a grove by name; one query."""
    rows = Revision.objects.filter(
        document__grove=grove, document__kind="augment", number=F("document__revision")
    )
    found = rows.order_by("document__title_key").values_list(
        "document__uid", "document__title", "content__text"
    )
    return [augment_of(*one) for one in found[:MOST]]


def in_order(chosen: Iterable[Augment], every: Sequence[Augment]) -> list[Augment]:
    """The augments with all that they require, each once, what is required first."""
    named = {one.key: one for one in every}
    ordered: dict[str, Augment] = {}
    begun: set[str] = set()

    def add(one: Augment) -> None:
        if one.key in begun:
            return
        begun.add(one.key)
        for name in one.requires:
            if title_key(name) in named:
                add(named[title_key(name)])
        ordered[one.key] = one

    for one in chosen:
        add(one)
    return list(ordered.values())


def circle_of(one: Augment, every: Sequence[Augment]) -> list[str]:
    """The names of a circle of requirements that leads back to `one`; [] where there is none."""
    named = {**{other.key: other for other in every}, one.key: one}
    ways = [[one.key, title_key(name)] for name in reversed(one.requires)]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        if way[-1] == one.key:
            return [named[key].name for key in way]
        if way[-1] in named and way[-1] not in seen:
            seen.add(way[-1])
            ways += [[*way, title_key(name)] for name in reversed(named[way[-1]].requires)]
    return []


@dataclass(frozen=True)
class Loaded:
    """What a workspace has loaded: all augments of its grove; those that were `chosen`, the pinned
    ones among them, and `texts`: the chosen ones with what they require, in the order in which
    they are sent."""

    every: list[Augment]
    chosen: list[Augment]
    pinned: list[Augment]
    texts: list[Augment]

    def mark_of(self, one: Augment) -> str:
        """`📌` pinned, `●` loaded, "" neither."""
        return "📌" if one in self.pinned else "●" if one in self.texts else ""

    def needing(self, one: Augment) -> list[str]:
        """The names of other loaded augments that require it, directly or not."""
        return [
            other.name
            for other in self.chosen
            if other != one and one in in_order([other], self.every)
        ]


def loaded_in(workspace: Workspace) -> Loaded:
    """What a workspace has loaded; one query."""
    every = augments_of(workspace.participant.grove)
    by_uid = {one.uid: one for one in every}
    chosen = [by_uid[uid] for uid in workspace.augments.get("loaded", ()) if uid in by_uid]
    pins = set(workspace.augments.get("pinned", ()))
    pinned = [one for one in chosen if one.uid in pins]
    return Loaded(every, chosen, pinned, in_order(chosen, every))


def augments_body(workspace: Workspace) -> list[dict[str, Any]]:
    """The augments of the grove, by name, and what the workspace has loaded of them."""
    loaded = loaded_in(workspace)
    names = {one.key for one in loaded.every}
    return [
        {
            "name": one.name,
            "document": f"doc:{one.uid}",
            "loaded": one in loaded.texts,
            "chosen": one in loaded.chosen,
            "pinned": one in loaded.pinned,
            "requires": list(one.requires),
            "missing": [name for name in one.requires if title_key(name) not in names],
            "required_by": loaded.needing(one) if one in loaded.texts else [],
            "tools": list(one.tools),
            "characters": len(one.text),
        }
        for one in loaded.every
    ]
