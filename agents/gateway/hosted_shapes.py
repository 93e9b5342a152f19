"""The shapes in which a program gets the answer of an agent: OpenAI's chat, completions and
responses, and Anthropic's messages, each whole and as a stream. Pure."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agents.gateway.messages import Shape
from loom.participants.prices import TokenCounts

Ending = Literal["whole", "cut", "broken"]


@dataclass(frozen=True)
class HostedState:
    """How far an answer has come: its text so far, and once it has ended how: `whole`, `cut` where
    it reached its maximum, or `broken` off, for which `error` says why. `status` and `kind` are
    those of the refusal if there is no text. `counts` are the tokens that it took."""

    text: str
    has_ended: bool
    ending: Ending = "whole"
    error: str = ""
    status: int = 502
    kind: str = "api_error"
    counts: TokenCounts = field(default_factory=TokenCounts)


@dataclass(frozen=True)
class HostedReply:
    """What an answer says about itself: the model as the program wrote it, the id of what was
    started, the id by which it is continued, and whether a stream ends with what it used."""

    model: str
    uid: str
    answer_id: str
    wants_usage: bool = False


def wants_usage(body: Mapping[str, Any]) -> bool:
    """Whether a program asks that a stream of a chat ends with what it used."""
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _event(value: dict[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


class _Chat:
    """OpenAI's chat, and with `text` in place of messages its completions."""

    is_text = False

    def __init__(self, reply: HostedReply) -> None:
        self._reply = reply

    def _base(self, choices: list[dict[str, Any]], *, chunk: bool) -> dict[str, Any]:
        kind = "text_completion" if self.is_text else "chat.completion"
        return {
            "id": f"loom-{self._reply.uid}",
            "object": kind if self.is_text or not chunk else f"{kind}.chunk",
            "created": int(time.time()),
            "model": self._reply.model,
            "choices": [{"index": 0, **choice} for choice in choices],
        }

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        content = {"text": delta.get("content", "")} if self.is_text else {"delta": delta}
        body = self._base([{**content, "finish_reason": finish}], chunk=True)
        return _event({**body, "usage": None} if self._reply.wants_usage else body)

    def head(self) -> bytes:
        """The beginning of a stream."""
        return b"" if self.is_text else self._delta({"role": "assistant", "content": ""})

    def piece(self, text: str) -> bytes:
        """A piece of the text."""
        return self._delta({"content": text})

    def tail(self, state: HostedState) -> bytes:
        """The end of a stream."""
        if state.ending == "broken":
            error = {"message": state.error, "type": state.kind, "param": None, "code": None}
            return _event({"error": error})
        used = b""
        if self._reply.wants_usage:
            used = _event({**self._base([], chunk=True), "usage": _chat_usage(state.counts)})
        return self._delta({}, _chat_finish(state)) + used + b"data: [DONE]\n\n"

    def whole(self, state: HostedState) -> dict[str, Any]:
        """The whole answer."""
        message: dict[str, Any] = {"message": {"role": "assistant", "content": state.text}}
        said = {"text": state.text} if self.is_text else message
        choice = {**said, "finish_reason": _chat_finish(state)}
        return {**self._base([choice], chunk=False), "usage": _chat_usage(state.counts)}


class _Completions(_Chat):
    """OpenAI's completions."""

    is_text = True


def _chat_finish(state: HostedState) -> str:
    return "stop" if state.ending == "whole" else "length"


def _chat_usage(counts: TokenCounts) -> dict[str, Any]:
    return {
        "prompt_tokens": counts.read,
        "completion_tokens": counts.wrote,
        "total_tokens": counts.read + counts.wrote,
        "prompt_tokens_details": {"cached_tokens": counts.cached},
    }


