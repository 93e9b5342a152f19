"""The providers by name: which API each one uses, and its address if no base_url is given; the
adapter for the OpenAI-shaped API, which most of them use; the settings of a participant's
provider; and the orders from which calls are made.

Another API registers itself here; no code compares the name of a vendor.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
from django.conf import settings

from agents.context.overlap import Overlap
from agents.context.subject_request import Reading
from agents.context.values import Portion
from agents.providers.anthropic import Anthropic
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
from agents.providers.litellm import NOWHERE, LiteLLMTransport
from agents.providers.transport import CheckedTransport, Exchange, Outgoing
from agents.providers.values import (
    Adapter,
    Ask,
    Body,
    Broken,
    Delta,
    Failure,
    Finished,
    Picture,
    StreamEvent,
    Usage,
    of_words,
)
from loom.rules import node_values
from loom.rules.limits import number_of
from loom.rules.node_values import described
from loom.rules.provider_kinds import LOCAL_WINDOW, PROBED
from loom.rules.providers import caches_from

if TYPE_CHECKING:  # this module is also imported without loaded apps
    from loom.access import Actor
    from loom.models import Generation, Grove, Participant, Tree

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

    def body(self, ask: Ask) -> Body:
        """The JSON of the request; what is not set is left out."""
        body: Body = {"model": ask.model}
        if ask.messages is None:
            body["prompt"] = ask.prompt
        else:
            body["messages"] = with_images(ask.messages, ask, _image)
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
        return body

    def outgoing(self, ask: Ask, body: Body) -> Outgoing:
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


def less(body: Body, said: str) -> Body | None:
    """The body without the sampler that a refusal names; None if it names none."""
    named = [name for name in (*PROBED, "repeat_penalty") if name in body and name in said]
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
        choices = [one for one in some if isinstance(one, dict)]
        usage = _usage(value.get("usage"))
        if usage:
            yield Usage(usage, _index(choices[0]) if len(choices) == 1 else None)
        for choice in choices:
            yield from self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> Iterator[StreamEvent]:
        index = _index(choice)
        cleaner = self._cleaners.setdefault(index, Cleaner())
        text = cleaner.clean(_text(choice))
        reason = choice.get("finish_reason")
        if reason:
            text += cleaner.rest()
        if text:
            yield Delta(text, index)
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


def _text(choice: dict[str, Any]) -> str:
    """The text of a choice: of a chat's delta or message, or of a completion."""
    inner = choice.get("delta") or choice.get("message")
    content = inner.get("content") if isinstance(inner, dict) else choice.get("text")
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


# The providers by name.


@dataclass(frozen=True)
class Provider:
    """A vendor or a kind of server. `window`: the start of paths is cut to this many tokens;
    `shares`: one request can ask for several candidates; `completes`: it has a completion endpoint
    beside the chat, so that each mode of tree uses its own; `opening`: the prompt for an empty
    text; `grammar`: it supports GBNF."""

    name: str
    adapter: Callable[[], Adapter] = OpenAI
    transport: Callable[[Sequence[str]], httpx.AsyncBaseTransport] = CheckedTransport
    base_url: str = ""
    window: int | None = None
    context: int | None = None
    max_tokens: int | None = None
    shares: bool = False
    completes: bool = False
    opening: str = ""
    grammar: bool = False


_providers: dict[str, Provider] = {}


def register(provider: Provider) -> None:
    """Registers a provider by its name."""
    _providers[provider.name] = provider


def provider_of(name: str) -> Provider:
    """The provider called `name`; an unknown one uses the default API at the base_url of its
    participant."""
    return _providers.get(name) or Provider(name)


register(Provider("openai", base_url="https://api.openai.com/v1"))
register(Provider("anthropic", adapter=Anthropic, base_url="https://api.anthropic.com/v1"))

register(Provider("litellm", adapter=LiteLLM, transport=LiteLLMTransport, base_url=NOWHERE))

# The model of agents.providers.local_server: SmolLM2 in slots of 2,048 tokens, of which 1,200
# are read within 5 s on two cores. Three candidates of one request share that reading; three
# requests would be read one after the other (measured: first text after 4 s, or 4, 8 and 11).
# An empty prompt for several candidates hangs that server, so a text begins after the
# model's own separator of documents.
EMBEDDED = Provider(
    "local",
    window=LOCAL_WINDOW,
    context=2048,
    max_tokens=256,
    shares=True,
    completes=True,
    opening="<|endoftext|>",
    grammar=True,
)


def whom(participant: "Participant") -> tuple[Provider, str, str]:
    """(provider, base_url, model) of a participant. Raises Broken if there is none."""
    provider, base_url, model = addressed(participant)
    if not base_url and provider is EMBEDDED:
        raise Broken(Failure("absent", "The embedded model is not running."))
    if not base_url:
        raise Broken(Failure("absent", f"{participant.name} has no base_url."))
    return provider, base_url, model


