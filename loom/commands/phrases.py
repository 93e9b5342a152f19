"""Phrases that several replies share, so that each is written once."""

from datetime import datetime

from loom.grammar.shown import age, quote
from loom.grammar.writing import without_name
from loom.models import Node, Participant


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
    """`[a7x2] Ada (human) · 3m ago · depth:7`."""
    return (
        f"[{node.local_id}] {named(node.author)} · {age(now, node.created_at)} · depth:{node.depth}"
    )


def line_of(node: Node, now: datetime) -> str:
    """One line of a list: id, author, age, first words."""
    return (
        f"  [{node.local_id}] {named(node.author)} · {age(now, node.created_at)}"
        f" · {quote(node.text)}"
    )
