"""What a scripted provider writes in Anthropic's shape, and how it keeps prefixes."""

import json
from dataclasses import dataclass
from typing import Any

from tests.providers.scripts import Script

REASONS = {"stop": "end_turn", "length": "max_tokens"}


@dataclass
class Prefixes:
    """A cache of prompts, counted as a quarter of their characters: of a request, what an
    earlier one sent up to a mark is read from it, what is new up to its last mark is kept, and
    there for others once the answer has begun."""

    kept: set[str]

    def counts(self, asked: dict[str, Any]) -> tuple[dict[str, int], tuple[str, ...]]:
        """The usage of a request's prompt, and what is to be kept of it."""
        text, marks = "", []
        system = asked.get("system") or []
        holders = [{"content": system}, *asked.get("messages", [])]
        for holder in holders:
            content = holder["content"]
            for part in content if isinstance(content, list) else [{"text": content}]:
                text += part.get("text", "")
                if "cache_control" in part:
                    marks.append(text)
        read = max((len(prefix) for prefix in self.kept if text.startswith(prefix)), default=0)
        last = len(marks[-1]) if marks else 0
        counts = {
            "input_tokens": (len(text) - max(read, last)) // 4,
            "cache_read_input_tokens": read // 4,
            "cache_creation_input_tokens": max(last - read, 0) // 4,
        }
        return counts, tuple(marks)


def _event(value: dict[str, Any]) -> bytes:
    data = json.dumps(value, ensure_ascii=False)
    return f"event: {value['type']}\ndata: {data}\n\n".encode("utf-8", "surrogatepass")


def tool_blocks(
    name: str, given: dict[str, Any], result: Any, *, kind: str = "", at: int = 1, **more: Any
) -> bytes:
    """The blocks of a tool that the provider runs, after the text block before `at`: its use, whose
    input arrives in pieces, its result (None: none comes), and a text block that begins."""
    text = json.dumps(given, ensure_ascii=False)
    use = {"type": "server_tool_use", "id": f"srvtoolu_{at}", "name": name, "input": {}, **more}
    frames = [
        {"type": "content_block_stop", "index": at - 1},
        {"type": "content_block_start", "index": at, "content_block": use},
        *(
            {
                "type": "content_block_delta",
                "index": at,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in ("", text[:7], text[7:])
        ),
        {"type": "content_block_stop", "index": at},
    ]
    if result is not None:
        block = {
            "type": kind or f"{name}_tool_result",
            "tool_use_id": f"srvtoolu_{at}",
            "content": result,
        }
        frames += [
            {"type": "content_block_start", "index": at + 1, "content_block": block},
            {"type": "content_block_stop", "index": at + 1},
        ]
    begun = {"type": "text", "text": ""}
    frames.append({"type": "content_block_start", "index": at + 2, "content_block": begun})
    return b"".join(map(_event, frames))


def web_search(query: str, *pages: tuple[str, str], at: int = 1) -> bytes:
    """The blocks of a web search that found pages, each with its title and address."""
    results = [
        {
            "type": "web_search_result",
            "title": title,
            "url": url,
            "encrypted_content": "SECRET",
            "page_age": "April 30, 2026",
        }
        for title, url in pages
    ]
    return tool_blocks("web_search", {"query": query}, results, at=at)


@dataclass(frozen=True)
class Messages:
    """Writes pieces as the events of one message. `counts` is the usage of its prompt, `marks`
    what is kept of it."""

    model: str
    counts: dict[str, int]
    marks: tuple[str, ...] = ()

    def begin(self) -> bytes:
        """The events before the first text; a server may say ping at any time."""
        usage = {**self.counts, "output_tokens": 1}
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": self.model,
            "stop_reason": None,
            "usage": usage,
        }
        block = {"type": "text", "text": ""}
        return (
            _event({"type": "message_start", "message": message})
            + _event({"type": "content_block_start", "index": 0, "content_block": block})
            + _event({"type": "ping"})
        )

    def piece(self, text: str) -> bytes:
        """One piece of text."""
        delta = {"type": "text_delta", "text": text}
        return _event({"type": "content_block_delta", "index": 0, "delta": delta})

    def end(self, script: Script) -> bytes:
        """The end of the block and of the message, as far as the script sends them."""
        frames = _event({"type": "content_block_stop", "index": 0})
        if script.finish is not None:
            delta = {"stop_reason": REASONS.get(script.finish, script.finish)}
            counted = script.usage or {}
            usage = {"output_tokens": counted.get("completion_tokens", 0)}
            usage |= {name: counted[name] for name in ("server_tool_use",) if name in counted}
            frames += _event({"type": "message_delta", "delta": delta, "usage": usage})
        return frames + (_event({"type": "message_stop"}) if script.done else b"")

    def whole(self, script: Script) -> bytes:
        """The answer where no stream was asked for."""
        text = "".join(piece for piece in script.pieces if isinstance(piece, str))
        written = (script.usage or {}).get("completion_tokens", 0)
        usage = {**self.counts, "output_tokens": written}
        return json.dumps({
            "id": "msg_1", "type": "message", "role": "assistant", "model": self.model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": REASONS.get(script.finish or "", script.finish), "usage": usage,
        }).encode()  # fmt: skip
