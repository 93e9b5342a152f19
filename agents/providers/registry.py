"""The providers by name: which shape each speaks, and where it is when no base_url is given; the
OpenAI-shaped API, which most of them speak; and LiteLLM, by which every other one is reached.

Another shape registers itself here; no code compares the name of a vendor.
"""

import asyncio
import importlib
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import httpx
from django.conf import settings

from agents.providers.anthropic import Anthropic
from agents.providers.attempt import (
    DONE,
    NAMED,
    Adapter,
    Ask,
    Body,
    Cleaner,
    Delta,
    Finished,
    Part,
    Picture,
    StreamEvent,
    Usage,
    error_of,
    events_of,
    in_each_part,
    refusal,
    value_of,
    with_images,
    without_images,
)
from agents.providers.failures import Broken, Failure, of_words, without_traceback
from agents.providers.transport import CheckedTransport, Exchange, Outgoing, checked_addresses
from loom.rules.provider_kinds import LITELLM_BY_SDK, LOCAL_WINDOW, PROBED, why_not_litellm
from loom.rules.providers import BadUrl, read_url

if TYPE_CHECKING:  # this is imported where no apps are loaded, too
    from loom.models import Participant

# The OpenAI-shaped API: chat and completions, streamed or whole.

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
# How vLLM, SGLang and llama.cpp are asked to go on with the last message.
GOES_ON: Body = {"continue_final_message": True, "add_generation_prompt": False}
# Reasons that mean the answer was cut off rather than ended.
_FILTERS = ("content_filter", "safety", "moderation")
MOST_OF_PROMPT = 2048  # left to itself a completion endpoint ends after 16 tokens


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
        """The request with its key."""
        path = "completions" if ask.messages is None else "chat/completions"
        headers = {"authorization": ask.authorization} if ask.key else {}
        whole = in_each_part(body, partial(_filled, ask.images)) if ask.images else body
        return Outgoing.of_json(f"{ask.base_url.rstrip('/')}/{path}", headers, whole)

    async def events(self, exchange: Exchange) -> AsyncGenerator[StreamEvent, None]:
        """Text, ends and usage as they come; a failure comes last. May raise Broken."""
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
        """Without `stream_options`, which older servers refuse, or a grammar that was not
        taken, or a sampler, or images, or with the newer name of `max_tokens`, which some models
        demand; None where none of them is the reason."""
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
    """The body without the sampler that a refusal names; None where it names none."""
    named = [name for name in (*PROBED, "repeat_penalty") if name in body and name in said]
    return {key: value for key, value in body.items() if key not in named} if named else None


class _Reader:
    """Reads the events of one answer; knows which candidates have ended."""

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
            # Only the connection ended: nothing says whether the answer did.
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


# LiteLLM, which is imported here alone, and only when it is used. It is a transport behind the
# OpenAI-shaped adapter that answers in that shape, so limits, stops and the reading of answers are
# the same for all. It returns parsed pieces, so the stored answer of such a call is assembled from
# them and marked so.

NOWHERE = "https://litellm.invalid/v1"  # the base_url of a participant that has none
PATHS = ("/chat/completions", "/completions")
_SAMPLERS = ("top_p", "frequency_penalty", "presence_penalty", "seed", "logit_bias")
_TAKEN = (
    "model",
    "messages",
    "temperature",
    "max_tokens",
    "stop",
    "n",
    "stream_options",
    *_SAMPLERS,
)


class LiteLLM(OpenAI):
    """The OpenAI shape, for `litellm:provider/model`."""

    name = "litellm"
    is_exact = False


@cache
def _library() -> Any:
    """LiteLLM without its looks at the network: price list, telemetry, model hubs."""
    os.environ |= {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "HF_HUB_OFFLINE": "1",
        "LITELLM_LOG": "ERROR",
    }
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = True
    return litellm


async def _client(model: str, key: str, base: str | None, allow: Sequence[str]) -> Any:
    """The client to pass to LiteLLM: it asks through a checked transport, follows no redirect
    and reads no proxy from the environment."""
    http = httpx.AsyncClient(
        transport=CheckedTransport(allow), follow_redirects=False, trust_env=False
    )
    if model.partition("/")[0] in LITELLM_BY_SDK:
        sdk: Any = importlib.import_module("openai")
        found = base or _library().get_llm_provider(model=model, api_key=key)[3]
        base = found or "https://api.openai.com/v1"
        return sdk.AsyncOpenAI(api_key=key, base_url=base, http_client=http, max_retries=0)
    handlers: Any = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    made = handlers.AsyncHTTPHandler()
    await made.client.aclose()
    made.client = http
    return made


