"""The messages of a request in one form, whatever the API, and the chain of hashes by which a
request finds its place in a tree. Pure.

A message is `{"role": "user" | "assistant" | "system", "blocks": [block, …]}`. A block is one of

    {"type": "text", "text": …, "attached": True}            without "attached": words of the author
    {"type": "image", "media_type": …, "data": base64}       data "" for an image by its address
    {"type": "tool_use", "id": …, "name": …, "input": …}
    {"type": "tool_result", "tool_use_id": …, "content": text, "is_error": bool, "images": number}

Thinking is left out: it stays in the stored call. `attached` are texts that stand in a message
without being its words: documents, and in words the uses and results of tools. `images` is how many
a result has beside its text, if it has any. Neither is hashed or stored.
"""

import base64
import binascii
import codecs
import hashlib
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeGuard
from urllib.parse import unquote

from loom.text.images import IMAGE_TOKENS
from loom.text.tokens import count

Block = dict[str, Any]
Message = dict[str, Any]
Shape = Literal["chat", "completions", "messages", "responses"]

THINKING = ("thinking", "redacted_thinking", "reasoning")
TEXTS = ("text", "input_text", "output_text")
IMAGES = ("image", "image_url", "input_image")
TEXT_TYPES = ("application/json", "application/xml", "application/yaml")
ROLES = ("user", "assistant", "system", "developer", "tool", "function")
CALLS = ("function_call", "custom_tool_call", "local_shell_call")
CALL_OUTPUTS = ("function_call_output", "custom_tool_call_output")
# The first text of Claude Code's system prompt, which its provider removes.
ATTRIBUTION = "x-anthropic-billing-header"
HIDDEN_TOKENS = 10  # of what stands in place of a hidden result, about
MOST_DIGITS = 767  # that a number of JSON has once it is read, in its longest form
MOST_BLOCK = 256 * 1024  # characters of a tool's result that a node keeps; the call has it whole


def printable(text: str) -> str:
    """The text with U+FFFD for what no node may hold: U+0000 and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace_lone").decode()


def _replacement(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "\ufffd".encode() * (error.end - error.start), error.end


codecs.register_error("replace_lone", _replacement)


@dataclass(frozen=True)
class ChatHistory:
    """What a request says: the text in front of the messages, and the messages."""

    system: str
    messages: tuple[Message, ...]


def history_of(shape: Shape, body: dict[str, Any]) -> ChatHistory:
    """The conversation in the body of a request. What cannot be read is left out."""
    if shape == "completions":
        return ChatHistory("", (_said("user", _prompt_of(body.get("prompt"))),))
    if shape == "messages":
        return ChatHistory(_words(body.get("system")), tuple(_anthropic(body.get("messages"))))
    if shape == "responses":
        system, messages = _leading(_items(body.get("input")))
        parts = [_words(body.get("instructions")), system]
        return ChatHistory("\n\n".join(filter(None, parts)), messages)
    return ChatHistory(*_leading(_chat(body.get("messages"))))


def _leading(messages: Iterable[Message]) -> tuple[str, tuple[Message, ...]]:
    """(the text of the system messages at the start, the others)."""
    listed = list(messages)
    count = next(
        (i for i, message in enumerate(listed) if message["role"] != "system"), len(listed)
    )
    return "\n\n".join(text_of(message) for message in listed[:count]), tuple(listed[count:])


def lead_of(items: list[Any]) -> int:
    """How many items of OpenAI's responses stand in front of the conversation: messages of the
    system or the developer, such as those of Codex."""
    roles = ("system", "developer")
    is_lead = (
        isinstance(item, dict)
        and item.get("type", "message") == "message"
        and item.get("role") in roles
        for item in items
    )
    return next((place for place, leads in enumerate(is_lead) if not leads), len(items))


def previous_answer_in(body: Mapping[str, Any]) -> str:
    """The id of the answer that a request of OpenAI's responses continues; "" if it names none."""
    previous = body.get("previous_response_id")
    return printable(previous)[:128] if isinstance(previous, str) else ""


