"""What a program sent beside what its provider was sent, part by part. Pure.

The parts that Heddle changes are known (the head, texts behind messages, hidden results), so each
is compared by its common beginning and end alone: in one pass, however long the request is.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from agents.gateway.messages import Shape, key_of
from loom.text.beginnings import common_length

State = Literal["equal", "changed", "added", "removed"]
WORKSPACE = "---WORKSPACE"
MOST_SHOWN = 20_000  # characters of one part on the page
CONTEXT = 200  # of what both have in common around a change


@dataclass(frozen=True)
class ComparedPart:
    """A part of both requests. Where it changed: the end of what both begin with, what only the
    program sent, what only the provider got, and the beginning of what both end with."""

    name: str
    state: State
    before: str = ""
    theirs: str = ""
    ours: str = ""
    after: str = ""
    length: int = 0


def compared(shape: Shape, original: dict[str, Any], sent: dict[str, Any]) -> list[ComparedPart]:
    """The parts of a request, in the order in which a model reads them: head, tools, messages, then
    the other fields that differ."""
    key = key_of(shape)
    head = "instructions" if shape == "responses" else "system"
    theirs, ours = original.get(key), sent.get(key)
    parts: list[ComparedPart] = []
    if shape == "chat":
        their_head, theirs = _lead(theirs)
        our_head, ours = _lead(ours)
        parts += _part("system", their_head, our_head)
    else:
        parts += _part("system", original.get(head), sent.get(head))
    parts += _part("tools", original.get("tools"), sent.get("tools"))
    parts += _messages(theirs, ours)
    done = {key, "tools", head}
    for name in sorted({*original, *sent} - done):
        parts += [
            part
            for part in _part(name, original.get(name), sent.get(name))
            if part.state != "equal" or name == "model"
        ]
    return parts


def _lead(messages: Any) -> tuple[Any, Any]:
    """(the system messages at the start, the others)."""
    if not isinstance(messages, list):
        return None, messages
    end = 0
    while end < len(messages) and _role(messages[end]) in ("system", "developer"):
        end += 1
    lead = [message.get("content") for message in messages[:end]]
    return (lead or None), messages[end:]


def _messages(theirs: Any, ours: Any) -> list[ComparedPart]:
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return _part("message 1 · user", theirs, ours)
    parts: list[ComparedPart] = []
    at = 0
    for number, raw in enumerate(theirs, 1):
        # A workspace that is a message of its own stands before the program's next one.
        while at < len(ours) and ours[at] != raw and len(ours) - at > len(theirs) - number + 1:
            if not _said(ours[at]).startswith(WORKSPACE):
                break
            parts.append(_added(ours[at]))
            at += 1
        name = f"message {number} · {_role(raw)}"
        parts += _part(name, raw, ours[at] if at < len(ours) else None)
        at += 1
    parts += [_added(raw) for raw in ours[at:]]
    return parts


def _added(raw: Any) -> ComparedPart:
    text = shown(raw)
    return ComparedPart("workspace", "added", ours=text[:MOST_SHOWN], length=len(text))


def _part(name: str, theirs: Any, ours: Any) -> list[ComparedPart]:
    if theirs is None and ours is None:
        return []
    before, after = shown(theirs), shown(ours)
    if theirs == ours:
        return [ComparedPart(name, "equal", before=before[:MOST_SHOWN], length=len(before))]
    start = common_length(before, after)
    end = common_length(before[start:][::-1], after[start:][::-1])
    state: State = "added" if theirs is None else "removed" if ours is None else "changed"
    return [
        ComparedPart(
            name,
            state,
            before=before[max(0, start - CONTEXT) : start],
            theirs=before[start : len(before) - end][:MOST_SHOWN],
            ours=after[start : len(after) - end][:MOST_SHOWN],
            after=before[len(before) - end :][:CONTEXT],
            length=len(after),
        )
    ]


def shown(value: Any) -> str:
    """A part as the page shows it: a text as it is, a message by its words if it has nothing else,
    other values as JSON."""
    if value is None:
        return ""
    words = _said(value)
    return words or json.dumps(value, ensure_ascii=False, indent=1)


def _said(value: Any) -> str:
    """The words of a value that has nothing but words; "" for any other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and set(value) <= {"role", "content", "type", "text"}:
        return _said(value.get("content", value.get("text")))
    if isinstance(value, list) and value:
        words = [_said(item) for item in value]
        return "\n\n".join(words) if all(words) else ""
    return ""


def _role(raw: Any) -> str:
    if not isinstance(raw, dict):
        return ""
    return str(raw.get("role") or raw.get("type") or "")[:40]