class LiteLLMTransport(httpx.AsyncBaseTransport):
    """Answers an OpenAI-shaped chat request by asking LiteLLM. Belongs to one event loop.

    Only providers of `loom/rules/providers.py` are asked, with the participant's own key, and by a
    client of ours, whose `CheckedTransport` checks each address. Raises Broken for all others.
    """

    def __init__(self, allow: Sequence[str]) -> None:
        self._allow = tuple(allow)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The streamed answer, or an error body with its status."""
        asked: dict[str, Any] = json.loads(await request.aread())
        base = await self._base(str(request.url))
        if "prompt" in asked:
            asked["messages"] = [{"role": "user", "content": asked["prompt"]}]
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        model = str(asked["model"])
        if why := why_not_litellm(model, has_key=bool(key)):
            raise Broken(Failure("refused", why))
        litellm = await asyncio.to_thread(_library)
        _demand_chat(litellm, model)
        client = await _client(model, key, base, self._allow)
        try:
            answer = await litellm.acompletion(
                **{name: asked[name] for name in _TAKEN if name in asked},
                stream=True,
                num_retries=0,
                api_key=key,
                api_base=base,
                client=client,
            )
        except Exception as error:
            await _close(client)
            return _refused(error)
        stream = _Stream(answer, client)
        return httpx.Response(200, headers={"transfer-encoding": "chunked"}, stream=stream)

    async def _base(self, url: str) -> str | None:
        """The participant's own base_url, checked; None where it has none."""
        base = next((url.removesuffix(one) for one in PATHS if url.endswith(one)), url)
        if base == NOWHERE:
            return None
        try:
            target = read_url(base)
        except BadUrl as bad:
            raise Broken(Failure("refused", str(bad))) from None
        await checked_addresses(target, self._allow)
        return base


def _demand_chat(litellm: Any, model: str) -> None:
    """Refuses models that LiteLLM asks in another way than by a chat: those go out by clients
    that it makes itself."""
    provider, _, bare = model.partition("/")
    try:
        mode = litellm.get_model_info(model=bare, custom_llm_provider=provider).get("mode")
    except Exception:  # LiteLLM raises a bare Exception for a model that its list does not hold
        return
    if mode not in (None, "chat"):
        raise Broken(
            Failure("refused", f"{bare} is not a chat model (LiteLLM lists it as {mode}).")
        )


async def _close(client: Any) -> None:
    close = getattr(client, "aclose", None) or client.close
    await close()


class _Stream(httpx.AsyncByteStream):
    """LiteLLM's pieces as server-sent events."""

    def __init__(self, answer: Any, client: Any) -> None:
        self._answer = answer
        self._client = client

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._answer:
                yield _event(piece.model_dump_json(exclude_none=True))
        except Exception as error:
            yield _event(json.dumps(_body(error)))
            return
        yield _event("[DONE]")

    async def aclose(self) -> None:
        """Hangs up where the answer has not ended."""
        close = getattr(getattr(self._answer, "completion_stream", None), "aclose", None)
        if close is not None:
            await close()
        await _close(self._client)


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode("utf-8", "replace")


def _refused(error: Exception) -> httpx.Response:
    status = getattr(error, "status_code", None)
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    after = headers.get("retry-after")
    return httpx.Response(
        status if isinstance(status, int) and status >= 400 else 502,
        headers={"retry-after": after} if after else {},
        stream=httpx.ByteStream(json.dumps(_body(error)).encode()),
    )


def _body(error: Exception) -> dict[str, Any]:
    status = getattr(error, "status_code", "")
    said = without_traceback(str(getattr(error, "message", "") or error))
    return {"error": {"message": said, "type": type(error).__name__, "code": status}}


# The providers by name.


@dataclass(frozen=True)
class Provider:
    """A vendor or a kind of server. `window`: paths are cut to so many tokens in front;
    `shares`: one request may ask for many candidates; `completes`: it has a completion
    endpoint beside the chat, so that each tree is continued in its own way; `opening`: the
    prompt of a text that has not begun; `grammar`: it holds answers to one in GBNF."""

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
    """Makes a provider known by its name."""
    _providers[provider.name] = provider


def provider_of(name: str) -> Provider:
    """The provider called `name`; an unknown one speaks the default shape at the base_url
    its participant gives."""
    return _providers.get(name) or Provider(name)


register(Provider("openai", base_url="https://api.openai.com/v1"))
register(Provider("anthropic", adapter=Anthropic, base_url="https://api.anthropic.com/v1"))

register(Provider("litellm", adapter=LiteLLM, transport=LiteLLMTransport, base_url=NOWHERE))

# The model of agents.providers.local_server: SmolLM2 in slots of 2,048 tokens, of which 1,200
# are read within 5 s on two cores. Three candidates of one request share that reading; three
# requests would be read one after the other (measured: first text after 4 s, or 4, 8 and 11).
# An empty prompt for several candidates hangs that server, so a text begins after the
# model's own mark between documents.
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
    """(provider, base_url, model) of a participant. Raises Broken where there is none."""
    provider, base_url, model = addressed(participant)
    if not base_url and provider is EMBEDDED:
        raise Broken(Failure("absent", "The embedded model is not running."))
    if not base_url:
        raise Broken(Failure("absent", f"{participant.name} has no base_url."))
    return provider, base_url, model


def addressed(participant: "Participant") -> tuple[Provider, str, str]:
    """The same where there may be no base_url."""
    name, _, model = participant.model_ref.partition(":")
    own, local = participant.base_url, settings.LOCAL_MODEL_URL
    if name == "local" and own in ("", local):
        return EMBEDDED, local, model
    provider = provider_of(name)
    return provider, own or provider.base_url, model or participant.model_ref