def conversation_in(shape: Shape, body: Mapping[str, Any]) -> str:
    """The id of the conversation that a provider of OpenAI's responses keeps for a request, as is
    known of its `body`; "" if it names none. What was said there before is not sent again."""
    given = body.get("conversation") if shape == "responses" else None
    if isinstance(given, dict):
        given = given.get("id")
    return printable(given)[:256] if isinstance(given, str) else ""


def conversation_digest(conversation: str) -> str:
    """Under which place in the chain a tree has the newest answer of such a conversation."""
    return hashlib.sha256(f"conversation\n{conversation}".encode()).hexdigest()


def key_of(shape: Shape) -> str:
    """Under which name a request has its messages."""
    return "input" if shape == "responses" else "messages"


def places_of(shape: Shape, raws: list[Any]) -> list[int]:
    """Where each message of a history is in the list of a request's own messages."""
    read = {"chat": _chat, "messages": _anthropic, "responses": _items}[shape]
    placed = [(place, message) for place, raw in enumerate(raws) for message in read([raw])]
    if shape != "messages":
        roles = [message["role"] for _, message in placed]
        placed = placed[
            next((n for n, role in enumerate(roles) if role != "system"), len(placed)) :
        ]
    return [place for place, _ in placed]


def _said(role: str, text: str) -> Message:
    return {"role": role, "blocks": [{"type": "text", "text": printable(text)}] if text else []}


def text_of(message: Message) -> str:
    """The words of a message."""
    return "".join(block["text"] for block in message["blocks"] if block["type"] == "text")


def _prompt_of(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str):
        return prompt[0]
    return ""


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _words(content: Any) -> str:
    """The text of a content, which is a text or a list of blocks."""
    if isinstance(content, str):
        return printable(content)
    texts = (part.get("text") for part in _dicts(content))
    kept = (text for text in texts if isinstance(text, str) and not text.startswith(ATTRIBUTION))
    return printable("\n\n".join(kept))


# OpenAI's chat.


def _chat(messages: Any) -> Iterator[Message]:
    for raw in _dicts(messages):
        role = raw.get("role")
        if role in ("tool", "function"):
            result = _result(raw.get("tool_call_id") or raw.get("name"), raw.get("content"))
            yield {"role": "user", "blocks": [result]}
            continue
        if role not in ("user", "assistant", "system", "developer"):
            continue
        blocks = list(_blocks(raw.get("content")))
        if isinstance(raw.get("refusal"), str) and raw["refusal"]:
            blocks.append({"type": "text", "text": printable(raw["refusal"])})
        for call in _dicts(raw.get("tool_calls")):
            given = call.get("function")
            function = given if isinstance(given, dict) else {}
            blocks.append(_use(call.get("id"), function.get("name"), function.get("arguments")))
        yield {"role": "system" if role == "developer" else str(role), "blocks": blocks}


# Anthropic's messages.


def _anthropic(messages: Any) -> Iterator[Message]:
    for raw in _dicts(messages):
        if raw.get("role") in ("user", "assistant", "system"):
            yield {"role": raw["role"], "blocks": list(_blocks(raw.get("content")))}


# OpenAI's responses.


def _items(given: Any) -> Iterator[Message]:
    if isinstance(given, str):
        yield _said("user", given)
    for raw in _dicts(given):
        kind = raw.get("type", "message")
        if kind == "message":
            role = raw.get("role")
            role = "system" if role == "developer" else role
            if role in ("user", "assistant", "system"):
                yield {"role": role, "blocks": list(_blocks(raw.get("content")))}
        elif kind in CALLS:
            given = raw.get("arguments", raw.get("input", raw.get("action")))
            use = _use(raw.get("call_id") or raw.get("id"), raw.get("name") or kind, given)
            yield {"role": "assistant", "blocks": [use]}
        elif kind in CALL_OUTPUTS:
            yield {"role": "user", "blocks": [_result(raw.get("call_id"), raw.get("output"))]}


# Blocks of all three.


