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
            usage = {"output_tokens": (script.usage or {}).get("completion_tokens", 0)}
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
