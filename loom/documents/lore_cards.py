"""The cards of lore of a tree."""

from dataclasses import dataclass

from loom.access import Actor
from loom.documents.lore_rules import KINDS, LoreCard, card_of
from loom.documents.queries import lore_texts
from loom.trees.models import Tree


@dataclass(frozen=True)
class TreeCard:
    """A card with the id and the title of its document."""

    uid: str
    title: str
    card: LoreCard


def cards_of(actor: Actor, tree: Tree) -> list[TreeCard]:
    """The cards of a tree that the actor may read: people first, then places, threads and others,
    each by order and title. One query."""
    rows = (TreeCard(uid, title, card_of(text)) for uid, title, text in lore_texts(actor, tree))
    return sorted(
        (row for row in rows if row.card.keys),
        key=lambda row: (KINDS.index(row.card.kind), row.card.order, row.title.casefold()),
    )
