"""A person's own choices as data for training, in the columns that trainers usually read: pairs
(prompt, chosen, rejected), single texts (prompt, completion, label), and paths (prompt,
completions, labels). Each row says where it comes from. A row in which a person who has not
consented wrote is left out."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loom import access
from loom.access import Actor
from loom.choices.models import ChoiceSettings
from loom.choices.queries import SeenChoice, choices_of, judged_texts
from loom.trees.models import Node
from loom.trees.queries import lookup
from loom.trees.queries.lookup import NodeRow, path_of, rows_of, withheld_from_models

MOST = 2_000  # choices of an export, the newest
MOST_BEFORE = 40_000  # characters of a prompt, its end
FORMATS = ("preference", "unpaired", "stepwise")


@dataclass(frozen=True)
class Export:
    """The rows of an export, and how many were left out for want of consent."""

    rows: list[dict[str, Any]]
    left_out: int

    @property
    def lines(self) -> Iterator[bytes]:
        """The rows as lines of JSON."""
        for row in self.rows:
            yield json.dumps(row, ensure_ascii=False).encode() + b"\n"


@dataclass(frozen=True)
class _Scene:
    """A choice with its texts: the path above, the one that was taken, the others seen."""

    choice: SeenChoice
    path: list[NodeRow]
    taken: NodeRow
    others: list[NodeRow]

    @property
    def prompt(self) -> str:
        joint = "" if self.choice.exposure.tree.mode == "buffer" else "\n\n"
        return joint.join(row.text for row in self.path if row.text)[-MOST_BEFORE:]

    def source(self, *rows: NodeRow) -> dict[str, Any]:
        """Where a row comes from."""
        exposure = self.choice.exposure
        return {
            "tree": exposure.tree.uid,
            "point": exposure.point.local_id,
            "at": self.choice.at.isoformat(),
            "shown": len(exposure.shown),
            "order": exposure.order,
            "nodes": [
                {"id": row.local_id, "sha256": row.hash, "author": row.author_uid} for row in rows
            ],
        }


def exported(actor: Actor, form: str) -> Export:
    """The actor's own choices in one of FORMATS. Five queries, and one for each place where a
    choice was made."""
    scenes = _scenes(actor)
    consenting = _consenting(actor)
    rows: list[dict[str, Any]] = []
    left_out = 0
    for texts, row in _WRITERS[form](actor, scenes):
        if all(text.author_kind != "human" or text.author_uid in consenting for text in texts):
            rows.append(row)
        else:
            left_out += 1
    return Export(rows, left_out)


def _consenting(actor: Actor) -> set[str]:
    """The members whose words may be in it: the actor, and those who have consented."""
    rows = ChoiceSettings.objects.filter(participant__grove=actor.grove, consents=True)
    return {actor.participant.uid, *rows.values_list("participant__uid", flat=True)}


def _scenes(actor: Actor) -> list[_Scene]:
    choices = choices_of(actor)[-MOST:]
    keys = {key for choice in choices for key in choice.exposure.shown}
    rows = {row.id: row for row in rows_of(sorted(keys))}
    gone = withheld_from_models(keys)
    trees = access.trees_for(actor).in_bulk({choice.exposure.tree_id for choice in choices})
    paths: dict[int, list[NodeRow]] = {}
    scenes = []
    for choice in choices:
        exposure = choice.exposure
        exposure.tree = trees[exposure.tree_id]
        if choice.taken not in rows or choice.taken in gone:
            continue
        if exposure.point_id not in paths:
            node = lookup.with_tree(exposure.tree, exposure.point)
            path = path_of(actor, exposure.tree, None, node)
            hidden = withheld_from_models([row.id for row in path])
            paths[exposure.point_id] = [row for row in path if row.id not in hidden]
        others = [
            rows[key]
            for key in exposure.shown
            if key != choice.taken and key in rows and key not in gone
        ]
        scenes.append(_Scene(choice, paths[exposure.point_id], rows[choice.taken], others))
    return scenes


Row = tuple[Sequence[NodeRow], dict[str, Any]]
Writer = Callable[[Actor, Sequence[_Scene]], Iterator[Row]]


def _pairs(_actor: Actor, scenes: Sequence[_Scene]) -> Iterator[Row]:
    for scene in scenes:
        for other in scene.others:
            row = {"prompt": scene.prompt, "chosen": scene.taken.text, "rejected": other.text}
            source = scene.source(scene.taken, other)
            yield [*scene.path, scene.taken, other], {**row, "provenance": source}


def _single(actor: Actor, scenes: Sequence[_Scene]) -> Iterator[Row]:
    """What was taken or rated + is labelled true, what was pruned or rated − false; what was only
    not taken has no row."""
    keys = [row.id for scene in scenes for row in (scene.taken, *scene.others)]
    judged = judged_texts(actor, keys)
    pruned = set(Node.objects.filter(pk__in=keys, slot__pruned=True).values_list("pk", flat=True))
    for scene in scenes:
        for text in (scene.taken, *scene.others):
            label = judged.get(text.id)
            if label is None:
                label = True if text is scene.taken else (False if text.id in pruned else None)
            if label is not None:
                row = {"prompt": scene.prompt, "completion": text.text, "label": label}
                yield [*scene.path, text], {**row, "provenance": scene.source(text)}


def _paths(_actor: Actor, scenes: Sequence[_Scene]) -> Iterator[Row]:
    """A path from its first text on: each text above was gone on from, then the one that was taken
    (true), and in rows of their own those that were not (false)."""
    for scene in scenes:
        steps = [row for row in scene.path if row.text]
        if not steps:
            continue
        for text in (scene.taken, *scene.others):
            row = {
                "prompt": steps[0].text[-MOST_BEFORE:],
                "completions": [*(step.text for step in steps[1:]), text.text],
                "labels": [*(True for _ in steps[1:]), text is scene.taken],
            }
            yield [*steps, text], {**row, "provenance": scene.source(text)}


_WRITERS: dict[str, Writer] = {"preference": _pairs, "unpaired": _single, "stepwise": _paths}
