"""Search in the texts of a grove that lie outside of its trees, for the pages and the API."""

from dataclasses import dataclass

from loom.access import Actor
from loom.notes.models import Mark
from loom.search.filters import Filters
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText

MOST_TEXTS = 50
AROUND = 60  # characters before the first match that are shown


@dataclass(frozen=True)
class TextHit:
    """A text that has the words in its title or in itself: an excerpt, the author of its newest
    revision (id and name), and its score, relative to the best."""

    of: GroveText
    text: str
    author: str
    by: str
    score: float


def find_texts(actor: Actor, query: str, only: Filters) -> list[TextHit]:
    """The texts that the actor may read and that have the words, best first, at most
    MOST_TEXTS; none where a filter is for something else. Two queries at most."""
    words = query.strip()
    if only.type not in ("", "document") or not words or only.author or only.archived:
        return []
    among = None
    if only.tag:
        named = Mark.objects.filter(kind="tag", label__iexact=only.tag, removed_at=None)
        among = list(named.filter(item__lt=0).values_list("item", flat=True))
    texts = grove_texts().matching(actor, None, words, limit=MOST_TEXTS, among=among)
    hits = []
    for number, shown in enumerate(texts):
        at = max(0, shown.text.casefold().find(words.casefold()))
        text = " ".join(shown.text[max(0, at - AROUND) : at + 200].split())
        by = shown.author
        hits.append(TextHit(shown.of, text, by.uid, by.name, round(1 / (1 + number / 10), 2)))
    return hits
