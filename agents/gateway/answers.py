"""The answers of providers, whole or as a stream, as messages. Pure.

An answer that was cut is read as far as it goes.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agents.gateway.messages import Message, Shape, history_of, key_of, printable


@dataclass(frozen=True)
class Answered:
    """What an answer says: for each choice the messages that follow each other, the tokens by the
    provider's own names, the provider's id of the answer, and whether its end arrived."""

    choices: tuple[tuple[Message, ...], ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    answer_id: str = ""
    is_whole: bool = True


def answer_in(shape: Shape, content_type: str, body: bytes) -> Answered:
    """What the bytes of a successful answer say; nothing if they cannot be read."""
    if content_type.partition(";")[0].strip().lower() == "text/event-stream":
        return _STREAMS[shape](list(_events(body)))
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return Answered(is_whole=False)
    return _WHOLE[shape](value) if isinstance(value, dict) else Answered(is_whole=False)


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream of events; `[DONE]` comes as `{"type": "[DONE]"}`."""
    text = body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for event in text.split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in event.split("\n") if line[:5] == "data:"]
        data = "\n".join(lines)
        if data.strip() == "[DONE]":
            yield {"type": "[DONE]"}
            continue
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _usage(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _id(value: Any) -> str:
    return printable(value)[:128] if isinstance(value, str) else ""


def _list(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _message(shape: Shape, raw: dict[str, Any]) -> Message | None:
    """One message of the API, read as a request's would be."""
    key = key_of(shape)
    read = history_of(shape, {key: [raw]}).messages
    return read[0] if read else None


# OpenAI's chat and completions.


def _whole_chat(value: dict[str, Any]) -> Answered:
    choices = sorted(_list(value.get("choices")), key=_index)
    raws = ({**_usage(choice.get("message")), "role": "assistant"} for choice in choices)
    return Answered(_choices(raws), _usage(value.get("usage")), _id(value.get("id")))


def _choices(raws: Iterable[dict[str, Any]]) -> tuple[tuple[Message, ...], ...]:
    """A choice of one message for each."""
    read = (_message("chat", raw) for raw in raws)
    return tuple((message,) for message in read if message is not None)


def _index(choice: dict[str, Any]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


@dataclass(frozen=True)
class ChoiceStream:
    """A stream of OpenAI's chat or completions: the pieces of its choices in the order in which
    they arrived, and what its events say of the whole answer."""

    pieces: list[dict[str, Any]]
    usage: dict[str, Any]
    answer_id: str
    has_ended: bool


def _choice_stream(events: list[dict[str, Any]]) -> ChoiceStream:
    pieces: list[dict[str, Any]] = []
    usage: dict[str, Any] = {}
    answer_id, has_ended = "", False
    for event in events:
        has_ended = has_ended or event.get("type") == "[DONE]"
        usage = _usage(event.get("usage")) or usage
        answer_id = answer_id or _id(event.get("id"))
        for choice in _list(event.get("choices")):
            has_ended = has_ended or isinstance(choice.get("finish_reason"), str)
            pieces.append(choice)
    return ChoiceStream(pieces, usage, answer_id, has_ended)


def _streamed_chat(events: list[dict[str, Any]]) -> Answered:
    stream = _choice_stream(events)
    texts: dict[int, list[str]] = {}
    calls: dict[int, dict[int, dict[str, Any]]] = {}
    for choice in stream.pieces:
        delta, index = _usage(choice.get("delta")), _index(choice)
        texts.setdefault(index, [])
        for name in ("content", "refusal"):
            if isinstance(delta.get(name), str):
                texts[index].append(delta[name])
        for call in _list(delta.get("tool_calls")):
            _grow(calls.setdefault(index, {}), call)
    raws = []
    for index in sorted(texts):
        uses = [_joined(calls[index][at]) for at in sorted(calls.get(index, {}))]
        content = "".join(texts[index])
        if content or uses or stream.has_ended:
            raws.append({"role": "assistant", "content": content, "tool_calls": uses})
    return Answered(_choices(raws), stream.usage, stream.answer_id, stream.has_ended)


def _grow(calls: dict[int, dict[str, Any]], call: dict[str, Any]) -> None:
    """Adds a piece of a tool call to what has arrived of it."""
    function = _usage(call.get("function"))
    held = calls.setdefault(_index(call), {"id": "", "name": [], "arguments": []})
    held["id"] = held["id"] or call.get("id") or ""
    for name in ("name", "arguments"):
        if isinstance(function.get(name), str):
            held[name].append(function[name])


def _joined(held: dict[str, Any]) -> dict[str, Any]:
    """A tool call from its pieces."""
    function = {name: "".join(held[name]) for name in ("name", "arguments")}
    return {"id": held["id"], "function": function}


def _whole_completion(value: dict[str, Any]) -> Answered:
    choices = sorted(_list(value.get("choices")), key=_index)
    texts = [choice["text"] for choice in choices if isinstance(choice.get("text"), str)]
    return Answered(_texts(texts), _usage(value.get("usage")), _id(value.get("id")))


def _streamed_completion(events: list[dict[str, Any]]) -> Answered:
    stream = _choice_stream(events)
    texts: dict[int, list[str]] = {}
    for choice in stream.pieces:
        if isinstance(choice.get("text"), str):
            texts.setdefault(_index(choice), []).append(choice["text"])
    joined = ["".join(texts[index]) for index in sorted(texts)]
    return Answered(_texts(joined), stream.usage, stream.answer_id, stream.has_ended)


def _texts(texts: list[str]) -> tuple[tuple[Message, ...], ...]:
    return tuple(
        ({"role": "assistant", "blocks": [{"type": "text", "text": printable(text)}]},)
        for text in texts
        if text
    )


# Anthropic's messages.


def _whole_message(value: dict[str, Any]) -> Answered:
    if value.get("type") == "error":
        return Answered(is_whole=False)
    message = _message("messages", {"role": "assistant", "content": value.get("content")})
    choices = ((message,),) if message else ()
    return Answered(choices, _usage(value.get("usage")), _id(value.get("id")))


def _streamed_message(events: list[dict[str, Any]]) -> Answered:
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    answer_id, ended = "", False
    for event in events:
        kind, index = event.get("type"), _index(event)
        if kind == "message_start":
            started = _usage(event.get("message"))
            answer_id, usage = _id(started.get("id")), {**_usage(started.get("usage"))}
        elif kind == "content_block_start":
            blocks[index] = dict(_usage(event.get("content_block")))
        elif kind == "content_block_delta" and index in blocks:
            _grow_block(blocks[index], _usage(event.get("delta")))
        elif kind == "message_delta":
            usage = {**usage, **_usage(event.get("usage"))}
        elif kind == "message_stop":
            ended = True
    content = [_finished(blocks[index]) for index in sorted(blocks)]
    message = _message("messages", {"role": "assistant", "content": content})
    has_said = bool(message and message["blocks"])
    choices = ((message,),) if message and (has_said or ended) else ()
    return Answered(choices, usage, answer_id, ended)


# The pieces of a block, by the name of their delta, and the field that they become.
_GROWING = {"text": "text", "partial_json": "input"}


def _grow_block(block: dict[str, Any], delta: dict[str, Any]) -> None:
    for name in _GROWING:
        if isinstance(delta.get(name), str):
            block.setdefault(f"+{name}", []).append(delta[name])


def _finished(block: dict[str, Any]) -> dict[str, Any]:
    """A block with the text or input that arrived in pieces."""
    for name, field_name in _GROWING.items():
        pieces = block.pop(f"+{name}", None)
        if pieces:
            start = block.get(field_name) if name == "text" else ""
            block[field_name] = str(start or "") + "".join(pieces)
    return block


# OpenAI's responses.


def _whole_response(value: dict[str, Any]) -> Answered:
    read = history_of("responses", {"input": _list(value.get("output"))}).messages
    blocks = [block for message in read for block in message["blocks"]]
    choices = (tuple(read),) if blocks else ()
    is_whole = value.get("status") in ("completed", None)
    return Answered(choices, _usage(value.get("usage")), _id(value.get("id")), is_whole)


def _streamed_response(events: list[dict[str, Any]]) -> Answered:
    items: dict[int, dict[str, Any]] = {}
    pieces: dict[int, list[str]] = {}
    answer_id = ""
    for event in events:
        kind, index = event.get("type"), event.get("output_index")
        response = _usage(event.get("response"))
        answer_id = answer_id or _id(response.get("id"))
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            whole = _whole_response(response)
            if whole.choices or kind == "response.completed":
                return whole
        if not isinstance(index, int):
            continue
        if kind == "response.output_item.added":
            items[index] = dict(_usage(event.get("item")))
        elif kind == "response.output_item.done":
            items[index] = _usage(event.get("item"))
        elif kind == "response.output_text.delta" and isinstance(event.get("delta"), str):
            pieces.setdefault(index, []).append(event["delta"])
            items.setdefault(index, {"type": "message", "role": "assistant"})
    for index, texts in pieces.items():
        if items[index].get("status") != "completed":
            content = [{"type": "output_text", "text": "".join(texts)}]
            items[index] = {**items[index], "content": content}
    read = history_of("responses", {"input": [items[at] for at in sorted(items)]}).messages
    messages = tuple(message for message in read if message["blocks"])
    return Answered((messages,) if messages else (), {}, answer_id, is_whole=False)


_WHOLE = {
    "chat": _whole_chat,
    "completions": _whole_completion,
    "messages": _whole_message,
    "responses": _whole_response,
}
_STREAMS = {
    "chat": _streamed_chat,
    "completions": _streamed_completion,
    "messages": _streamed_message,
    "responses": _streamed_response,
}
