"""Search in the documents of a grove, for the pages and the API."""

from dataclasses import dataclass

from loom.access import Actor
from loom.documents.access import documents_for
from loom.documents.models import Document
from loom.documents.queries import matching
from loom.language import ids
from loom.notes.models import Mark
from loom.search.queries import Filters

MOST_DOCUMENTS = 50
AROUND = 60  # characters before the first match that are shown


@dataclass(frozen=True)
class DocumentHit:
    """A document that has the words in its title or text: an excerpt, the author of its newest
    revision (id and name), and its score, relative to the best."""

    document: Document
    text: str
    author: str
    by: str
    score: float


def find_documents(actor: Actor, query: str, only: Filters) -> list[DocumentHit]:
    """The documents that the actor may read and that have the words, best first, at most
    MOST_DOCUMENTS; none where a filter is for something else. Two queries at most."""
    words = query.strip()
    if only.type not in ("", "document") or not words or only.author or only.archived:
        return []
    among = documents_for(actor)
    if only.tag:
        named = Mark.objects.filter(kind="tag", label__iexact=only.tag, removed_at=None)
        items = named.filter(item__lt=0).values_list("item", flat=True)
        keys = (ids.document_id(item) for item in items)
        among = among.filter(pk__in=[key for key in keys if key is not None])
    found = []
    for number, shown in enumerate(matching(among, words, limit=MOST_DOCUMENTS)):
        at = max(0, shown.text.casefold().find(words.casefold()))
        text = " ".join(shown.text[max(0, at - AROUND) : at + 200].split())
        by = shown.revision.by
        found.append(
            DocumentHit(shown.document, text, by.uid, by.name, round(1 / (1 + number / 10), 2))
        )
    return found