def _blocks(content: Any) -> Iterator[Block]:
    if isinstance(content, str):
        if content:
            yield {"type": "text", "text": printable(content)}
        return
    for part in _dicts(content):
        kind = part.get("type")
        if kind in THINKING:
            continue
        if kind in TEXTS:
            if isinstance(part.get("text"), str) and part["text"]:
                yield {"type": "text", "text": printable(part["text"])}
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            yield _use(part.get("id"), part.get("name"), part.get("input"))
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            yield _result(part.get("tool_use_id"), part.get("content"), bool(part.get("is_error")))
        elif kind in IMAGES:
            yield _image(part)
        else:
            text = _document(part)
            if text is None:
                text = f"[{printable(str(kind))[:40]}]"
            yield _attached(text)


def _attached(text: str) -> Block:
    return {"type": "text", "text": text, "attached": True}


def _document(part: dict[str, Any]) -> str | None:
    """A part that is a text of its own (a document, a file, a search result) with its name above;
    None if it has no text that can be read here."""
    kind, text, name = part.get("type"), None, part.get("title")
    if kind == "document":
        given = part.get("source")
        text = _source_text(given if isinstance(given, dict) else {})
    elif kind == "search_result":
        text = _words(part.get("content"))
        name = " · ".join(str(part[key]) for key in ("title", "source") if part.get(key))
    elif kind in ("file", "input_file"):
        given = part.get("file") if kind == "file" else part
        file = given if isinstance(given, dict) else {}
        text, name = _text_in(file.get("file_data")), file.get("filename")
    if text is None:
        return None
    return f"[document{f': {printable(str(name))}' if name else ''}]\n{printable(text)}\n\n"


def _source_text(source: dict[str, Any]) -> str | None:
    """The text of an Anthropic document; None for one that is no text, or is named by address."""
    data = source.get("data")
    if source.get("type") == "text" and isinstance(data, str):
        return data
    if source.get("type") == "content":
        parts = list(_dicts(source.get("content")))
        is_text = all(part.get("type") in TEXTS for part in parts)
        return _words(source.get("content")) if is_text else None
    if source.get("type") == "base64":
        return _text_in(f"data:{source.get('media_type')};base64,{data}")
    return None


def _text_in(url: Any) -> str | None:
    """The text of a data URL; None for anything else."""
    if not _is_data(url):
        return None
    media_type, is_base64, data = _data_in(url)
    media_type = media_type.lower()
    if not media_type.startswith("text/") and media_type not in TEXT_TYPES:
        return None
    try:
        raw = base64.b64decode(data, validate=True) if is_base64 else unquote(data)
        return raw.decode() if isinstance(raw, bytes) else raw
    except (ValueError, binascii.Error):
        return None


def _is_data(url: Any) -> TypeGuard[str]:
    return isinstance(url, str) and url.startswith("data:")


def _data_in(url: str) -> tuple[str, bool, str]:
    """The media type of a data URL, whether its data are in base64, and the data."""
    head, _, data = url.removeprefix("data:").partition(",")
    return head.partition(";")[0], head.endswith(";base64"), data


# What of a request cannot be read as words.


def unread_in(shape: Shape, body: Mapping[str, Any]) -> list[str]:
    """What a node cannot hold of the messages of a request, by its kind: files that are no texts,
    sound, images by their address, items that the provider keeps."""
    if shape == "completions":
        return []
    items = body.get(key_of(shape))
    return [kind for item in _dicts(items) for kind in _unread_item(shape, item)]


def _unread_item(shape: Shape, item: dict[str, Any]) -> Iterator[str]:
    kind = item.get("type", "message") if shape == "responses" else "message"
    if kind == "message":
        if item.get("role") not in ROLES:
            yield f"role {printable(str(item.get('role')))[:40]}"
        is_result = item.get("role") in ("tool", "function")
        yield from _unread_parts(item.get("content"), is_result=is_result)
    elif kind in CALL_OUTPUTS:
        yield from _unread_parts(item.get("output"), is_result=True)
    elif kind not in CALLS and kind not in THINKING:
        yield printable(str(kind))[:40]


