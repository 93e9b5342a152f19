"""The text of a streamed answer while it comes. Each piece is read once, whatever came before."""

import json
from typing import Any

from agents.gateway.messages import Shape, printable

MOST_WAITING = 1024 * 1024  # bytes without an end of an event, after which nothing more is read


class GrowingText:
    """Reads the pieces of an answer as they arrive, and keeps the words of its first choice."""

    def __init__(self, shape: Shape, content_type: str) -> None:
        self._shape = shape
        is_stream = content_type.partition(";")[0].strip().lower() == "text/event-stream"
        self._is_read = is_stream
        self._line = bytearray()
        self._kept: list[str] = []

    @property
    def text(self) -> str:
        """All words so far."""
        if len(self._kept) > 1:
            self._kept = ["".join(self._kept)]
        return self._kept[0] if self._kept else ""

    def add(self, piece: bytes) -> str:
        """Reads a piece; returns the words that it brings."""
        if not self._is_read:
            return ""
        first, *rest = piece.replace(b"\r", b"\n").split(b"\n")
        self._line += first
        lines = []
        for following in rest:
            lines.append(bytes(self._line))
            self._line = bytearray(following)
        if len(self._line) > MOST_WAITING:
            self._is_read, self._line = False, bytearray()
        brought = "".join(self._words(line) for line in lines if line.startswith(b"data:"))
        if brought:
            self._kept.append(brought)
        return brought

    def _words(self, line: bytes) -> str:
        try:
            event = json.loads(line[5:])
        except (ValueError, RecursionError):
            return ""
        words = words_of(self._shape, event) if isinstance(event, dict) else ""
        return printable(words)


def words_of(shape: Shape, event: dict[str, Any]) -> str:
    """The words that an event of a stream adds to the first choice. Pure."""
    words: Any = ""
    if shape in ("chat", "completions"):
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(first, dict) and not first.get("index"):
            delta = first.get("delta")
            words = delta.get("content") if isinstance(delta, dict) else first.get("text")
    elif shape == "messages" and event.get("type") == "content_block_delta":
        delta = event.get("delta")
        words = delta.get("text") if isinstance(delta, dict) else ""
    elif shape == "responses" and event.get("type") == "response.output_text.delta":
        words = event.get("delta")
    return words if isinstance(words, str) else ""
