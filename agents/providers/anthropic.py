"""The Anthropic-shaped API: messages, streamed or whole."""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping
from functools import partial
from typing import Any

from agents.providers.attempt import (
    DONE,
    NAMED,
    Cleaner,
    Part,
    error_of,
    events_of,
    in_each_part,
    parts_of,
    refusal,
    value_of,
    with_images,
    without_images,
)
from agents.providers.tool_uses import ToolBlocks, tools_counted
from agents.providers.transport import Exchange, Outgoing
from agents.providers.values import (
    Body,
    Delta,
    Failure,
    Finished,
    Picture,
    ProviderRequest,
    StreamEvent,
    Usage,
    of_words,
)
from loom.text.images import described

VERSION = "2023-06-01"
MAX_TOKENS = 1024  # this API requires a number
JOINT = "\n\n"
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
_KEPT: Body = {"type": "ephemeral"}  # the provider caches everything up to here


class Anthropic:
    """`/messages`. A prompt without roles is sent as one user message."""

    name = "anthropic"
    is_exact = True

    def body(self, ask: ProviderRequest) -> Body:
        """The JSON of the request: system text apart, and cache marks where a prefix may be
        kept."""
        messages = ask.messages or ({"role": "user", "content": ask.prompt or ""},)
        system = JOINT.join(
            message["content"] for message in messages if message["role"] == "system"
        )
        system = described(system) if ask.images else system
        dialogue = with_images(
            (message for message in messages if message["role"] != "system"), ask, _image
        )
        if dialogue and dialogue[-1]["role"] == "assistant":  # refused if it ends with blanks
            dialogue[-1]["content"] = dialogue[-1]["content"].rstrip()
        body: Body = {
            "model": ask.model,
            "max_tokens": ask.max_tokens or MAX_TOKENS,
            "messages": _in_blocks(ask) or _marked(dialogue),
            "stream": True,
        }
        if system:
            body["system"] = [{"type": "text", "text": system, "cache_control": _KEPT}]
        if ask.temperature is not None:
            body["temperature"] = min(ask.temperature, 1)
        body |= {name: ask.samplers[name] for name in ("top_p", "top_k") if name in ask.samplers}
        # Stop sequences of only blanks are refused by this API.
        if stops := [stop for stop in ask.stop if stop.strip()]:
            body["stop_sequences"] = stops
        if ask.tools and ask.messages is not None:
            body["tools"] = list(ask.tools)
        return body

    def outgoing(self, ask: ProviderRequest, body: Body) -> Outgoing:
        """The request including its key."""
        headers = {"anthropic-version": VERSION}
        if ask.key and ask.auth == "basic":
            headers["authorization"] = ask.authorization
        elif ask.key:
            headers["x-api-key"] = ask.key
        whole = in_each_part(body, partial(_filled, ask.images)) if ask.images else body
        return Outgoing.of_json(f"{ask.base_url.rstrip('/')}/messages", headers, whole)

    async def events(self, exchange: Exchange) -> AsyncGenerator[StreamEvent, None]:
        """Text, the end and usage as they arrive; a failure comes last. May raise Broken."""
        if exchange.status != 200:
            yield await refusal(exchange)
            return
        reader = _Reader()
        async for data in events_of(exchange):
            if data == DONE:
                continue
            for event in reader.read(data):
                yield event
                if isinstance(event, Failure):
                    return
        for event in reader.end():
            yield event

    def adjusted(self, body: Body, failure: Failure) -> Body | None:
        """The body without cache marks, for servers that do not know them, or without a
        temperature, which some models refuse, or without images; None if none of them is the
        reason."""
        if failure.kind != "invalid":
            return None
        if "cache_control" in failure.said and "cache_control" in json.dumps(body):
            return _unmarked(body)
        if "temperature" in failure.said and "temperature" in body:
            return {key: value for key, value in body.items() if key != "temperature"}
        return without_images(body, failure)


def _image(sha256: str, image: Picture) -> Part:
    source = {"type": "base64", "media_type": image.media_type, "data": f"{NAMED}{sha256}"}
    return {"type": "image", "source": source}


def _filled(images: Mapping[str, Picture], part: Part) -> Part:
    """The part with the bytes of the image that it names."""
    if part["type"] != "image":
        return part
    source = part["source"]
    return {**part, "source": {**source, "data": images[source["data"].removeprefix(NAMED)].data}}