def _unread_parts(content: Any, *, is_result: bool = False) -> Iterator[str]:
    for part in _dicts(content):
        kind = str(part.get("type"))
        if kind.endswith("tool_result"):
            yield from _unread_parts(part.get("content"), is_result=True)
        elif kind in IMAGES:
            if is_result:
                yield f"{kind} in the result of a tool"
            elif not _image(part)["data"]:
                yield f"{kind} by its address"
        elif kind in (*TEXTS, *THINKING) or kind.endswith("tool_use"):
            continue
        elif _document(part) is None:
            yield printable(kind)[:40]


def worded(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with the uses of tools and their results in words, for a model that has no
    tools."""
    names: dict[str, str] = {}
    return tuple(
        {**message, "blocks": [_worded(block, names) for block in message["blocks"]]}
        for message in messages
    )


def _worded(block: Block, names: dict[str, str]) -> Block:
    """A block in words; `names` are those of the tools used before, by the id of the use."""
    if block["type"] == "tool_use":
        names[block["id"]] = block["name"]
        given = json.dumps(block["input"], ensure_ascii=False)
        return _attached(f"\n[uses {block['name']} {given}]\n")
    if block["type"] == "tool_result":
        name = names.get(block["tool_use_id"]) or block["tool_use_id"]
        head = f"failure of {name}" if block["is_error"] else f"result of {name}"
        return _attached(f"\n[{head}]\n{block['content']}\n")
    return block


def parted(message: Message) -> tuple[str, list[Block]]:
    """(the words of a person in a message, the blocks of it that are none: images, and what is
    attached). What a model said has no words of a person."""
    if message["role"] == "assistant":
        return "", list(message["blocks"])
    is_own = [block["type"] == "text" and not block.get("attached") for block in message["blocks"]]
    pairs = list(zip(message["blocks"], is_own, strict=True))
    words = "".join(block["text"] for block, own in pairs if own)
    return words, [block for block, own in pairs if not own]


def _use(given_id: Any, name: Any, arguments: Any) -> Block:
    """A tool's use; arguments that are JSON as text are read, so that spaces make no difference."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = printable(arguments)
    return {
        "type": "tool_use",
        "id": printable(str(given_id or "")),
        "name": printable(str(name or "")),
        "input": clean(arguments),
    }


def _result(given_id: Any, content: Any, is_error: bool = False) -> Block:
    texts, images = [], 0
    for block in _blocks(content):
        texts.append(block["text"] if block["type"] == "text" else f"[{block['type']}]")
        images += block["type"] == "image"
    return {
        "type": "tool_result",
        "tool_use_id": printable(str(given_id or "")),
        "content": "\n".join(texts),
        "is_error": is_error,
        **({"images": images} if images else {}),
    }


def image_data(part: dict[str, Any]) -> str:
    """The base64 of a part that is an image; "" for one by its address."""
    return str(_image(part)["data"])


def _image(part: dict[str, Any]) -> Block:
    given = part.get("source")
    source = given if isinstance(given, dict) else {}
    data, media_type = source.get("data"), source.get("media_type")
    url = part.get("image_url")
    url = url.get("url") if isinstance(url, dict) else url
    if _is_data(url):
        media_type, _, data = _data_in(url)
    return {
        "type": "image",
        "media_type": printable(str(media_type or "")),
        "data": data if isinstance(data, str) else "",
    }


def clean(value: Any, depth: int = 0) -> Any:
    """JSON without what the database cannot store; nested more than 60 deep it becomes text."""
    if isinstance(value, str):
        return printable(value)
    if depth > 60:
        return "…"
    if isinstance(value, dict):
        return {printable(str(key)): clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


# The body of a request, which may hold what is not JSON: lone surrogates, NaN and Infinity.


def storable(body: dict[str, Any]) -> dict[str, Any]:
    """The body as it is stored, so that everybody can read it as JSON: U+FFFD for lone surrogates,
    a text such as "nan" for numbers that are none. Itself if it has neither."""
    return body if _raw(body) is not None else clean(body)


def raw_of(body: dict[str, Any]) -> bytes:
    """The body as JSON for a provider: lone surrogates as escapes, as the program wrote them; a
    text for numbers that are none."""
    raw = _raw(body)
    if raw is not None:
        return raw
    return json.dumps(_with_numbers(body), separators=(",", ":")).encode()


class _OtherwiseError(Exception):
    """JSON would say something else if it were written again."""


def can_be_written_again(raw: bytes) -> bool:
    """Whether JSON says the same once it is read and written again: no number loses digits of its
    own, is too large or none, and no object has a key twice."""
    try:
        json.loads(
            raw, parse_float=_exact, parse_constant=_refused, object_pairs_hook=_with_each_key
        )
    except (_OtherwiseError, ArithmeticError, ValueError, RecursionError):
        return False
    return True


def _exact(written: str) -> float:
    """The number, if it is one that JSON is read to: in its shortest form, or with more digits, as
    many programs print it (0.10000000000000001)."""
    value, decimal = float(written), Decimal(written)
    digits = len(decimal.as_tuple().digits)
    if not math.isfinite(value) or digits > MOST_DIGITS:
        raise _OtherwiseError
    if decimal not in (Decimal(repr(value)), Decimal(f"{value:.{digits}g}")):
        raise _OtherwiseError
    return value


def _refused(_: str) -> None:
    raise _OtherwiseError


def _with_each_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _OtherwiseError
    return value


def _raw(body: dict[str, Any]) -> bytes | None:
    """The body in UTF-8; None if that is impossible."""
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except ValueError:
        return None


def _with_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


# The chain.


def canonical(message: Message) -> str:
    """A message as it is hashed: without blanks around its texts, which programs change when they
    send an answer back, and with neighbouring texts joined."""
    kept: list[Block] = []
    for block in message["blocks"]:
        if block["type"] == "text" and kept and kept[-1]["type"] == "text":
            kept[-1] = {"type": "text", "text": kept[-1]["text"] + block["text"]}
        else:
            kept.append(dict(block))
    for block in kept:
        if block["type"] == "text":
            block["text"] = block["text"].strip()
            block.pop("attached", None)
        if block["type"] == "tool_result":
            block.pop("images", None)
        if block["type"] == "image":
            block["data"] = hashlib.sha256(block["data"].encode()).hexdigest()
    kept = [block for block in kept if block["type"] != "text" or block["text"]]
    content = {"role": message["role"], "blocks": kept}
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def chain(messages: Iterable[Message], before: str = "") -> list[str]:
    """A hash for each message, which covers it and all before it; `before` is that of the message
    in front of the first."""
    digests = []
    for message in messages:
        text = canonical(message).encode(errors="replace")
        before = hashlib.sha256(before.encode() + b"\n" + text).hexdigest()
        digests.append(before)
    return digests


def hash_of(message: Message) -> str:
    """A hash of the message alone, whatever stands before it."""
    return hashlib.sha256(canonical(message).encode(errors="replace")).hexdigest()[:32]


def size_of(message: Message, hidden: Collection[str]) -> int:
    """About how many tokens a message has, where these results are `hidden`."""
    size = 0
    for block in message["blocks"]:
        if block["type"] == "tool_result":
            is_sent = block["tool_use_id"] not in hidden
            size += size_of_result(block) if is_sent else HIDDEN_TOKENS
        elif block["type"] == "tool_use":
            size += count(block["name"] + json.dumps(block["input"], ensure_ascii=False))
        else:
            size += count(block["text"]) if block["type"] == "text" else IMAGE_TOKENS
    return size


def size_of_result(block: Block) -> int:
    """About how many tokens the result of a tool has, with its images."""
    return count(block["content"]) + IMAGE_TOKENS * int(block.get("images", 0))


# As a node keeps a message.


def content_of(message: Message) -> list[Block]:
    """The message's blocks as a node keeps them: images as text by then, long results cut."""
    return [_shortened(block) for block in message["blocks"]]


def _shortened(block: Block) -> Block:
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]}
    if block["type"] != "tool_result":
        return block
    block = {key: value for key, value in block.items() if key != "images"}
    if len(block["content"]) <= MOST_BLOCK:
        return block
    rest = len(block["content"]) - MOST_BLOCK
    text = f"{block['content'][:MOST_BLOCK]}\n… {rest:,} more characters are in the call"
    return {**block, "content": text}
