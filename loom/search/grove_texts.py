"""Search in the texts of a grove that lie outside of its trees, for the pages and the API."""

from dataclasses import dataclass

from loom.access import Actor
from loom.notes.models import Mark
from loom.notes.queries import is_tag
from loom.search.filters import Filters
from loom.search.index import fold, match
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
    """The texts that the actor may read and that have the words, best first, then those with a tag
    of that name, at most MOST_TEXTS; without words those with the tag of the filter. None where a
    filter is for something else. Three queries at most."""
    words = query.strip()
    if only.type not in ("", "document") or not (words or only.tag):
        return []
    if only.author or only.archived:
        return []
    tags = _tags(actor)
    among = {item for item, tag in tags if is_tag(tag, only.tag)} if only.tag else None
    texts = grove_texts().matching(actor, None, words, limit=MOST_TEXTS, among=among)
    name = fold(words.removeprefix("#"))
    bearers = {item for item, tag in tags if name and match(name, tag) is not None}
    bearers -= {shown.of.item_id for shown in texts}
    if among is not None:
        bearers &= among
    if bearers and len(texts) < MOST_TEXTS:
        most = MOST_TEXTS - len(texts)
        texts += grove_texts().matching(actor, None, "", limit=most, among=bearers)
    texts = [shown for shown in texts if _is_of_the_time(shown.of, only)]
    hits = []
    for number, shown in enumerate(texts):
        at = max(0, shown.text.casefold().find(words.casefold()))
        text = " ".join(shown.text[max(0, at - AROUND) : at + 200].split())
        by = shown.author
        hits.append(TextHit(shown.of, text, by.uid, by.name, round(1 / (1 + number / 10), 2)))
    return hits


def _tags(actor: Actor) -> list[tuple[int, str]]:
    """(item, name) of each tag on such a text of the grove; one query."""
    rows = Mark.objects.filter(tree__grove=actor.grove, kind="tag", item__lt=0, removed_at=None)
    return list(rows.order_by().values_list("item", "label").distinct())


def _is_of_the_time(text: GroveText, only: Filters) -> bool:
    """Whether the text was last written in the time of the filter."""
    is_late = only.since is None or text.touched_at >= only.since
    return is_late and (only.before is None or text.touched_at < only.before)