def _in_blocks(ask: ProviderRequest) -> list[dict[str, Any]]:
    """Messages with their blocks sent one by one; those that end a prefix to cache are marked."""
    wanted = set(ask.images)
    blocked = []
    for message in ask.blocks:
        content: list[Part] = []
        for place, text in enumerate(message.texts, 1):
            has_images = bool(ask.images) and message.role == "user"
            some = parts_of(text, wanted, ask, _image) if has_images else []
            words = described(text) if ask.images else text
            content += some or [{"type": "text", "text": words}]
            if place in message.kept:
                content[-1]["cache_control"] = _KEPT
        blocked.append({"role": message.role, "content": content})
    return blocked


def _marked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, with the last one and the last but two marked: the next call on the same path,
    and the siblings of this one, read the same prefix."""
    for at in {len(messages) - 1, len(messages) - 3}:
        if at >= 0 and messages[at]["content"]:
            content = messages[at]["content"]
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            parts = [*parts[:-1], {**parts[-1], "cache_control": _KEPT}]
            messages[at] = {**messages[at], "content": parts}
    return messages


def _unmarked(body: Body) -> Body:
    text: Any = json.loads(json.dumps(body))
    for holder in (*text["messages"], {"content": text.get("system")}):
        for part in holder["content"] if isinstance(holder["content"], list) else ():
            part.pop("cache_control", None)
    return dict(text)


class _Reader:
    """Reads the events of one answer."""

    def __init__(self) -> None:
        self._cleaner = Cleaner()
        self._tools = ToolBlocks()
        self._counts: dict[str, int] = {}
        self._tools_counted: dict[str, int] = {}
        self._has_ended = False
        self._has_begun = False

    def read(self, data: str) -> Iterator[StreamEvent]:
        """The events that one chunk reports. Thinking is not text; it stays in the stored bytes."""
        value = value_of(data)
        if not isinstance(value, dict):
            yield Failure("server", "an event of the answer is not a JSON object")
            return
        if value.get("type") == "error":
            yield _failure(value)
        elif value.get("type") == "message":
            yield from self._whole(value)
        elif value.get("type") == "content_block_start":
            yield from self._text(value.get("content_block"), "text")
            yield from self._tools.begin(value.get("index"), value.get("content_block"))
        elif value.get("type") == "content_block_delta":
            self._tools.grow(value.get("index"), value.get("delta"))
            yield from self._text(value.get("delta"), "text_delta")
        elif value.get("type") in ("message_start", "message_delta"):
            self._has_begun = True
            yield from self._head(value)

    def _head(self, value: dict[str, Any]) -> Iterator[StreamEvent]:
        message = value.get("message") if isinstance(value.get("message"), dict) else value
        self._count(message.get("usage") if isinstance(message, dict) else None)
        delta = value.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        if reason:
            yield from self._ended(str(reason))

    def _whole(self, message: dict[str, Any]) -> Iterator[StreamEvent]:
        self._count(message.get("usage"))
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            yield from self._text(block, "text")
            yield from self._tools.begin(None, block)
        yield from self._ended(str(message.get("stop_reason") or "end_turn"))

    def _text(self, part: Any, kind: str) -> Iterator[StreamEvent]:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == kind else None
        if isinstance(text, str) and (clean := self._cleaner.clean(text)):
            yield Delta(clean)

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._counts |= {
                name: usage[name] for name in _COUNTS if isinstance(usage.get(name), int)
            }
            self._tools_counted |= tools_counted(usage)

    def _ended(self, reason: str) -> Iterator[StreamEvent]:
        self._has_ended = True
        if rest := self._cleaner.rest():
            yield Delta(rest)
        yield from self._tools.end()
        if self._counts:
            yield Usage(dict(self._counts), tools=self._tools_counted)
        if reason == "refusal":
            yield Failure("filtered")
        else:
            yield Finished(0, "length" if reason == "max_tokens" else reason)

    def end(self) -> Iterator[StreamEvent]:
        """The end of the answer, if the answer did not report it."""
        if self._has_ended:
            return
        if rest := self._cleaner.rest():
            yield Delta(rest)
        yield from self._tools.end()
        if self._has_begun:
            yield Failure("network", "the connection ended before the answer did")
        else:
            yield Failure("server", "the answer was empty")


def _failure(value: dict[str, Any]) -> Failure:
    message, code = error_of(value)
    if "overloaded" in code:
        return Failure("server", message or "overloaded")
    return of_words(message, code)
