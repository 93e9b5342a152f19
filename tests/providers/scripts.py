"""The answers of a scripted provider: one script for each request, in plain values."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

HOLD = "\x00hold"  # in place of a piece: wait until somebody releases
STALL = "\x00stall"  # in place of a piece: never go on
CUT = "\x00cut"  # in place of a piece: drop the connection


@dataclass(frozen=True)
class Script:
    """One answer. `pieces` are texts (or bytes, sent as they are, framed as one chunk);
    `rate` pieces a second (0: as fast as it goes); `forever` repeats the last piece."""

    pieces: tuple[str | bytes, ...] = ()
    rate: float = 0
    forever: bool = False
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None  # instead of a stream
    finish: str | None = "stop"
    usage: dict[str, Any] | None = None
    done: bool = True
    chunked: bool = True
    before_s: float = 0


def tokens(count: int, rate: float = 0, word: str = "word") -> Script:
    """`count` tokens at `rate` a second: `word1 word2 …`."""
    return Script(tuple(f"{word}{n} " for n in range(1, count + 1)), rate=rate, usage=used(count))


def says(*pieces: str | bytes, **more: Any) -> Script:
    """These pieces, one event each."""
    return replace(Script(pieces, usage=used(len(pieces))), **more)


def used(count: int) -> dict[str, Any]:
    """The usage an OpenAI-shaped server counts."""
    return {"prompt_tokens": 7, "completion_tokens": count, "total_tokens": 7 + count}


def nothing() -> Script:
    """A whole answer without any text."""
    return Script(usage=used(0))


def stalls(*pieces: str) -> Script:
    """Some pieces, then silence."""
    return Script((*pieces, STALL))


def holds(*pieces: str | bytes) -> Script:
    """Pieces among which HOLD waits for `release`."""
    return Script(pieces, usage=used(len(pieces)))


def cuts(*pieces: str) -> Script:
    """Some pieces, then the connection is gone."""
    return Script((*pieces, CUT))


def never_ends(rate: float = 0, word: str = "on ") -> Script:
    """One word again and again until the other side goes away."""
    return Script((word,), rate=rate, forever=True)


def fails(status: int, message: str = "", *, retry_after: str = "", code: str = "") -> Script:
    """An error body with its status."""
    headers = (("retry-after", retry_after),) if retry_after else ()
    error = {"error": {"message": message or f"scripted {status}", "type": code or "scripted"}}
    return Script(status=status, headers=headers, body=json.dumps(error).encode())


def redirects(to: str, status: int = 302) -> Script:
    """A redirect."""
    return Script(status=status, headers=(("location", to),), body=b"")


def raw(body: bytes, *, kind: str = "text/event-stream", status: int = 200) -> Script:
    """Exactly this body."""
    return Script(status=status, headers=(("content-type", kind),), body=body)


def huge(size: int) -> Script:
    """One JSON body of `size` bytes."""
    return raw(b'{"x":"' + b"x" * (size - 8) + b'"}', kind="application/json")


@dataclass(frozen=True)
class Seen:
    """A request as it arrived, byte for byte."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    head: bytes = field(default=b"", repr=False)

    def header(self, name: str) -> str:
        """The value of a header, "" if it was not sent."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def event(value: Any) -> bytes:
    """One server-sent event."""
    data = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"data: {data}\n\n".encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Shape:
    """Writes pieces in the shape of a chat or of a completion, for one or many candidates."""

    is_chat: bool
    model: str
    indexes: tuple[int, ...] = (0,)

    def _event(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        name = "chat.completion.chunk" if self.is_chat else "text_completion"
        return event({"id": "scripted-1", "object": name, "model": self.model,
                      "choices": choices, **more})  # fmt: skip

    def piece(self, text: str) -> bytes:
        """One piece of text."""
        inner: dict[str, Any] = {"delta": {"content": text}} if self.is_chat else {"text": text}
        return b"".join(
            self._event([{"index": index, **inner, "finish_reason": None}])
            for index in self.indexes
        )

    def begin(self) -> bytes:
        """Nothing comes before the first text."""
        return b""

    def end(self, script: Script) -> bytes:
        """Finish, usage and [DONE], as far as the script sends them."""
        frames = b""
        if script.finish is not None:
            inner: dict[str, Any] = {"delta": {}} if self.is_chat else {"text": ""}
            frames += b"".join(
                self._event([{"index": index, **inner, "finish_reason": script.finish}])
                for index in self.indexes
            )
        if script.usage is not None:
            frames += self._event([], usage=script.usage)
        return frames + (event("[DONE]") if script.done else b"")

    def whole(self, script: Script) -> bytes:
        """The answer where no stream was asked for."""
        text = "".join(piece for piece in script.pieces if isinstance(piece, str))
        inner: dict[str, Any] = (
            {"message": {"role": "assistant", "content": text}} if self.is_chat else {"text": text}
        )
        choice = {"index": 0, **inner, "finish_reason": script.finish}
        return json.dumps({"choices": [choice], "usage": script.usage}).encode()