def addressed(participant: "Participant") -> tuple[Provider, str, str]:
    """The same, but base_url may be empty."""
    name, _, model = participant.model_ref.partition(":")
    own, local = participant.base_url, settings.LOCAL_MODEL_URL
    if name == "local" and own in ("", local):
        return EMBEDDED, local, model
    provider = provider_of(name)
    return provider, own or provider.base_url, model or participant.model_ref


_transports: dict[tuple[object, tuple[str, ...]], httpx.AsyncBaseTransport] = {}


def transport_of(provider: Provider, allow: Sequence[str]) -> httpx.AsyncBaseTransport:
    """The transport of a provider for a list of allowed addresses; cached, with its connections."""
    way = provider.transport, tuple(allow)
    if way not in _transports:
        _transports[way] = provider.transport(allow)
    return _transports[way]


# Limits and settings of a participant's provider.


SMALL_RESERVE = 512  # tokens of a small model's context that are reserved for the answer
SEES = "images"  # the capability that a probe stores for a model that sees images
T = TypeVar("T")


def limit_of(provider: Provider, agent: "Participant", grove: "Grove") -> int:
    """The most tokens that a request to a participant of the grove may have."""
    if provider.context:
        return provider.context - SMALL_RESERVE
    return agent.context_limit - number_of(grove.settings, "truncation_reserve")


def sees(participant: "Participant") -> bool:
    """Whether this model is sent images: only by a chat, and if a probe or an owner says that it
    sees them."""
    return SEES in participant.capabilities and participant.endpoint == "chat"


def said(text: str, reader: "Participant") -> str:
    """The text as the reader is sent it: images by name if it sees them, else described in
    words."""
    return text if sees(reader) else described(text)


def configuration_of(participant: "Participant", strategy: str | None) -> str:
    """The hash of the settings of a call; `strategy` for prose, None in a dialogue. See
    docs/model.md §2.1, §11.
    """
    return node_values.sha256(
        {
            "model_ref": participant.model_ref,
            "base_url": participant.base_url,
            "endpoint": participant.endpoint,
            "persona": participant.persona,
            "temperature": participant.temperature,
            "max_tokens": participant.max_tokens,
            "stop": participant.stop,
            "prose_strategy": strategy,
        }
    )


def first_of(*values: T | None) -> T | None:
    """The first value that is not None; None if all are."""
    return next((value for value in values if value is not None), None)


# The order of a generation: the request, its provider and settings, and its calls.


@dataclass(frozen=True)
class Asked:
    """The participant that is asked, and its provider."""

    provider: Provider
    base_url: str
    model: str


@dataclass(frozen=True)
class Order:
    """A request to be made: its participant, its content and its settings."""

    provider: Provider
    reading: Reading
    ask: Ask
    configuration: str
    left_out: str = ""  # settings that are not sent
    note: str = ""
    purpose: str = "continue"
    text: str = ""  # of a buffer, which a chat continues
    portions: tuple[Portion, ...] = ()  # its sections, for people
    until: datetime | None = None  # of a round: when the time of its turn ends
    allow: tuple[str, ...] = ()  # private addresses that may be called
    sees: "tuple[Actor, Tree] | None" = None  # whose images are sent along, and where

    @property
    def strategy(self) -> str:
        """How a buffer is sent; "" for anything else."""
        return self.reading.strategy or "" if self.purpose == "continue" else ""

    def overlap(self) -> Overlap | None:
        """How the start of an answer is matched with the buffer; None if it is used as it is."""
        return Overlap(self.text, self.strategy) if self.text else None

    @property
    def tokens(self) -> int:
        """The approximate number of tokens sent: a quarter of the bytes."""
        said = (one["content"] for one in self.ask.messages or ())
        return len("".join([self.ask.prompt or "", *said]).encode()) // 4

    def shared(self, many: int) -> "Order":
        """The same, for many candidates in one answer."""
        return replace(self, ask=replace(self.ask, many=many))


@dataclass(frozen=True)
class CallGroup:
    """Generations that this worker runs with one call, under one lease. `primes` is set at the
    first word of this call; `waits_for` is that of another call, which reads the same path first,
    so that the provider has it in its cache."""

    lease: str
    generations: tuple["Generation", ...]
    order: Order
    primes: asyncio.Event | None = None
    waits_for: asyncio.Event | None = None

    @property
    def lane(self) -> str:
        """The lane that gets a free place when this ends."""
        return self.generations[0].lane


def by_calls(lease: str, going: list["Generation"], order: Order) -> list[CallGroup]:
    """One call for all if the provider shares them out, else a call for each; the first is sent
    ahead if the others can then read its path from the provider's cache."""
    if order.provider.shares and len(going) > 1:
        return [CallGroup(lease, tuple(going), order.shared(len(going)))]
    calls = [CallGroup(lease, (one,), order) for one in going]
    least = caches_from(going[0].participant)
    if len(calls) < 2 or least is None or order.tokens < least:
        return calls
    primed = asyncio.Event()
    first, *rest = calls
    return [replace(first, primes=primed), *(replace(one, waits_for=primed) for one in rest)]
