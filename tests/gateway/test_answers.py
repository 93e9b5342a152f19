"""Answers of each shape, whole, streamed and cut, are read as the messages that programs send back
later."""

import json
from typing import Any

import pytest

from agents.gateway.answers import answer_in
from agents.gateway.messages import Shape, chain, history_of, text_of
from tests.steps import steps

STREAM = "text/event-stream; charset=utf-8"


def events(*values: dict[str, Any]) -> bytes:
    """A stream of events."""
    return b"".join(b"event: x\ndata: " + json.dumps(value).encode() + b"\n\n" for value in values)


CHAT_PIECES = (
    {"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Good "}}]},
    {"choices": [{"index": 0, "delta": {"content": "day."}}]},
    {
        "choices": [
            {"index": 0, "delta": {"tool_calls": [
                {"index": 0, "id": "t1", "function": {"name": "ls", "arguments": '{"a"'}}]}}
        ]
    },
    {"choices": [{"index": 0, "delta": {"tool_calls": [
        {"index": 0, "function": {"arguments": ": 1}"}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
     "usage": {"completion_tokens": 3}},
)  # fmt: skip
MESSAGE_PIECES = (
    {"type": "message_start", "message": {"id": "m1", "usage": {"input_tokens": 5}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
    {"type": "content_block_delta", "index": 0, "delta": {"thinking": "secretly"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Good "}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "day."}},
    {"type": "content_block_start", "index": 2,
     "content_block": {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}},
    {"type": "content_block_delta", "index": 2, "delta": {"partial_json": '{"a"'}},
    {"type": "content_block_delta", "index": 2, "delta": {"partial_json": ": 1}"}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
)  # fmt: skip
WORDS = {"type": "message", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "Good day."}]}  # fmt: skip
CALL = {"type": "function_call", "call_id": "t1", "name": "ls", "arguments": '{"a": 1}'}
RESPONSE = {"id": "r1", "status": "completed", "usage": {"output_tokens": 3},
            "output": [{"type": "reasoning", "summary": []}, WORDS, CALL]}  # fmt: skip
RESPONSE_PIECES = (
    {"type": "response.created", "response": {"id": "r1"}},
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning"}},
    {"type": "response.output_item.added", "output_index": 1,
     "item": {"type": "message", "role": "assistant", "status": "in_progress", "content": []}},
    {"type": "response.output_text.delta", "output_index": 1, "delta": "Good "},
    {"type": "response.output_text.delta", "output_index": 1, "delta": "day."},
)  # fmt: skip
COMPLETED = {"type": "response.completed", "response": RESPONSE}
TOOL = {"type": "tool_use", "id": "t1", "name": "ls", "input": {"a": 1}}

WHOLE: dict[Shape, tuple[Any, Any]] = {
    "chat": (
        {"id": "c1", "choices": [{"index": 0, "message": {
            "role": "assistant", "content": "Good day.", "tool_calls": [
                {"id": "t1", "function": {"name": "ls", "arguments": '{ "a":1 }'}}]}}]},
        {"messages": [{"role": "assistant", "content": "Good day.\n", "tool_calls": [
            {"id": "t1", "type": "function",
             "function": {"name": "ls", "arguments": '{"a":1}'}}]}]},
    ),
    "messages": (
        {"id": "m1", "type": "message", "content": [
            {"type": "thinking", "thinking": "secretly"}, {"type": "text", "text": "Good day."},
            TOOL]},
        {"messages": [{"role": "assistant", "content": [
            {"type": "thinking", "thinking": "secretly", "signature": "s"},
            {"type": "text", "text": "Good day.", "cache_control": {"type": "ephemeral"}}, TOOL]}]},
    ),
    "responses": (RESPONSE, {"input": [{"type": "reasoning"}, WORDS, CALL]}),
}  # fmt: skip
STREAMS: dict[Shape, tuple[dict[str, Any], ...]] = {
    "chat": CHAT_PIECES,
    "messages": MESSAGE_PIECES,
    "responses": (*RESPONSE_PIECES, COMPLETED),
}


@pytest.mark.parametrize("shape", ["chat", "messages", "responses"])
def test_an_answer_has_the_place_of_what_a_program_sends_back(shape: Shape) -> None:
    body, sent_back = WHOLE[shape]
    whole = answer_in(shape, "application/json", json.dumps(body).encode())
    streamed = answer_in(shape, STREAM, events(*STREAMS[shape]) + b"data: [DONE]\n\n")
    later = history_of(shape, sent_back).messages
    assert chain(whole.choices[0]) == chain(streamed.choices[0]) == chain(later)
    assert whole.is_whole and streamed.is_whole
    assert whole.answer_id == streamed.answer_id == body["id"]
    assert "secretly" not in str(streamed.choices)


@pytest.mark.parametrize("shape", ["chat", "messages", "responses"])
def test_a_stream_cut_anywhere_keeps_the_text_so_far(shape: Shape) -> None:
    stream = events(*STREAMS[shape][:-1])
    for end in (*range(0, len(stream), 7), len(stream)):
        answered = answer_in(shape, STREAM, stream[:end])
        assert not answered.is_whole or shape == "chat"
        text = "".join(text_of(piece) for choice in answered.choices for piece in choice)
        assert "Good day.".startswith(text)
    assert text == "Good day."


def test_several_choices_are_several_answers() -> None:
    choices = [{"index": n, "message": {"role": "assistant", "content": str(n)}} for n in (1, 0)]
    answered = answer_in("chat", "application/json", json.dumps({"choices": choices}).encode())
    assert [text_of(piece) for (piece,) in answered.choices] == ["0", "1"]


@pytest.mark.parametrize("shape", ["chat", "completions", "messages", "responses"])
@pytest.mark.parametrize(
    "rubbish",
    [b"", b"[]", b"null", b"\xff\xfe", b'{"choices": 7}', b'{"content": {"a": 1}, "output": 3}',
     b"data: {\n\n", b"data: 7\n\n", b'data: {"choices": [null, 3, {"delta": 5}]}\n\n',
     b'data: {"type": "content_block_delta", "index": {}}\n\n', b"[" * 100_000],
)  # fmt: skip
def test_rubbish_is_no_answer(shape: Shape, rubbish: bytes) -> None:
    for content_type in ("application/json", STREAM, ""):
        assert not any(
            text_of(m) for c in answer_in(shape, content_type, rubbish).choices for m in c
        )


def test_lone_surrogates_and_nulls_become_replacement_characters() -> None:
    body = {"messages": [{"role": "user", "content": "a\0b\ud800c"}]}
    assert text_of(history_of("chat", body).messages[0]) == "a�b�c"


@pytest.mark.parametrize("shape", ["chat", "messages", "responses"])
def test_reading_a_stream_ten_times_as_long_takes_ten_times_the_steps(shape: Shape) -> None:
    def stream(many: int) -> bytes:
        piece = STREAMS[shape][1 if shape == "chat" else 5 if shape == "messages" else 3]
        return events(*STREAMS[shape][:-1], *[piece] * many)

    small, large = stream(50), stream(500)
    answer_in(shape, STREAM, small)
    few = steps(lambda: answer_in(shape, STREAM, small))
    many = steps(lambda: answer_in(shape, STREAM, large))
    assert many < 12 * few
