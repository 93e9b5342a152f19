"""A card of lore as the text of its document, whose front matter nobody has to write. Pure."""

from dataclasses import dataclass

from loom.text.lore import FENCE, USUAL_ORDER, divided, entry_of, keys_of

KINDS = ("person", "place", "thread", "other")
_OWN = ("card", "keys", "order")  # fields of the front matter that a card sets


@dataclass(frozen=True)
class LoreCard:
    """What a card says: who or what it is about, the words at which it is sent along, its place
    among others (a lower order comes first), and its text."""

    kind: str
    keys: tuple[str, ...]
    order: int
    text: str

    @property
    def keys_written(self) -> str:
        """The keys as one field of a form has them."""
        return ", ".join(map(_written, self.keys))


def card_of(document: str) -> LoreCard:
    """The card that the text of a document is."""
    fields, body = divided(document)
    kind = fields.get("card", "").strip().lower()
    entry = entry_of("", "", document)
    return LoreCard(
        kind=kind if kind in KINDS else "other",
        keys=keys_of(fields.get("keys", "")),
        order=entry.order if entry is not None else USUAL_ORDER,
        text=body.strip("\n"),
    )


def document_of(card: LoreCard, before: str = "") -> str:
    """The text of the document for a card; other fields of the front matter that it had `before`
    stay."""
    lines = [FENCE, f"keys: {card.keys_written}"]
    if card.kind != "other":
        lines.append(f"card: {card.kind}")
    if card.order != USUAL_ORDER:
        lines.append(f"order: {card.order}")
    return "\n".join([*lines, *_others(before), FENCE, card.text]) + "\n"


def _others(document: str) -> list[str]:
    """The lines of the front matter that are about other fields, with the items of their lists."""
    if not divided(document)[0]:
        return []
    kept: list[str] = []
    is_kept = True
    for line in document.split("\n")[1:]:
        if line.rstrip() == FENCE:
            break
        name, colon, _ = line.partition(":")
        if colon and not line.lstrip().startswith("- "):
            is_kept = name.strip().lower() not in _OWN
        if is_kept:
            kept.append(line)
    return kept


def _written(key: str) -> str:
    """A key as front matter has it: in quotes where it has a comma."""
    plain = key.replace('"', "")
    return f'"{plain}"' if "," in plain else plain
