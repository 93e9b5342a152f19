"""The results of tools in a request: how long each is, what hangs on it, and the request without
some of them, whatever the API. Pure (docs/model.md §11)."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from agents.gateway.messages import (
    IMAGES,
    THINKING,
    Shape,
    history_of,
    image_data,
    key_of,
    size_of_result,
)
from loom.text.images import IMAGE_TOKENS
from loom.text.tokens import count

Hangs = Literal["", "thinking", "cache"]
MARKS = ("cache_control", "prompt_cache_breakpoint")  # by which programs ask for a cache
# Where chat programs send a model's thinking back.
_THOUGHT = ("reasoning_content", "reasoning_details", "thinking_blocks")


@dataclass(frozen=True)
class ToolResult:
    """A result in a request: the number of its message (from 1), the name of the tool, the length
    in characters and tokens (about)."""

    tool_use_id: str
    tool: str
    message: int
    length: int
    tokens: int
    is_error: bool
    is_clean: bool


@dataclass(frozen=True)
class Hiding:
    """What it means to hide a result: the tokens (about) that each later request is shorter by,
    those behind it that the provider reads again, and what hangs on the bytes of it."""

    saves: int
    rereads: int
    hangs: Hangs


def hidden_text(tool_use_id: str) -> str:
    """What stands in place of a hidden result."""
    return f"tool_use_id: {tool_use_id} (hidden)"


def id_above(tool_use_id: str) -> str:
    """What stands above a visible result that is not clean: by its id it can be hidden."""
    return f"tool_use_id: {tool_use_id}\n---"


def is_clean(content: str) -> bool:
    """Whether a result is an answer of Heddle's own tools, which is short and is never hidden."""
    if '"loom"' not in content:
        return False
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and answer.get("loom") is True


def results_in(shape: Shape, body: dict[str, Any]) -> list[ToolResult]:
    """The results in a request, in their order."""
    messages = history_of(shape, body).messages
    tools = {
        block["id"]: block["name"]
        for message in messages
        for block in message["blocks"]
        if block["type"] == "tool_use"
    }
    return [
        ToolResult(
            tool_use_id=block["tool_use_id"],
            tool=tools.get(block["tool_use_id"], ""),
            message=number,
            length=len(block["content"]),
            tokens=size_of_result(block),
            is_error=block["is_error"],
            is_clean=is_clean(block["content"]),
        )
        for number, message in enumerate(messages, 1)
        for block in message["blocks"]
        if block["type"] == "tool_result"
    ]


def hiding_of(shape: Shape, body: dict[str, Any], result: ToolResult) -> Hiding:
    """What it would mean to hide a result that this request has; `body` is the request as its
    provider got it."""
    own_place, own = -1, []
    for place, block in _blocks(shape, body):
        if own_place < 0 and _result_id(shape, block) == result.tool_use_id:
            own_place = place
        if place == own_place:
            own.append(block)  # the result, and what is behind it in its message
    raws = body.get(key_of(shape))
    behind = raws[own_place + 1 :] if isinstance(raws, list) else []
    images = [value for value in _values(behind) if value.get("type") in IMAGES]
    words = len(json.dumps(behind, ensure_ascii=False)) - sum(map(len, map(image_data, images)))
    size = words // 4 + IMAGE_TOKENS * len(images)
    saves = max(0, result.tokens - count(hidden_text(result.tool_use_id)))
    return Hiding(saves, size, _hangs(body, own, behind))


def _hangs(body: dict[str, Any], own: list[Any], behind: list[Any]) -> Hangs:
    is_marked = any(mark in body for mark in MARKS)
    for value in _values([own, behind]):
        if _is_thinking(value):
            return "thinking"
        is_marked = is_marked or any(value.get(mark) for mark in MARKS)
    return "cache" if is_marked else ""


def _is_thinking(value: dict[str, Any]) -> bool:
    return value.get("type") in THINKING or any(value.get(name) for name in _THOUGHT)


def last_thought(shape: Shape, body: dict[str, Any]) -> int:
    """The place of the last message with a thinking of the model; -1 if there is none."""
    given = body.get(key_of(shape))
    raws = given if isinstance(given, list) else []
    places = range(len(raws) - 1, -1, -1)
    return next((at for at in places if any(map(_is_thinking, _values(raws[at])))), -1)


