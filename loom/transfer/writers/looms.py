"""Writers of other looms' formats: pyloom, loomsidian, exoloom, miniloom."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from loom.transfer.selection import (
    ExportSelection,
    Marked,
    Selection,
    WalkStep,
    select,
)
from loom.trees.queries.lookup import NodeRow

# Other looms. They join the texts of a path without a separator, so in a dialogue each text but
# the first begins with a blank line there.

Body = dict[str, Any]
GAP = "\n\n"
_NAMESPACE = uuid.UUID("6f6a4b0e-4d1c-5c1b-9a53-5b7f0f1d9a11")
_CONTEXT = 4  # UTF-16 units before an insertion by which a patch finds its place


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def joined_text(selection: Selection, step: WalkStep, row: NodeRow) -> str:
    """The text for programs that join texts without a separator."""
    is_later = selection.tree.mode == "dialogue" and step.depth > 1 and row.text
    return GAP + row.text if is_later else row.text


def note_id(tree_uid: str, local_id: str) -> str:
    """The UUID of a node in files of loomsidian; the same in every export."""
    return str(uuid.uuid5(_NAMESPACE, f"{tree_uid}:{local_id}"))


def _millis(row: NodeRow) -> int:
    return int(row.created_at.timestamp() * 1000)


# pyloom


def pyloom(wanted: ExportSelection) -> Iterator[bytes]:
    """One nested JSON object: the tree, then its chapters and what models answered."""
    selection = select(wanted)
    marks = selection.marks()
    answers: list[Body] = []
    chapters: Body = {}
    position = selection.position()
    yield f'{{"title":{_json(selection.tree.title)},"root":'.encode()
    last, selected = -1, ""
    for step, row in selection.read():
        marked = marks.get(step.slot, Marked())
        closed = "]}" * (last - step.depth + 1)
        comma = "," if last >= step.depth > 0 else ""
        last = step.depth
        if step.slot == position:
            selected = row.local_id
        body = _pyloom_node(selection, step, row, marked)
        if row.author_kind == "model":
            answers.append(_pyloom_answer(row))
        if label := next(filter(None, marked.bookmarks), ""):
            body["chapter_id"] = row.local_id
            chapters[row.local_id] = {"id": row.local_id, "root_id": row.local_id, "title": label}
        yield (closed + comma + _json(body)[:-1] + ',"children":[').encode()
    yield ("]}" * (last + 1)).encode()
    yield f',"chapters":{_json(chapters)},"selected_node_id":{_json(selected)}'.encode()
    yield b',"model_responses":{'
    for place, answer in enumerate(answers):
        yield f"{',' if place else ''}{_json(answer['id'])}:{_json(answer)}".encode()
    yield b"}}\n"


def _pyloom_node(selection: Selection, step: WalkStep, row: NodeRow, marked: Marked) -> Body:
    is_model = row.author_kind == "model"
    tags = [*marked.tags, *(["bookmark"] if marked.bookmarks else [])]
    body: Body = {
        "id": row.local_id,
        "text": joined_text(selection, step, row),
        "mutable": step.depth > 0,
        "open": True,
        "visited": True,
        "meta": {
            "creation_timestamp": row.created_at.strftime("%Y-%m-%d-%H.%M.%S"),
            "source": "AI" if is_model else "prompt",
        },
    }
    if is_model:
        body["generation"] = {"id": f"answer-{row.local_id}", "index": 0}
    if tags:
        body["tags"] = tags
    return body


def _pyloom_answer(row: NodeRow) -> Body:
    """The answer that a text came from. The text itself is in its node."""
    finish = "stop" if row.finish == "complete" else row.finish
    return {
        "id": f"answer-{row.local_id}",
        "model": row.author_name,
        "timestamp": row.created_at.strftime("%Y-%m-%d-%H.%M.%S"),
        "prompt": {"text": "", "tokens": []},
        "completions": [{"text": "", "finishReason": finish, "tokens": []}],
    }


# loomsidian


def loomsidian(wanted: ExportSelection) -> Iterator[bytes]:
    """Flat notes by UUID. The empty root is not written: there may be several roots."""
    selection = select(wanted)
    marks = selection.marks()
    tree = selection.tree
    position = selection.position()
    position = None if position in selection.below[0] else position  # the root is not written
    names: dict[int, str] = {}
    current = note_id(tree.uid, selection.local_id(position)) if position else None
    head: Body = {"current": current, "hoisted": [], "searchTerm": ""}
    yield f'{_json(head)[:-1]},"nodes":{{'.encode()
    comma = ""
    for step, row in selection.read():
        if step.depth == 0 and not row.text:
            continue
        name = names[step.slot] = note_id(tree.uid, row.local_id)
        body = {
            "text": joined_text(selection, step, row),
            "parentId": names.get(step.above),
            "collapsed": False,
            "unread": False,
            "bookmarked": bool(marks.get(step.slot, Marked()).bookmarks),
            "lastVisited": _millis(row),
            "searchResultState": None,
        }
        yield f"{comma}{_json(name)}:{_json(body)}".encode()
        comma = ",\n"
    yield b'},"generating":null}\n'


# exoloom


def exoloom(wanted: ExportSelection) -> Iterator[bytes]:
    """Nodes by number, with pruned branches, which are hidden there as they are here."""
    selection = select(wanted, pruned=True)
    marks = selection.marks()
    numbers = {step.slot: place for place, step in enumerate(selection.steps(), 1)}
    tree = selection.tree
    head = {"loomType": "Exoloom", "schemaVersion": 1}
    header = {"title": tree.title, "description": tree.description, "rootNodeId": 1}
    yield f'{_json(head)[:-1]},"tree":{_json(header)[:-1]},"nodes":{{'.encode()
    comma = ""
    for step, row in selection.read():
        body = {
            "content": joined_text(selection, step, row),
            "authorType": "LLM" if row.author_kind == "model" else "USER",
            **({"authorName": row.author_name} if wanted.authors else {}),
            "parentId": numbers.get(step.above),
            "childrenIds": [numbers[child] for child in selection.below.get(step.slot, [])],
            "createdAt": row.at,
        }
        yield f'{comma}"{numbers[step.slot]}":{_json(body)}'.encode()
        comma = ",\n"
    bookmarks = sorted(numbers[slot] for slot, marked in marks.items() if marked.bookmarks)
    pruned = sorted(numbers[slot] for slot in selection.pruned)
    lens = {
        "bookmarks": [{"nodeId": number} for number in bookmarks],
        "prunedNodes": [{"nodeId": number} for number in pruned],
    }
    yield f'}}}},"lens":{_json(lens)}}}\n'.encode()


# miniloom


def miniloom(wanted: ExportSelection) -> Iterator[bytes]:
    """Nodes by number, each with the patch that makes its whole text from its parent's: an
    insertion at the end. Positions are counted in UTF-16 units."""
    selection = select(wanted)
    numbers = {step.slot: place for place, step in enumerate(selection.steps(), 1)}
    position = selection.position()
    ends: list[tuple[int, str]] = []  # by depth: the units of the whole text, and its last ones
    focus = "null"
    yield b'{"loomTree":{"nodeStore":{'
    comma = ""
    for step, row in selection.read():
        del ends[step.depth :]
        size, end = ends[-1] if ends else (0, "")
        text = joined_text(selection, step, row)
        ends.append((size + _units(text), _last_units(end + text)))
        body = {
            "id": str(numbers[step.slot]),
            "timestamp": _millis(row),
            "type": _type_of(step, row),
            "patch": _patch(text, size, end) if text else "",
            "summary": row.summary,
            "rating": None,
            "read": True,
            "parent": str(numbers[step.above]) if step.above else None,
            "children": [str(numbers[child]) for child in selection.below.get(step.slot, [])],
            **({"model": row.author_name} if row.author_kind == "model" else {}),
        }
        packed = _json(body)
        focus = packed if step.slot == position or not step.above else focus
        yield f'{comma}"{numbers[step.slot]}":{packed}'.encode()
        comma = ",\n"
    yield f'}}}},"focus":{focus}}}\n'.encode()


def _type_of(step: WalkStep, row: NodeRow) -> str:
    if not step.above:
        return "root"
    return "gen" if row.author_kind == "model" else "user"


def _patch(text: str, at: int, end: str) -> list[Body]:
    """The insertion of `text` after `at` units, which end with `end`."""
    before = _units(end)
    return [
        {
            "diffs": [*([[0, end]] if end else []), [1, text]],
            "start1": at - before,
            "start2": at - before,
            "length1": before,
            "length2": before + _units(text),
        }
    ]


def _units(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def _last_units(text: str) -> str:
    """The last four units, or five where the fourth would be half of a character."""
    end = ""
    for letter in reversed(text[-_CONTEXT:]):
        if _units(end) >= _CONTEXT:
            break
        end = letter + end
    return end
