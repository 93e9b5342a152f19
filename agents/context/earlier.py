"""EARLIER: the first nodes of a long path by their first sentences. PURE. See
docs/model.md §6.3."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agents.context.fit import KEPT_AT_THE_END, Counted
from agents.context.sections import framed
from agents.context.view import Stop
from loom.rules.framing import frames_escaped

STEP = 8  # nodes by which it grows, so that what is cached changes seldom
MOST = 240  # characters of a sentence
_END = re.compile(r"(?<=[.!?…。！？])\s|\n")


@dataclass(frozen=True)
class Earlier:
    """The section ("": nothing), how many nodes it stands for, and a note."""

    text: str = ""
    nodes: int = 0
    note: str = ""


def earlier_of(path: Sequence[Stop], room: int, counted: Counted) -> Earlier:
    """As few steps of eight nodes as make the rest fit; as many as there are where none do."""
    found = Earlier()
    sizes = [counted(stop.text) + counted(stop.author) + STEP for stop in path]
    while counted(found.text) + sum(sizes[found.nodes :]) > room:
        nodes = found.nodes + STEP
        if nodes > len(path) - KEPT_AT_THE_END:
            return found
        found = _told(path[:nodes])
    return found


def _told(path: Sequence[Stop]) -> Earlier:
    lines = [f"[{stop.local_id}] {first_sentence(stop.text)}" for stop in path]
    more = f" [{path[0].local_id}–{path[-1].local_id}] {len(path)} nodes"
    text = framed("EARLIER", frames_escaped("\n".join(lines)), more=more)
    return Earlier(text, len(path), f"the first {len(path):,} nodes are told by a sentence each")


def first_sentence(text: str) -> str:
    """The first sentence on one line, cut where it has no end."""
    line = " ".join(_END.split(text.strip(), maxsplit=1)[0].split())
    return line if len(line) <= MOST else f"{line[:MOST]}…"