class _Messages:
    """Anthropic's messages."""

    def __init__(self, reply: HostedReply) -> None:
        self._reply = reply

    def _base(
        self, content: list[dict[str, Any]], stop: str | None, usage: dict[str, int]
    ) -> dict[str, Any]:
        return {
            "id": f"msg_loom{self._reply.uid}",
            "type": "message",
            "role": "assistant",
            "model": self._reply.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }

    def head(self) -> bytes:
        """The beginning of a stream. What it used is known at its end."""
        block = {"type": "text", "text": ""}
        message = self._base([], None, {"input_tokens": 0, "output_tokens": 0})
        return _event({"type": "message_start", "message": message}, "message_start") + _event(
            {"type": "content_block_start", "index": 0, "content_block": block},
            "content_block_start",
        )

    def piece(self, text: str) -> bytes:
        """A piece of the text."""
        delta = {"type": "text_delta", "text": text}
        event = {"type": "content_block_delta", "index": 0, "delta": delta}
        return _event(event, "content_block_delta")

    def tail(self, state: HostedState) -> bytes:
        """The end of a stream."""
        if state.ending == "broken":
            error = {"type": state.kind, "message": state.error}
            return _event({"type": "error", "error": error}, "error")
        delta = {"stop_reason": _stop_reason(state), "stop_sequence": None}
        ended = {"type": "message_delta", "delta": delta, "usage": _messages_usage(state.counts)}
        return (
            _event({"type": "content_block_stop", "index": 0}, "content_block_stop")
            + _event(ended, "message_delta")
            + _event({"type": "message_stop"}, "message_stop")
        )

    def whole(self, state: HostedState) -> dict[str, Any]:
        """The whole answer."""
        content = [{"type": "text", "text": state.text}] if state.text else []
        return self._base(content, _stop_reason(state), _messages_usage(state.counts))


def _stop_reason(state: HostedState) -> str:
    return "end_turn" if state.ending == "whole" else "max_tokens"


def _messages_usage(counts: TokenCounts) -> dict[str, int]:
    return {
        "input_tokens": max(0, counts.read - counts.cached - counts.kept),
        "cache_read_input_tokens": counts.cached,
        "cache_creation_input_tokens": counts.kept,
        "output_tokens": counts.wrote,
    }


class _Responses:
    """OpenAI's responses."""

    def __init__(self, reply: HostedReply) -> None:
        self._reply = reply
        self._numbers: Iterator[int] = iter(range(10**9))
        self._item = f"msg_loom{reply.uid}"

    def _response(self, status: str, **more: Any) -> dict[str, Any]:
        return {
            "id": self._reply.answer_id,
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "error": None,
            "incomplete_details": None,
            "model": self._reply.model,
            "output": [],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": None,
            **more,
        }

    def _message(self, text: str, status: str) -> dict[str, Any]:
        content = [self._part(text)] if text else []
        message = {"id": self._item, "type": "message", "role": "assistant", "status": status}
        return {**message, "content": content}

    def _part(self, text: str) -> dict[str, Any]:
        return {"type": "output_text", "text": text, "annotations": []}

    def _say(self, kind: str, **more: Any) -> bytes:
        return _event({"type": kind, "sequence_number": next(self._numbers), **more}, kind)

    def head(self) -> bytes:
        """The beginning of a stream."""
        return (
            self._say("response.created", response=self._response("in_progress"))
            + self._say(
                "response.output_item.added",
                output_index=0,
                item=self._message("", "in_progress"),
            )
            + self._say("response.content_part.added", part=self._part(""), **self._place)
        )

    @property
    def _place(self) -> dict[str, Any]:
        return {"item_id": self._item, "output_index": 0, "content_index": 0}

    def piece(self, text: str) -> bytes:
        """A piece of the text."""
        return self._say("response.output_text.delta", delta=text, logprobs=[], **self._place)

    def tail(self, state: HostedState) -> bytes:
        """The end of a stream."""
        if state.ending == "broken":
            error = {"code": "server_error", "message": state.error}
            return self._say("response.failed", response=self._response("failed", error=error))
        whole = self.whole(state)
        (item,) = whole["output"]
        return (
            self._say("response.output_text.done", text=state.text, logprobs=[], **self._place)
            + self._say("response.content_part.done", part=self._part(state.text), **self._place)
            + self._say("response.output_item.done", output_index=0, item=item)
            + self._say(f"response.{whole['status']}", response=whole)
        )

    def whole(self, state: HostedState) -> dict[str, Any]:
        """The whole answer."""
        is_whole = state.ending == "whole"
        status = "completed" if is_whole else "incomplete"
        return self._response(
            status,
            output=[self._message(state.text, status)],
            incomplete_details=None if is_whole else {"reason": "max_output_tokens"},
            usage=_responses_usage(state.counts),
        )


def _responses_usage(counts: TokenCounts) -> dict[str, Any]:
    return {
        "input_tokens": counts.read,
        "input_tokens_details": {"cached_tokens": counts.cached},
        "output_tokens": counts.wrote,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": counts.read + counts.wrote,
    }


SHAPES: dict[Shape, Callable[[HostedReply], Any]] = {
    "chat": _Chat,
    "completions": _Completions,
    "messages": _Messages,
    "responses": _Responses,
}
