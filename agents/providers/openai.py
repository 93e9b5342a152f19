"""The adapter for the OpenAI-shaped API, which most providers use, also through LiteLLM."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.providers.attempt import (
    DONE,
    NAMED,
    Cleaner,
    Part,
    error_of,
    events_of,
    in_each_part,
    refusal,
    value_of,
    with_images,
    without_images,
)
from agents.providers.tool_uses import Citations, tools_counted
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
from loom.participants.provider_kinds import PROBED

if TYPE_CHECKING:  # this module is also imported without loaded apps
    pass


# The OpenAI-shaped API: chat and completions, streamed or whole.

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
# How vLLM, SGLang and llama.cpp are asked to continue the last message.
GOES_ON: Body = {"continue_final_message": True, "add_generation_prompt": False}
# Reasons that mean the answer was cut off rather than ended.
_FILTERS = ("content_filter", "safety", "moderation")
MOST_OF_PROMPT = 2048  # without a number a completion endpoint ends after 16 tokens


class OpenAI:
    """`/chat/completions` for messages, `/completions` for a prompt."""

    name = "openai"
    is_exact = True

    def body(self, ask: ProviderRequest) -> Body:
        """The JSON of the request; what is not set is left out."""
        body: Body = {"model": ask.model}
        if ask.messages is None:
            body["prompt"] = ask.prompt
        else:
            body["messages"] = with_images(ask.messages, ask, _image)
            if ask.tools:
                body["tools"] = list(ask.tools)
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
        if ask.temperature is not None:
            body["temperature"] = ask.temperature
        most = MOST_OF_PROMPT if ask.max_tokens is None and ask.messages is None else ask.max_tokens
        if most is not None:
            body["max_tokens"] = most
        if ask.stop:
            body["stop"] = list(ask.stop)
        body |= sampler_fields(ask.samplers)
        if ask.many > 1:
            body["n"] = ask.many
        if ask.grammar:
            body["grammar"] = ask.grammar
        if ask.goes_on:
            body |= GOES_ON
        if ask.rivals and ask.messages is None:
            body["logprobs"] = ask.rivals
        elif ask.rivals:
            body |= {"logprobs": True, "top_logprobs": ask.rivals}
        return body

    def outgoing(self, ask: ProviderRequest, body: Body) -> Outgoing:
        """The request including its key."""
        path = "completions" if ask.messages is None else "chat/completions"
        headers = {"authorization": ask.authorization} if ask.key else {}
        whole = in_each_part(body, partial(_filled, ask.images)) if ask.images else body
        return Outgoing.of_json(f"{ask.base_url.rstrip('/')}/{path}", headers, whole)

    async def events(self, exchange: Exchange) -> AsyncGenerator[StreamEvent, None]:
        """Text, ends and usage as they arrive; a failure comes last. May raise Broken."""
        if exchange.status != 200:
            yield await refusal(exchange)
            return
        reader = _Reader()
        async for data in events_of(exchange):
            if data == DONE:
                reader.is_done = True
                continue
            for event in reader.read(data):
                yield event
                if isinstance(event, Failure):
                    return
        for event in reader.end(is_framed=exchange.is_framed):
            yield event

    def adjusted(self, body: Body, failure: Failure) -> Body | None:
        """The body without `stream_options`, which older servers refuse, or without a refused
        grammar, sampler or image, or with the newer name of `max_tokens`, which some models
        require; None if none of them is the reason."""
        if failure.kind != "invalid":
            return None
        if "grammar" in failure.said and "grammar" in body:
            return {key: value for key, value in body.items() if key != "grammar"}
        if "logprobs" in failure.said and "logprobs" in body:
            return {key: value for key, value in body.items() if "logprobs" not in key}
        if "stream_options" in failure.said and "stream_options" in body:
            return {key: value for key, value in body.items() if key != "stream_options"}
        if "max_completion_tokens" in failure.said and "max_tokens" in body:
            rest = {key: value for key, value in body.items() if key != "max_tokens"}
            return {**rest, "max_completion_tokens": body["max_tokens"]}
        return less(body, failure.said) or without_images(body, failure)


def _image(sha256: str, _: Picture) -> Part:
    return {"type": "image_url", "image_url": {"url": f"{NAMED}{sha256}"}}


def _filled(images: Mapping[str, Picture], part: Part) -> Part:
    """The part with the bytes of the image that it names."""
    if part["type"] != "image_url":
        return part
    image = images[part["image_url"]["url"].removeprefix(NAMED)]
    url = f"data:{image.media_type};base64,{image.data}"
    return {**part, "image_url": {"url": url}}


def sampler_fields(samplers: Mapping[str, Any]) -> Body:
    """Samplers as a body names them. One has two names: vLLM's, and that of llama.cpp and
    Ollama."""
    fields = dict(samplers)
    if "repetition_penalty" in fields:
        fields["repeat_penalty"] = fields["repetition_penalty"]
    return fields


def less(body: Body, message: str) -> Body | None:
    """The body without the sampler that a refusal names; None if it names none."""
    named = [name for name in (*PROBED, "repeat_penalty") if name in body and name in message]
    return {key: value for key, value in body.items() if key not in named} if named else None


class LiteLLM(OpenAI):
    """The OpenAI shape, for `litellm:provider/model`."""

    name = "litellm"
    is_exact = False


class _Reader:
    """Reads the events of one answer; tracks which candidates have ended."""

    def __init__(self) -> None:
        self.is_done = False
        self._cleaners: dict[int, Cleaner] = {}
        self._cited: dict[int, Citations] = {}
        self._ended: set[int] = set()

    def read(self, data: str) -> Iterator[StreamEvent]:
        """The events that one chunk reports."""
        value = value_of(data)
        if not isinstance(value, dict):
            yield Failure("server", "an event of the answer is not a JSON object")
            return
        if value.get("error"):
            yield of_words(*error_of(value))
            return
        listed = value.get("choices")
        some = listed if isinstance(listed, list) else []
        choices = [choice for choice in some if isinstance(choice, dict)]
        usage = _usage(value.get("usage"))
        if usage:
            index = _index(choices[0]) if len(choices) == 1 else None
            yield Usage(usage, index, tools_counted(value["usage"]))
        for choice in choices:
            yield from self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> Iterator[StreamEvent]:
        index = _index(choice)
        cleaner = self._cleaners.setdefault(index, Cleaner())
        cited = self._cited.setdefault(index, Citations())
        cited.read(_inner(choice).get("annotations"))
        text = cleaner.clean(_text(choice))
        reason = choice.get("finish_reason")
        if reason:
            text += cleaner.rest()
        if text:
            yield Delta(text, index)
        if reason:
            yield from cited.end(index)
        if reason and index not in self._ended:
            self._ended.add(index)
            if str(reason).lower() in _FILTERS:
                yield Failure("filtered")
            else:
                yield Finished(index, str(reason))

    def end(self, *, is_framed: bool) -> Iterator[StreamEvent]:
        """The end of those candidates that did not report it."""
        for index, cleaner in self._cleaners.items():
            rest = cleaner.rest()
            if rest:
                yield Delta(rest, index)
        for index, cited in self._cited.items():
            yield from cited.end(index)
        open_ones = sorted(set(self._cleaners) - self._ended)
        if not self._cleaners and not self.is_done:
            yield Failure("server", "the answer was empty")
        elif open_ones and not self.is_done and not is_framed:
            # Only the connection ended: it is unknown whether the answer did.
            yield Failure("network", "the connection ended before the answer did")
        else:
            yield from (Finished(index) for index in open_ones)


def _index(choice: dict[str, Any]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _inner(choice: dict[str, Any]) -> dict[str, Any]:
    """The delta or message of a chat's choice; empty for one of a completion."""
    inner = choice.get("delta") or choice.get("message")
    return inner if isinstance(inner, dict) else {}


def _text(choice: dict[str, Any]) -> str:
    """The text of a choice: of a chat's delta or message, or of a completion."""
    inner = _inner(choice)
    content = inner.get("content") if inner else choice.get("text")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    counts = {name: value[name] for name in _COUNTS if isinstance(value.get(name), int)}
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return counts | {"cached_tokens": cached} if isinstance(cached, int) else counts
