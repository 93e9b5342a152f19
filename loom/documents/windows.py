"""What windows on documents show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from django.db.models import F, Q

from loom.access import Actor
from loom.documents.models import Revision, read_whole
from loom.documents.queries import source_of
from loom.people.names import as_sent
from loom.workspace.models import Window
from loom.workspace.queries.window_contents import WindowContent, compared, lens_content, shows
from loom.workspace.queries.windows import followed, lines_of, title_of
from loom.workspace.window_rules import WindowLine, difference_named, rows_of

LAST_CHANGES = 3  # changes of a document that its window lists
MOST_READ = 100_000  # characters of a document whose changes are read

Versions = dict[int, Revision]  # by number


@shows("document")
def show_documents(actor: Actor, windows: Sequence[Window]) -> Mapping[int, WindowContent]:
    """What windows on documents show, by their numbers; two queries at most."""
    documents = _documents_of(windows)
    shown = ((window, documents.get(-(window.item_id or 0), {})) for window in windows)
    return {
        window.number: _of_document(window, versions)
        for window, versions in shown
        if int(window.version_seen) in versions
    }


def _documents_of(windows: Sequence[Window]) -> dict[int, Versions]:
    """The revisions of documents that windows show, and the newest ones; for documents that are
    not very long also those before. At most two queries."""
    seen = {(-(window.item_id or 0), window.version_seen) for window in windows}
    documents: dict[int, Versions] = {}
    if seen:
        numbers = Q(number__in={int(number) for _, number in seen})
        for window in windows:
            if window.form == "diff":
                before = int(window.version_seen) - 1
                numbers |= Q(document=-(window.item_id or 0), number=before)
        recent = Q(number__gte=F("document__revision") - LAST_CHANGES, length__lte=MOST_READ)
        rows = Revision.objects.filter(numbers | recent | Q(number=F("document__revision")))
        rows = rows.filter(document__in={key for key, _ in seen})
        every = list(rows.select_related("content", "document", "by"))
        read_whole(row.content for row in every)
        for row in every:
            documents.setdefault(row.document_id, {})[row.number] = row
    return documents


@dataclass(frozen=True)
class _Change:
    """Two texts with their hashes, so that a cache can be checked before they are compared."""

    hashes: tuple[str, str]
    old: str = field(compare=False)
    new: str = field(compare=False)


@lru_cache(maxsize=64)
def _named_change(change: _Change) -> str:
    return difference_named(change.old, change.new)


def _changes(versions: dict[int, Revision]) -> tuple[str, ...]:
    """`revision 4 by Ada, line 3: - "stood" + "lay"`: the last changes of a document whose texts
    were read."""
    newest = max(versions)
    changes = []
    for number in range(newest, max(newest - LAST_CHANGES, 1), -1):
        old, new = versions.get(number - 1), versions.get(number)
        if old is None or new is None or max(old.length, new.length) > MOST_READ:
            break
        hashes = (old.content.sha256, new.content.sha256)
        change = _named_change(_Change(hashes, old.text, new.text))
        changes.append(f"revision {number} by {as_sent(new.by.name)}, {change}")
    return tuple(changes)


def _of_document(window: Window, versions: Versions) -> WindowContent:
    revision = versions[int(window.version_seen)]
    newest = versions[max(versions)]
    lines, is_stale = lines_of(window), newest.number != revision.number
    if window.is_live and is_stale:
        lines = followed(source_of(revision), source_of(newest), lines)
        revision, is_stale = newest, False
    ref = title_of(revision.document.title, window)
    text = revision.text
    if window.form == "diff":
        rows = _document_difference(revision, versions)
    else:
        rows = rows_of(text, lines, window.pad) if lines.last >= lines.first else ()
    return lens_content(window, ref, lines, rows, whole=text)._replace(
        is_stale=is_stale,
        current=f"revision {newest.number}" if is_stale else "",
        revision=revision.number,
        document=revision.document.uid,
        changes=_changes(versions),
    )


def _document_difference(seen: Revision, versions: dict[int, Revision]) -> tuple[WindowLine, ...]:
    """What has changed since the revision that was seen; for the newest, since the one before."""
    old, new = seen, versions[max(versions)]
    if new.number == seen.number:
        old = versions.get(seen.number - 1, seen)
    return compared(old.text, new.text, f"revision {old.number}", f"revision {new.number}")
