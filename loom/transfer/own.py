"""Heddle's own JSON: flat, so that no depth is too deep. Written and read here.

`{"heddle": 1, "tree": {…}, "nodes": [{…}], "links": [{…}], "marks": [{…}]}`; nodes in order
of creation as the API shows them without counts, with `flags`, `proof`, `hash`, `imported`.
Re-imported it gives the same tree, and every hash still verifies.
"""

import json
from collections.abc import Callable, Iterator
from typing import IO, Any

import ijson

from loom.access import Actor
from loom.models import Link, Mark, Node, Tree
from loom.queries.items import written
from loom.queries.nodes import event_bodies
from loom.queries.rows import rows_of
from loom.transfer.records import Head, Record, Report, clean, unreadable

PAGE = 500
FLAGS = ("pruned", "version_pruned", "excluded", "resolved")


def export(actor: Actor, tree: Tree) -> Iterator[str]:
    """The tree as pieces of JSON, one node a line."""
    head = {
        name: getattr(tree, name)
        for name in ("title", "mode", "description", "system_context", "summary", "truncation")
    }
    yield f'{{"heddle": 1,\n"tree": {_json(head)},\n"nodes": [\n'
    separator = ""
    for body in _bodies(tree):
        yield f"{separator}{_json(body)}"
        separator = ",\n"
    yield f'\n],\n"links": {_json(list(_links(tree)))},\n"marks": {_json(list(_marks(tree)))}}}\n'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bodies(tree: Tree) -> Iterator[dict[str, Any]]:
    after = 0
    while True:
        rows = list(Node.objects.filter(tree=tree, id__gt=after).order_by("id")[:PAGE])
        if not rows:
            return
        after = rows[-1].pk
        kept = {row.local_id: row for row in rows}
        for body in event_bodies(tree, rows_of([row.pk for row in rows])):
            yield _body(body, kept[body["id"]])


def _body(body: dict[str, Any], row: Node) -> dict[str, Any]:
    names = (
        "id",
        "kind",
        "form",
        "content",
        "author",
        "parent",
        "slot",
        "edited_from",
        "created_at",
        "finish",
        "hash",
        "proof",
    )
    shown = {name: body[name] for name in names}
    flags = [
        name
        for name, is_set in (
            ("pruned", row.pruned),
            ("version_pruned", row.version_pruned),
            ("excluded", row.excluded),
            ("resolved", row.resolved_at is not None),
        )
        if is_set
    ]
    return {**shown, "flags": flags, "imported": row.imported}


def _links(tree: Tree) -> Iterator[dict[str, Any]]:
    rows = list(Link.objects.filter(tree=tree, removed_at=None).select_related("by"))
    shown = written([end for row in rows for end in (row.source, row.target)], tree.pk)
    for row in rows:
        yield {
            "type": row.type,
            "source": shown[row.source],
            "target": shown[row.target],
            "note": row.note,
            "confidence": row.confidence,
            "by": row.by.name,
        }


def _marks(tree: Tree) -> Iterator[dict[str, Any]]:
    rows = list(Mark.objects.filter(tree=tree, removed_at=None).select_related("participant"))
    shown = written([row.item for row in rows], tree.pk)
    for row in rows:
        yield {
            "kind": row.kind,
            "label": row.label,
            "item": shown[row.item],
            "by": row.participant.name,
        }


def read(file: IO[bytes], put: Callable[[Record], None], report: Report) -> Head:
    """Reads the file; each part is streamed in a pass of its own."""
    head = Head(format="heddle")
    tree = next(ijson.items(file, "tree", use_float=True), None)
    if not isinstance(tree, dict) or tree.get("mode") not in ("dialogue", "buffer"):
        raise unreadable("The file's `tree` has no mode.")
    head.title, head.mode = str(tree.get("title", ""))[:300], str(tree["mode"])
    head.description = clean(tree.get("description", ""), "the description")
    head.system_context = clean(tree.get("system_context", ""), "the system context")
    file.seek(0)
    _read_nodes(file, put)
    for name, rows in (("links", head.links), ("marks", head.marks)):
        file.seek(0)
        rows += [row for row in ijson.items(file, f"{name}.item", use_float=True)]
    report.format = head.format
    return head


def _read_nodes(file: IO[bytes], put: Callable[[Record], None]) -> None:
    numbers: dict[str, int] = {}
    for number, body in enumerate(ijson.items(file, "nodes.item", use_float=True)):
        try:
            record = _record(number, body, numbers)
        except (KeyError, TypeError, AttributeError) as error:
            raise unreadable(f"Node {number} lacks {error}.") from None
        put(record)
        numbers[str(body["id"])] = number


def _record(number: int, body: dict[str, Any], numbers: dict[str, int]) -> Record:
    where = f"node {body['id']}"
    texts = [block["text"] for block in body["content"] if block.get("type") == "text"]
    proof = body["proof"]
    own_slot = body["slot"] == body["id"]
    return Record(
        number=number,
        parent=numbers[body["parent"]] if body["parent"] is not None else -1,
        text=clean("".join(texts), where),
        kind=body["kind"],
        form=body.get("form", ""),
        model=body["author"]["name"] if body["author"]["kind"] == "model" else "",
        author=body["author"]["name"] if body["author"]["kind"] == "human" else "",
        at=str(proof["created_at"]),
        finish=body.get("finish", "complete"),
        slot=None if own_slot else numbers[body["slot"]],
        edited_from=numbers[body["edited_from"]] if body["edited_from"] else None,
        kept={
            "local_id": str(body["id"]),
            "hash": str(body["hash"]),
            "proof": proof,
            "flags": [flag for flag in body.get("flags", []) if flag in FLAGS],
        },
        imported=body.get("imported") or {},
    )
