"""Trees of pyloom: its full files (`root`, tags, chapters, generations), and the simple
export that is nothing but `{"text", "children"}`. Templates are text: never evaluated."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import IO, Any

import ijson

from loom.transfer.nested import Frame, walk
from loom.transfer.records import Head, Record, Report, clean, is_secret, unreadable

HEAD = ("tags", "chapters", "model_responses", "generation_settings", "title", "name")
# How the other program showed a node; of no meaning here.
SCREEN = frozenset(("open", "visited", "mutable", "expanded"))
USED = frozenset(("text", "children", "tags", "bookmark"))
KNOWN = frozenset(
    """id parent_id meta generation chapter_id text_attributes multimedia frame history
    memories canonical archived source read""".split()
)
KNOWN_HEAD = frozenset(
    """root children text canonical memories summaries inline_generation_settings
    visualization_settings preferences workspace module_settings selected_node_id frame
    memory""".split()
)


def read(file: IO[bytes], put: Callable[[Record], None], report: Report) -> Head:
    """Reads the file to its end; records come children first, without the outer object."""
    head = Head(format="pyloom")
    outer: Frame | None = None
    for frame in walk(ijson.basic_parse(file, use_float=True), wanted=_wanted):
        if frame.number == 0:
            outer = frame
        else:
            put(_record(frame, report))
    if outer is None:
        raise unreadable("The file holds no JSON object.")
    if "root" in outer.fields:
        raise unreadable("Its root is no object.")
    if "text" in outer.fields or "children" in outer.fields or outer.key == "children":
        head.format = "pyloom-simple"
        put(_record(outer, report))
    else:
        _read_head(outer.fields, head, report)
    report.format = head.format
    return head


def _wanted(depth: int, key: str) -> bool:
    if depth > 1:
        return key not in SCREEN
    return key in HEAD or key in ("text", "bookmark", "meta", "generation")


def _record(frame: Frame, report: Report) -> Record:
    fields = frame.fields
    where = f"node {frame.number}"
    meta = fields.get("meta") if isinstance(fields.get("meta"), dict) else {}
    made = fields.get("generation") if isinstance(fields.get("generation"), dict) else {}
    record = Record(
        number=frame.number,
        parent=frame.parent,
        text=clean(fields.get("text", ""), where),
        at=_instant(meta.get("creation_timestamp"), where, report),
        tags=_tags(fields, where, report),
        imported=_imported(fields, report),
    )
    if made or meta.get("source") == "AI":
        record.model = str(made.get("model") or made.get("id") or "?")
        record.kept["generation"] = str(made.get("id", ""))
    if fields.get("bookmark") is True or "bookmark" in record.tags:
        record.bookmark = ""
        record.tags = [tag for tag in record.tags if tag != "bookmark"]
    if fields.get("chapter_id"):
        record.kept["chapter"] = str(fields["chapter_id"])
    return record


def _tags(fields: dict[str, Any], where: str, report: Report) -> list[str]:
    given = fields.get("tags", [])
    if not isinstance(given, list):
        report.warnings.append(f"The tags of {where} are no list and were left out.")
        return []
    return list(dict.fromkeys(tag for tag in given if isinstance(tag, str) and tag.strip()))


def _imported(fields: dict[str, Any], report: Report) -> dict[str, Any]:
    """The fields that have no column here, as they came; never a key."""
    rest = {}
    for name, value in fields.items():
        if name in USED or name in SCREEN:
            continue
        if is_secret(name):
            report.dropped.add(name)
        else:
            rest[name] = value
            (report.kept if name in KNOWN else report.unknown).add(name)
    return rest


def _instant(given: Any, where: str, report: Report) -> str:
    if not given:
        return ""
    try:
        at = datetime.strptime(str(given), "%Y-%m-%d-%H.%M.%S").replace(tzinfo=UTC)
    except ValueError:
        report.warnings.append(f"The time of {where}, {str(given)[:40]!r}, cannot be read.")
        return ""
    return at.isoformat()


def _read_head(fields: dict[str, Any], head: Head, report: Report) -> None:
    head.title = str(fields.get("title") or fields.get("name") or "")[:300]
    settings = fields.get("generation_settings")
    if isinstance(settings, dict):
        head.model = str(settings.get("model") or "")
        report.dropped |= {name for name in settings if is_secret(name)}
    for uid, chapter in _pairs(fields.get("chapters")):
        if isinstance(chapter, dict):
            head.chapters[uid] = str(chapter.get("title", ""))[:200]
    for uid, answer in _pairs(fields.get("model_responses")):
        if isinstance(answer, dict) and answer.get("model"):
            head.models[uid] = str(answer["model"])
    report.dropped |= KNOWN_HEAD - {"root", "children", "text"}


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    return iter(value.items()) if isinstance(value, dict) else iter(())