def hidden_in(
    shape: Shape, body: dict[str, Any], *, thought: int, then: Collection[str], now: Collection[str]
) -> list[str]:
    """The results of a request that are hidden: in front of the message at the place `thought`
    those that were hidden `then`, behind it those that are hidden `now`."""
    if not then and not now:
        return []
    ids = ((_result_id(shape, block), place < thought) for place, block in _blocks(shape, body))
    return [own for own, is_before in ids if own and own in (then if is_before else now)]


def _values(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a value, without recursion: a program may nest what it likes."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


def without(shape: Shape, body: dict[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """The request with these results hidden; every tool's use keeps its result."""
    key = key_of(shape)
    raws = body.get(key)
    if not hidden or not isinstance(raws, list):
        return body

    def written(own: str, given: Any) -> Any:
        return hidden_text(own) if own in hidden else given

    return {**body, key: [_rewritten(shape, raw, written) for raw in raws]}


# What a result may have beside a text of its own; a list of anything else has a meaning as a whole.
_BESIDE_TEXTS = {"text", "image", "document", "search_result", "image_url"} | {
    "input_text",
    "input_image",
    "input_file",
}


def with_ids(
    shape: Shape, body: dict[str, Any], places: Collection[int], hidden: Collection[str]
) -> dict[str, Any]:
    """The request in which the results in the messages at these places have their ids above, but
    for clean and hidden ones."""
    key = key_of(shape)
    raws = body.get(key)
    if not places or not isinstance(raws, list):
        return body

    def written(own: str, given: Any) -> Any:
        return given if own in hidden else _with_id(shape, own, given)

    sent = list(raws)
    for place in places:
        sent[place] = _rewritten(shape, raws[place], written)
    return {**body, key: sent}


def _with_id(shape: Shape, own: str, given: Any) -> Any:
    if isinstance(given, str) and not is_clean(given):
        return f"{id_above(own)}\n{given}"
    if not isinstance(given, list) or not given or not all(map(_is_beside_texts, given)):
        return given
    if is_clean("".join(str(block.get("text", "")) for block in given)):
        return given
    kind = "input_text" if shape == "responses" else "text"
    return [{"type": kind, "text": id_above(own)}, *given]


def _is_beside_texts(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _BESIDE_TEXTS


def _rewritten(shape: Shape, raw: Any, written: Callable[[str, Any], Any]) -> Any:
    """A message in which the content of each result, with its id, is what `written` makes of it."""
    content = raw.get("content") if isinstance(raw, dict) else None
    if shape == "messages" and isinstance(content, list):
        return {**raw, "content": [_rewritten_result(shape, block, written) for block in content]}
    return _rewritten_result(shape, raw, written)


def _rewritten_result(shape: Shape, raw: Any, written: Callable[[str, Any], Any]) -> Any:
    own = _result_id(shape, raw)
    if not own:
        return raw
    name = "output" if shape == "responses" else "content"
    given = raw.get(name)
    new = written(own, given)
    return raw if new is given else {**raw, name: new}


def _blocks(shape: Shape, body: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """(place of the message, block) of everything that may be a result."""
    raws = body.get(key_of(shape))
    for place, raw in enumerate(raws if isinstance(raws, list) else []):
        content = raw.get("content") if isinstance(raw, dict) else None
        if shape == "messages" and isinstance(content, list):
            yield from ((place, block) for block in content)
        else:
            yield place, raw


def _result_id(shape: Shape, raw: Any) -> str:
    """The id of the use that a message or block is the result of; "" for any other."""
    if not isinstance(raw, dict):
        return ""
    kind = raw.get("type")
    if shape == "chat":
        use_id = raw.get("tool_call_id") if raw.get("role") in ("tool", "function") else None
    elif shape == "responses":
        is_result = kind in ("function_call_output", "custom_tool_call_output")
        use_id = raw.get("call_id") if is_result else None
    else:
        is_result = isinstance(kind, str) and kind.endswith("tool_result")
        use_id = raw.get("tool_use_id") if is_result else None
    return use_id if isinstance(use_id, str) else ""
