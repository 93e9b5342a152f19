"""Phrases that several replies share, so that each is written once."""

from collections.abc import Collection
from datetime import datetime

from loom.access import Actor
from loom.grammar.shown import age, quote
from loom.grammar.writing import without_name
from loom.models import Node, Participant
from loom.rules.framing import escaped

WITHHELD = "(excluded or pruned: models are not sent its text)"


def named(who: Participant) -> str:
    """`Ada (human)`."""
    return f"{who.name} ({who.kind})"


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 continuation`, `3 continuations`."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def in_one_line(canonical: str) -> str:
    """A line whose content is a block, without it: `→ respond a7x2 …`."""
    first, block, _ = without_name(canonical).partition("\n")
    return f"{first} …" if block else first


def header(node: Node, now: datetime) -> str:
    """`[a7x2] Ada (human) · 3m ago · depth:7`, of a node that a file brought ` · imported`."""
    head = f"[{node.local_id}] {named(node.author)} · {age(now, node.created_at)}"
    return f"{head} · depth:{node.depth}{mark_of(node)}"


def mark_of(node: Node) -> str:
    """What marks a node that a file brought: nobody here saw its author write it."""
    return "" if node.imported is None else " · imported"


def line_of(node: Node, now: datetime, *, withheld: Collection[int] = ()) -> str:
    """One line of a list: id, author, age, first words; no words of those in `withheld`."""
    words = WITHHELD if node.pk in withheld else quote(node.text)
    head = f"  [{node.local_id}] {named(node.author)} · {age(now, node.created_at)}"
    return f"{head}{mark_of(node)} · {words}"


def told_to(actor: Actor, text: str) -> str:
    """A whole text in a reply: for a model what would be a frame or header is escaped."""
    return escaped(text) if actor.participant.kind == "model" else text
